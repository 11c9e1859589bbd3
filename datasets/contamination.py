"""``decontamination.json``: which corpora were searched for which evaluation sets, what was found, and what was written.

It is the artefact that a mixture can ask for: a corpus passes where its manifest is one that a search wrote, or one in which a
search found nothing.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.sealed import Sealed

REPORT_NAME = "decontamination.json"
FORMAT = "tootsie-decontamination/1"


class SearchedEvaluation(BaseModel):
    """One evaluation set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """As in the file of evaluation sets."""
    sha256: str
    """Of its items: their ids and the words of their parts, as they are compared."""
    items: int = Field(ge=0)
    """Questions, with their answers."""
    parts: int = Field(ge=0)
    """Questions and answers that can be looked for."""
    too_short: int = Field(ge=0)
    """Parts of too few words to be looked for."""
    undecidable: int = Field(ge=0)
    """Parts all of whose n-grams are common: a leak of them would not be seen."""


class SearchedCorpus(BaseModel):
    """One corpus."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """Its name."""
    input_manifest_sha256: str | None
    """Of the corpus that was read; none for loose files."""
    manifest_sha256: str | None
    """Of the corpus that was written without what was found; none where it was only searched."""
    documents: int = Field(ge=0)
    """Read."""
    contaminated: int = Field(ge=0)
    """In which part of an evaluation set was found."""
    inherited: int = Field(ge=0)
    """Others, which were made from contaminated ones."""


class DecontaminationReport(Sealed):
    """The whole file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = FORMAT
    """Version of this layout."""
    run: str
    """SHA-256 of what was read, of the settings and of the code."""
    code_version: str
    """Of the stage ``curate``."""
    settings: dict[str, Any]
    """Every option that can change what is found."""
    evaluations: list[SearchedEvaluation]
    """What was looked for."""
    corpora: list[SearchedCorpus]
    """Where."""
    matrix: dict[str, dict[str, dict[str, int]]]
    """Source → evaluation set → ``documents`` that leak it and ``items`` that are leaked."""
    leaked_items: dict[str, list[str]]
    """Evaluation set → ids of the items that were found."""
    hash: str = ""
    """SHA-256 of the canonical JSON of all other fields; set by :meth:`sealed`."""

    def clears(self, manifest_sha256: str) -> bool:
        """Return whether the corpus with this manifest is free of what was looked for."""
        return any(
            manifest_sha256 == corpus.manifest_sha256
            or (
                manifest_sha256 == corpus.input_manifest_sha256 and not corpus.contaminated + corpus.inherited
            )
            for corpus in self.corpora
        )


def load_report(url: str) -> DecontaminationReport:
    """Return the report at ``url``: the file, or the folder it lies in.

    Raises:
      ArtefactError: there is none, it is not valid, or it was edited.
    """
    if not url.endswith(".json"):
        url = storage.join(url, REPORT_NAME)
    if not storage.exists(url):
        raise ArtefactError(
            "no such report",
            file=url,
            remedy="Make it: tootsie curate decontaminate IN... OUT --evaluations FILE",
        )
    try:
        report = DecontaminationReport.model_validate_json(storage.read_bytes(url))
    except ValidationError as error:
        first = error.errors()[0]
        raise ArtefactError(
            f"not a valid report: {first['msg']}", file=url, field=".".join(map(str, first["loc"]))
        ) from None
    if report.format != FORMAT or report.hash != report.content_hash():
        raise ArtefactError(
            "the report is of another version, or was changed after it was written",
            file=url,
            field="hash",
            value=report.hash,
            remedy="Search again: a report is never edited by hand",
        )
    return report
