"""Put the report together: tables, charts, samples and provenance in one HTML file without outside references."""

from __future__ import annotations

import html
import importlib.resources
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.offline

from tootsie.train.report import charts
from tootsie.train.report.documents import count_documents
from tootsie.train.report.records import RunRecords, realised


def text(value: object) -> str:
    """Return ``value`` escaped for HTML."""
    return html.escape(str(value), quote=True)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], text_columns: Sequence[int] = (0,)) -> str:
    """Return an HTML table; columns in ``text_columns`` are left-aligned, the others hold numbers."""
    hashes = [column for column, name in enumerate(head) if name == "hash"]

    def cell(tag: str, column: int, value: object) -> str:
        kind = ' class="text"' if column in text_columns else ""
        kind = ' class="text hash"' if column in hashes and tag == "td" else kind
        return f"<{tag}{kind}>{text(value)}</{tag}>"

    header = "".join(cell("th", column, value) for column, value in enumerate(head))
    body = "".join(
        "<tr>" + "".join(cell("td", column, value) for column, value in enumerate(row)) + "</tr>\n"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{header}</tr></thead><tbody>\n{body}</tbody></table></div>'


def figure(chart: go.Figure, name: str) -> str:
    """Return a chart as a fragment; its element id is ``name``, so that equal runs give equal pages."""
    return chart.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=name,
        config={"displaylogo": False, "responsive": True, "modeBarButtons": [["toImage", "resetScale2d"]]},
    )


def tokens(count: float) -> str:
    """Return a number of tokens as a person writes it."""
    divisor, unit = charts.unit_of_tokens(count)
    return f"{count / divisor:.4g}\N{NO-BREAK SPACE}{unit}"


def cards(run: RunRecords) -> str:
    """The few figures that one looks for first."""
    last = run.train[-1] if run.train else {}
    entries = [
        ("parameters", f"{run.config['parameters']:,}" if "parameters" in run.config else "–"),
        (f"of {run.plan.total_steps:,} steps", f"{last.get('step', 0):,}"),
        ("tokens seen", tokens(last.get("tokens", 0)).removesuffix(" tokens")),
        ("training loss, last 20 steps", f"{np.nanmean(run.series('loss')[-20:]):.4f}" if run.train else "–"),
    ]
    for name, (_, values) in run.bits_per_byte("ema").items():
        entries.append((f"{name}, bits per byte (EMA)", f"{values[-1]:.4f}"))
    return (
        '<div class="cards">'
        + "".join(f"<div class='card'><b>{text(v)}</b><span>{text(k)}</span></div>" for k, v in entries)
        + "</div>"
    )


def phases(run: RunRecords) -> str:
    """The phases as planned, and every setting that a boundary changes."""
    rows = []
    for phase in run.plan.phases:
        total = sum(phase.weights.values())
        shares = ", ".join(f"{name} {weight / total:.2%}" for name, weight in phase.weights.items() if weight)
        size = (phase.end - phase.start) * run.plan.length_of(phase)
        rate = f"{run.plan.learning_rate(phase.first_step):.3g} → {run.plan.learning_rate(phase.end_step - 1):.3g}"
        settings = phase.settings
        rows.append(
            [
                phase.name,
                f"{phase.first_step:,} – {phase.end_step:,}",
                tokens(size),
                f"{phase.batch_size:,} × {run.plan.length_of(phase):,}"
                if run.plan.lengths.vary
                else phase.batch_size,
                rate,
                f"{settings.z_loss:g}",
                "off" if settings.ema_beta is None else f"{settings.ema_beta:g}",
                shares,
            ]
        )
    head = ["phase", "steps", "length", "batch", "learning rate", "z-loss", "EMA β", "mixture"]
    changes = [[c.phase, c.field, _short(c.before), _short(c.after)] for c in run.plan.changes]
    return (
        table(head, rows, (0, 7))
        + "<h2>What each boundary changes</h2>"
        + table(["phase", "setting", "before", "after"], changes, (0, 1, 2, 3))
    )


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_short(item)}" for key, item in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def audit(run: RunRecords) -> str:
    """Planned against realised sequences, from the trainer's own log."""
    rows = [
        [
            row.phase,
            row.dataset,
            f"{row.planned:,.2f}",
            f"{row.drawn:,}",
            f"{row.drawn - row.planned:+.2f}",
            f"{row.epochs:.3f}",
        ]
        for row in realised(run)
    ]
    note = (
        "<p class='note'>Sequences by the plan and as drawn. Within every prefix of the run each dataset stays within one "
        "sequence of its share; a phase has two ends, so its own difference stays below two.</p>"
    )
    return note + table(
        ["phase", "dataset", "planned", "drawn", "difference", "epochs in the phase"], rows, (0, 1)
    )


