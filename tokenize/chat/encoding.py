"""A rendered conversation → ids and loss spans.

Only where the template itself spells a special token does its id stand; all else is ordinary text, encoded in one piece
between two special tokens, as Hugging Face's tokenizers do. A token carries loss if it holds a character of a generation
block: the tokens of ``apply_chat_template(…, return_assistant_tokens_mask=True)``. BOS and EOS are those of the tokenizer's
policy, as in every cache: added as ids where the template has not written them, and without loss.
"""

from __future__ import annotations

import bisect
import itertools
import re
from dataclasses import dataclass

import numpy as np

from tootsie.datasets.errors import SpecError
from tootsie.tokenize.byte_lengths import byte_lengths
from tootsie.tokenize.chat.tracked import GENERATED, TEMPLATE, Tracked
from tootsie.tokenize.identity import Tokenizer

Span = tuple[int, int]
"""Half-open range of tokens, or of characters."""
SHORT, KNOWN = 32, 4096
"""The ids of texts of so many characters at most are kept, of so many texts."""


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
        self._lengths = byte_lengths(tokenizer)
        self._known: dict[str, np.ndarray] = {}
        names = sorted(filter(None, self._specials), key=lambda name: (-len(name), name))
        self._pattern = re.compile("|".join(map(re.escape, names))) if names else None

    def encode(self, text: Tracked) -> EncodedConversation:
        """Return the tokens of a rendered conversation.

        Raises:
          SpecError: loss begins or ends within ordinary text, and the tokenizer does not say which bytes its tokens stand for.
        """
        plain = str.__str__(text)
        wanted = _character_spans(text, GENERATED)
        parts: list[np.ndarray] = []
        spans: list[Span] = []
        byte_length = at = tokens = 0
        for start, end, name in [*self._found(text, plain), (len(plain), len(plain), "")]:
            if start > at:
                ordinary = plain[at:start]
                ids = self._ids(ordinary)
                _extend(spans, self._carrying(ordinary, ids, at, wanted), tokens)
                parts.append(ids)
                tokens += len(ids)
                byte_length += len(ordinary.encode())
            if name:
                parts.append(np.array([self._specials[name]], np.uint32))
                if _overlaps(wanted, start, end):
                    _extend(spans, [(0, 1)], tokens)
                tokens += 1
            at = end
        return self._framed(parts, spans, byte_length)

    def _ids(self, text: str) -> np.ndarray:
        """Return the ids of ordinary text; what is short comes again and again."""
        if len(text) > SHORT:
            return self._tokenizer.encode_array(text)
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= KNOWN:
                self._known.clear()
            found = self._known[text] = self._tokenizer.encode_array(text)
        return found

    def cut(self, encoded: EncodedConversation, length: int) -> EncodedConversation:
        """Return the first ``length`` tokens, the last of them EOS where the tokenizer's policy asks for one."""
        identity = self._identity
        kept = length - int(identity.add_eos)
        ids = encoded.ids[:kept]
        size = int(self._lengths[ids].sum())
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

    def _carrying(self, plain: str, ids: np.ndarray, start: int, wanted: list[Span]) -> list[Span]:
        """Return which tokens of ordinary text carry loss.

        Args:
          plain: the text.
          ids: its tokens.
          start: where it begins in the conversation.
          wanted: the characters that carry loss, in the conversation.
        """
        first = max(0, bisect.bisect_right(wanted, (start, start)) - 1)
        inside: list[Span] = []
        for low, high in itertools.islice(wanted, first, None):
            low, high = max(low - start, 0), min(high - start, len(plain))
            if low >= len(plain):
                break
            if low < high:
                inside.append((low, high))
        if not inside:
            return []
        if inside == [(0, len(plain))]:
            return [(0, len(ids))]
        ends = np.cumsum(self._lengths[ids])
        if not len(ends) or ends[-1] != len(plain.encode()):
            raise SpecError(
                f"the tokens of {self._identity.name} do not spell the text they were made from, so loss cannot be placed",
                field="--tokenizer",
                value=self._identity.name,
                remedy="Use a byte-level tokenizer, or a template with special tokens around what carries loss",
            )
        found: list[Span] = []
        at = at_byte = 0
        for low, high in inside:
            from_byte = at_byte + len(plain[at:low].encode())
            at, at_byte = high, from_byte + len(plain[low:high].encode())
            # From the token that holds the first byte to the one that holds the last.
            token = int(np.searchsorted(ends, from_byte, "right"))
            _extend(found, [(token, int(np.searchsorted(ends, at_byte, "left")) + 1)], 0)
        return found

    def _framed(self, parts: list[np.ndarray], spans: list[Span], byte_length: int) -> EncodedConversation:
        identity = self._identity
        if identity.add_bos and not (parts and parts[0][0] == identity.bos_id):
            parts.insert(0, np.array([identity.bos_id], np.uint32))
            spans = [(start + 1, end + 1) for start, end in spans]
        if identity.add_eos and not (parts and parts[-1][-1] == identity.eos_id):
            parts.append(np.array([identity.eos_id], np.uint32))
        ids = np.concatenate(parts) if parts else np.zeros(0, np.uint32)
        return EncodedConversation(ids, spans, byte_length)


def _extend(spans: list[Span], more: list[Span], by: int) -> None:
    """Add spans, shifted, behind others; neighbours and those that share a token become one."""
    for start, end in more:
        if spans and start + by <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end + by))
        else:
            spans.append((start + by, end + by))


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
