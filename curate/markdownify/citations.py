"""Which citations of a paper its sentences can do without.

A citation in brackets can go where it only backs what stands before it: "as shown [1, 2]." It stays where a hole
would be left: at the start of a sentence ("[5] proved …"), after words that lead to it ("in ref. [1] we", "we extend [2]"),
after punctuation ("e.g., [2]"), before what is joined to it ("[5]'s", "[5]-type"), and where its brackets say more than whom to
read ("(BLS; Kovacs, 2002)"). Citations that only signs or "and" join ("[1], [2] and [3]") go or stay together. Where it cannot be
told, it stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tootsie.curate.markdownify.serializer import Node, Serializer, text_of

_CONTEXT = 48
"""Characters on either side that are looked at."""
_STEPS = 64
"""Nodes on either side that are looked at."""
_RUN = 16
"""Citations of a run that are looked at on either side."""
_INLINE = frozenset(
    (
        "a",
        "abbr",
        "b",
        "cite",
        "code",
        "em",
        "font",
        "i",
        "q",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "tt",
        "u",
    )
)
_CONNECTOR = re.compile(r"\s*(?:[,;–—-]|[,;]?\s*(?:and|or|&))?\s*")
_LEADING_WORDS = """
    about according across adopt adopted adopts after against along among around because before behind below
    beside besides between beyond book books both cite cites citing combine combines combining compare
    compared compares concerning consider considers consult consulting contrast despite during each either
    except extend extending extends follow followed following follows from generalise generalises generalising
    generalize generalizes generalizing given half have improve improves improving inside into like monograph
    near neither once onto outside over paper papers preprint recall recalling reference references refine
    refines refining refs replace replaces replacing report reports review reviews since some still survey
    surveys textbook than that their them then these thesis they this those though through throughout toward
    towards under unless unlike until upon using versus what when where whereas whether which while whose with
    within without work works
"""
_LEADS = frozenset(_LEADING_WORDS.split())
"""Words of more than three letters that lead to what follows: prepositions, conjunctions, verbs with an object, writings."""
_SIGNAL_WORDS = (
    "also and as by cf compare e eg example examples f for from g i ie in instance or particular see such"
)
_SIGNALS = frozenset(_SIGNAL_WORDS.split())
"""Words before the first work within brackets that say no more than that it is to be read."""


def can_go(serializer: Serializer, cite: Node) -> bool:
    """Return whether the sentence around ``cite`` (a ``cite`` of LaTeXML) reads whole without it.

    Then what joins it to a citation before it, which has gone as well, is taken back from what was written.
    """
    earlier, before = _run(cite, forward=False)
    later, after = _run(cite, forward=True)
    run = earlier + later
    if not all(map(_is_aside, (cite, *(node for node, _ in run)))):
        return False
    if _is_led_to(before) or _is_joined(after):
        return False
    if any(re.search(r"[a-z&]", joint) for _, joint in run) and after[:1] not in (*".,;:!?)]", ""):
        return False
    return not earlier or _take_back(serializer, earlier[0][1])


def _is_aside(cite: Node) -> bool:
    """Whether a citation stands in brackets that say nothing but what to read."""
    text = text_of(cite)
    if (text[:1], text[-1:]) not in (("(", ")"), ("[", "]")):
        return False
    words = ""
    for kind, piece in _within(cite):
        if kind == "work":
            break
        words += piece
    # Authors may stand before the link, but no further work: what a semicolon ends is a remark.
    remark = words.rpartition(";")[0]
    return all(word.lower() in _SIGNALS for word in re.findall(r"[^\W_]+", remark))


def _within(cite: Node) -> Iterator[tuple[str, str]]:
    node = cite.first_child
    steps = 0
    while node is not None and node.mem_id != cite.mem_id and steps < _STEPS:
        steps += 1
        if node.tag == "-text":
            yield "text", node.text_content or ""
        elif (node.tag == "a" and "#bib" in (node.attributes.get("href") or "")) or _has(
            node, "ltx_missing_citation"
        ):
            yield "work", ""
        elif node.is_element_node and node.first_child is not None:
            node = node.first_child
            continue
        while node is not None and node.next is None and node.mem_id != cite.mem_id:
            node = node.parent
        if node is None or node.mem_id == cite.mem_id:
            return
        node = node.next


def _is_led_to(before: str) -> bool:
    before = before.rstrip().rstrip("\"'’”»*")
    if not before or not (before[-1].isalnum() or before[-1] in ")]$%"):
        return True
    word = re.search(r"[^\W\d_]+$", before)
    return word is not None and (len(word[0]) <= 3 or word[0].lower() in _LEADS)


def _is_joined(after: str) -> bool:
    return bool(after) and (after[0].isalnum() or after[0] in "'’–—-/_^&")


def _run(cite: Node, *, forward: bool) -> tuple[list[tuple[Node, str]], str]:
    """The citations joined to ``cite`` on one side, nearest first, each with what joins it, and the text beyond them."""
    run: list[tuple[Node, str]] = []
    while True:
        neighbour, text = _beside(run[-1][0] if run else cite, forward=forward)
        if neighbour is None or len(run) == _RUN or not _CONNECTOR.fullmatch(text):
            return run, text
        run.append((neighbour, text))


def _beside(node: Node, *, forward: bool) -> tuple[Node | None, str]:
    """The text beside ``node`` in its paragraph, up to a citation (which is returned) or some characters; a formula is ``$``."""
    pieces: list[str] = []
    length = 0
    neighbour = None
    for _ in range(_STEPS):
        following = node.next if forward else node.prev
        if following is None:
            node = node.parent
            if node is None or node.tag not in _INLINE:
                break
            continue
        node = following
        while (
            node.is_element_node and node.tag in _INLINE and node.tag != "cite" and not _has(node, "ltx_note")
        ):
            child = node.first_child if forward else node.last_child
            if child is None:
                break
            node = child
        if node.tag == "-text":
            text = node.text_content or ""
            pieces.append(text[:_CONTEXT] if forward else text[-_CONTEXT:])
            length += len(pieces[-1])
        elif node.tag == "cite":
            neighbour = node
            break
        elif node.tag == "math":
            pieces.append("$")
        elif node.is_element_node and node.tag not in _INLINE:
            break
        if length >= _CONTEXT:
            break
    return neighbour, "".join(pieces if forward else reversed(pieces))


def _has(node: Node, name: str) -> bool:
    return node.is_element_node and name in (node.attributes.get("class") or "").split()


def _take_back(serializer: Serializer, joint: str) -> bool:
    """Remove ``joint`` from the end of what was written; ``False`` where something else stands there."""
    joint = " ".join(joint.split())
    serializer.trim()
    parts = serializer.parts
    tail = ""
    taken = len(parts)
    while taken and len(tail) < len(joint):
        taken -= 1
        tail = parts[taken] + tail
    if not tail.endswith(joint):
        return False
    rest = tail[: len(tail) - len(joint)]
    parts[taken:] = [rest] if rest else []
    serializer.space = False
    return True
