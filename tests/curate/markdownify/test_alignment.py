"""Alignment: every pair is of equal words, none is given twice, and as many are found as can be."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.curate.markdownify.alignment import align, without_syntax, words

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=60)


@given(WORDS, WORDS)
def test_pairs_are_equal_words_and_a_word_is_lost_only_where_the_output_has_none_left(
    source: list[str], output: list[str]
) -> None:
    found = align(source, output)
    assert all(source[i] == output[j] for i, j in enumerate(found) if j >= 0)
    given_out = [j for j in found if j >= 0]
    assert len(given_out) == len(set(given_out)) == (Counter(source) & Counter(output)).total()


def test_moved_text_and_repeated_text_find_their_places() -> None:
    note = ["this", "note", "was", "moved", "to", "the", "very", "end"]
    source = ["the", "start", *note, "and", "the", "rest", "the"]
    output = ["the", "start", "and", "the", "rest", "the", *note]
    assert align(source, output) == [0, 1, *range(6, 14), 2, 3, 4, 5]


def test_a_dropped_word_between_kept_ones_is_the_one_that_is_not_found() -> None:
    assert align(["a", "b", "edit", "c", "d"], ["a", "b", "c", "d"]) == [0, 1, -1, 2, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Un**believ**able snake_case", ["Unbelievable", "snakecase"]),
        ("漢字 kana", ["漢", "字", "kana"]),
        ('[text](http://a.b/c "title") more[^12]', ["text", "more"]),
        ("H<sub>2</sub>O a<br>b", ["H2O", "a", "b"]),
        ("5 * 3 -- `x`", ["5", "3", "x"]),
    ],
)
def test_words_of_markdown(text: str, expected: list[str]) -> None:
    assert [word for word, _, _ in words(without_syntax(text))] == expected
    assert len(without_syntax(text)) == len(text)


def test_a_long_page_of_equal_words_is_no_trouble() -> None:
    assert align(["a"] * 20_000, ["a"] * 20_000) == list(range(20_000))
    found = align(["a", "b"] * 10_000, ["b"] * 9_000)
    assert sum(j >= 0 for j in found) == 9_000
