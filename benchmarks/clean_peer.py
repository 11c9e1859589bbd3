"""datatrove's side of ``benchmarks/clean.py``, run by the Python of its environment: CRAWL OUTPUT WORKERS TASKS."""

from __future__ import annotations

import sys

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.extractors import Trafilatura
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)
from datatrove.pipeline.readers import WarcReader
from datatrove.pipeline.writers import JsonlWriter


def main(crawl: str, output: str, workers: int, tasks: int) -> None:
    """Run the pipeline of FineWeb without what needs a network: its URL lists' suffixes and its identifier of languages."""

    def rejects(name: str) -> JsonlWriter:
        return JsonlWriter(f"{output}/rejects/{name}")

    pipeline = [
        WarcReader(crawl, glob_pattern="*.warc.gz"),
        Trafilatura(favour_precision=True, timeout=60, deduplicate=False),
        GopherRepetitionFilter(exclusion_writer=rejects("gopher_repetition")),
        GopherQualityFilter(exclusion_writer=rejects("gopher_quality")),
        C4QualityFilter(exclusion_writer=rejects("c4_quality")),
        FineWebQualityFilter(exclusion_writer=rejects("fineweb_quality")),
        JsonlWriter(f"{output}/good"),
    ]
    LocalPipelineExecutor(pipeline, tasks=tasks, workers=workers, logging_dir=f"{output}/logs").run()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
