"""Formulas as opaque text: where their TeX is found, and how it is delimited. Nothing in it is escaped or re-parsed.

Sources of TeX, best first: LaTeXML's ``alttext``, ``annotation[encoding=application/x-tex]`` (MediaWiki, KaTeX, Temml,
MathJax 3 assistive), the ``alt`` of MediaWiki's fallback image, ``script[type=math/tex]`` (MathJax 2), delimiters in the
text (MathJax), and presentation MathML converted (:mod:`.mathml`).
"""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.markdownify.mathml import to_tex
from tootsie.curate.markdownify.options import Dollars

_CONTINUATION = re.compile(r"(?<!\\)((?:\\\\)*)%[ \t]*\r?\n[ \t]*")
_SPACE = re.compile(r"[ \t\r\n\f]+")
_TEX_ENCODINGS = frozenset(
    ("application/x-tex", "application/x-latex", "tex", "latex", "text/x-tex", "text/latex")
)
_STYLE = re.compile(r"\\(?:display|text)style(?![A-Za-z])\s*")
_OPENERS = re.compile(r"\\\\|\\\$|\$\$?|\\\[|\\\(|\\begin\{([A-Za-z]+\*?)\}")
_MATH_HINT = re.compile(r"[\\^_{}=<>]|^[A-Za-z]$|^-?\w$")
_ENVIRONMENTS = frozenset(
    [
        "equation",
        "align",
        "gather",
        "multline",
        "eqnarray",
        "alignat",
        "flalign",
        "displaymath",
        "math",
        "aligned",
        "array",
        "cases",
        "matrix",
        "pmatrix",
        "bmatrix",
        "vmatrix",
        "gathered",
        "split",
        "CD",
    ]
)
MAX_DOLLAR_STEPS = 8
_TYPESETTER = re.compile(
    r"<script[^>]{0,400}\bsrc=[^>]{0,400}(?:mathjax|katex[^>]{0,200}auto-render)|renderMathInElement|MathJax\.(?:Hub|config)|MathJax\s*=",
    re.IGNORECASE,
)
_AS_REFERENCE = re.compile(r"&(?:#(?:0*(?:36|92)|[xX]0*(?:24|5[cC]))|dollar|bsol)")
"""A character reference for ``$`` or the backslash."""
_TYPESETTERS = (b"mathjax", b"katex", b"rendermathinelement")


def dollars_of(dollars: Dollars, html: str, page: bytes) -> Dollars:
    """Return how delimiters in the text of a page are read: ``AUTO`` looks for MathJax or KaTeX's auto-render in it.

    Args:
      dollars: the policy.
      html: the page.
      page: the same in UTF-8.
    """
    if dollars is not Dollars.AUTO:
        return dollars
    if "$" not in html and "\\" not in html and _AS_REFERENCE.search(html) is None:
        return Dollars.NONE
    lower = page.lower()  # many times as fast as to search for any case
    if not any(name in lower for name in _TYPESETTERS) or _TYPESETTER.search(html) is None:
        return Dollars.NONE
    return Dollars.STRICT


def normalise(tex: str) -> str:
    """Return ``tex`` with each white-space run as one space and TeX's ``%``-newline continuations joined.

    A ``%`` before a newline is a comment that only hides the newline; once the newline is a space it would hide the rest.
    """
    if "%" in tex:
        tex = _CONTINUATION.sub(r"\1", tex)
    tex = _SPACE.sub(" ", tex).strip(" ")
    if tex.endswith("\\") and (len(tex) - len(tex.rstrip("\\"))) % 2:
        tex += " "  # a control space: without it the backslash would escape the closing dollar sign
    return tex


def unwrap_display_style(tex: str) -> str:
    r"""Return the content of MediaWiki's ``{\displaystyle …}`` wrapper, or ``tex`` where it is not one whole group."""
    if not (tex.startswith(("{\\displaystyle", "{\\textstyle")) and tex.endswith("}")):
        return tex
    depth = 0
    escaped = False
    for index, character in enumerate(tex):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0 and index != len(tex) - 1:
                return tex
    if depth:
        return tex
    inner = tex[1:-1]
    style = _STYLE.match(inner)
    return inner[style.end() :].strip(" ") if style else tex


def strip_style(tex: str) -> str:
    r"""Remove the leading ``\displaystyle`` that LaTeXML adds to every cell of an alignment."""
    match = _STYLE.match(tex)
    return tex[match.end() :] if match else tex


def is_display(attributes: dict[str, Any]) -> bool:
    """Return whether a ``math`` element is displayed."""
    return attributes.get("display") == "block" or attributes.get("mode") == "display"


