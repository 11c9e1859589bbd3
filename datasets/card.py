"""Dataset cards: what is known about a dataset before anyone downloads it. One YAML file each, in ``datasets/cards``.

Numbers that somebody *measured* (counted with a named tokenizer) stand apart from those that somebody only *claimed*;
each has its source. Where sources disagree, the card says so in ``disagreements``.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError
from tootsie.datasets.yaml_model import validate
from tootsie.datasets.yaml_source import read_yaml

CARDS = Path(__file__).parent / "cards"
"""The cards that come with Tootsie."""

Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(gt=0, strict=True)]


class Kind(StrEnum):
    """What a dataset is for."""

    PRETRAINING = "pretraining"
    """Documents."""
    INSTRUCTION = "instruction"
    """Conversations, for supervised fine-tuning."""
    EVALUATION = "evaluation"
    """Never to be trained on."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Location(_Section):
    """Where a dataset lives."""

    hub: Text | None = None
    """Hugging Face dataset id, or:"""
    url: Text | None = None
    """any fsspec URL, or the page that lists the files."""
    revision: Text | None = None
    """Commit or version that is pinned."""
    subset: Text | None = None
    """Configuration or folder of the dataset."""
    files: tuple[Text, ...] = ()
    """Globs below it; braces expand."""

    @model_validator(mode="after")
    def _one(self) -> Location:
        if (self.hub is None) == (self.url is None):
            raise ValueError("a dataset lives on the 'hub' or at a 'url', one of the two")
        return self


class Size(_Section):
    """One statement of how large a dataset is."""

    tokenizer: Text | None = None
    """Whose tokens; absent where the source does not say, or states no tokens."""
    tokens: Count | None = None
    """Ids."""
    bytes: Count | None = None
    """Bytes of text (of files where ``note`` says so)."""
    documents: Count | None = None
    """Documents, rows or conversations."""
    source: Text
    """Who counted or said it, and where."""
    date: Annotated[str, Field(pattern=r"^\d{4}(-\d{2}){0,2}$")] | None = None
    """When, as precisely as is known."""
    note: Text | None = None
    """What the number does not say."""

    @model_validator(mode="after")
    def _says_something(self) -> Size:
        if self.tokens is None and self.bytes is None and self.documents is None:
            raise ValueError("a size states tokens, bytes or documents")
        return self


class Card(_Section):
    """What is known about one dataset."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*(/[a-z0-9_.-]+)*$")]
    """Its name in specs; the file's name, with ``/`` for folders."""
    title: Text
    """Its name among people."""
    kind: Kind
    """What it is for."""
    about: Text
    """One or two sentences."""
    location: Location
    """Where it lives."""
    format: Text
    """Of the files: ``jsonl.zst``, ``parquet`` …"""
    text_key: Text | None = None
    """Key or column of the text; absent for conversations."""
    licence: Text
    """SPDX identifier where there is one, else in words; ``unknown`` where it was not found."""
    tags: tuple[Text, ...] = ()
    """Domain, kind of text, ``synthetic``, ``markdown`` …"""
    measured: tuple[Size, ...] = ()
    """Counted."""
    claimed: tuple[Size, ...] = ()
    """Said, typed in, or derived from something else."""
    disagreements: tuple[Text, ...] = ()
    """Where sources contradict one another."""

    def size(self, tokenizer: str) -> tuple[Size, bool] | None:
        """Return the best statement of the size in tokens, and whether it was measured with ``tokenizer``.

        A measurement with this tokenizer comes first; then claims for it, then measurements with other tokenizers, then any
        claim. ``None`` where the card states no tokens.
        """
        for sizes, same, exact in (
            (self.measured, True, True),
            (self.claimed, True, False),
            (self.measured, False, False),
            (self.claimed, False, False),
        ):
            for size in sizes:
                if size.tokens is not None and (size.tokenizer == tokenizer or not same):
                    return size, exact
        return None

    @cached_property
    def sha256(self) -> str:
        """Identity of the card's content."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


def card_names() -> list[str]:
    """Return the names of the cards that come with Tootsie, sorted."""
    return sorted(path.relative_to(CARDS).with_suffix("").as_posix() for path in CARDS.rglob("*.yaml"))


def load_card(name: str) -> Card:
    """Read a card by its name, or by the URL of its YAML file.

    Raises:
      SpecError: there is none, or it is not valid; the message has the line.
    """
    is_file = name.endswith((".yaml", ".yml"))
    url = name if is_file else str(CARDS / f"{name}.yaml")
    known = card_names()
    if name not in known and not (is_file and storage.exists(url)):
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        raise SpecError(
            "no such dataset card",
            field="card",
            value=name,
            remedy=f"Did you mean {close[0]!r}?" if close else "See 'tootsie data list'",
        )
    source = read_yaml(url)
    card = validate(Card, source, what="a dataset card", see="See datasets/card.py")
    if not is_file and card.name != name:
        raise source.error("the card's name is not that of its file", ("name",), card.name, f"Write {name!r}")
    return card


def describe_sizes(card: Card) -> str:
    """Return the best statement of a card's size as one phrase: ``2,742,463,924 tokens (llama3, measured)``."""
    for label, sizes in (("measured", card.measured), ("claimed", card.claimed)):
        for size in sizes:
            if size.tokens is not None:
                return f"{size.tokens:,} tokens ({size.tokenizer or 'tokenizer unknown'}, {label})"
            if size.documents is not None:
                return f"{size.documents:,} documents ({label})"
    return ""


def load_cards() -> Iterator[Card]:
    """Yield every card that comes with Tootsie, by name."""
    for name in card_names():
        yield load_card(name)
