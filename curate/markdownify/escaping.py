"""Escaping of prose, so that text which looks like Markdown stays text. Formulas and code never come here.

Source: CommonMark 0.31 §2.4 (backslash escapes), §6.2 (flanking rules), GFM §6.5 (strikethrough).
"""

from __future__ import annotations

import re

SPACES = " \t\n\r\f"
_RUNS = re.compile(r"[ \t\n\r\f]+")
_CJK = "\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
_CJK_BREAK = re.compile(rf"(?<=[{_CJK}])[ \t\r]*\n[ \t\r\n]*(?=[{_CJK}])")
_CJK_LINE = re.compile(rf"\n[ \t\r\n]*[{_CJK}]")
"""Found much faster where there is none, as in most texts that are not ASCII."""
# One alternative for each character that can open markup, with the context in which it does.
ENTITY = r"&(?=[A-Za-z][A-Za-z0-9]{1,31};|#[0-9]{1,8};|#[xX][0-9A-Fa-f]{1,8};)"
ESCAPES: dict[str, list[str]] = {
    "*": [r"\*(?<! \*)", r"\*(?! )"],
    "_": [r"_(?<![^\W_]_)", r"_(?![^\W_])"],
    "": [
        r"\\(?=[!-/:-@\[-`{-~]| ?$)",
        r"`",
        r"\[(?=\^)",
        r"\[(?=[ xX]\])",
        r"\](?=[(\[:])",
        r"<(?=[A-Za-z/!?])",
        ENTITY,
        r"~(?<! ~)",
        r"~(?=~)",
        r"\$",
    ],
}
"""What is escaped in prose: asterisks, underscores, all else. Each begins with its character: a search skips all others."""
_ESCAPE = re.compile("|".join(pattern for patterns in ESCAPES.values() for pattern in patterns))
_ESCAPE_IN_LINK = re.compile(r"\[|\]|" + _ESCAPE.pattern)
_ENTITY = re.compile(ENTITY)
_IN_TITLE = re.compile(r'[\\"]|' + ENTITY)
_PLAIN_TITLE = re.compile(r"[^\s\\\"&]+(?: [^\s\\\"&]+)*")
_LINE_START = re.compile(
    r"(?:#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|([-=_*])(?=(?:\1| )*$)|~~~|(?=\d{1,9}[.)](?:\s|$)))"
)
_LINE_STARTS = frozenset("#>-+*=_~")
_DELIMITER_ROW = re.compile(r"\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *$")
"""Below a line of text it would begin a table (GFM)."""
_NOT_IN_URL = re.compile(r"[\s()<>\\&\x00-\x1f]")
_DEFINITION = re.compile(r"\[(?:[^\[\]\\]|\\.){1,999}\]:")
"""A link definition, where code hides its end from escaping: ``[a `]: b```."""
_ORDERED = re.compile(r"(\d{1,9})([.)])")


def collapse(text: str) -> str:
    """Replace each run of HTML white space by one space; other Unicode spaces stay.

    A line break between two ideographs or kana is no space: their scripts have none.
    """
    if "\n" in text:
        if not text.isascii() and _CJK_LINE.search(text) is not None:
            text = _CJK_BREAK.sub("", text)
        text = text.replace("\n", " ")
    if "\t" in text or "\r" in text or "\f" in text:
        return _RUNS.sub(" ", text)
    while "  " in text:  # each time halves the runs
        text = text.replace("  ", " ")
    return text


def is_suspect(text: str) -> bool:
    """Return whether ``text`` has any of the characters that may need escaping inside a line."""
    # Several times as fast as a character class.
    return (
        "*" in text or "_" in text or "\\" in text or "`" in text or "[" in text or "]" in text
        or "<" in text or "&" in text or "~" in text or "$" in text
    )  # fmt: skip


def escape_text(text: str, *, in_link: bool = False) -> str:
    """Escape ``text`` (white space already collapsed) as inline Markdown.

    Brackets are escaped only where they could form a link, a footnote or a definition; ``in_link`` escapes all.
    """
    if not is_suspect(text):
        return text
    return escape_suspect(text, in_link)


def escape_suspect(text: str, in_link: bool) -> str:
    """Escape as :func:`escape_text` does, a text that :func:`is_suspect`."""
    return (_ESCAPE_IN_LINK if in_link else _ESCAPE).sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return "\\" + match[0]


def escape_line_start(line: str) -> str:
    """Escape what would make ``line`` a heading, list item, quotation, rule or fence."""
    first = line[:1]
    if first == "[":
        return "\\" + line if "]:" in line and _DEFINITION.match(line) else line
    if first not in _LINE_STARTS and not first.isdecimal():
        return line
    match = _LINE_START.match(line)
    if match is None:
        return line
    if match.end() == match.start():
        return _ORDERED.sub(r"\1\\\2", line, count=1)
    return "\\" + line


def escape_next_line(line: str) -> str:
    """Escape what :func:`escape_line_start` does, and what would make a table of ``line`` and the line above it."""
    if line[:1] in ("|", ":", "-") and _DELIMITER_ROW.match(line) is not None:
        return "\\" + line
    return escape_line_start(line)


def escape_cell(text: str) -> str:
    """Escape the pipes of a table cell: GFM splits rows before it parses inline markup."""
    return text.replace("|", "\\|") if "|" in text else text


def escape_attribute(text: str) -> str:
    """Escape ``text`` for an HTML attribute between double quotes."""
    return escape_html(text).replace('"', "&quot;").replace("\n", "&#10;")


def escape_html(text: str) -> str:
    """Escape ``text`` for HTML element content."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def destination(url: str) -> str:
    """Write ``url`` as a CommonMark link destination."""
    if url and _NOT_IN_URL.search(url) is None:
        return url
    url = url.strip(SPACES)
    url = re.sub(r"[\n\r\t]", "", url)
    if not url:
        return "<>"
    if _NOT_IN_URL.search(url) is None:
        return url
    if not re.search(r"[\s<>\\\x00-\x1f]", url) and _balanced(url):
        return _ENTITY.sub(r"\\\g<0>", url)
    return "<" + _ENTITY.sub(r"\\\g<0>", re.sub(r"[<>\\]", r"\\\g<0>", url)) + ">"


def title_suffix(title: str | None) -> str:
    """Write a link title with its leading space; empty without one."""
    if not title or not title.strip():
        return ""
    if _PLAIN_TITLE.fullmatch(title):
        return f' "{title}"'
    lines = re.sub(r"[ \t\f]+", " ", title.replace("\r", "").strip(" \t\f")).split("\n")
    escaped = _IN_TITLE.sub(r"\\\g<0>", "\n".join(line.strip(" ") for line in lines))
    # A backslash before the closing mark: cmark-gfm would go on to the next one.
    return ' "' + re.sub(r'\\\\(?=\\"|$)', "&#92;", escaped).replace("\n", "&#10;") + '"'


def _balanced(url: str) -> bool:
    depth = 0
    for character in url:
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0
