from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError
from tootsie.tokenize import document_files
from tootsie.tokenize.document_files import DocumentFile, RecordReader, parse_record, survey

RECORDS = [{"id": f"r{n}", "text": f"text {n}", "extra": [n]} for n in range(5)]


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
    original = storage.open_decompressed
    monkeypatch.setattr(storage, "open_decompressed", lambda url: opened.append(url) or original(url))
    reader = RecordReader()
    for first, stop in ((0, 2), (2, 3), (4, 5), (1, 2)):
        expected = [f"text {n}" for n in range(first, stop)]
        assert [record.text for record in reader.read(path, first, stop)] == expected
    assert len(opened) == 2


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["", "\r", " ", "\t\r", '{"id":"0","text":"spaced"} ', ' {"id":"1","text":"x"}']),
            st.text(max_size=9).map(lambda text: json.dumps({"id": "2", "text": text})),
        ),
        max_size=12,
    ),
    st.booleans(),
    st.integers(1, 40),
    st.integers(0, 12),
)
@example(['{"id":"a","text":"x"}', "", '{"id":"b","text":"y"}'], False, 30, 1)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_of_any_size_give_the_lines_of_the_file(
    tmp_path: Path, lines: list[str], ended: bool, block: int, first: int
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(("\n".join(lines) + "\n" * ended).encode())
    expected = list(storage.read_lines(str(path)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_files, "BLOCK_BYTES", block)
        file = survey(str(path))
        assert file == DocumentFile(str(path), len(expected), sum(map(len, expected)))
        read = list(RecordReader().read(str(path), min(first, file.documents), file.documents))
    assert read == [parse_record(line, "", 0) for line in expected[first:]]


def test_a_line_without_end_is_refused_before_memory_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(document_files, "BLOCK_BYTES", 100)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": "a", "text": "x"}\n' + b"y" * 5000)
    with pytest.raises(InputError, match=r"a.jsonl:2: the line is longer than 1,000 bytes"):
        survey(str(path))


def test_parquet_without_the_columns_is_refused_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "body": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"the file has no column text \(found 'id, body'\)"):
        survey(str(tmp_path / "a.parquet"))
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"b.parquet: the file is truncated or damaged"):
        survey(str(tmp_path / "b.parquet"))
    pq.write_table(pa.table({"id": ["a", None], "text": ["x", "y"]}), tmp_path / "c.parquet")
    with pytest.raises(InputError, match=r"c.parquet: record 1, id: .*Each row must have the string columns"):
        list(RecordReader().read(str(tmp_path / "c.parquet"), 0, 2))


URLS = [
    ({"metadata": {"url": "https://example.org/a"}}, "https://example.org/a"),
    ({"metadata": {"url": "https://example.org/a"}, "url": "other"}, "https://example.org/a"),
    ({"metadata": {"url": None}, "url": "https://example.org/b"}, "https://example.org/b"),
    ({"url": "https://example.org/c", "metadata": "none"}, "https://example.org/c"),
    ({"metadata": {"url": 7}}, None),
    ({"metadata": [1], "url": ["x"]}, None),
    ({"metadata": {"url": "u" * 8193}}, None),
    ({"metadata": {"url": ""}}, None),
    ({}, None),
]


@pytest.mark.parametrize(("fields", "url"), URLS)
def test_the_url_of_a_record(fields: dict[str, Any], url: str | None) -> None:
    """Where it stands in Dolma's metadata, or beside the text; what is no URL is left out, and no document for it."""
    line = json.dumps({"id": "a", "text": "x", **fields}).encode()
    assert parse_record(line, "f", 0).url == url
    spelt = line.replace(b'"x"', b'"\\ud800"')
    assert parse_record(spelt, "f", 0).url == url


def test_the_url_of_a_parquet_row(tmp_path: Path) -> None:
    columns = {"id": ["a", "b"], "text": ["x", "y"]}
    pq.write_table(pa.table({**columns, "url": ["u", None]}), tmp_path / "a.parquet")
    pq.write_table(
        pa.table({**columns, "metadata": [{"url": "v", "title": "t"}, {"url": None, "title": "t"}]}),
        tmp_path / "b.parquet",
    )
    found = [
        [record.url for record in RecordReader().read(str(tmp_path / name), 0, 2)]
        for name in ("a.parquet", "b.parquet")
    ]
    assert found == [["u", None], ["v", None]]
