"""Formulas that MathJax 3 has rendered and of which only the rendering is left: its element names tell the MathML.

CHTML output is a tree of ``mjx-mi``, ``mjx-mfrac`` …, SVG output one of ``g[data-mml-node=mi]`` …; the characters are
classes (``mjx-c1D465``) or ``data-c``. Source: MathJax 3.2, ``ts/output/chtml/Wrappers`` and ``ts/output/svg/Wrappers``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.markdownify.escaping import escape_html
from tootsie.curate.markdownify.mathml import to_tex

_CLASS = re.compile(r"(?:^|\s)mjx-c([0-9A-F]{1,6})(?:\s|$)")
_ALIGN = re.compile(r"text-align:\s*(left|right)")
_TOKENS = frozenset(("mi", "mn", "mo", "ms", "mtext"))
_ROLES = frozenset(("over", "under", "base", "root", "labels"))
_KEPT = frozenset(
    ("mrow", "mphantom", "mtd", "mstyle", "mpadded", "merror", "mfrac", "msqrt", "mtr", "menclose")
)
_UNKNOWN = frozenset(("mmultiscripts",))
# Tall fences and braces are built from pieces.
_PIECES = {
    **dict.fromkeys("⎛⎜⎝", "("), **dict.fromkeys("⎞⎟⎠", ")"), **dict.fromkeys("⎡⎢⎣", "["), **dict.fromkeys("⎤⎥⎦", "]"),
    **dict.fromkeys("⎧⎨⎩⎪", "{"), **dict.fromkeys("⎫⎬⎭", "}"), "\ue150": "⏞", "\ue151": "⏞", "\ue152": "⏟", "\ue153": "⏟",
    "\ue154": "", "\ue155": "", "\ue156": "", "\ue157": "",
}  # fmt: skip


@dataclass(slots=True)
class _Part:
    """What one element amounts to: MathML, and which place in its parent it takes."""

    xml: str
    name: str = ""
    role: str = ""
    labelled: bool = False


class _UnknownRenderingError(Exception):
    """The rendering has an element whose structure cannot be told."""


def tex_of_rendering(container: Any) -> str:
    """Return the TeX of a rendered formula (``mjx-container``); empty when its structure cannot be told."""
    try:
        mathml = _mathml(container)
    except _UnknownRenderingError:
        return ""
    root = LexborHTMLParser(f"<body><math>{mathml}</math>").css_first("math")
    return to_tex(root) if root is not None else ""


def _mathml(container: Any) -> str:
    """Return the MathML inside ``math``; post-order, iterative."""
    open_: list[list[_Part]] = [[]]
    node = container.first_child
    while node is not None:
        tag = node.tag
        if tag == "-text":
            open_[-1].append(_Part(node.text_content or "", "-text"))
        elif tag is not None and tag[0] != "-":
            if node.first_child is not None:
                open_.append([])
                node = node.first_child
                continue
            open_[-1].extend(_close(node, []))
        while node.next is None:
            if len(open_) == 1:
                return "".join(part.xml for part in open_[0] if part.name != "-text")
            node = node.parent
            parts = open_.pop()
            open_[-1].extend(_close(node, parts))
        node = node.next
    return ""


def _close(node: Any, parts: list[_Part]) -> list[_Part]:
    tag, attributes = node.tag, node.attributes
    character = _character(attributes)
    if character is not None:
        return [_Part(character, "-text")]
    name = tag[4:] if tag.startswith("mjx-") else (attributes.get("data-mml-node") or "").lower()
    if name in _UNKNOWN:
        raise _UnknownRenderingError
    if name in _TOKENS:
        return [_token(name, "".join(part.xml for part in parts if part.name == "-text"))]
    if tag in ("mjx-utext", "text", "mjx-c") or (not name and all(part.name == "-text" for part in parts)):
        return parts  # the characters of a token
    parts = [part for part in parts if part.name != "-text"]
    if name == "texatom":
        name = "mrow"
    if name == "surd":
        return []
    if attributes.get("data-labels") == "true" and tag == "svg":
        name = "labels"
    if name == "script":
        return [_Part(part.xml, part.name, "script") for part in parts]
    if name in _ROLES:
        return [_Part(_row(parts), name, name)] if name != "labels" else _labels(parts)
    if name == "munder" and node.parent.tag == "mjx-box":
        return parts  # the lower half of munderover
    if name in ("num", "den"):
        return [_Part(_row(parts), "mrow")]
    return _element(name, parts, node, attributes)


def _element(name: str, parts: list[_Part], node: Any, attributes: dict[str, Any]) -> list[_Part]:
    by_role: dict[str, _Part] = {part.role: part for part in parts if part.role}
    plain = [part.xml for part in parts if not part.role]
    scripts = [part.xml for part in parts if part.role == "script"]
    if name in ("msub", "msup", "msubsup", "munder", "mover", "munderover"):
        base = by_role["base"].xml if "base" in by_role else (plain[0] if plain else "<mrow></mrow>")
        if "over" in by_role or "under" in by_role:
            marks = [by_role[role].xml for role in ("under", "over") if role in by_role]
        elif scripts:
            marks = scripts[::-1]  # the upper one comes first
        else:  # SVG
            marks = plain[1:][::-1] if name == "msubsup" else plain[1:]
        return [_Part(f"<{name}>{base}{''.join(marks)}</{name}>", name)]
    if name == "mroot":
        index = by_role["root"].xml if "root" in by_role else (plain.pop(1) if len(plain) > 1 else "")
        content = "".join(xml for xml in plain if xml != _SURD)
        return [_Part(f"<mroot><mrow>{content}</mrow>{index}</mroot>", name)]
    if name == "frac" and attributes.get("atop") == "true":
        return [_Part("".join(plain), "atop")]
    if name in ("mtr", "mlabeledtr"):
        return [_Part(f"<mtr>{''.join(plain)}</mtr>", "mtr", labelled=name == "mlabeledtr")]
    if name == "mtable":
        return [_Part(f"<mtable>{''.join(_rows(parts))}</mtable>", name)]
    if name in _KEPT:
        content = "".join(xml for xml in plain if not (name == "msqrt" and xml == _SURD))
        return [_Part(f"<{name}{_attributes(name, parts, node)}>{content}</{name}>", name)]
    return parts  # boxes and struts


def _attributes(name: str, parts: list[_Part], node: Any) -> str:
    if name == "mtd":
        match = _ALIGN.search(node.attributes.get("style") or "")
        return f' columnalign="{match[1]}"' if match else ""
    atop = any(part.name == "atop" for part in parts) or (node.tag == "g" and _child(node, "rect") is None)
    return ' linethickness="0"' if name == "mfrac" and atop else ""


def _child(node: Any, tag: str) -> Any:
    child = node.first_child
    while child is not None and child.tag != tag:
        child = child.next
    return child


_SURD = "<mo>√</mo>"


def _labels(parts: list[_Part]) -> list[_Part]:
    cells = [part.xml.removeprefix("<mtr>").removesuffix("</mtr>") for part in parts]
    return [_Part(xml, "mtd", "label") for xml in cells if xml]


def _rows(parts: list[_Part]) -> list[str]:
    """Return the rows of a table, the labels at the head of theirs."""
    labels = iter([part.xml for part in parts if part.role == "label"])
    rows = []
    for part in parts:
        if part.name != "mtr":
            continue
        label = next(labels, "") if part.labelled else ""
        inside = part.xml.removeprefix("<mtr>").removesuffix("</mtr>")
        rows.append(f"<mlabeledtr>{label}{inside}</mlabeledtr>" if label else part.xml)
    return rows


def _row(parts: list[_Part]) -> str:
    return parts[0].xml if len(parts) == 1 else f"<mrow>{''.join(part.xml for part in parts)}</mrow>"


def _token(name: str, text: str) -> _Part:
    pieces = {_PIECES[character] for character in text if character in _PIECES} - {""}
    if name == "mo" and pieces:
        text = min(pieces)
    # Variables are slanted in MathJax's fonts, so that an upright letter was meant to be upright.
    upright = name == "mi" and len(text) == 1 and text.isascii() and text.isalpha()
    variant = ' mathvariant="normal"' if upright else ""
    return _Part(f"<{name}{variant}>{escape_html(text)}</{name}>", name)


def _character(attributes: dict[str, Any]) -> str | None:
    """Return the character that an element draws, ``None`` when it is none."""
    code = attributes.get("data-c")
    if code is None:
        match = _CLASS.search(attributes.get("class") or "")
        code = match.group(1) if match else None
    if not code or re.fullmatch(r"[0-9A-Fa-f]{1,6}", code) is None:
        return None
    number = int(code, 16)
    return chr(number) if 0x20 <= number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else ""
