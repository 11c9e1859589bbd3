from __future__ import annotations

from pathlib import Path

from tootsie.curate import corpus_build, progress
from tootsie.curate.arxiv import Arxiv
from tootsie.curate.corpus_build import BuildSettings
from tootsie.datasets import beam_runner

from .conftest import page, write_zip


def test_what_is_watched_is_what_was_done(tmp_path: Path) -> None:
    dump = write_zip(
        tmp_path / "a.zip", {f"error/2404/2404.{n:05d}.html": page(f"Paper {n}") for n in range(9)}
    )
    job = corpus_build.make_job(Arxiv(), [str(dump)], str(tmp_path / "out"), BuildSettings())
    watcher = progress._Watcher(job)
    assert watcher.look() == {"tasks": 1, "split": 0, "shards": 0, "documents": 0, "bytes": 0}
    seen = []
    finish = corpus_build.finish
    try:
        corpus_build.finish = lambda job: seen.append(watcher.look()) or finish(job)  # type: ignore[assignment]
        manifest = corpus_build.build(job, beam_runner.pipeline_options([]))
    finally:
        corpus_build.finish = finish
    assert seen[0]["documents"] == 9
    assert seen[0]["bytes"] > 9 * 500
    # The state of the run is gone, what was counted is not.
    assert watcher.look() == seen[0]
    assert progress.accounting_rows(manifest) == [("read", 9), ("written", 9)]


def test_pace_counts_from_when_the_inputs_are_read_and_not_what_an_earlier_run_did() -> None:
    pace = progress._Pace(shards=10)

    def tell(split: int, shards: int, now: float) -> str:
        done = {"tasks": 2, "split": split, "shards": shards}
        return pace.tell({**done, "documents": 100 * shards, "bytes": 5_000_000 * shards}, now)

    assert tell(0, 2, 0) == "200 documents"
    assert tell(1, 2, 50) == "200 documents"
    assert tell(2, 2, 60) == "200 documents"
    assert tell(2, 4, 60) == "400 documents, 20.0 documents/s, 1.0 MB/s, 0:00:30 left"
    assert tell(2, 4, 7250) == "400 documents, 0.0 documents/s, 0.0 MB/s, 6:00:00 left"
