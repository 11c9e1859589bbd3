from __future__ import annotations

import unicodedata
from collections.abc import Callable

import numpy as np
import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st

from tootsie.tokenize.character_classes import (
    CharacterSet,
    differing_characters,
    probing_ranks,
    uncertain_characters,
)
from tootsie.tokenize.encodings import LLAMA3_PATTERN

POINTS = [*range(0x20, 0x3000), 0x4E00, 0xA7CE, 0x1F600, 0x323B0]


def engine(pattern: str) -> Callable[[str], np.ndarray]:
    encoding = tiktoken.Encoding("t", pat_str=pattern, mergeable_ranks=probing_ranks(), special_tokens={})
    return lambda text: encoding.encode_to_numpy(text, disallowed_special=())


def test_an_engine_differs_from_itself_nowhere() -> None:
    assert differing_characters(engine(LLAMA3_PATTERN), engine(LLAMA3_PATTERN), POINTS) == ()


@pytest.mark.parametrize("character", ["é", "\u0660", "\u00a0", "\u20ac", "字", "\u0300", "\U0001f600"])
@pytest.mark.parametrize("other", [r"\p{L}", r"\p{N}", r"\s", "$", "\u0301"])
def test_a_character_of_another_class_is_found(character: str, other: str) -> None:
    """The other engine takes one character for a letter, a digit, white space, a sign or a mark; it is one of these already."""
    classes = {"L": r"\p{L}", "N": r"\p{N}", "Z": r"\s", "S": "$", "M": "\u0301"}
    own = classes[unicodedata.category(character)[0]]
    taken = {r"\p{L}": "a", r"\p{N}": "1", r"\s": "\u2003", "$": "$", "\u0301": "\u0301"}[other]
    reference = engine(LLAMA3_PATTERN)

    def pieces(text: str) -> list[str]:
        import regex

        return [match.span() for match in regex.finditer(LLAMA3_PATTERN, text)]

    def mistaken(text: str) -> np.ndarray:
        split = pieces(text.replace(character, taken))
        found = [reference_piece(text[start:stop]) for start, stop in split]
        return np.concatenate(found) if found else np.array([], np.uint32)

    def right(text: str) -> np.ndarray:
        found = [reference_piece(text[start:stop]) for start, stop in pieces(text)]
        return np.concatenate(found) if found else np.array([], np.uint32)

    def reference_piece(piece: str) -> np.ndarray:
        return np.array(encoding._encode_single_piece(piece), np.uint32)

    encoding = tiktoken.Encoding("t", pat_str=r"\S+", mergeable_ranks=probing_ranks(), special_tokens={})
    assert differing_characters(reference, right, [ord(character)]) == ()
    # Marks and signs are the same to this pattern: neither letter, digit nor white space.
    same = own == other or {own, other} == {"$", "\u0301"}
    expected = () if same else ((ord(character), ord(character)),)
    assert differing_characters(reference, mistaken, [ord(character)]) == expected


def test_every_character_is_tried_but_those_that_are_certain() -> None:
    points = set(uncertain_characters())
    assert {ord("a"), ord(" "), 0x1F600, 0xA7CE, 0x323B0, 0x10FFFF - 0x20000} <= points
    assert not points & {0x4E00, 0xAC00, 0xE000, 0xD800, 0x50000}


SOME = ((0x41, 0x41), (0xE9, 0xEA), (0x88F, 0x88F), (0xA7CE, 0xA7D2), (0x323B0, 0x33479))


@given(
    st.text(
        st.one_of(
            st.characters(exclude_categories=["Cs"]), st.sampled_from("Aéê\u088f\ua7d0\U000323b0\U00033479")
        )
    )
)
@example("\u00e8\u00eb\u0890\ua7cd\ua7d3\U000323af\U0003347a")
@example("\U00032fff")
def test_a_set_finds_exactly_its_characters(text: str) -> None:
    expected = any(first <= ord(character) <= last for character in text for first, last in SOME)
    assert CharacterSet(SOME).found_in(text.encode()) == expected


def test_the_empty_set_finds_nothing() -> None:
    assert not CharacterSet(()).found_in("anything é 字".encode())
