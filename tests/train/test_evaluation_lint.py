"""A held-out set that is written in another way than the training data is told, by what differs."""

from __future__ import annotations

import pytest

from tootsie.train.evaluation_lint import TRAITS, compare, encoded_documents, lint_prompts, mixed, profile

PROSE = [f"The {number}th sentence is here.\nAnd it goes on, to its end." for number in range(50)]


def texts(of: list[str], terminator: str = "end of text") -> list[tuple[str, str]]:
    return [(text, terminator) for text in of]


@pytest.mark.parametrize(
    ("change", "traits"),
    [
        (lambda text: text + " ", ["ends-with-space"]),
        (lambda text: text + "\n", ["ends-with-newline"]),
        (lambda text: text.replace(".", " .").replace(",", " ,"), ["spaces-before-punctuation"]),
        (lambda text: text.replace("\n", " \n"), ["spaces-before-breaks"]),
        (lambda text: text.replace("\n", "\r\n"), ["carriage-returns"]),
        (lambda text: text.replace("\n", " "), ["one-line"]),
        (lambda text: f"# Title\n\n{text}", ["markdown-headings"]),
        (lambda text: f"<p>{text}</p>", ["ends-with-punctuation", "html-tags"]),
        (lambda text: text.lower(), ["lower-case"]),
        (lambda text: text.replace("sentence", "<unk>"), ["unknown-marks"]),
        (lambda text: text, []),
    ],
)  # fmt: skip
def test_what_differs_is_named(change, traits: list[str]) -> None:  # type: ignore[no-untyped-def]
    training = profile(texts(PROSE))
    found = compare("held", profile(texts([change(text) for text in PROSE])), training, 0.25)
    assert [finding.trait for finding in found] == traits


def test_trailing_spaces_are_told_in_words() -> None:
    """What an evaluation set of the 8B run had, and was taken for a regression of the model."""
    (finding,) = compare(
        "paloma/c4_en", profile(texts([text + " " for text in PROSE])), profile(texts(PROSE)), 0.25
    )
    assert finding.message == "100% of its documents end in a space or tab, 0% of the training mixture's"


def test_the_mixture_counts_by_what_is_drawn() -> None:
    spaced = profile(texts([text + " " for text in PROSE]))
    plain = profile(texts(PROSE))
    half = mixed({"a": spaced, "b": plain}, {"a": 1.0, "b": 3.0})
    assert half.shares["ends-with-space"] == pytest.approx(0.25)
    assert not compare("held", profile(texts(PROSE[:10])), half, 0.3)
    assert compare("held", spaced, half, 0.3)


def test_a_terminator_that_training_does_not_have_is_told() -> None:
    (finding,) = compare("held", profile(texts(PROSE, "no end of text")), profile(texts(PROSE)), 0.25)
    assert finding.trait == "terminator"


def test_long_documents_are_looked_at_from_both_ends() -> None:
    found = profile([("x" * 100_000 + " ", "end of text")])
    assert found.shares["ends-with-space"] == 1
    assert set(found.shares) == set(TRAITS)


def test_texts_are_encoded_for_their_last_token() -> None:
    class Toy:
        class identity:  # noqa: N801
            eos_id = 7

        def encode_document(self, text: str) -> list[int]:
            return [1, 7]

    assert list(encoded_documents(["a", ""], Toy())) == [("a", "end of text")]


def test_prompts_in_a_format_that_training_lacks_are_told() -> None:
    """A score of such a task measures the format as well: nothing in training looked like its questions."""
    questions = {
        "cloze": [text.lower().replace(".", " .").replace(",", " ,") for text in PROSE],
        "prose": PROSE,
        "web": [f"<p>{text}</p>" for text in PROSE],
    }
    found = lint_prompts(questions, profile(texts(PROSE)), 0.25)
    assert [(finding.set, finding.trait) for finding in found] == [
        ("cloze", "spaces-before-punctuation"), ("cloze", "lower-case"),
        ("web", "ends-with-punctuation"), ("web", "html-tags"),
    ]  # fmt: skip
