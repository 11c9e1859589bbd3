from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard

from tootsie.curate.web.archive_records import read_archive

from .crawls import html, packed, record, response


def test_pages_become_documents_and_all_else_is_counted(curate, tmp_path: Path) -> None:
    records = [
        record("warcinfo", "", 0, b"software: x\r\n"),
        record("request", "https://example.org/1", 1, b"GET / HTTP/1.1\r\n\r\n"),
        response(2, html(2)),
        response(3, b"gone", status="404 Not Found"),
        response(4, b"%PDF-1.7", kind="application/pdf"),
        response(5, b"<p>x</p>"),
        response(6, html(6), kind="application/octet-stream"),
        record("conversion", "https://example.org/7", 7, b"A text of a WET file. " * 20),
        record("revisit", "https://example.org/8", 8, b""),
        record("odd", "https://example.org/9", 9, b""),
        response(2, html(2)),
        response(10, b"\x1b\x00" * 40, more="Content-Encoding: br\r\n"),
        response(11, html(11) + b" " * 40_000),
    ]
    (tmp_path / "a.warc.gz").write_bytes(packed(records))
    result = curate("web", tmp_path / "a.warc.gz", "--max-document-bytes=20000")
    assert result.code == 0, result.stderr
    assert sorted(result.documents) == ["urn:uuid:00000002", "urn:uuid:00000006", "urn:uuid:00000007"]
    assert result.manifest.accounting.read == len(records)
    assert result.dropped == {
        "content coding": 1,
        "no main content": 1,
        "not HTML": 1,
        "other record": 1,
        "other status": 1,
        "request record": 1,
        "revisit record": 1,
        "same record again": 1,
        "too large": 1,
        "warcinfo record": 1,
    }
    assert {document.metadata["detail"] for document in result.rejects if "detail" in document.metadata} >= {
        "404",
        "odd",
    }


def test_codings_of_pages(curate, tmp_path: Path) -> None:
    page = html(1)
    chunk = b"%x\r\n" % len(page) + page + b"\r\n"
    coded, chunked = "Content-Encoding: gzip\r\n", "Transfer-Encoding: chunked\r\n"
    damaged = gzip.compress(page)[:10] + b"\xff" * 200
    records = [
        response(1, gzip.compress(page[:400]) + gzip.compress(page[400:]), more=coded),
        response(2, page, more=coded),  # stored decoded
        response(3, chunk, more=chunked),  # its last chunk is missing
        response(4, damaged, more=coded),
        response(5, bytes(range(1, 250)) * 2, more="Content-Encoding: br\r\n"),
    ]
    (tmp_path / "a.warc").write_bytes(b"".join(records))
    result = curate("web", tmp_path / "a.warc")
    assert result.dropped == {"content coding": 2}, result.stderr
    texts = {document.text for document in result.documents.values()}
    assert len(result.documents) == 3
    assert len(texts) == 1
    truncated = {name[-1]: one.metadata.get("truncated") for name, one in result.documents.items()}
    assert truncated == {"1": None, "2": None, "3": "coding"}


def test_a_date_is_no_identity(curate, tmp_path: Path) -> None:
    nameless = [
        b"\r\n".join(
            line
            for line in response(9 * number, html(number)).split(b"\r\n")
            if not line.startswith((b"WARC-Target-URI", b"WARC-Record-ID"))
        )
        for number in (0, 1)
    ]
    (tmp_path / "a.warc").write_bytes(b"".join([*nameless, response(2, html(2))]))
    result = curate("web", tmp_path / "a.warc")
    assert result.dropped == {"no identity": 2}, result.stderr


def test_what_a_page_says_of_itself_is_kept(curate, tmp_path: Path) -> None:
    head = (
        "<meta name=robots content='noindex, NoAI'><meta name='googlebot' content='nosnippet'>"
        "<link rel=license href='https://creativecommons.org/licenses/by/4.0/'><link rel=canonical href='https://example.org/c'>"
    )
    body = "<p>See <a rel='nofollow ugc' href='/x'>this page of another one</a> and much else that is written.</p>"
    page = response(1, html(1, body, head), more="X-Robots-Tag: noarchive, otherbot: nofollow\r\n")
    (tmp_path / "a.warc").write_bytes(page)
    (document,) = curate("web", tmp_path / "a.warc").documents.values()
    assert document.created == "2024-05-02T00:00:00Z"
    assert document.metadata == {
        "url": "https://example.org/1",
        "crawled": "2024-05-02T00:00:00Z",
        "title": "Page 1",
        "canonical": "https://example.org/c",
        "license_url": "https://creativecommons.org/licenses/by/4.0/",
        "nofollow_links": 1,
        "declared_language": "en",
        "robots": ["noai", "noarchive", "noindex"],
        "language": "en",
    }
    refused = curate("web", tmp_path / "a.warc", "--refuse-robots=noai", "--allow-empty", out="refused")
    assert refused.dropped == {"refused by the page": 1}
    assert refused.rejects[0].metadata["detail"] == "noai"


