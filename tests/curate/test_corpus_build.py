"""What holds for every corpus: books, identity of runs, resumption, budget, the same bytes whatever the workers."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tootsie.curate import corpus_build
from tootsie.curate.arxiv import Arxiv
from tootsie.curate.corpus import Unit
from tootsie.curate.corpus_build import BuildSettings, default_shards
from tootsie.datasets import beam_runner, storage

from .conftest import PROSE, answer, article, files_in, ndjson, page, question, rows, write_tar, write_zip


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    return write_zip(
        tmp_path / "a.zip", {f"no-problem/2404/2404.{n:05d}.html": page(f"Paper {n}") for n in range(1, 31)}
    )


def test_books_and_checksums(curate, papers: Path) -> None:
    result = curate("arxiv", papers)
    manifest = result.manifest
    assert manifest.accounting.read == 30 == manifest.accounting.written
    assert [entry.path for entry in manifest.files] == [f"part-{n:05d}-of-00004.jsonl.zst" for n in range(4)]
    assert all(storage.sha256(str(result.folder / entry.path)) == entry.sha256 for entry in manifest.files)
    assert sum(entry.text_bytes for entry in manifest.files) == sum(
        len(d.text.encode()) for d in result.documents.values()
    )
    assert manifest.counters
    assert manifest.inputs[0].path == "a.zip"
    assert "read\t30\nwritten\t30\n" in result.stdout
    assert sorted(path.name for path in result.folder.iterdir()) == [
        "README.md",
        "_manifest.json",
        *(entry.path for entry in manifest.files),
    ]


def test_second_run_has_nothing_to_do(curate, papers: Path) -> None:
    first = curate("arxiv", papers)
    before = first.bytes
    second = curate("arxiv", papers)
    assert second.code == 0
    assert "already finished, 30 documents; nothing to do" in second.stdout
    assert second.bytes == before


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ("--seed=1", "--seed"),
        ("--shards=7", "--shards"),
        ("--limit=3", "--limit"),
        ("--added=2026-01-01", "--added"),
        ("--references=drop", "--references"),
    ],
)
def test_other_settings_are_refused_by_name(curate, papers: Path, option: str, named: str) -> None:
    before = curate("arxiv", papers).bytes
    result = curate("arxiv", papers, option)
    assert result.code == 2
    assert (
        f"{result.folder}: {named}: the folder holds the finished output of a run with other settings"
        in result.stderr
    )
    assert result.bytes == before
    again = curate("arxiv", papers, option, "--overwrite")
    assert again.code == 0
    assert again.bytes != before


def test_other_inputs_are_refused(curate, tmp_path: Path, papers: Path) -> None:
    curate("arxiv", papers)
    write_zip(papers, {"no-problem/2404/2404.00001.html": page("Changed")})
    result = curate("arxiv", papers)
    assert result.code == 2
    assert "sha256 of a.zip" in result.stderr


def test_a_run_that_finished_nothing_does_not_claim_the_folder(curate, tmp_path: Path, papers: Path) -> None:
    damaged = tmp_path / "b.zip"
    damaged.write_bytes(papers.read_bytes()[:500])
    assert curate("arxiv", damaged).code == 2
    result = curate("arxiv", papers, "--seed=1")
    assert result.code == 0
    assert result.bytes == curate("arxiv", papers, "--seed=1", out="fresh").bytes


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--min-characters=500", "--max-characters=100"],
            "--max-characters: is less than --min-characters (500), so that no document would be kept (found 100)",
        ),
        (
            ["--languages=en,klingon"],
            "--languages: not in a list with commas (found 'klingon'). Write codes of ISO 639",
        ),
        (["--licences=CC0-1.0,"], "--licences: not in a list with commas (found ''). Write names"),
        (["--metadata=a.zip"], "--metadata: not a file of metadata (found 'a.zip'). It ends in .json"),
    ],
)
def test_options_without_sense_are_refused_before_anything_is_read(
    curate, tmp_path: Path, papers: Path, options: list[str], said: str
) -> None:
    result = curate("arxiv", papers, *options)
    assert result.code == 2
    assert said in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_named_with_its_place(curate, papers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(corpus_build, "build", fill)
    result = curate("arxiv", papers)
    assert result.code == 2
    assert f"error: {result.folder} or " in result.stderr
    assert "No space left on device. Free some space and run the same command again" in result.stderr


def test_another_corpus_in_the_same_folder_is_refused(curate, tmp_path: Path, papers: Path) -> None:
    curate("arxiv", papers)
    (tmp_path / "a.ndjson").write_bytes(ndjson([article(1)]))
    result = curate("wikipedia", tmp_path / "a.ndjson")
    assert result.code == 2
    assert "source: the folder holds the finished output" in result.stderr


def test_foreign_document_files_are_left_alone(curate, tmp_path: Path, papers: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-00000-of-00001.jsonl.zst").write_bytes(b"precious")
    result = curate("arxiv", papers)
    assert result.code == 2
    assert "unknown run" in result.stderr


def test_damaged_output_of_an_unfinished_run_is_made_again(curate, tmp_path: Path, papers: Path) -> None:
    whole = curate("arxiv", papers, out="whole")
    job = corpus_build.make_job(Arxiv(), [str(papers)], str(tmp_path / "out"), BuildSettings())
    assert corpus_build.check_output(job) is None
    options = beam_runner.pipeline_options([])
    # The state just before the manifest: everything written, then one file cut and one receipt lost.
    finish = corpus_build.finish
    try:
        corpus_build.finish = lambda job: None  # type: ignore[assignment, return-value]
        corpus_build.build(job, options)
    finally:
        corpus_build.finish = finish
    part = tmp_path / "out" / "part-00001-of-00004.jsonl.zst"
    part.write_bytes(part.read_bytes()[:-3])
    (tmp_path / "out" / "_work/shards/00002.json").unlink()
    (tmp_path / "out" / "part-00003-of-00004.jsonl.zst.tmp-0123456789ab").write_bytes(b"half")
    assert corpus_build.unfinished_shards(job) == [1, 2]
    resumed = curate("arxiv", papers)
    assert resumed.code == 0
    assert resumed.bytes == whole.bytes


def test_error_budget(curate, tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(ndjson([*(article(n) for n in range(20)), b"{broken\n"]))
    assert curate("wikipedia", path, "--max-failures=0", out="one").code == 0
    path.write_bytes(ndjson([*(article(n) for n in range(20)), b"{broken\n", b"{again\n", b"{and again\n"]))
    failed = curate("wikipedia", path)
    assert failed.code == 2
    assert "3 of 23 records failed, more than the budget of 2.00%" in failed.stderr
    assert not (failed.folder / "_manifest.json").exists()
    assert {reject.metadata["reason"] for reject in failed.rejects} == {"damaged record"}
    accepted = curate("wikipedia", path, "--max-failures=0.2")
    assert accepted.code == 0
    assert accepted.manifest.accounting.read == 23


def test_a_converter_that_fails_drops_that_document_only(
    curate, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tootsie.curate.markdownify as converter

    convert = converter.convert

    def moody(html: bytes, **options: object) -> object:
        if b"Paper 7<" in html:
            raise RecursionError("too deep")
        return convert(html, **options)

    monkeypatch.setattr(converter, "convert", moody)
    result = curate("arxiv", papers, "--max-failures=0.05", "--time-limit=0", "--memory-limit=0")
    assert result.code == 0
    assert result.dropped == {"conversion failed": 1}
    (reject,) = result.rejects
    assert reject.id == "2404.00007"
    assert reject.metadata["detail"] == "RecursionError: too deep"
    assert "Paper 7" in reject.text


def test_no_records_is_an_error(curate, tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(b"\n\n")
    result = curate("wikipedia", tmp_path / "a.ndjson")
    assert result.code == 2
    assert "no records in the inputs" in result.stderr


def test_limit_reads_the_first_records_over_all_inputs(curate, tmp_path: Path) -> None:
    for name, first in (("a", 0), ("b", 10), ("c", 20)):
        (tmp_path / f"{name}.ndjson").write_bytes(ndjson([article(first + n) for n in range(10)]))
    result = curate("wikipedia", tmp_path / "{c,a,b}.ndjson", "--limit=13")
    assert sorted(result.documents) == sorted(f"enwiki:{n}" for n in range(13))
    assert result.manifest.accounting.read == 13


def test_order_of_inputs_does_not_matter(curate, tmp_path: Path) -> None:
    for name, first in (("a", 0), ("b", 5)):
        (tmp_path / f"{name}.ndjson").write_bytes(ndjson([article(first + n) for n in range(10)]))
    one = curate("wikipedia", tmp_path / "a.ndjson", tmp_path / "b.ndjson", out="one")
    other = curate("wikipedia", tmp_path / "b.ndjson", tmp_path / "a.ndjson", out="other")
    assert one.bytes == other.bytes


def test_place_of_inputs_does_not_matter(curate, tmp_path: Path) -> None:
    # The same name twice, with different content; and the same dump in other folders.
    places = {"one": ["a/x", "a/y"], "other": ["b/q", "b/p"]}
    results = {}
    for name, folders in places.items():
        for number, folder in enumerate(folders):
            (tmp_path / folder).mkdir(parents=True)
            (tmp_path / folder / "w.ndjson").write_bytes(ndjson([article(10 * number + n) for n in range(8)]))
        results[name] = curate(
            "wikipedia", *(tmp_path / folder / "w.ndjson" for folder in folders), out=f"out-{name}"
        )
        assert len(results[name].documents) == 16
    assert results["one"].bytes == results["other"].bytes
    for folder in ("here/error/2404", "deep/in/there/error/2404"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "2404.00001.html").write_text(page("Moved"))
    here = curate("arxiv", tmp_path / "here/error", out="out-here")
    there = curate("arxiv", tmp_path / "deep/in/there/error", out="out-there")
    assert here.bytes == there.bytes
    assert here.documents["2404.00001"].metadata["path"] == "error/2404/2404.00001.html"


def test_dry_run_writes_nothing(curate, papers: Path) -> None:
    result = curate("arxiv", papers, "--dry-run", "--shards=2")
    assert result.code == 0
    assert not result.folder.exists()
    assert f"read\ta.zip\t{papers.stat().st_size}" in result.stdout
    assert f"write\t{result.folder}/part-00001-of-00002.jsonl.zst" in result.stdout
    assert f"write\t{result.folder}/README.md" in result.stdout


def test_a_folder_of_archives_is_told_how_to_name_them(curate, papers: Path) -> None:
    result = curate("arxiv", papers.parent, out="../elsewhere")
    assert result.code == 2
    assert f"Name its archives: {papers.parent}/*.zip" in result.stderr


def test_output_inside_the_input_is_refused(curate, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "2404.00001.html").write_text(page("x"))
    result = curate("arxiv", tmp_path / "in", out="in/out")
    assert result.code == 2
    assert "must not lie inside an input" in result.stderr


def test_output_inside_the_input_is_found_however_paths_are_written(
    curate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "2404.00001.html").write_text(page("x"))
    (tmp_path / "link").symlink_to("in")
    monkeypatch.chdir(tmp_path)
    for given in ("in", f"file://{tmp_path}/in", "link"):
        result = curate("arxiv", given, out="in/out")
        assert result.code == 2
        assert "must not lie inside an input" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("arxiv", "", "a.zip"), "IN... OUT: a path is empty"),
        (
            ("arxiv", "a.zip", "--references=banana"),
            "--references: must be keep, cite-keys or drop (found 'banana')",
        ),
        (("wikipedia", "a.zip", "--references=banana"), "--references: must be keep, cite-keys or drop"),
        (("stackexchange", "a.zip", "--site=no host/../"), "--site: not a host name"),
        (("arxiv", "a.zip", "--max-document-bytes=0"), "--max-document-bytes"),
        (("arxiv", "a.zip", "--shards=100000"), "--shards: must be at most 99,999"),
    ],
)
def test_arguments_that_mean_nothing_are_refused_before_anything_is_written(
    curate, papers: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(papers.parent)
    result = curate(*arguments)
    assert result.code == 2
    assert message in result.stderr
    assert not result.folder.exists()


@pytest.mark.parametrize(
    ("option", "field"),
    [
        ("--shards=0", "--shards"),
        ("--limit=-1", "--limit"),
        ("--max-failures=2", "--max-failures"),
        ("--added=today", "--added"),
    ],
)
def test_bad_options(curate, papers: Path, option: str, field: str) -> None:
    result = curate("arxiv", papers, option)
    assert result.code == 2
    assert field in result.stderr


def test_a_mistyped_option_is_named_with_the_nearest(curate, papers: Path) -> None:
    result = curate("arxiv", papers, "--shrads=4")
    assert result.code == 2
    assert (
        "--shrads: neither this command nor Beam has such an option. Did you mean --shards?" in result.stderr
    )
    assert not result.folder.exists()


def test_default_shards_follow_the_size_of_the_inputs() -> None:
    assert default_shards([Unit("a", ("a.zip",), 1000)]) == 4
    assert default_shards([Unit("a", ("a.tar.gz",), 2**30)]) == 96
    assert default_shards([Unit("a", ("a.zip",), 66_000_000)]) == 8
    assert default_shards([Unit("a", ("a.ndjson",), 2**50)]) == 4096


def dumps(folder: Path) -> dict[str, list[Path]]:
    """Inputs of the three corpora with something in them of everything."""
    write_zip(
        folder / "one.zip",
        {
            f"warning/2404/2404.{n:05d}.html": page(f"Paper {n}", f"{n} {PROSE * n}<button>Cite {n}</button>")
            for n in range(60)
        },
    )
    write_zip(folder / "two.zip", {f"error/2405/2405.{n:05d}.html": page(f"Paper {n}") for n in range(20)})
    metadata = [{"id": f"2404.{n:05d}", "categories": "math.CO", "license": None} for n in range(0, 90, 2)]
    (folder / "metadata.json").write_bytes(ndjson(metadata))
    write_tar(
        folder / "w.tar.gz", {"a.ndjson": ndjson([article(n % 50, revision=n % 7) for n in range(120)])}
    )
    (folder / "x.ndjson").write_bytes(ndjson([article(n, revision=n % 9) for n in range(40)]))
    for site in ("a.stackexchange.com", "b.stackexchange.com"):
        (folder / site).mkdir()
        posts = [question(n) for n in range(1, 40)] + [
            answer(100 + n, n % 45 + 1, Score=n % 5) for n in range(80)
        ]
        (folder / site / "Posts.xml").write_text(rows("posts", posts))
    return {
        "arxiv": [folder / "one.zip", folder / "two.zip", folder / "metadata.json"],
        "wikipedia": [folder / "w.tar.gz", folder / "x.ndjson"],
        "stackexchange": [folder / "a.stackexchange.com", folder / "b.stackexchange.com"],
    }


EVERYTHING_TOLD = "--sample-dropped-text=1"


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["arxiv", "wikipedia", "stackexchange"])
def test_any_number_of_worker_processes_writes_the_same_bytes(curate, tmp_path: Path, corpus: str) -> None:
    inputs = dumps(tmp_path)[corpus]
    one = curate(corpus, *inputs, "--shards=6", EVERYTHING_TOLD, out="one")
    assert one.code == 0
    if corpus == "arxiv":
        assert any("dropped-text" in name for name in one.bytes)
    for workers in (2, 3):
        more = curate(
            corpus, *inputs, "--shards=6", EVERYTHING_TOLD, f"--workers={workers}", out=f"with-{workers}"
        )
        assert more.code == 0
        assert more.bytes == one.bytes


def command(corpus: str, inputs: list[Path], out: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "tootsie.curate",
        corpus,
        *map(str, inputs),
        str(out),
        "--shards=6",
        EVERYTHING_TOLD,
        *options,
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("corpus", "options"), [("arxiv", []), ("wikipedia", ["--workers=2"])])
def test_killed_at_random_moments_ends_with_the_same_bytes(
    tmp_path: Path, corpus: str, options: list[str]
) -> None:
    inputs = dumps(tmp_path)[corpus]
    start = time.monotonic()
    whole = subprocess.run(
        command(corpus, inputs, tmp_path / "whole"), check=True, capture_output=True, text=True
    )
    assert "documents/s" in whole.stdout
    length = time.monotonic() - start
    moments = random.Random(corpus).sample(range(30, 100), 2)
    out = tmp_path / "out"
    for moment in moments:
        process = subprocess.Popen(
            command(corpus, inputs, out, *options),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(length * moment / 100)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    subprocess.run(command(corpus, inputs, out, *options), check=True, capture_output=True)
    assert files_in(out) == files_in(tmp_path / "whole")


def test_plan_names_what_a_run_is_about(tmp_path: Path, papers: Path) -> None:
    job = corpus_build.make_job(
        Arxiv(added="2026-01-01"), [str(papers)], str(tmp_path / "o"), BuildSettings(seed=3, limit=5)
    )
    assert job.plan.settings == {
        "added": "2026-01-01",
        "max_document_bytes": 64 * 2**20,
        "min_characters": 200,
        "max_characters": None,
        "languages": [],
        "language_identifier": None,
        "licences": [],
        "max_error_density": None,
        "references": "cite-keys",
        "seed": 3,
        "limit": 5,
        "shards": 4,
        "time_limit": 60.0,
        "memory_limit": 2048,
        "sample_dropped_text": 256,
    }
    assert json.loads(job.plan.model_dump_json())["inputs"][0]["path"] == "a.zip"
