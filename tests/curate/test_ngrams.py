"""Words, their n-grams, and what they cost on hostile text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.curate.decontamination.leak_words import leak_words
from tootsie.curate.ngrams import exact_words, ngram_hashes, plain_words, sequence_hash, word_hashes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Naïve ﬁsh, don't!", ["naïve", "fish", "don", "t"]),
        ("1,000 and 1,5 and 3.5", ["1000", "and", "1", "5", "and", "3", "5"]),
        ("zero\u200bwidth\u00a0space", ["zerowidth", "space"]),
        ("漢字と kana", ["漢", "字", "と", "kana"]),
        ("snake_case *em* _em_", ["snake", "case", "em", "em"]),
    ],
)
def test_plain_words(text: str, words: list[str]) -> None:
    assert plain_words(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It was -5.5, a-b", ["it", "was", "-", "5.5", "a", "b"]),
        ("> quote\n- item\n# Title\n* * *", ["quote", "item", "title"]),
        ("a * b, a*b, **bold**", ["a", "*", "b", "a", "*", "b", "bold"]),
        ("x<y & 5% of $3", ["x", "<", "y", "&", "5", "%", "of", "$", "3"]),
        ("10² €7 ≤ 😀", ["10", "^", "2", "€", "7", "≤", "😀"]),
        ("| a | b |\n|---|---|", ["a", "b"]),
    ],
)
def test_exact_words(text: str, words: list[str]) -> None:
    assert exact_words(text) == words


def test_numbers_of_lines_are_no_words_of_a_leak() -> None:
    assert leak_words("1. One\n(b) Two\n> C) Three\nIn 4. Four") == ["one", "two", "three", "in", "4", "four"]


@given(st.text(alphabet="ab1 .,-+=<>*%/&^!$|#\n", max_size=60))
def test_ascii_is_read_as_other_text_is(text: str) -> None:
    """Both have an expression of their own; a word behind that is not ASCII takes the other one."""
    assert [*exact_words(text + "\n"), "é"] == exact_words(text + "\né")
    assert [*plain_words(text + "\n"), "é"] == plain_words(text + "\né")


@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(1, 6))
def test_equal_ngrams_have_equal_hashes_and_others_do_not(words: list[str], n: int) -> None:
    hashes = ngram_hashes(word_hashes(words), n).tolist()
    grams = [tuple(words[at : at + n]) for at in range(len(words) - n + 1)]
    assert len(hashes) == len(grams)
    assert len(set(zip(grams, hashes, strict=True))) == len(set(grams)) == len(set(hashes))


def test_a_sequence_is_told_by_order_and_length() -> None:
    one, other, longer = (sequence_hash(word_hashes(words.split())) for words in ("a b", "b a", "a b b"))
    assert len({one, other, longer}) == 3
    assert sequence_hash(word_hashes(["a", "b"])) == one
    assert ngram_hashes(np.empty(0, np.uint64), 3).shape == (0,)


HOSTILE = [
    "=",
    "*",
    "-",
    "> ",
    "#",
    "1.",
    "1,",
    "a ",
    "$",
    "\n",
    " \n",
    "<",
    "/",
    "%",
    "a*",
    "- ",
    "漢",
    "é=",
    "1:",
]


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("words", [exact_words, plain_words, leak_words])
def test_a_long_run_of_anything_is_read_in_one_pass(words, unit: str) -> None:
    """Were one of them tried from every place, this would take hours."""
    for prefix in ("", "x", "é"):
        words(prefix + unit * 60_000)
