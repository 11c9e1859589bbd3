"""What writes Markdown: text, inline elements, paragraphs and blocks, collected in flows (:mod:`.flow`)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tootsie.curate.markdownify import emphasis, formulas
from tootsie.curate.markdownify.escaping import (
    collapse,
    escape_line_start,
    escape_next_line,
    escape_suspect,
    is_suspect,
)
from tootsie.curate.markdownify.flow import Flow, Inline
from tootsie.curate.markdownify.footnotes import Footnotes
from tootsie.curate.markdownify.options import Dollars, Limits, Options

Close = Callable[["Writer"], None]
HTML_SPACE = " \t\n\r\f"
MAX_INLINES = 12
"""Inline elements in each other that are written: all of them again in each block that the outermost holds."""
_UNREAD = (Dollars.NONE, Dollars.AUTO)
_JOINING = frozenset("]<&")
"""What may mean something else together with what follows."""
_CLOSING = re.compile(r" ?[.,)\]](?![\w.])")
"""Punctuation that never has a space before it (in French, the other signs have one)."""


class Writer:
    """The Markdown of one conversion as far as it is written. :class:`.Serializer` walks the page and calls it."""

    # Python 3.11 finds no more than 30 attributes fast in a dictionary; these are read at each node.
    __slots__ = (
        "_dollars", "_exact", "_nbsp", "counters", "delimiters", "direct", "escapes_all", "flow", "footnotes", "gap", "limits",
        "options", "parts", "rewrites", "space",
    )  # fmt: skip

    def __init__(self, options: Options, limits: Limits) -> None:
        self.options = options
        self.limits = limits
        self.counters: dict[str, int] = defaultdict(int)
        self.flow = Flow("page", None)
        self.parts = self.flow.parts
        """Where inline content goes: to the innermost open inline element, else to the flow."""
        self.space = True
        """Whether white space would say nothing here."""
        self.footnotes = Footnotes()
        self.gap: tuple[list[str], int] | None = None
        """Where inline content was left out last: the parts it would be among, and how many those were."""
        self._dollars: Dollars | None = None
        self._nbsp = None if options.nbsp == "\u00a0" else options.nbsp
        self.rewrites = True
        """Whether there may be formulas in the text, or no-break spaces that become something else."""
        self.read_dollars(options.dollars)
        self._exact = options.exact
        self.delimiters = "*_"
        """What emphasis is written with; the second where the first would be misread."""
        self.escapes_all = False
        """Whether :meth:`escape` sees every text, not only those with characters that may act."""
        self.direct = False
        """Whether nothing else listens to what is written, or writes it otherwise (:mod:`.plain_content`)."""

    # -- inline content

    def read_dollars(self, dollars: Dollars) -> None:
        """Set how MathJax's delimiters in text are read."""
        self._dollars = None if dollars in _UNREAD else dollars
        self.rewrites = self._dollars is not None or self._nbsp is not None

    def text(self, text: str | None) -> None:
        """Add a text node: white space collapsed, Markdown escaped, MathJax delimiters honoured."""
        if not text:
            return
        if text.isspace() and not text.strip(HTML_SPACE):
            if not self.space:
                self.parts.append(" ")
                self.space = True
            return
        self.characters(text)

    def characters(self, text: str) -> None:
        """Add a text that is more than white space: prose, and formulas where delimiters mark them."""
        if self._nbsp is not None and "\u00a0" in text:
            text = text.replace("\u00a0", self._nbsp)
        if self._dollars is not None and ("$" in text or "\\" in text):
            pieces = formulas.split_text(text, strict=self._dollars is Dollars.STRICT)
            for number, (kind, piece) in enumerate(pieces):
                if kind == "text":
                    self.prose(piece)
                    continue
                # White space at its edges says nothing in TeX, but parts the words on both sides.
                if piece[0] in HTML_SPACE and number and pieces[number - 1][1][-1].isalnum():
                    self.prose(" ")
                self.formula(formulas.normalise(piece), kind == "display")
                if (
                    piece[-1] in HTML_SPACE
                    and number + 1 < len(pieces)
                    and pieces[number + 1][1][0].isalnum()
                ):
                    self.prose(" ")
            return
        self.prose(text)

    def prose(self, text: str) -> None:
        """Add text without formulas."""
        if text.isalnum() and self.gap is None and not self.escapes_all:  # a word
            parts = self.parts
            if parts and parts[-1][-1] in _JOINING:
                self._separate(text[0])
            self.space = False
            parts.append(text)
            return
        if not text.isprintable():
            text = collapse(text)
            if "\u00ad" in text and not self._exact:  # Where a word may be broken, which no reader sees.
                self.counters["soft_hyphens_removed"] += text.count("\u00ad")
                text = text.replace("\u00ad", "")
                if not text:
                    return
        elif "  " in text:
            text = collapse(text)
        if self.gap is not None:
            text = self._close_gap(text)
        if self.space and text[0] == " ":
            text = text[1:]
            if not text:
                return
        parts = self.parts
        if parts:
            if parts[-1][-1] in _JOINING:
                self._separate(text[0])
        elif text[0] in ".,;:" and self.flow.blocks and self.flow.blocks[-1].endswith("$$"):
            text = self._punctuate(text)
            if not text:
                return
        self.space = text[-1] == " "
        if self.escapes_all or is_suspect(text):
            text = self.escape(text, "a" in [inline.kind for inline in self.flow.inlines])
        parts.append(text)

    def leave_out(self) -> None:
        """Say that inline content is left out here: white space beside it goes where closing punctuation follows."""
        self.gap = (self.parts, len(self.parts))

    def _close_gap(self, text: str) -> str:
        assert self.gap is not None
        parts, end = self.gap
        self.gap = None
        if parts is self.parts and parts[end:] in ([], [" "]) and _CLOSING.match(text):
            self.trim()
            return text.lstrip(" ")
        return text

    def escape(self, text: str, in_link: bool) -> str:
        """Escape prose, white space already collapsed."""
        return escape_suspect(text, in_link)

    def _punctuate(self, text: str) -> str:
        """Put the punctuation that follows a displayed formula behind it instead of before the next paragraph."""
        rest = text.lstrip(".,;:")
        if self.flow.parts or (rest and rest[0] != " "):
            return text
        self.flow.blocks[-1] += text[: len(text) - len(rest)]
        return rest.lstrip(" ")

    def inline(self, markdown: str) -> None:
        """Add finished inline Markdown (code, an image, a footnote mark)."""
        if not markdown:
            return
        if self.parts and self.parts[-1][-1] in _JOINING:
            self._separate(markdown[0])
        self.parts.append(markdown)
        self.space = False

    def _separate(self, following: str) -> None:
        """Escape what ends the text before, where ``following`` would make it a link, a tag or a reference."""
        previous = self.parts[-1]
        last = previous[-1]
        if previous.startswith("[^"):  # The mark of a footnote, not of a link or a definition.
            if following == "(" or (following == ":" and len(self.parts) == 1):
                self.parts.append("\\")
            return
        if (len(previous) - len(previous[:-1].rstrip("\\"))) % 2 == 0:  # escaped
            return
        if (
            (last == "]" and following in "([:")
            or (last == "<" and (following.isalpha() or following in "/!?"))
            or (last == "&" and (following.isalpha() or following == "#"))
        ):
            self.parts[-1] = f"{previous[:-1]}\\{last}"

    def footnote(self, key: str) -> str:
        """Return the label of the footnote ``key``, numbering it at its first mention."""
        if key not in self.footnotes:
            self.counters["footnotes"] += 1
        return self.footnotes.mention(key)

    def define_footnote(self, key: str, text: str) -> None:
        """Give the footnote ``key`` its text."""
        self.footnote(key)
        self.footnotes.define(key, text)

    def formula(self, tex: str, display: bool) -> None:
        """Add a formula: ``$…$`` in the line, ``$$…$$`` as a block of its own."""
        if not tex:
            return
        self.counters["formulas_display" if display else "formulas_inline"] += 1
        flow = self.flow
        if display and not flow.in_cell and flow.kind != "line":
            self.block(f"$${tex}$$")
            return
        if flow.in_cell and "\\|" in tex:
            tex = tex.replace("\\|", "\\Vert ")
            self.counters["formulas_pipes_rewritten"] += 1
        mark = "$$" if display and flow.in_cell else "$"
        previous = self.parts[-1] if self.parts else ""
        separator = " " if previous[-1:] == "$" and previous[-2:] != "\\$" else ""
        self.inline(f"{separator}{mark}{tex}{mark}")

    def line_break(self) -> None:
        """Add a hard line break; two in a row end the paragraph."""
        parts = self.parts
        if self.flow.kind == "line":
            if not self.space:
                parts.append(" ")
                self.space = True
            return
        while parts and not parts[-1].strip(" "):
            parts.pop()
        if not parts and not (self.flow.inlines and self.flow.parts):
            return
        mark = "<br>" if self.flow.kind == "cell" else "  \n"
        if parts and parts[-1] == mark:
            if self.flow.kind != "cell":
                parts.pop()
                self.flush()
            return
        if parts:
            parts[-1] = parts[-1].rstrip(" ")
        parts.append(mark)
        self.space = True

    def open_inline(self, kind: str, wrap: Callable[[Any, str], str], *, nests: bool = False) -> Close | None:
        """Open an inline element; ``None`` where one of the same kind is open already, unless the kind ``nests``."""
        inlines = self.flow.inlines
        if inlines and (
            len(inlines) >= MAX_INLINES or (not nests and kind in [inline.kind for inline in inlines])
        ):
            return None
        inline = Inline(kind, wrap)
        inlines.append(inline)
        self.parts = inline.parts
        return Writer.close_inline

    def open_emphasis(self, kind: str) -> Close | None:
        """Open an ``em``, ``strong`` or ``del``; emphasis within emphasis of its kind is kept only where all is."""
        self.counters["emphasis"] += 1
        return self.open_inline(kind, emphasis.WRAP[kind], nests=self._exact)

    def close_inline(self) -> None:
        """Close the innermost inline element."""
        flow = self.flow
        inlines = flow.inlines
        inline = inlines.pop()
        self.parts = inlines[-1].parts if inlines else flow.parts
        self._wrapped(inline)

    def _wrapped(self, inline: Inline) -> None:
        """Add an inline element that has ended; spaces and line breaks at its edges go outside."""
        content = inline.parts[0] if len(inline.parts) == 1 else "".join(inline.parts)
        inner = content.strip(" \n")
        if not inner:
            self._edge(content)
            return
        after = ""
        if len(inner) < len(content):
            before, _, after = content.partition(inner)
            self._edge(before)
            inner = self._without_spaces(inner, before, after)
        self.marked(inline.wrap(self, inner))
        if after:
            self._edge(after)

    def _without_spaces(self, inner: str, before: str, after: str) -> str:
        """Escape an asterisk or tilde at the edge of ``inner`` that was no mark for the spaces on both of its sides."""
        if before and inner[0] in "*~" and inner[1:2] in ("", " "):
            return self.escape(inner[0], False) + self._without_spaces(inner[1:], "", after)
        if after and inner[-1:] in ("*", "~") and inner[-2:-1] == " ":
            return inner[:-1] + self.escape(inner[-1], False)
        return inner

    def marked(self, markdown: str) -> None:
        """Add an inline element whose Markdown is finished."""
        parts = self.parts
        if markdown[0] == "[" and parts:
            last = parts[-1][-1:]
            if last in _JOINING:
                self._separate("[")
            elif last == "!":  # the two would be an image
                parts[-1] = parts[-1][:-1] + "\\!"
        parts.append(markdown)

    def _edge(self, spaces: str) -> None:
        parts = self.parts
        if "\n" in spaces:
            if parts and parts[-1] != "  \n":
                parts.append("  \n")
        elif spaces:
            parts.append(" ")

    # -- blocks

    def trim(self) -> None:
        """Remove the space at the end of what was written last: a note mark or a dropped citation follows it."""
        while self.parts and not self.parts[-1].strip(" "):
            self.parts.pop()
        if self.parts and self.parts[-1][-1] == " ":
            self.parts[-1] = self.parts[-1].rstrip(" ")
        self.space = not self.parts

    def flush(self) -> None:
        """End the paragraph under way."""
        flow = self.flow
        if flow.inlines:
            for inline in reversed(flow.inlines[:]):
                if inline.parts:
                    outer = flow.inlines.index(inline)
                    self.parts = flow.inlines[outer - 1].parts if outer else flow.parts
                    self._wrapped(inline)
                    inline.parts.clear()
            self.parts = flow.inlines[-1].parts
        self.space = True
        parts = flow.parts
        if not parts:
            return
        text = (parts[0] if len(parts) == 1 else "".join(parts)).strip(" \n")
        parts.clear()
        if not text:
            return
        if flow.emphatic:
            flow.emphatic = False
            text = emphasis.resolve(text, self.delimiters, join=not self._exact)
        if flow.kind == "cell":
            text = text.removesuffix("<br>").rstrip(" ")
        elif flow.kind != "line":
            text = self.paragraph(text)
        if text:
            flow.blocks.append(text)

    def paragraph(self, text: str) -> str:
        """Finish a paragraph: escape what would be another block at the start of its lines."""
        if "\n" in text:
            first, *others = text.split("\n")
            return "\n".join([escape_line_start(first), *map(escape_next_line, others)])
        return text if text[0].isalpha() else escape_line_start(text)

    def block(self, text: str) -> None:
        """Add a finished block."""
        self.flush()
        if text:
            self.flow.blocks.append(text)

    def push(self, kind: str, state: Any = None) -> Flow:
        """Open a flow; the paragraph of the outer flow is left as it is (flush first where it must end)."""
        self.flow = flow = Flow(kind, self.flow, state)
        self.parts = flow.parts
        self.space = True
        return flow

    def pop(self) -> Flow:
        """End the innermost flow and return it with its last paragraph flushed."""
        self.flush()
        flow = self.flow
        outer = flow.parent
        assert outer is not None
        self.flow = outer
        self.parts = outer.inlines[-1].parts if outer.inlines else outer.parts
        self.space = not self.parts or self.parts[-1][-1:] in " \n"
        return flow

    def markdown(self) -> str:
        """Return the whole document: blocks, then footnotes; one final newline."""
        self.flush()
        blocks = self.flow.blocks + self.footnotes.blocks()
        return "\n\n".join(blocks) + "\n" if blocks else ""
