"""The page's charts, as Plotly figures over tokens seen, with the phases shaded and named.

Glossary: S steps logged, D datasets.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan
from tootsie.train.report.records import RunRecords

COLOURS = (
    "#3b6fb6",
    "#d1495b",
    "#2e8b57",
    "#e08e2b",
    "#7a5195",
    "#3a9ca6",
    "#8c6d46",
    "#b04a8f",
    "#6b7a8f",
    "#a3a82f",
)
INK = "#1f2933"
GRID = "#e4e7eb"
SHADES = ("rgba(59,111,182,0.05)", "rgba(224,142,43,0.09)")
MIXTURE_BINS = 120


def colour(names: list[str]) -> dict[str, str]:
    """Give each dataset its colour, the same in every chart."""
    return {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(sorted(names))}


def unit_of_tokens(tokens: float) -> tuple[float, str]:
    """Return the divisor and name of the unit in which ``tokens`` reads best."""
    for divisor, name in ((1e12, "T tokens"), (1e9, "B tokens"), (1e6, "M tokens"), (1e3, "k tokens")):
        if tokens >= divisor:
            return divisor, name
    return 1.0, "tokens"


LABEL_ROWS = 3
"""Rows that the names of phases may take above a chart."""
NARROW = 520
"""Width in pixels of a plot in a narrow window: names that fit side by side there fit everywhere."""


def label(name: str, limit: int = 40) -> str:
    """Return a name as Plotly shows it literally: its markup escaped, cut where it is very long."""
    return html.escape(name if len(name) <= limit else name[: limit - 1] + "…", quote=False)


def label_rows(centres: Sequence[float], names: Sequence[str]) -> list[int | None]:
    """Spread names over rows so that none covers another; ``None`` for a name that finds no room.

    Args:
      centres: where each name stands, from 0 to 1, ascending.
      names: as :func:`label` gives them.
    """
    taken = [-1.0] * LABEL_ROWS
    rows: list[int | None] = []
    for centre, name in zip(centres, names, strict=True):
        half = 7 * len(html.unescape(name)) / NARROW / 2
        row = next((row for row, right in enumerate(taken) if right <= centre - half), None)
        if row is not None:
            taken[row] = centre + half + 8 / NARROW
        rows.append(row)
    return rows


def empty(plan: Plan, title: str, *, y_title: str, height: int = 340) -> tuple[go.Figure, float]:
    """Return an empty figure with the phases shaded, and the divisor of its token axis."""
    divisor, unit = unit_of_tokens(plan.total_tokens)
    figure = go.Figure()
    whole = plan.total_tokens
    bounds = [(plan.tokens_before(phase.start), plan.tokens_before(phase.end)) for phase in plan.phases]
    names = [label(phase.name, 24) for phase in plan.phases]
    rows = label_rows([(start + end) / 2 / whole for start, end in bounds], names)
    top = 15 * max((row for row in rows if row is not None), default=0)
    for index, bound in enumerate(bounds):
        start, end = (tokens / divisor for tokens in bound)
        figure.add_vrect(x0=start, x1=end, fillcolor=SHADES[index % 2], line_width=0, layer="below")
        if index:
            figure.add_vline(x=start, line={"color": INK, "width": 1, "dash": "dot"})
        if (row := rows[index]) is not None:
            figure.add_annotation(
                x=(start + end) / 2,
                y=1.0,
                yref="paper",
                yanchor="bottom",
                yshift=15 * row,
                text=names[index],
                showarrow=False,
                font={"size": 12},
            )
    figure.update_layout(
        title={
            "text": title,
            "x": 0.0,
            "xanchor": "left",
            "y": 1.0,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 10},
            "font": {"size": 16},
        },
        height=height + 40 + top,
        # The same on all charts, so that one moment of the run stands at one place on the page.
        margin={"l": 70, "r": 70, "t": 64 + top, "b": 50},
        template="plotly_white",
        font={"family": "system-ui, sans-serif", "color": INK, "size": 13},
        hovermode="x unified",
        showlegend=True,
        legend={"orientation": "h", "x": 0.0, "y": 0.0, "yref": "container", "yanchor": "bottom"},
    )
    figure.update_xaxes(
        title={"text": unit, "standoff": 6},
        range=[0, plan.total_tokens / divisor],
        gridcolor=GRID,
    )
    figure.update_yaxes(title=y_title, gridcolor=GRID)
    return figure, divisor


def smooth(values: np.ndarray, half_width: int) -> np.ndarray:
    """Return the centred running mean over ``2 * half_width + 1`` steps: float64[S] to float64[S]."""
    if not half_width or len(values) < 3:
        return values
    kernel = np.ones(2 * half_width + 1)
    weight = np.convolve(np.ones(len(values)), kernel, mode="same")
    return np.convolve(values, kernel, mode="same") / weight


def loss(run: RunRecords) -> go.Figure:
    """Training loss of each step and its running mean."""
    figure, divisor = empty(run.plan, "Training loss", y_title="nats per token")
    tokens, values = run.series("tokens") / divisor, run.series("loss")
    figure.add_scatter(
        x=tokens, y=values, name="each step", mode="lines", line={"color": "#b8c4d6", "width": 1}
    )
    mean = smooth(values, max(1, len(values) // 100))
    figure.add_scatter(
        x=tokens, y=mean, name="running mean", mode="lines", line={"color": COLOURS[0], "width": 2}
    )
    if len(values) > 20:
        figure.update_yaxes(range=[np.nanmin(values) * 0.96, np.nanpercentile(values, 98) * 1.02])
    return figure


def bits_per_byte(run: RunRecords) -> go.Figure:
    """Held-out bits per byte of each corpus: hot weights solid, EMA dashed."""
    figure, divisor = empty(
        run.plan, "Held-out bits per byte: hot solid, EMA dashed", y_title="bits per byte", height=400
    )
    hot, ema = run.bits_per_byte("hot"), run.bits_per_byte("ema")
    colours = colour(list(hot))
    later = [value for tokens, values in hot.values() for value in values[len(values) // 10 :]]
    for suffix, group, dash in (("", hot, "solid"), (" (EMA)", ema, "dash")):
        for name, (tokens, values) in group.items():
            line = {"color": colours.get(name, INK), "width": 2, "dash": dash}
            figure.add_scatter(
                x=tokens / divisor,
                y=values,
                name=f"{label(name)}{suffix}",
                mode="lines+markers",
                line=line,
                marker={"size": 4},
            )
    if later:
        figure.update_yaxes(range=[min(later) * 0.95, max(later) * 1.05])
    return figure


def schedule(run: RunRecords) -> go.Figure:
    """Learning rate and batch size as they were used."""
    figure, divisor = empty(run.plan, "Learning rate and batch size", y_title="learning rate", height=300)
    tokens = run.series("tokens") / divisor
    figure.add_scatter(
        x=tokens, y=run.series("learning_rate"), name="learning rate", line={"color": COLOURS[1], "width": 2}
    )
    figure.add_scatter(
        x=tokens,
        y=run.series("batch_size"),
        name="batch size",
        yaxis="y2",
        line={"color": COLOURS[2], "width": 2, "shape": "hv"},
    )
    figure.update_yaxes(rangemode="tozero", exponentformat="e")
    figure.update_layout(
        yaxis2={
            "title": "sequences per step",
            "overlaying": "y",
            "side": "right",
            "rangemode": "tozero",
            "showgrid": False,
            "tickvals": sorted({phase.batch_size for phase in run.plan.phases}),
        },
    )
    return figure


def mixture(run: RunRecords) -> go.Figure:
    """The realised mixture: share of each dataset in what was drawn, as stacked areas."""
    figure, divisor = empty(
        run.plan, "Realised mixture (share of the sequences drawn)", y_title="share", height=320
    )
    if run.train:
        tokens, consumed = run.series("tokens"), run.consumed()
        edges = _bin_edges(run, len(tokens))
        began = run.branched_at()
        drawn = np.diff(consumed[edges], axis=0, prepend=Order(run.plan).counts(began)[None, :])
        shares = drawn / drawn.sum(axis=1, keepdims=True)
        starts = np.concatenate([[run.plan.tokens_before(began)], tokens[edges][:-1]])
        # Each bin is drawn as a flat step from its start to its end, so that a hard switch looks like one.
        x = np.stack([starts, tokens[edges]], axis=1).ravel() / divisor
        colours = colour([dataset.name for dataset in run.plan.datasets])
        for index, dataset in enumerate(run.plan.datasets):
            y = np.repeat(shares[:, index], 2)
            figure.add_scatter(
                x=x,
                y=y,
                name=label(dataset.name),
                stackgroup="one",
                line={"width": 0.5, "color": colours[dataset.name]},
                hovertemplate="%{y:.1%}",
            )
    figure.update_yaxes(range=[0, 1], tickformat=".0%")
    return figure


def _bin_edges(run: RunRecords, steps: int) -> np.ndarray:
    """Rows of the log at which a bin of the mixture chart ends; every phase boundary is one of them."""
    edges = set(np.linspace(0, steps - 1, min(steps, MIXTURE_BINS)).astype(int).tolist())
    positions = run.series("position")
    for phase in run.plan.phases:
        edges.update(np.flatnonzero(positions == phase.end).tolist())
    return np.array(sorted(edges))


def epochs(run: RunRecords) -> go.Figure:
    """Epochs of each dataset over the run."""
    figure, divisor = empty(run.plan, "Epochs of each dataset", y_title="epochs", height=320)
    if run.train:
        tokens, consumed = run.series("tokens") / divisor, run.consumed()
        positions = run.series("position").astype(np.int64)
        colours = colour([dataset.name for dataset in run.plan.datasets])
        for index, dataset in enumerate(run.plan.datasets):
            y = run.plan.lengths.passes_along(dataset.name, positions, consumed[:, index])
            figure.add_scatter(
                x=tokens, y=y, name=label(dataset.name), line={"color": colours[dataset.name], "width": 2}
            )
    return figure


def norms(run: RunRecords) -> go.Figure:
    """Norm of the head, the embedding and the final norm's scale, each against what it was at first."""
    figure, divisor = empty(
        run.plan, "Norms of the ends of the model", y_title="× its first value", height=300
    )
    if run.norms:
        tokens = np.array([row["tokens"] for row in run.norms]) / divisor
        for index, group in enumerate(("head", "embedding", "final_norm")):
            values = np.array([row["parameter"].get(group, np.nan) for row in run.norms])
            if np.isfinite(values).any():
                line = {"color": COLOURS[index], "width": 2}
                figure.add_scatter(x=tokens, y=values / values[0], name=group.replace("_", " "), line=line)
    return figure
