from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tootsie.datasets import beam_runner
from tootsie.datasets.errors import InputError, SpecError, UserError
from tootsie.tokenize import build, spreading
from tootsie.tokenize.build import BuildSettings, build_caches, plan_jobs
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.job import prepare
from tootsie.tokenize.shard_build import build_shard
from tootsie.tokenize.tokenizers import load_tokenizer


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def contents(cache: TokenCache) -> list[tuple[str, list[int]]]:
    return [(document.document_id, document.input_ids.tolist()) for document in cache.iterate()]


def test_documents_arrive_whole_and_in_order(corpus: str, tmp_path: Path) -> None:
    from tootsie.datasets.manifest import manifest_sha256, read_documents

    (cache,) = build_caches([corpus], str(tmp_path / "out"), BuildSettings(shards=4))
    tokenizer = load_tokenizer("tootsie-16k")
    documents = list(read_documents(corpus))
    assert contents(cache) == [(d.id, [*tokenizer.encode(d.text), 16_383]) for d in documents]
    ledger = cache.ledger
    assert (ledger.name, ledger.split, ledger.documents, len(ledger.shards)) == ("toy", "train", 60, 4)
    assert ledger.bytes == sum(len(d.text.encode()) for d in documents)
    assert ledger.sources[0].manifest_sha256 == manifest_sha256(corpus)
    assert ledger.accounting.model_dump() == {"read": 60, "written": 60, "dropped": {}}
    assert (ledger.engine.name, ledger.tokenizer) == ("tiktoken", tokenizer.identity)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["ledger.json", "shards"]
    cache.verify()


def test_the_same_documents_are_held_out_whatever_the_shards(corpus: str, tmp_path: Path) -> None:
    found = []
    for shards in (1, 5):
        settings = BuildSettings(validation_fraction=0.2, shards=shards)
        train, validation = build_caches([corpus], str(tmp_path / str(shards)), settings)
        assert (train.ledger.split, validation.ledger.split) == ("train", "validation")
        assert train.documents + validation.documents == 60
        assert train.ledger.accounting.dropped == {"other_split": validation.documents}
        assert validation.ledger.accounting.dropped == {"other_split": train.documents}
        found.append((contents(train), contents(validation)))
    assert found[0] == found[1]
    assert not {name for name, _ in found[0][0]} & {name for name, _ in found[0][1]}


@pytest.mark.slow
def test_near_duplicates_are_held_out_together(tmp_path: Path, make_jsonl: Callable[..., str]) -> None:
    rows = [
        {"id": f"{number}", "text": f"Text {number}.", "metadata": {"duplicate_cluster": f"s/{number // 4}"}}
        for number in range(200)
    ]
    train, validation = build_caches(
        [make_jsonl(tmp_path / "a.jsonl", rows)],
        str(tmp_path / "out"),
        BuildSettings(validation_fraction=0.3),
    )
    clusters = [
        {int(document.document_id) // 4 for document in cache.iterate()} for cache in (train, validation)
    ]
    assert not clusters[0] & clusters[1]
    assert 5 < len(clusters[1]) < 25


def test_bytes_do_not_depend_on_workers_or_mode(corpus: str, tmp_path: Path) -> None:
    settings = BuildSettings(validation_fraction=0.2, shards=5)
    made = []
    for number, (workers, arguments) in enumerate(
        [
            (None, []),
            (1, []),
            (2, []),
            (8, []),
            (None, ["--direct_running_mode=multi_threading", "--direct_num_workers=2"]),
        ]
    ):
        out = tmp_path / str(number)
        build_caches([corpus], str(out), settings, beam_runner.pipeline_options(arguments, workers=workers))
        made.append(files(out))
    assert len(made[0]) == 8
    assert all(other == made[0] for other in made[1:])


def test_a_finished_cache_is_kept(corpus: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    build_caches([corpus], str(out), BuildSettings())
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    build_caches([corpus], str(out), BuildSettings())
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        (BuildSettings(shards=3), r"settings\.shards: .* 2, now it is 3"),
        (BuildSettings(shards=2, seed=4), r"settings\.seed: .* 0, now it is 4"),
        (BuildSettings(shards=2, limit=9), r"settings\.limit: .* None, now it is 9"),
        (BuildSettings(shards=2, add_eos=False), r"tokenizer\.fingerprint|tokenizer\.add_eos"),
        (BuildSettings(shards=2, name="other"), r"name: .* 'toy', now it is 'other'"),
        (BuildSettings(shards=2, validation_fraction=0.5), "--validation-fraction"),
    ],
)
def test_other_settings_are_refused_by_name(
    corpus: str, tmp_path: Path, changed: BuildSettings, field: str
) -> None:
    out = str(tmp_path / "out")
    build_caches([corpus], out, BuildSettings(shards=2))
    with pytest.raises(SpecError, match=field):
        build_caches([corpus], out, changed)


