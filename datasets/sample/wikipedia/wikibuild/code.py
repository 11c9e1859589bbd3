"""Source code in a page: the spans that MediaWiki's highlighter (Pygments) writes, for a few languages."""

from __future__ import annotations

import html
import re

from wikibuild.page import Page, data_mw

KEYWORDS = {
    "python": "and as assert break class continue def elif else except finally for from if import in is lambda not or "
    "pass raise return try while with yield None True False",
    "c": "break case char const continue do double else float for if int long return sizeof static struct switch "
    "unsigned void while",
    "scheme": "define lambda if cond else let",
}
COMMENTS = {"python": r"#[^\n]*", "c": r"/\*.*?\*/|//[^\n]*", "scheme": r";[^\n]*"}


def highlighted(language: str, source: str) -> str:
    """HTML with one span per token; an unknown language is only escaped."""
    if language not in KEYWORDS:
        return html.escape(source, quote=False)
    words = set(KEYWORDS[language].split())
    token = re.compile(
        rf"(?P<c1>{COMMENTS[language]})|(?P<s2>\"[^\"\n]*\"|'[^'\n]*')|(?P<mi>\b\d+(?:\.\d+)?\b)"
        r"|(?P<word>\b[A-Za-z_]\w*\b)|(?P<o>[-+*/%=<>!&|^~]+)|(?P<p>[()\[\]{},;:.])",
        re.S,
    )
    out, position = [], 0
    for match in token.finditer(source):
        out.append(html.escape(source[position : match.start()], quote=False))
        kind = match.lastgroup or ""
        if kind == "word":
            kind = "k" if match[0] in words else "n"
        out.append(f'<span class="{kind}">{html.escape(match[0], quote=False)}</span>')
        position = match.end()
    out.append(html.escape(source[position:], quote=False))
    return "".join(out)


def inline(page: Page, language: str, source: str) -> str:
    """Code within a sentence."""
    mw = data_mw(
        {"name": "syntaxhighlight", "attrs": {"lang": language, "inline": ""}, "body": {"extsrc": source}}
    )
    return (
        f'<code class="mw-highlight mw-highlight-lang-{language} mw-content-ltr" dir="ltr" '
        f'typeof="mw:Extension/syntaxhighlight" about="{page.about()}" data-mw=\'{mw}\' id="{page.element_id()}">'
        f"{highlighted(language, source)}</code>"
    )


def block(page: Page, language: str, source: str) -> str:
    """A listing of its own."""
    source = source.strip("\n")
    mw = data_mw(
        {"name": "syntaxhighlight", "attrs": {"lang": language}, "body": {"extsrc": f"\n{source}\n"}}
    )
    return (
        f'<div class="mw-highlight mw-highlight-lang-{language} mw-content-ltr" dir="ltr" '
        f'typeof="mw:Extension/syntaxhighlight" about="{page.about()}" data-mw=\'{mw}\' id="{page.element_id()}">'
        f"<pre><span></span>{highlighted(language, source)}\n</pre></div>"
    )