def consumed(run: RunRecords) -> str:
    """How much of each corpus the run has read."""
    if not run.train:
        return "<p>Nothing yet.</p>"
    rows, missing = [], []
    total = int(run.consumed()[-1].sum())
    for index, dataset in enumerate(run.plan.datasets):
        drawn = int(run.consumed()[-1, index])
        position = int(run.train[-1]["position"])
        passes = run.plan.lengths.passes(dataset.name, position, drawn)
        read = run.plan.lengths.tokens_of(dataset.name, position, drawn)
        met = count_documents(run.plan, dataset, run.caches[dataset.name], drawn, total)
        if met.documents is None:
            missing.append(f"{dataset.name}: {met.why_not}.")
        rows.append(
            [
                dataset.name,
                f"{dataset.documents:,}",
                "–" if met.documents is None else f"{met.documents:,}",
                tokens(dataset.tokens),
                f"{drawn:,}",
                tokens(read),
                f"{float(passes):.3f}",
                f"{min(1.0, float(passes)):.1%}",
            ]
        )
    head = [
        "dataset",
        "documents in it",
        "consumed",
        "size",
        "sequences drawn",
        "tokens drawn",
        "epochs",
        "of its windows seen",
    ]
    command = f"tootsie mix trace {run.plan_url} --step {max(0, run.train[-1]['step'] - 1)}"
    note = "A document counts as consumed when a sequence with at least one of its tokens was drawn."
    return (
        table(head, rows)
        + f"<p class='note'>{text(' '.join([note, *missing]))}</p>"
        + f"<p class='note'>The documents of any step: <code>{text(command)}</code></p>"
    )


def evaluation(run: RunRecords) -> str:
    """First and last held-out bits per byte, and the fall within each phase."""
    rows = []
    ends = [run.plan.tokens_before(phase.end) for phase in run.plan.phases]
    for weights in ("hot", "ema"):
        for name, (at, values) in run.bits_per_byte(weights).items():
            falls, start = [], 0.0
            for end in ends:
                before = max(0, int(np.searchsorted(at, start, side="right")) - 1)
                after = int(np.searchsorted(at, end, side="right")) - 1
                whole = at[-1] >= end and at[before] < end
                falls.append(f"{values[after] - values[before]:+.4f}" if whole else "–")
                start = end
            rows.append([name, weights, f"{values[0]:.4f}", *falls, f"{values[-1]:.4f}"])
    head = [
        "held-out set",
        "weights",
        "at first",
        *[f"in {phase.name}" for phase in run.plan.phases],
        "at last",
    ]
    if not rows:
        return "<p>No held-out sets were given, or none is measured yet.</p>"
    return table(head, rows, (0, 1)) + averages(run) + by_position(run)


def averages(run: RunRecords) -> str:
    """The last averages over the sets of each tag."""
    last = {(row["tag"], row["weights"]): row for row in run.averages}
    if not last:
        return ""
    rows = [
        [tag, weights, row["sets"], f"{row['macro_bits_per_byte']:.4f}", f"{row['micro_bits_per_byte']:.4f}"]
        for (tag, weights), row in sorted(last.items())
    ]
    head = ["sets tagged", "weights", "sets", "macro average", "micro average"]
    return "<h3>Averages at last, bits per byte</h3>" + table(head, rows, (0, 1))


def by_position(run: RunRecords) -> str:
    """The last losses by the position of the token in its document, and of the last token."""
    last = {(row["dataset"], row["weights"]): row for row in run.evaluations if row.get("loss_by_position")}
    if not last:
        return ""
    width = max(len(row["loss_by_position"]) for row in last.values())
    starts = [0, *(2**bucket for bucket in range(width - 1))]
    rows = []
    for (name, weights), row in sorted(last.items()):
        means = [*row["loss_by_position"], *[None] * (width - len(row["loss_by_position"]))]
        rows.append(
            [
                name,
                weights,
                *("–" if mean is None else f"{mean:.3f}" for mean in means),
                f"{row['loss_of_last']:.3f}",
            ]
        )
    head = ["held-out set", "weights", *[f"from {start:,}" for start in starts], "last token"]
    return "<h3>Loss by position in the document at last, nats per token</h3>" + table(head, rows, (0, 1))


def samples(run: RunRecords) -> str:
    """Text that the model wrote."""
    if not run.samples:
        return "<p>No samples were asked for.</p>"
    parts = []
    for sample in run.samples[-8:]:
        head = f"step {sample.get('step', '?')}, {sample.get('weights', 'hot')} weights"
        parts.append(
            f"<p class='note'>{text(head)}</p><pre><b>{text(sample.get('prompt', ''))}</b>{text(sample.get('text', ''))}</pre>"
        )
    return "".join(parts)


