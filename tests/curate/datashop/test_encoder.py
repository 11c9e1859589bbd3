"""Vectors of an encoder behind HTTP as the features of a scorer."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.curate.datashop import pipeline, scorer_report
from tootsie.curate.datashop.embeddings import Encoder, EncoderClient
from tootsie.curate.datashop.encoder_scorer import EncoderScorer, fetched
from tootsie.curate.datashop.response_cache import ResponseCache
from tootsie.curate.datashop.run import Run, Stage
from tootsie.curate.datashop.spec import EncoderSpec, read_spec
from tootsie.datasets import beam_runner, storage
from tootsie.datasets.errors import ArtefactError, InputError, UserError
from tootsie.datasets.manifest import read_documents

TEXTS = [f"cell number {number} and sofa" for number in range(20)]
POISON = "what this encoder cannot do"


def spec_of(url: str, **keys: Any) -> EncoderSpec:
    return EncoderSpec(
        **{"url": url, "name": "enc", "inputs": 3, "concurrency": 2, "attempts": 3, "timeout": 20, **keys}
    )


def fetch(spec: EncoderSpec, texts: list[str], folder: Path, known: Encoder | None = None) -> list[Any]:
    with fetched(spec, known or Encoder.of(spec), str(folder), texts, 0.001) as client:
        return [client.vector(text) for text in texts]


def asked_pieces(oracle: Any) -> Counter[str]:
    return Counter(piece for body in oracle.seen if "input" in body for piece in body["input"])


def right(oracle: Any, text: str) -> Any:
    vector = np.array(oracle.vectors({"input": [text]})["data"][0]["embedding"])
    return vector / np.linalg.norm(vector)


def changed(oracle: Any, change: Any, times: int = 10**6) -> None:
    """Let the server change its answers, the first ``times`` of them."""
    right_vectors, count = oracle.vectors, iter(range(times))

    def vectors(body: dict[str, Any]) -> Any:
        found = right_vectors(body)
        if len(body["input"]) > 1 and next(count, None) is not None:
            change(found["data"])
        return found

    oracle.vectors = vectors


FAULTS = {
    "429": None,
    "500": None,
    "drop": None,
    "half": None,
    "malformed": None,
    "one vector too few": lambda data: data.pop(),
    "an index twice": lambda data: data[1].update(index=0),
    "no index": lambda data: data[1].pop("index"),
    "index out of range": lambda data: data[0].update(index=len(data)),
    "not a number": lambda data: data[1]["embedding"].__setitem__(0, float("nan")),
    "infinite": lambda data: data[1]["embedding"].__setitem__(0, float("inf")),
    "null": lambda data: data[1]["embedding"].__setitem__(0, None),
    "text": lambda data: data[1].update(embedding=["1"] * 8),
    "zeros": lambda data: data[1].update(embedding=[0] * 8),
    "ragged": lambda data: data[1].update(embedding=[1.0]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_answer_is_asked_for_again(oracle: Any, tmp_path: Path, fault: str) -> None:
    truth = [right(oracle, text) for text in TEXTS]
    if change := FAULTS[fault]:
        changed(oracle, change, times=2)
    else:
        oracle.fault = lambda number, body: fault if number < 2 else None
    np.testing.assert_allclose(fetch(spec_of(oracle.url), TEXTS, tmp_path), truth, atol=1e-3)
    assert oracle.most_under_way <= 2
    assert sorted(asked_pieces(oracle).values())[:14] == [1] * 14  # all but those of two requests


def test_vectors_are_put_in_their_places_by_their_indices(oracle: Any, tmp_path: Path) -> None:
    changed(oracle, lambda data: data.reverse())
    found = fetch(spec_of(oracle.url), TEXTS, tmp_path)
    np.testing.assert_allclose(found, [right(oracle, text) for text in TEXTS], atol=1e-3)


def test_a_text_that_keeps_failing_takes_no_other_along(oracle: Any, tmp_path: Path) -> None:
    right_vectors = oracle.vectors

    def vectors(body: dict[str, Any]) -> Any:
        found = right_vectors(body)
        for item, text in zip(found["data"], body["input"], strict=True):
            item["embedding"][0] *= float("nan") if text == POISON else 1
        return found

    oracle.vectors = vectors
    found = fetch(spec_of(oracle.url), [*TEXTS[:4], POISON, *TEXTS[4:]], tmp_path)
    reason, detail = found.pop(4)
    assert (reason, "not finite" in detail) == ("malformed response", True)
    np.testing.assert_allclose(found, [right(oracle, text) for text in TEXTS], atol=1e-3)


def test_another_encoder_stops_the_run(oracle: Any, tmp_path: Path) -> None:
    spec = spec_of(oracle.url)
    with fetched(spec, Encoder.of(spec), str(tmp_path / "a"), TEXTS[:3], 0.001) as client:
        known = client.encoder
    assert (known.served_model, known.dimension) == ("encoder-1", 8)
    changed(oracle, lambda data: [item["embedding"].append(1.0) for item in data])
    with pytest.raises(UserError, match=r"scorer\.encoder\.name: vectors of another encoder: 9 numbers"):
        fetch(spec, TEXTS, tmp_path / "b", known)
    with pytest.raises(UserError, match="another encoder"):  # also where they are filed already
        fetch(spec, TEXTS[:3], tmp_path / "b", known)


def test_long_texts_are_embedded_in_pieces_and_what_is_too_long_is_halved(
    oracle: Any, tmp_path: Path
) -> None:
    text = "cell " * 60 + "sofa " * 60 + "coupon " * 60
    pieces = [text[:300], text[300:600]]  # the third is beyond the number that the spec allows
    spec = spec_of(oracle.url, piece_characters=300, pieces=2)
    assert Encoder.of(spec).divided(text) == (pieces, False)
    assert Encoder.of(spec).divided(pieces[0]) == (pieces[:1], True)
    mean = sum(right(oracle, piece) for piece in pieces)
    found = fetch(spec, [text, " \n"], tmp_path / "a")
    np.testing.assert_allclose(found[0], mean / np.linalg.norm(mean), atol=1e-3)
    assert found[1] is None
    oracle.fault = lambda number, body: "413" if max(map(len, body["input"])) > 150 else None
    halves = [right(oracle, pieces[0][:150]), right(oracle, pieces[0][150:])]
    found = fetch(spec, [pieces[0], TEXTS[0]], tmp_path / "b")
    np.testing.assert_allclose(found[0], sum(halves) / np.linalg.norm(sum(halves)), atol=1e-3)
    oracle.fault = lambda number, body: "413"
    assert fetch(spec, [pieces[0]], tmp_path / "c")[0][0] == "refused with status 413"


def test_a_prefix_is_sent_and_part_of_the_name_of_an_answer(oracle: Any, tmp_path: Path) -> None:
    for prefix in ("", "passage: "):
        fetch(spec_of(oracle.url, prefix=prefix), TEXTS[:1], tmp_path)
    assert asked_pieces(oracle) == {TEXTS[0]: 1, f"passage: {TEXTS[0]}": 1}


KILLED = """
import json, sys
from tootsie.curate.datashop.embeddings import Encoder
from tootsie.curate.datashop.encoder_scorer import fetched
from tootsie.curate.datashop.spec import EncoderSpec
spec = EncoderSpec(**json.loads(sys.argv[1]))
with fetched(spec, Encoder.of(spec), sys.argv[2], json.loads(sys.argv[3]), 0.001):
    pass
