"""Presentation MathML to TeX, for pages that carry no TeX at all; iterative, linear for bounded depth.

Source: MathML Core and the presentation elements of MathML 3, in the spelling that LaTeX with amsmath reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tootsie.curate.markdownify.math_rows import Piece, row, table, table_row
from tootsie.curate.markdownify.math_symbols import (
    ARROWS,
    FUNCTIONS,
    INTEGRALS,
    LIMIT_FUNCTIONS,
    LIMITS,
    OVER,
    SYMBOLS,
    UNDER,
    plain,
    styled,
)

_SKIP = frozenset(("annotation", "annotation-xml", "maligngroup", "malignmark", "script", "style"))
_ROWS = frozenset(("math", "mrow", "mstyle", "mpadded", "merror", "msqrt", "menclose", "mphantom", "mtd"))
_TEXT = {
    **{c: f"\\{c}" for c in "%#&$_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
}
_ATOM = re.compile(r"\\[A-Za-z]+ ?|\\[A-Za-z]+\{[^{}]*\}|\\[^A-Za-z]|.?", re.DOTALL)
_NEEDLESS_SPACE = re.compile(r"(\\[A-Za-z]+) (?![A-Za-z])")
_SAME_FONT = re.compile(r"\\(math(?:rm|bf|it|sf|tt|bb|cal|frak))\{[A-Za-z]+(?:\}\\\1\{[A-Za-z]+)+(?=\})")
_EM = re.compile(r"\s*(-?\d*\.?\d+)\s*em\s*")
_SPACES = (
    (1.9, "\\qquad "),
    (0.9, "\\quad "),
    (0.45, "\\enspace "),
    (0.25, "\\;"),
    (0.2, "\\:"),
    (0.1, "\\,"),
)
_NAMED_SPACES = {
    "negativethinmathspace": -0.17, "negativemediummathspace": -0.22, "negativethickmathspace": -0.28, "thinmathspace": 0.17,
    "mediummathspace": 0.22, "thickmathspace": 0.28, "veryverythickmathspace": 0.39,
}  # fmt: skip
_FACES = {"bold": "textbf", "italic": "textit", "monospace": "texttt", "sans-serif": "textsf"}
_ROMAN = re.compile(r"\\mathrm\{([A-Za-z]+)\}")
_BLANK = re.compile(r"[ \t\r\n\f]+")
_ENCLOSURES = {"box": "boxed", "roundedbox": "boxed", "updiagonalstrike": "cancel", "downdiagonalstrike": "bcancel",
               "horizontalstrike": "sout", "top": "overline", "bottom": "underline", "radical": "sqrt"}  # fmt: skip


def to_tex(root: Any) -> str:
    """Return TeX for the ``math`` element ``root``; unknown elements give their content."""
    # Post-order walk: each open element collects the pieces of its children.
    open_: list[list[Piece]] = [[]]
    node = root.first_child
    while node is not None:
        tag = node.tag
        if tag == "-text":
            open_[-1].append(Piece(node.text_content or "", "-text"))
        elif tag is not None and tag[0] != "-" and tag not in _SKIP:
            if node.first_child is not None:
                open_.append([])
                node = node.first_child
                continue
            open_[-1].append(_element(tag, [], node.attributes))
        while node.next is None:
            if len(open_) == 1:
                return _tidy(row(_children(open_[0])))
            node = node.parent
            done = open_.pop()
            open_[-1].append(_element(node.tag, done, node.attributes))
        node = node.next
    return ""


def _tidy(tex: str) -> str:
    """Leave out needless spaces; join letters of one font that stand side by side."""
    tex = _NEEDLESS_SPACE.sub(r"\1", tex).strip(" ")
    return _SAME_FONT.sub(lambda run: run[0].replace(f"}}\\{run[1]}{{", ""), tex)


def _children(parts: list[Piece]) -> list[Piece]:
    """Return the pieces without white space between them; stray text counts as ``mtext``."""
    return [
        Piece(_text(part.tex), "mtext") if part.tag == "-text" else part
        for part in parts
        if part.tag != "-text" or part.tex.strip()
    ]


def _element(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    if tag in ("mi", "mn", "mo", "mtext", "ms"):
        if all(part.tag == "-text" for part in parts):
            return _token(tag, "".join(part.tex for part in parts), attributes)
        tex = row(_children(parts)).strip(" ")  # a row or HTML in a token, which browsers show
        name = _ROMAN.fullmatch(_tidy(tex)) if tag == "mo" else None
        return Piece(f"\\operatorname{{{name[1]}}}" if name else tex, "mrow")
    parts = _children(parts)
    if tag in _ROWS:
        return _styled_row(tag, parts, attributes)
    rule = _RULES.get(tag)
    if rule is None:
        return Piece(row(parts), "mrow", tall=any(part.tall for part in parts))
    return rule(tag, parts, attributes)


# -- tokens


def _token(tag: str, text: str, attributes: dict[str, Any]) -> Piece:
    text = _BLANK.sub(" ", text).strip(" ")
    variant = attributes.get("mathvariant") or ""
    if tag == "ms":
        text = (attributes.get("lquote") or '"') + text + (attributes.get("rquote") or '"')
    if tag in ("mtext", "ms"):
        if not text.strip("\u00a0 \u2003\u2002\u2009\u200b"):
            return Piece("".join(SYMBOLS.get(c, " ").replace("~", "\\ ") for c in text) or " ", "mspace")
        if text == "⧸":
            return Piece("\\not ", "not")
        return Piece(_text(text, _FACES.get(variant, "text")), tag)
    if tag != "mn" and len(text) > 1 and text.replace(" ", "").isalpha() and text.isascii():
        if text in FUNCTIONS:
            return Piece(f"\\{text} ", "mo" if text in LIMIT_FUNCTIONS else "mi", text)
        if tag == "mo" or variant in ("", "normal"):
            return Piece(
                f"\\{'operatorname' if tag == 'mo' else 'mathrm'}{{{text.replace(' ', '~')}}}", tag, text
            )
        return Piece(styled(text, variant), tag, text)
    if variant == "normal" and not (len(text) == 1 and text.isascii() and text.isalpha()):
        variant = ""
    return Piece(
        _characters(text, variant), tag, text, attributes=attributes, tall=text in LIMITS or text in INTEGRALS
    )


def _characters(text: str, variant: str) -> str:
    """Return TeX for the characters of a token, those of one alphabet in one command."""
    out: list[str] = []
    run: list[str] = []
    font = ""
    for character in text:
        base, own = (character, "") if character in SYMBOLS else plain(character)
        own = own or variant
        if own == "italic" and not variant:
            own = ""  # what TeX does anyway
        if own != font and run:
            out.append(styled("".join(run), font))
            run = []
        font = own
        run.append(SYMBOLS.get(base, base))
    out.append(styled("".join(run), font) if run else "")
    return "".join(out)


def _text(text: str, command: str = "text") -> str:
    return f"\\{command}{{{escape_tex(text)}}}"


def escape_tex(text: str) -> str:
    """Write characters of text so that TeX prints them."""
    return "".join(_TEXT.get(character, character) for character in text.replace("\u00a0", " "))


# -- rows


def _styled_row(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    tall = any(part.tall for part in parts)
    if len(parts) == 1 and tag in ("mrow", "mstyle", "mpadded", "math") and attributes.get("width") != "0":
        return parts[0]
    if tag == "mpadded" and attributes.get("width") == "0" and [part.tag for part in parts] == ["not"]:
        return parts[0]
    tex = row(parts).strip(" ")
    if tag == "msqrt":
        return Piece(f"\\sqrt{{{tex}}}", tag, tall=tall)
    if tag == "mphantom":
        return Piece(f"\\phantom{{{tex}}}" if tex else "", tag)
    if tag == "menclose":
        names = (attributes.get("notation") or "longdiv").split()
        if {"updiagonalstrike", "downdiagonalstrike"} <= set(names):
            tex, names = f"\\xcancel{{{tex}}}", []
        if {"top", "bottom", "left", "right"} <= set(names):
            names = ["box"]
        for name in names:
            tex = f"\\{_ENCLOSURES[name]}{{{tex}}}" if name in _ENCLOSURES else tex
        return Piece(tex, tag, tall=tall)
    return Piece(tex, tag if tag == "mtd" else "mrow", tall=tall, attributes=attributes)


def _fenced(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    opening, closing = (attributes.get("open") or "", attributes.get("close") or "")
    opening = opening.strip() if "open" in attributes else "("
    closing = closing.strip() if "close" in attributes else ")"
    separators = (attributes.get("separators") or "").split() if "separators" in attributes else [","]
    separators = list("".join(separators))
    inner: list[Piece] = []
    for index, part in enumerate(parts):
        if index and separators:
            inner.append(_operator(separators[min(index - 1, len(separators) - 1)]))
        inner.append(part)
    edges = [_operator(opening)] if opening else [], [_operator(closing)] if closing else []
    tall = any(part.tall for part in inner)
    if len(inner) == 1 and inner[0].tag in ("mtable", "stack"):
        return Piece(row(edges[0] + inner + edges[1]), "mrow", tall=True)
    tex = row(inner)
    left, right = (edge[0].tex if edge else "" for edge in edges)
    if tall:
        return Piece(f"\\left{left or '.'}{tex}\\right{right or '.'}", "mrow", tall=True)
    return Piece(f"{left}{tex}{right}", "mrow")


def _operator(text: str) -> Piece:
    return Piece(_characters(text, ""), "mo", text)


# -- fractions, roots, scripts


def _group(part: Piece) -> str:
    return row([part]).strip(" ")


def _base(part: Piece) -> str:
    """Return what scripts may follow: one atom, or a group."""
    tex = row([part])
    atom = _ATOM.fullmatch(tex) is not None or part.tag == "mn" or part.character in LIMIT_FUNCTIONS
    return (tex or "{}") if atom and tex != "\\not " else f"{{{tex.strip(' ')}}}"


def _fraction(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    if len(parts) != 2:
        return Piece(row(parts), "mrow", tall=True)
    over, under = map(_group, parts)
    thickness = re.match(r"\s*0*\.?0*(?![\d.])", attributes.get("linethickness") or "1")
    if thickness is not None and thickness.group().strip():
        return Piece(f"{{{over}}}{{{under}}}", "stack", tall=True)
    if attributes.get("bevelled") == "true":
        return Piece(f"{{{over}}}/{{{under}}}", "mrow")
    return Piece(f"\\frac{{{over}}}{{{under}}}", tag, tall=True)


def _root(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    if len(parts) != 2:
        return Piece(f"\\sqrt{{{row(parts).strip(' ')}}}", tag, tall=True)
    index = _group(parts[1])
    index = f"{{{index}}}" if "]" in index else index
    return Piece(f"\\sqrt[{index}]{{{_group(parts[0])}}}", tag, tall=True)


def _scripts(base: str, lower: str, upper: str) -> str:
    """Attach scripts; primes as primes."""
    primes = upper.replace("\\prime ", "'").replace("\\prime", "'")
    tex = base + (primes if primes and not primes.strip("'") else "")
    tex += f"_{{{lower}}}" if lower else ""
    return tex + (f"^{{{upper}}}" if upper and primes.strip("'") else "")


def _script(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    if len(parts) != (3 if tag in ("msubsup", "munderover") else 2):
        return Piece(row(parts), "mrow")
    base = parts[0]
    lower = _group(parts[1]) if tag not in ("msup", "mover") else ""
    upper = _group(parts[-1]) if tag not in ("msub", "munder") else ""
    tall = base.tall
    if tag.startswith("ms"):
        return Piece(_scripts(_base(base), lower, upper), tag, tall=tall)
    below, above = parts[1].character, parts[-1].character
    braced = base.tex.startswith("\\underbrace{" if tag == "munder" else "\\overbrace{")
    if tag == "mover" and above in OVER:
        narrow, wide = OVER[above]
        single = _ATOM.fullmatch(row([base])) is not None
        return Piece(f"\\{narrow if single else wide}{{{_group(base)}}}", tag, tall=tall)
    if tag == "munder" and below in UNDER:
        return Piece(f"\\{UNDER[below]}{{{_group(base)}}}", tag, tall=tall)
    if braced and base.tag == tag:
        return Piece(_scripts(base.tex, lower, upper), "mrow", tall=True)
    if base.character in ARROWS:
        under = f"[{lower}]" if lower else ""
        return Piece(f"\\{ARROWS[base.character]}{under}{{{upper}}}", tag)
    if base.character in LIMITS or base.character in LIMIT_FUNCTIONS:
        return Piece(_scripts(base.tex.strip(" "), lower, upper), tag, tall=tall)
    if base.character in INTEGRALS or base.tex.startswith("\\operatorname{"):
        limits = "\\limits" if base.character in INTEGRALS else ""
        name = base.tex.strip(" ").replace("\\operatorname{", "\\operatorname*{", 1)
        return Piece(_scripts(name + limits, lower, upper), tag, tall=tall)
    tex = _group(base)
    tex = f"\\underset{{{lower}}}{{{tex}}}" if lower else tex
    return Piece(f"\\overset{{{upper}}}{{{tex}}}" if upper else tex, tag, tall=True)


def _multiscripts(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    if not parts:
        return Piece("", tag)
    split = next((index for index, part in enumerate(parts) if part.tag == "mprescripts"), len(parts))
    groups = []
    for scripts in (parts[split + 1 :], parts[1:split]):
        pairs = [
            _scripts("", _group(scripts[i]), _group(scripts[i + 1]) if i + 1 < len(scripts) else "")
            for i in range(0, len(scripts), 2)
        ]
        groups.append("{}".join(pair for pair in pairs if pair))
    before = "{}" + groups[0] if groups[0] else ""
    return Piece(before + _base(parts[0]) + groups[1], "mrow", tall=parts[0].tall)


# -- the rest


def _space(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    width = (attributes.get("width") or "").strip()
    match = _EM.fullmatch(width)
    em = float(match.group(1)) if match else _NAMED_SPACES.get(width, 0.0)
    if em < -0.1:
        return Piece("\\!", "mspace")
    return Piece(next((tex for least, tex in _SPACES if em >= least), " "), "mspace")


def _choice(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    """``semantics`` shows its first child, ``maction`` the one that is selected."""
    number = attributes.get("selection") or "1"
    index = int(number) - 1 if number.isascii() and number.isdigit() and len(number) < 6 else 0
    return parts[index] if index < len(parts) else (parts[0] if parts else Piece(""))


def _empty(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    return Piece("", tag)


def _glyph(tag: str, parts: list[Piece], attributes: dict[str, Any]) -> Piece:
    return Piece(_text(attributes["alt"]) if attributes.get("alt") else "", tag)


_RULES: dict[str, Callable[[str, list[Piece], dict[str, Any]], Piece]] = {
    "mfrac": _fraction, "mroot": _root, "mfenced": _fenced, "mmultiscripts": _multiscripts,
    **dict.fromkeys(("msub", "msup", "msubsup", "munder", "mover", "munderover"), _script),
    "mtr": table_row, "mlabeledtr": table_row, "mtable": table, "mspace": _space, "mglyph": _glyph,
    "semantics": _choice, "maction": _choice, "none": _empty, "mprescripts": _empty,
}  # fmt: skip
