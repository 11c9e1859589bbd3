"""Which documents are kept, and under which reason the others are counted."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from tootsie.curate.arxiv import Arxiv
from tootsie.curate.markdownify import Options
from tootsie.curate.wikipedia import Wikipedia

from .conftest import PROSE, article, ndjson, page, write_zip

GERMAN = "Der schnelle braune Fuchs springt über den faulen Hund, und niemand hat etwas dagegen einzuwenden. "
ERROR = '<span class="ltx_ERROR undefined">\\foo</span>'


def test_length(curate, tmp_path: Path) -> None:
    pages = {f"e/2404.{n:05d}.html": page(f"Paper {n}", PROSE * n) for n in (0, 5, 50)}
    result = curate(
        "arxiv", write_zip(tmp_path / "a.zip", pages), "--min-characters=100", "--max-characters=2000"
    )
    assert list(result.documents) == ["2404.00005"]
    assert result.dropped == {"too short": 1, "too long": 1}
    details = {reject.id: reject.metadata["detail"] for reject in result.rejects}
    assert details["2404.00050"] == "3,562 characters"


def test_error_density_is_errors_for_each_thousand_words(curate, tmp_path: Path) -> None:
    words = "word " * 200
    pages = {
        "e/2404.00000.html": page("None", words * 5),
        "e/2404.00001.html": page("One in a thousand", f"{ERROR} " + words * 5),
        "e/2404.00003.html": page("Three in a thousand", f"{ERROR} " * 3 + words * 5),
    }
    dump = write_zip(tmp_path / "a.zip", pages)
    result = curate("arxiv", dump, "--max-error-density=1.5")
    assert sorted(result.documents) == ["2404.00000", "2404.00001"]
    assert result.dropped == {"too many errors": 1}
    (reject,) = result.rejects
    assert reject.metadata["detail"].startswith("2.9")
    assert len(curate("arxiv", dump, out="all").documents) == 3


def test_language_of_papers_is_told_by_their_text(curate, tmp_path: Path) -> None:
    pages = {
        "e/2404.00001.html": page("A fox", PROSE * 8),
        "e/2404.00002.html": page("Ein Fuchs", GERMAN * 8),
        "e/2404.00003.html": page("1", "<math alttext='x^{2}'></math> 17 " * 80),
    }
    dump = write_zip(tmp_path / "a.zip", pages)
    result = curate("arxiv", dump, "--languages=de,FR")
    assert list(result.documents) == ["2404.00002"]
    assert result.documents["2404.00002"].metadata["language"] == "de"
    assert result.dropped == {"other language": 2}
    assert {reject.id: reject.metadata["language"] for reject in result.rejects}["2404.00001"] == "en"
    assert result.manifest.settings["languages"] == ["de", "fr"]
    assert result.manifest.settings["language_identifier"].startswith("py3langid ")


def test_a_missing_identifier_is_told_before_anything_is_read(
    curate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", _not_found)
    result = curate(
        "arxiv", write_zip(tmp_path / "a.zip", {"e/2404.00001.html": page("A")}), "--languages=de"
    )
    assert result.code == 2
    assert "pip install 'tootsie[language]'" in result.stderr


def _not_found(name: str) -> str:
    raise importlib.metadata.PackageNotFoundError(name)


def test_language_of_articles_is_what_the_dump_says(curate, tmp_path: Path) -> None:
    articles = [
        article(1, in_language={"identifier": "de"}),  # the text is English
        article(2, in_language={"identifier": "en"}),
        article(3, in_language={"identifier": "zh-hans"}),
        article(4, in_language=None),
    ]
    (tmp_path / "a.ndjson").write_bytes(ndjson(articles))
    result = curate("wikipedia", tmp_path / "a.ndjson", "--languages=de,zh")
    assert sorted(result.documents) == ["enwiki:1", "enwiki:3"]
    assert result.dropped == {"other language": 2}


def test_licences(curate, tmp_path: Path) -> None:
    other = [{"identifier": "CC-BY-NC-4.0"}]
    (tmp_path / "a.ndjson").write_bytes(
        ndjson([article(1), article(2, license=other), article(3, license=None)])
    )
    result = curate("wikipedia", tmp_path / "a.ndjson", "--licences=cc-by-sa-4.0,CC0-1.0")
    assert list(result.documents) == ["enwiki:1"]
    assert result.dropped == {"licence not wanted": 2}
    assert {reject.metadata["detail"] for reject in result.rejects} == {"CC-BY-NC-4.0", "unknown"}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--languages=english", "--languages: not in a list with commas (found 'english')"),
        ("--languages=", "--languages"),
        ("--licences=a,,b", "--licences"),
        ("--max-characters=0", "--max-characters"),
        ("--max-error-density=-1", "--max-error-density"),
    ],
)
def test_values_that_mean_nothing(curate, tmp_path: Path, option: str, message: str) -> None:
    result = curate("arxiv", write_zip(tmp_path / "a.zip", {"e/2404.00001.html": page("A")}), option)
    assert result.code == 2
    assert message in result.stderr
    assert not result.folder.exists()


def test_nothing_left_is_an_error_that_names_the_commonest_reason(curate, tmp_path: Path) -> None:
    articles = [article(1, namespace={"identifier": 4}), *(article(n) for n in range(2, 5))]
    (tmp_path / "a.ndjson").write_bytes(ndjson(articles))
    result = curate("wikipedia", tmp_path / "a.ndjson", "--min-characters=100000")
    assert result.code == 2
    assert "no document is left: all 4 records were dropped, most of them (3) as: too short" in result.stderr
    assert not (result.folder / "_manifest.json").exists()
    accepted = curate("wikipedia", tmp_path / "a.ndjson", "--min-characters=100000", "--allow-empty")
    assert accepted.code == 0
    assert accepted.manifest.documents == 0


@pytest.mark.parametrize("corpus", [Arxiv(), Wikipedia()])
def test_references_are_what_the_converter_does_by_itself(corpus: Arxiv | Wikipedia) -> None:
    assert corpus.references == Options.of(corpus.name).references
