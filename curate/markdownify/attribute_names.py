"""A guard before the parser: of very many different names of attributes, those that mean nothing are left out.

Lexbor keeps the names of attributes in a table that does not grow and looks for each new one among a part of all before it, so
that 80,000 different ones cost seconds, and twice as many four times that. Real pages have some dozens.
"""

from __future__ import annotations

import re

ATTRIBUTE_NAME = r"[^\t\n\f\r />=]++"
ATTRIBUTE_VALUE = (
    r"""(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"[^"]*+"|'[^']*+'|[^\t\n\f\r >"'][^\t\n\f\r >]*+|(?=>)))?+"""
)
"""What stands in a tag, as expressions that never go back; a value has its equals sign."""
MAX_NAMES = 16384
"""Different names of attributes that a parsed page has at most, those that mean something included."""

_STRIDE, _WINDOW = 1 << 16, 1 << 11
"""Bytes between the beginnings of windows, and of a window, that are looked at in any page."""
_MANY = 128
"""Different names in these windows beyond which all of the page is looked at."""
_KNOWN = frozenset(
    ("abbr", "accept", "accesskey", "action", "align", "alt", "alttext", "annotation", "async", "autocomplete",
     "bevelled", "border", "cellpadding", "cellspacing", "charset", "checked", "cite", "class", "close", "color",
     "cols", "colspan", "columnalign", "columnlines", "columnspacing", "content", "coords", "data", "data-c",
     "data-entry", "data-label", "data-labels", "data-lang", "data-language", "data-latex", "data-lines",
     "data-mathml", "data-mml-node", "data-mw", "data-mw-section-id", "datetime", "dir", "disabled", "display",
     "displaystyle", "encoding", "face", "for", "frame", "headers", "height", "hidden", "href", "hreflang",
     "http-equiv", "id", "itemprop", "itemscope", "itemtype", "label", "lang", "linethickness", "longdesc", "lquote",
     "mathvariant", "max", "media", "method", "min", "name", "notation", "open", "poster", "property", "rel",
     "reversed", "role", "rowlines", "rows", "rowspan", "rquote", "scope", "separators", "size", "span", "src",
     "srcset", "start", "stretchy", "style", "summary", "tabindex", "target", "title", "type", "typeof", "valign",
     "value", "width", "xlink:href", "xml:lang", "xmlns")
)  # fmt: skip
"""Names that are kept however many a page has."""
_START_TAG = re.compile(rb"<[A-Za-z][^<>]*")
_VALUE = re.compile(rb"\"[^\"<]*\"|'[^'<]*'")
_NAME = re.compile(rb"[\t\n\f\r /\"']([^\t\n\f\r />=\"']+)")
_TAG_NAME = re.compile(r"<[^\s/>]*")
_ATTRIBUTE = re.compile(rf"[\t\n\f\r /]*+({ATTRIBUTE_NAME}){ATTRIBUTE_VALUE}")


def has_many_names(page: bytes) -> bool:
    """Return whether the start tags of ``page`` may have more than ``MAX_NAMES`` different names of attributes.

    A page is looked at in windows first, a thirty-second of it; names that are many stand in these, too, unless
    somebody put them between the windows.
    """
    if len(page) < 4 * MAX_NAMES:
        return False
    windows = range(len(page) % _STRIDE % 4096, len(page), _STRIDE)
    sample = b">".join([page[at : at + _WINDOW] for at in windows])
    return len(_names(sample)) > _MANY and len(_names(page)) > MAX_NAMES - len(_KNOWN)


def _names(page: bytes) -> set[bytes]:
    tags = b"".join(_START_TAG.findall(page))
    return set(_NAME.findall(_VALUE.sub(b" ", tags)))


class KeptNames:
    """Which names of attributes a page keeps: those that mean something, and the first of the others."""

    def __init__(self) -> None:
        self._names = set(_KNOWN)

    def of(self, tag: str) -> str:
        """Return a start tag without the attributes whose names are too many."""
        head = _TAG_NAME.match(tag)
        assert head is not None
        kept = [head[0]]
        whole = True
        for attribute in _ATTRIBUTE.finditer(tag, head.end(), len(tag) - 1):
            name = attribute[1].lower()
            if name not in self._names:
                if len(self._names) >= MAX_NAMES:
                    whole = False
                    continue
                self._names.add(name)
            kept.append(" " + attribute[0].lstrip("\t\n\f\r /"))
        if whole:
            return tag
        kept.append(" />" if tag.endswith("/>") else ">")
        return "".join(kept)