def test_a_changed_source_is_refused(corpus: str, tmp_path: Path, make_corpus: Callable[..., str]) -> None:
    out = str(tmp_path / "out")
    build_caches([corpus], out, BuildSettings(shards=2))
    other = make_corpus(tmp_path / "other", [f"Other {n}" for n in range(60)])
    with pytest.raises(
        SpecError, match=r"sources\.0\.manifest_sha256: the output is finished and was built with"
    ):
        build_caches([other], out, BuildSettings(shards=2))


def test_empty_documents_are_dropped_and_counted(tmp_path: Path, make_corpus: Callable[..., str]) -> None:
    corpus = make_corpus(tmp_path / "corpus", ["a", "", "b", ""])
    (cache,) = build_caches([corpus], str(tmp_path / "out"), BuildSettings())
    assert cache.ledger.accounting.model_dump() == {"read": 4, "written": 2, "dropped": {"empty_text": 2}}


def test_nothing_to_write_is_an_error(tmp_path: Path, make_corpus: Callable[..., str]) -> None:
    out = str(tmp_path / "out")
    with pytest.raises(InputError, match="the input holds no document"):
        build_caches([make_corpus(tmp_path / "none", [])], out, BuildSettings())
    with pytest.raises(InputError, match="every document is empty"):
        build_caches([make_corpus(tmp_path / "empty", ["", ""])], out, BuildSettings())
    with pytest.raises(
        InputError, match=r"no document is left for the validation split.*Raise --validation-fraction"
    ):
        build_caches(
            [make_corpus(tmp_path / "one", ["a", "b"])],
            str(tmp_path / "s"),
            BuildSettings(validation_fraction=1e-9),
        )
    with pytest.raises(
        InputError, match=r"no document is left for the train split.*Lower --validation-fraction"
    ):
        build_caches(
            [make_corpus(tmp_path / "two", ["a", "b"])],
            str(tmp_path / "t"),
            BuildSettings(validation_fraction=1 - 1e-9),
        )
    assert not list(tmp_path.rglob("ledger.json"))
    # What the messages advise can be done, in the same folder.
    halves = build_caches(
        [str(tmp_path / "two")], str(tmp_path / "t"), BuildSettings(validation_fraction=0.5, seed=7)
    )
    assert [cache.documents for cache in halves] == [1, 1]


def test_an_empty_shard_and_an_empty_file_are_whole(tmp_path: Path, make_jsonl: Callable[..., str]) -> None:
    texts = ["one", "", "", "", "", ""]
    path = make_jsonl(tmp_path / "a.jsonl", [{"id": str(n), "text": text} for n, text in enumerate(texts)])
    empty = make_jsonl(tmp_path / "b.jsonl", [])
    (cache,) = build_caches([path, empty], str(tmp_path / "out"), BuildSettings(shards=3, name="x"))
    assert [entry.documents for entry in cache.ledger.shards] == [1, 0, 0]
    assert cache.ledger.accounting.dropped == {"empty_text": 5}
    assert [file.documents for file in cache.ledger.sources[0].files] == [6, 0]
    assert cache.verify().documents == 1
    assert [document.document_id for document in cache.iterate()] == ["0"]


def test_lone_surrogates_are_counted(tmp_path: Path, make_jsonl: Callable[..., str]) -> None:
    path = make_jsonl(tmp_path / "a.jsonl", [{"id": "a", "text": "x\ud800y"}, {"id": "b", "text": "z"}])
    (cache,) = build_caches([path], str(tmp_path / "out"), BuildSettings())
    assert cache.ledger.counters == {"lone_surrogates_replaced": 1}
    assert cache.ledger.name == "out"
    assert load_tokenizer("tootsie-16k").decode(contents(cache)[0][1][:-1]) == "x\ufffdy"


@pytest.mark.parametrize("workers", [None, 2])
def test_a_bad_record_stops_the_build_and_says_where(
    tmp_path: Path, make_jsonl: Callable[..., str], workers: int | None
) -> None:
    records: list[dict[str, Any]] = [{"id": str(n), "text": "x"} for n in range(20)]
    del records[13]["text"]
    path = make_jsonl(tmp_path / "a.jsonl", records)
    out = str(tmp_path / "out")
    with pytest.raises(UserError, match=r"a.jsonl: record 13, text: the record is not a document"):
        build_caches([path], out, BuildSettings(shards=4), beam_runner.pipeline_options([], workers=workers))
    with pytest.raises(UserError, match="not a finished token cache"):
        TokenCache.open(out)


