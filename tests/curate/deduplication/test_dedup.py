"""What goes and what stays, by example; books, identity, alarm, and the same bytes whatever the workers."""

from __future__ import annotations

import json
import random
import re

import numpy as np

from tootsie.curate import cleaning_run
from tootsie.curate.deduplication import boilerplate, compared_documents, pipeline, proposal
from tootsie.curate.deduplication.settings import DeduplicationSettings
from tootsie.curate.document_inputs import find_corpora

from .conftest import documents_of, rows_of

WORDS = [
    f"{a}{b}"
    for a in ("bar", "dol", "fen", "gul", "kip", "lam")
    for b in ("o", "us", "en", "ta", "mi", "rik", "s")
]


def prose(seed: int, words: int = 60) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def article(seed: int, paragraphs: int = 4) -> str:
    return "\n\n".join(prose(seed * 100 + number) for number in range(paragraphs))


def record(name: str, text: str, **metadata: object) -> dict[str, object]:
    return {"id": name, "text": text, "source": "s", "metadata": metadata}


def left(curate, write, texts: dict[str, str], *options: str) -> set[str]:
    folder = write("in", [record(name, text) for name, text in texts.items()])
    result = curate("dedup", folder / "*.jsonl", "--max-removed=1", *options)
    assert result.code == 0, result.stderr
    return set(documents_of(result.folder))


TWO_TEXTS = [
    ("It was 3.5 degrees.", "It was 35 degrees."),
    ("It was -5 degrees.", "It was 5 degrees."),
    ("It was 10² metres.", "It was 102 metres."),
    ("x = a + b", "x = a - b"),
    ("if a < b then", "if a > b then"),
    ("They did not come.", "They did come."),
    ("It costs $5 today.", "It costs 5 today."),
    ("A tax of 5% of it", "A tax of 5 of it"),
    ("I am 😀 today", "I am 😢 today"),
    ("1:0 for them", "1.0 for them"),
]


def test_texts_that_differ_in_meaning_both_stay(curate, write) -> None:
    texts = {}
    for number, pair in enumerate(TWO_TEXTS):
        for line in pair:
            texts[line] = f"{article(number)}\n\n{line} {prose(7)}"
    assert left(curate, write, texts) == set(texts)


COPIES = {
    "case": str.upper,
    "lines": lambda text: text.replace(" ", "\n"),
    "spaces": lambda text: text.replace(" ", "\u00a0\u200b"),
    "bullets": lambda text: text.replace("\n\n", "\n\n- "),
    "emphasis": lambda text: re.sub(r"\b(fen\w*)", r"**\1**", text),
    "cut": lambda text: "\n\n".join(text.split("\n\n")[:3]),
}


def test_a_copy_in_another_dress_goes(curate, write) -> None:
    texts = {"other": article(99)}
    for number, (kind, change) in enumerate(COPIES.items()):
        texts |= {f"{kind} 1": article(number), f"{kind} 2": change(article(number))}
    stays = left(curate, write, texts)
    assert "other" in stays
    assert sorted(name[:-2] for name in stays - {"other"}) == sorted(COPIES)


def test_the_longest_stays_whatever_the_order(curate, write) -> None:
    whole = article(1, 6)
    short = "\n\n".join(whole.split("\n\n")[:5])
    assert left(curate, write, {"short": short, "whole": whole}) == {"whole"}


def test_texts_without_words_are_told_by_their_characters(curate, write) -> None:
    assert left(curate, write, {"a": "!!!", "b": "???", "c": "! ! !", "d": "!!!  ", "e": ""}) == {
        "a",
        "b",
        "c",
        "e",
    }


def test_exact_variants(curate, write) -> None:
    texts = {"a": "One two three.", "b": "One  two three.", "c": "one two three"}
    assert left(curate, write, texts, "--exact=words") == {"a"}
    folder = write("again", [record(name, text) for name, text in texts.items()])
    space = curate("dedup", folder / "*.jsonl", "--exact=whitespace", out="space")
    assert set(documents_of(space.folder)) == {"a", "c"}
    raw = curate("dedup", folder / "*.jsonl", "--exact=raw", out="raw")
    assert set(documents_of(raw.folder)) == {"a", "b", "c"}


def test_frames_of_sites_do_not_keep_copies(curate, write) -> None:
    rows = []
    for site in ("one", "two"):
        for number in range(12):
            text = (
                f"The {site} daily, read by all of {site}\n\n{article(number + (0 if site == 'one' else 50))}"
            )
            rows.append(record(f"{site}{number}", text, url=f"https://{site}.example/{number}"))
        rows.append(
            record(
                f"{site}-shared",
                f"The {site} daily, read by all of {site}\n\n{article(99)}",
                url=f"https://{site}.example/s",
            )
        )
    folder = write("in", rows)
    ignored = curate("dedup", folder / "*.jsonl", out="ignored")
    assert ignored.manifest.accounting.written == 25
    assert all("read by all of" in row["text"] for row in documents_of(ignored.folder).values())
    stripped = curate("dedup", folder / "*.jsonl", "--boilerplate=strip", out="stripped")
    assert not any("read by all of" in row["text"] for row in documents_of(stripped.folder).values())
    assert stripped.manifest.counters["boilerplate lines"] == 25
    off = curate("dedup", folder / "*.jsonl", "--boilerplate=off", out="off")
    assert off.manifest.accounting.written == 26


