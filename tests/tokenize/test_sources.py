from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, InputError, UserError
from tootsie.tokenize.document_files import RecordReader
from tootsie.tokenize.sources import find_corpora, paths_within, sample

RECORDS = [{"id": f"r{n}", "text": f"text {n}", "extra": [n]} for n in range(5)]


def test_a_finished_corpus_is_checked(tmp_path: Path, make_corpus: Callable[..., str]) -> None:
    folder = make_corpus(tmp_path / "c", ["a", "b", "c"])
    (corpus,) = find_corpora([folder])
    assert corpus.source.source == "toy"
    assert corpus.source.manifest_sha256 == storage.sha256(f"{folder}/_manifest.json")
    assert [file.documents for file in corpus.files] == [1, 2]
    part = Path(corpus.files[1].url)
    content = part.read_bytes()
    part.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ArtefactError, match=r"part-00001.*the checksum differs"):
        find_corpora([folder])
    part.write_bytes(content[:-3])
    with pytest.raises(ArtefactError, match=r"part-00001.*the manifest says"):
        find_corpora([folder])
    (Path(folder) / "_manifest.json").unlink()
    with pytest.raises(
        ArtefactError,
        match=r"no manifest, so this is not a finished corpus.*name document files: .*\*\.jsonl\.zst",
    ):
        find_corpora([folder])


def test_loose_files_of_every_compression(tmp_path: Path, make_jsonl: Callable[..., str]) -> None:
    plain = Path(make_jsonl(tmp_path / "x" / "a.jsonl", RECORDS))
    (tmp_path / "x" / "b.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    with storage.atomic_zstd(str(tmp_path / "x" / "c.jsonl.zst")) as stream:
        stream.write(plain.read_bytes())
    (tmp_path / "x" / "d.jsonl.bz2").write_bytes(bz2.compress(plain.read_bytes()))
    (tmp_path / "x" / "e.ndjson.xz").write_bytes(lzma.compress(plain.read_bytes()))
    table = pa.table(
        {"extra": [[1]] * 5, "text": [r["text"] for r in RECORDS], "id": [r["id"] for r in RECORDS]}
    )
    pq.write_table(table, tmp_path / "x" / "f.parquet", row_group_size=2)
    (corpus,) = find_corpora([str(tmp_path / "x" / "*")], "mine")
    assert corpus.source.source == "mine"
    assert [file.path for file in corpus.source.files] == [
        "a.jsonl",
        "b.jsonl.gz",
        "c.jsonl.zst",
        "d.jsonl.bz2",
        "e.ndjson.xz",
        "f.parquet",
    ]
    assert {file.documents for file in corpus.files} == {5}
    for file in corpus.files:
        assert [record.text for record in RecordReader().read(file.url, 1, 4)] == [
            "text 1",
            "text 2",
            "text 3",
        ]
    assert find_corpora([str(tmp_path / "x" / "{a,a}.jsonl")])[0].source.files[0].documents == 5


def test_a_cut_zst_is_an_error_naming_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.zst"
    with storage.atomic_zstd(str(path)) as stream:
        stream.write(
            b"".join(json.dumps({"id": str(n), "text": "x" * n}).encode() + b"\n" for n in range(2000))
        )
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"cut.jsonl.zst: the compressed file is truncated or damaged"):
        find_corpora([str(path)])


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b")
    with pytest.raises(InputError, match="not a document file by its name"):
        find_corpora([str(tmp_path / "a.csv")])
    with pytest.raises(InputError, match="no such file"):
        find_corpora([str(tmp_path / "none.jsonl")])
    with pytest.raises(UserError, match="nothing to read"):
        find_corpora([])


def test_a_sample_is_spread_over_the_files(tmp_path: Path, make_jsonl: Callable[..., str]) -> None:
    urls = [
        make_jsonl(
            tmp_path / f"{name:02d}.jsonl", [{"id": f"{name}-{row}", "text": "é"} for row in range(name)]
        )
        for name in range(40)
    ]
    long = make_jsonl(tmp_path / "long.jsonl", [{"id": "long", "text": "é" * 2**19}])
    (corpus,) = find_corpora([*urls, long])
    taken = list(sample(corpus.files))
    assert len({url for url, _ in taken}) == 14
    assert {len(record.text) for _, record in taken} == {1, 2**18}
    assert [record.id for url, record in taken if url == urls[37]] == [f"37-{row}" for row in range(32)]


def test_single_files_are_named_from_the_folder_that_holds_them_all() -> None:
    assert paths_within(["/d/x.jsonl"]) == ["x.jsonl"]
    assert paths_within(["/d/a/x.jsonl", "/d/b/x.jsonl"]) == ["a/x.jsonl", "b/x.jsonl"]
    assert paths_within(["gs://b/a/x.jsonl", "gs://b/a/y.jsonl"]) == ["x.jsonl", "y.jsonl"]
    assert paths_within(["/d/ab/x.jsonl", "/d/ac/x.jsonl"]) == ["ab/x.jsonl", "ac/x.jsonl"]
    assert len(set(paths_within(["/d/x.jsonl", "gs://b/x.jsonl"]))) == 2


def test_a_damaged_copy_is_refused_before_it_is_tokenized(tmp_path: Path) -> None:
    """The list of ``tootsie data fetch`` lies above its files: a copy cut at a line looks whole without it."""
    part = tmp_path / "copy" / "shard" / "a.jsonl"
    part.parent.mkdir(parents=True)
    part.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    (corpus,) = find_corpora([str(part)])
    assert not corpus.source.listed
    assert "listed" not in corpus.source.model_dump()
    entry = {"path": "shard/a.jsonl", "sha256": storage.sha256(str(part))}
    (tmp_path / "copy" / "_fetched.jsonl").write_text(json.dumps(entry))
    (corpus,) = find_corpora([str(part)])
    assert corpus.source.listed
    part.write_text(part.read_text().partition("\n")[0] + "\n")
    with pytest.raises(ArtefactError, match="not the file that its list knows"):
        find_corpora([str(part)])
