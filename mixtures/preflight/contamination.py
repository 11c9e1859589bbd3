"""Check that what is drawn was searched for the evaluation sets that the spec names."""

from __future__ import annotations

from collections.abc import Iterator

from tootsie.datasets import storage
from tootsie.datasets.contamination import DecontaminationReport, load_report
from tootsie.datasets.errors import UserError
from tootsie.mixtures.compilation import Compiled
from tootsie.mixtures.preflight.check import Check, Problem, Severity


def _decontamination(compiled: Compiled) -> Iterator[Problem]:
    """Datasets that no report clears of an evaluation set the spec asks for."""
    asked = compiled.spec.decontamination
    if asked is None:
        yield Problem(
            compiled.plan.name,
            Severity.WARNING,
            "asks for no search for evaluation sets, so nobody knows which of their questions it trains on. Write "
            "'decontamination: {evaluations: [...], reports: [...]}', with reports of 'tootsie curate decontaminate'",
        )
        return
    folder = compiled.source.url.rpartition("/")[0]
    reports: list[DecontaminationReport] = []
    for number, url in enumerate(asked.reports):
        try:
            reports.append(load_report(storage.resolve(folder, url)))
        except UserError as error:
            raise compiled.source.error(
                f"{error.file}: {error.problem}",
                ("decontamination", "reports", number),
                url,
                error.remedy,
            ) from None
    for evaluation in asked.evaluations:
        searches = [one for report in reports for one in report.evaluations if one.name == evaluation]
        if unseen := max((one.undecidable for one in searches), default=0):
            yield Problem(
                compiled.plan.name,
                Severity.WARNING,
                f"would not know of a leak of {unseen:,} questions or answers of {evaluation!r}: all their n-grams are in many "
                "documents, as those of a set are that stands in a corpus often. Search again with a larger --common-share and "
                "--common-documents, or remove duplicates first",
            )
    drawn = {name for phase in compiled.plan.phases for name in phase.sequences}
    for name, measured in compiled.measured.items():
        if name not in drawn:
            continue
        if not measured.manifests:
            yield Problem(
                name,
                Severity.ERROR,
                "is known by its card only, so nobody knows whether it holds evaluation sets. Tokenize a corpus that "
                "'tootsie curate decontaminate' wrote",
            )
            continue
        for evaluation in asked.evaluations:
            unclear = [one for one in measured.manifests if not _cleared(one, evaluation, reports)]
            if unclear:
                shown = ", ".join(
                    one[:12] if one is not None else "files without a manifest" for one in unclear
                )
                yield Problem(
                    name,
                    Severity.ERROR,
                    f"is not known to be free of {evaluation!r}: no report clears the corpus it was made of ({shown}). Run "
                    "'tootsie curate decontaminate' on it as the last step before tokenizing, and name its report",
                )


def _cleared(manifest: str | None, evaluation: str, reports: list[DecontaminationReport]) -> bool:
    return manifest is not None and any(
        report.clears(manifest) and any(one.name == evaluation for one in report.evaluations)
        for report in reports
    )


CONTAMINATION_CHECKS = (
    Check("decontamination", (18, 19), "data that nobody searched for evaluation sets", _decontamination),
)
