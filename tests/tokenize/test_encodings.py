from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.tokenize import encodings


def test_a_damaged_embedded_vocabulary_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for suffix in ("json", "tiktoken"):
        shutil.copy(encodings.VOCABULARIES / f"tootsie-16k.{suffix}", tmp_path)
    monkeypatch.setattr(encodings, "VOCABULARIES", tmp_path)
    encodings.tootsie_16k(None, None)
    with (tmp_path / "tootsie-16k.tiktoken").open("ab") as stream:
        stream.write(b"\n")
    with pytest.raises(ArtefactError, match="the embedded vocabulary is damaged"):
        encodings.tootsie_16k(None, None)


def test_specials_take_the_last_ids() -> None:
    tokenizer = encodings.tootsie_16k(None, None)
    assert sorted(tokenizer.specials.values()) == list(range(16_376, 16_384))
    assert tokenizer.specials["<|end_of_text|>"] == 16_383


def test_llama3_without_its_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SpecError, match=r"pip install \"tootsie\[llama3\]\", or name the file: llama3:/path"):
        encodings.llama3(None, None, None)


def test_another_vocabulary_is_not_llama3() -> None:
    with pytest.raises(InputError, match=r"Llama 3 has 128,000 ranks \(found 16376\)"):
        encodings.llama3(str(encodings.VOCABULARIES / "tootsie-16k.tiktoken"), None, None)


def test_tiktokens_loader_is_left_as_it_was() -> None:
    import tiktoken.load

    before = tiktoken.load.read_file
    with pytest.raises(InputError):
        encodings.tiktoken_encoding("gpt2", str(encodings.VOCABULARIES / "tootsie-16k.tiktoken"), None, None)
    assert tiktoken.load.read_file is before


def test_the_small_vocabulary_is_the_beginning_of_the_large_one() -> None:
    small, large = encodings.embedded("tootsie-4k", None, None), encodings.tootsie_16k(None, None)
    assert (small.identity.vocabulary_size, large.identity.vocabulary_size) == (4096, 16_384)
    assert (small.identity.eos_id, small.identity.add_eos, small.identity.bos_id) == (4095, True, None)
    text = "Every vector space has a basis; naïveté, 42 × 🙂\n\n```python\nprint(1)\n```"
    ids = small.encode(text)
    assert small.decode(ids) == text
    assert max(ids) < 4088
    assert [large.decode([number]) for number in ids] == [small.decode([number]) for number in ids]
    assert len(ids) > len(large.encode(text))
