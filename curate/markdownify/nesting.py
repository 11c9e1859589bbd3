"""A guard before the parser: pages whose nesting would cost more than linear time are flattened first.

HTML5's tree construction searches its stack of open elements at every block (quadratic in the depth), and re-opens every
unclosed formatting element in every paragraph (a page of a few hundred kB can ask for gigabytes of nodes). Lexbor keeps the
names of tags and attributes in tables that do not grow, so that many different ones cost more than linear time, too.
A page below the limits passes untouched; above, it is rewritten with explicit end tags and without the elements that
lie too deep or whose names are too many. Their text stays.
"""

from __future__ import annotations

import re
import string
from typing import Any

import numpy as np
import numpy.typing as npt

from tootsie.curate.markdownify.attribute_names import (
    ATTRIBUTE_NAME,
    ATTRIBUTE_VALUE,
    KeptNames,
    has_many_names,
)
from tootsie.curate.markdownify.tag_pairs import hidden_ends, name_words, unpaired_ends

_VOID = frozenset(
    ("area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param",
     "source", "track", "wbr")
)  # fmt: skip
FORMATTING = frozenset(
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)
"""Elements that HTML opens again in each paragraph until they are closed."""
RAW = frozenset(["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "plaintext"])
"""Elements in which there are no tags but their own end."""
_BREAKOUT = frozenset(
    ("b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed",
     "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta",
     "nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table",
     "tt", "u", "ul", "var")
)  # fmt: skip
_INTEGRATION = frozenset(
    ("mi", "mo", "mn", "ms", "mtext", "annotation-xml", "foreignobject", "desc", "title")
)  # fmt: skip
_CLOSES = {  # an end tag implied by the start of one of these
    "p": frozenset(
        [
            "address",
            "article",
            "aside",
            "blockquote",
            "center",
            "details",
            "dialog",
            "dir",
            "div",
            "dl",
            "fieldset",
            "figcaption",
            "figure",
            "footer",
            "form",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "header",
            "hr",
            "main",
            "menu",
            "nav",
            "ol",
            "p",
            "pre",
            "section",
            "table",
            "ul",
            "li",
            "dd",
            "dt",
            "td",
            "th",
            "tr",
        ]
    ),
    "li": frozenset(["li"]),
    "dt": frozenset(["dt", "dd"]),
    "dd": frozenset(["dt", "dd"]),
    "option": frozenset(["option", "optgroup"]),
    "td": frozenset(["td", "th", "tr", "tbody", "thead", "tfoot"]),
    "th": frozenset(["td", "th", "tr", "tbody", "thead", "tfoot"]),
    "tr": frozenset(["tr", "tbody", "thead", "tfoot"]),
    "rt": frozenset(["rt", "rp"]),
    "rp": frozenset(["rt", "rp"]),
}
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)|<!--")
_TAG_END = re.compile(rf"(?:[\t\n\f\r /]++|{ATTRIBUTE_NAME}{ATTRIBUTE_VALUE})*+>")
_ODD_TAG_END = re.compile(rf"(?:[\t\n\f\r /]++|{ATTRIBUTE_NAME}{ATTRIBUTE_VALUE}|=)*+>")
"""Takes a quotation mark that is never closed as part of a name."""
_MARKUP = re.compile(r"<[A-Za-z/!]")
_DROPPED = frozenset(
    ("audio", "button", "canvas", "datalist", "math", "mjx-container", "noscript", "object", "select", "svg", "template",
     "video")
)  # fmt: skip
NOT_READ = _DROPPED | RAW
"""Elements whose content is not read, or is no text: left open, they would take the rest of the page with them."""
COMMENT_END = re.compile(r"(?<=<!-)-?>|--!?>")
"""From the second hyphen at a comment's start on."""
_HIDES = re.compile(r"[\s\"'](?:hidden|style\s*=)", re.IGNORECASE)
MAX_UNCLOSED = 64
"""Formatting elements left open at one point of an untouched page."""
MAX_TRUSTED = 8192
"""Tags of a page whose end tags are taken to end something; fewer cost at most a tenth of a second more."""
MAX_REOPENED = 8
"""Formatting elements that may lie in each other in a rewritten page."""
MAX_OPTIONS = 500
"""Options of a page whose selects keep theirs; parsers look through all of a select at each."""
MAX_NAMES = 16384
"""Different names of tags in a page; Lexbor looks for each new one among a part of all before it."""
MAX_ATTRIBUTES = 300
"""Attributes of one tag; parsers compare each with all before it."""
_NAMES = frozenset(
    ("abbr", "annotation", "article", "aside", "bdi", "bdo", "caption", "cite", "colgroup", "data", "del", "details",
     "dfn", "dialog", "dir", "figcaption", "figure", "footer", "form", "frameset", "header", "hgroup", "html", "image",
     "ins", "kbd", "label", "legend", "main", "maction", "map", "mark", "math-renderer", "menclose", "merror", "mfenced", "mfrac",
     "mmultiscripts", "mover", "mpadded", "mphantom", "mprescripts", "mroot", "mrow", "mspace", "msqrt", "mstyle", "msub",
     "msubsup", "msup", "mtable", "mtd", "mtr", "munder", "munderover", "nav", "none", "optgroup", "option", "output",
     "picture", "progress", "q", "rb", "rp", "rt", "rtc", "samp", "search", "section", "semantics", "slot", "strike",
     "summary", "tbody", "td", "tfoot", "th", "thead", "time", "tr")
).union(_VOID, FORMATTING, RAW, _BREAKOUT, _INTEGRATION, _DROPPED, _CLOSES, *_CLOSES.values())  # fmt: skip
"""Names that are no stranger's: however many a page has, these keep their meaning."""
_LONG_TAG = 4 * MAX_ATTRIBUTES
_QUOTED_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'")
_WHITE = re.compile(r"[\s/]+")
_SMALL = 1 << 12
"""Bytes of a page below which counting costs less than arrays do."""
_LONG_NAME = re.compile(rb"</?([A-Za-z][^\t\n\f\r />]{7,})")
_SHORT = 1 << 12
"""Bytes of a page too short for its attributes to matter."""

# Tags are told apart by the eight bytes that follow their "<", as one integer: a page has too many for a loop.
_BYTE, _LOWER = np.uint64(0xFF), np.uint64(0x2020202020202020)
_NAME_END = np.isin(np.arange(256), list(b"\t\n\f\r />"))
_LETTER = np.isin(np.arange(256), list(map(ord, string.ascii_letters)))
_SURELY_FORMATTING, _MAYBE_FORMATTING, _MAYBE_VOID, _MAYBE_OPTION = 1, 2, 4, 8
_ANY_FORMATTING = _SURELY_FORMATTING | _MAYBE_FORMATTING
_START, _END = 16, 32
_STEPS = np.zeros(64, np.int8)
"""What a start tag and an end tag do to the depth."""
_STEPS[_START], _STEPS[_END] = 1, -1


def _pairs() -> npt.NDArray[np.uint8]:
    """Return what each pair of bytes behind a ``<`` may lead to, as flags."""
    table = np.zeros((256, 256), np.uint8)  # second byte, first byte
    table[:, _LETTER] = _START
    table[_LETTER, ord("/")] = _END
    for names, flag in ((FORMATTING, _MAYBE_FORMATTING), (_VOID, _MAYBE_VOID), (("option",), _MAYBE_OPTION)):
        for name in names:
            for first in {ord(name[0]), ord(name[0].upper())}:
                if len(name) == 1:
                    table[_NAME_END, first] |= _SURELY_FORMATTING
                else:
                    for second in {ord(name[1]), ord(name[1].upper())}:
                        table[second, first] |= flag
    return table.ravel()


_PAIRS = _pairs()


def is_deep(page: bytes, max_depth: int) -> bool:
    """Return whether ``page`` may nest deeper than ``max_depth``, leave many formatting elements open or have too many names."""
    long = len(page) > _SHORT
    if long and (_has_long_tag(page) or has_many_names(page)):
        return True
    if len(page) < _SMALL:
        tags = page.count(b"<")
        if tags <= MAX_UNCLOSED or tags - page.count(b"</") <= MAX_UNCLOSED:
            return False
    padded = page + bytes(9)
    codes = np.frombuffer(padded, np.uint8)
    marks = (codes == ord("<")).nonzero()[0]
    pairs = _view(padded, "<u2")
    kinds = _PAIRS[pairs[marks + 1]]
    starts = np.count_nonzero(kinds & _START)
    if (
        starts <= max_depth
        and len(marks) <= MAX_NAMES
        and np.count_nonzero(kinds & _ANY_FORMATTING) <= MAX_UNCLOSED
    ):
        return False  # whatever its end tags end
    if long and np.count_nonzero(kinds & _MAYBE_OPTION) > MAX_OPTIONS < page.count(b"<option"):
        return True
    tags = kinds & (_START | _END)
    steps = _STEPS[tags]
    unpaired = np.zeros(0, np.intp)
    if len(marks) > MAX_TRUSTED < np.count_nonzero(tags):
        others, marks = marks[tags == 0], marks[tags != 0]
        kinds, steps = kinds[tags != 0], steps[tags != 0]
        ends = steps < 0
        names = marks + 1 + ends
        words, lengths = name_words(_view(padded, "<u8")[names])
        if len(words) > MAX_NAMES and _has_many_names(page, words, lengths):
            return True
        hidden = hidden_ends(padded, names, ends, words, lengths, others, (codes == ord(">")).nonzero()[0])
        unpaired = unpaired_ends(words, ends, hidden)
        steps[hidden] = 0
        max_depth -= len(unpaired)
    if starts > max_depth and _peak(steps) > max_depth:
        voids = (kinds & _MAYBE_VOID).nonzero()[0]
        nesting = steps.copy()
        nesting[voids[_named(_view(padded, "<u8")[marks[voids] + 1], _VOID)]] = 0
        if _peak(nesting) > max_depth:
            return True
    ending = (kinds & _END).nonzero()[0]
    kinds[ending] |= _PAIRS[pairs[marks[ending] + 2]] & _ANY_FORMATTING
    formatting = (kinds & _SURELY_FORMATTING) != 0
    maybe = (kinds & _MAYBE_FORMATTING).nonzero()[0]
    if len(unpaired) + _peak(steps[formatting]) + np.count_nonzero(kinds[maybe] & _START) <= MAX_UNCLOSED:
        return False
    names = marks[maybe] + 1 + ((kinds[maybe] & _END) != 0)
    formatting[maybe] = _named(_view(padded, "<u8")[names], FORMATTING)
    return int(np.count_nonzero(formatting[unpaired])) + _peak(steps[formatting]) > MAX_UNCLOSED


def _has_many_names(page: bytes, words: npt.NDArray[np.uint64], lengths: npt.NDArray[np.intp]) -> bool:
    """Return whether the tags of a page may have more than ``MAX_NAMES``; longer ones are looked at where they are many."""
    ordered = np.sort(words[lengths < 8])
    short = int(np.count_nonzero(ordered[1:] != ordered[:-1])) + (len(ordered) > 0)
    return (
        short + len(words) - len(ordered) > MAX_NAMES
        and short + len(set(_LONG_NAME.findall(page))) > MAX_NAMES
    )


def _view(padded: bytes, kind: str) -> npt.NDArray[Any]:
    """Return the integer that begins at each byte of a page with nine bytes of padding."""
    return np.ndarray((len(padded) - 8,), kind, buffer=padded, strides=(1,))


def _named(words: npt.NDArray[np.uint64], names: frozenset[str]) -> npt.NDArray[np.bool_]:
    """Return which ``words`` begin with one of ``names`` and its end; names longer than seven bytes do not count."""
    lower = words | _LOWER
    found = np.zeros(len(words), np.bool_)
    for name in names:
        bits = 8 * len(name)
        if 8 < bits < 64:
            mask, value = np.uint64((1 << bits) - 1), np.uint64(int.from_bytes(name.encode(), "little"))
            places = ((lower & mask) == value).nonzero()[0]
            found[places] |= _NAME_END[(words[places] >> np.uint64(bits)) & _BYTE]
    return found


def _peak(steps: npt.NDArray[np.int8]) -> int:
    """Return the highest level that ``steps`` up and down reach; the ground is 0, whatever goes below stays there."""
    level = steps.cumsum(dtype=np.int32)
    if level.min(initial=0) == 0:
        return int(level.max(initial=0))
    lowest = np.minimum(np.minimum.accumulate(level), 0)
    return int((level - lowest).max(initial=0))


def _has_long_tag(page: bytes) -> bool:
    """Return whether a tag may have more than ``MAX_ATTRIBUTES``: only those are counted that have room for them."""
    before = -1
    read = double = single = 0  # how far, and the quotation marks since the last "<" there
    while before + _LONG_TAG < len(page):
        near = page.rfind(b">", before + 1, before + 1 + _LONG_TAG)
        if near >= 0:
            before = near
            continue
        end = page.find(b">", before + 1 + _LONG_TAG)
        end = len(page) if end < 0 else end
        start = page.find(b"<", before + 1, end)
        if start < 0:  # text, unless the ">" before it stands in quotation marks
            opened = page.rfind(b"<", read, max(before, 0))
            if opened >= 0:
                read, double, single = opened + 1, 0, 0
            double += page.count(b'"', read, max(before, 0))
            single += page.count(b"'", read, max(before, 0))
            read = max(before, 0)
            start = before if double % 2 or single % 2 else -1
        if start >= 0 and end - start > _LONG_TAG and _attributes(page[start:end].decode()) > MAX_ATTRIBUTES:
            return True
        before = end
    return False


def _attributes(tag: str) -> int:
    """Return how many attributes ``tag`` may have, at most."""
    return len(_WHITE.findall(_QUOTED_VALUE.sub(" ", tag)))


def shallow(html: str, max_depth: int) -> bytes:
    """Return a page within a page (formulas in scripts and attributes) as it can be parsed."""
    page = html.encode()
    return flatten(html, max_depth)[0].encode() if is_deep(page, max_depth) else page


def flatten(
    html: str, max_depth: int, *, unwrap: bool = False, end_emphasis: bool = False
) -> tuple[str, int]:
    """Rewrite ``html`` with balanced tags, at most ``max_depth`` deep and of at most ``MAX_NAMES`` names of each kind.

    A comment that does not end takes only what stands before its first ``>``, a script only what stands before a tag.

    Args:
      html: the page.
      max_depth: elements in each other that are kept.
      unwrap: of an element that does not end and whose content would not be read, keep the content alone.
      end_emphasis: formatting elements end with the block they began in, also where that has no end tag.

    Returns:
      The page, and how many start tags were left out.
    """
    out: list[str] = []
    stack: list[str] = []
    places: list[int] = []
    open_count: dict[str, int] = {}
    skipped: dict[str, int] = {}
    names = set(_NAMES)
    attributes = KeptNames() if has_many_names(html.encode()) else None
    missing: set[str] = set()
    dropped = position = formatting = 0
    lower = html.lower() if len(html.lower()) == len(html) else html

    def close() -> str:
        nonlocal formatting
        top = stack.pop()
        places.pop()
        open_count[top] -= 1
        formatting -= top in FORMATTING
        out.append(f"</{top}>")
        return top

    while True:
        match = _TAG.search(html, position)
        if match is None:
            break
        out.append(html[position : match.start()])
        position = match.end()
        name = match.group(2)
        if name is None:  # a comment: left out
            ending = None if "-->" in missing else COMMENT_END.search(html, position - 2)
            if ending is None:
                missing.add("-->")
            position = ending.end() if ending is not None else max(html.find(">", position) + 1, position)
            continue
        name = name.lower()
        found = _TAG_END.match(html, position)
        odd = found is None
        if found is None:
            found = _ODD_TAG_END.match(html, position)
        if found is None:
            out.append(html[match.start() :].replace("<", "&lt;"))
            position = len(html)
            break
        position = found.end()
        tag = html[match.start() : position]
        if odd or (len(tag) > _LONG_TAG and _attributes(tag) > MAX_ATTRIBUTES):
            tag = f"<{match.group(1)}{name}>"
        elif attributes is not None and not match.group(1):
            tag = attributes.of(tag)
        if match.group(1):
            if name in ("body", "html"):  # what follows is still in them
                continue
            if skipped.get(name):
                skipped[name] -= 1
            elif open_count.get(name):
                while close() != name:
                    pass
            continue
        if name not in names:
            if len(names) == MAX_NAMES:
                skipped[name] = skipped.get(name, 0) + 1
                dropped += 1
                continue
            names.add(name)
        if name in _VOID or tag.endswith("/>"):
            out.append(tag)
            continue
        if name in RAW:
            end = -1 if name in missing else lower.find(f"</{name}", position)
            if end < 0:
                missing.add(name)
                if name in ("script", "style"):
                    following = _MARKUP.search(html, position)
                    position = following.start() if following is not None else len(html)
                continue
            out.append(f"{tag}{html[position:end]}</{name}>")
            position = end
            continue
        if name in ("frameset", "frame") or (name in ("option", "optgroup") and open_count.get("select")):
            continue
        if name in _BREAKOUT and (open_count.get("math") or open_count.get("svg")):
            # HTML ends foreign content at such a tag, unless an integration point lies between.
            while (
                stack
                and not _INTEGRATION.intersection(stack[-1:])
                and (open_count.get("math") or open_count.get("svg"))
            ):
                close()
            skipped.clear()
        while stack:
            ended = stack[-1]
            if end_emphasis and ended in FORMATTING:
                ended = next((outer for outer in reversed(stack) if outer not in FORMATTING), ended)
            if name not in _CLOSES.get(ended, ()):
                break
            while close() != ended:
                pass
        # A paragraph may lie one deeper: where it begins shows what goes on behind an element that is left out.
        if len(stack) >= max_depth + (name == "p") or (name in FORMATTING and formatting >= MAX_REOPENED):
            skipped[name] = skipped.get(name, 0) + 1
            dropped += 1
            continue
        stack.append(name)
        places.append(len(out))
        formatting += name in FORMATTING
        open_count[name] = open_count.get(name, 0) + 1
        out.append(tag)
    out.append(html[position:])
    for name, place in zip(reversed(stack), reversed(places), strict=True):
        if unwrap and name in _DROPPED:
            out[place] = ""
            continue
        if unwrap and _HIDES.search(out[place]) is not None:
            out[place] = f"<{name}>"
        out.append(f"</{name}>")
    return "".join(out), dropped
