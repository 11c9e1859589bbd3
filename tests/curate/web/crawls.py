"""Crawl files made in the tests."""

from __future__ import annotations

import gzip
from collections.abc import Iterable

PROSE = "The quick brown fox jumps over the lazy dog, and nobody minds at all, says page {}. "


def html(number: int, body: str = "", head: str = "") -> bytes:
    """A page with a frame and three paragraphs."""
    prose = "".join(f"<p>{PROSE.format(number) * 3} Paragraph {one}.</p>" for one in range(3))
    return (
        f"<!DOCTYPE html><html lang='en'><head><title>Page {number}</title>{head}</head><body>"
        "<nav><ul><li><a href='/'>Home</a></li><li><a href='/a'>About us</a></li></ul></nav>"
        f"<main><article><h1>Page {number}</h1>{prose}{body}<p>{PROSE.format(number)} The end of it.</p></article></main>"
        "<footer><p>Copyright of all that is here</p><a href='/imprint'>Imprint</a></footer></body></html>"
    ).encode()


def response(
    number: int,
    content: bytes,
    status: str = "200 OK",
    kind: str = "text/html; charset=utf-8",
    more: str = "",
) -> bytes:
    """A WARC record with an HTTP response."""
    http = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}\r\n".encode() + content
    return record(
        "response", f"https://example.org/{number}", number, http, "application/http; msgtype=response"
    )


def record(kind: str, url: str, number: int, block: bytes, content_type: str = "text/plain") -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-05-0{number % 9 + 1}T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{number:08d}>\r\nContent-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def packed(records: Iterable[bytes]) -> bytes:
    """A member of gzip for each record, as crawls have it."""
    return b"".join(gzip.compress(one, mtime=0) for one in records)
