"""Titles, abstracts and words of real pages: counted in the source by other means (lxml) and found in the output.

Formulas and tables: ``test_real_formulas``, ``test_real_tables``.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import lxml.html
import pytest

from tootsie.curate.markdownify import convert


def ar5iv_pages(shared: Path) -> list[Path]:
    return sorted((shared / "ar5iv").rglob("*.html"))


def test_titles_and_abstracts_come_from_the_document(shared_data: Path) -> None:
    titles = abstracts = 0
    for path in ar5iv_pages(shared_data):
        tree = lxml.html.document_fromstring(
            path.read_bytes(), parser=lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
        )
        conversion = convert(path.read_bytes(), profile="arxiv")
        heading = tree.xpath("//h1[contains(@class,'ltx_title_document')]")
        assert bool(heading) == bool(conversion.title), path.name
        if heading:
            titles += 1
            assert re.search(r"^# \S", conversion.markdown, re.MULTILINE), path.name
        if tree.xpath("//div[contains(@class,'ltx_abstract')]"):
            abstracts += 1
            assert conversion.abstract, path.name
            assert conversion.abstract in conversion.markdown
    assert titles >= 15
    assert abstracts >= 11


def visible_words(tree: lxml.html.HtmlElement, gone: str) -> Counter[str]:
    for element in tree.xpath(f"//script | //style | //head | //math | //noscript | {gone}"):
        element.drop_tree()
    return Counter(re.findall(r"\w+", " ".join(tree.itertext())))


@pytest.mark.parametrize(
    ("folder", "profile", "gone", "options"),
    [
        (
            "ar5iv",
            "arxiv",
            "//footer | //*[contains(@class,'ltx_note_mark')] | //*[contains(@class,'ltx_note_type')] | //*[contains(@class,'ltx_tag')]"
            " | //*[contains(@class,'ltx_keywords')] | //*[contains(@class,'ltx_classification')] | //*[contains(@class,'ltx_dates')]"
            " | //nav | //*[contains(@class,'ltx_rdf')] | //*[contains(@class,'ltx_listing_data')] | //*[contains(@class,'ltx_ERROR')]",
            {"references": "keep", "authors": True},
        ),
        (
            "web/trafilatura",
            "web",
            "//iframe | //select | //textarea | //button | //video | //audio | //svg | //*[@hidden] | //*[contains(@style,'display')]",
            {},
        ),
    ],
)
def test_text_recall(
    shared_data: Path, folder: str, profile: str, gone: str, options: dict[str, object]
) -> None:
    wanted_total = missing_total = 0
    for path in sorted((shared_data / folder).rglob("*.html")):
        content = path.read_bytes()
        if not content.strip():
            continue
        tree = lxml.html.document_fromstring(
            content, parser=lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
        )
        wanted = visible_words(tree, gone)
        markdown = convert(content, profile=profile, charset="utf-8", **options).markdown
        found = Counter(re.findall(r"\w+", markdown.replace("\\_", "_").replace("\\", " ")))
        missing = wanted - found
        wanted_total += wanted.total()
        missing_total += missing.total()
        if missing.total() > 0.01 * max(wanted.total(), 300):
            print(path.name, missing.total(), wanted.total(), missing.most_common(12))
    print(f"\n{folder}: {100 * (1 - missing_total / wanted_total):.3f} % of {wanted_total:,} words")
    assert missing_total <= 0.005 * wanted_total
