"""End tags that end nothing: counted to bound how deep a page may nest, whatever it writes to seem flat.

``<div></x>``, ``<div title="</div>">``, ``<div><!--</div>-->`` and ``<div><script></div></script>`` each open an element
and have one end tag. All is arithmetic on the tags' places: a page has too many for a loop.
"""

from __future__ import annotations

import re
import string

import numpy as np
import numpy.typing as npt

_LOWER = np.uint64(0x2020202020202020)
_SIXTH_BITS = np.uint64(0x4040404040404040)
_BYTE, _ONE, _SIX, _SPACE, _CLOSE = map(np.uint64, (0xFF, 1, 6, 0x20, 0x3E))
_LETTER = np.isin(np.arange(256), list(map(ord, string.ascii_letters)))
_NAME_END = np.isin(np.arange(256), list(b"\t\n\f\r />"))
_BEFORE_VALUE = np.isin(np.arange(256), list(b"\t\n\f\r ="))
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(9)], np.uint64)
_ATTRIBUTE = rb"""[^\t\n\f\r />=]++(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"[^"]*+"|'[^']*+'|[^\t\n\f\r >"'][^\t\n\f\r >]*+|(?=>)))?+"""
_TAG_END = re.compile(rb"(?:[\t\n\f\r /]++|" + _ATTRIBUTE + rb"|=)*+>")
_COMMENT_END = re.compile(rb"(?<=<!-)-?>|--!?>")


def _words(names: str) -> npt.NDArray[np.uint64]:
    return (
        np.array([int.from_bytes(name.encode()[:8], "little") for name in names.split()], np.uint64) | _LOWER
    )


def _masked_words(names: str) -> npt.NDArray[np.uint64]:
    lengths = np.array([min(len(name), 8) for name in names.split()])
    return _words(names) & _MASKS[lengths]


_UNPAIRED = _masked_words(
    "area base basefont bgsound br col embed frame hr img input link meta param source track wbr"
    " p li dt dd td th tr tbody thead tfoot colgroup option html head body"
)
"""Void elements, and those whose end tags are often left out; these lie in each other only with others between."""
_RAW = _masked_words("script style textarea title xmp iframe noembed noframes plaintext")


def name_words(
    words: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.intp]]:
    """Return the first eight bytes of tags' names in lower case, without what follows the name, and how many they are."""
    # The first byte without the bit that all letters have is the end of nearly every name.
    other = ~words & _SIXTH_BITS
    place = (other & -other) >> _SIX  # the lowest bit of that byte; 0 where all eight have it
    lengths = np.bitwise_count(place - _ONE).astype(np.intp) >> 3
    found = words & (place * _BYTE)
    unsure = ((found != place * _SPACE) & (found != place * _CLOSE)).nonzero()[0]
    if len(unsure):  # <h1>, <my-element>, <br/>
        ended = _NAME_END[words[unsure].view(np.uint8).reshape(-1, 8)]
        lengths[unsure] = np.where(ended.any(1), ended.argmax(1), 8)
    return (words | _LOWER) & _MASKS[lengths], lengths


def hidden_ends(
    page: bytes,
    places: npt.NDArray[np.intp],
    ends: npt.NDArray[np.bool_],
    words: npt.NDArray[np.uint64],
    lengths: npt.NDArray[np.intp],
    marks: npt.NDArray[np.intp],
    closed: npt.NDArray[np.intp],
) -> npt.NDArray[np.bool_]:
    """Return which end tags may be text: of a comment, a script, the value of an attribute.

    Args:
      page: the page; a zero byte follows it.
      places: where the names of the tags begin.
      ends: which of them are end tags.
      words, lengths: their names, by :func:`name_words`.
      marks: places of ``<`` before what is no name.
      closed: places of all ``>``.
    """
    codes = np.frombuffer(page, np.uint8)
    regions: list[tuple[int, int]] = []
    position = 0
    for place in marks[np.isin(codes[marks + 1], list(b"!?/"))].tolist():
        if place < position:
            continue
        if page.startswith(b"<!--", place):
            found = _COMMENT_END.search(page, place + 2)
            position = found.end() if found is not None else len(page)
        else:
            position = page.find(b">", place) + 1 or len(page)
        regions.append((place, position))
    raw: list[int] = np.isin(words, _RAW).nonzero()[0].tolist()
    position = 0
    for index, start in enumerate(raw):
        if ends[start] or places[start] < position:
            continue
        later = (raw[number] for number in range(index + 1, len(raw)))
        same = next((other for other in later if ends[other] and words[other] == words[start]), -1)
        position = int(places[same]) - 2 if same >= 0 else len(page)
        regions.append((int(places[start]), position))
    # A tag may go on behind its first ">" where that is in quotation marks.
    order = np.searchsorted(closed, places)
    first = np.append(closed, len(page))[order]
    last = codes[first - 1]
    quote = (last == ord('"')) & ~_BEFORE_VALUE[codes[first - 2]]
    apostrophes = (codes == ord("'")).nonzero()[0]
    plain = quote & (np.searchsorted(apostrophes, places) == np.searchsorted(apostrophes, first))
    read = 0
    for index in ((~plain) & (places + lengths < first)).nonzero()[0].tolist():
        if read > 4 * len(page):  # tags within tags: whatever follows may be text
            regions.append((int(places[index]), len(page)))
            break
        found = _TAG_END.match(page, int(places[index]) + int(lengths[index]))
        end = found.end() if found is not None else len(page)
        read += end - int(places[index])
        if end > first[index] + 1:
            regions.append((int(places[index]), end))
    if not regions:
        return np.zeros(len(places), np.bool_)
    edges = np.zeros(len(places) + 1, np.int64)
    np.add.at(edges, np.searchsorted(places, [start + 1 for start, _ in regions]), 1)
    np.add.at(edges, np.searchsorted(places, [end for _, end in regions]), -1)
    hidden: npt.NDArray[np.bool_] = (edges.cumsum()[:-1] > 0) & ends
    return hidden


def unpaired_ends(
    words: npt.NDArray[np.uint64], ends: npt.NDArray[np.bool_], hidden: npt.NDArray[np.bool_]
) -> npt.NDArray[np.intp]:
    """Return the end tags that do not end what is open where they stand, by index; void elements and the like left out."""
    kept = (~hidden & ~np.isin(words, _UNPAIRED)).nonzero()[0]
    words, ends = words[kept], ends[kept]
    level = np.where(ends, -1, 1).cumsum()
    level -= np.minimum(np.minimum.accumulate(level), 0) if len(level) else 0
    before = np.concatenate((np.zeros(1, level.dtype), level[:-1]))
    place = np.where(ends, before, level)
    order = place.argsort(kind="stable")
    placed, named, ending = place[order], words[order], ends[order]
    paired = np.zeros(len(order), np.bool_)
    paired[1:] = ending[1:] & ~ending[:-1] & (placed[1:] == placed[:-1]) & (named[1:] == named[:-1])
    return kept[order[ending & ~paired & (placed > 0)]]
