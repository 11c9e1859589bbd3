"""The rates that the converter must reach on real pages, and on those of the sample dumps."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tootsie.curate.fidelity.measure import Totals, measure
from tootsie.curate.fidelity.pages import read_sources
from tootsie.curate.markdownify import convert
from tootsie.curate.markdownify.options import Options, Profile

WHOLE = dict.fromkeys(
    ("formulas", "display", "equation numbers", "span tables", "code blocks", "languages", "inline code", "footnotes", "titles", "abstracts"),
    1.0,
)  # fmt: skip
NEARLY = {
    "tables": 0.99,
    "headings": 0.999,
    "list items": 0.999,
    "links": 0.999,
    "images": 0.999,
    "text": 0.999,
}
MUST = WHOLE | NEARLY


def measured(folder: Path, profile: Profile, **options: str) -> Totals:
    totals = Totals()
    pages = read_sources([str(folder)], profile, 2**26)
    settings = Options.of(profile, **options)
    for one in measure(
        pages,
        settings,
        lambda page: convert(page.content, profile=profile, **options).markdown,
    ):
        totals.add(one)
    return totals


def unmet(totals: Totals, held: Iterable[str]) -> list[str]:
    """The rates that are below what must hold, precision as well as recall; kinds that must be in the pages and are not."""
    return [
        f"{kind}: {score.kept} of {score.expected} kept, {score.written} written"
        for kind, score in totals.scores.items()
        if min(score.recall, score.precision) < MUST[kind] or (kind in held and not score.expected)
    ]


@pytest.mark.parametrize(
    ("dump", "profile", "held"),
    [
        ("arxiv", Profile.ARXIV, WHOLE.keys() - {"inline code"}),
        (
            "wikipedia",
            Profile.WIKIPEDIA,
            {"formulas", "display", "tables", "span tables", "headings", "text"},
        ),
        (
            "stackexchange",
            Profile.STACKEXCHANGE,
            {"formulas", "code blocks", "languages", "links", "text"},
        ),
    ],
)
def test_sample_dumps(project_root: Path, dump: str, profile: Profile, held: set[str]) -> None:
    assert not unmet(measured(project_root / "datasets" / "sample" / dump, profile), held)


@pytest.mark.parametrize("references", ["cite-keys", "keep"])
def test_latexml_pages(shared_data: Path, references: str) -> None:
    totals = measured(shared_data / "ar5iv", Profile.ARXIV, references=references)
    assert not unmet(totals, WHOLE.keys() | {"tables", "headings", "list items", "text"})
    assert totals.scores["formulas"].expected > 2000


@pytest.mark.parametrize("references", ["drop", "keep"])
def test_wikipedia_pages(shared_data: Path, references: str) -> None:
    totals = measured(shared_data / "wikipedia", Profile.WIKIPEDIA, references=references)
    assert not unmet(
        totals,
        {"formulas", "display", "tables", "span tables", "headings", "list items", "footnotes", "text"},
    )
    assert totals.scores["span tables"].expected > 30


def test_stackexchange_posts(shared_data: Path) -> None:
    totals = measured(shared_data / "stackexchange", Profile.STACKEXCHANGE)
    assert not unmet(
        totals, {"formulas", "display", "code blocks", "languages", "inline code", "links", "images", "text"}
    )
    assert totals.scores["formulas"].expected > 3000
