"""All that a cache is made from: a build continues, and a finished cache is kept, only where this is the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tootsie.datasets import storage
from tootsie.datasets.errors import shorten
from tootsie.tokenize.identity import TokenizerIdentity
from tootsie.tokenize.ledger import EngineInfo, Source

Split = Literal["train", "validation"]
PROGRESS = "progress"
"""Folder of the key and the receipts, inside the cache; gone when the cache is finished."""


class BuildKey(BaseModel):
    """See the module; the fields are those of the ledger."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    split: Split
    tokenizer: TokenizerIdentity
    engine: EngineInfo
    sources: tuple[Source, ...]
    settings: dict[str, Any]
    code_version: str


def first_difference(found: BuildKey, wanted: BuildKey) -> tuple[str, str, str] | None:
    """Return the first setting or input that differs, with both values shortened; code and engine versions aside."""
    ignored = {"code_version", "engine"}
    left = _flat(found.model_dump(mode="json", exclude=ignored))
    right = _flat(wanted.model_dump(mode="json", exclude=ignored))
    order = ["tokenizer.name", *right, *left]
    for field in order:
        if left.get(field) != right.get(field):
            return field, shorten(repr(left.get(field)), 60), shorten(repr(right.get(field)), 60)
    return None


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        items: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        items = enumerate(value)
    else:
        return {prefix: value}
    return {
        k: v
        for name, part in items
        for k, v in _flat(part, f"{prefix}.{name}" if prefix else str(name)).items()
    }


def read_key(folder: str) -> BuildKey | None:
    """Return what a begun build wrote down, or ``None``."""
    url = key_url(folder)
    if not storage.exists(url):
        return None
    try:
        return BuildKey.model_validate_json(storage.read_bytes(url))
    except ValidationError:
        return None  # of another version of this code: begun anew


def key_url(folder: str) -> str:
    """Return where a build writes down what it builds."""
    return storage.join(folder, PROGRESS, "build.json")
