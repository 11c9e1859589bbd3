"""The options of the ``markdownify`` package on the command line, by its names."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tootsie.curate.markdownify.style import (
    ASTERISK,
    ATX,
    ATX_CLOSED,
    BACKSLASH,
    SPACES,
    STRIP,
    STRIP_ONE,
    UNDERLINED,
    UNDERSCORE,
)

PANEL = "Style (named as in the markdownify package)"


def _option(text: str, *names: str, choices: tuple[str, ...] = (), metavar: str | None = None) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=PANEL, metavar="|".join(choices) or metavar)


HeadingStyle = Annotated[
    str | None, _option("How headings are written.", choices=(ATX, ATX_CLOSED, UNDERLINED))
]
NewlineStyle = Annotated[str | None, _option("How a line break is written.", choices=(SPACES, BACKSLASH))]
StrongEmSymbol = Annotated[
    str | None, _option("What emphasis is written with.", choices=(ASTERISK, UNDERSCORE))
]
Bullets = Annotated[
    str | None, _option("Markers of bullet lists, by depth.", "-b", "--bullets", metavar="MARKS")
]
CodeLanguage = Annotated[str | None, _option("Language of code that names none.", metavar="NAME")]
StripPre = Annotated[
    str | None, _option("Blank lines at the ends of code that go.", choices=(STRIP, STRIP_ONE))
]
SubSymbol = Annotated[str | None, _option("What surrounds subscripts.", metavar="MARK")]
SupSymbol = Annotated[str | None, _option("What surrounds superscripts.", metavar="MARK")]
StripTags = Annotated[
    list[str] | None,
    _option("Keep only the content of these elements: a,img.", "-s", "--strip", metavar="TAGS"),
]
ConvertTags = Annotated[
    list[str] | None,
    _option("Convert only these elements, not with --strip.", "-c", "--convert", metavar="TAGS"),
]
KeepInlineImagesIn = Annotated[
    list[str] | None,
    _option(
        "Parents in which images in headings and cells stay images.",
        "-i",
        "--keep-inline-images-in",
        metavar="TAGS",
    ),
]
Autolinks = Annotated[bool | None, _option("Write <url> where a link's text is its target.")]
DefaultTitle = Annotated[bool | None, _option("Give links their target as title.")]
EscapeAsterisks = Annotated[bool | None, _option("Escape * always or never; else where it acts.")]
EscapeUnderscores = Annotated[bool | None, _option("Likewise, _.")]
EscapeMisc = Annotated[bool | None, _option("Likewise, other characters.")]
TableInferHeader = Annotated[bool | None, _option("Take the first row as header where there is none.")]
Wrap = Annotated[bool | None, _option("Wrap paragraphs.", "-w/-W", "--wrap/--no-wrap")]
WrapWidth = Annotated[int | None, _option("Characters to a line.", metavar="N")]


def style_options(**given: Any) -> dict[str, Any]:
    """Return what was given on the command line, lists of tags apart by commas."""
    return {
        name: [tag for entry in value for tag in entry.replace(",", " ").split()]
        if isinstance(value, list)
        else value
        for name, value in given.items()
        if value is not None and value != []
    }