@pytest.mark.parametrize(
    ("header", "declared", "codec"),
    [
        ("windows-1251", "", "windows-1251"),
        ("", "<meta charset=windows-1251>", "windows-1251"),
        ("", "", "utf-8"),
    ],
)
def test_charset_of_header_and_page(curate, tmp_path: Path, header: str, declared: str, codec: str) -> None:
    text = "<p>" + "Съешь ещё этих мягких французских булок, да выпей чаю. " * 5 + "</p>"
    page = html(1, text, declared).decode().encode(codec)
    kind = "text/html" + (f"; charset={header}" if header else "")
    (tmp_path / "a.warc").write_bytes(response(1, page, kind=kind))
    (document,) = curate("web", tmp_path / "a.warc").documents.values()
    assert "Съешь ещё этих мягких" in document.text


def test_a_crawl_with_a_dictionary_of_zstandard(curate, tmp_path: Path) -> None:
    records = [response(number, html(number)) for number in range(6)]
    trained = zstandard.train_dictionary(1024, [one for one in records for _ in range(3)])
    dictionary = zstandard.compress(trained.as_bytes())
    frames = [zstandard.ZstdCompressor(dict_data=trained).compress(one) for one in records]
    head = b"\x5d\x2a\x4d\x18" + len(dictionary).to_bytes(4, "little") + dictionary
    (tmp_path / "a.warc.zst").write_bytes(head + b"".join(frames))
    result = curate("web", tmp_path / "a.warc.zst")
    assert result.code == 0, result.stderr
    assert sorted(result.documents) == [f"urn:uuid:{number:08d}" for number in range(6)]


@pytest.mark.parametrize("suffix", ["warc", "warc.gz", "warc.zst"])
def test_a_file_that_is_cut_off_loses_its_end_only(curate, tmp_path: Path, suffix: str) -> None:
    records = [response(number, html(number)) for number in range(4)]
    whole = b"".join(records)
    content = {
        "warc": lambda: whole[: len(whole) - 300],
        "warc.gz": lambda: packed(records)[:-40],
        "warc.zst": lambda: zstandard.compress(b"".join(records[:3])) + zstandard.compress(records[3])[:-40],
    }[suffix]()
    (tmp_path / f"a.{suffix}").write_bytes(content)
    result = curate("web", tmp_path / f"a.{suffix}", "--max-failures=0.5")
    assert result.code == 0, result.stderr
    assert sorted(result.documents) == [f"urn:uuid:{number:08d}" for number in range(3)]
    assert result.dropped == {"damaged record": 1}


def test_reading_goes_on_behind_a_damaged_record(curate, tmp_path: Path) -> None:
    first, second, third = (response(number, html(number)) for number in range(3))
    damaged = second.replace(b"Content-Length: ", b"Content-Length: x")
    (tmp_path / "a.warc").write_bytes(first + damaged + third)
    (tmp_path / "b.warc").write_bytes(
        record("response", "u", 7, b"") + b"stray bytes\n" + response(8, html(8))
    )
    result = curate("web", tmp_path / "a.warc", tmp_path / "b.warc", "--max-failures=0.5")
    assert sorted(result.documents) == ["urn:uuid:00000000", "urn:uuid:00000002", "urn:uuid:00000008"]
    assert result.dropped["damaged record"] == 2
    strict = curate("web", tmp_path / "a.warc", tmp_path / "b.warc", "--max-failures=0.1", out="strict")
    assert strict.code == 2
    assert "--max-failures" in strict.stderr


