"""``MarkdownConverter``: the class that users of the ``markdownify`` package subclass, over this engine.

A subclass's ``convert_*(self, el, text, parent_tags)`` methods are called by the walk (:mod:`.hooks`); what they find behind
``super()`` is in :mod:`.element_rules`.
"""

from __future__ import annotations

from typing import Any

from tootsie.curate.markdownify.conversion import DEFAULT_LIMITS, convert_with, settings_of
from tootsie.curate.markdownify.element import Element
from tootsie.curate.markdownify.element_rules import ElementRules
from tootsie.curate.markdownify.escaping import collapse, escape_text
from tootsie.curate.markdownify.hook_methods import hooks_of
from tootsie.curate.markdownify.hooks import serializer_of
from tootsie.curate.markdownify.options import KNOWN, Profile, unknown_option
from tootsie.curate.markdownify.options import Options as EngineOptions
from tootsie.curate.markdownify.style import ASTERISK, SPACES, STRIP, UNDERLINED
from tootsie.datasets.errors import SpecError

_SETTINGS = ("profile", "limits", "charset")
_SYNONYMS = {"sub": "sub_symbol", "sup": "sup_symbol"}
_FIXED = frozenset(
    ("process_tag", "process_element", "process_text", "get_conv_fn", "get_conv_fn_cached", "should_convert_tag")
)  # fmt: skip


class MarkdownConverter(ElementRules):
    """Convert HTML by this engine, with the package's options and defaults of form, and the hooks of subclasses.

    >>> class Loud(MarkdownConverter):
    ...     def convert_b(self, el, text, parent_tags):
    ...         return super().convert_b(el, text.upper(), parent_tags)
    >>> Loud(heading_style="ATX").convert("<h1>a <b>b</b></h1>")
    '# a **B**'

    Besides the package's options it takes this converter's own, with ``profile``, ``limits`` and ``charset``. A subclass may
    have more of its own in ``self.options``.
    """

    class DefaultOptions:
        """The package's defaults, but that text is escaped only where it would act.

        A subclass may have an ``Options`` or ``DefaultOptions`` of its own.
        """

        autolinks = True
        bs4_options: Any = "html.parser"
        bullets = "*+-"
        code_language = ""
        code_language_callback: Any = None
        convert: Any = None
        default_title = False
        escape_asterisks: bool | None = None
        escape_underscores: bool | None = None
        escape_misc: bool | None = None
        exact = False
        heading_style = UNDERLINED
        keep_inline_images_in: Any = ()
        newline_style = SPACES
        strip: Any = None
        strip_document: str | None = STRIP
        strip_pre: str | None = STRIP
        strong_em_symbol = ASTERISK
        sub_symbol = ""
        sup_symbol = ""
        table_infer_header = False
        wrap = False
        wrap_width: int | None = 80

    class Options(DefaultOptions):
        """What a subclass wants otherwise."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        given = {_SYNONYMS.get(name, name): value for name, value in options.items()}
        own = _options_of(self.Options)
        if not issubclass(self.Options, self.DefaultOptions):
            own = {**_options_of(self.DefaultOptions), **own}
        self.options: dict[str, Any] = {**own, **given}
        if type(self) is MarkdownConverter:
            for name in given:
                if name not in KNOWN and name not in _SETTINGS:
                    raise unknown_option(name)
        for name in hooks_of(self) & _FIXED:
            raise SpecError(
                f"{type(self).__name__} overrides {name}(), which the walk of this engine never calls",
                field=name,
                remedy="Use convert_* hooks and escape(), or the markdownify package itself",
            )
        self._ready = (dict(self.options), self._settings())  # refuses at once what is wrong

    def _settings(self, **changes: Any) -> EngineOptions:
        known = {name: value for name, value in self.options.items() if name in KNOWN}
        return settings_of(self.options.get("profile", Profile.WEB), {**known, **changes})

    # -- conversion

    def convert(self, html: str | bytes) -> str:
        """Return the Markdown of a page or a piece of one."""
        if type(self).convert_soup is not MarkdownConverter.convert_soup:
            from bs4 import BeautifulSoup

            parser = self.options["bs4_options"]
            return self.convert_soup(
                BeautifulSoup(html, **(parser if isinstance(parser, dict) else {"features": parser}))
            )
        return self._converted(html if isinstance(html, bytes) else str(html))

    def convert_soup(self, soup: Any) -> str:
        """Return the Markdown of a page, or a part of one, that Beautiful Soup has parsed; it stays as it is."""
        return self._converted(str(soup))

    def _converted(self, html: str | bytes, **changes: Any) -> str:
        if changes:
            settings = self._settings(**changes)
        else:
            if self._ready[0] != self.options:
                self._ready = (dict(self.options), self._settings())
            settings = self._ready[1]
        limits = self.options.get("limits") or DEFAULT_LIMITS
        charset = self.options.get("charset")
        counted, self._counted = self._counted, {}
        try:
            conversion, serializer = convert_with(serializer_of(self), html, settings, limits, charset)
        finally:
            self._counted = counted
        if "convert__document_" in hooks_of(self):
            return str(self.convert__document_(Element(serializer.root), conversion.markdown, set()) or "")
        return conversion.markdown

    def convert__document_(self, el: Any, text: str, parent_tags: Any = None) -> str:
        """Return the whole document in its last form."""
        return text

    def process_tag(self, node: Any, parent_tags: Any = None) -> str:
        """Return the Markdown of one element, for hooks that convert a child themselves."""
        return self._converted(str(node), strip_document=STRIP)

    def process_element(self, node: Any, parent_tags: Any = None) -> str:
        """Return the Markdown of an element or a piece of text."""
        return self.process_tag(node) if getattr(node, "name", None) else self.process_text(node, parent_tags)

    def process_text(self, el: Any, parent_tags: Any = None) -> str:
        """Return the Markdown of a piece of text."""
        return self.escape(collapse(str(el)), parent_tags)

    def should_convert_tag(self, tag: str) -> bool:
        """Return whether the options ``strip`` and ``convert`` leave an element to be converted."""
        if self.options["strip"] is not None:
            return tag not in self.options["strip"]
        return self.options["convert"] is None or tag in self.options["convert"]

    def escape(self, text: str, parent_tags: Any = None) -> str:
        """Escape a piece of text."""
        return escape_text(text or "")


def _options_of(holder: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in reversed(holder.__mro__[:-1]):
        found.update(vars(kind))
    return {name: value for name, value in found.items() if name[0] != "_"}
