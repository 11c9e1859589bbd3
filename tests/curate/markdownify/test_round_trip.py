"""Any page of the elements that Markdown has comes back as it was: text always, elements and attributes too."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape

from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.curate.markdownify import markdownify

from .canonical import canonical
from .test_commonmark import MARKDOWN_IT, render_gfm

VOID = frozenset(("img", "br", "hr"))
MARKS = "*_`~[]()!<>&#\\$|-+=.:;'\"1"
TEXT = st.text(st.sampled_from(MARKS + "ab  é€中“。"), min_size=1, max_size=8)
ADDRESS = st.text(st.sampled_from("ab/()_*&;=?#.~-"), min_size=1, max_size=8)


@dataclass
class Tree:
    """An element, with children that are elements and texts."""

    name: str
    children: list[Tree | str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)

    def html(self) -> str:
        attributes = "".join(f' {name}="{escape(value)}"' for name, value in self.attributes.items())
        if self.name in VOID:
            return f"<{self.name}{attributes}>"
        content = "".join(
            child.html() if isinstance(child, Tree) else escape(child) for child in self.children
        )
        return f"<{self.name}{attributes}>{content}</{self.name}>"


def line(children: list[Tree | str]) -> list[Tree | str]:
    """Leave out white space and breaks at the edges, which Markdown cannot hold, and breaks in a row."""
    kept: list[Tree | str] = []
    for child in children:
        if isinstance(child, Tree) and child.name == "br":
            if not kept or kept[-1] == child:
                continue
            if isinstance(kept[-1], str) and not kept[-1].strip(" "):
                continue
        kept.append(child)
    while kept:
        first, last = kept[0], kept[-1]
        if isinstance(first, str) and first != first.lstrip(" "):
            kept[:1] = [first.lstrip(" ")] if first.strip(" ") else []
        elif isinstance(last, str) and last != last.rstrip(" "):
            kept[-1:] = [last.rstrip(" ")] if last.strip(" ") else []
        elif isinstance(first, Tree) and first.name == "br":
            kept.pop(0)
        elif isinstance(last, Tree) and last.name == "br":
            kept.pop()
        else:
            break
    return kept or ["x"]


def stripped(text: str) -> str:
    return re.sub(" +", " ", text).strip(" ") or "x"


CODE = TEXT.map(lambda text: Tree("code", [stripped(text)]))
IMAGE = st.builds(
    lambda source, alt, title: Tree("img", [], {"src": source, "alt": stripped(alt)} | ({"title": stripped(title)} if title else {})),
    ADDRESS, TEXT, st.none() | TEXT,
)  # fmt: skip
LEAVES = st.one_of(TEXT, TEXT, TEXT, CODE, IMAGE)
LINE_LEAVES = st.one_of(LEAVES, st.just(Tree("br")))


def wrapped(inner: st.SearchStrategy[Tree | str]) -> st.SearchStrategy[Tree | str]:
    return st.one_of(
        inner,
        st.builds(
            lambda name, children: Tree(name, line(children)),
            st.sampled_from(("em", "strong", "em", "strong", "del", "sub", "sup")),
            st.lists(inner, min_size=1, max_size=4),
        ),
    )


INLINE = st.recursive(LINE_LEAVES, wrapped, max_leaves=8)
LINK = st.builds(
    lambda children, address, title: Tree("a", line(children), {"href": address} | ({"title": stripped(title)} if title else {})),
    st.lists(INLINE, min_size=1, max_size=3), ADDRESS, st.none() | TEXT,
)  # fmt: skip
RUN = st.lists(st.one_of(INLINE, INLINE, LINK), min_size=1, max_size=5).map(line)


def has_nested_strong(children: list[Tree | str], inside: bool = False) -> bool:
    """Return whether there is strong within strong, which cmark-gfm leaves out."""
    return any(
        (inside and child.name == "strong")
        or has_nested_strong(child.children, inside or child.name == "strong")
        for child in children
        if isinstance(child, Tree)
    )


# -- blocks


def paragraph(children: list[Tree | str]) -> Tree:
    return Tree("p", children)


def without_breaks(children: list[Tree | str]) -> list[Tree | str]:
    """Leave out line breaks, which a heading cannot hold."""
    kept = [
        child if isinstance(child, str) else Tree(child.name, without_breaks(child.children) if child.children else [], child.attributes)
        for child in children
        if isinstance(child, str) or child.name != "br"
    ]  # fmt: skip
    return line(kept)


PARAGRAPH = RUN.map(paragraph)
HEADING = st.builds(
    lambda level, children: Tree(f"h{level}", without_breaks(children)), st.integers(1, 6), RUN
)
CODE_LINES = st.text(st.sampled_from(MARKS + "ab  \n\n\t"), max_size=20)
PRE = st.builds(
    lambda text, language: Tree(
        "pre",
        [Tree("code", [text + "\n"] if text else [], {"class": f"language-{language}"} if language else {})],
    ),
    CODE_LINES,
    st.sampled_from(("", "", "python", "c++", "objective-c")),
)
RULE = st.just(Tree("hr"))


def bulleted(items: list[Tree]) -> Tree:
    return Tree("ul", list(items))


def numbered(start: int, items: list[Tree]) -> Tree:
    return Tree("ol", list(items), {"start": str(start)} if start != 1 else {})


def tight_item(children: list[Tree | str], blocks: list[Tree]) -> Tree:
    return Tree("li", [*children, *blocks])


def loose_item(blocks: list[Tree]) -> Tree:
    return Tree("li", list(blocks))


def around(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    blocks = st.lists(inner, max_size=3)
    item = st.one_of(
        st.builds(tight_item, RUN, st.lists(st.one_of(inner, PRE), max_size=2)),
        blocks.map(loose_item),
        st.just(Tree("li")),
    )
    items = st.lists(item, min_size=1, max_size=3)
    return st.one_of(
        items.map(bulleted),
        st.builds(numbered, st.integers(0, 12), items),
        blocks.map(lambda children: Tree("blockquote", list(children))),
    )


BLOCK = st.recursive(st.one_of(PARAGRAPH, PARAGRAPH, HEADING, PRE, RULE), around, max_leaves=6)


def page(blocks: list[Tree]) -> str:
    return "".join(block.html() for block in blocks)


def text_of(html: str) -> str:
    """Return all text of a page and of its images, without white space."""
    events = canonical(html)
    texts = [
        event[1] if event[0] == "text" else event[event.index("alt") + 1]
        for event in events
        if event[0] == "text" or "alt" in event
    ]
    return re.sub(r"\s", "", "".join(texts))


@given(RUN)
@settings(max_examples=200)
def test_a_paragraph_comes_back(children: list[Tree | str]) -> None:
    html = paragraph(children).html()
    markdown = markdownify(html)
    assert canonical(MARKDOWN_IT.render(markdown)) == canonical(html)
    if not has_nested_strong(children):
        assert canonical(render_gfm(markdown)) == canonical(html)


@given(st.lists(BLOCK, max_size=4))
@settings(max_examples=100)
def test_a_page_comes_back(blocks: list[Tree]) -> None:
    html = page(blocks)
    markdown = markdownify(html)
    assert canonical(MARKDOWN_IT.render(markdown), loose=True) == canonical(html, loose=True)


@given(st.lists(BLOCK, max_size=4))
@settings(max_examples=60)
def test_every_reader_finds_all_text(blocks: list[Tree]) -> None:
    html = page(blocks)
    wanted = text_of(html)
    for exact in (True, False):
        markdown = markdownify(html, exact=exact)
        assert text_of(MARKDOWN_IT.render(markdown)) == wanted
        assert text_of(render_gfm(markdown)) == wanted
