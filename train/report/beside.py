"""Several runs on one page: what differs in them, their losses and held-out scores in the same charts."""

from __future__ import annotations

import importlib.resources
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.offline

from tootsie.mixtures.comparison import compare
from tootsie.train.report import charts
from tootsie.train.report.page import alarms, figure, lineage, table, text, tokens
from tootsie.train.report.records import RunRecords


def names_of(runs: list[RunRecords]) -> list[str]:
    """Return a name for each run: the last part of its folder, with as much of the path as tells them apart."""
    parts = [run.folder.rstrip("/").split("/") for run in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{run.folder} ({number})" for number, run in enumerate(runs, 1)]


def parameters_beside(runs: list[RunRecords]) -> list[list[str]]:
    """Return the settings of ``config.json`` that are not the same in all runs: name, then the value of each run."""
    flat = [dict(_leaves(run.config)) for run in runs]
    rows = []
    for key in dict.fromkeys(key for one in flat for key in one):
        values = [one.get(key, "–") for one in flat]
        if len(set(values)) > 1 and not key.startswith(("lineage", "phases", "run.out")):
            rows.append([key, *values])
    return rows


def _leaves(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Path and text of each leaf; no recursion, for the file may be anybody's."""
    found, waiting = [], [(path, value)]
    while waiting:
        at, node = waiting.pop()
        items = (
            node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else None
        )
        if items is None:
            found.append((at, str(node)))
        else:
            waiting += [(f"{at}.{key}" if at else str(key), child) for key, child in items]
    return sorted(found)


def _lines(runs: list[RunRecords], names: list[str], title: str, y_title: str) -> tuple[go.Figure, float]:
    longest = max(runs, key=lambda run: run.plan.total_tokens)
    return charts.empty(longest.plan, title, y_title=y_title, height=380)


def losses(runs: list[RunRecords], names: list[str]) -> go.Figure:
    """Running mean of each run's training loss over tokens; a branch begins where it branches off."""
    chart, divisor = _lines(runs, names, "Training loss, running mean", "nats per token")
    for index, (run, name) in enumerate(zip(runs, names, strict=True)):
        values = run.series("loss")
        mean = charts.smooth(values, max(1, len(values) // 100))
        line = {"color": charts.COLOURS[index % len(charts.COLOURS)], "width": 2}
        chart.add_scatter(
            x=run.series("tokens") / divisor, y=mean, name=charts.label(name), mode="lines", line=line
        )
    return chart


def held_out(runs: list[RunRecords], names: list[str]) -> dict[str, go.Figure]:
    """A chart for each held-out set: hot solid, EMA dashed, a colour for each run."""
    sets = dict.fromkeys(name for run in runs for name in run.bits_per_byte("hot"))
    result = {}
    for number, data in enumerate(sets):
        chart, divisor = _lines(runs, names, f"{data}: hot solid, EMA dashed", "bits per byte")
        for index, (run, name) in enumerate(zip(runs, names, strict=True)):
            for weights, dash in (("hot", "solid"), ("ema", "dash")):
                if data in (found := run.bits_per_byte(weights)):
                    at, values = found[data]
                    line = {"color": charts.COLOURS[index % len(charts.COLOURS)], "width": 2, "dash": dash}
                    shown = charts.label(name if weights == "hot" else f"{name} (EMA)")
                    chart.add_scatter(x=at / divisor, y=values, name=shown, mode="lines+markers", line=line)
        result[f"held-out-{number}"] = chart
    return result


def ends(runs: list[RunRecords], names: list[str]) -> str:
    """How far each run is, its loss, and its last score on each held-out set."""
    rows: list[list[object]] = []
    best = {
        (weights, data): min(
            r.bits_per_byte(weights)[data][1][-1] for r in runs if data in r.bits_per_byte(weights)
        )
        for weights in ("hot", "ema")
        for run in runs
        for data in run.bits_per_byte(weights)
    }
    columns = sorted(best)
    for run, name in zip(runs, names, strict=True):
        last = run.train[-1] if run.train else {}
        loss = f"{np.nanmean(run.series('loss')[-20:]):.4f}" if run.train else "–"
        scores = []
        for weights, data in columns:
            found = run.bits_per_byte(weights).get(data)
            scores.append(
                "–"
                if found is None
                else f"{found[1][-1]:.4f}{' *' if found[1][-1] == best[weights, data] else ''}"
            )
        rows.append(
            [
                name,
                f"{last.get('step', 0):,} of {run.plan.total_steps:,}",
                tokens(last.get("tokens", 0)),
                loss,
                *scores,
            ]
        )
    head = [
        "run",
        "steps",
        "tokens",
        "loss, last 20 lines",
        *[f"{data}, {weights}" for weights, data in columns],
    ]
    return table(head, rows) + "<p class='note'>Bits per byte at the end; * the best.</p>"


def plans_beside(runs: list[RunRecords], names: list[str]) -> str:
    """Where each plan parts from that of the first run, and what differs in its phases."""
    rows = []
    for run, name in zip(runs[1:], names[1:], strict=True):
        found = compare(runs[0].plan, run.plan)
        part = found["part_at"]
        at = "never" if part is None else f"step {part['step']:,}: {part['reason']}"
        for entry in found["phases"] or [{"phase": "–"}]:
            changes = [f"{c['field']} {c['before']} → {c['after']}" for c in entry.get("changes", ())]
            if "only_in" in entry:
                changes = [f"only in {names[0] if entry['only_in'] == 'first' else name}"]
            rows.append([name, at, entry["phase"], "; ".join(changes) or "–"])
    return table(["run", f"parts from {names[0]}", "phase", "what differs"], rows, (0, 1, 2, 3))


def render_beside(runs: list[RunRecords]) -> str:
    """Return the page about several runs, the first being what the others are compared with."""
    names = names_of(runs)
    settings = parameters_beside(runs)
    sections = [
        f"<h1>{text(' · '.join(names))}</h1><p class='lead'>{len(runs)} runs beside each other</p>",
        "<h2>At the end</h2>" + ends(runs, names),
        "<h2>Training</h2>" + figure(losses(runs, names), "loss"),
        "<h2>Held-out corpora</h2>" + "".join(figure(c, name) for name, c in held_out(runs, names).items()),
        "<h2>Plans</h2>" + plans_beside(runs, names),
        "<h2>Settings that differ</h2>"
        + (
            table(["setting", *names], settings, tuple(range(len(names) + 1))) if settings else "<p>None.</p>"
        ),
        *[
            f"<h2>{text(name)}</h2><h3>Lineage</h3>{lineage(run)}<h3>Alarms</h3>{alarms(run)}"
            for run, name in zip(runs, names, strict=True)
        ],
    ]
    style = importlib.resources.files(__package__).joinpath("page.css").read_text()
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(" · ".join(names))}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style>'
        f"<script>{plotly.offline.get_plotlyjs()}</script></head><body>\n"
        + "\n".join(sections)
        + "\n<footer>Made by tootsie report.</footer></body></html>\n"
    )
