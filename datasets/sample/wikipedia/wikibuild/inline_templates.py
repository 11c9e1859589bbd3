"""Templates inside a sentence: citations, foreign words, units, fractions, chemical formulas, marks."""

from __future__ import annotations

import html
import re

from wikibuild.page import Page
from wikibuild.templates import Call, Template, text

LANGUAGES = {"ar": "Arabic", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "he": "Hebrew", "fa": "Persian",
             "el": "Greek", "grc": "Ancient Greek", "la": "Latin", "de": "German", "fr": "French", "it": "Italian",
             "sa": "Sanskrit", "hi": "Hindi", "ru": "Russian", "es": "Spanish", "th": "Thai", "nl": "Dutch"}  # fmt: skip
RIGHT_TO_LEFT = {"ar", "he", "fa"}
UNITS = {"mm": ("in", 1 / 25.4), "cm": ("in", 1 / 2.54), "m": ("ft", 1 / 0.3048), "km": ("mi", 1 / 1.609344),
         "kg": ("lb", 1 / 0.45359237), "g": ("oz", 1 / 28.349523125), "L": ("US gal", 1 / 3.785411784),
         "km2": ("sq mi", 1 / 2.589988110336)}  # fmt: skip
CITATION_CSS = (
    ".mw-parser-output cite.citation{font-style:inherit;word-wrap:break-word}"
    '.mw-parser-output .citation q{quotes:"\\"""\\"""\'""\'"}'
)


def cite(page: Page, call: Call) -> str:
    """A source: author, year, title, publisher, with the hidden machine-readable copy of it."""
    kind = call.name.split()[-1]
    given = call.named
    author = ", ".join(filter(None, (given.get("last", ""), given.get("first", ""))))
    title = text(page, given["title"])
    if "url" in given:
        title = f'<a rel="mw:ExtLink nofollow" href="{html.escape(given["url"])}" class="external text">{title}</a>'
    title = f"<i>{title}</i>" if kind == "book" else f'"{title}"'
    pieces = [author + (f" ({given['year']})" if "year" in given else "")] if author else []
    pieces.append(title)
    if "journal" in given:
        volume = f" <b>{given['volume']}</b>" if "volume" in given else ""
        pieces.append(
            f"<i>{text(page, given['journal'])}</i>{volume}"
            + (f": {given['pages']}" if "pages" in given else "")
        )
    if "publisher" in given:
        pieces.append(text(page, given["publisher"]))
    if kind == "book" and "pages" in given:
        pieces.append(f'pp.<span typeof="mw:Entity">\u00a0</span>{given["pages"]}')
    coins = f"ctx_ver=Z39.88-2004&rft.genre={kind}&rft.btitle={given['title'].replace(' ', '+')}&rft.au={author.replace(' ', '+')}"
    style = page.style_sheet(
        "Module:Citation/CS1/styles.css",
        CITATION_CSS,
        call.mark.replace("mw:Transclusion", "mw:Extension/templatestyles mw:Transclusion"),
    )
    anchor = "CITEREF" + re.sub(r"\W", "", given.get("last", "") + given.get("year", ""))
    return (
        f'{style}<cite id="{anchor}" class="citation {kind} cs1"{call.more}>{". ".join(p for p in pieces if p)}.</cite>'
        f'<span title="{html.escape(coins)}" class="Z3988"{call.more}></span>'
    )


def language(page: Page, call: Call) -> str:
    """Text in another language, with its direction."""
    code = call.get(1)
    direction = ' dir="rtl"' if code in RIGHT_TO_LEFT else ""
    tag = "i" if code in ("la", "de", "fr", "it", "es", "nl") else "span"
    return (
        f'<span title="{LANGUAGES[code]}-language text"{call.mark}><{tag} lang="{code}"{direction}>'
        f"{text(page, call.get(2))}</{tag}></span>"
        + page.category_link(f"Articles containing {LANGUAGES[code]}-language text", call.about)
    )


def language_named(page: Page, call: Call) -> str:
    """``{{langx|ja|…}}``: the name of the language, then the words."""
    label = page.link(f"{LANGUAGES[call.get(1)]} language", LANGUAGES[call.get(1)], with_id=False)
    inner = language(page, Call(call.name, call.positional, {}, call.about)).replace(call.mark, call.more, 1)
    return f"<span{call.mark}>{label}: </span>{inner}"


def ruby(page: Page, call: Call) -> str:
    """Characters with their reading above."""
    return f"<ruby{call.mark}><rb>{text(page, call.get(1))}</rb><rp>（</rp><rt>{text(page, call.get(2))}</rt><rp>）</rp></ruby>"


def convert(page: Page, call: Call) -> str:
    """A metric quantity and its customary value."""
    value, unit = call.get(1), call.get(2)
    other, factor = UNITS[unit]
    result = float(value.replace(",", "")) * factor
    shown = f"{result:,.0f}" if result >= 100 else f"{result:.1f}" if result >= 1 else f"{result:.2g}"
    name = unit.replace("2", "<sup>2</sup>")
    return f'<span{call.mark}>{value}<span typeof="mw:Entity">\u00a0</span>{name} ({shown}<span typeof="mw:Entity">\u00a0</span>{other})</span>'


def chemical(page: Page, call: Call) -> str:
    """A chemical formula: ``{{chem2|H2O}}``; digits behind a letter or bracket are subscripts."""
    source = html.escape(call.get(1), quote=False).replace("-&gt;", "→")
    source = re.sub(r"(?<=[A-Za-z)\]])(\d+)", r"<sub>\1</sub>", source)
    source = re.sub(r"\^(\d*[+−])", r"<sup>\1</sup>", source)
    return f'<span class="chemf nowrap"{call.mark}>{source}</span>'


