"""The converter's interface: :func:`convert` for all that is known about a page, :func:`markdownify` for its Markdown."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.markdownify import nesting
from tootsie.curate.markdownify.arxiv import ARXIV_CLASSES
from tootsie.curate.markdownify.blocks import BLOCK_TAGS, container
from tootsie.curate.markdownify.class_rules import ClassRules, TagHandlers
from tootsie.curate.markdownify.decoding import Decoded, decode
from tootsie.curate.markdownify.equations import cut_mathml
from tootsie.curate.markdownify.escaping import collapse, escape_text
from tootsie.curate.markdownify.formulas import dollars_of
from tootsie.curate.markdownify.inlines import INLINE_TAGS
from tootsie.curate.markdownify.math_elements import MATH_CLASSES, MATH_TAGS
from tootsie.curate.markdownify.options import Dollars, Limits, Options, Profile
from tootsie.curate.markdownify.serializer import Handler, Node, Serializer
from tootsie.curate.markdownify.split_formulas import join_split_formulas
from tootsie.curate.markdownify.stackexchange import STACKEXCHANGE_CLASSES
from tootsie.curate.markdownify.style import Style
from tootsie.curate.markdownify.styling import StyledSerializer
from tootsie.curate.markdownify.tables import TABLE_TAGS
from tootsie.curate.markdownify.unclosed import loses_its_end
from tootsie.curate.markdownify.wikipedia import (
    MEDIAWIKI_MATH,
    WIKIPEDIA_CLASSES,
    WIKIPEDIA_TAGS,
    drop_empty_sections,
    heading_level,
)
from tootsie.datasets.errors import InputError

TAGS = TagHandlers({**BLOCK_TAGS, **INLINE_TAGS, **MATH_TAGS, **TABLE_TAGS})
TAGS_OF = {Profile.WIKIPEDIA: TagHandlers({**TAGS, **WIKIPEDIA_TAGS})}
CLASSES = {
    Profile.WEB: ClassRules({**MATH_CLASSES, **MEDIAWIKI_MATH}),
    Profile.ARXIV: ClassRules(ARXIV_CLASSES),
    Profile.WIKIPEDIA: ClassRules({**MATH_CLASSES, **WIKIPEDIA_CLASSES}),
    Profile.STACKEXCHANGE: ClassRules({**MATH_CLASSES, **STACKEXCHANGE_CLASSES}),
}
_SITE_SUFFIX = re.compile(r"(?<!\s)\s+[-–—|]\s+(?:Wiki\w+|维基百科.*|Wikip\S+.*)$")
_WIKIPEDIA, _NO_DOLLARS = Profile.WIKIPEDIA, Dollars.NONE  # looked up once: that is slow in Python 3.11
_PAGE_TITLE_HOLDS = (Profile.WEB, Profile.WIKIPEDIA)
_LARGE_BLOCK = 8 * 2**20
DEFAULT_LIMITS = Limits()
DEFAULT_STYLE = Style.of({})
Engine = TypeVar("Engine", bound=Serializer)


@dataclass(frozen=True)
class Conversion:
    """A converted page."""

    markdown: str
    """The document; ends with one newline, empty when nothing was left."""
    title: str | None
    """Its title, as inline Markdown, from the document itself; from ``<title>`` only where the profile can trust that."""
    counters: dict[str, int]
    """How often each rule applied, by name, sorted; rules that never applied are absent."""
    abstract: str | None = None
    """arXiv: the abstract, as Markdown."""
    authors: tuple[str, ...] = ()
    """arXiv: names of the authors, without affiliations and notes."""
    metadata: dict[str, str] = field(default_factory=dict)
    """Other front matter, as plain text: keywords, classification, dates, language."""
    encoding: str = "str"
    """Codec the bytes were decoded with."""


def convert(
    html: str | bytes,
    *,
    profile: str | Profile = Profile.WEB,
    limits: Limits = DEFAULT_LIMITS,
    charset: str | None = None,
    **options: Any,
) -> Conversion:
    """Convert one page.

    Args:
      html: text, or bytes whose encoding is found out (:mod:`.decoding`).
      profile: the kind of page; decides the rules and the defaults of ``options``.
      limits: bounds for hostile pages.
      charset: encoding declared by the transport, for bytes.
      options: fields of :class:`Options` and of :class:`.Style`, the options of the ``markdownify`` package.

    Raises:
      InputError: the page is longer than ``limits.max_bytes``.
      SpecError: unknown profile or option.

    Time and memory are linear in the length of the page. The result depends on the arguments only.
    """
    settings = settings_of(profile, options)
    plain = settings.style is DEFAULT_STYLE or settings.style == DEFAULT_STYLE
    engine = Serializer if plain else StyledSerializer
    return convert_with(engine, html, settings, limits, charset)[0]


def convert_by(
    engine: Callable[[Options, Limits, dict[str, Handler], dict[str, Handler]], Engine],
    html: str | bytes,
    profile: str | Profile,
    limits: Limits,
    charset: str | None,
    options: dict[str, Any],
) -> tuple[Conversion, Engine]:
    """Convert one page as :func:`convert` does, by a kind of serializer that sees more (:mod:`.trace`).

    Returns:
      The conversion, and the serializer with all that it noted.
    """
    return convert_with(engine, html, settings_of(profile, options), limits, charset)


def convert_with(
    engine: Callable[[Options, Limits, dict[str, Handler], dict[str, Handler]], Engine],
    html: str | bytes,
    settings: Options,
    limits: Limits,
    charset: str | None,
) -> tuple[Conversion, Engine]:
    """Convert one page as :func:`convert_by` does, with options that are checked already."""
    if len(html) > limits.max_bytes:
        raise InputError(
            f"the page is longer than {limits.max_bytes:,} {'bytes' if isinstance(html, bytes) else 'characters'}",
            field="html",
            value=len(html),
            remedy="Leave it out, or raise max_bytes",
        )
    decoded = decode(html, charset)
    serializer = engine(settings, limits, TAGS_OF.get(settings.profile, TAGS), CLASSES[settings.profile])
    page_title, language = _serialize(serializer, decoded, limits)
    title = serializer.title
    if title is None and page_title:
        title = escape_text(collapse(page_title).strip(" "))
        if settings.profile is _WIKIPEDIA:
            title = _SITE_SUFFIX.sub("", title)
    serializer.flush()
    blocks = serializer.flow.blocks
    if settings.profile is _WIKIPEDIA:
        blocks[:], dropped = drop_empty_sections(blocks)
        serializer.counters["empty_sections_dropped"] += dropped
        if settings.title and title and not any(heading_level(block) == 1 for block in blocks[:3]):
            blocks.insert(0, f"# {title}")
    if language:
        serializer.metadata["language"] = language
    conversion = Conversion(
        markdown=serializer.markdown(),
        title=title or None,
        counters={name: count for name, count in sorted(serializer.counters.items()) if count},
        abstract="\n\n".join(serializer.abstracts) if serializer.abstracts else None,
        authors=tuple(serializer.authors),
        metadata=serializer.metadata,
        encoding=decoded.encoding,
    )
    return conversion, serializer


def markdownify(html: str | bytes, *, profile: str | Profile = Profile.WEB, **options: Any) -> str:
    """Return the Markdown of a page; see :func:`convert`.

    >>> markdownify("<h1>Hello</h1><p>a <b>bold</b> word</p>")
    '# Hello\\n\\na **bold** word\\n'
    """
    return convert(html, profile=profile, **options).markdown


def settings_of(profile: str | Profile, options: dict[str, Any]) -> Options:
    """Return the options of one conversion; the same object for the same arguments."""
    try:
        return _options(profile, frozenset(options.items()))
    except TypeError:  # lists and the like
        return _options(profile, frozenset((name, _hashable(value)) for name, value in options.items()))


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, _hashable(entry)) for name, entry in sorted(value.items()))
    return tuple(value) if isinstance(value, list | set | frozenset) else value


@functools.lru_cache(maxsize=64)
def _options(profile: str | Profile, options: frozenset[tuple[str, Any]]) -> Options:
    # Once a large block was freed, glibc keeps what smaller ones leave: else each page would take the parser's memory from
    # the system anew, which doubles the cost of a short one.
    bytes(_LARGE_BLOCK)
    return Options.of(profile, **dict(options))


def _serialize(serializer: Serializer, decoded: Decoded, limits: Limits) -> tuple[str | None, str | None]:
    """Parse and walk the page; return what ``<title>`` and ``<html lang>`` say."""
    html = cut_mathml(decoded.text)
    serializer.original = html
    page = decoded.data if html is decoded.text else html.encode()
    whole, rewritten_from = html, None
    if nesting.is_deep(page, limits.max_depth):
        html, dropped = nesting.flatten(whole, limits.max_depth, unwrap=True)
        page, rewritten_from = html.encode(), whole
        serializer.counters["elements_too_deep"] += dropped
    parser = LexborHTMLParser(page)
    rules_of = serializer.classes.of
    if parser.root is not None and loses_its_end(html, parser.root, rules_of, rewritten_from):
        flat, _ = nesting.flatten(whole, limits.max_depth, unwrap=True, end_emphasis=True)
        rewritten = LexborHTMLParser(flat.encode())
        if rewritten.root is not None and not loses_its_end(flat, rewritten.root, rules_of, whole):
            html, parser, page = flat, rewritten, flat.encode()
            serializer.counters["ends_recovered"] += 1
    root = parser.root
    if decoded.invalid:
        serializer.counters["invalid_characters_replaced"] += decoded.invalid
    if decoded.removed:
        serializer.counters["control_characters_removed"] += decoded.removed
    if root is None:
        return None, None
    serializer.root = root
    serializer.source = html
    dollars = dollars_of(serializer.options.dollars, html, page)
    serializer.read_dollars(dollars)
    if dollars is not _NO_DOLLARS and ("$" in html or "\\" in html):
        joined = join_split_formulas(root)
        if joined:
            serializer.counters["formulas_joined"] += joined
    elif "&" not in html and "\u00a0" not in html:
        serializer.rewrites = False
    serializer.walk(_content_of(root, serializer.tags))
    return (
        _page_title(parser) if serializer.options.profile in _PAGE_TITLE_HOLDS else None,
        root.attributes.get("lang"),
    )


def _content_of(root: Node, tags: dict[str, Handler]) -> Node:
    """Return the body where that is all there is to write: the text alone of a post, in a page made up by the parser."""
    head, body = root.first_child, root.last_child
    plain = (
        head is not None
        and head.first_child is None
        and body.tag == "body"
        and not body.attributes
        and body.prev.mem_id == head.mem_id
        and tags.get("body") is container
        and tags.get("head") is None
    )
    return body if plain else root


def _page_title(parser: LexborHTMLParser) -> str | None:
    head = parser.head
    node = head.first_child if head is not None else None
    while node is not None and node.tag != "title":
        node = node.next
    return node.text(deep=True) if node is not None else None
