"""The card of a datashop run: what was asked of which model, what came of every row, told by the books of the stages."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from tootsie.curate.corpus_card import MARK
from tootsie.curate.datashop.checking import dataset_folder
from tootsie.curate.datashop.description import read_descriptions
from tootsie.curate.datashop.run import BEFORE, Run, Stage
from tootsie.datasets import storage
from tootsie.datasets.errors import shorten
from tootsie.datasets.manifest import read_documents, read_manifest

CARD_NAME = "README.md"
EXAMPLES = 3


def write_card(run: Run) -> dict[str, Any]:
    """Write ``README.md`` in the folder of the run. Return the books."""
    storage.write_bytes(run.path(CARD_NAME), ("\n\n".join(_parts(run)) + "\n").encode())
    folder = dataset_folder(run)
    return {"dataset": folder, "documents": read_manifest(run.path(folder)).documents}


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _table(header: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in lines)


def _parts(run: Run) -> Iterator[str]:
    folder = dataset_folder(run)
    manifest = read_manifest(run.path(folder))
    books: dict[Stage, dict[str, Any]] = {}
    for stage in BEFORE[Stage.CARD]:
        books[stage] = run.books(stage)
    model = run.model
    yield f"---\npretty_name: {run.spec.name}\nconfigs:\n- config_name: default\n  data_files: {folder}/part-*.jsonl.zst\n---"
    yield f"# {run.spec.name}\n\n{MARK}"
    text = sum(entry.text_bytes for entry in manifest.files)
    yield (
        f"{manifest.documents:,} documents of questions and answers, {text:,} bytes of Markdown, in `{folder}/`. Each was "
        f"written by the model {_cell(model.name)} (revision {_cell(model.revision or 'not stated')}) from one passage of one "
        "document, which its metadata names in `derived_from`, with URL and licence where the source has them; `datashop` "
        "there says how the model was asked."
    )
    yield "## What was wanted"
    yield "\n\n".join(f"**{_cell(name)}.** {_cell(words)}" for name, words in read_descriptions(run).items())
    yield "## What to know"
    yield "\n".join(f"- {note}" for note in _notes(run, books))
    yield "## Books"
    yield _table(("stage", "what", "count"), list(_rows(books)))
    scorer = books[Stage.TRAIN]["held_out"]
    yield "## Scorer"
    yield (
        f"AUC {scorer['auc']} (95 %: {scorer['auc_95_percent'][0]} to {scorer['auc_95_percent'][1]}), calibration error "
        f"{scorer['calibration_error']}, on {scorer['documents']:,} held-out documents graded by the same model; "
        f"[report]({Stage.TRAIN.value}/report.md)."
    )
    if encoder := books[Stage.TRAIN].get("encoder"):
        yield (
            f"Its features are vectors of the encoder {_cell(encoder['name'])} (revision "
            f"{_cell(encoder['revision'] or 'not stated')}, {encoder['dimension']:,} numbers)."
        )
    for heading, key in (("Licences", "licences"), ("Sites", "sites"), ("Languages", "languages")):
        if counts := manifest.statistics.get(key):
            yield f"## {heading}"
            yield _table(
                (heading.lower(), "documents"),
                [(name, f"{n:,}") for name, n in sorted(counts.items(), key=lambda p: -p[1])],
            )
    yield "## Examples"
    for document in itertools.islice(read_documents(run.path(folder)), EXAMPLES):
        shown = {
            key: document.metadata[key]
            for key in ("derived_from", "url", "license", "style")
            if key in document.metadata
        }
        fence = "~~~~"
        while fence in document.text:
            fence += "~"
        words = shorten(document.text, 1500).rstrip()
        yield f"{_cell(json.dumps(shown, ensure_ascii=False))}\n\n{fence}markdown\n{words}\n{fence}"


def _notes(run: Run, books: dict[Stage, dict[str, Any]]) -> Iterator[str]:
    found = books[Stage.DECONTAMINATE]
    if found["searched"]:
        names = ", ".join(_cell(name) for name in found["evaluations"])
        yield f"Sources and dataset were searched for these evaluation sets, and what has them is left out: {names}."
    else:
        yield "**Not searched for evaluation sets**: the spec names none. Do so before scores on any are told."
    for subject in run.spec.subjects:
        if subject.examples:
            yield (
                f"The description of {_cell(subject.name)} is made from {len(subject.examples):,} examples: evaluation sets that "
                "these are from are targets, no tests."
            )
    cut = books[Stage.FILTER]
    asked = (
        f"the best {run.spec.filter.keep:.2%}" if run.spec.filter.keep is not None else "a given threshold"
    )
    yield (
        f"The filter was asked for {asked}; it kept {cut['kept']:,} of {cut['documents']:,} documents (from probability "
        f"{cut['threshold']:.6f} on), {cut['error']:.4%} more than asked, all of them equal to the last."
    )
    shown = books[Stage.ANNOTATE]["shown"]
    yield f"Of the graded documents {shown['in full']:,} were shown in full, {shown['in part']:,} only their begin."
    over = books[Stage.REPHRASE]["counts"]["passages over the limit"]
    yield f"{over:,} passages of kept documents were not rephrased, being beyond the number of a document that the spec sets."
    yield "Answers are checked by words, not by meaning: what a model makes up in the passage's own words passes."


def _rows(books: dict[Stage, dict[str, Any]]) -> Iterator[tuple[object, ...]]:
    for name, count in books[Stage.ANNOTATE]["documents"].items():
        yield "annotate", f"documents: {name}", f"{count:,}"
    for stage in (Stage.ANNOTATE, Stage.REPHRASE):
        rows = books[stage]["rows"]
        yield stage.value, "rows asked", f"{rows['read']:,}"
        yield stage.value, "rows done", f"{rows['written']:,}"
        for reason, count in rows["dropped"].items():
            yield stage.value, f"rows failed: {reason}", f"{count:,}"
    for grade, count in books[Stage.ANNOTATE]["grades"].items():
        yield "annotate", f"grade {grade}", f"{count:,}"
    yield "score", "documents", f"{books[Stage.SCORE]['documents']:,}"
    for reason, count in books[Stage.SCORE].get("failed", {}).items():
        yield "score", f"documents failed: {reason}", f"{count:,}"
    if "documents in part" in books[Stage.SCORE]:
        yield "score", "documents embedded in part", f"{books[Stage.SCORE]['documents in part']:,}"
    yield "filter", "documents kept", f"{books[Stage.FILTER]['kept']:,}"
    for name, count in books[Stage.REPHRASE]["counts"].items():
        yield "rephrase", name, f"{count:,}"
    check = books[Stage.CHECK]
    yield "check", "documents written", f"{check['accounting']['written']:,}"
    for reason, count in check["accounting"]["dropped"].items():
        yield "check", f"rows dropped: {reason}", f"{count:,}"
    for name, count in check["counters"].items():
        yield "check", name, f"{count:,}"
    if books[Stage.DECONTAMINATE]["searched"]:
        for one in books[Stage.DECONTAMINATE]["dataset"]["accounting"]:
            for reason, count in one["dropped"].items():
                yield "decontaminate", f"documents dropped: {reason}", f"{count:,}"
