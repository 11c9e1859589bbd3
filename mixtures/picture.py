"""A timeline of a plan: stacked shares, learning rate and batch size over tokens; PNG or SVG by the file's suffix."""

from __future__ import annotations

import io

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError
from tootsie.mixtures.plan import Plan

COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999933", "#882255",
    "#44aa99", "#ddaa33", "#332288", "#cc6677", "#117733", "#88ccee", "#994455", "#bbbbbb",
)  # fmt: skip
"""Paul Tol's qualitative palettes: told apart by colour-blind readers too."""
LABELLED = 20
"""Datasets named in the legend; the others share the entry of the rest."""
_RATE_POINTS = 400


def colour_of(number: int) -> str:
    """Return the colour of a dataset: the palette, then the same hues halfway to white, then grey for the rest."""
    if number >= LABELLED:
        return COLOURS[-1]
    hues = len(COLOURS) - 1
    if number < hues:
        return COLOURS[number]
    channels = [int(COLOURS[number - hues][at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{(255 + channel) // 2:02x}" for channel in channels)


def draw_picture(plan: Plan, url: str) -> None:
    """Draw the plan and write it atomically.

    Raises:
      SpecError: the suffix is not .png or .svg.
    """
    kind = url.rpartition(".")[2].lower()
    if kind not in ("png", "svg"):
        raise SpecError("a picture is .png or .svg", field="--picture", value=url, remedy="Change the suffix")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "tootsie", "font.size": 9}):
        figure = Figure(figsize=(10, 6.2), layout="constrained")
        FigureCanvasAgg(figure)
        _draw(plan, figure)
        stream = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(stream, format=kind, dpi=140, metadata=metadata)
    storage.write_bytes(url, stream.getvalue())


def unit_of(tokens: int) -> tuple[int, str]:
    """Return the divisor and name of the unit in which an amount of tokens reads well."""
    for divisor, name in (
        (10**12, "T tokens"),
        (10**9, "B tokens"),
        (10**6, "M tokens"),
        (10**3, "k tokens"),
    ):
        if tokens >= divisor:
            return divisor, name
    return 1, "tokens"


def _draw(plan: Plan, figure) -> None:  # type: ignore[no-untyped-def]
    divisor, unit = unit_of(plan.total_sequences * plan.sequence_length)
    scale = plan.sequence_length / divisor
    mixture, rate, batch = figure.subplots(3, 1, sharex=True, gridspec_kw={"height_ratios": [5, 2, 1.2]})
    ends = [0.0, *(phase.end * scale for phase in plan.phases)]

    names = list({name: None for phase in plan.phases for name in phase.sequences})
    bottom = np.zeros(len(plan.phases))
    for number, name in enumerate(names):
        height = np.array([phase.shares.get(name, 0.0) for phase in plan.phases])
        label = name if number < LABELLED else ("others" if number == LABELLED else None)
        mixture.stairs(
            bottom + height, ends, baseline=bottom, fill=True, color=colour_of(number), label=label, lw=0
        )
        bottom = bottom + height
    mixture.set_ylim(0, 1)
    mixture.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    mixture.set_ylabel("share of sequences")
    handles, labels = mixture.get_legend_handles_labels()
    mixture.legend(
        handles[::-1],
        labels[::-1],
        loc="upper left",
        bbox_to_anchor=(1.01, 1.02),
        frameon=False,
        fontsize=8 if len(labels) <= 12 else 7,
        labelspacing=0.5 if len(labels) <= 12 else 0.2,
    )

    for phase in plan.phases:
        steps = np.unique(np.linspace(phase.first_step, phase.end_step - 1, _RATE_POINTS).astype(np.int64))
        values = [plan.learning_rate(int(step)) for step in steps]
        at = phase.start + (steps - phase.first_step) * phase.batch_size
        final = phase.settings.learning_rate.at(phase.steps, phase.steps)
        rate.plot([*(at * scale), phase.end * scale], [*values, final], color=COLOURS[0], lw=1.6)
    rate.set_ylim(bottom=0)
    rate.set_ylabel("learning rate")
    rate.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    batch.stairs([phase.batch_size for phase in plan.phases], ends, color=COLOURS[2], lw=1.6, baseline=None)
    batch.set_ylim(0, 1.25 * max(phase.batch_size for phase in plan.phases))
    batch.set_ylabel("batch")
    batch.set_xlabel(unit)
    batch.set_xlim(0, ends[-1])
    for axes in (mixture, rate, batch):
        axes.spines[["top", "right"]].set_visible(False)
        for end in ends[1:-1]:
            axes.axvline(end, color="#333333", lw=0.8, ls=(0, (4, 3)))
    for phase, left, right in zip(plan.phases, ends, ends[1:], strict=False):
        if (right - left) > 0.05 * ends[-1]:
            mixture.annotate(
                phase.name,
                ((left + right) / 2, 1),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                va="bottom",
            )
    figure.suptitle(f"{plan.name}: {plan.total_steps:,} steps, {ends[-1]:,.3g} {unit}", fontsize=11)
