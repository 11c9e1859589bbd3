"""How many of the formulas on LaTeXML pages each converter keeps, verbatim and delimited, in one run.

    python benchmarks/formulas.py [--data ../shared/data]

The truth is every non-empty ``alttext`` of a ``<math>`` element in lxml's tree, whatever the page does with it; "in the text"
are those outside of what a corpus leaves out: the author block, keywords, classification, dates, the reference list. A
formula counts as kept when it stands in the Markdown inside ``$…$`` or ``$$…$$`` with the same characters,
white space left out; each inline span is used for one formula only. Formulas of an aligned group may stand together in
one display. All converters run with their defaults, but that trafilatura is asked for Markdown with tables and
formulas.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import lxml.html
import pages  # this folder's

# A sibling file bears the name of one of the peers: from here on this folder must not come first on the path.
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

LEFT_OUT = frozenset(
    (
        "ltx_authors",
        "ltx_note_frontmatter",
        "ltx_keywords",
        "ltx_classification",
        "ltx_dates",
        "ltx_bibliography",
    )
)
SPANS = re.compile(r"(?<!\\)\$\$(.+?)(?<!\\)\$\$|(?<![\\$])\$(?!\$)((?:[^$\\]|\\.)+?)\$(?!\$)", re.DOTALL)
LEADING_STYLE = re.compile(r"^\\displaystyle(?![A-Za-z])")
COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[ \t]*\n")


def bare(tex: str) -> str:
    """Leave out white space and the line-end comments that LaTeXML puts into long formulas."""
    return re.sub(r"\s", "", COMMENT.sub(r"\1", tex))


def truths(page: str) -> tuple[list[str], list[str]]:
    """The formulas of a page, as in ``alttext``: those in the text, and those in what is left out."""
    tree = lxml.html.document_fromstring(
        page.encode(), parser=lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    )
    text: list[str] = []
    rest: list[str] = []
    for element in tree.iter("math"):
        tex = element.get("alttext", "").strip()
        names = {name for outer in element.iterancestors() for name in outer.get("class", "").split()}
        if tex:
            (text if LEFT_OUT.isdisjoint(names) else rest).append(bare(LEADING_STYLE.sub("", tex)))
    return text, rest


def kept(formulas: list[str], markdown: str) -> int:
    """How many of ``formulas`` stand delimited in ``markdown``."""
    spans = SPANS.findall(markdown)
    inline = Counter(bare(LEADING_STYLE.sub("", span.strip())) for _, span in spans if span)
    inline.update(Counter(span.replace("\\|", "|") for span in list(inline.elements()) if "\\|" in span))
    display = "\n".join(bare(span) for span, _ in spans if span)
    everything = bare(markdown)
    count = 0
    for formula in formulas:
        if inline[formula] > 0:
            inline[formula] -= 1
            count += 1
        elif formula in display or ("$" in formula and f"${formula}$" in everything):
            count += 1  # The second case is \\mbox{$…$}, which the regular expression for spans cannot pair.
    return count


def converters() -> dict[str, Callable[[str], str]]:
    """The converters that are installed."""
    from tootsie.curate.markdownify import markdownify as ours

    table: dict[str, Callable[[str], str]] = {"tootsie": lambda page: ours(page, profile="arxiv")}
    with contextlib.suppress(ImportError):
        import trafilatura

        table["trafilatura"] = lambda page: (
            trafilatura.extract(page, output_format="markdown", include_formatting=True, favor_recall=True)
            or ""
        )
    with contextlib.suppress(ImportError):
        import markdownify

        table["markdownify"] = lambda page: markdownify.markdownify(page, heading_style="ATX")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    pages.add_option(parser)
    documents = pages.arxiv(parser.parse_args().data)
    wanted = [truths(page) for page in documents]
    total = sum(len(text) for text, _ in wanted)
    rest = sum(len(rest) for _, rest in wanted)
    print(f"{len(documents)} LaTeXML pages, {total + rest:,} formulas, {total:,} of them in the text")
    print(f"  {'converter':14} {'in the text':>11} {'share':>8} {'of all':>6} {'share':>8}")
    for name, convert in converters().items():
        outputs = [convert(page) for page in documents]
        count = sum(kept(text, output) for (text, _), output in zip(wanted, outputs, strict=True))
        both = sum(kept(text + rest, output) for (text, rest), output in zip(wanted, outputs, strict=True))
        print(f"  {name:14} {count:11,} {count / total:8.2%} {both:6,} {both / (total + rest):8.2%}")


if __name__ == "__main__":
    main()
