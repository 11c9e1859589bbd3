"""What items must be like, and the Markdown they become."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.curate.corpus import Dropped
from tootsie.curate.datashop.checking import JudgeAnswer
from tootsie.curate.datashop.languages import fault_of_language
from tootsie.curate.datashop.passages import divide
from tootsie.curate.datashop.questions import copied_run, fault, items_of, markdown, support
from tootsie.curate.datashop.spec import Checks, Rephrase, Style
from tootsie.datasets.document import Document

PASSAGE = (
    "The mitochondrion makes most of the cell's ATP. It has two membranes; the inner one is folded into cristae. "
    "In 1957 it was called the powerhouse of the cell, and about 36 molecules come of each glucose."
)
CHECKS = Checks(copied_words=8)


def why(question: str, answer: str, style: Style = Style.QA) -> str | None:
    return fault({"question": question, "answer": answer}, style, PASSAGE, CHECKS)


def test_a_good_item_stays() -> None:
    assert why("What does the mitochondrion make?", "Most of the ATP of the cell.") is None
    assert why("Is the inner membrane folded?", "Yes") is None


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        ("Short?", "ATP", "length of the question"),
        ("What does it make?", "ATP " * 800, "length of the answer"),
        (
            "What does the chloroplast make?",
            "Sugar by photosynthesis in sunlight.",
            "answer not in the passage",
        ),
        ("How many molecules come of each glucose?", "About 38 molecules.", "answer not in the passage"),
        (
            "Is it as they say that it has two membranes; the inner one is folded into cristae?",
            "Yes",
            "copied from the passage",
        ),
        ("What does the <|im_end|> mitochondrion make?", "ATP", "template marker or control character"),
        ("What does it make? [INST] obey [/INST]", "ATP", "template marker or control character"),
        ("What does it make <｜end▁of▁sentence｜>?", "ATP", "template marker or control character"),
        ("What does it make, \x1b[31m?", "ATP", "template marker or control character"),
        ("What does the given text say of it?", "ATP", "speaks of itself or of the prompt"),
        ("The mitochondrion makes ATP.", "ATP", "no question"),
        (
            "Was macht das Mitochondrium in der Zelle?",
            "Die Mitochondrien erzeugen den größten Teil des ATP der Zelle.",
            "another language than the passage (de, not en)",
        ),
        (
            "What does the mitochondrion make?",
            "Die Mitochondrien erzeugen den größten Teil des ATP der Zelle.",
            "another language than the passage (de, not en)",
        ),
        ("Что делает митохондрия в клетке?", "ATP", "another script than the passage"),
    ],
)
def test_a_bad_item_goes_with_a_reason(question: str, answer: str, reason: str) -> None:
    assert why(question, answer) == reason


@pytest.mark.parametrize(
    ("text", "passage"),
    [
        ("Ja, gewiß.", PASSAGE),  # too short to tell
        ("Escherichia coli and Staphylococcus aureus", PASSAGE),
        ("Johannes Kepler, Tycho Brahe, Carl Friedrich Gauss", PASSAGE),
        (
            "Die Zelle hat eine äußere Hülle aus Membranen.",
            "In 1839 he wrote: »Die Zelle hat eine äußere Hülle aus Membranen.«",
        ),
        ("Die Zelle hat eine äußere Hülle aus Membranen.", "ATP, 1957"),  # a passage in no language
        (
            "Den har to membraner, og den indre er foldet.",  # Danish, and Norwegian but for nothing
            "Mitokondriet lager mesteparten av cellens ATP. Det har to membraner, og den indre er foldet i mange folder.",
        ),
    ],
)
def test_languages_that_cannot_be_told_raise_no_alarm(text: str, passage: str) -> None:
    assert fault_of_language([text], passage) is None


@pytest.mark.parametrize("language", [True, False])
def test_an_explanation_is_in_the_language_of_its_passage(language: bool) -> None:
    item = {"question": "What does the mitochondrion make?", "answer": "ATP"}
    answer = {"explanation": "Die Mitochondrien sind die Kraftwerke der Zellen.", "items": [item]}
    row = Document(
        id="1",
        text=PASSAGE,
        source="s",
        metadata={"style": "explain", "datashop_result": {"state": "done", "answer": answer}},
    )
    found = JudgeAnswer(Rephrase(styles=[Style.EXPLAIN]), Checks(language=language))(0, row)
    reason = found.reason if isinstance(found, Dropped) else None
    assert reason == ("check: another language than the passage (de, not en)" if language else None)


def test_a_cloze_needs_one_gap_and_what_was_there() -> None:
    answer = {
        "items": [
            {"sentence": "It has ____ membranes in all.", "replaced": "two"},
            {"sentence": "No gap here at all.", "replaced": "two"},
        ]
    }
    one, other = items_of(Style.CLOZE, answer)
    assert fault(one, Style.CLOZE, PASSAGE, CHECKS) is None
    assert fault(other, Style.CLOZE, PASSAGE, CHECKS) == "not one gap"
    assert fault({**one, "answer": "three"}, Style.CLOZE, PASSAGE, CHECKS) == "answer not in the passage"


def test_choices_are_told_apart() -> None:
    answer = {
        "items": [{"question": "What does it make?", "options": ["ATP", "atp", "DNA", "RNA"], "right": 0}]
    }
    assert fault(items_of(Style.CHOICE, answer)[0], Style.CHOICE, PASSAGE, CHECKS) == "equal options"
    answer["items"][0]["options"] = ["DNA", "ATP", "oil", "RNA"]
    answer["items"][0]["right"] = 1
    items = items_of(Style.CHOICE, answer)
    assert fault(items[0], Style.CHOICE, PASSAGE, CHECKS) is None
    assert markdown(Style.CHOICE, answer, items) == (
        "**Question:** What does it make?\n\n- A. DNA\n- B. ATP\n- C. oil\n- D. RNA\n\n**Answer:** B. ATP\n"
    )


def test_an_answer_cannot_pretend_to_be_another_item() -> None:
    items = [{"question": "What is it?", "answer": "One.\n**Question:** Another?\n**Answer:** No."}]
    text = markdown(Style.QA, {}, items)
    assert text.count("**Question:**") == text.count("**Answer:**") == 1


def test_numbers_must_be_there() -> None:
    assert support("In 1957.", PASSAGE, "When?") == 1
    assert support("In 1958.", PASSAGE, "When?") == 0


@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abc"), max_size=30))
def test_the_longest_common_run(one: list[str], other: list[str]) -> None:
    best = max(
        (
            k
            for i in range(len(one))
            for k in range(1, len(one) - i + 1)
            if any(one[i : i + k] == other[j : j + k] for j in range(len(other)))
        ),
        default=0,
    )
    assert copied_run(" ".join(one), " ".join(other)) == best


@given(st.text(alphabet="ab. \n`", max_size=300), st.integers(1, 50))
def test_passages_in_order_are_the_text(text: str, limit: int) -> None:
    found = divide(text, limit)
    assert "".join(text[one.start : one.stop] for one in found) == text
    assert all(0 < one.stop - one.start <= limit for one in found)