"""


def test_a_killed_run_asks_only_again_for_what_was_under_way(oracle: Any, tmp_path: Path) -> None:
    spec = spec_of(oracle.url)
    reached = threading.Event()

    def hold(number: int, body: Any) -> str | None:
        if number >= 3:
            reached.set()
            return "slow"
        return None

    oracle.fault = hold
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, spec.model_dump_json(), str(tmp_path), json.dumps(TEXTS)]
    )
    assert reached.wait(60)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    oracle.fault = None
    found = fetch(spec, TEXTS, tmp_path)
    np.testing.assert_allclose(found, [right(oracle, text) for text in TEXTS], atol=1e-3)
    twice = [text for text, count in asked_pieces(oracle).items() if count > 1]
    assert len(asked_pieces(oracle)) == len(TEXTS)
    assert len(twice) <= 2 * 3  # two requests of three pieces


def make(spec: str, folder: Path) -> Run:
    return pipeline.make_run(
        read_spec(spec), str(folder / "out"), beam_runner.pipeline_options([]), first_wait=0.001
    )


def test_documents_are_scored_by_their_vectors_or_fail_with_a_reason(
    oracle: Any, planted: Any, write_spec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer_report, "_pictures", lambda truth, found: [b""] * 4)  # a second of drawing
    path, wanted = planted(120)
    with Path(path).open("a") as stream:
        stream.write(json.dumps({"id": "poison", "text": POISON, "source": "web"}) + "\n")
        stream.write(json.dumps({"id": "blank", "text": " ", "source": "web"}) + "\nno JSON\n")
    spec = write_spec(path, oracle.url, scorer={"encoder": json.loads(spec_of(oracle.url).model_dump_json())})
    run = make(spec, tmp_path)
    pipeline.do(run, [Stage.DESCRIBE, Stage.ANNOTATE, Stage.TRAIN])
    report = run.books(Stage.TRAIN)
    assert report["held_out"]["auc"] >= 0.95
    assert (report["encoder"]["served_model"], report["encoder"]["dimension"]) == ("encoder-1", 8)

    url = run.path("train-scorer", "scorer.npz")
    with pytest.raises(ArtefactError, match="trained on the vectors of another encoder"):
        EncoderScorer.load(url, Encoder.of(spec_of("http://h/v1", name="another")))
    right_vectors = oracle.vectors
    oracle.vectors = lambda body: {**right_vectors(body), "model": "encoder-2"}
    with pytest.raises(UserError, match="vectors of another encoder: 8 numbers from 'encoder-2'"):
        pipeline.do(run, [Stage.SCORE])
    oracle.vectors = right_vectors
    oracle.fault = lambda number, body: "404"
    with pytest.raises(
        InputError, match=r"121 of 123 documents of the stage score could not be embedded.*404 "
    ):
        pipeline.do(run, [Stage.SCORE])

    oracle.fault = lambda number, body: "413" if POISON in body["input"] else None
    pipeline.do(run, [Stage.SCORE, Stage.FILTER])
    books = run.books(Stage.SCORE)
    assert (books["documents"], books["no document"]) == (121, 1)
    assert books["failed"] == {"refused with status 413": 1}
    kept = {document.id for document in read_documents(str(tmp_path / "out/filter"))}
    assert len(kept & wanted) >= 0.9 * min(len(kept), len(wanted))
    assert run.books(Stage.FILTER)["accounting"][0]["dropped"]["not scored: refused with status 413"] == 1
    rejects = [
        json.loads(line)
        for file in (tmp_path / "out/filter/rejects").iterdir()
        for line in storage.read_lines(str(file))
    ]
    assert [row["id"] for row in rejects if row["metadata"]["reason"].startswith("not scored")] == ["poison"]

    count = len(oracle.seen)
    again = make(spec, tmp_path)
    pipeline.do(again, [Stage.TRAIN, Stage.SCORE, Stage.FILTER])
    assert len(oracle.seen) == count
    encoder = again.encoder
    assert encoder is not None
    elsewhere = encoder.model_copy(update={"url": "http://127.0.0.1:1/v1", "concurrency": 1})
    assert dataclasses.replace(again, encoder=elsewhere).finished(Stage.SCORE) is not None
    other = encoder.model_copy(update={"revision": "2"})
    assert dataclasses.replace(again, encoder=other).finished(Stage.TRAIN) is None


def test_one_client_asks_for_a_text_once(oracle: Any, tmp_path: Path) -> None:
    async def run() -> EncoderClient:
        cache = ResponseCache(str(tmp_path))
        spec = spec_of(oracle.url)
        async with EncoderClient(spec, Encoder.of(spec), cache) as client:
            await client.fetch([TEXTS[0]] * 10)
            await client.fetch(TEXTS[:3])
        cache.close()
        return client

    assert asyncio.run(run()).counters["answers from the cache"] == 10
    assert set(asked_pieces(oracle).values()) == {1}
