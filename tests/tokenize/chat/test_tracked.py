from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.tokenize.chat.tracked import GENERATED, TEMPLATE, Tracked, concatenate, tracked

TEXT = st.text(alphabet="ab <|>\n ßİ", max_size=12)


@st.composite
def marked(draw: st.DrawFn) -> Tracked:
    """A text of several runs."""
    parts = draw(
        st.lists(st.tuples(TEXT, st.sampled_from([0, TEMPLATE, GENERATED, TEMPLATE | GENERATED])), max_size=5)
    )
    return concatenate(Tracked(text, ((len(text), flags),) if text else ()) for text, flags in parts)


def flags_of(text: Tracked) -> list[int]:
    """The flags of each character."""
    flags: list[int] = []
    for end, value in text.runs:
        flags += [value] * (end - len(flags))
    return flags


METHODS: dict[str, Callable[[str, str], object]] = {
    "strip": lambda text, other: text.strip(),
    "strip chars": lambda text, other: text.strip("ab<"),
    "lstrip": lambda text, other: text.lstrip(),
    "rstrip": lambda text, other: text.rstrip("|> "),
    "removeprefix": lambda text, other: text.removeprefix("a"),
    "removesuffix": lambda text, other: text.removesuffix("a"),
    "split": lambda text, other: text.split(),
    "split at": lambda text, other: text.split("a"),
    "split once": lambda text, other: text.split("a", 1),
    "split white once": lambda text, other: text.split(None, 1),
    "rsplit": lambda text, other: text.rsplit(None, 1),
    "rsplit at": lambda text, other: text.rsplit("a", 1),
    "splitlines": lambda text, other: text.splitlines(),
    "splitlines keep": lambda text, other: text.splitlines(True),
    "replace": lambda text, other: text.replace("a", other),
    "replace nothing": lambda text, other: text.replace("", other),
    "replace once": lambda text, other: text.replace("ab", other, 1),
    "join": lambda text, other: text.join([other, other, "x"]),
    "upper": lambda text, other: text.upper(),
    "lower": lambda text, other: text.lower(),
    "title": lambda text, other: text.title(),
    "capitalize": lambda text, other: text.capitalize(),
    "add": lambda text, other: text + other,
    "radd": lambda text, other: "x" + text,
    "slice": lambda text, other: text[1:-1],
    "step": lambda text, other: text[::-2],
    "last": lambda text, other: text[-1:],
    "iterate": lambda text, other: list(text),
    "str": lambda text, other: str(text),
}


@pytest.mark.parametrize("name", METHODS)
@given(text=marked(), other=marked())
def test_an_operation_gives_what_it_gives_of_a_plain_text(name: str, text: Tracked, other: Tracked) -> None:
    found = METHODS[name](text, other)
    assert found == METHODS[name](str.__str__(text), str.__str__(other))
    for part in found if isinstance(found, list) else [found]:
        assert isinstance(part, Tracked)
        assert len(flags_of(part)) == len(part)


@pytest.mark.parametrize("name", METHODS)
@given(text=TEXT, other=TEXT)
def test_no_operation_makes_a_message_the_template(name: str, text: str, other: str) -> None:
    found = METHODS[name](Tracked(text), Tracked(other))
    for part in found if isinstance(found, list) else [found]:
        assert isinstance(part, Tracked)
        allowed = 1 if name in ("join", "radd") else 0  # the "x" is the template's
        assert sum(flags_of(part)) <= allowed * part.count("x")


@given(marked(), st.integers(-15, 15), st.integers(-15, 15))
def test_a_slice_keeps_the_flags_of_its_characters(text: Tracked, start: int, stop: int) -> None:
    assert flags_of(text[start:stop]) == flags_of(text)[start:stop]


@given(marked())
def test_stripped_and_split_parts_keep_the_flags_of_their_characters(text: Tracked) -> None:
    plain = str.__str__(text)
    at = len(plain) - len(plain.lstrip())
    assert flags_of(text.strip()) == flags_of(text)[at : at + len(plain.strip())]
    kept = [flag for char, flag in zip(plain, flags_of(text), strict=True) if not char.isspace()]
    assert [flag for part in text.split() for flag in flags_of(part)] == kept


def test_generated_text_and_copies() -> None:
    text = concatenate(["ab", Tracked("cd")])
    assert flags_of(text) == [TEMPLATE, TEMPLATE, 0, 0]
    assert flags_of(text.generated()) == [TEMPLATE | GENERATED] * 2 + [GENERATED] * 2
    assert flags_of(pickle.loads(pickle.dumps(text))) == flags_of(text)
    assert flags_of(tracked("x")) == [TEMPLATE]
