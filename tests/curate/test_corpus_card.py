"""The card says what the manifest says; what was left out and which rules matched nothing is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tootsie.curate.corpus_card import MARK, card
from tootsie.curate.dropped_text_sample import MAX_DOCUMENTS, DroppedTextSample
from tootsie.curate.markdownify.rules import rules_of
from tootsie.curate.shard_statistics import length_class, total
from tootsie.datasets.document import Document
from tootsie.datasets.storage import read_lines

from .conftest import PROSE, article, ndjson, page, write_zip


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    hatnote = '<div class="hatnote" role="note">See also something | else.</div>'
    body = f"<html><body><section>{hatnote}<p>{PROSE * 5}</p></section></body></html>"
    found = [article(n, article_body={"html": body}) for n in range(12)]
    found += [article(20, in_language={"identifier": "de"}), article(21, namespace={"identifier": 4})]
    (tmp_path / "a.ndjson").write_bytes(ndjson(found))
    return tmp_path / "a.ndjson"


def test_card_is_made_of_the_manifest(curate, articles: Path) -> None:
    result = curate("wikipedia", articles, "--languages=en,de")
    assert result.code == 0
    text = (result.folder / "README.md").read_text()
    assert text == card(str(result.folder), result.manifest)
    assert MARK in text
    assert "13 documents" in text
    assert "| read | 14 |" in text
    assert "| dropped: other namespace | 1 |" in text
    assert "| CC-BY-SA-4.0 | 13 |" in text
    assert "| en | 12 |\n| de | 1 |" in text
    assert '- "de"\n- "en"' in text
    assert f"| `a.ndjson` | {articles.stat().st_size:,} | `{result.manifest.inputs[0].sha256}` |" in text
    assert "| `hatnotes_dropped` | 12 | dropped |" in text
    assert "tootsie curate wikipedia a.ndjson OUT" in text
    assert '| `languages` | ["de", "en"] |' in text
    example = json.loads(text.split("```json\n")[1].split("```")[0])
    assert example["id"] in result.documents
    assert sum(result.manifest.statistics["characters"].values()) == 13


def test_a_readme_of_someone_else_is_left_alone(curate, articles: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "README.md").write_text("Mine.")
    for options in ([], ["--overwrite"]):
        result = curate("wikipedia", articles, *options)
        assert result.code == 2
        assert "README.md that is not of Tootsie" in result.stderr
    assert (tmp_path / "out" / "README.md").read_text() == "Mine."


def test_overwriting_makes_a_new_card(curate, articles: Path) -> None:
    curate("wikipedia", articles)
    again = curate("wikipedia", articles, "--min-characters=1", "--overwrite")
    assert "| `min_characters` | 1 |" in (again.folder / "README.md").read_text()


def dropped_texts(folder: Path) -> list[Document]:
    return [
        Document.from_json(line, file=path.name, record=number)
        for path in sorted((folder / "rejects").glob("dropped-text-*"))
        for number, line in enumerate(read_lines(str(path)))
    ]


def test_what_was_left_out_of_a_sample_is_written_down(curate, articles: Path) -> None:
    result = curate("wikipedia", articles, "--sample-dropped-text=1")
    found = dropped_texts(result.folder)
    assert {one.id for one in found} == {f"enwiki:{n}" for n in range(12)}
    assert {one.metadata["rule"] for one in found} == {"hatnotes_dropped"}
    assert {one.text for one in found} == {"See also something | else."}
    none = curate("wikipedia", articles, "--sample-dropped-text=0", out="none")
    assert dropped_texts(none.folder) == []
    # What is told of a document has no part in it.
    assert [path.read_bytes() for path in sorted(none.folder.glob("part-*"))] == [
        path.read_bytes() for path in sorted(result.folder.glob("part-*"))
    ]
    curate("wikipedia", articles, "--sample-dropped-text=0", "--overwrite")
    assert dropped_texts(result.folder) == []


def test_the_sample_depends_on_identifiers_and_is_bounded() -> None:
    names = [f"enwiki:{n}" for n in range(5000)]
    one, other = DroppedTextSample(20), DroppedTextSample(20)
    first = [name for name in names[:500] if one(name)]
    assert 10 < len(first) < 50
    assert first == [name for name in reversed(names[:500]) if other(name)][::-1]
    assert sum(map(one, names[500:])) == MAX_DOCUMENTS - len(first)
    assert not any(map(DroppedTextSample(0), names))


def test_rules_that_matched_nothing_are_told(curate, tmp_path: Path) -> None:
    pages = {f"e/2404.{n:05d}.html": page(f"Paper {n}") for n in range(30)}
    pages["e/2404.00031.html"] = page("Code", "<code>x</code> " + PROSE * 4)
    result = curate("arxiv", write_zip(tmp_path / "a.zip", pages))
    missing = result.manifest.unmatched_rules
    assert set(missing) <= set(rules_of("arxiv"))
    assert missing["code_spans"] == 3
    assert missing["algorithms"] == 4
    assert "headings" not in missing
    assert "rules that left nothing out of any document: " in result.stderr
    assert "reference_lists_dropped" in result.stderr
    assert "rules that matched nothing: " in result.stderr


def test_lengths_and_sums() -> None:
    assert [length_class(n) for n in (0, 255, 256, 511, 512, 100_000)] == [0, 0, 256, 256, 512, 65_536]
    assert total([{"a": {"x": 1}}, {"a": {"w": 2, "x": 3}, "b": {"y": 1}}]) == {
        "a": {"w": 2, "x": 4},
        "b": {"y": 1},
    }
