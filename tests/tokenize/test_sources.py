from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, InputError, UserError
from tootsie.tokenize.sources import RecordReader, find_corpora, parse_record

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
    (corpus,) = find_corpora([str(tmp_path / "x" / "*")], "mine")
    assert corpus.source.source == "mine"
    assert [file.path for file in corpus.source.files] == ["a.jsonl", "b.jsonl.gz", "c.jsonl.zst"]
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
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="not a document file by its name"):
        find_corpora([str(tmp_path / "a.parquet")])
    with pytest.raises(InputError, match="no such file"):
        find_corpora([str(tmp_path / "none.jsonl")])
    with pytest.raises(UserError, match="nothing to read"):
        find_corpora([])


def test_a_file_that_shrank_meanwhile_is_an_error(tmp_path: Path, make_jsonl: Callable[..., str]) -> None:
    path = make_jsonl(tmp_path / "a.jsonl", RECORDS)
    with pytest.raises(InputError, match="the file ends after 5 of 6 documents"):
        list(RecordReader().read(path, 2, 6))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": "a"}', r"f.jsonl: record 7, text: the record is not a document: field required"),
        (b'{"id": "a", "text": null}', r"record 7, text: .*valid string"),
        (b'{"id": 5, "text": "x"}', r"record 7, id: .*valid string \(found '5'\)"),
        (b'{"id": "", "text": "x"}', r"record 7, id"),
        (b'{"text": "x"}', r"record 7, id: .*field required"),
        (b"not json", r"record 7: .*invalid JSON"),
        (b'["a"]', r"record 7: the record is not a document"),
        (b'{"id": "a", "text": "\xff"}', r"record 7: .*JSON"),
        (b'{"id": "a", "text": "\\ud800"', r"record 7: .*JSON"),
        (b'{"id": "\\ud800", "text": 5}', r"record 7"),
        (b'{"id": "a", "text": "x", "m": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", r"record 7: .*JSON"),
        (
            b'{"id": "a", "text": "\\ud800", "m": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            r"record 7: .*JSON",
        ),
    ],
)
def test_records_that_are_no_documents(line: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_record(line, "f.jsonl", 7)


def test_lone_surrogates_are_replaced_and_counted() -> None:
    record = parse_record(b'{"id": "a\\udc00", "text": "x\\ud800y\\ud83d\\ude42\\udfff"}', "f", 0)
    assert (record.id, record.text, record.surrogates) == ("a\ufffd", "x\ufffdy🙂\ufffd", 3)
    assert parse_record(b'{"id": "a", "text": "\\ud83d\\ude42"}', "f", 0).surrogates == 0
    other = parse_record(b'{"id": "a", "text": "x", "metadata": {"title": "\\ud800"}}', "f", 0)
    assert (other.text, other.surrogates) == ("x", 0)


def test_a_reader_goes_on_where_it_stopped(
    tmp_path: Path, make_jsonl: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_jsonl(tmp_path / "a.jsonl", RECORDS)
    opened = []
    original = storage.read_lines
    monkeypatch.setattr(storage, "read_lines", lambda url: opened.append(url) or original(url))
    reader = RecordReader()
    for first, stop in ((0, 2), (2, 3), (4, 5), (1, 2)):
        expected = [f"text {n}" for n in range(first, stop)]
        assert [record.text for record in reader.read(path, first, stop)] == expected
    assert len(opened) == 2
