from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import zstandard

from .conftest import article, ndjson, write_tar


def test_newest_revision_of_each_article_across_files(curate, tmp_path: Path) -> None:
    first = [article(n, revision=5) for n in range(1, 8)]
    second = [article(1, revision=9), article(2, revision=3), article(3, revision=5), article(8)]
    write_tar(
        tmp_path / "a.tar.gz",
        {"enwiki_namespace_0_0.ndjson": ndjson(first), "enwiki_namespace_0_1.ndjson": ndjson(second)},
    )
    (tmp_path / "b.ndjson").write_bytes(ndjson([article(7, revision=20), article(1, revision=8)]))
    result = curate("wikipedia", tmp_path / "a.tar.gz", tmp_path / "b.ndjson")
    assert result.code == 0
    revisions = {identity: document.metadata["revision"] for identity, document in result.documents.items()}
    expected = {1: 9, 2: 5, 3: 5, 4: 5, 5: 5, 6: 5, 7: 20, 8: 1}
    assert revisions == {f"enwiki:{number}": revision for number, revision in expected.items()}
    assert all(
        f"Revision {revisions[identity]}." in document.text for identity, document in result.documents.items()
    )
    assert result.dropped == {"older revision": 5}
    assert result.rejects == []


def test_metadata(curate, tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(ndjson([article(4, revision=6, main_entity={"identifier": "Q4"})]))
    document = curate("wikipedia", tmp_path / "a.ndjson").documents["enwiki:4"]
    assert document.metadata == {
        "url": "https://en.wikipedia.org/wiki/Article_4",
        "license": "CC-BY-SA-4.0",
        "license_url": "https://creativecommons.org/licenses/by-sa/4.0/",
        "title": "Article 4",
        "language": "en",
        "project": "enwiki",
        "revision": 6,
        "modified": "2024-01-06T00:00:00Z",
        "wikidata": "Q4",
    }
    assert document.created == "2024-01-06T00:00:00Z"
    assert document.text.startswith("# Article 4\n\n")


def test_every_reason(curate, tmp_path: Path) -> None:
    redirect = '<html><head><link rel="mw:PageProp/redirect" href="./X"/></head><body><p>x</p></body></html>'
    lines = [
        article(1),
        article(2, namespace={"identifier": 14}),
        article(3, article_body={"html": redirect}),
        article(4, article_body={"html": "<p>Short.</p>"}),
        article(5, article_body={"wikitext": "only"}),
        article(6, visibility={"text": False}),
        b"{not json\n",
        b'"a string"\n',
        b"\n",
        {"name": "no identifier"},
        b'{"identifier": 9, "name": "' + b"x" * 20_000 + b'"}\n',
        b"[" * 100_000 + b"\n",
        article(11, version={"identifier": float("inf")}),
        article(12, name={"a": 1}),
        article(13, url=["x"]),
        article(14, date_modified="yesterday"),
        article(15, version={"identifier": "x"}),
        article(16, license="CC-BY-4.0"),
        article(17, in_language={"identifier": 5}),
        b'{"identifier": 1e999}\n',
        article(10),
    ]
    (tmp_path / "a.ndjson").write_bytes(ndjson(lines))
    result = curate("wikipedia", tmp_path / "a.ndjson", "--max-document-bytes=10000", "--max-failures=1")
    assert result.code == 0
    assert result.dropped == {
        "damaged record": 11,
        "hidden revision": 1,
        "no HTML": 1,
        "other namespace": 1,
        "redirect": 1,
        "too large": 2,
        "too short": 1,
    }
    assert sorted(result.documents) == ["enwiki:1", "enwiki:10"]
    assert result.manifest.accounting.read == 20
    damaged = {
        reject.id: reject.metadata["detail"]
        for reject in result.rejects
        if reject.metadata["reason"] == "damaged record"
    }
    assert damaged["a.ndjson:10"] == "the article has no identifier"
    assert damaged["a.ndjson:16"] == "date_modified is no date in ISO 8601 but 'yesterday'"
    assert damaged["a.ndjson:18"] == "license is no list of licences but 'CC-BY-4.0'"


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_lines(curate, tmp_path: Path, suffix: str) -> None:
    content = ndjson([article(n) for n in range(5)])
    packed = (
        gzip.compress(content, mtime=0) if suffix == ".gz" else zstandard.ZstdCompressor().compress(content)
    )
    (tmp_path / f"a.ndjson{suffix}").write_bytes(packed)
    assert len(curate("wikipedia", tmp_path / f"a.ndjson{suffix}").documents) == 5
    (tmp_path / f"cut.ndjson{suffix}").write_bytes(packed[:-9])
    result = curate("wikipedia", tmp_path / f"cut.ndjson{suffix}", out="cut")
    assert result.code == 2
    assert "truncated or damaged" in result.stderr
    assert not (result.folder / "_manifest.json").exists()


def test_indented_json_is_one_article(curate, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(article(1), indent=2))
    assert list(curate("wikipedia", tmp_path / "a.json").documents) == ["enwiki:1"]


@pytest.mark.parametrize("cut", [0.3, 0.9, 0.999])
def test_truncated_archive(curate, tmp_path: Path, cut: float) -> None:
    path = write_tar(tmp_path / "a.tar.gz", {"a.ndjson": ndjson([article(n) for n in range(50)])})
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * cut)])
    result = curate("wikipedia", path)
    assert result.code == 2
    assert "truncated or damaged" in result.stderr


def test_flipped_bit_in_archive(curate, tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar.gz", {"a.ndjson": ndjson([article(n) for n in range(50)])})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    result = curate("wikipedia", path, "--max-failures=1")
    assert result.code == 2
    assert "damaged" in result.stderr


def test_members_outside_the_archive_are_only_read(curate, tmp_path: Path) -> None:
    path = write_tar(
        tmp_path / "a.tar.gz", {"../../evil.ndjson": ndjson([article(1)]), "notes.txt": b"hello"}
    )
    result = curate("wikipedia", path)
    assert list(result.documents) == ["enwiki:1"]
    assert not (tmp_path.parent / "evil.ndjson").exists()


def test_sample_dump(curate, project_root: Path) -> None:
    result = curate("wikipedia", project_root / "datasets/sample/wikipedia/*.tar.gz")
    assert result.code == 0
    assert result.manifest.accounting.written >= 5
    assert all(document.metadata["url"].startswith("https://") for document in result.documents.values())


def test_real_dump(curate, shared_data: Path) -> None:
    archive = curate("wikipedia", shared_data / "wikipedia/enterprise/*.tar.gz", out="archive")
    assert archive.code == 0
    everything = curate("wikipedia", shared_data / "wikipedia/enterprise")
    assert everything.code == 0
    assert everything.manifest.accounting.dropped["older revision"] >= 1
    assert {document.metadata["language"] for document in everything.documents.values()} >= {"de", "en", "fr"}
