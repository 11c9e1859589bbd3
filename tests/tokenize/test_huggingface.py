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


def test_special_tokens_can_be_spelled_only_under_another_name(tmp_path: Path) -> None:
    path = train(tmp_path / "spelled", ("<|endoftext|>",))
    plain, special = load_tokenizer(str(path)), load_tokenizer(f"{path}+special")
    assert special.identity.name == "huggingface:spelled+special"
    assert special.encode("a<|endoftext|>") == [*plain.encode("a"), 0]
    assert 0 not in plain.encode("a<|endoftext|>")
    assert special.identity.fingerprint != plain.identity.fingerprint


def test_without_a_config_eos_is_the_one_known_name(tmp_path: Path) -> None:
    found = load_tokenizer(str(train(tmp_path / "plain"))).identity
    assert (found.bos_id, found.eos_id, found.add_bos) == (None, 1, False)
    with pytest.raises(SpecError, match="no EOS is known"):
        load_tokenizer(str(train(tmp_path / "none", ("<pad>",))))


def test_a_foreign_json_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(InputError, match=r"not a tokenizer\.json"):
        load_tokenizer(str(tmp_path / "x.json"))


def save(folder: Path, model: dict[str, object]) -> str:
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0", "model": model}))
    (folder / "tokenizer_config.json").write_text('{"eos_token": "</s>"}')
    return str(folder / "tokenizer.json")


def test_a_vocabulary_that_drops_characters_without_a_trace_is_refused(tmp_path: Path) -> None:
    vocabulary = {"a": 0, "</s>": 1, "[UNK]": 2}
    path = save(tmp_path / "lossy", {"type": "BPE", "vocab": vocabulary, "merges": []})
    with pytest.raises(
        InputError, match=r"lossy/tokenizer\.json: the vocabulary leaves out characters .*\(found '0123"
    ):
        load_tokenizer(path)
    path = save(
        tmp_path / "unknown", {"type": "BPE", "vocab": vocabulary, "merges": [], "unk_token": "[UNK]"}
    )
    assert load_tokenizer(path).encode("ab") == [0, 2]
    model = {
        "type": "WordPiece",
        "vocab": vocabulary,
        "unk_token": "<none>",
        "continuing_subword_prefix": "##",
    }
    path = save(tmp_path / "failing", {**model, "max_input_chars_per_word": 100})
    with pytest.raises(InputError, match="it cannot encode every text"):
        load_tokenizer(path)


def test_a_damaged_config_is_named(tmp_path: Path) -> None:
    path = save(
        tmp_path / "deep", {"type": "BPE", "vocab": {"a": 0, "</s>": 1}, "merges": [], "unk_token": "a"}
    )
    (tmp_path / "deep" / "tokenizer_config.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"tokenizer_config\.json: not JSON \(found 'nested too deep'\)"):
        load_tokenizer(path)
