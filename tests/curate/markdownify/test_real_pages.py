"""Fidelity on real pages: what the source holds is counted by other means (lxml, regular expressions) and found in the output."""

from __future__ import annotations

import html
import re
from collections import Counter
from pathlib import Path

import lxml.html
import pytest
from markdown_it import MarkdownIt

from tootsie.curate.markdownify import Conversion, convert

DELIMITED = re.compile(r"(?<!\\)\$\$(.+?)(?<!\\)\$\$|(?<![\\$])\$(?!\$)((?:[^$\\]|\\.)+?)\$(?!\$)", re.DOTALL)
STYLE = re.compile(r"^\\displaystyle(?![A-Za-z])\s*")


def squeeze(tex: str) -> str:
    tex = re.sub(r"(?<!\\)((?:\\\\)*)%[ \t]*\n[ \t]*", r"\1", tex)
    return re.sub(r"\s+", " ", tex).strip()


def unwrap(tex: str) -> str:
    match = re.fullmatch(r"\{\\(?:display|text)style\s*(.*)\}", tex, re.DOTALL)
    return match.group(1).strip() if match else tex


def formulas_of(markdown: str) -> tuple[Counter[str], str]:
    """Return the inline formulas, and all displayed ones joined."""
    markdown = re.sub(r"^ {0,12}(`{3,})[^\n]*\n.*?\n *\1`*$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    markdown = re.sub(r"(?<!`)(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)", "", markdown, flags=re.DOTALL)
    found = DELIMITED.findall(markdown)
    return Counter(squeeze(inline) for _, inline in found if inline), "\n".join(
        squeeze(display.replace("\n> ", "\n")) for display, _ in found if display
    )


def missing_formulas(truths: list[tuple[str, bool]], markdown: str) -> list[str]:
    inline, display = formulas_of(markdown)
    bare = re.sub(r"\s", "", display)
    missing = []
    for tex, displayed in truths:
        wanted = STYLE.sub("", tex)
        if not displayed and inline[tex] > 0:
            inline[tex] -= 1
        elif re.sub(r"\s", "", wanted) in bare:
            continue
        elif inline[tex.replace("|", "\\|")] > 0:  # in a table cell
            inline[tex.replace("|", "\\|")] -= 1
        elif "$" in tex and f"${tex}$" in markdown:  # \\mbox{$…$}: this scanner knows no braces
            continue
        else:
            missing.append(tex)
    return missing


def ar5iv_pages(shared: Path) -> list[Path]:
    return sorted((shared / "ar5iv").rglob("*.html"))


def whole(path: Path) -> Conversion:
    return convert(path.read_bytes(), profile="arxiv", references="keep", authors=True)


def test_every_latexml_formula_is_delimited(shared_data: Path) -> None:
    total = 0
    lost = {}
    for path in ar5iv_pages(shared_data):
        source = path.read_text(encoding="utf-8", errors="replace")
        truths = []
        source = re.sub(
            r'<div class="ltx_(?:keywords|classification|dates)">.*?</div>', "", source, flags=re.DOTALL
        )
        for tag in re.findall(r"<math\b[^>]*>", source):
            alttext = re.search(r'\salttext="([^"]*)"', tag)
            if alttext and alttext.group(1).strip():
                truths.append((squeeze(html.unescape(alttext.group(1))), 'display="block"' in tag))
        missing = missing_formulas(truths, whole(path).markdown)
        total += len(truths)
        if missing:
            lost[path.name] = missing
    print(f"\nLaTeXML formulas: {total}, lost: {sum(map(len, lost.values()))}")
    assert total > 2000
    assert not lost


def test_every_displayed_latexml_formula_is_displayed(shared_data: Path) -> None:
    for path in ar5iv_pages(shared_data):
        source = path.read_text(encoding="utf-8", errors="replace")
        display = re.sub(r"\s", "", formulas_of(whole(path).markdown)[1])
        for tag in re.findall(r'<math\b[^>]*display="block"[^>]*>', source):
            tex = squeeze(html.unescape(re.search(r'alttext="([^"]*)"', tag).group(1)))
            assert re.sub(r"\s", "", STYLE.sub("", tex)) in display, (path.name, tex)


def test_every_wikipedia_formula_is_delimited(shared_data: Path) -> None:
    total = 0
    lost = {}
    for path in sorted((shared_data / "wikipedia").rglob("*.html")):
        tree = lxml.html.document_fromstring(
            path.read_bytes(), parser=lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
        )
        truths = []
        for note in tree.xpath('//annotation[@encoding="application/x-tex"]'):
            if note.xpath('ancestor::*[contains(@class, "navbox")]'):
                continue
            truths.append((unwrap(squeeze(note.text or "")), False))
        if not truths:
            continue
        markdown = convert(path.read_bytes(), profile="wikipedia", references="keep").markdown
        missing = missing_formulas(truths, markdown)
        total += len(truths)
        if missing:
            lost[path.name] = missing
    print(f"\nWikipedia formulas: {total}, lost: {sum(map(len, lost.values()))}")
    assert total > 50
    assert not lost


# -- tables


def source_grids(path: Path, keep: str) -> list[list[dict[int, str]]]:
    tree = lxml.html.document_fromstring(
        path.read_bytes(), parser=lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    )
    for gone in tree.xpath(
        "//math | //annotation | //script | //style | //sup[contains(@class,'ref')] | //img | //*[contains(@class,'ltx_note')]"
        " | //*[contains(translate(@style,' ',''),'visibility:hidden')] | //*[contains(translate(@style,' ',''),'display:none')][not(@data-mw-section-id)][not(self::table)]"
        " | //*[contains(@class,'mw-references')] | //*[contains(@class,'noprint')] | //*[contains(@class,'mw-editsection')]"
    ):
        gone.drop_tree()
    grids = []
    for table in tree.xpath(keep):
        if table.xpath(".//table") or table.xpath("ancestor::table"):
            continue
        rows: list[dict[int, str]] = []
        covered: dict[int, int] = {}
        trs = list(table.iter("tr"))
        for number, tr in enumerate(trs):
            column = 0
            row = {}
            fresh = {}
            for cell in tr:
                if cell.tag not in ("td", "th"):
                    continue
                while covered.get(column, 0):
                    column += 1
                across = int(cell.get("colspan") or 1)
                down = int(cell.get("rowspan") or 1) or 10**6
                row[column] = words(cell.text_content())
                for step in range(across):
                    if down > 1:
                        fresh[column + step] = min(down, len(trs) - number)
                column += across
            covered = {key: left - 1 for key, left in covered.items() if left > 1}
            covered.update({key: left - 1 for key, left in fresh.items() if left > 1})
            rows.append(row)
        used = sorted({column for row in rows for column in row})
        grid = [{used.index(column): text for column, text in row.items() if text} for row in rows]
        grid = [row for row in grid if row]
        if grid:
            grids.append(grid)
    return grids


def words(text: str) -> str:
    return re.sub(r"\W+", "", text)


def output_grids(markdown: str) -> list[list[dict[int, str]]]:
    grids = []
    rows: list[dict[int, str]] | None = None
    row: dict[int, str] = {}
    column = 0
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            row, column = {}, 0
        elif token.type in ("td_close", "th_close"):
            column += 1
        elif token.type == "inline" and rows is not None:
            text = re.sub(r"\$[^$]*\$", "", token.content)
            text = re.sub(r"<[^>]*>|\[\^[^\]]*\]|\\(?=[\W_])", "", text)
            if words(text):
                row[column] = words(text)
        elif token.type == "tr_close" and rows is not None:
            if row:
                rows.append(row)
        elif token.type == "table_close" and rows is not None:
            if rows:
                grids.append(rows)
            rows = None
    return grids


@pytest.mark.parametrize(
    ("folder", "profile", "keep", "options"),
    [
        ("ar5iv", "arxiv", "//table[contains(@class,'ltx_tabular')]", {"references": "keep"}),
        ("wikipedia/parsoid", "wikipedia", "//table[contains(@class,'wikitable')]", {}),
    ],
)
def test_table_grids(
    shared_data: Path, folder: str, profile: str, keep: str, options: dict[str, str]
) -> None:
    exact = total = 0
    wrong = []
    for path in sorted((shared_data / folder).rglob("*.html")):
        wanted = source_grids(path, keep)
        if not wanted:
            continue
        found = output_grids(convert(path.read_bytes(), profile=profile, **options).markdown)
        for grid in wanted:
            total += 1
            if grid in found:
                exact += 1
            else:
                wrong.append((path.name, grid[:3]))
    print(f"\n{folder}: {exact} of {total} table grids exact")
    assert exact >= 0.95 * total, wrong


# -- text


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
