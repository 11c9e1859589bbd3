"""A question on a passage, then its answer; several questions where the first does not hold."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tootsie.curate.datashop import pipeline
from tootsie.curate.datashop.client import Answered, Client, Result
from tootsie.curate.datashop.passages import sentences
from tootsie.curate.datashop.response_cache import ResponseCache
from tootsie.curate.datashop.run import Stage
from tootsie.curate.datashop.spec import Answers, Checks, ModelSpec, Rephrase, read_spec
from tootsie.curate.datashop.two_step import TwoSteps, fault_in_two_steps
from tootsie.datasets import beam_runner
from tootsie.datasets.manifest import read_documents

PASSAGE = (
    "The mitochondrion makes most of the cell's ATP. It has two membranes; the inner one is folded into cristae. "
    "Each glucose gives about 36 molecules of ATP."
)
FIRST, LEANING, LAST = sentences(PASSAGE)
QUOTED = Rephrase.model_validate(
    {
        "protocol": "two-step",
        "answers": "quoted",
        "tries": 4,
        "items": 1,
        "temperature": 0.7,
        "max_tokens": 60,
    }
)
GOOD = "How many molecules does each glucose give?"


def ask(oracle: Any, folder: Path, settings: Rephrase = QUOTED, passage: str = PASSAGE) -> Result:
    async def main() -> Result:
        cache = ResponseCache(str(folder / "responses"))
        model = ModelSpec(url=oracle.url, name="m", reasks=1, attempts=2, timeout=10)
        async with Client(model, cache, first_wait=0.001) as client:
            found = await TwoSteps(passage, settings, Checks(), 0, 2, "Mitochondrion").put_to(client)
        cache.close()
        return found

    return asyncio.run(main())


def says(oracle: Any, questions: dict[str, list[str]], picks: dict[str, str]) -> None:
    """Have the server ask these questions for a sentence, by seed, and pick these sentences for a question."""

    def answer(body: dict[str, Any]) -> Any:
        given = json.loads(body["messages"][-1]["content"])
        if body["response_format"]["json_schema"]["name"] == "question":
            return {"question": questions[given["sentence"]][body["seed"] // 2]}
        return {"answer": picks[given["question"]]}

    oracle.answer = answer


def test_each_sentence_that_stands_alone_is_tried_until_a_question_holds(oracle: Any, tmp_path: Path) -> None:
    wrong, elsewhere = "It makes ATP in the cell.", "What makes most of the ATP of a cell?"
    says(oracle, {FIRST: [wrong, elsewhere], LAST: ["Who was Krebs?", GOOD]}, {elsewhere: LAST, GOOD: LAST})
    found = ask(oracle, tmp_path)
    assert isinstance(found, Answered)
    items = found.answer["items"]
    assert [item["question"] for item in items] == [wrong, "Who was Krebs?", elsewhere, GOOD]
    assert [fault_in_two_steps(item, PASSAGE, QUOTED, Checks(), "Mitochondrion") for item in items] == [
        "no question",
        "question of something else",
        "the model picks another sentence",
        None,
    ]
    assert [[one["seed"] for one in step["sampling"]] for step in found.provenance["steps"]] == [
        [0],
        [0],
        [2, 2],
        [2, 2],
    ]
    assert sum(oracle.asked.values()) == 6
    assert ask(oracle, tmp_path) == found  # all of it from the cache
    assert sum(oracle.asked.values()) == 6


def test_the_question_is_asked_for_one_sentence_and_the_answer_picked_from_all(
    oracle: Any, tmp_path: Path
) -> None:
    says(oracle, {FIRST: ["Who was Krebs?"], LAST: [GOOD]}, {GOOD: LAST})
    ask(oracle, tmp_path)
    *_, second = oracle.seen
    for body, sentence in zip(oracle.seen, (FIRST, LAST), strict=False):
        assert json.loads(body["messages"][-1]["content"]) == {
            "subject": "Mitochondrion",
            "sentence": sentence,
        }
        assert PASSAGE not in json.dumps(body["messages"])
    schema = second["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["answer"]["enum"] == [FIRST, LEANING, LAST]


def test_an_answer_that_is_no_sentence_of_the_passage_is_not_taken(oracle: Any, tmp_path: Path) -> None:
    says(oracle, {FIRST: ["Who was Krebs?"] * 2, LAST: [GOOD, GOOD]}, {GOOD: "Some 36 of them."})
    found = ask(oracle, tmp_path)
    assert isinstance(found, Answered)
    assert [item["question"] for item in found.answer["items"]] == ["Who was Krebs?"]


def test_a_passage_without_a_sentence_that_stands_alone_asks_for_nothing(oracle: Any, tmp_path: Path) -> None:
    found = ask(oracle, tmp_path, passage="It makes most of it. However, this is not all there is to it.")
    assert isinstance(found, Answered)
    assert found.answer == {"items": []}
    assert not oracle.seen


def test_written_answers_are_asked_for_in_the_dialogue_of_their_question(oracle: Any, tmp_path: Path) -> None:
    oracle.answer = lambda body: (
        {"question": GOOD}
        if body["response_format"]["json_schema"]["name"] == "question"
        else {"answer": "36."}
    )
    found = ask(oracle, tmp_path, QUOTED.model_copy(update={"answers": Answers.WRITTEN}))
    first, second = oracle.seen
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert isinstance(found, Answered)
    assert found.answer["items"] == [{"question": GOOD, "answer": "36."}]


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        (GOOD, LAST, None),
        ("What are mitochondrion powers of each molecule?", LAST, None),
        ("How high is the tallest mountain on Mars?", FIRST, "question of something else"),
        ("How many molecules of ATP does a glucose give", LAST, "no question"),
        (GOOD, FIRST, "question of something else"),
        ("What makes most ATP?", LAST, "another sentence has more of the question"),
        ("What has two membranes folded into cristae?", LEANING, "the answer does not stand alone"),
        (
            "What does each glucose give if it gives about 36 molecules?",
            LAST,
            "the question has the answer",
        ),
        (
            "Which glucose gives each glucose gives?",
            LAST,
            "more than one question, or one that repeats itself",
        ),
        (
            "What is ATP? How many molecules of ATP?",
            LAST,
            "more than one question, or one that repeats itself",
        ),
    ],
)
def test_both_halves_must_go_together(question: str, answer: str, reason: str | None) -> None:
    item = {"question": question, "answer": answer, "picked": answer}
    assert fault_in_two_steps(item, PASSAGE, QUOTED, Checks(), "Mitochondrion") == reason


def test_a_run_in_two_steps(planted: Any, write_spec: Any, oracle: Any, tmp_path: Path) -> None:
    path, _ = planted(60)
    rephrase = {
        "protocol": "two-step",
        "answers": "quoted",
        "tries": 2,
        "division": "prose",
        "passage_characters": 700,
        "temperature": 0.5,
    }
    spec = read_spec(write_spec(path, oracle.url, annotate={"sample": 60}, rephrase=rephrase))
    run = pipeline.make_run(spec, str(tmp_path / "out"), beam_runner.pipeline_options([]))
    pipeline.do(run)
    made = list(read_documents(str(tmp_path / "out/check")))
    assert made
    for document in made:
        assert document.text.startswith("**Question:** What is said of ")
        steps = document.metadata["datashop"]["steps"]
        assert len(steps) == document.metadata["items"]
        assert len(set(steps[0]["prompt_sha256"])) == 2
        assert "picked" not in document.text
    books = run.books(Stage.CHECK)["accounting"]
    assert books["read"] == books["written"] + sum(books["dropped"].values())
