"""Formulas between MathJax's delimiters."""

from __future__ import annotations

import pytest

from tootsie.curate.fidelity.mathjax import is_loaded, split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a $x$ b", [("text", "a "), ("inline", "x"), ("text", " b")]),
        ("$$x$$", [("display", "x")]),
        (r"\[x\]\(y\)", [("display", "x"), ("inline", "y")]),
        (r"$\text{if $y$}$", [("inline", r"\text{if $y$}")]),
        (r"\$5 and $6", [("text", r"\$5 and $6")]),
        (r"\begin{align}a&b\end{align}", [("display", r"\begin{align}a&b\end{align}")]),
        ("$ { $x$", [("text", "$ { "), ("inline", "x")]),
    ],
)
def test_split(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(split(text)) == expected


def test_amounts_of_money_are_no_formulas_where_strict() -> None:
    assert list(split("from $5 to $6", strict=True)) == [("text", "from $5 to $6")]
    assert list(split("let $x$ be", strict=True))[1] == ("inline", "x")


@pytest.mark.parametrize(
    ("html", "loaded"),
    [
        ('<script src="https://cdn.example/mathjax@3/es5/tex.js"></script>', True),
        ("<script>window.MathJax = {}</script>", True),
        ("<p>MathJax is a library</p>", False),
    ],
)
def test_pages_that_load_mathjax_are_told_from_others(html: str, loaded: bool) -> None:
    assert is_loaded(html) is loaded


@pytest.mark.parametrize("text", ["$" * 200_000, "${" * 100_000, "\\begin{a}" * 30_000, "$x" * 100_000])
def test_unclosed_delimiters_are_text_in_bounded_time(text: str) -> None:
    assert sum(len(piece) for _, piece in split(text)) <= len(text)
