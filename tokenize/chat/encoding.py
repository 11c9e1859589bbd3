"""A rendered conversation → ids and loss spans.

Only where the template itself spells a special token does its id stand; all else is ordinary text, encoded in one piece
between two special tokens, as Hugging Face's tokenizers do. A token carries loss if it holds a character of a generation
block: the tokens of ``apply_chat_template(…, return_assistant_tokens_mask=True)``. BOS and EOS are those of the tokenizer's
policy, as in every cache: added as ids where the template has not written them, and without loss.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass

import numpy as np

from tootsie.datasets.errors import SpecError
from tootsie.tokenize.chat.tracked import GENERATED, TEMPLATE, Tracked
from tootsie.tokenize.identity import Tokenizer

Span = tuple[int, int]
"""Half-open range of tokens, or of characters."""


@dataclass(frozen=True)
class EncodedConversation:
    """The tokens of one conversation as a cache holds them."""

    ids: np.ndarray
    """uint32[n], BOS and EOS included."""
    loss_spans: list[Span]
    """Tokens that carry loss: in order, apart from one another, none empty."""
    byte_length: int
    """UTF-8 bytes of its ordinary text; special tokens have none."""

    @property
    def loss_tokens(self) -> int:
        """Tokens that carry loss."""
        return sum(end - start for start, end in self.loss_spans)


class ConversationEncoder:
    """Encodes what one tokenizer's templates write."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._identity = tokenizer.identity
        self._specials = dict(tokenizer.specials)
        names = sorted(filter(None, self._specials), key=lambda name: (-len(name), name))
        self._pattern = re.compile("|".join(map(re.escape, names))) if names else None

    def encode(self, text: Tracked) -> EncodedConversation:
        """Return the tokens of a rendered conversation.

        Raises:
          SpecError: the tokenizer does not say which bytes a token stands for, so that loss could not be placed.
        """
        plain = str.__str__(text)
        parts: list[np.ndarray] = []
        mask: list[np.ndarray] = []
        wanted = _character_spans(text, GENERATED)
        byte_length = at = 0
        for start, end, name in [*self._found(text, plain), (len(plain), len(plain), "")]:
            if start > at:
                ids, carries, size = self._ordinary(plain[at:start], at, wanted)
                byte_length += size
                parts.append(ids)
                mask.append(carries)
            if name:
                parts.append(np.array([self._specials[name]], np.uint32))
                mask.append(np.array([_overlaps(wanted, start, end)]))
            at = end
        return self._framed(parts, mask, byte_length)

    def cut(self, encoded: EncodedConversation, length: int) -> EncodedConversation:
        """Return the first ``length`` tokens, the last of them EOS where the tokenizer's policy asks for one."""
        identity = self._identity
        kept = length - int(identity.add_eos)
        ids = encoded.ids[:kept]
        special = set(self._specials.values())
        size = sum(len(self._tokenizer.token_bytes(token)) for token in ids.tolist() if token not in special)
        if identity.add_eos:
            ids = np.concatenate((ids, np.array([identity.eos_id], np.uint32)))
        spans = [(start, min(end, kept)) for start, end in encoded.loss_spans if start < kept]
        return EncodedConversation(ids, spans, size)

    def _found(self, text: Tracked, plain: str) -> list[tuple[int, int, str]]:
        """Return the special tokens that the template spells: ``(first character, end, name)``."""
        if self._pattern is None:
            return []
        return [
            (match.start(), match.end(), match[0])
            for start, end in _character_spans(text, TEMPLATE)
            for match in self._pattern.finditer(plain, start, end)
        ]

    def _ordinary(self, plain: str, start: int, wanted: list[Span]) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the ids of ordinary text, which tokens carry loss, and its bytes.

        Args:
          plain: the text.
          start: where it begins in the conversation.
          wanted: the characters that carry loss, in the conversation.
        """
        ids = self._tokenizer.encode_array(plain)
        size = len(plain.encode())
        ends = np.cumsum([len(self._tokenizer.token_bytes(token)) for token in ids.tolist()], dtype=np.int64)
        if not len(ends) or ends[-1] != size:
            raise SpecError(
                f"the tokens of {self._identity.name} do not spell the text they were made from, so loss cannot be placed",
                field="--tokenizer",
                value=self._identity.name,
                remedy="Use a byte-level tokenizer",
            )
        carries = np.zeros(len(ids), bool)
        first = max(0, bisect.bisect_right(wanted, (start, start)) - 1)
        at = at_byte = 0
        for low, high in wanted[first:]:
            low, high = max(low - start, 0), min(high - start, len(plain))
            if low >= len(plain):
                break
            if low < high:
                from_byte = at_byte + len(plain[at:low].encode())
                at, at_byte = high, from_byte + len(plain[low:high].encode())
                # From the token that holds the first byte to the one that holds the last.
                token = int(np.searchsorted(ends, from_byte, "right"))
                carries[token : int(np.searchsorted(ends, at_byte, "left")) + 1] = True
        return ids, carries, size

    def _framed(
        self, parts: list[np.ndarray], mask: list[np.ndarray], byte_length: int
    ) -> EncodedConversation:
        identity = self._identity
        if identity.add_bos and not (parts and parts[0][0] == identity.bos_id):
            parts.insert(0, np.array([identity.bos_id], np.uint32))
            mask.insert(0, np.zeros(1, bool))
        if identity.add_eos and not (parts and parts[-1][-1] == identity.eos_id):
            parts.append(np.array([identity.eos_id], np.uint32))
            mask.append(np.zeros(1, bool))
        ids = np.concatenate(parts) if parts else np.zeros(0, np.uint32)
        carries = np.concatenate(mask) if mask else np.zeros(0, bool)
        return EncodedConversation(ids, spans_of(carries), byte_length)


def spans_of(mask: np.ndarray) -> list[Span]:
    """Return the half-open ranges where a bool[n] is true."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _character_spans(text: Tracked, flag: int) -> list[Span]:
    """Return the longest ranges of characters that have a flag."""
    spans: list[Span] = []
    start = 0
    for end, flags in text.runs:
        if flags & flag:
            if spans and spans[-1][1] == start:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        start = end
    return spans


def _overlaps(spans: list[Span], start: int, end: int) -> bool:
    at = bisect.bisect_left(spans, (end, end)) - 1
    return at >= 0 and spans[at][1] > start