def alarms(run: RunRecords) -> str:
    """What gave alarm: the first of each kind and subject, and how often it came back."""
    if not run.alarms:
        return "<p>None.</p>"
    firsts: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in run.alarms:
        firsts.setdefault((row["id"], row["subject"]), []).append(row)
    rows = [
        [kind, subject, f"{found[0]['step']:,}", len(found), found[0]["message"]]
        for (kind, subject), found in firsts.items()
    ]
    command = f"tootsie report why {run.folder} --step {run.alarms[0]['step']}"
    return (
        table(["alarm", "of", "first at step", "times", "what it said first"], rows, (0, 1, 4))
        + f"<p class='note'>What happened near a step: <code>{text(command)}</code></p>"
    )


def lineage(run: RunRecords) -> str:
    """Plans followed, branches and operations, in order."""
    rows = []
    for entry in run.lineage:
        rest = {key: value for key, value in entry.items() if key not in ("kind", "step")}
        name = entry.get("operation", entry["kind"])
        rows.append(
            [f"{entry['step']:,}", name, ", ".join(f"{key} {_short(value)}" for key, value in rest.items())]
        )
    return "<p>Not recorded.</p>" if not rows else table(["step", "what", "of"], rows, (1, 2))


def provenance(run: RunRecords) -> str:
    """What made every artefact, back to the dumps."""
    rows = [
        [
            "checkpoint",
            f"plan {run.plan.name}, step {run.train[-1]['step'] if run.train else 0}",
            "",
            run.config.get("code_version", ""),
        ],
        ["plan", run.plan.name, run.plan.hash, run.plan.code_version],
    ]
    identity = run.plan.cache_tokenizer
    rows.append(
        ["tokenizer", f"{identity.name}, {identity.vocabulary_size:,} entries", identity.fingerprint, ""]
    )
    for dataset in run.plan.datasets:
        ledger = run.ledgers.get(dataset.name)
        made_by = ledger.code_version if ledger else "its ledger is not at hand"
        rows.append([f"cache {dataset.name}", f"{dataset.tokens:,} tokens", dataset.ledger_sha256, made_by])
        for source in ledger.sources if ledger else ():
            documents = sum(file.documents for file in source.files)
            what = f"{documents:,} documents in {len(source.files)} files"
            made = source.code_version or ""
            rows.append([f"corpus {source.source}", what, source.manifest_sha256 or "", made])
            rows += [["dump", f"{dump.path}, {dump.size:,} bytes", dump.sha256, ""] for dump in source.inputs]
    configuration = json.dumps(run.config, indent=1, ensure_ascii=False)
    return (
        table(["artefact", "what", "hash", "made by"], rows, (0, 1, 2, 3))
        + f"<details><summary>The resolved configuration</summary><pre>{text(configuration)}</pre></details>"
    )


def render(run: RunRecords) -> str:
    """Return the page.

    Args:
      run: the records of one run.
    """
    status = "finished" if run.train and run.train[-1]["step"] >= run.plan.total_steps else "under way"
    total = tokens(run.plan.total_tokens)
    lead = f"{len(run.plan.phases)} phases, {len(run.plan.datasets)} datasets, {total}; {status}"
    sections = [
        f"<h1>{text(run.plan.name)}</h1><p class='lead'>{text(lead)}</p>",
        cards(run),
        "<h2>Held-out corpora</h2>" + figure(charts.bits_per_byte(run), "bits-per-byte") + evaluation(run),
        "<h2>Training</h2>"
        + figure(charts.loss(run), "loss")
        + figure(charts.schedule(run), "schedule")
        + figure(charts.norms(run), "norms"),
        "<h2>Alarms</h2>" + alarms(run),
        "<h2>Data</h2>" + figure(charts.mixture(run), "mixture") + figure(charts.epochs(run), "epochs"),
        "<h2>Phases</h2>" + phases(run),
        "<h2>Plan against reality</h2>" + audit(run),
        "<h2>What was consumed</h2>" + consumed(run),
        "<h2>Samples</h2>" + samples(run),
        "<h2>Lineage</h2>" + lineage(run),
        "<h2>Provenance</h2>" + provenance(run),
    ]
    library = plotly.offline.get_plotlyjs()
    style = importlib.resources.files(__package__).joinpath("page.css").read_text()
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(run.plan.name)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style>'
        f"<script>{library}</script></head><body>\n"
        + "\n".join(sections)
        + "\n<footer>Made by tootsie report.</footer></body></html>\n"
    )
