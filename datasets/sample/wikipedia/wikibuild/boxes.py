"""Templates that stand for a block: hatnotes, infoboxes, navigation, maintenance boxes, quotations."""

from __future__ import annotations

import html

from wikibuild.page import Page
from wikibuild.templates import Call, Template, reference_list, text

HATNOTE_CSS = ".mw-parser-output .hatnote{font-style:italic}.mw-parser-output div.hatnote{padding-left:1.6em;margin-bottom:0.5em}"
INFOBOX_CSS = ".mw-parser-output .infobox{border:1px solid #a2a9b1;float:right;width:22em}.mw-parser-output .infobox-label{text-align:left}"
NAVBOX_CSS = ".mw-parser-output .navbox{border:1px solid #a2a9b1;width:100%;clear:both;font-size:88%;text-align:center}.mw-parser-output .hlist li{display:inline}"
AMBOX_CSS = (
    ".mw-parser-output .ambox{border:1px solid #a2a9b1;border-left:10px solid #36c;background-color:#fbfbfb}"
)


def _style(page: Page, call: Call, name: str, css: str) -> str:
    first = call.mark.replace("mw:Transclusion", "mw:Extension/templatestyles mw:Transclusion", 1)
    return page.style_sheet(name, css, f'{first} id="{page.element_id()}"')


def hatnote(words: str) -> Template:
    """A hatnote from a pattern: ``{1}``, ``{2}`` are arguments, in brackets they are linked."""

    def fill(page: Page, call: Call) -> str:
        shown = html.escape(words, quote=False)
        for index in range(1, 4):
            value = call.get(index)
            shown = shown.replace(
                f"[{index}]", page.link(value, html.escape(value), with_id=False) if value else ""
            )
            shown = shown.replace(f"{{{index}}}", text(page, value))
        style = _style(page, call, "Module:Hatnote/styles.css", HATNOTE_CSS)
        return f'{style}<div role="note" class="hatnote navigation-not-searchable"{call.more} id="{page.element_id()}">{shown}</div>'

    return fill


def short_description(page: Page, call: Call) -> str:
    """The hidden one-line description."""
    return (
        f'<div class="shortdescription nomobile noexcerpt noprint searchaux" style="display:none"{call.mark} '
        f'id="{page.element_id()}">{text(page, call.get(1))}</div>'
        + page.category_link("Articles with short description", call.about)
    )


def infobox(page: Page, call: Call) -> str:
    """A table of facts: ``name``, ``image``, ``caption``; every other argument is a row, ``header1 = …`` a header."""
    style = _style(page, call, "Module:Infobox/styles.css", INFOBOX_CSS)
    given = dict(call.named)
    rows = [
        f'<tr><th colspan="2" class="infobox-above">{text(page, given.pop("name", page.title))}</th></tr>'
    ]
    if "image" in given:
        from wikibuild import inline

        picture = inline.image(page, f"File:{given.pop('image')}|frameless")
        caption = given.pop("caption", "")
        line = f'<div class="infobox-caption">{text(page, caption)}</div>' if caption else ""
        rows.append(f'<tr><td colspan="2" class="infobox-image">{picture}{line}</td></tr>')
    for label, content in given.items():
        if label.startswith("header"):
            rows.append(f'<tr><th colspan="2" class="infobox-header">{text(page, content)}</th></tr>')
            continue
        items = [item.strip(" *") for item in content.split("\n") if item.strip()]
        shown = text(page, content)
        if len(items) > 1:
            shown = (
                '<div class="plainlist"><ul>'
                + "".join(f"<li>{text(page, i)}</li>" for i in items)
                + "</ul></div>"
            )
        name = html.escape(label.replace("_", " "))
        rows.append(
            f'<tr><th scope="row" class="infobox-label">{name}</th><td class="infobox-data">{shown}</td></tr>'
        )
    return f'{style}<table class="infobox"{call.more} id="{page.element_id()}"><tbody>{"".join(rows)}</tbody></table>'


def navbox(page: Page, call: Call) -> str:
    """Navigation at the foot: ``title``, and one row for each other argument, its links separated by lines."""
    style = _style(page, call, "Module:Navbox/styles.css", NAVBOX_CSS)
    given = dict(call.named)
    title = given.pop("title", page.title)
    target = html.escape(call.name.replace(" ", "_"))
    tools = "".join(
        f'<li class="nv-{word}"><a rel="mw:{kind}" href="{address}" title="{word} this template"><abbr title="{word} this template">{word[0]}</abbr></a></li>'
        for word, kind, address in (
            ("view", "WikiLink", f"./Template:{target}"),
            ("talk", "WikiLink", f"./Template_talk:{target}"),
            ("edit", "ExtLink", f"//{page.site.host}/w/index.php?title=Template:{target}&amp;action=edit"),
        )
    )
    rows = []
    for index, (label, content) in enumerate(given.items()):
        items = "".join(
            f"<li>{text(page, item.strip(' *'))}</li>" for item in content.split("\n") if item.strip()
        )
        parity = ("odd", "even")[index % 2]
        rows.append(
            f'<tr><th scope="row" class="navbox-group" style="width:1%">{html.escape(label)}</th>'
            f'<td class="navbox-list-with-group navbox-list navbox-{parity} hlist"><div style="padding:0 0.25em"><ul>{items}</ul></div></td></tr>'
        )
    anchor = html.escape(page.title.replace(" ", "_"))
    return (
        f'<div class="navbox-styles"{call.mark} id="{page.element_id()}">{style.replace(call.about, page.about())}</div>'
        f'<div role="navigation" class="navbox" aria-labelledby="{anchor}_nav" style="padding:3px"{call.more} id="{page.element_id()}">'
        f'<table class="nowraplinks mw-collapsible autocollapse navbox-inner" style="border-spacing:0"><tbody>'
        f'<tr><th scope="col" class="navbox-title" colspan="2"><div class="navbar plainlinks hlist navbar-mini"><ul>{tools}</ul></div>'
        f'<div id="{anchor}_nav" style="font-size:114%;margin:0 4em">{text(page, title)}</div></th></tr>'
        f"{''.join(rows)}</tbody></table></div>"
    )


