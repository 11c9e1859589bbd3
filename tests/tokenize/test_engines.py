from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.tokenize import build, engine_proof, engines, fast_engine
from tootsie.tokenize.build import BuildSettings, build_caches, plan_jobs
from tootsie.tokenize.byte_pair import BytePairTokenizer
from tootsie.tokenize.document_files import TextRecord
from tootsie.tokenize.engines import Engine, EngineChoice, audit, choose_engine, load_with_engine
from tootsie.tokenize.fast_engine import GigatokenTokenizer
from tootsie.tokenize.identity import Tokenizer
from tootsie.tokenize.shard_build import build_shard
from tootsie.tokenize.tokenizers import load_tokenizer

LARGE = 2**40


def unread() -> Iterable[tuple[str, TextRecord]]:
    pytest.fail("the sample was read")
    yield


def records(*texts: str) -> list[tuple[str, TextRecord]]:
    return [("f.jsonl", TextRecord(f"d{number}", text, 0)) for number, text in enumerate(texts)]


@pytest.fixture
def mistaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that loses the last id of texts with a 7 in them, golden texts aside."""
    original = GigatokenTokenizer._encode

    def encode(self: GigatokenTokenizer, texts: list[str]) -> list[np.ndarray]:
        found = original(self, texts)
        wrong = ["7" in text and text not in engine_proof.CHECKED_TEXTS for text in texts]
        return [ids[:-1] if bad else ids for ids, bad in zip(found, wrong, strict=True)]

    monkeypatch.setattr(GigatokenTokenizer, "_encode", encode)
    load_with_engine.cache_clear()


def test_the_fast_engine_is_taken_where_it_is_equal_and_worth_it(llama3: BytePairTokenizer) -> None:
    choice = choose_engine(llama3, Engine.AUTO, LARGE, records("one", "two"))
    assert (choice.name, choice.version) == ("gigatoken", fast_engine.installed_version())
    assert choice == choose_engine(llama3, Engine.GIGATOKEN, 1, records("one"))
    small = choose_engine(llama3, Engine.AUTO, 1000, unread())
    assert (small.name, small.note) == ("tiktoken", None)
    assert choose_engine(llama3, Engine.TIKTOKEN, LARGE, unread()).name == "tiktoken"


@pytest.mark.usefixtures("mistaken")
def test_one_that_differs_is_not_taken_and_the_document_is_named(llama3: BytePairTokenizer) -> None:
    sample = records("one", "two 7", "three 7")
    choice = choose_engine(llama3, Engine.AUTO, LARGE, sample)
    assert choice.name == "tiktoken"
    assert choice.note is not None
    assert choice.note.startswith("f.jsonl: gigatoken ")
    assert choice.note.endswith(" for d1, so tiktoken encodes all")
    with pytest.raises(
        InputError, match=r"f.jsonl: gigatoken .* gives other ids than tiktoken .* for d1.*--engine tiktoken"
    ):
        choose_engine(llama3, Engine.GIGATOKEN, 1, sample)


def test_tokenizers_that_it_cannot_do_keep_their_own_engine() -> None:
    small = load_tokenizer("tootsie-16k")
    assert choose_engine(small, Engine.AUTO, LARGE, unread()) == EngineChoice(
        small.engine, small.engine_version
    )
    with pytest.raises(SpecError, match="--engine: the engine"):
        choose_engine(small, Engine.GIGATOKEN, 1, unread())

    class Other(Tokenizer):
        engine, engine_version = "tokenizers", "1"
        identity = small.identity

        def encode_array(self, text: str) -> np.ndarray:
            raise NotImplementedError

        def token_bytes(self, token: int) -> bytes:
            raise NotImplementedError

    assert choose_engine(Other(), Engine.AUTO, LARGE, unread()).name == "tokenizers"
    with pytest.raises(
        SpecError, match=r"--engine: the only engine of tootsie-16k is tokenizers \(found 'tiktoken'\)"
    ):
        choose_engine(Other(), Engine.TIKTOKEN, 1, unread())
    with pytest.raises(
        SpecError, match=r"no such engine \(found 'gigatokn'\). Use one of auto, tiktoken, gigatoken"
    ):
        Engine.named("gigatokn")


@pytest.mark.usefixtures("mistaken")
def test_a_difference_while_encoding_ends_the_build(llama3: BytePairTokenizer) -> None:
    fast = GigatokenTokenizer(llama3, ())
    record = TextRecord("d5", "text 7", 0)
    audit(llama3, record, llama3.encode_document(record.text), "f.jsonl")
    with pytest.raises(
        ArtefactError, match=r"f.jsonl: gigatoken .* for document d5. Run again with --engine tiktoken"
    ):
        audit(fast, record, fast.encode_document(record.text), "f.jsonl")


def test_a_worker_with_another_version_encodes_nothing(llama3: BytePairTokenizer) -> None:
    with pytest.raises(SpecError, match=r"this worker has gigatoken .*, the build began with 0\.0\.1"):
        load_with_engine("llama3", None, None, EngineChoice("gigatoken", "0.0.1"))


def test_shards_are_the_same_and_the_ledger_says_who_encoded(
    llama3: BytePairTokenizer, tmp_path: Path, make_jsonl: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "WORTHWHILE_BYTES", 1)
    texts = [
        "",
        "a",
        "Zażółć \U000323b0's \ud800 " * 50,
        *(f"{n} words, été 数\n" * (n % 40) for n in range(300)),
    ]
    path = make_jsonl(tmp_path / "a.jsonl", [{"id": str(n), "text": text} for n, text in enumerate(texts)])
    ledgers = []
    shards = []
    for engine in (Engine.TIKTOKEN, Engine.GIGATOKEN, Engine.AUTO):
        out = tmp_path / engine
        build_caches([path], str(out), BuildSettings(tokenizer="llama3", name="x", shards=3, engine=engine))
        ledgers.append(json.loads((out / "ledger.json").read_text()))
        shards.append([file.read_bytes() for file in sorted((out / "shards").iterdir())])
    assert [ledger["engine"]["name"] for ledger in ledgers] == ["tiktoken", "gigatoken", "gigatoken"]
    assert shards[0] == shards[1] == shards[2]
    for ledger in ledgers:
        del ledger["engine"], ledger["hash"]
    assert ledgers[0] == ledgers[1] == ledgers[2]


def test_engines_are_not_mixed_in_one_cache(
    llama3: BytePairTokenizer, tmp_path: Path, make_jsonl: Callable[..., str]
) -> None:
    path = make_jsonl(tmp_path / "a.jsonl", [{"id": str(n), "text": f"text {n}"} for n in range(40)])
    out = tmp_path / "out"

    def settings(engine: Engine) -> BuildSettings:
        return BuildSettings(tokenizer="llama3", name="x", shards=4, engine=engine)

    (job,) = plan_jobs([path], str(out), settings(Engine.TIKTOKEN))
    build.complete.__globals__["prepare"](job)
    build_shard(job.tasks[0])
    first = out / job.tasks[0].path
    before = first.stat().st_mtime_ns
    (cache,) = build_caches([path], str(out), settings(Engine.GIGATOKEN))
    assert cache.ledger.engine.name == "gigatoken"
    assert first.stat().st_mtime_ns != before
    # A finished cache stays what it is, whatever engine is asked for.
    (again,) = build_caches([path], str(out), settings(Engine.TIKTOKEN))
    assert again.ledger_sha256 == cache.ledger_sha256