def test_documents_longer_than_a_shard_and_limits(tmp_path: Path, make_jsonl: Callable[..., str]) -> None:
    path = make_jsonl(
        tmp_path / "a.jsonl", [{"id": str(n), "text": "word " * (4000 if n == 1 else 3)} for n in range(9)]
    )
    (cache,) = build_caches([path], str(tmp_path / "out"), BuildSettings(shard_tokens=500, limit=7))
    assert cache.documents == 7
    assert len(cache.ledger.shards) == 7
    assert cache.ledger.settings["limit"] == 7
    cache.verify()
    assert len(cache.window(1, 1000).tokens) == 1000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (BuildSettings(shards=0), "--shards: must be at least 1"),
        (BuildSettings(shards=2, shard_tokens=9), "give one of"),
        (BuildSettings(validation_fraction=1.0), "--validation-fraction"),
        (BuildSettings(limit=0), "--limit"),
        (BuildSettings(name=""), "--name: must be printable text"),
        (BuildSettings(name="two\nlines"), "--name: must be printable text"),
    ],
)
def test_impossible_settings_are_refused(
    corpus: str, tmp_path: Path, settings: BuildSettings, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        plan_jobs([corpus], str(tmp_path / "out"), settings)


def test_planning_writes_nothing(corpus: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (job,) = plan_jobs([corpus], str(out), BuildSettings(shards=3))
    assert [task.path for task in job.tasks] == [f"shards/{n:05d}-of-00003.arrow" for n in range(3)]
    assert not out.exists()


def test_a_begun_build_of_other_code_is_begun_anew(
    corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    (job,) = plan_jobs([corpus], str(out), BuildSettings(shards=3))
    prepare(job)
    for task in job.tasks[:2]:
        build_shard(task)
    with pytest.raises(SpecError, match=r"settings\.shards: the output was begun with settings\.shards 3"):
        plan_jobs([corpus], str(out), BuildSettings(shards=4))
    monkeypatch.setattr(build, "code_version", lambda stage: "other")
    (again,) = plan_jobs([corpus], str(out), BuildSettings(shards=3))
    prepare(again)
    assert not list((out / "shards").iterdir())


def test_a_shard_damaged_between_two_attempts_is_written_again(corpus: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (job,) = plan_jobs([corpus], str(out), BuildSettings(shards=3))
    prepare(job)
    build_shard(job.tasks[1])
    path = out / job.tasks[1].path
    good = path.read_bytes()
    path.write_bytes(good[:-8] + b"12345678")
    build_shard(job.tasks[1])
    assert path.read_bytes() == good


@pytest.mark.slow
def test_killed_at_random_it_ends_with_the_same_bytes(
    tmp_path: Path, load_script: Callable[[str], ModuleType]
) -> None:
    kill_tokenize = load_script("tests/endurance/kill_tokenize.py")
    assert kill_tokenize.survive(tmp_path, kills=3, documents=600, seed=1) == []


def test_the_ledger_names_every_file_with_its_checksum(
    tmp_path: Path, make_jsonl: Callable[..., str]
) -> None:
    from tootsie.datasets import storage

    one = make_jsonl(tmp_path / "in" / "x" / "a.jsonl", [{"id": "1", "text": "one"}])
    two = make_jsonl(tmp_path / "in" / "y" / "a.jsonl", [{"id": "2", "text": "two"}])
    build_caches([one, two], str(tmp_path / "out"), BuildSettings(name="both"))
    ledger = json.loads((tmp_path / "out" / "ledger.json").read_text())
    assert ledger["name"] == "both"
    assert [(f["path"], f["sha256"]) for f in ledger["sources"][0]["files"]] == [
        ("x/a.jsonl", storage.sha256(one)),
        ("y/a.jsonl", storage.sha256(two)),
    ]


def test_a_large_file_is_not_read_once_for_each_shard(tmp_path: Path, make_jsonl: Callable[..., str]) -> None:
    paths = [
        make_jsonl(tmp_path / name, [{"id": str(n), "text": "x"} for n in range(count)])
        for name, count in (("a.jsonl", 400), ("b.jsonl", 20))
    ]
    (job,) = plan_jobs(paths, str(tmp_path / "out"), BuildSettings(shards=42, name="x"))
    runs = spreading.runs_of_one_file(job.tasks)
    assert [task for run in runs for task in run] == list(job.tasks)
    for path in paths:
        readers = sum(any(part.url == path for task in run for part in task.slices) for run in runs)
        assert readers <= spreading.READERS + 1
    assert max(map(len, runs)) <= 6
    for workers in (1, 2, 5):  # One group for each: no file is read more often than there are workers.
        other = dataclasses.replace(job.tasks[0], folder="other")
        *groups, last = spreading.runs([*job.tasks, other], workers)
        assert [task for group in groups for task in group] == list(job.tasks)
        assert len(groups) == workers
        assert max(map(len, groups)) - min(map(len, groups)) <= 1
        assert last == [other]
    (cache,) = build_caches(paths, str(tmp_path / "out"), BuildSettings(shards=42, name="x"))
    assert [document.document_id for document in cache.iterate()] == [
        str(n) for c in (400, 20) for n in range(c)
    ]