def maintenance(kind: str, words: str) -> Template:
    """A box that asks for work on the article."""

    def fill(page: Page, call: Call) -> str:
        style = _style(page, call, "Module:Message box/ambox.css", AMBOX_CSS)
        edit = f"//{page.site.host}/w/index.php?title={html.escape(page.title.replace(' ', '_'))}&amp;action=edit"
        date = call.named.get("date", "April 2024")
        name = call.name.replace(" ", "_")
        return (
            f'{style}<table class="box-{name} plainlinks metadata ambox ambox-{kind}" role="presentation"{call.more} id="{page.element_id()}">'
            f'<tbody><tr><td class="mbox-image"><div class="mbox-image-div"><span typeof="mw:File"><span><img alt="" resource="./File:Ambox_{kind}.svg" '
            f'src="//upload.{page.site.host}/a/ab/Ambox_{kind}.svg/40px-Ambox_{kind}.svg" width="40" height="40"/></span></span></div></td>'
            f'<td class="mbox-text"><div class="mbox-text-span">{words} <span class="hide-when-compact">Please help '
            f'<a rel="mw:ExtLink" href="{edit}" class="external text">improve this article</a>.</span> '
            f'<span class="date-container"><i>(<span class="date">{date}</span>)</i></span></div></td></tr></tbody></table>'
            + page.category_link(f"{call.name} from {date}", call.about)
        )

    return fill


def quotation(page: Page, call: Call) -> str:
    """A quotation with its source."""
    source = call.named.get("source", "")
    line = f'<div class="templatequotecite">— <cite>{text(page, source)}</cite></div>' if source else ""
    return f'<blockquote class="templatequote"{call.mark} id="{page.element_id()}"><p>{text(page, call.get(1))}</p>{line}</blockquote>'


def reflist(page: Page, call: Call) -> str:
    """``{{reflist}}`` and ``{{notelist}}``."""
    group = "note" if call.name.lower() in ("notelist", "anmerkungen") else ""
    inner = reference_list(page, group)
    return f'<div class="reflist"{call.mark} id="{page.element_id()}">{inner}</div>'


def stub(page: Page, call: Call) -> str:
    """The note under a very short article."""
    page_link = page.link("Wikipedia:Stub", "stub", with_id=False)
    return (
        f'<div role="note" class="metadata plainlinks asbox stub"{call.mark} id="{page.element_id()}"><table role="presentation"><tbody><tr>'
        f'<td><p class="asbox-body">This article is a {page_link}. You can help by adding to it.</p></td></tr></tbody></table></div>'
        + page.category_link("Stubs", call.about)
    )


def disambiguation(page: Page, call: Call) -> str:
    """The note under a list of meanings."""
    words = {
        "de": "Diese Seite ist eine Begriffsklärung zur Unterscheidung mehrerer mit demselben Wort bezeichneter Begriffe.",
        "en": "This disambiguation page lists articles associated with the same title. If an internal link led you here, you may wish to change the link.",
    }[page.site.language]
    name = {"de": "Begriffsklärung", "en": "Disambiguation pages"}[page.site.language]
    return (
        f'<table id="disambigbox" class="metadata plainlinks dmbox dmbox-disambig" role="presentation"{call.mark}><tbody><tr>'
        f'<td class="mbox-text" style="font-style:italic;">{words}</td></tr></tbody></table>'
        + page.category_link(name, call.about)
    )


def hidden(category: str) -> Template:
    """A template that only sets a category."""
    return lambda page, call: (
        f'<span{call.mark} id="{page.element_id()}"></span>' + page.category_link(category, call.about)
    )


def authority(page: Page, call: Call) -> str:
    """Identifiers of libraries; the numbers are invented."""
    return (
        f'<div role="navigation" class="navbox authority-control"{call.mark} id="{page.element_id()}"><table class="nowraplinks hlist navbox-inner">'
        f'<tbody><tr><th scope="row" class="navbox-group">Authority control databases</th><td class="navbox-list navbox-odd"><ul>'
        f'<li><span class="uid">X{sum(map(ord, page.title)) * 7919 % 10**7:07d}</span></li></ul></td></tr></tbody></table></div>'
    )


BLOCK: dict[str, Template] = {
    "short description": short_description, "reflist": reflist, "notelist": reflist, "quote": quotation,
    "blockquote": quotation, "stub": stub, "disambiguation": disambiguation, "begriffsklärung": disambiguation,
    "authority control": authority, "use dmy dates": hidden("Use dmy dates from April 2024"),
    "about": hatnote("This article is about {1}. For {2}, see [3]."), "distinguish": hatnote("Not to be confused with [1]."),
    "main": hatnote("Main article: [1]"), "see also": hatnote("See also: [1]"), "further": hatnote("Further information: [1]"),
    "other uses": hatnote("For other uses, see [1]."), "redirect": hatnote('"{1}" redirects here. For {2}, see [3].'),
    "hauptartikel": hatnote("→ Hauptartikel: [1]"),
    "more citations needed": maintenance("content", "This article <b>needs additional citations for verification</b>."),
    "technical": maintenance("style", "This article <b>may be too technical for most readers to understand</b>."),
    "update": maintenance("content", "This article <b>needs to be updated</b>."),
}  # fmt: skip
