from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path

import pytest

from tootsie.curate.markdownify import convert
from tootsie.curate.markdownify.decoding import decode
from tootsie.curate.page_conversion import Request
from tootsie.curate.web.main_content import Preset, main_content
from tootsie.curate.web.page_conversion import OPTIONS, convert_request
from tootsie.curate.web.word_alignment import words_of

from .crawls import html

GOLD = json.loads((Path(__file__).parent / "main_content_gold.json").read_text())
"""Page → what belongs to its main content and what does not, of trafilatura's evaluation data (tests/evaldata.json of
version 2.3.1): each text as its number of words and the hash of these."""


def markdown(page: str | bytes, preset: str = "balanced") -> str:
    (conversion,) = convert_request(
        Request([page], {"preset": preset, "charset": None, "plain": False})
    ).conversions
    return conversion.markdown


def score(texts: dict[str, str]) -> tuple[int, int]:
    """How many of the texts that belong to the content are there, and how many of those that do not."""
    found = {"with": 0, "without": 0}
    for name, sides in GOLD.items():
        words = words_of(texts[name])
        for side, entries in sides.items():
            for length, digest in entries:
                runs = (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))
                found[side] += any(blake2b(run.encode(), digest_size=8).hexdigest() == digest for run in runs)
    return found["with"], found["without"]


@pytest.mark.parametrize("preset", list(Preset))
def test_trafilaturas_own_evaluation_scores_at_least_as_trafilatura(
    preset: Preset, shared_data: Path
) -> None:
    from trafilatura import extract

    pages = {name: (shared_data / "web" / "trafilatura" / name).read_bytes() for name in GOLD}
    theirs = {
        name: extract(
            page,
            include_comments=False,
            include_tables=True,
            include_formatting=False,
            favor_precision=preset is Preset.PRECISION,
            favor_recall=preset is Preset.RECALL,
        )
        or ""
        for name, page in pages.items()
    }
    ours = {name: markdown(page, preset.value) for name, page in pages.items()}
    (their_right, their_wrong), (our_right, our_wrong) = score(theirs), score(ours)
    assert their_right >= 60  # of 74: the measure finds what there is
    assert our_right >= their_right
    assert our_wrong <= their_wrong


def test_formulas_tables_and_code_are_those_of_the_whole_page(shared_data: Path) -> None:
    pages = [
        *sorted((shared_data / "web" / "defuddle").glob("math--*")),
        *(shared_data / "web" / "readability").glob("*.source.html"),
    ]
    assert len(pages) == 8
    for path in pages:
        text = decode(path.read_bytes()).text
        content = main_content(text)
        assert content is not None
        assert content.in_page, path.name
        whole, part = (convert(one, **OPTIONS).counters for one in (text, content.html))
        for rule, count in whole.items():
            if rule.startswith(("formulas", "tables", "code")):
                assert part.get(rule) == count, (path.name, rule)


KEPT = {
    "inline formula": ("<p>An inline <math alttext='x^{2}'><mi>x</mi></math> formula among some words of prose.</p>", "$x^{2}$"),
    "display formula": ("<div><span class='katex'><math><semantics><mi>y</mi><annotation encoding='application/x-tex'>y_1</annotation></semantics></math></span></div>", "$y_1$"),
    "code": ("<pre><code class='language-python'>def f(x):\n    return x  # </code></pre>", "```python\ndef f(x):\n    return x"),
    "table": ("<table><tr><th>Year</th><th>Height</th></tr><tr><td>1990</td><td>12 m</td></tr><tr><td>1991</td><td>14 m</td></tr></table>", "| Year | Height |\n| --- | --- |\n| 1990 | 12 m |\n| 1991 | 14 m |"),
    "list": ("<ul><li>The first of the items here</li><li>The second of them all</li></ul>", "- The first of the items here\n- The second of them all"),
    "emphasis": ("<p>Some of these words are <em>emphasised</em>, and some are <strong>strong</strong> as well.</p>", "*emphasised*"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KEPT)
def test_what_stands_in_the_content_survives(kind: str) -> None:
    source, expected = KEPT[kind]
    text = markdown(html(1, source))
    assert expected in text
    assert text.startswith("# Page 1\n")
    assert "The end of it." in text
    assert not any(word in text for word in ("About us", "Imprint", "Copyright"))


def test_text_that_is_in_a_script_is_that_of_the_extract() -> None:
    article = "A text that no element of the page has, as some sites do it. " * 20
    data = json.dumps({"@type": "NewsArticle", "articleBody": article})
    page = f"<html><head><script type='application/ld+json'>{data}</script></head><body><div id=app>Loading</div></body></html>"
    content = main_content(page)
    assert content is not None
    assert not content.in_page
    assert "A text that no element of the page has" in markdown(page)


def test_a_page_without_content_has_none() -> None:
    assert main_content("<html><body></body></html>") is None
    assert main_content("") is None


@pytest.mark.parametrize("unit", ["<div>", "<table><tr><td>", "<ul><li>", "<b><i>", "<math>", "<a><p>"])
def test_deep_pages_are_no_fault(unit: str) -> None:
    page = unit * 3_000 + "<p>" + "Some words of prose in it. " * 30
    content = main_content(page)
    assert content is None or content.words > 0
