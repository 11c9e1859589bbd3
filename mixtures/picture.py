"""A timeline of a plan: stacked shares, epochs, learning rate and batch size over tokens; PNG or SVG by the file's suffix."""

from __future__ import annotations

import io
import itertools
import math

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError
from tootsie.mixtures.learning_rate import LearningRate
from tootsie.mixtures.plan import Plan

COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999933", "#882255",
    "#44aa99", "#ddaa33", "#332288", "#cc6677", "#117733", "#88ccee", "#994455", "#bbbbbb",
)  # fmt: skip
"""Paul Tol's qualitative palettes: told apart by colour-blind readers too."""
LABELLED = 44
"""Datasets named in the legend; the others share the entry of the rest."""
_RATE_POINTS = 400
_CYCLES = 2000
"""Cycles of the learning rate drawn at most."""
_BOUNDS = 60
"""Phases up to which their bounds are drawn."""
_NAMED_EPOCHS = 6
"""Datasets named where their epochs are drawn: those seen most often."""


def colour_of(number: int) -> str:
    """Return the colour of a dataset: the palette, then the same hues halfway to white, then to black, then grey for the rest."""
    if number >= LABELLED:
        return COLOURS[-1]
    shade, hue = divmod(number, len(COLOURS) - 1)
    channels = [int(COLOURS[hue][at : at + 2], 16) for at in (1, 3, 5)]
    if shade:
        channels = [(255 * (shade == 1) + channel) // 2 for channel in channels]
    return "#" + "".join(f"{channel:02x}" for channel in channels)


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
        figure = Figure(figsize=(11, 8), layout="constrained")
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


def knots(rate: LearningRate, steps: int) -> list[int]:
    """Return the steps of a phase at which the form of its learning rate changes, and some within each decay, ascending."""
    span = rate.span or steps
    found = {0, steps - 1, rate.warmup_steps - rate.first, span - (rate.decay_steps or 0) - rate.first}
    begin = 0
    for cycle in rate.cycles:
        end = span if cycle.until is None else cycle.until
        stride = cycle.steps * max(1, (end - begin) // cycle.steps // _CYCLES)
        for start in range(begin, end, stride):
            decay = start + cycle.steps - cycle.decay_steps
            inner = [decay + cycle.decay_steps * part // 8 for part in range(9)]
            found |= {step - rate.first for step in (start, *inner[:-1], start + cycle.steps - 1)}
        begin = end
    return sorted(step for step in found if 0 <= step < steps)


def _draw(plan: Plan, figure) -> None:  # type: ignore[no-untyped-def]
    divisor, unit = unit_of(plan.total_tokens)
    names = list({name: None for phase in plan.phases for name in phase.sequences})
    # The legend is as high as the mixture beside it.
    ratios = [max(5, 0.2 * min(len(names), LABELLED + 1)), 2.4, 2, 1]
    figure.set_figheight(0.78 * sum(ratios))
    mixture, epochs, rate, batch = figure.subplots(4, 1, sharex=True, gridspec_kw={"height_ratios": ratios})
    ends = [0.0, *(plan.lengths.tokens_before(phase.end) / divisor for phase in plan.phases)]
    _draw_mixture(plan, mixture, names, ends)
    _draw_epochs(plan, epochs, names, ends)
    _draw_rate(plan, rate, ends)
    # In sequences; where those differ in length, in tokens.
    sizes = [phase.batch_size * (plan.length_of(phase) if plan.lengths.vary else 1) for phase in plan.phases]
    batch.stairs(sizes, ends, color=COLOURS[2], lw=1.6, baseline=None)
    batch.set_ylim(0, 1.25 * max(sizes))
    batch.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    batch.locator_params(axis="y", nbins=3)
    batch.set_ylabel("batch tokens" if plan.lengths.vary else "batch")
    batch.set_xlabel(unit)
    batch.set_xlim(0, ends[-1])
    for axes in (mixture, epochs, rate, batch):
        axes.spines[["top", "right"]].set_visible(False)
        for end in ends[1:-1] if len(ends) <= _BOUNDS else ():
            axes.axvline(end, color="#333333", lw=0.6, ls=(0, (4, 3)))
    _name_phases(plan, mixture, ends)
    figure.align_ylabels()
    figure.suptitle(f"{plan.name}: {plan.total_steps:,} steps, {ends[-1]:,.3g} {unit}", fontsize=11)


def _draw_mixture(plan: Plan, axes, names: list[str], ends: list[float]) -> None:  # type: ignore[no-untyped-def]
    bottom = np.zeros(len(plan.phases))
    for number, name in enumerate(names):
        height = np.array([phase.shares.get(name, 0.0) for phase in plan.phases])
        label = name if number < LABELLED else ("others" if number == LABELLED else None)
        axes.stairs(
            bottom + height, ends, baseline=bottom, fill=True, color=colour_of(number), label=label, lw=0
        )
        bottom = bottom + height
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_ylabel("share of sequences")
    handles, labels = axes.get_legend_handles_labels()
    few = len(labels) <= 12
    axes.legend(
        handles[::-1],
        labels[::-1],
        loc="upper left",
        bbox_to_anchor=(1.01, 1.02),
        frameon=False,
        fontsize=8 if few else 7,
        labelspacing=0.5 if few else 0.15,
    )


def _draw_epochs(plan: Plan, axes, names: list[str], ends: list[float]) -> None:  # type: ignore[no-untyped-def]
    """How often each dataset has been seen; on a logarithmic scale, because one is repeated while another has hardly begun."""
    points = max(1, _RATE_POINTS // len(plan.phases))
    within = np.arange(points + 1) / points
    at = np.concatenate([low + (high - low) * within for low, high in itertools.pairwise(ends)])
    tokens = {dataset.name: dataset.tokens for dataset in plan.datasets}
    seen = {
        (phase.first_step, name): count * (phase.end - phase.start) / phase.length / tape.rows(tokens[name])
        for phase, tape in zip(plan.phases, plan.lengths.tapes, strict=True)
        for name, count in phase.sequences.items()
    }
    final = {}
    for number, name in enumerate(names):
        passes = np.concatenate(
            [
                float(plan.lengths.passes(name, phase.start, phase.carried.get(name, 0)))
                + within * seen.get((phase.first_step, name), 0.0)
                for phase in plan.phases
            ]
        )
        final[name] = float(passes[-1])
        axes.plot(at, np.where(passes > 0, passes, np.nan), color=colour_of(number), lw=1.2)
    highest = max(final.values())
    axes.set_yscale("log")
    axes.set_ylim(min(0.01, highest / 10), 2 * max(1.0, highest))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.axhline(1, color="#333333", lw=0.6)
    axes.set_ylabel("epochs so far")
    above = None
    for name in sorted(names, key=lambda name: -final[name])[:_NAMED_EPOCHS]:
        # Names that would lie on one another are moved down; what has not been seen twice needs none.
        if final[name] < 1.5:
            break
        height = math.log(final[name] / axes.get_ylim()[0]) / math.log(
            axes.get_ylim()[1] / axes.get_ylim()[0]
        )
        height = height if above is None else min(height, above - 0.13)
        above = height
        for text, left, colour in (
            ("━", 1.01, colour_of(names.index(name))),
            (f"{name} {final[name]:.3g}×", 1.03, "#222222"),
        ):
            axes.annotate(
                text, (left, height), xycoords="axes fraction", fontsize=7, va="center", color=colour
            )


def _draw_rate(plan: Plan, axes, ends: list[float]) -> None:  # type: ignore[no-untyped-def]
    points = max(2, min(_RATE_POINTS, 8 * _RATE_POINTS // len(plan.phases)))
    for phase, start, end in zip(plan.phases, ends, ends[1:], strict=False):
        given = phase.settings.learning_rate
        even = np.linspace(0, phase.steps - 1, points).astype(np.int64).tolist()
        steps = np.array(
            sorted({*even, *knots(given, phase.steps)} if not given.cycles else knots(given, phase.steps))
        )
        values = [given.at(int(step), phase.steps) for step in steps]
        at = start + (end - start) * steps / phase.steps
        axes.plot([*at, end], [*values, given.final(phase.steps)], color=COLOURS[0], lw=1)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("learning rate")
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))


def _name_phases(plan: Plan, axes, ends: list[float]) -> None:  # type: ignore[no-untyped-def]
    """Write the names of phases above them; those of short phases slanted and higher up, where there is room."""
    free = -1.0
    for phase, left, right in zip(plan.phases, ends, ends[1:], strict=False):
        middle, wide = (left + right) / 2, (right - left) / ends[-1] > 0.0095 * len(phase.name)
        if not wide and middle < free:
            continue
        axes.annotate(
            phase.name,
            (middle, 1),
            xytext=(0, 4 if wide else 18),
            textcoords="offset points",
            ha="center" if wide else "left",
            va="bottom",
            rotation=0 if wide else 30,
            fontsize=9 if wide else 7,
            arrowprops=None
            if wide
            else {"arrowstyle": "-", "lw": 0.5, "color": "#333333", "shrinkA": 0, "shrinkB": 0},
        )
        if not wide:
            free = middle + 0.025 * ends[-1]
