from __future__ import annotations

import concurrent.futures
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tootsie.datasets.errors import SpecError
from tootsie.tokenize import engine_proof, fast_engine
from tootsie.tokenize.byte_pair import BytePairTokenizer
from tootsie.tokenize.character_classes import probing_ranks
from tootsie.tokenize.fast_engine import SPELLINGS, GigatokenTokenizer
from tootsie.tokenize.rank_merges import tokenizer_json
from tootsie.tokenize.tokenizers import load_tokenizer

WHITE_SPACE = (
    "\t\n\v\f\r \x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2003\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
)
ANY_TEXT = st.text(st.characters(exclude_categories=[]))
PIECES = st.lists(
    st.one_of(
        ANY_TEXT,
        st.text(WHITE_SPACE),
        st.text("'sSſtTmMdDreREveVElLK\u212aß"),
        st.text("0123456789٣²½Ⅷ４"),
        st.sampled_from(
            ["<|end_of_text|>", "\U000323b0'll", "a" * 60, "123456", "é\u0301", "👩‍🔬", "\ud800"]
        ),
    )
).map("".join)


@pytest.fixture(scope="module")
def reference(llama3: BytePairTokenizer) -> BytePairTokenizer:
    return llama3


@pytest.fixture(scope="module")
def fast(reference: BytePairTokenizer) -> GigatokenTokenizer:
    return GigatokenTokenizer(reference, engine_proof._differing(reference.pattern))


@given(PIECES)
@settings(max_examples=300)
@example("")
@example("<|end_of_text|><|begin_of_text|>")
@example("\ud83d\ude42\ud800")
def test_ids_are_tiktokens_and_come_back(
    fast: GigatokenTokenizer, reference: BytePairTokenizer, text: str
) -> None:
    ids = fast.encode(text)
    assert ids == reference.encode(text)
    assert fast.decode(ids) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert fast.encode_document(text).tolist() == reference.encode_document(text).tolist()


@given(st.lists(PIECES, max_size=8))
def test_a_batch_gives_each_document_its_ids(
    fast: GigatokenTokenizer, reference: BytePairTokenizer, texts: list[str]
) -> None:
    found = [ids.tolist() for ids in fast.encode_documents(texts)]
    assert found == [reference.encode_document(text).tolist() for text in texts]