def test_reading_goes_on_behind_a_damaged_member_of_gzip(curate, tmp_path: Path) -> None:
    members = [gzip.compress(response(number, html(number)), mtime=0) for number in range(3)]
    broken = bytearray(members[1])
    broken[len(broken) // 2] ^= 0xFF
    (tmp_path / "a.warc.gz").write_bytes(members[0] + bytes(broken) + members[2])
    result = curate("web", tmp_path / "a.warc.gz", "--max-failures=0.5")
    assert result.code == 0, result.stderr
    assert {"urn:uuid:00000000", "urn:uuid:00000002"} <= set(result.documents)
    assert result.dropped["damaged record"] == 1


@pytest.mark.parametrize("excess", [10, 3000, 10**9])
def test_a_length_that_is_too_large_takes_no_other_record_along(tmp_path: Path, excess: int) -> None:
    """Where each record is a member of gzip, the next one shows where this one ends."""
    records = [response(number, html(number)) for number in range(4)]
    head, _, rest = records[1].partition(b"Content-Length: ")
    stated, _, rest = rest.partition(b"\r\n")
    records[1] = head + b"Content-Length: %d\r\n" % (int(stated) + excess) + rest
    (tmp_path / "a.warc.gz").write_bytes(packed(records))
    found = list(read_archive(str(tmp_path / "a.warc.gz"), 10**6))
    assert [one.kind for one in found] == ["response", "damaged", "response", "response"]
    assert "another begins" in found[1].problem
    assert [one.block for one in found[2:]] == [one.partition(b"\r\n\r\n")[2][:-4] for one in records[2:]]


def test_a_page_that_quotes_a_record_is_whole_however_members_are_cut(tmp_path: Path) -> None:
    quoting = response(1, html(1, "<pre>\r\n\r\n" + record("metadata", "u", 5, b"x").decode() + "</pre>"))
    content = quoting + response(2, html(2))
    (tmp_path / "a.warc.gz").write_bytes(packed(content[at : at + 64] for at in range(0, len(content), 64)))
    first, second = read_archive(str(tmp_path / "a.warc.gz"), 10**6)
    assert first.block == quoting.partition(b"\r\n\r\n")[2][:-4]
    assert second.kind == "response"


def test_another_kind_of_file_is_an_error(curate, tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(b"<html>404</html>")
    result = curate("web", tmp_path / "a.warc")
    assert result.code == 2
    assert "neither WARC nor ARC" in result.stderr
    (tmp_path / "a.txt").write_text("x")
    assert curate("web", tmp_path / "a.txt", out="other").code == 2


def test_one_page_over_a_limit_is_counted_and_no_other(curate, tmp_path: Path) -> None:
    slow = (
        b"<html><body>"
        + b"<p>some words of a page that has very many of them</p>" * 60_000
        + b"</body></html>"
    )
    pages = [response(1, html(1)), response(2, slow), response(3, html(3))]
    (tmp_path / "a.warc").write_bytes(b"".join(pages))
    result = curate("web", tmp_path / "a.warc", "--time-limit=1", "--max-failures=0.5")
    assert sorted(result.documents) == ["urn:uuid:00000001", "urn:uuid:00000003"]
    assert result.dropped == {"time limit": 1}


def test_every_record_of_real_crawls_is_counted(curate, shared_data: Path) -> None:
    result = curate("web", shared_data / "warc")
    assert result.code == 0, result.stderr
    books = result.manifest.accounting
    assert books.read == books.written + sum(books.dropped.values()) == 89
    assert books.dropped.keys() <= {
        *(
            "filedesc record",
            "metadata record",
            "request record",
            "revisit record",
            "warcinfo record",
            "other record",
        ),
        *("no main content", "not HTML", "same record again"),
    }
    urls = {document.metadata["url"] for document in result.documents.values()}
    assert "https://an.wikipedia.org/wiki/Escopete" in urls
    assert {"https://creativecommons.org/mission/", "https://allenai.org/", "http://example.com/"} <= urls


def test_plain_text_is_what_trafilatura_writes(curate, tmp_path: Path) -> None:
    from trafilatura import extract

    table = (
        "<table><tr><th>Year</th><td>2001</td></tr></table><pre><code class='language-c'>int a;</code></pre>"
    )
    (tmp_path / "a.warc").write_bytes(
        response(1, html(1, table)) + response(2, b"<html><body></body></html>")
    )
    result = curate("web", tmp_path / "a.warc", "--plain-text", "--preset=precision")
    (document,) = result.documents.values()
    assert document.text == extract(html(1, table).decode(), include_comments=False, favor_precision=True)
    assert document.metadata["title"] == "Page 1"
    assert result.dropped == {"no main content": 1}
