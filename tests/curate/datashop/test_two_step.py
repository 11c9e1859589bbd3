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
from tootsie.curate.datashop.spec import Checks, ModelSpec, Rephrase, read_spec
from tootsie.curate.datashop.two_step import TwoSteps, fault_in_two_steps
from tootsie.datasets import beam_runner
from tootsie.datasets.errors import SpecError
from tootsie.datasets.manifest import read_documents

PASSAGE = (
    "The mitochondrion makes most of the cell's ATP. It has two membranes; the inner one is folded into cristae. "
    "Each glucose gives about 36 molecules of it."
)
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
GOOD = ("How many molecules does each glucose give?", sentences(PASSAGE)[2])


def ask(oracle: Any, folder: Path, settings: Rephrase = QUOTED, passage: str = PASSAGE) -> Result:
    async def main() -> Result:
        cache = ResponseCache(str(folder / "responses"))
        model = ModelSpec(url=oracle.url, name="m", reasks=1, attempts=2, timeout=10)
        async with Client(model, cache, first_wait=0.001) as client:
            found = await TwoSteps(passage, settings, Checks(), 0, 2).put_to(client)
        cache.close()
        return found

    return asyncio.run(main())


def says(oracle: Any, *pairs: tuple[str, str]) -> None:
    """Have the server ask these questions, by seed, and give each its answer."""

    def answer(body: dict[str, Any]) -> Any:
        if body["response_format"]["json_schema"]["name"] == "question":
            return {"question": pairs[body["seed"] // 2][0]}
        question = json.loads(body["messages"][-2]["content"])["question"]
        return {"answer": dict(pairs)[question]}

    oracle.answer = answer


def test_questions_are_tried_until_one_holds(oracle: Any, tmp_path: Path) -> None:
    says(oracle, ("It makes ATP in the cell.", sentences(PASSAGE)[0]), GOOD, ("Never asked for?", ""))
    found = ask(oracle, tmp_path)
    assert isinstance(found, Answered)
    items = found.answer["items"]
    assert [item["question"] for item in items] == ["It makes ATP in the cell.", GOOD[0]]
    assert [fault_in_two_steps(item, PASSAGE, QUOTED, Checks()) for item in items] == ["no question", None]
    assert [step["sampling"][0]["seed"] for step in found.provenance["steps"]] == [0, 2]
    assert sum(oracle.asked.values()) == 4
    assert ask(oracle, tmp_path) == found  # all of it from the cache
    assert sum(oracle.asked.values()) == 4


def test_the_answer_is_asked_for_in_the_dialogue_of_its_question(oracle: Any, tmp_path: Path) -> None:
    says(oracle, GOOD)
    ask(oracle, tmp_path)
    first, second = oracle.seen
    assert second["messages"][: len(first["messages"])] == first["messages"]
    schema = second["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["answer"]["enum"] == sentences(PASSAGE)


def test_an_answer_that_is_no_sentence_of_the_passage_is_not_taken(oracle: Any, tmp_path: Path) -> None:
    says(oracle, *[(f"How many molecules does glucose give, {n}?", "Some 36 of them.") for n in range(4)])
    found = ask(oracle, tmp_path)
    assert not isinstance(found, Answered)
    assert found.reason == "wrong form"


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        (*GOOD, None),
        ("How high is the tallest mountain on Mars?", sentences(PASSAGE)[0], "question of something else"),
        (GOOD[0], sentences(PASSAGE)[0], "another sentence has more of the question"),
    ],
)
def test_both_halves_must_go_together(question: str, answer: str, reason: str | None) -> None:
    item = {"question": question, "answer": answer}
    assert fault_in_two_steps(item, PASSAGE, QUOTED, Checks()) == reason


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
    books = run.books(Stage.CHECK)["accounting"]
    assert books["read"] == books["written"] + sum(books["dropped"].values())


@pytest.mark.parametrize(
    "keys", [{"tries": 2}, {"answers": "quoted"}, {"protocol": "two-step", "styles": ["choice"]}]
)
def test_what_needs_two_steps_says_so(write_spec: Any, keys: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="two-step"):
        read_spec(write_spec("x.jsonl", None, rephrase=keys))
