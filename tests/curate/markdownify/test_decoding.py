"""Bytes to text: no encoding, declared or not, lied about or not, makes it fail."""

from __future__ import annotations

import random
from encodings.aliases import aliases

import pytest

from tootsie.curate.markdownify import convert
from tootsie.curate.markdownify.decoding import decode

TEXT = "<p>é ü 中 𝒳</p>"
BYTES = b"a\xff\xfe\x00\xe9+AGE-\\u12 \\N{x}~{xn--"


@pytest.mark.parametrize(
    "encoding", [*sorted(set(aliases.values())), "unicode_escape", "x" * 5_000, "\0", "é"]
)
def test_no_label_makes_decoding_fail(encoding: str) -> None:
    page = b"<meta charset=" + encoding.encode() + b">" + BYTES
    for charset in (None, encoding):
        decoded = decode(page, charset)
        assert decoded.text.encode() == decoded.data


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"],
)
def test_unicode_is_read_with_and_without_its_mark(encoding: str) -> None:
    page = TEXT.encode(encoding)
    assert convert(page).markdown == "é ü 中 𝒳\n"
    assert convert(page, charset="koi8-r").markdown == "é ü 中 𝒳\n" or encoding == "utf-8"


@pytest.mark.parametrize("label", ["utf-16", "utf-32", "utf-7", "unicode", "no-such-charset", "hex", "zlib"])
def test_a_label_that_cannot_be_true_is_ignored(label: str) -> None:
    assert convert(f"<meta charset={label}>{TEXT}".encode()).markdown == "é ü 中 𝒳\n"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("Müller größer “x”".encode("cp1252"), "Müller größer “x”"),
        (b"<meta charset=koi8-r>" + "Привет".encode("koi8-r"), "<meta charset=koi8-r>Привет"),
        ("Привет".encode("koi8-r") + b".", "\ufffd" * 6 + "."),  # in what it is nobody says
        ("é ü 中 ".encode() + b"\xe9.", "é ü 中 \ufffd."),
        ("abc é".encode()[:-1], "abc \ufffd"),  # cut off amid a character
    ],
)
def test_utf_8_that_is_not_is_repaired(page: bytes, text: str) -> None:
    assert decode(page, "utf-8").text == text


def test_any_bytes_are_read() -> None:
    chance = random.Random(1)
    marks = [b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"+/v8"]
    for _ in range(2_000):
        page = chance.choice(marks) + bytes(
            chance.choice((chance.randrange(256), 60, 62, 97)) for _ in range(chance.randrange(200))
        )
        decoded = decode(page)
        assert decoded.text.encode() == decoded.data
        assert "\0" not in decoded.text
