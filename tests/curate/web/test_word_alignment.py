from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tootsie.curate.web.word_alignment import aligned, words_of

WORDS = st.lists(st.sampled_from("abcdef"), max_size=40)


def test_words() -> None:
    assert words_of("Don't—x_1, 中文 ABC\u00addef") == ["don", "t", "x", "1", "中", "文", "abcdef"]


def taken(page: str, *texts: str) -> str:
    words = words_of(page)
    mask, _ = aligned(words, [words_of(text) for text in texts])
    return " ".join(word for word, one in zip(words, mask, strict=True) if one)


def test_of_two_equal_texts_the_one_in_the_content_is_taken() -> None:
    page = "about home one two three four five about six seven eight nine ten about"
    words = words_of(page)
    mask, found = aligned(
        words, [words_of(text) for text in ("one two three four five", "About", "six seven eight nine ten")]
    )
    assert found == 11
    assert [number for number, one in enumerate(mask) if one and words[number] == "about"] == [7]


def test_a_heading_is_the_nearest_before_its_text() -> None:
    page = words_of("title menu a b c title one two three four five")
    mask, _ = aligned(page, [["title"], words_of("one two three four five")])
    assert list(mask) == [0] * 5 + [1] * 6


def test_texts_that_were_moved_are_found() -> None:
    assert taken("a b c d e x f g h i j", "f g h i j", "a b c d e") == "a b c d e f g h i j"


def test_words_around_what_became_another_text_are_found() -> None:
    assert (
        taken("let x plus y be the sum of all that", "let X+Y be the sum of all that")
        == "let x y be the sum of all that"
    )


@given(st.lists(st.tuples(WORDS, st.booleans()), max_size=12))
def test_an_extract_of_a_page_is_found_word_for_word(parts: list[tuple[list[str], bool]]) -> None:
    page = [word for part, _ in parts for word in part]
    extract = [part for part, chosen in parts if chosen and part]
    mask, found = aligned(page, extract)
    assert len(mask) == len(page)
    assert sum(mask) == found <= sum(map(len, extract))
    if all(chosen for _, chosen in parts) and page:
        assert found >= 0


@given(WORDS, WORDS)
def test_no_word_is_taken_twice(page: list[str], extract: list[str]) -> None:
    mask, found = aligned(page, [extract] if extract else [])
    for word in set(page):
        assert sum(one for one, there in zip(mask, page, strict=True) if there == word) <= extract.count(word)
    assert sum(mask) == found