@pytest.mark.parametrize(
    "unit", ["a", " ", "\n", "-", "\u3000", "é", "\t ", "字", "ab", "1", "\U0001f600", "\0"]
)
def test_a_megabyte_of_one_character(
    fast: GigatokenTokenizer, reference: BytePairTokenizer, unit: str
) -> None:
    text = unit * (1_000_000 // len(unit.encode())) + "x"
    ids = fast.encode_array(text)
    assert ids.dtype == np.uint32
    assert fast.decode_bytes(ids.tolist()) == text.encode()
    part = unit * 20_000
    assert fast.encode(part) == reference.encode(part)


def test_golden_ids_and_every_document_of_the_corpora(
    fast: GigatokenTokenizer, reference: BytePairTokenizer, shared_data: Path
) -> None:
    golden = json.loads((shared_data / "tokenizers" / "llama3_golden_ids_a.json").read_text())
    assert [fast.encode(item["text"]) for item in golden] == [item["ids"] for item in golden]
    for path in sorted((shared_data / "corpora").glob("*.jsonl")):
        texts = [json.loads(line)["text"] for line in path.read_text().splitlines()]
        for text, ids in zip(texts, fast.encode_documents(texts), strict=True):
            assert np.array_equal(ids, reference.encode_document(text)), (path.name, text[:80])


def test_pages_of_many_languages(
    fast: GigatokenTokenizer, reference: BytePairTokenizer, shared_data: Path
) -> None:
    """The markup of whole pages: scripts of all kinds, long lines, runs of white space, entities."""
    kinds = ("*.html", "*.htm", "*.xml", "*.tex", "*.md", "*.json", "*.txt")
    paths = sorted(path for kind in kinds for path in shared_data.rglob(kind) if path.is_file())
    assert len(paths) > 50
    for path in paths:
        text = path.read_bytes()[: 2**19].decode("utf-8", "replace")
        assert np.array_equal(fast.encode_array(text), reference.encode_array(text)), path


def test_characters_of_a_newer_unicode_are_left_to_the_reference(
    fast: GigatokenTokenizer, reference: BytePairTokenizer
) -> None:
    """gigatoken 0.10 takes U+323B0 (Unicode 17) for a letter, tiktoken 0.14 for nothing; both are right by their tables."""
    text = "\U000323b0'll"
    alone = fast._engine.encode(text).tolist()
    assert fast.encode(text) == reference.encode(text)
    inside = any(first <= 0x323B0 <= last for first, last in fast.differing)
    assert inside == (alone != reference.encode(text))


def test_what_the_engine_refuses_the_reference_encodes(
    fast: GigatokenTokenizer, reference: BytePairTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):
        """What Rust's panics arrive as."""

    class Broken:
        def encode_batch(self, *_: object, **__: object) -> Any:
            raise PanicException("index out of bounds")

    loaded = []
    monkeypatch.setattr(fast, "_engine", Broken())
    monkeypatch.setattr(fast_engine, "load", lambda content: loaded.append(content) or Broken())
    assert fast.encode("any text") == reference.encode("any text")
    assert len(loaded) == 1

    class Interrupted(Broken):
        def encode_batch(self, *_: object, **__: object) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setattr(fast, "_engine", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        fast.encode("any text")


def test_the_engine_is_loaded_anew_when_it_remembers_too_much(
    fast: GigatokenTokenizer, reference: BytePairTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []
    original: Callable[[str], Any] = fast_engine.load
    monkeypatch.setattr(fast_engine, "load", lambda content: loads.append(content) or original(content))
    monkeypatch.setattr(fast_engine, "LOOK_BYTES", 1000)
    monkeypatch.setattr(fast_engine, "_resident_bytes", lambda: 1)
    fast._load()
    loads.clear()
    for memory, expected in ((1, 0), (2**28, 0), (2**30, 1), (2**30, 1)):
        monkeypatch.setattr(fast_engine, "_resident_bytes", lambda memory=memory: memory)
        assert fast.encode("text " * 300) == reference.encode("text " * 300)
        assert len(loads) == expected
    monkeypatch.setattr(fast_engine, "_resident_bytes", lambda: 0)
    monkeypatch.setattr(fast_engine, "BLIND_BYTES", 2000)
    fast._load()
    loads.clear()
    for expected in (0, 1, 1, 2):
        fast.encode("text " * 300)
        assert len(loads) == expected


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_tiktokens_patterns_are_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gigatoken")
    pattern = published_pattern(name, monkeypatch)
    fast_engine.load(tokenizer_json(probing_ranks(), SPELLINGS.get(pattern, pattern)))


@pytest.mark.parametrize("fast_spelling", SPELLINGS)
@given(
    text=st.text(
        st.one_of(st.sampled_from("'sStTdmlLveVrE aA1\u0663\r\n \t\u3000é.-\u0301"), st.characters())
    )
)
@settings(max_examples=400)
def test_both_spellings_of_a_pattern_split_alike(fast_spelling: str, text: str) -> None:
    assert split(fast_spelling)(text) == split(SPELLINGS[fast_spelling])(text)


@functools.cache
def split(pattern: str) -> Callable[[str], list[int]]:
    made = tiktoken.Encoding("t", pat_str=pattern, mergeable_ranks=probing_ranks(), special_tokens={})
    return made.encode_ordinary


def published_pattern(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    import tiktoken_ext.openai_public as published

    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda *_, **__: {})
    monkeypatch.setattr(published, "data_gym_to_mergeable_bpe_ranks", lambda *_, **__: {})
    return published.ENCODING_CONSTRUCTORS[name]()["pat_str"]


def test_threads_share_one_engine(
    fast: GigatokenTokenizer, reference: BytePairTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{number} some words été 数 " * 200 for number in range(64)]
    monkeypatch.setattr(fast_engine, "load", lambda content: pytest.fail("the engine refused"))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(fast.encode, texts))
    assert found == [reference.encode(text) for text in texts]


def test_what_cannot_be_loaded_is_a_clear_error(
    reference: BytePairTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = load_tokenizer("tootsie-16k")
    assert isinstance(small, BytePairTokenizer)
    with pytest.raises(
        SpecError, match=r"--engine: the engine cannot do what this tokenizer does .*pre_tokenizer"
    ):
        GigatokenTokenizer(small, ())
    monkeypatch.setattr(fast_engine, "PACKAGE", "not-installed-anywhere")
    with pytest.raises(SpecError, match=r"the engine is not installed .*tootsie\[fast\]"):
        GigatokenTokenizer(reference, ())