def tex_of_math(node: Any, attributes: dict[str, Any]) -> tuple[str, str]:
    """Return the TeX of a ``math`` element and where it came from: ``alttext``, ``annotation``, ``mathml`` or ``none``."""
    alttext = attributes.get("alttext")
    if alttext and "ltx_Math" in (attributes.get("class") or ""):
        return normalise(alttext), "alttext"
    annotation = _annotation(node)
    if annotation is not None:
        return unwrap_display_style(normalise(annotation)), "annotation"
    source = attributes.get("data-latex")  # MathJax 4
    if source and source.strip():
        return normalise(source), "annotation"
    if alttext and alttext.strip():
        return unwrap_display_style(normalise(alttext)), "alttext"
    tex = to_tex(node)
    return (normalise(tex), "mathml") if tex.strip() else ("", "none")


def _annotation(node: Any) -> str | None:
    child = node.first_child
    while child is not None:
        if child.tag == "semantics":
            inner = child.last_child
            while inner is not None:
                if inner.tag == "annotation":
                    encoding = (inner.attributes.get("encoding") or "").lower()
                    if encoding in _TEX_ENCODINGS:
                        return inner.text() or ""
                inner = inner.prev
        child = child.next
    return None


def split_text(text: str, *, strict: bool) -> list[tuple[str, str]]:
    r"""Split prose with MathJax delimiters into ``("text" | "inline" | "display", content)`` pieces; linear.

    ``$…$``, ``$$…$$``, ``\(…\)``, ``\[…\]`` and ``\begin{align}…\end{align}`` (and its kin) are formulas; ``\$`` is a
    dollar sign. ``strict`` asks of a ``$…$`` pair what Pandoc does, so that amounts of money stay prose.
    """
    if "$" not in text and "\\" not in text:
        return [("text", text)]
    pieces: list[tuple[str, str]] = []
    missing: set[str] = set()
    start = position = 0
    while True:
        match = _OPENERS.search(text, position)
        if match is None:
            break
        token = match.group(0)
        position = match.end()
        if token == "\\$" and not strict:  # MathJax shows the dollar alone
            if match.start() > start:
                pieces.append(("text", text[start : match.start()]))
            start = match.start() + 1
        if token in ("\\\\", "\\$"):
            continue
        kind, begin, end, after = _formula(text, token, match, missing, strict)
        if kind is None:
            continue
        if match.start() > start:
            pieces.append(("text", text[start : match.start()]))
        pieces.append((kind, text[begin:end]))
        start = position = after
    if start < len(text):
        pieces.append(("text", text[start:]))
    return pieces


def _formula(
    text: str, token: str, match: re.Match[str], missing: set[str], strict: bool
) -> tuple[str | None, int, int, int]:
    none = (None, 0, 0, 0)
    begin = match.end()
    if token == "$":
        return _dollars(text, begin, strict)
    if token.startswith("\\begin"):
        if match.group(1).rstrip("*") not in _ENVIRONMENTS:
            return none
        closer, kind = f"\\end{{{match.group(1)}}}", "display"
    else:
        closer, kind = {"$$": ("$$", "display"), "\\[": ("\\]", "display"), "\\(": ("\\)", "inline")}[token]
    if closer in missing:
        return none
    end = text.find(closer, begin)
    if end < 0:
        missing.add(closer)
        return none
    after = end + len(closer)
    if token.startswith("\\begin"):
        return kind, match.start(), after, after
    if not text[begin:end].strip():
        return none
    return kind, begin, end, after


def _dollars(text: str, begin: int, strict: bool) -> tuple[str | None, int, int, int]:
    """Find the ``$`` that closes an inline formula: the first unescaped one outside braces."""
    search = begin
    for _ in range(MAX_DOLLAR_STEPS):
        end = text.find("$", search)
        if end < 0:
            break
        search = end + 1
        if _backslashes(text, end) % 2:
            continue
        content = text[begin:end]
        if not content.strip() or "\n\n" in content:
            break
        if content.replace("\\{", "").count("{") != content.replace("\\}", "").count("}"):
            continue
        if strict:
            follows = text[end + 1 : end + 2]
            if content[0].isspace() or content[-1].isspace() or follows.isdigit():
                break
            if not _MATH_HINT.search(content) and re.search(r"\s", content):
                break
        return "inline", begin, end, end + 1
    return None, 0, 0, 0


def _backslashes(text: str, index: int) -> int:
    count = 0
    while count < index and text[index - 1 - count] == "\\":
        count += 1
    return count
