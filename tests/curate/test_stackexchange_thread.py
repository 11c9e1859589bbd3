from __future__ import annotations

import itertools
import random

import pytest

from tootsie.curate import stackexchange_thread
from tootsie.curate.corpus import Record
from tootsie.curate.stackexchange_thread import Choice, Thread, metadata_of


def post(identity: int, kind: str = "2", body: bytes = b"<p>x</p>", **head: str) -> Record:
    return Record("a.com/1", {"site": "a.com", "Id": str(identity), "PostTypeId": kind, **head}, body)


def thread(*answers: Record, **question: str) -> Thread:
    made = Thread()
    for record in (*answers, post(1, "1", **question)):
        assert made.add(record, 10_000) is None
    return made


def test_order_depends_on_nothing_but_the_posts() -> None:
    answers = [
        post(10 + number, Score=score, CreationDate=date)
        for number, (score, date) in enumerate(
            itertools.product(("2", "-1", "2"), ("2015", "2014", "2014", ""))
        )
    ]
    orders = set()
    for seed in range(20):
        random.Random(seed).shuffle(answers)
        kept, dropped = Choice().answers(thread(*answers, AcceptedAnswerId="15"))
        orders.add(tuple(answer.head["Id"] for answer in kept))
        assert not dropped
    (order,) = orders
    assert order[0] == "15"
    assert len(order) == len(answers)


def test_the_accepted_answer_stays_but_counts_among_the_most() -> None:
    answers = [post(10, Score="-9"), post(11, Score="5"), post(12, Score="4"), post(13, Score="0")]
    kept, dropped = Choice(min_answer_score=1, max_answers=2).answers(thread(*answers, AcceptedAnswerId="10"))
    assert [one.head["Id"] for one in kept] == ["10", "11"]
    assert [(one.id, one.reason) for one in dropped] == [
        ("a.com/12", "answer beyond --max-answers"),
        ("a.com/13", "answer with a low score"),
    ]


@pytest.mark.parametrize(("limit", "most"), [(100, 50_000), (10**9, 20)])
def test_a_thread_over_a_limit_holds_nothing_and_counts_every_row(
    monkeypatch: pytest.MonkeyPatch, limit: int, most: int
) -> None:
    monkeypatch.setattr(stackexchange_thread, "MAX_POSTS", most)
    large = Thread()
    for record in (post(1, "1"), *(post(number) for number in range(2, 50))):
        large.add(record, limit)
    for number in range(30):
        large.add_comment({"Id": str(number), "comment": "1", "text": "hm"}, limit)
    assert large.excess
    assert large.rows == 49
    assert (large.question, large.answers, large.comments) == (None, {}, {})


def test_too_many_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stackexchange_thread, "MAX_POSTS", 20)
    large = thread(post(2))
    for number in range(30):
        large.add_comment({"Id": str(number), "comment": "1", "text": "hm"}, 10**9)
    assert large.excess == "more than 20 comments in one thread"
    assert large.rows == 2


def test_metadata_names_every_licence_of_what_is_in_the_text() -> None:
    made = thread(post(2, CreationDate="2010-01-01"), CreationDate="2012-01-01")
    made.add_comment(
        {"Id": "9", "comment": "2", "text": "hm", "created": "2019-01-01", "author": "Ann", "user": "-1"},
        10_000,
    )
    (answer,) = made.answers.values()
    metadata = metadata_of(made, [answer], comments=True)
    assert metadata["license"] == "CC BY-SA 2.5 AND CC BY-SA 3.0 AND CC BY-SA 4.0"
    assert metadata["comments"] == [
        {"id": "9", "post": "2", "author": "Ann", "license": "CC BY-SA 4.0", "created": "2019-01-01"}
    ]
