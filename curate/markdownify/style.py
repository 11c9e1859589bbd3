"""How the Markdown is written: the options of the ``markdownify`` package, which :class:`.Options` takes beside its own.

Source: markdownify 1.2.3. An option left at its default here follows this converter's own rules, which
``docs/markdownify.md`` compares with the package's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tootsie.datasets.errors import SpecError

ATX = "atx"
ATX_CLOSED = "atx_closed"
UNDERLINED = "underlined"
SETEXT = UNDERLINED
SPACES = "spaces"
BACKSLASH = "backslash"
ASTERISK = "*"
UNDERSCORE = "_"
LSTRIP = "lstrip"
RSTRIP = "rstrip"
STRIP = "strip"
STRIP_ONE = "strip_one"
FINAL_NEWLINE = "final_newline"
"""``strip_document``: no blank lines at either end, and one line break at the end, as a text file has."""

SYNONYMS = {"sub_symbol": "sub", "sup_symbol": "sup"}
"""Options of the package that this converter calls otherwise."""


@dataclass(frozen=True)
class Style:
    """The package's options; equal to ``Style()`` when none was given."""

    heading_style: str = ATX
    """``atx``, ``atx_closed`` (``# A #``) or ``underlined`` (``A`` over ``===``; levels 1 and 2)."""
    newline_style: str = SPACES
    """How ``<br>`` ends a line: two ``spaces`` or a ``backslash``."""
    strong_em_symbol: str = ASTERISK
    """``*`` or ``_``; each where the other would be misread."""
    autolinks: bool = True
    """Write ``<url>`` where the text of a link is its target."""
    default_title: bool = False
    """Give links without a title their target as title."""
    escape_asterisks: bool | None = None
    """Escape ``*`` always, never, or (``None``) where it would act."""
    escape_underscores: bool | None = None
    """Likewise, ``_``."""
    escape_misc: bool | None = None
    """Likewise, all other characters with a meaning."""
    keep_inline_images_in: tuple[str, ...] | None = None
    """Parents in which images inside headings and cells stay images instead of their text; ``None``: all."""
    strip: tuple[str, ...] | None = None
    """Elements of which only the content is kept."""
    convert: tuple[str, ...] | None = None
    """The only elements that are converted; of others the content is kept. Not together with ``strip``."""
    strip_document: str | None = FINAL_NEWLINE
    """Blank lines that separate blocks: none at the start (``lstrip``), the end (``rstrip``), both (``strip``); ``None``: all."""
    strip_pre: str | None = RSTRIP
    """Blank lines of code: ``strip`` at both ends, ``strip_one`` at each end, ``rstrip`` at the end, or keep (``None``)."""
    table_infer_header: bool = False
    """Take the first row as the header of a table that has none."""
    wrap: bool = False
    """Wrap paragraphs at ``wrap_width``; formulas, code, targets of links and HTML are never broken."""
    wrap_width: int | None = 80
    """Characters to a line."""
    code_language_callback: Callable[[Any], str | None] | None = None
    """Called with the ``<pre>`` element (:class:`.element.Element`): the language, or nothing for the declared one."""
    bs4_options: Any = None
    """Accepted and without effect: pages are always parsed as HTML5 demands."""

    @classmethod
    def of(cls, options: dict[str, Any]) -> Style:
        """Return the style with ``options`` on top of the defaults.

        Raises:
          SpecError: a value that is none of the allowed ones, or ``strip`` together with ``convert``.
        """
        settings = dict(options)
        for name, allowed in _CHOICES.items():
            if name in settings:
                settings[name] = _choice(name, settings[name], allowed)
        for name in ("strip", "convert", "keep_inline_images_in"):
            if settings.get(name) is not None:
                settings[name] = _tags(name, settings[name])
        for name in _FLAGS:
            if name in settings and settings[name] not in (True, False, None):
                raise _wrong(name, settings[name], "true or false")
        width = settings.get("wrap_width", 80)
        if width is not None and (not isinstance(width, int) or isinstance(width, bool) or width < 1):
            raise _wrong("wrap_width", width, "a number of characters, or None")
        callback = settings.get("code_language_callback")
        if callback is not None and not callable(callback):
            raise _wrong("code_language_callback", callback, "a function of the <pre> element")
        if settings.get("strip") is not None and settings.get("convert") is not None:
            raise SpecError(
                "the options strip and convert exclude one another",
                field="convert",
                value=list(settings["convert"]),
                remedy="Name either the elements to strip or those to convert",
            )
        return cls(**settings) if settings else _DEFAULT


_CHOICES: dict[str, tuple[str | None, ...]] = {
    "heading_style": (ATX, ATX_CLOSED, UNDERLINED),
    "newline_style": (SPACES, BACKSLASH),
    "strong_em_symbol": (ASTERISK, UNDERSCORE),
    "strip_document": (STRIP, LSTRIP, RSTRIP, FINAL_NEWLINE, None),
    "strip_pre": (STRIP, STRIP_ONE, RSTRIP, None),
}
_DEFAULT = Style()
_ALIASES = {"setext": UNDERLINED}
_FLAGS = (
    "autolinks", "default_title", "escape_asterisks", "escape_underscores", "escape_misc", "table_infer_header", "wrap"
)  # fmt: skip
OPTIONS = frozenset(field.name for field in dataclasses.fields(Style))


def _choice(name: str, value: Any, allowed: tuple[str | None, ...]) -> str | None:
    chosen = value.lower() if isinstance(value, str) else value
    chosen = _ALIASES.get(chosen, chosen) if name == "heading_style" else chosen
    if chosen not in allowed:
        raise _wrong(name, value, "one of " + ", ".join(str(entry) for entry in allowed))
    return chosen


def _tags(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _wrong(name, value, "a list of element names, such as ['a', 'img']")
    return tuple(str(tag).lower() for tag in value)


def _wrong(name: str, value: Any, expected: str) -> SpecError:
    return SpecError(
        f"the option {name} has a value that does not exist",
        field=name,
        value=value,
        remedy=f"Use {expected}",
    )
