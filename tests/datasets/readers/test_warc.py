"""Records of crawls, as they are and as they must not be."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tootsie.datasets.errors import InputError
from tootsie.datasets.readers.reading import read_records
from tootsie.datasets.readers.record import Limits


def warc(block: bytes, kind: str = "response", **headers: str) -> bytes:
    lines = {
        "WARC-Type": kind,
        "WARC-Target-URI": "http://example.org/",
        "Content-Length": str(len(block)),
        **{key.replace("_", "-"): value for key, value in headers.items()},
    }
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
    return b"WARC/1.0\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n"


def http(body: bytes, *headers: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", *headers]).encode() + b"\r\n\r\n" + body


def read(tmp_path: Path, content: bytes, limits: Limits | None = None) -> list[dict[str, object]]:
    path = tmp_path / "a.warc"
    path.write_bytes(content)
    return [record.fields for record in read_records(str(path), limits or Limits())]


def test_a_response_is_its_page(tmp_path: Path) -> None:
    page = "<p>Grüße</p>"
    (fields,) = read(tmp_path, warc(http(page.encode("latin-1"), "Content-Type: text/html; charset=latin-1")))
    assert (fields["content"], fields["url"], fields["status"]) == (page, "http://example.org/", 200)
    assert fields["type"] == "response"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"5\r\n<p>He\r\n7;x=1\r\nllo</p>\r\n0\r\n\r\n", ["Transfer-Encoding: chunked"]),
        (gzip.compress(b"<p>Hello</p>", mtime=0), ["Content-Encoding: gzip"]),
        (b"<p>Hello</p>", ["Transfer-Encoding: chunked", "Content-Encoding: gzip"]),
    ],
)
def test_encodings_are_taken_off_where_they_are_there(
    tmp_path: Path, body: bytes, headers: list[str]
) -> None:
    (fields,) = read(tmp_path, warc(http(body, "Content-Type: text/html", *headers)))
    assert fields["content"] == "<p>Hello</p>"


def test_what_is_no_text_stays_bytes(tmp_path: Path) -> None:
    (fields,) = read(tmp_path, warc(http(b"\x89PNG", "Content-Type: image/png")))
    assert fields["content"] == b"\x89PNG"


def test_text_records_of_wet_files(tmp_path: Path) -> None:
    (fields,) = read(tmp_path, warc("Añada".encode(), "conversion", Content_Type="text/plain"))
    assert fields["content"] == "Añada"


def test_a_block_over_the_limit_is_left_out_and_the_next_one_read(tmp_path: Path) -> None:
    big, small = warc(b"x" * 5000, "resource"), warc(b"y", "resource", Content_Type="text/plain")
    first, second = read(tmp_path, big + small, Limits(record_bytes=1000))
    assert (first["content"], first["length"]) == (None, 5000)
    assert second["content"] == "y"


def test_a_packed_payload_over_the_limit_is_left_out(tmp_path: Path) -> None:
    body = gzip.compress(bytes(10**6))
    (fields,) = read(tmp_path, warc(http(body, "Content-Encoding: gzip")), Limits(record_bytes=10**5))
    assert fields["content"] is None


@pytest.mark.parametrize("keep", [7, 30, 100, 130])
def test_a_cut_is_an_error(tmp_path: Path, keep: int) -> None:
    whole = warc(b"x" * 50, "resource")
    with pytest.raises(InputError, match=r"record 1"):
        read(tmp_path, whole + whole[:keep])


def test_a_wrong_length_is_found_at_the_next_record(tmp_path: Path) -> None:
    wrong = warc(b"x" * 50, "resource").replace(b"Content-Length: 50", b"Content-Length: 20")
    with pytest.raises(InputError, match=r"record 1: a WARC record begins with its version"):
        read(tmp_path, wrong + wrong)


@pytest.mark.parametrize("length", ["", "-1", "1e3", "x"])
def test_a_length_that_is_no_number(tmp_path: Path, length: str) -> None:
    with pytest.raises(InputError, match="Content-Length"):
        read(tmp_path, warc(b"", "resource", Content_Length=length))


def test_a_header_without_end_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no end"):
        read(tmp_path, b"WARC/1.0\r\n" + b"A: b\r\n" * 400_000)


@pytest.mark.parametrize(
    ("name", "records", "responses"),
    [
        ("commoncrawl_whirlwind.warc.gz", 4, 1),
        ("commoncrawl_whirlwind.warc", 4, 1),
        ("commoncrawl_whirlwind.warc.wet.gz", 2, 0),
        ("commoncrawl_whirlwind.warc.wat.gz", 2, 0),
        ("dolma_sample-0001_creativecommons.warc.gz", None, 15),
        ("block-sized-records.warc.gz", None, None),
        ("example.warc", None, None),
        ("example-iana.org-chunked.warc", None, None),
        ("example-bad-non-chunked.warc.gz", None, None),
        ("multiple-headers.warc", None, None),
    ],
)
def test_real_crawls(shared_data: Path, name: str, records: int | None, responses: int | None) -> None:
    found = [record.fields for record in read_records(str(shared_data / "warc" / name))]
    assert found
    assert records is None or len(found) == records
    pages = [fields for fields in found if fields["type"] == "response"]
    assert responses is None or len(pages) == responses
    assert all("�" not in str(page["content"])[:2000] for page in pages)