def test_a_source_that_would_lose_much_stops_the_run_unless_acknowledged(curate, write) -> None:
    folder = write("in", [record(str(number), article(number // 5)) for number in range(20)])
    stopped = curate("dedup", folder / "*.jsonl", "--name=crawl")
    assert stopped.code == 2
    assert "crawl 80.0%" in stopped.stderr
    assert "--acknowledge crawl" in stopped.stderr
    assert not list(stopped.folder.glob("part-*"))
    assert len(rows_of(stopped.folder / "evidence" / "pairs.jsonl.zst")) == 16
    accepted = curate("dedup", folder / "*.jsonl", "--name=crawl", "--acknowledge=crawl")
    assert accepted.code == 0
    assert accepted.manifest.accounting.written == 4


def test_several_corpora_are_compared_and_written_each_to_its_folder(curate, write) -> None:
    first = curate(
        "dedup",
        write("a", [record(f"a{n}", article(n)) for n in range(4)]) / "*.jsonl",
        "--name=one",
        out="one",
    )
    second = curate(
        "dedup",
        write("b", [record(f"b{n}", article(n)) for n in range(2, 8)]) / "*.jsonl",
        "--name=two",
        out="two",
    )
    both = curate("dedup", first.folder, second.folder, out="both")
    assert both.code == 0, both.stderr
    assert set(documents_of(both.folder / "one")) == {f"a{n}" for n in range(4)}
    assert set(documents_of(both.folder / "two")) == {f"b{n}" for n in range(4, 8)}
    report = json.loads((both.folder / "deduplication.json").read_text())
    assert report["sources"]["two"]["removed"] == 2
    assert "nothing to do" in curate("dedup", first.folder, second.folder, out="both").stdout


def test_lines_that_are_no_documents_are_counted_and_kept(curate, write) -> None:
    rows = [record(str(number), article(number)) for number in range(8)]
    folder = write("in", [*rows, '{"id": "x"}', "nonsense"])
    refused = curate("dedup", folder / "*.jsonl")
    assert refused.code == 2
    assert "--max-failures" in refused.stderr
    accepted = curate("dedup", folder / "*.jsonl", "--max-failures=0.5")
    assert accepted.code == 0
    assert accepted.manifest.accounting.read == 10
    assert accepted.dropped == {"no document": 2}
    assert {row.text for row in accepted.rejects} == {'{"id": "x"}', "nonsense"}


def test_the_same_bytes_whatever_the_workers(curate, planted, write) -> None:
    folder = write("in", [one.record() for one in planted.planted_corpus(4, seed=3)], files=5)
    one = curate("dedup", folder / "*.jsonl", out="one")
    two = curate("dedup", folder / "*.jsonl", "--workers=2", out="two")
    assert one.code == two.code == 0
    assert one.bytes == two.bytes


def growing(texts: int) -> list[dict[str, object]]:
    """Texts each of which holds the one before it."""
    lines = [prose(number, 9) for number in range(texts + 20)]
    return [record(f"log {number}", "\n".join(lines[: 20 + number])) for number in range(texts)]


def test_the_same_decided_in_one_process_or_in_shuffles(curate, planted, write, monkeypatch) -> None:
    rows = [*(one.record() for one in planted.planted_corpus(2, seed=8)), *growing(12)]
    folder = write("in", rows, files=3)
    arguments = (folder / "*.jsonl", "--max-removed=1", "--containment=0.8", "--cluster-containment=0.9")
    one = curate("dedup", *arguments, out="one")
    monkeypatch.setattr(pipeline, "BUCKET_PAIRS", 50)
    monkeypatch.setattr(pipeline, "ALONE_BUCKETS", 0)
    many = curate("dedup", *arguments, out="many")
    found = [one.bytes, many.bytes]
    reports = [json.loads(files.pop("deduplication.json")) for files in found]
    decisions = [report.pop("decision") for report in reports]
    assert [one["by"] for one in decisions] == ["one process", "shuffles"]
    assert decisions[0]["buckets"] == 1 < decisions[1]["buckets"]
    assert decisions[0]["largest_component"] == decisions[1]["largest_component"] > 2
    assert reports[0] == reports[1]
    assert found[0] == found[1]


def test_clusters_name_what_no_split_may_divide(curate, write) -> None:
    base = article(1, 6)
    changed = base.replace(base.split()[200], "otherwise")
    folder = write("in", [record("a", base), record("b", changed), record("c", article(2))])
    documents = documents_of(curate("dedup", folder / "*.jsonl").folder)
    assert documents["a"]["metadata"]["duplicate_cluster"] == documents["b"]["metadata"]["duplicate_cluster"]
    assert "duplicate_cluster" not in documents["c"]["metadata"]


def test_stopped_at_any_step_it_goes_on_to_the_same_bytes(curate, stopped_after, planted, write) -> None:
    folder = write("in", [one.record() for one in planted.planted_corpus(2, seed=4)], files=3)
    whole = curate("dedup", folder / "*.jsonl", out="whole")
    assert whole.code == 0
    for module, name in (
        (pipeline, "find_boilerplate"),
        (pipeline, "run_shuffle"),
        (pipeline, "extract"),
        (pipeline, "compare"),
        (pipeline, "decide_all"),
        (pipeline, "tell_files"),
        (cleaning_run, "run_tasks"),
        (cleaning_run, "write_card"),
    ):
        stopped = stopped_after(module, name, "dedup", folder / "*.jsonl", out="stopped")
        assert not (stopped.folder / "deduplication.json").exists()
    for place in ("part-00000-of-00003.jsonl.zst", "rejects/x", "evidence/x"):  # as a killed run leaves them
        (stopped.folder / f"{place}.tmp-0").parent.mkdir(exist_ok=True)
        (stopped.folder / f"{place}.tmp-0").touch()
    again = curate("dedup", folder / "*.jsonl", out="stopped")
    assert again.code == 0
    assert again.bytes == whole.bytes


def test_an_unfinished_run_with_other_settings_is_refused(curate, write) -> None:
    folder = write("in", [record(str(number), article(number // 5)) for number in range(20)])
    assert curate("dedup", folder / "*.jsonl").code == 2
    other = curate("dedup", folder / "*.jsonl", "--ngram=4", "--max-removed=1")
    assert other.code == 2
    assert "--overwrite" in other.stderr
    assert curate("dedup", folder / "*.jsonl", "--ngram=4", "--max-removed=1", "--overwrite").code == 0
    finished = curate("dedup", folder / "*.jsonl", "--ngram=3", "--max-removed=1")
    assert finished.code == 2
    assert "--ngram" in finished.stderr


def test_large_documents_are_held_a_few_at_a_time(write, monkeypatch) -> None:
    folder = write("in", [record(str(number), f"{article(number)}\n" * 2) for number in range(9)], files=1)
    (file,) = find_corpora([str(folder / "0.jsonl")])[0].files
    signer = proposal.Signer(DeduplicationSettings(), proposal.BoilerplateFile(None))
    (whole,) = signer(file)
    lines = boilerplate.CountedLines(1)
    (counted,) = boilerplate.count_lines(file)
    monkeypatch.setattr(proposal, "BATCH_SHINGLES", 300)
    monkeypatch.setattr(boilerplate, "LINES", 3)
    batches, counts = list(signer(file)), list(boilerplate.count_lines(file))
    assert len(batches) > 3
    assert sorted(map(bytes, np.concatenate(batches))) == sorted(map(bytes, whole))
    assert len(counts) > 3
    assert all((found == lines(counted)[name]).all() for name, found in lines(np.concatenate(counts)).items())


def test_n_grams_that_are_held_have_so_many_bytes(monkeypatch) -> None:
    read: list[int] = []

    def grams(self, number: int):
        read.append(number)
        return np.full(4, number, np.uint64), np.ones(4, bool)

    monkeypatch.setattr(compared_documents, "REMEMBERED_BYTES", 80)
    monkeypatch.setattr(compared_documents.ComparedDocuments, "_grams", grams)
    documents = compared_documents.ComparedDocuments("", compared_documents.Files((0,), ("s",)))
    assert [int(documents.grams(number)[0][0]) for number in (1, 2, 1, 3, 1, 2)] == [1, 2, 1, 3, 1, 2]
    assert read == [1, 2, 3, 2]


def test_a_document_on_which_the_comparison_fails_is_a_counted_drop(curate, write, monkeypatch) -> None:
    folder = write("in", [record(str(number), f"{article(number)} {number}") for number in range(8)], files=2)
    taken_apart = proposal.paragraphs

    def failing(text: str):
        if text[-1] in "356":
            raise RecursionError("too deep")
        return taken_apart(text)

    monkeypatch.setattr(proposal, "paragraphs", failing)
    assert "more than the budget" in curate("dedup", folder / "*.jsonl").stderr
    result = curate("dedup", folder / "*.jsonl", "--max-failures=0.5")
    assert result.code == 0, result.stderr
    assert sorted(documents_of(result.folder)) == ["0", "1", "2", "4", "7"]
    assert result.dropped == {"stage failed": 3}
    assert {row.id: row.metadata["detail"] for row in result.rejects}["5"] == "RecursionError: too deep"
