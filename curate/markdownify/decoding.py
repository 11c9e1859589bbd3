"""Bytes to text: byte order mark, declared charset, UTF-8, windows-1252, in that order; UTF-8 only where most of it is that.

Source: WHATWG HTML §13.2.3 (the prescan) and Encoding (labels; latin-1 means windows-1252).
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_UNMARKED = (
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
"""How a page in a wide encoding begins that has no byte order mark."""
_NO_CHARSETS = frozenset(
    ("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7", "mbcs", "oem")
)
"""Codecs of Python that no page is written in: some refuse to replace what they cannot read."""
_DECLARED = re.compile(
    rb"""<meta[^>]{0,400}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})|<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.:-]{2,40})""",
    re.IGNORECASE,
)
_PRESCAN = 4096
_UNICODE = ("utf-8", "utf-16", "utf-32")
_RUNS = re.compile(rb"[\x80-\xff]+(?=[\0-\x7f])")
"""Of bytes beyond ASCII; one at the end may be a character that was cut."""
# Labels that mean another encoding on the web than in Python.
_ALIASES = {
    "iso-8859-1": "cp1252", "iso8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252", "us-ascii": "cp1252",
    "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "sjis": "cp932",
    "ks_c_5601-1987": "cp949", "euc-kr": "cp949", "iso-8859-9": "cp1254", "tis-620": "cp874", "unicode": "utf-8",
}  # fmt: skip
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = bytes([*range(0x09), 0x0B, *range(0x0E, 0x20), 0x7F])
_NO_CHARACTERS = "\ufeff\ufffe\uffff"
_UNSAFE = re.compile(f"[{re.escape(_CONTROLS.decode() + _NO_CHARACTERS)}]")


@dataclass(slots=True)
class Decoded:
    """Text of a page and what it took to get it."""

    text: str
    """The characters; no NUL, no surrogates, no control characters."""
    data: bytes
    """The same in UTF-8."""
    encoding: str
    """The Python codec that was used; ``str`` when the input was text."""
    invalid: int = 0
    """Byte sequences or lone surrogates that were replaced by U+FFFD."""
    removed: int = 0
    """Control characters that were left out."""


def decode(source: str | bytes, charset: str | None = None) -> Decoded:
    """Return the text of ``source``.

    Args:
      source: a page. Text is only cleaned.
      charset: what the transport declared (an HTTP header), tried before the page's own declaration.
    """
    if isinstance(source, str):
        return _clean(source, "str", 0)
    for bom, encoding in _BOMS:
        if source.startswith(bom):
            return _decode_as(source[len(bom) :], encoding)
    for start, encoding in _UNMARKED:
        if source.startswith(start):
            return _decode_as(source, encoding)
    labels = [codec for label in (charset, _declared(source)) if (codec := _codec(label))]
    if labels and not labels[0].startswith(_UNICODE):  # one of UTF-16 that is readable as ASCII is wrong
        return _decode_as(source, labels[0])
    try:
        return _clean(source.decode("utf-8"), "utf-8", 0, source)
    except UnicodeDecodeError:
        pass
    replaced = source.decode("utf-8", "replace")
    invalid = replaced.count("\ufffd") - source.count(b"\xef\xbf\xbd")
    multibyte = len(source) - len(replaced)
    if not labels and invalid > multibyte // 4:
        return _decode_as(source, "cp1252")
    if labels and invalid > multibyte:  # UTF-8 is not what it is in, whatever is said
        others = [codec for codec in labels if not codec.startswith(_UNICODE)]
        if others or _is_western(source):
            return _decode_as(source, (*others, "cp1252")[0])
    return _clean(replaced, "utf-8", invalid)


def _is_western(source: bytes) -> bool:
    """Return whether most bytes beyond ASCII stand alone or in twos, as letters with marks and quotation marks do."""
    runs = [len(run) for run in _RUNS.findall(source)]
    return 2 * sum(length <= 2 for length in runs) > len(runs)


def _declared(source: bytes) -> str | None:
    match = _DECLARED.search(source[:_PRESCAN])
    return (match.group(1) or match.group(2)).decode("ascii") if match else None


def _codec(label: str | None) -> str | None:
    if not label:
        return None
    name = _ALIASES.get(label.strip().lower(), label.strip().lower())
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    return info.name if info._is_text_encoding and info.name not in _NO_CHARSETS else None


def _decode_as(source: bytes, encoding: str) -> Decoded:
    text = source.decode(encoding, "replace")
    return _clean(text, encoding, text.count("\ufffd"))


def _clean(text: str, encoding: str, invalid: int, data: bytes | None = None) -> Decoded:
    """Leave out of ``text`` what no page may contain; ``data`` is the same in UTF-8 where that is at hand."""
    if data is None:
        try:
            data = text.encode()
        except UnicodeEncodeError:
            text, surrogates = _SURROGATES.subn("\ufffd", text)
            invalid += surrogates
            data = text.encode()
    removed = 0
    # Deleting bytes and looking for each of a few characters is far faster than one pass of a character class.
    if len(data.translate(None, _CONTROLS)) != len(data) or (
        not text.isascii() and any(character in text for character in _NO_CHARACTERS)
    ):
        text, removed = _UNSAFE.subn("", text)
        data = text.encode()
    return Decoded(text=text, data=data, encoding=encoding, invalid=invalid, removed=removed)
