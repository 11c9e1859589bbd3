"""Every table of the real pages: the grid of its cells, by HTML's own algorithm, stands in the rendered Markdown."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tootsie.curate.markdownify import convert

from . import reader

NEVER_SHOWN = frozenset(
    (
        "script",
        "style",
        "img",
        "template",
        "link",
        "meta",
        "select",
        "textarea",
        "iframe",
        "button",
        "noscript",
        "input",
    )
)
FORMULA_CLASSES = frozenset(("mwe-math-element", "hurmet-tex", "katex"))


def prepared(page: str, profile: str) -> reader.Tree:
    """Return the page's tree without what is never shown or meant to be left out, each formula as one word."""
    tree = reader.tree(page)
    for element in list(tree.iter()):
        name, names = reader.name_of(element), reader.classes_of(element)
        shown_after_all = names & {"wikitable", "infobox", "mwe-math-mathml-a11y"} or (
            name and element.get("data-mw-section-id") is not None
        )
        if (
            name in NEVER_SHOWN
            or not name
            or reader.is_left_out(element, profile)
            or (name != "math" and reader.is_hidden(element) and not shown_after_all)
        ):
            reader.remove(element)
        elif names & FORMULA_CLASSES or name in ("math", "mjx-container"):
            for child in list(element):
                element.remove(child)
            element.text = "FORMULA"
            element.tag = "data"
    return tree


def kind_of(table: reader.Tree, grid: list[dict[int, str]]) -> str:
    names = reader.classes(table)
    if any(name.startswith(("ltx_eqn", "ltx_equation")) for name in names):
        return "equation"  # one formula, see test_real_formulas
    if not grid:
        return "empty"  # nothing but pictures
    if table.get("role") in ("presentation", "none"):
        return "layout"
    if sum(map(len, grid)) == 1 and not table.xpath("thead | caption | .//th"):
        return "layout"
    return "nested" if table.xpath(".//table") else "data"


def test_every_table_has_its_grid(shared_data: Path) -> None:
    total: Counter[str] = Counter()
    exact: Counter[str] = Counter()
    wrong = []
    for profile, name, page in reader.pages(shared_data):
        tables = [
            table
            for table in prepared(page, profile).iter("table")
            if not table.xpath("ancestor::table[not(@role='presentation')]")
        ]
        if not tables:
            continue
        options = {"references": "keep", "authors": True} if profile == "arxiv" else {}
        conversion = convert(page, profile=profile, **options)
        rendered = reader.tree(reader.render(reader.NOTE.sub("", conversion.markdown)))
        everything = reader.text_of(rendered)
        found = [reader.grid(table) for table in rendered.iter("table")]
        for table in tables:
            grid = reader.grid(table)
            kind = kind_of(table, grid)
            key = f"{profile} {kind}{' with spans' if reader.has_spans(table) else ''}"
            if kind in ("equation", "empty"):
                continue
            total[key] += 1
            if kind == "layout":
                kept = all(text in everything for row in grid for text in row.values())
            else:
                kept = grid in found
            if kept:
                exact[key] += 1
            else:
                wrong.append((name, key, grid[:3]))
    print()
    for key in sorted(total):
        print(f"  {key}: {exact[key]} of {total[key]} table grids exact")
    assert total.total() >= 140
    assert not wrong
