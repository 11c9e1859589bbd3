"""Every format gives the same records, wherever it lies and whatever holds it; what is damaged says so."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import py7zr
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError, SpecError
from tootsie.datasets.readers.reading import read_documents, read_records
from tootsie.datasets.readers.record import Limits

ROWS = [{"id": str(n), "text": f"Text {n} – ünïcode & <tags>\n" * (n + 1)} for n in range(50)]


def as_jsonl(rows: list[dict[str, str]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def as_parquet(rows: list[dict[str, str]]) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), sink, row_group_size=20)
    return sink.getvalue()


def as_arrow(rows: list[dict[str, str]], opener: Callable[..., pyarrow.ipc.RecordBatchStreamWriter]) -> bytes:
    sink = io.BytesIO()
    table = pyarrow.Table.from_pylist(rows)
    with opener(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=20)
    return sink.getvalue()


def as_xml(rows: list[dict[str, str]]) -> bytes:
    def attribute(value: str) -> str:
        for character, escape in (("&", "&amp;"), ("<", "&lt;"), ('"', "&quot;"), ("\n", "&#xA;")):
            value = value.replace(character, escape)
        return value

    lines = "".join(f'  <row id="{row["id"]}" text="{attribute(row["text"])}" />\n' for row in rows)
    return f'\ufeff<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{lines}</posts>\n'.encode()


FORMATS: dict[str, Callable[[list[dict[str, str]]], bytes]] = {
    "a.jsonl": as_jsonl,
    "lines.json": as_jsonl,
    "a.json": lambda rows: json.dumps(rows, indent=2).encode(),
    "a.parquet": as_parquet,
    "a.arrow": lambda rows: as_arrow(rows, pyarrow.ipc.new_file),
    "stream.arrow": lambda rows: as_arrow(rows, pyarrow.ipc.new_stream),
    "a.xml": as_xml,
}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def pack_tar(path: Path, files: dict[str, bytes], mode: str = "w") -> None:
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def pack_zip(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def pack_seven_zip(path: Path, files: dict[str, bytes]) -> None:
    with py7zr.SevenZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(content, name)


ARCHIVES: dict[str, Callable[[Path, dict[str, bytes]], None]] = {
    "all.tar": pack_tar,
    "all.tar.gz": lambda path, files: pack_tar(path, files, "w:gz"),
    "all.tgz": lambda path, files: pack_tar(path, files, "w:gz"),
    "all.zip": pack_zip,
    "all.7z": pack_seven_zip,
}


@pytest.mark.parametrize("packing", list(PACKINGS))
@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_in_every_compression(tmp_path: Path, name: str, packing: str) -> None:
    path = tmp_path / f"{name}{packing}"
    path.write_bytes(PACKINGS[packing](FORMATS[name](ROWS)))
    records = list(read_records(str(path)))
    assert [record.fields for record in records] == ROWS
    assert [record.number for record in records] == list(range(50))
    assert {record.source_file for record in records} == {str(path)}


@pytest.mark.parametrize("archive", list(ARCHIVES))
def test_archives_hold_every_format(tmp_path: Path, archive: str) -> None:
    files = {f"folder/{name}": make(ROWS) for name, make in FORMATS.items()}
    files["folder/packed.jsonl.zst"] = zstandard.compress(as_jsonl(ROWS))
    files["read me.txt"] = b"plain"
    files["picture"] = b"\x89PNG\xff"
    path = tmp_path / archive
    ARCHIVES[archive](path, files)
    found: dict[str, list[dict[str, object]]] = {}
    for record in read_records(str(path)):
        found.setdefault(record.source_file.removeprefix(f"{path}/"), []).append(record.fields)
    assert found.pop("read me.txt") == [{"path": "read me.txt", "text": "plain"}]
    assert found.pop("picture") == [{"path": "picture", "content": b"\x89PNG\xff"}]
    assert found == {name: ROWS for name in files if name.startswith("folder/")}


def test_archives_within_archives_are_bounded_in_depth(tmp_path: Path) -> None:
    content = as_jsonl(ROWS[:1])
    name = "a.jsonl"
    for level in range(6):
        path = tmp_path / f"level{level}.zip"
        pack_zip(path, {name: content})
        content, name = path.read_bytes(), path.name
        if level == 3:
            assert len(list(read_records(str(path)))) == 1
    with pytest.raises(InputError, match="4 deep"):
        list(read_records(str(path)))


@pytest.mark.parametrize("name", list(FORMATS))
def test_without_a_telling_name_the_content_tells(tmp_path: Path, name: str) -> None:
    path = tmp_path / "download"
    path.write_bytes(gzip.compress(FORMATS[name](ROWS)))
    assert [record.fields for record in read_records(str(path))] == ROWS


def test_other_file_systems(tmp_path: Path) -> None:
    for name, make in FORMATS.items():
        storage.write_bytes(f"memory://readers/{name}.gz", gzip.compress(make(ROWS)))
        assert [record.fields for record in read_records(f"memory://readers/{name}.gz")] == ROWS


def test_a_file_system_whose_package_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.registry import known_implementations

    monkeypatch.setitem(
        known_implementations,
        "gone",
        {"class": "no_such_package.FileSystem", "err": "Please install no_such_package"},
    )
    with pytest.raises(SpecError, match="no_such_package"):
        list(read_records("gone://bucket/a.jsonl"))


@pytest.mark.parametrize("packing", list(PACKINGS))
@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("a.jsonl", "lines.json")])
def test_every_truncation_is_an_error(tmp_path: Path, name: str, packing: str) -> None:
    whole = PACKINGS[packing](FORMATS[name](ROWS).rstrip())
    path = tmp_path / f"{name}{packing}"
    for cut in {1, 4, 9, *range(20, len(whole), max(1, len(whole) // 12)), len(whole) - 1}:
        path.write_bytes(whole[:cut])
        if name == "stream.arrow" and packing == "" and whole[:cut].endswith(b"\xff\xff\xff\xff"):
            continue  # a stream may end without its mark
        with pytest.raises(InputError, match=name):
            list(read_records(str(path)))


@pytest.mark.parametrize("archive", list(ARCHIVES))
def test_truncated_archives(tmp_path: Path, archive: str) -> None:
    path = tmp_path / archive
    ARCHIVES[archive](path, {"a.jsonl": as_jsonl(ROWS), "b.jsonl": as_jsonl(ROWS)})
    whole = path.read_bytes()
    for cut in range(1, len(whole) // 2, max(1, len(whole) // 10)):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match=archive):
            list(read_records(str(path)))


@pytest.mark.parametrize("archive", ["all.zip", "all.7z", "all.tar.gz"])
def test_a_flipped_bit_in_an_archive_never_gives_other_content(tmp_path: Path, archive: str) -> None:
    path = tmp_path / archive
    ARCHIVES[archive](path, {"a.jsonl": as_jsonl(ROWS)})
    whole = path.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 40)):
        content = bytearray(whole)
        content[position] ^= 4
        path.write_bytes(content)
        try:
            fields = [record.fields for record in read_records(str(path))]
        except InputError:
            continue
        assert fields in (ROWS, [])  # a name that became a folder's holds nothing


@pytest.mark.parametrize("pack", [pack_tar, pack_zip])
@pytest.mark.parametrize("name", ["../a.jsonl", "/etc/a.jsonl", "a/../../b.jsonl"])
def test_names_that_leave_the_archive(
    tmp_path: Path, pack: Callable[[Path, dict[str, bytes]], None], name: str
) -> None:
    path = tmp_path / ("a.tar" if pack is pack_tar else "a.zip")
    pack(path, {name: as_jsonl(ROWS)})
    with pytest.raises(InputError, match="leaves the archive"):
        list(read_records(str(path)))


def test_links_and_devices_are_never_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes(as_jsonl(ROWS))
    path = tmp_path / "links.tar"
    with tarfile.open(path, "w") as archive:
        for kind, name in (
            (tarfile.SYMTYPE, "a.jsonl"),
            (tarfile.LNKTYPE, "b.jsonl"),
            (tarfile.CHRTYPE, "c"),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, str(secret)
            archive.addfile(info)
    assert list(read_records(str(path))) == []


def test_a_tar_header_without_end_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 2**40
    path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(2**20))
    with pytest.raises(InputError, match="a header of"):
        list(read_records(str(path)))


def test_bombs(tmp_path: Path) -> None:
    bomb = tmp_path / "a.jsonl.zst"
    compressor = zstandard.ZstdCompressor().compressobj()
    blank = b" " * (2**20 - 1) + b"\n"
    bomb.write_bytes(b"".join([*(compressor.compress(blank) for _ in range(300)), compressor.flush()]))
    with pytest.raises(InputError, match="are no data"):
        list(read_records(str(bomb)))
    path = tmp_path / "b.zip"
    pack_zip(path, {f"{n}.jsonl": bytes(2**26) for n in range(5)})
    with pytest.raises(InputError, match="are no data"):
        list(read_records(str(path), Limits(ratio=100)))


def test_bombs_within_an_archive_are_counted_together(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    inner = gzip.compress((b" " * (2**20 - 1) + b"\n") * 16)
    pack_zip(path, {f"{n}.jsonl.gz": inner for n in range(20)})
    with pytest.raises(InputError, match="are no data"):
        list(read_records(str(path), Limits(ratio=100)))


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    row = json.dumps({"text": "x" * 1000}).encode()
    path = tmp_path / "a.json"
    path.write_bytes(b"[" + b",".join([row] * 20_000) + b"]")
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_records(str(path))) == 20_000
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"<!doctype html><title>404</title>", "by its name this is parquet"),
        ("a.jsonl.gz", b"<html>Too many requests", "by its name this is gzip"),
        ("a.jsonl", b"<!DOCTYPE html>", "by its name this is jsonl"),
        ("a.jsonl", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        ("a.parquet", b"", "an empty file"),
        ("a.bin", b"\0\1\2", "not known"),
        ("a.jsonl", b'{"text": "x"}\n["y"]\n', "a.jsonl:2: record 1: the record is no JSON object but an array"),
        ("a.jsonl", b'{"text": "x"}\n\n{"text": \n', "a.jsonl:3: record 1: the line is not JSON"),
        ("a.jsonl", b'{"t":' + b"[" * 100_000, "nested too deep"),
        ("a.json", b"[" * 100_000, "nested too deep"),
        ("a.json", b'[{"a": 1} {"a": 2}]', "a comma or the end of the array is missing"),
        ("a.json", b'[{"a": 1}, {"a": 2}', "the array has no end"),
        ("a.json", b'[{"a": 1}] x', "more after the end"),
        ("a.json", b'[{"a": 1}, 7]', "record 1: the record is no JSON object but a number"),
        ("a.json", b'[{"a": tru}' + b" " * 100 + b"]", "record 0: not JSON"),
        ("a.xml", b'<r><row a="&x;"/></r>', "undefined entity"),
        ("a.xml", b'<!DOCTYPE r [<!ENTITY x "xx">]><r><row a="&x;"/></r>', "declares XML entities"),
        ("a.xml", b"<r><row><deep/></row></r>", "an element within a row"),
        ("a.xml", b"<r>" + b"<row>" * 100_000, "an element within a row"),
        ("a.xml", b'<r><row a="1"/>', "no element found"),
    ],
)  # fmt: skip
def test_faults_say_what_and_where(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_records(str(tmp_path / name)))
    assert message in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", b'{"text": "' + b"x" * 300_000),
        ("a.json", b'[{"text": "' + b"x" * 3_000_000),
        ("a.xml", b'<r><row text="' + b"x" * 3_000_000),
    ],
)
def test_a_record_without_end_is_bounded(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=r"longer than|more than"):
        list(read_records(str(tmp_path / name), Limits(record_bytes=100_000)))


def test_a_json_object_over_several_lines_is_one_record(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('\ufeff{\n "text": "one",\n "n": [1, 2]\n}\n', encoding="utf-8")
    assert [record.fields for record in read_records(str(path))] == [{"text": "one", "n": [1, 2]}]


@given(
    st.lists(
        st.dictionaries(st.text(max_size=5), st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=6,
        ), max_size=4),
        max_size=6,
    ),
    st.sampled_from([None, 1]),
    st.integers(1, 7),
)  # fmt: skip
def test_streamed_json_is_what_json_says(
    rows: list[dict[str, object]], indent: int | None, chunk: int
) -> None:
    from tootsie.datasets.readers import json_records

    content = json.dumps(rows, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        content.decode()
    except UnicodeDecodeError:
        content = json.dumps(rows, indent=indent).encode()

    class Dripping(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(chunk)

    found = [record.fields for record in json_records.read_values(Dripping(content), "a.json", Limits())]
    assert found == rows


def test_documents_by_dotted_key(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"page": {"body": "One."}, "key": 7}\n{"page.body": "Two.", "key": "b"}\n')
    documents = list(read_documents(str(path), "page.body", "made", id_key="key"))
    assert [(one.id, one.text, one.source) for one in documents] == [
        ("7", "One.", "made"),
        ("b", "Two.", "made"),
    ]
    assert [one.id for one in read_documents(str(path), "page.body", "made")] == [f"{path}#0", f"{path}#1"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "x", "id": "1"}', "record 0: text_key 'content' is missing; the record has: text, id. Give the key of the text, perhaps --text-key text"),
        ('{"content": null, "id": "1"}', "record 0, content: text_key 'content' is null, a string is needed. Give the key of the text, perhaps --text-key id"),
        ('{"content": ["a"]}', "record 0, content: text_key 'content' is a value of type list, a string is needed (found \"['a']\"). No field of the record is text: is this the right file?"),
    ],
)  # fmt: skip
def test_schema_errors_name_file_record_field_value_and_remedy(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line)
    with pytest.raises(InputError) as caught:
        list(read_documents(str(path), "content", "made"))
    assert str(caught.value) == f"{path}: {message}"
