"""Makers of small corpora and caches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tootsie.datasets import manifest, storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.document import Document
from tootsie.tokenize import derived_files
from tootsie.tokenize.byte_pair import BytePairTokenizer
from tootsie.tokenize.identity import TokenizerIdentity
from tootsie.tokenize.ledger import EngineInfo, Ledger, save_ledger
from tootsie.tokenize.shard_writer import shard_path, write_shard
from tootsie.tokenize.tokenizers import load_tokenizer
from tootsie.tokenize.verification import histogram


@pytest.fixture(scope="session", autouse=True)
def derived_files_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing that a test finds out of a changed engine stays behind in the user's cache folder, or comes from there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(derived_files.FOLDER_VARIABLE, str(tmp_path_factory.mktemp("derived")))
        yield


@pytest.fixture(scope="session")
def llama3() -> BytePairTokenizer:
    """Llama 3's tokenizer, for tests of the fast engine; they skip where either package is missing."""
    pytest.importorskip("llama_models", exc_type=ImportError)
    pytest.importorskip("gigatoken")
    loaded = load_tokenizer("llama3")
    assert isinstance(loaded, BytePairTokenizer)
    return loaded


Row = tuple[str, Sequence[int], int, Sequence[tuple[int, int]] | None]


def toy_identity(vocabulary_size: int = 100, *, add_bos: bool = False) -> TokenizerIdentity:
    return TokenizerIdentity(
        name="toy",
        fingerprint="ab" * 32,
        vocabulary_size=vocabulary_size,
        dtype="uint16" if vocabulary_size <= 65_536 else "uint32",
        bos_id=1,
        eos_id=0,
        add_bos=add_bos,
        add_eos=True,
        golden_ids=(1, 2, 0),
    )


def write_cache(
    folder: str,
    shards: Sequence[Sequence[Row]],
    identity: TokenizerIdentity | None = None,
    *,
    loss_spans: bool = False,
) -> str:
    """Write a cache of ``(document_id, ids, byte_length, loss_spans)`` rows, shard by shard."""
    identity = identity or toy_identity()
    entries = []
    first: Counter[int] = Counter()
    last: Counter[int] = Counter()
    for number, rows in enumerate(shards):
        with write_shard(folder, shard_path(number, len(shards)), identity, loss_spans=loss_spans) as shard:
            for name, ids, length, spans in rows:
                shard.writer.append(name, np.asarray(ids, np.uint32), length, spans)
        assert shard.entry is not None
        entries.append(shard.entry)
        first.update(shard.writer.first_tokens)
        last.update(shard.writer.last_tokens)
    documents = sum(entry.documents for entry in entries)
    ledger = Ledger(
        name="toy",
        tokenizer=identity,
        engine=EngineInfo(name="none", version="0"),
        sources=(),
        settings={},
        code_version="test",
        shards=tuple(entries),
        documents=documents,
        tokens=sum(entry.tokens for entry in entries),
        bytes=sum(entry.bytes for entry in entries),
        accounting=Accounting(read=documents, written=documents),
        first_tokens=histogram(first),
        last_tokens=histogram(last),
    )
    save_ledger(folder, ledger)
    return folder


def write_corpus(folder: Path, texts: Iterable[str], *, source: str = "toy", files: int = 2) -> str:
    """Write a finished corpus with a manifest."""
    listed = list(texts)
    entries = []
    for number in range(files):
        part = listed[number * len(listed) // files : (number + 1) * len(listed) // files]
        name = f"part-{number:05d}-of-{files:05d}.jsonl.zst"
        url = str(folder / name)
        with storage.atomic_zstd(url) as stream:
            for row, text in enumerate(part):
                document = Document(id=f"{source}-{number}-{row}", text=text, source=source)
                stream.write(document.to_json().encode() + b"\n")
        entries.append(
            manifest.FileEntry(
                path=name,
                documents=len(part),
                text_bytes=sum(len(text.encode()) for text in part),
                size=storage.size(url),
                sha256=storage.sha256(url),
            )
        )
    manifest.write_manifest(
        str(folder),
        manifest.Manifest(
            source=source,
            code_version="test",
            settings={},
            inputs=[],
            files=entries,
            accounting=Accounting(read=len(listed), written=len(listed)),
        ),
    )
    return str(folder)


def write_jsonl(path: Path, records: Iterable[dict[str, object]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    """Sixty short documents in two files."""
    return write_corpus(
        tmp_path / "corpus", [f"Document {n}. " + "word été 数 " * (n % 17 + 1) for n in range(60)]
    )


@pytest.fixture(scope="session")
def make_corpus() -> Callable[..., str]:
    return write_corpus


@pytest.fixture(scope="session")
def make_cache() -> Callable[..., str]:
    return write_cache


@pytest.fixture(scope="session")
def make_jsonl() -> Callable[..., str]:
    return write_jsonl


@pytest.fixture(scope="session")
def make_identity() -> Callable[..., TokenizerIdentity]:
    return toy_identity
