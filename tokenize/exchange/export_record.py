"""``export.json`` beside exported files: what they were made from, and their checksums, which an import compares."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, ValidationError

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.json_text import readable_json
from tootsie.tokenize.exchange.token_file import Format
from tootsie.tokenize.identity import TokenizerIdentity, require_same

RECORD_NAME = "export.json"


class ExportedFile(BaseModel):
    """One file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    """Relative to the record."""
    size: int
    """Bytes."""
    sha256: str
    """Of the bytes."""


class ExportRecord(BaseModel):
    """See the module."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Format
    cache: str
    """Name of the dataset."""
    ledger_sha256: str
    """Of the ledger that it was made from."""
    tokenizer: TokenizerIdentity
    """Whose ids these are."""
    dtype: str
    """How ids are stored."""
    documents: int
    tokens: int
    files: tuple[ExportedFile, ...]


def write_export(folder: str, record: ExportRecord) -> None:
    """Write the record; it comes last."""
    storage.write_bytes(storage.join(folder, RECORD_NAME), readable_json(record.model_dump(mode="json")))


def check_export(files: Mapping[str, Mapping[str, str]], identity: TokenizerIdentity) -> None:
    """Compare files with the records beside them.

    Args:
      files: by the folder that a record would lie in, URL of a file to its SHA-256.
      identity: the tokenizer that they are to be imported with.

    Raises:
      ArtefactError: a record is damaged, a file is not the one that was exported, or it was made by another tokenizer.
    """
    for folder, sums in files.items():
        place = storage.join(folder, RECORD_NAME) if folder else RECORD_NAME
        if not storage.exists(place):
            continue
        try:
            record = ExportRecord.model_validate_json(storage.read_bytes(place))
        except ValidationError as error:
            raise ArtefactError(
                "not a record of exported files",
                file=place,
                value=str(error).splitlines()[0],
                remedy="Export again, or move the files elsewhere",
            ) from None
        listed = {file.path: file.sha256 for file in record.files}
        inside = {
            url.removeprefix(folder).lstrip("/") if folder else url: digest for url, digest in sums.items()
        }
        for name, digest in inside.items():
            if listed.get(name, digest) != digest:
                raise ArtefactError(
                    f"the file is not the one that was exported ({listed[name]})",
                    file=storage.join(folder, name) if folder else name,
                    field="sha256",
                    value=digest,
                    remedy="Copy it again",
                )
        if inside.keys() & listed.keys():
            require_same(identity, record.tokenizer, place)
