from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.tokenize.identity import Tokenizer
from tootsie.tokenize.tokenizers import load_tokenizer

tokenizers = pytest.importorskip("tokenizers")


def train(folder: Path, specials: tuple[str, ...] = ("<s>", "</s>")) -> Path:
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(specials),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(["the quick brown fox and the lazy dog " * 20], trainer)
    folder.mkdir(parents=True, exist_ok=True)
    made.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("hf") / "tiny"
    path = train(folder)
    config = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", "add_bos_token": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return load_tokenizer(str(path))


def test_identity_and_policy(tokenizer: Tokenizer) -> None:
    identity = tokenizer.identity
    assert identity.name == "huggingface:tiny"
    assert (identity.bos_id, identity.eos_id, identity.add_bos, identity.dtype) == (0, 1, True, "uint16")
    assert tokenizer.encode_document("the").tolist() == [0, *tokenizer.encode("the"), 1]


@given(st.text())
def test_round_trip(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert tokenizer.decode(ids) == clean
    assert tokenizer.decode_bytes(ids) == clean.encode()


def test_special_tokens_are_never_injected(tokenizer: Tokenizer) -> None:
    assert not {0, 1} & set(tokenizer.encode("a</s>b<s>"))
    assert tokenizer.decode([1]) == "</s>"
    with pytest.raises(ArtefactError, match="no such id"):
        tokenizer.decode([9999])


def test_without_a_config_eos_is_the_one_known_name(tmp_path: Path) -> None:
    found = load_tokenizer(str(train(tmp_path / "plain"))).identity
    assert (found.bos_id, found.eos_id, found.add_bos) == (None, 1, False)
    with pytest.raises(SpecError, match="no EOS is known"):
        load_tokenizer(str(train(tmp_path / "none", ("<pad>",))))


def test_a_foreign_json_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(InputError, match=r"not a tokenizer\.json"):
        load_tokenizer(str(tmp_path / "x.json"))
