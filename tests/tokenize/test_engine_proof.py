from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize import derived_files, engine_proof
from tootsie.tokenize.byte_pair import BytePairTokenizer
from tootsie.tokenize.character_classes import Ranges
from tootsie.tokenize.engines import EngineChoice, load_with_engine
from tootsie.tokenize.fast_engine import GigatokenTokenizer, installed_version

FOUND: Ranges = ((0x88F, 0x88F), (0x323B0, 0x33479))


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What the characters were shown to the engines for; an empty cache folder; few texts."""
    calls: list[str] = []

    def differing(pattern: str) -> Ranges:
        calls.append(pattern)
        return FOUND

    monkeypatch.setenv(derived_files.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(engine_proof, "_differing", differing)
    monkeypatch.setattr(engine_proof, "CHECKED_TEXTS", ("it's 1", "é \ud800"))
    engine_proof.with_engine.cache_clear()
    load_with_engine.cache_clear()
    return calls


def test_what_was_proved_once_holds_under_equal_conditions_only(
    llama3: BytePairTokenizer, probed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engine_proof.prove(llama3) == FOUND
    assert engine_proof.prove(llama3) == FOUND
    assert len(probed) == 1
    proved: Callable[[BytePairTokenizer], dict[str, str]] = engine_proof.conditions
    for number, name in enumerate(proved(llama3), start=2):
        monkeypatch.setattr(
            engine_proof, "conditions", lambda tokenizer, name=name: {**proved(tokenizer), name: "another"}
        )
        engine_proof.prove(llama3)
        assert len(probed) == number, name
    monkeypatch.setattr(engine_proof, "conditions", proved)
    engine_proof.prove(llama3)
    for file in tmp_path.glob("proof-*"):
        file.write_bytes(file.read_bytes()[:-1])
    before = len(probed)
    engine_proof.prove(llama3)
    assert len(probed) == before + 1


def test_a_proof_that_lies_under_another_name_is_none(
    llama3: BytePairTokenizer, probed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_proof.prove(llama3)
    content = derived_files.recall(engine_proof._name(engine_proof.conditions(llama3)))
    other = {**engine_proof.conditions(llama3), "processor": "another"}
    derived_files.keep(engine_proof._name(other), content or b"")
    monkeypatch.setattr(engine_proof, "conditions", lambda tokenizer: other)
    assert engine_proof.kept_proof(llama3) is None
    derived_files.keep(engine_proof._name(other), b'{"conditions": 1}')
    assert engine_proof.kept_proof(llama3) is None


def test_conditions_name_the_bytes_of_both_engines(llama3: BytePairTokenizer) -> None:
    found = engine_proof.conditions(llama3)
    assert found["tokenizer"] == llama3.identity.fingerprint
    assert found["engine"].startswith(f"gigatoken {installed_version()} ")
    hashes = [found[name].rsplit(" ", 1)[1] for name in ("engine", "reference")]
    assert all(len(digest) == 64 for digest in hashes)
    assert len({*hashes, engine_proof._package_hash("typer")}) == 3


def test_a_worker_takes_the_proof_or_proves_for_itself(llama3: BytePairTokenizer, probed: list[str]) -> None:
    proof = engine_proof.conditions_hash(llama3)
    told = load_with_engine("llama3", None, None, EngineChoice("gigatoken", installed_version(), (), proof))
    assert isinstance(told, GigatokenTokenizer)
    assert (told.differing, probed) == ((), [])
    elsewhere = EngineChoice("gigatoken", installed_version(), (), "of another machine")
    alone = load_with_engine("llama3", None, None, elsewhere)
    assert isinstance(alone, GigatokenTokenizer)
    assert (alone.differing, len(probed)) == (FOUND, 1)


def test_what_differs_is_not_proved(
    llama3: BytePairTokenizer, probed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = GigatokenTokenizer._encode

    def encode(self: GigatokenTokenizer, texts: list[str]) -> list[np.ndarray]:
        return [
            ids[:-1] if "é" in text else ids for ids, text in zip(original(self, texts), texts, strict=True)
        ]

    monkeypatch.setattr(GigatokenTokenizer, "_encode", encode)
    with pytest.raises(ArtefactError, match=r"gives other ids than tiktoken for golden text 1"):
        engine_proof.prove(llama3)
    assert not list(tmp_path.glob("proof-*"))
