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
    assert watcher.look() == {"split": 0, "shards": 0, "documents": 0, "bytes": 0}
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
