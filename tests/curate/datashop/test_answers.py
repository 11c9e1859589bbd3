"""What is read of a model's answer, and what is not."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.curate.datashop.answers import AnswerFault, grade_form, grade_of, read_likelihood, rephrase_form
from tootsie.curate.datashop.spec import Annotation, Rephrase, Rubric, Style

GRADE = grade_form(Annotation())


def test_the_whole_answer_is_one_object() -> None:
    for text in (
        '{"rationale": "because", "score": 4}',
        '```json\n{"rationale": "because", "score": 4}\n```',
        ' {"score": 4, "rationale": "x"}\n',
    ):
        assert grade_of(GRADE.read(text)) == 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Final score: 4",
        'Sure! {"rationale": "x", "score": 4}',
        '{"rationale": "x", "score": 4} trailing',
        '{"rationale": "x", "score": 4, "score": 5}',
        '{"rationale": "x", "score": 4, "extra": 1}',
        '{"rationale": "x", "score": "4"}',
        '{"rationale": "x", "score": 4.0}',
        '{"rationale": "x", "score": true}',
        '{"rationale": "x", "score": 6}',
        '{"rationale": "x", "score": NaN}',
        '{"rationale": "", "score": 4}',
        '{"rationale": "\\ud800", "score": 4}',
        '{"rationale": "x", "scor',
        "[" * 100_000,
        '{"rationale": ' + '{"a":' * 50 + "1" + "}" * 50 + ', "score": 1}',
    ],
)
def test_anything_else_is_a_fault(text: str) -> None:
    with pytest.raises(AnswerFault):
        GRADE.read(text)


@given(st.text(alphabet='{}[]"\\:,ab1\n', max_size=200))
def test_no_answer_breaks_the_reader(text: str) -> None:
    try:
        answer = GRADE.read(text)
    except AnswerFault:
        return
    assert set(answer) == {"rationale", "score"}


def test_reading_is_linear() -> None:

    for text in ('\\"' * 90_000, '"' * 190_000, "[" * 190_000, '{"a' + "\\" * 190_000):
        with pytest.raises(AnswerFault):
            GRADE.read(text)


def test_verdicts_are_grades() -> None:
    form = grade_form(Annotation(rubric=Rubric.VERDICT, rationale=False))
    assert [grade_of(form.read(f'{{"verdict": "{word}"}}')) for word in ("Useless", "Great")] == [1, 5]


def test_a_likelihood_is_that_of_yes_against_no() -> None:
    words = [("Yes", math.log(0.3)), (" yes", math.log(0.1)), ("No", math.log(0.1)), ("The", math.log(0.5))]
    assert read_likelihood(words)["probability"] == pytest.approx(0.8)
    with pytest.raises(AnswerFault):
        read_likelihood([("The", -0.1)])


def test_choices_need_four_options_and_a_number() -> None:
    form = rephrase_form(Style.CHOICE, Rephrase())
    item = '{"question": "q", "options": ["a", "b", "c", "d"], "right": %s}'
    assert form.read('{"items": [' + item % 3 + "]}")
    for right in ("4", "-1", '"A"'):
        with pytest.raises(AnswerFault):
            form.read('{"items": [' + item % right + "]}")
