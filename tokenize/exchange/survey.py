"""Look through foreign token files before anything is written: whose ids are they, and how do documents begin and end?

Two mistakes are made with such files over and over: they are read with another tokenizer or width than they were written with,
and BOS or EOS is missing or stands twice. The first shows in ids that the vocabulary does not have, the second in
the first and last tokens of the documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tootsie.datasets.errors import InputError, SpecError
from tootsie.tokenize.byte_lengths import byte_lengths
from tootsie.tokenize.exchange.token_file import TokenFile
from tootsie.tokenize.identity import Tokenizer

FITTING = 0.9
"""A share of documents with BOS (EOS) from which on a policy without it does not fit."""


class Vocabulary:
    """The bytes of every id of a tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.identity = tokenizer.identity
        self._lengths = byte_lengths(tokenizer)

    def byte_length(self, ids: np.ndarray) -> int:
        """Return the bytes of text that ids stand for; special tokens have none."""
        return int(self._lengths[ids].sum())

    def checked(self, ids: np.ndarray, url: str, row: int) -> np.ndarray:
        """Return ids as uint32[n].

        Raises:
          InputError: one is not in the vocabulary.
        """
        if not len(ids):
            return np.zeros(0, np.uint32)
        outside = (ids < 0) | (ids >= len(self._lengths))
        found = self._lengths[np.where(outside, 0, ids).astype(np.int64)]
        wrong = outside | (found < 0)
        if wrong.any():
            at = int(wrong.argmax())
            raise InputError(
                f"{self.identity.name} has no such id (its vocabulary has {len(self._lengths):,})",
                file=url,
                field=f"row {row}, token {at}",
                value=int(ids[at]),
                remedy="Name the tokenizer that made the file; check --dtype where the format does not say it",
            )
        return ids.astype(np.uint32)


@dataclass
class Survey:
    """What lies in some files."""

    documents: list[int] = field(default_factory=list)
    """Documents of each file."""
    tokens: list[int] = field(default_factory=list)
    """Their tokens."""
    empty: int = 0
    """Documents without tokens."""
    first_tokens: Counter[int] = field(default_factory=Counter)
    """Documents by their first token."""
    last_tokens: Counter[int] = field(default_factory=Counter)
    """Documents by their last token."""


def survey(files: Sequence[TokenFile], vocabulary: Vocabulary) -> Survey:
    """Read all documents once.

    Raises:
      InputError: a file is damaged, or an id is not in the vocabulary.
    """
    found = Survey()
    for file in files:
        row = tokens = 0
        for row, document in enumerate(file.documents(), start=1):
            ids = vocabulary.checked(document.ids, file.url, row - 1)
            tokens += len(ids)
            if len(ids):
                found.first_tokens[int(ids[0])] += 1
                found.last_tokens[int(ids[-1])] += 1
            else:
                found.empty += 1
        found.documents.append(row)
        found.tokens.append(tokens)
    return found


def check_ends(found: Survey, tokenizer: Tokenizer, where: str, *, complete: bool) -> None:
    """Compare the first and last tokens of the documents with the tokenizer's policy.

    Args:
      found: from :func:`survey`.
      tokenizer: with the policy that the cache will claim.
      where: the input, for messages.
      complete: whether a BOS or EOS that is missing will be added.

    Raises:
      SpecError: they do not fit; the message has the histogram and the options.
    """
    identity = tokenizer.identity
    total = sum(found.first_tokens.values())
    for name, added, special, counts, verb in (
        ("bos", identity.add_bos, identity.bos_id, found.first_tokens, "begin"),
        ("eos", identity.add_eos, identity.eos_id, found.last_tokens, "end"),
    ):
        if special is None or not total:
            continue
        there = counts[special]
        token = f"{name.upper()} {special}"
        usual = ", ".join(
            f"{value} {tokenizer.token_bytes(value)!r} {count:,}×" for value, count in counts.most_common(4)
        )
        if added and there < total and not complete:
            raise SpecError(
                f"{there:,} of {total:,} documents {verb} with {token}; most frequent: {usual}",
                file=where,
                field=f"--add-{name}",
                remedy=f"If they are meant so: --no-add-{name}; to add it where it is missing: --complete; "
                "else name the tokenizer that made them",
            )
        if not added and there >= FITTING * total:
            raise SpecError(
                f"{there:,} of {total:,} documents {verb} with {token}, the policy says that none is added",
                file=where,
                field=f"--no-add-{name}",
                remedy=f"Say so: --add-{name}"
                + ("" if there == total else ", with --complete for those that lack it"),
            )
