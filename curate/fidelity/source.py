"""What a page holds, read from its HTML by rules of the measure's own: nothing of the converter takes part.

The page is parsed by Lexbor and walked once, without recursion. A formula's TeX, a cell's place, the language of code are found
as their specifications say (LaTeXML's ``alttext``, MathML's annotations, HTML §4.9.12), whatever the converter does.
"""

from __future__ import annotations

import dataclasses

from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.fidelity import html_rules, latexml_rules, mathjax, mediawiki_rules
from tootsie.curate.fidelity.facts import Facts, clean
from tootsie.curate.fidelity.source_reader import Rule, SourceReader
from tootsie.curate.markdownify import nesting
from tootsie.curate.markdownify.options import Dollars, Options, Profile

MAX_DEPTH = 256
"""Elements nested deeper are unwrapped before the page is parsed, or the parser's time would not be linear; their text stays."""
TAG_RULES: dict[Profile, dict[str, Rule]] = {
    Profile.WIKIPEDIA: html_rules.TAG_RULES | mediawiki_rules.TAG_RULES
}
CLASS_RULES: dict[Profile, dict[str, Rule]] = {
    Profile.ARXIV: latexml_rules.CLASS_RULES,
    Profile.WIKIPEDIA: mediawiki_rules.CLASS_RULES,
}


def read_source(html: str, options: Options) -> Facts:
    """Return what the Markdown of a page must hold under the policies ``options``.

    Time and memory are linear in the length of ``html``.
    """
    html = clean(html.replace("\r\n", "\n").replace("\r", "\n"))
    if nesting.is_deep(html.encode("utf-8", "replace"), MAX_DEPTH):
        html, _ = nesting.flatten(html, MAX_DEPTH)
    if options.dollars is Dollars.AUTO:
        options = dataclasses.replace(
            options, dollars=Dollars.STRICT if mathjax.is_loaded(html) else Dollars.NONE
        )
    parser = LexborHTMLParser(html)
    tags = TAG_RULES.get(options.profile, html_rules.TAG_RULES)
    reader = SourceReader(
        parser, html, options, tags, CLASS_RULES.get(options.profile, html_rules.CLASS_RULES)
    )
    if parser.root is None:
        return reader.finish()
    if options.profile is Profile.WIKIPEDIA:
        reader.kept_notes = mediawiki_rules.kept_notes(parser, options)
        reader.leave_out(mediawiki_rules.frame(parser), "frame of the page")
    if options.profile is Profile.ARXIV and not options.authors:
        reader.leave_out(latexml_rules.affiliations(parser), "authors and affiliations")
    reader.walk()
    if options.profile is Profile.WIKIPEDIA:
        reader.leave_out_empty_sections()
        if options.title:
            mediawiki_rules.add_page_title(reader)
    return reader.finish()
