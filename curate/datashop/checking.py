"""The stages ``check`` and ``decontaminate``: from what the model wrote to the dataset."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tootsie.curate import cleaning_run
from tootsie.curate.corpus import EXCERPT, Dropped, Kept, Outcome
from tootsie.curate.datashop.asking import result_of, rows_url, without_result
from tootsie.curate.datashop.languages import fault_of_language
from tootsie.curate.datashop.questions import copied_run, fault, items_of, markdown
from tootsie.curate.datashop.run import Run, Stage
from tootsie.curate.datashop.scoring import begin_cleaning
from tootsie.curate.datashop.spec import Checks, Protocol, Rephrase, Style
from tootsie.curate.datashop.two_step import fault_in_two_steps, title_of
from tootsie.curate.document_inputs import find_corpora
from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError

_PROVENANCE = (
    "model",
    "revision",
    "served_model",
    "server",
    "prompt_sha256",
    "sampling",
    "structured",
    "finish_reason",
    "truncated",
)


class JudgeAnswer:
    """Makes a document of a row whose items hold, and drops the others."""

    def __init__(self, rephrase: Rephrase, checks: Checks) -> None:
        self._rephrase = rephrase
        self._checks = checks

    def __call__(self, number: int, row: Document) -> Outcome:
        """Return what becomes of a row."""
        result = result_of(row)
        metadata = without_result(row)
        if result["state"] != "done":
            return Dropped(
                reason=f"model: {result['reason']}",
                id=row.id,
                excerpt=row.text[:EXCERPT],
                detail=result["detail"],
                metadata=metadata,
            )
        style = Style(metadata["style"])
        items = items_of(style, result["answer"])
        faults = [self._fault(item, style, row) for item in items]
        good = [item for item, found in zip(items, faults, strict=True) if found is None]
        counters = Counter(f"item left out: {found}" for found in faults if found is not None)
        counters["items kept"] += len(good)
        if style is Style.EXPLAIN and (wrong := self._fault_of_explanation(result["answer"], row.text)):
            faults, good = [wrong], []
        if not good:
            found = Counter(found for found in faults if found is not None).most_common(1)
            first = found[0][0] if found else "no sentence that stands alone"
            return Dropped(
                reason=f"check: {first}",
                id=row.id,
                excerpt=json.dumps(result["answer"], ensure_ascii=False)[:EXCERPT],
                detail="; ".join(found or "" for found in faults),
                metadata=metadata,
            )
        metadata["datashop"] = {name: result[name] for name in _PROVENANCE if name in result}
        if "steps" in result:
            kept = [step for step, found in zip(result["steps"], faults, strict=True) if found is None]
            metadata["datashop"]["steps"] = kept
        metadata["items"] = len(good)
        text = markdown(style, result["answer"], good)
        return Kept(row.model_copy(update={"text": text, "metadata": metadata}), counters, len(row.text))

    def _fault_of_explanation(self, answer: dict[str, Any], passage: str) -> str | None:
        if copied_run(answer["explanation"], passage) > self._checks.copied_words:
            return "copied from the passage"
        return fault_of_language([answer["explanation"]], passage) if self._checks.language else None

    def _fault(self, item: dict[str, str], style: Style, row: Document) -> str | None:
        if self._rephrase.protocol is Protocol.TWO_STEP:
            return fault_in_two_steps(item, row.text, self._rephrase, self._checks, title_of(row.metadata))
        return fault(item, style, row.text, self._checks)


def check(run: Run) -> dict[str, Any]:
    """Write the corpus ``check/``. Return the books."""
    lots = len(run.books(Stage.REPHRASE)["files"])
    urls = [rows_url(run.folder, Stage.REPHRASE.value, lot) for lot in range(lots)]
    corpora = find_corpora(urls, run.spec.name)
    folder = run.path(Stage.CHECK.value)
    cleaning = cleaning_run.plan_run(
        "datashop check", corpora, folder, run.spec.content("check"), "check.json"
    )
    begin_cleaning(cleaning)
    manifest = cleaning_run.write_documents(
        cleaning, JudgeAnswer(run.spec.rephrase, run.spec.check), run.options, 0.0
    )[0]
    if not manifest.documents:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in manifest.accounting.dropped.items())
        raise InputError(
            f"none of the {manifest.accounting.read:,} rows has an item that holds: {reasons}",
            file=storage.join(folder, "rejects"),
            remedy="Look at the rejects there; ask a better model, keep more documents, or loosen 'check'",
        )
    books = {"accounting": manifest.accounting.model_dump(), "counters": manifest.counters}
    cleaning_run.finish_run(cleaning, {"run": cleaning.identity, **books})
    return books


def decontaminate(run: Run) -> dict[str, Any]:
    """Write the corpus ``decontaminate/`` without what has evaluation sets in it, where the spec names any. Return the books.

    The documents that questions were made from are searched too: a question made from a leak is a leak, in whatever words.
    """
    if run.spec.evaluations is None:
        return {"searched": False}
    from tootsie.curate.decontamination import pipeline, taint
    from tootsie.curate.decontamination.evaluation_sets import read_evaluation_sets
    from tootsie.curate.decontamination.settings import DecontaminationSettings
    from tootsie.datasets.contamination import REPORT_NAME

    settings = DecontaminationSettings()
    sets, common = read_evaluation_sets(run.spec.evaluations)
    content = {**settings.content(), "evaluations": {one.name: one.sha256 for one in sets}}
    tainted: dict[str, list[str]] = {}
    reports = {}
    for name, folders, write in (
        ("sources", [run.path(one) for one in run.books(Stage.FILTER)["corpora"]], False),
        ("", [run.path(Stage.CHECK.value)], True),
    ):
        folder = run.path(Stage.DECONTAMINATE.value, *([name] if name else []))
        found = cleaning_run.plan_run(
            "datashop decontaminate", find_corpora(folders), folder, content, REPORT_NAME
        )
        begin_cleaning(found)
        manifests, report = pipeline.decontaminate(
            found, sets, common, tainted, settings, run.options, derived=write, write=write, max_failures=0.0
        )
        cleaning_run.finish_run(found, report.sealed().model_dump(mode="json"))
        reports[name or "dataset"] = {
            "matrix": report.matrix,
            "accounting": [manifest.accounting.model_dump() for manifest in manifests],
        }
        if not write:
            tainted = taint.read_taint([folder])
    return {"searched": True, "evaluations": [one.name for one in sets], **reports}


def dataset_folder(run: Run) -> str:
    """Return the folder of the finished dataset, relative to that of the run."""
    searched = run.books(Stage.DECONTAMINATE)["searched"]
    return Stage.DECONTAMINATE.value if searched else Stage.CHECK.value
