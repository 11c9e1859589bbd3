"""The rules of a :class:`.MarkdownConverter`: what ``super().convert_*`` gives for one element and the text in it.

They write the engine's form, and lists and tables whose parts have hooks from what those return. Source: markdownify 1.2.3's
interface (``el``, ``text``, ``parent_tags``, among them ``_inline`` in headings and cells, ``_noformat`` in code).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from tootsie.curate.markdownify import listings
from tootsie.curate.markdownify.element import Element
from tootsie.curate.markdownify.escaping import SPACES, collapse, destination, escape_text, title_suffix
from tootsie.curate.markdownify.inlines import UNSAFE_SCHEME, code_span
from tootsie.curate.markdownify.style import ATX_CLOSED, BACKSLASH, UNDERLINED
from tootsie.curate.markdownify.styling import strip_lines
from tootsie.curate.markdownify.wrapping import wrap_paragraph

_LINE = re.compile(r"^(?=.)", re.MULTILINE)


def chomp(text: str) -> tuple[str, str, str]:
    """Return a space where ``text`` begins with one, a space where it ends with one, and ``text`` without its ends.

    >>> chomp(" a")
    (' ', '', 'a')
    """
    return " " if text[:1] == " " else "", " " if text[-1:] == " " else "", text.strip(SPACES)


def _rule(method: Callable[..., str]) -> Callable[..., str]:
    """Let a rule be called with ``parent_tags``, with the ``convert_as_inline`` of older versions, or with neither."""

    @functools.wraps(method)
    def call(
        self: ElementRules,
        el: Any,
        text: str | None,
        parent_tags: Any = None,
        convert_as_inline: bool = False,
        **_: Any,
    ) -> str:
        if parent_tags is True or convert_as_inline:
            tags: Any = {"_inline"}
        else:
            tags = parent_tags or ()
        return method(self, el, text or "", tags)

    return call


def abstract_inline_conversion(markup: Callable[[Any], str]) -> Callable[..., str]:
    """Return a rule that puts what ``markup(converter)`` returns on both sides of the text; a tag is closed by its end tag."""

    def implementation(self: Any, el: Any, text: str, tags: set[str]) -> str:
        mark = markup(self)
        if "_noformat" in tags:
            return text
        before, after, inner = chomp(text)
        if not inner:
            return before or after
        close = f"</{mark[1:]}" if mark.startswith("<") and mark.endswith(">") else mark
        return f"{before}{mark}{inner}{close}{after}"

    implementation.__name__ = "abstract_inline_conversion"
    return _rule(implementation)


def _separated(self: ElementRules, el: Any, text: str, tags: set[str]) -> str:
    inner = text.strip()
    if "_inline" in tags:
        return f" {inner} "
    return f"\n\n{inner}\n\n" if inner else ""


class ElementRules:
    """A rule for each element that the package has one for."""

    options: dict[str, Any]

    def __init__(self) -> None:
        self._counted: dict[Any, tuple[Any, int]] = {}
        """By list, the item that was numbered last and how many are before it."""

    # -- inline rules

    convert_b = convert_strong = abstract_inline_conversion(lambda self: 2 * self.options["strong_em_symbol"])
    convert_em = convert_i = abstract_inline_conversion(lambda self: self.options["strong_em_symbol"])
    convert_del = convert_s = abstract_inline_conversion(lambda self: "~~")
    convert_sub = abstract_inline_conversion(lambda self: self.options["sub_symbol"])
    convert_sup = abstract_inline_conversion(lambda self: self.options["sup_symbol"])

    @_rule
    def convert_a(self, el: Any, text: str, tags: set[str]) -> str:
        """A link; its text where there is no target."""
        before, after, inner = chomp(text)
        href = el.get("href")
        if "_noformat" in tags or not inner or not href or UNSAFE_SCHEME.match(href):
            return text
        title = el.get("title") or (href if self.options["default_title"] else None)
        if self.options["autolinks"] and not title and inner.replace("\\", "") == href:
            return f"{before}<{href}>{after}"
        return f"{before}[{inner}]({destination(href)}{title_suffix(title)}){after}"

    @_rule
    def convert_br(self, el: Any, text: str, tags: set[str]) -> str:
        """A line break; a space in headings and cells."""
        if "_inline" in tags:
            return text + " "
        return ("\\\n" if self.options["newline_style"].lower() == BACKSLASH else "  \n") + text

    @_rule
    def convert_code(self, el: Any, text: str, tags: set[str]) -> str:
        """A code span."""
        before, after, inner = chomp(text)
        return text if "_noformat" in tags or not inner else f"{before}{code_span(inner)}{after}"

    convert_kbd = convert_samp = convert_code

    @_rule
    def convert_img(self, el: Any, text: str, tags: set[str]) -> str:
        """An image; its text in headings and cells, but for parents in ``keep_inline_images_in``."""
        alt = collapse(el.get("alt") or "").strip()
        parent = el.parent
        kept = self.options["keep_inline_images_in"] or ()
        source = el.get("src") or ""
        if ("_inline" in tags and (parent is None or parent.name not in kept)) or UNSAFE_SCHEME.match(source):
            return escape_text(alt)
        label = escape_text(alt, in_link=True)
        return f"![{label}]({destination(source)}{title_suffix(el.get('title'))})"

    @_rule
    def convert_video(self, el: Any, text: str, tags: set[str]) -> str:
        """A link to a video, with its poster as image."""
        label = text.strip()
        parent = el.parent
        kept = self.options["keep_inline_images_in"] or ()
        if "_inline" in tags and (parent is None or parent.name not in kept):
            return text
        source = el.get("src") or next((s.get("src") for s in el.find_all("source", src=True)), "")
        poster = el.get("poster")
        shown = f"![{label}]({destination(poster)})" if poster else label
        return f"[{shown}]({destination(source)})" if source else shown

    @_rule
    def convert_q(self, el: Any, text: str, tags: set[str]) -> str:
        """A quotation in the line."""
        return f'"{text}"'

    # -- blocks

    convert_div = convert_section = convert_article = _rule(_separated)
    convert_dl = convert_figcaption = convert_table = convert_div

    @_rule
    def convert_p(self, el: Any, text: str, tags: set[str]) -> str:
        """A paragraph."""
        text = text.strip(" \t\r\n")
        if self.options["wrap"] and self.options["wrap_width"] and "_inline" not in tags:
            text = "\n".join(wrap_paragraph(line, self.options["wrap_width"]) for line in text.split("\n"))
        return f" {text} " if "_inline" in tags else f"\n\n{text}\n\n" if text else ""

    def convert_hN(  # noqa: N802
        self, n: int, el: Any, text: str, parent_tags: Any = None, convert_as_inline: bool = False, **_: Any
    ) -> str:
        """A heading of level ``n``; beyond the sixth, of the sixth. Its text where it stands in a heading or cell."""
        if convert_as_inline or parent_tags is True or "_inline" in (parent_tags or ()):
            return text or ""
        level = max(1, min(6, n))
        text = collapse((text or "").strip())
        if not text:
            return ""
        style = str(self.options["heading_style"]).lower()
        if style in (UNDERLINED, "setext") and level <= 2:
            return f"\n\n{text}\n{'=-'[level - 1] * len(text)}\n\n"
        close = f" {'#' * level}" if style == ATX_CLOSED else ""
        return f"\n\n{'#' * level} {text}{close}\n\n"

    convert_hn = convert_hN

    def _heading(level: int) -> Callable[..., str]:  # type: ignore[misc]  # noqa: N805
        def rule(self: Any, el: Any, text: str, parent_tags: Any = None, **_: Any) -> str:
            return str(self.convert_hN(level, el, text, parent_tags))

        return rule

    convert_h1, convert_h2, convert_h3 = _heading(1), _heading(2), _heading(3)
    convert_h4, convert_h5, convert_h6 = _heading(4), _heading(5), _heading(6)

    @_rule
    def convert_hr(self, el: Any, text: str, tags: set[str]) -> str:
        """A rule."""
        return "\n\n---\n\n"

    @_rule
    def convert_blockquote(self, el: Any, text: str, tags: set[str]) -> str:
        """A quotation."""
        text = text.strip(" \t\r\n")
        if "_inline" in tags or not text:
            return f" {text} "
        return "\n" + "\n".join(f"> {line}" if line else ">" for line in text.split("\n")) + "\n\n"

    @_rule
    def convert_pre(self, el: Any, text: str, tags: set[str]) -> str:
        """A code block: fences longer than any inside, the language of the callback, the page or ``code_language``."""
        callback = self.options["code_language_callback"]
        language = (callback(el) if callback else "") or ""
        if not language and isinstance(el, Element):
            language = listings.language_of(el._node, el._node.attributes)
        code = strip_lines(text, self.options["strip_pre"])
        return f"\n\n{listings.fence(code, language or self.options['code_language'])}\n\n" if text else ""

    @_rule
    def convert_script(self, el: Any, text: str, tags: set[str]) -> str:
        """Nothing."""
        return ""

    convert_style = convert_script

    # -- lists

    @_rule
    def convert_list(self, el: Any, text: str, tags: set[str]) -> str:
        """A list of finished items."""
        return f"\n{text.rstrip()}" if "li" in tags else f"\n\n{text.rstrip()}\n\n"

    convert_ul = convert_ol = convert_list

    @_rule
    def convert_li(self, el: Any, text: str, tags: set[str]) -> str:
        """An item with its marker."""
        text = text.strip()
        if not text:
            return ""
        parent = el.parent
        if parent is not None and parent.name == "ol":
            start = str(parent.get("start") or "")
            first = int(start) if re.fullmatch(r"\d{1,9}", start, re.ASCII) else 1
            mark = f"{first + self._items_before(el, parent)}. "
        else:
            depth = sum(outer.name == "ul" for outer in el.parents) - 1
            mark = f"{self.options['bullets'][max(depth, 0) % len(self.options['bullets'])]} "
        return mark + _LINE.sub(" " * len(mark), text)[len(mark) :] + "\n"

    def _items_before(self, el: Any, parent: Any) -> int:
        """Return how many items of its list come before ``el``, counted on from the item that was asked for last."""
        last, count = self._counted.get(parent, (None, 0))
        before = 0
        for sibling in el.previous_siblings:
            if sibling is last or (sibling.name == "li" and sibling == last):
                before += count + 1
                break
            before += sibling.name == "li"
        self._counted[parent] = (el, before)
        return before

    @_rule
    def convert_dt(self, el: Any, text: str, tags: set[str]) -> str:
        """A term."""
        text = collapse(text.strip())
        return f" {text} " if "_inline" in tags else f"\n\n{text}\n" if text else ""

    @_rule
    def convert_dd(self, el: Any, text: str, tags: set[str]) -> str:
        """A definition, as Pandoc and PHP Markdown Extra write it."""
        text = text.strip()
        if "_inline" in tags:
            return f" {text} "
        return ":   " + _LINE.sub("    ", text)[4:] + "\n" if text else ""

    # -- tables

    @_rule
    def convert_caption(self, el: Any, text: str, tags: set[str]) -> str:
        """A caption, above its table."""
        return f"{text.strip()}\n\n"

    @_rule
    def convert_td(self, el: Any, text: str, tags: set[str]) -> str:
        """A cell; what it spans stays empty."""
        return f" {collapse(text.strip())} |" + "  |" * (_columns(el) - 1)

    convert_th = convert_td

    @_rule
    def convert_tr(self, el: Any, text: str, tags: set[str]) -> str:
        """A row; the first with the line of dashes below it, or below an empty header where it is none."""
        line = f"|{text.rstrip()}\n"
        table = el.find_parent("table")
        first = table.find("tr") if table is not None else el
        if el != first:
            return line
        cells = el.find_all(["td", "th"], recursive=False)
        width = sum(_columns(cell) for cell in cells)
        rule = "| " + " | ".join(["---"] * width) + " |\n"
        parent = el.parent
        is_header = all(cell.name == "th" for cell in cells) or (
            parent is not None and parent.name == "thead" and len(parent.find_all("tr")) == 1
        )
        if is_header or self.options["table_infer_header"]:
            return line + rule
        return "| " + " | ".join([""] * width) + f" |\n{rule}{line}"


def _columns(cell: Any) -> int:
    """Return how many columns a cell spans."""
    span = str(cell.get("colspan") or "")
    return max(1, min(1000, int(span))) if re.fullmatch(r"\d{1,9}", span, re.ASCII) else 1
