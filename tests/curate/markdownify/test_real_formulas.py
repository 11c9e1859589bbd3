"""Every formula of the real pages is delimited in the rendered Markdown, verbatim but for white space, displays as displays.

The truth comes from html5lib's tree: ``alttext`` and annotations, and MathJax's delimiters in the text of posts.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import lxml.etree
import pytest

from tootsie.curate.fidelity import mathjax
from tootsie.curate.markdownify import convert

from . import reader

Truth = tuple[str, bool]
"""TeX without white space, and whether it is displayed."""
STYLE = re.compile(r"^\\(?:display|text)style(?![A-Za-z])")
ASIDE = frozenset(("ltx_keywords", "ltx_classification", "ltx_dates"))
"""Front matter that goes to fields of its own."""
UNCITED = frozenset(("ltx_bibliography", "ltx_authors", "ltx_note_frontmatter"))
"""What the arxiv profile leaves out by its defaults: the reference list, authors and their notes."""


def bare(tex: str) -> str:
    """Leave out white space, comments and the style that wraps the whole formula."""
    wrapped = re.fullmatch(r"\s*\{\\(?:display|text)style(?![A-Za-z])(.*)\}\s*", tex, re.DOTALL)
    if wrapped and balanced(wrapped[1]):
        tex = wrapped[1]
    return reader.squeeze(tex)


def balanced(tex: str) -> bool:
    depth = 0
    for brace in re.findall(r"\\.|[{}]", tex):
        depth += {"{": 1, "}": -1}.get(brace, 0)
        if depth < 0:
            return False
    return depth == 0


def ancestors(element: reader.Tree) -> set[str]:
    return set().union(*map(reader.classes_of, element.iterancestors()))


def compare(whole: list[Truth], parts: list[str], markdown: str) -> tuple[list[Truth], list[Truth]]:
    """Return the formulas of the source that are missing, and those of the Markdown that are not in the source.

    Args:
      whole: formulas that stand on their own.
      parts: rows and cells of equation groups, each found inside one displayed formula.
      markdown: the output.
    """
    found = Counter((bare(tex), display) for tex, display in reader.formulas(markdown))
    missing = []
    for truth in whole:
        if found[truth] > 0:
            found[truth] -= 1
        else:
            missing.append(truth)
    groups = [tex for tex, display in found.elements() if display]
    used: set[str] = set()
    for part in parts:
        holding = [tex for tex in groups if part in tex]
        used.update(holding)
        if not holding:
            missing.append((part, True))
    extra = [(tex, display) for tex, display in found.elements() if not (display and tex in used)]
    return missing, extra


@pytest.mark.parametrize(
    ("options", "left_out"),
    [({"references": "keep", "authors": True}, ASIDE), ({}, ASIDE | UNCITED)],
    ids=["everything", "by default"],
)
def test_formulas_of_papers(shared_data: Path, options: dict[str, object], left_out: frozenset[str]) -> None:
    total = displayed = 0
    wrong = {}
    for path in sorted((shared_data / "ar5iv").rglob("*.html")):
        page = path.read_text(encoding="utf-8", errors="replace")
        whole, parts, untold = [], [], 0
        for element in reader.tree(page).iter():
            if reader.name_of(element) != "math" or element.get("alttext") == "":
                continue
            outside = ancestors(element)
            if outside & left_out:
                continue
            total += 1
            tex = element.get("alttext")
            if tex is None:
                untold += 1  # LaTeXML stopped before it wrote the attribute: converted from MathML
                continue
            display = element.get("display") == "block"
            if any(name.startswith(("ltx_eqn_table", "ltx_equation")) for name in outside):
                parts.append(reader.squeeze(STYLE.sub("", tex)))
                displayed += 1
            else:
                whole.append((bare(tex), display))
                displayed += display
        missing, extra = compare(whole, parts, convert(page, profile="arxiv", **options).markdown)
        if missing or len(extra) > untold:
            wrong[path.name] = (missing[:3], extra[:3])
    print(f"\nLaTeXML: {total} formulas, {displayed} displayed; pages with other ones: {len(wrong)}")
    assert total > 2000
    assert displayed > 300
    assert not wrong


def test_formulas_of_wikipedia(shared_data: Path) -> None:
    total = 0
    wrong = {}
    for profile, name, page in reader.pages(shared_data):
        if profile != "wikipedia" or "mwe-math" not in page:
            continue
        whole = []
        for element in reader.tree(page).iter():
            if "mwe-math-element" not in reader.classes_of(element):
                continue
            if ancestors(element) & (
                reader.OUT["wikipedia"] - {"mw-references", "references", "mw-ref", "reference"}
            ):
                continue
            tex = next(
                (
                    note.text
                    for note in element.iter()
                    if reader.name_of(note) == "annotation" and note.get("encoding") == "application/x-tex"
                ),
                None,
            )
            image = next((image for image in element.iter() if reader.name_of(image) == "img"), None)
            tex = tex or (image.get("alt") if image is not None else "") or ""
            block = any(
                node.get("display") == "block" for node in element.iter() if reader.name_of(node) == "math"
            )
            alone = reader.name_of(element.getparent()) == "dd" and not reader.words(
                "".join(element.getparent().xpath("text()")) + (element.tail or "")
            )
            whole.append((bare(tex), block or (alone and len(element.getparent()) == 1)))
        missing, extra = compare(whole, [], convert(page, profile="wikipedia", references="keep").markdown)
        total += len(whole)
        if missing or extra:
            wrong[name] = (missing[:4], extra[:4])
    print(f"\nWikipedia: {total} formulas; pages with other ones: {len(wrong)}")
    assert total > 100
    assert not wrong


def posts(folder: Path) -> list[str]:
    path = next(path for path in folder.iterdir() if path.name.lower() == "posts.xml")
    return [row.get("Body") or "" for _, row in lxml.etree.iterparse(str(path), tag="row", recover=True)]


@pytest.mark.parametrize(
    "site",
    [
        "matheducators.stackexchange.com_2014",
        "datascience.meta.stackexchange.com_2017",
        "datascience.meta.stackexchange.com_2024_pipetags",
    ],
)
def test_formulas_of_posts(shared_data: Path, site: str) -> None:
    total = displayed = 0
    wrong = {}
    for number, body in enumerate(posts(shared_data / "stackexchange" / site)):
        if not ("$" in body or "\\" in body):
            continue
        whole: list[Truth] = []
        for element in reader.tree(body).iter():
            if {"pre", "code"} & set(map(reader.name_of, element.iterancestors())):
                texts = []
            elif reader.name_of(element) in ("pre", "code"):
                texts = [element.tail]
            else:
                texts = [element.text, element.tail]
            for text in texts:
                for kind, piece in mathjax.split(text or ""):
                    if kind != "text":
                        whole.append((reader.squeeze(piece), kind == "display"))
        missing, extra = compare(whole, [], convert(body, profile="stackexchange").markdown)
        total += len(whole)
        displayed += sum(display for _, display in whole)
        if missing or extra:
            wrong[number] = (missing[:3], extra[:3])
    print(f"\n{site}: {total} formulas, {displayed} displayed; posts with other ones: {len(wrong)}")
    assert total > 0
    assert not wrong
