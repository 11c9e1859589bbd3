from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.datasets.errors import SpecError
from tootsie.datasets.format_comparison import differences
from tootsie.datasets.format_profile import FormatTally, profile

PROSE = "The quick brown fox jumps over the lazy dog. "


def profile_of(*texts: str, language: str | None = None) -> dict:
    tally = FormatTally()
    for text in texts:
        tally.add(text, language)
    return profile(tally)


@pytest.mark.parametrize(
    ("text", "end"),
    [("", "empty"), ("a", "character"), ("a ", "space"), ("a\n", "line break"), ("a \n", "line break"), ("a\n\n", "two line breaks or more"), ("a\n \n", "two line breaks or more"), ("a\t", "other white space"), ("a\u00a0", "other white space"), ("a\n ", "space"), (" ", "space")],
)  # fmt: skip
def test_how_a_text_ends(text: str, end: str) -> None:
    assert profile_of(text)["ends"] == {end: 1.0}


@pytest.mark.parametrize(
    ("feature", "text", "no_text"),
    [
        ("headings", "# A\nb", "#a b\n##\nC # d"),
        ("underlined headings", "A\n===\n", "a\n\n===\n"),
        ("bullet lists", "- a\n- b", "-a\na - b\n---"),
        ("numbered lists", "1. a\n2) b", "1.5 a\n2024 b"),
        ("tables", "| a | b |\n| --- | :-: |\n| c | d |", "a | b\n-----\n|"),
        ("code blocks", "```python\nx\n```", "a ``` b"),
        ("code spans", "a `b` c", "a ` b"),
        ("emphasis", "a *b c* and **d**", "2*3*4 * 5 *"),
        ("links", "[a](http://b)", "[a] (b) f(x)"),
        ("bare addresses", "see https://a.b", "[a](https://a.b) <https://a.b>"),
        ("quotations", "> a", "a > b"),
        ("escapes", r"a\*b \_", r"a\b \n"),
        ("HTML tags", "a<br/>b <p class='x'>", "a < b > c <3"),
        ("HTML entities", "a &amp; b &#39;", "a & b; AT&T"),
        ("inline formulas", "so $x^2$ is \\(y\\)", "it costs $5 and $6 more and \\$x$, $ y $"),
        ("display formulas", "$$x$$ \\begin{align}", "$x$"),
        ("carriage returns", "a\r\nb", "a\nb"),
        ("trailing whitespace on lines", "a \nb", "a\n b "),
        ("three empty lines or more", "a\n\n \n\nb", "a\n\n\nb"),
        ("leading whitespace", " a", "a "),
        ("trailing whitespace", "a ", " a"),
        ("control characters", "a\x00", "a\n\t"),
        ("replacement characters", "\ufffd", "?"),
        ("byte order mark", "\ufeffa", "a"),
        ("no-break spaces", "a\u00a0b", "a b"),
        ("tabs", "a\tb", "a b"),
        ("sentence ends", 'He said "yes." And so. 好。', "3.5 a.b"),
    ],
)
def test_features(feature: str, text: str, no_text: str) -> None:
    assert profile_of(text)["shares"][feature] == 1.0
    assert profile_of(no_text)["shares"][feature] == 0.0


def test_markdown_and_formulas_are_any_of_theirs() -> None:
    shares = profile_of("# A", "- a", "`x`", "$x$", "plain")["shares"]
    assert shares["Markdown"] == 0.2
    assert shares["formulas"] == 0.2


@given(st.lists(st.text(st.sampled_from("ab \n\t#$*-|`<>&;1.\r\u00a0\ud800")), max_size=8), st.integers(0, 8))
def test_tallies_add_up(texts: list[str], at: int) -> None:
    first, second, whole = FormatTally(), FormatTally(), FormatTally()
    for number, text in enumerate(texts):
        (first if number < at else second).add(text, "en")
        whole.add(text, "en")
    assert first + second == whole
    found = profile(whole)
    assert json.loads(json.dumps(found)) == found
    if texts:
        for group in ("ends", "starts", "last_characters", "languages"):
            assert abs(sum(found[group].values()) - 1) < 1e-9


def test_quantiles_are_near() -> None:
    lengths = profile_of(*("x" * number for number in range(1, 1001)))["lengths"]["characters"]
    for name, expected in (("p10", 100), ("p50", 500), ("p90", 900), ("p99", 990)):
        assert abs(lengths[name] - expected) <= 0.12 * expected


def test_trailing_spaces_of_an_evaluation_set_come_first() -> None:
    training = profile_of(*(f"# Title\n\n{PROSE * 3}Number {number}." for number in range(200)))
    evaluation = profile_of(*(f"# Title\n\n{PROSE * 3}Number {number}. " for number in range(200)))
    found = differences(training, evaluation)
    ends = [one for one in found if one.what == "end in: space"]
    assert ends
    assert (ends[0].first, ends[0].second) == (0.0, 1.0)
    assert "last token" in ends[0].advice
    assert {one.what for one in found} == {"end in: space", "end in: character", "have: trailing whitespace"}


def test_the_same_writing_has_no_differences() -> None:
    texts = [f"{PROSE * (number % 7)}Number {number}." for number in range(400)]
    assert differences(profile_of(*texts[::2]), profile_of(*texts[1::2])) == []


def test_few_documents_prove_nothing() -> None:
    assert differences(profile_of("a"), profile_of("a ")) == []


def test_lengths_and_languages() -> None:
    first = profile_of(*([PROSE] * 50), language="en")
    second = profile_of(*([PROSE * 9] * 50), language="de")
    found = {one.what: one for one in differences(first, second)}
    assert found["language: en"].first == 1.0
    assert found["median of words"].second > 2 * found["median of words"].first


def test_characters_that_cannot_be_shown_are_named() -> None:
    assert profile_of("a\u200b", "\ud800")["last_characters"] == {"U+200B": 0.5, "U+D800": 0.5}


def test_no_profile() -> None:
    with pytest.raises(SpecError, match="no profile"):
        differences(profile_of("a"), profile_of())
