from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.tokenize.tokenizers import load_tokenizer, tokenizer_of


def test_llama3_ids_are_the_golden_ones(shared_data: Path) -> None:
    pytest.importorskip("llama_models", exc_type=ImportError)
    tokenizer = load_tokenizer("llama3")
    golden = json.loads((shared_data / "tokenizers" / "llama3_golden_ids_a.json").read_text())
    assert [tokenizer.encode(item["text"]) for item in golden] == [item["ids"] for item in golden]
    identity = tokenizer.identity
    assert (identity.vocabulary_size, identity.bos_id, identity.eos_id) == (128_256, 128_000, 128_001)
    assert (identity.dtype, identity.add_bos, identity.add_eos) == ("uint32", True, True)
    assert identity.golden_ids[0] == 128_000


@pytest.mark.parametrize("name", ["tootsie-16k", "llama3"])
def test_ids_are_tiktokens_on_every_corpus(shared_data: Path, name: str) -> None:
    if name == "llama3":
        pytest.importorskip("llama_models", exc_type=ImportError)
    tokenizer = load_tokenizer(name)
    for path in sorted((shared_data / "corpora").glob("*.jsonl")):
        texts = [json.loads(line)["text"] for line in path.read_text().splitlines()[:60]]
        assert tokenizer.encode_batch(texts) == tokenizer._encoding.encode_ordinary_batch(texts), path.name  # type: ignore[attr-defined]
        assert [tokenizer.decode(ids) for ids in tokenizer.encode_batch(texts[:10])] == texts[:10]


def test_the_embedded_vocabulary_never_changes_unnoticed() -> None:
    identity = load_tokenizer("tootsie-16k").identity
    # A new fingerprint makes every cache of this tokenizer foreign: change the vocabulary only under a new name.
    assert identity.fingerprint == "0c2271e1d0d974ada6a0b692aa4dc5fa86310d8c0cf183b64ae33741e2e1d109"
    assert (identity.vocabulary_size, identity.dtype, identity.eos_id, identity.bos_id) == (
        16_384,
        "uint16",
        16_383,
        None,
    )


def test_the_path_is_no_part_of_the_identity(tmp_path: Path) -> None:
    pytest.importorskip("llama_models", exc_type=ImportError)
    import importlib.util

    package = importlib.util.find_spec("llama_models")
    assert package is not None
    assert package.submodule_search_locations is not None
    model = Path(next(iter(package.submodule_search_locations))) / "llama3" / "tokenizer.model"
    (tmp_path / "copy.model").write_bytes(model.read_bytes())
    assert load_tokenizer(f"llama3:{tmp_path / 'copy.model'}").identity == load_tokenizer("llama3").identity
    (tmp_path / "cut.model").write_bytes(model.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"cut.model"):
        load_tokenizer(f"llama3:{tmp_path / 'cut.model'}")
    swapped = model.read_bytes().replace(b" 100000\n", b" -\n").replace(b" 100001\n", b" 100000\n")
    (tmp_path / "swapped.model").write_bytes(swapped.replace(b" -\n", b" 100001\n"))
    with pytest.raises(InputError, match=r"swapped.model: sha256: not the ranks of Llama 3, though as many"):
        load_tokenizer(f"llama3:{tmp_path / 'swapped.model'}")


def test_loading_llama3_imports_nothing_of_the_package() -> None:
    pytest.importorskip("llama_models", exc_type=ImportError)
    code = (
        "import sys; from tootsie.tokenize.tokenizers import load_tokenizer; load_tokenizer('llama3');"
        "assert not {'torch', 'llama_models.llama3', 'apache_beam', 'jax'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(
        SpecError, match=r"tokenizer: no such tokenizer \(found 'lama3'\). Did you mean llama3\?"
    ):
        load_tokenizer("lama3")
    with pytest.raises(SpecError, match=r"Use tootsie-16k, llama3, a path to a tokenizer\.json"):
        load_tokenizer("zzzz")


def test_tiktoken_never_asks_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(
        SpecError,
        match=r"not on this machine.*Fetch https://.*cl100k_base:/path/to/file; or set TIKTOKEN_CACHE_DIR",
    ):
        load_tokenizer("cl100k_base")
    (tmp_path / "wrong").write_bytes(b"YQ== 0\n")
    with pytest.raises(InputError, match="not the ranks of cl100k_base"):
        load_tokenizer(f"cl100k_base:{tmp_path / 'wrong'}")
    with pytest.raises(InputError, match="no such file"):
        load_tokenizer(f"cl100k_base:{tmp_path / 'none'}")


def test_the_policy_on_bos_and_eos_can_be_chosen_where_the_vocabulary_allows() -> None:
    with pytest.raises(SpecError, match="no BOS"):
        load_tokenizer("tootsie-16k", add_bos=True)
    assert load_tokenizer("tootsie-16k", add_eos=False).encode_document("a").tolist() == load_tokenizer(
        "tootsie-16k"
    ).encode("a")


def test_the_tokenizer_of_an_artefact() -> None:
    identity = load_tokenizer("tootsie-16k").identity
    assert tokenizer_of(identity, file="cache").identity == identity
    with pytest.raises(ArtefactError, match="another tokenizer"):
        tokenizer_of(identity.model_copy(update={"fingerprint": "0" * 64}), file="cache")
    other = identity.model_copy(
        update={"name": "llama3", "bos_id": 1, "add_bos": True, "fingerprint": "0" * 64}
    )
    with pytest.raises(
        ArtefactError, match=r"made by another tokenizer \(llama3, the one at hand is tootsie-16k\)"
    ):
        tokenizer_of(other, file="cache", name="tootsie-16k")


def test_special_tokens_can_be_spelled_only_under_another_name() -> None:
    plain, special = load_tokenizer("tootsie-16k"), load_tokenizer("tootsie-16k+special")
    text = "a<|end_of_text|>b\ud800<|reserved_0|><|end_of"
    eos, reserved = plain.specials["<|end_of_text|>"], plain.specials["<|reserved_0|>"]
    assert not {eos, reserved} & set(plain.encode(text))
    first, second = plain.encode("a"), plain.encode("b\ufffd")
    assert special.encode(text) == [*first, eos, *second, reserved, *plain.encode("<|end_of")]
    assert special._encode_by_piece(text.replace("\ud800", "\ufffd")).tolist() == special.encode(text)  # type: ignore[attr-defined]
    long = " " * 300_000 + "<|end_of_text|>x"
    assert special.decode(special.encode(long)) == long
    assert eos in special.encode(long)
    assert special.identity.name == "tootsie-16k+special"
    assert special.identity.fingerprint != plain.identity.fingerprint
    assert tokenizer_of(special.identity, file="f").identity == special.identity
    with pytest.raises(ArtefactError, match="made by another tokenizer"):
        tokenizer_of(special.identity, file="f", name="tootsie-16k")
    assert plain.encode("<|end_of_text|>") != [eos]