def fraction(page: Page, call: Call) -> str:
    """A fraction in running text, with an optional whole number before it."""
    whole = call.get(1) if len(call.positional) == 3 else ""
    top, bottom = call.positional[-2:]
    plus = '<span class="sr-only">+</span>' if whole else ""
    return f'<span class="frac"{call.mark}>{whole}{plus}<span class="num">{top}</span>⁄<span class="den">{bottom}</span></span>'


def math_text(page: Page, call: Call) -> str:
    """``{{math|…}}`` and ``{{mvar|…}}``: formulas set as text."""
    if call.name == "mvar":
        return f'<span class="texhtml mvar" style="font-style:italic;"{call.mark}>{text(page, call.get(1))}</span>'
    return f'<span class="texhtml"{call.mark}>{text(page, call.get(1))}</span>'


def ipa(page: Page, call: Call) -> str:
    """A pronunciation."""
    return (
        f'<span class="rt-commentedText nowrap"{call.mark}><span class="IPA nopopups noexcerpt" lang="en-fonipa">'
        f"{page.link('Help:IPA/English', html.escape(call.get(1)), with_id=False)}</span></span>"
    )


def value(page: Page, call: Call) -> str:
    """``{{val|6.02|e=23|u=m}}``: a number with its power of ten and its unit."""
    power = (
        f'<span style="margin-left:0.25em;margin-right:0.15em;">×</span>10<sup>{call.named["e"].replace("-", "−")}</sup>'
        if "e" in call.named
        else ""
    )
    unit = f'<span typeof="mw:Entity">\u00a0</span>{text(page, call.named["u"])}' if "u" in call.named else ""
    return f'<span class="nowrap"{call.mark}>{call.get(1)}{power}{unit}</span>'


def circa(page: Page, call: Call) -> str:
    """An approximate date."""
    return f'<abbr title="circa"{call.mark}>c.</abbr><span style="white-space:nowrap;"{call.more}> {call.get(1)}</span>'


def fact(page: Page, call: Call) -> str:
    """A request for a source."""
    dated = page.category_link(
        f"Articles with unsourced statements from {call.named.get('date', 'April 2024')}", call.about
    )
    asked = page.link(
        "Wikipedia:Citation needed",
        f'<span title="This claim needs a reference ({call.named.get("date", "April 2024")})">citation needed</span>',
        with_id=False,
    )
    return f'<sup class="noprint Inline-Template Template-Fact" style="white-space:nowrap;"{call.mark}>[<i>{asked}</i>]</sup>{dated}'


def span(css: str) -> Template:
    """A template that only wraps its text."""
    return lambda page, call: f'<span class="{css}"{call.mark}>{text(page, call.get(1))}</span>'


def coordinates(page: Page, call: Call) -> str:
    """``{{coord|51.48|0}}``: degrees, minutes and seconds, the decimal form hidden beside them."""
    numbers = [float(item) for item in call.positional[:2]]
    sides = ["NS", "EW"]
    shown = []
    for number, side in zip(numbers, sides, strict=True):
        seconds = round(abs(number) * 3600)
        shown.append(f"{seconds // 3600}°{seconds // 60 % 60:02d}′{seconds % 60:02d}″{side[number < 0]}")
    decimal = " ".join(f"{abs(n):g}°{side[n < 0]}" for n, side in zip(numbers, sides, strict=True))
    css = ".mw-parser-output .geo-default,.mw-parser-output .geo-dms,.mw-parser-output .geo-dec{display:inline}.mw-parser-output .geo-nondefault,.mw-parser-output .geo-multi-punct{display:none}"
    style = page.style_sheet(
        "Module:Coordinates/styles.css", css, f' typeof="mw:Extension/templatestyles"{call.more}'
    )
    inside = "title" in call.named.get("display", "")
    place = ' id="coordinates"' if inside else ""
    return (
        f'<span class="geo-inline"{place}{call.mark}>{style}<span class="plainlinks nourlexpansion">'
        f'<a rel="mw:ExtLink" href="https://{page.site.host}/geohack?params={numbers[0]:g}_{numbers[1]:g}" class="external text">'
        f'<span class="geo-default"><span class="geo-dms" title="Maps, aerial photos, and other data for this location">'
        f'<span class="latitude">{shown[0]}</span> <span class="longitude">{shown[1]}</span></span></span>'
        f'<span class="geo-multi-punct"><span typeof="mw:Entity">\ufeff</span> / <span typeof="mw:Entity">\ufeff</span></span>'
        f'<span class="geo-nondefault"><span class="geo-dec">{decimal}</span><span style="display:none">'
        f'<span class="geo">{numbers[0]:g}; {numbers[1]:g}</span></span></span></a></span></span>'
    )


def note(page: Page, call: Call) -> str:
    """``{{efn|…}}``: an explanatory note in a group of its own."""
    from wikibuild import inline

    return inline.reference(page, {"group": "note"}, call.get(1))


INLINE: dict[str, Template] = {
    "cite book": cite, "cite journal": cite, "cite web": cite, "cite encyclopedia": cite, "lang": language,
    "langx": language_named, "ruby": ruby, "convert": convert, "chem2": chemical, "frac": fraction,
    "math": math_text, "mvar": math_text, "ipa": ipa, "val": value, "circa": circa, "citation needed": fact,
    "nowrap": span("nowrap"), "smallcaps": span("smallcaps"), "coord": coordinates, "efn": note,
}  # fmt: skip
