"""On planted duplicates and look-alikes: what is removed is right, and nearly all that can go goes."""

from __future__ import annotations

from .conftest import documents_of, rows_of


def test_precision_and_recall(curate, planted, write) -> None:
    corpus = planted.planted_corpus(12, seed=5)
    folder = write("in", [one.record() for one in corpus])
    result = curate("dedup", folder / "*.jsonl")
    assert result.code == 0, result.stderr
    rows = rows_of(result.folder / "evidence" / "pairs.jsonl.zst")
    removed = [(row["document"]["id"], row["other"]["id"]) for row in rows if row["verdict"] == "removed"]
    verified = planted.score(corpus, removed)
    assert verified.precision >= 0.99
    assert verified.recall >= 0.95
    groups = rows_of(result.folder / "evidence" / "groups.jsonl.zst")
    proposed = [(row["id"], row["proposed_group"].split("/", 1)[1]) for row in groups]
    unverified = planted.score(corpus, [pair for pair in proposed if pair[0] != pair[1]])
    assert unverified.precision < 0.7, "the look-alikes are no challenge"


def test_each_removed_document_is_in_one_that_is_written(curate, planted, write) -> None:
    corpus = planted.planted_corpus(6, seed=6)
    result = curate("dedup", write("in", [one.record() for one in corpus]) / "*.jsonl")
    written = documents_of(result.folder)
    rows = rows_of(result.folder / "evidence" / "pairs.jsonl.zst")
    removed = [row for row in rows if row["verdict"] == "removed"]
    assert removed
    assert all(row["other"]["id"] in written and row["document"]["id"] not in written for row in removed)
    assert all(row["containment"] == 1.0 and row["ngram"] == 5 for row in removed)
    assert len(written) + len(removed) == len(corpus) == result.manifest.accounting.read
    assert sum(result.dropped.values()) == len(removed) == len(result.rejects)
