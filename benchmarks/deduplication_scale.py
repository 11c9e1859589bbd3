"""What a deduplication costs as the corpus grows: CPU seconds, memory of the driver and of the workers, bytes shuffled.

    python benchmarks/deduplication_scale.py [--documents 10000,20000,40000,80000] [--bucket-pairs 0] [--workers 2]

The corpus is that of ``planted_corpus.py``: invented text, a fifth of it copies, a third of it look-alikes, 3.5 KB each. With
``--bucket-pairs`` the decision is made in shuffles of buckets of so many pairs, as that of a corpus of many millions of pairs
is; else as the size asks for. Memory is the largest resident set of the process that was started (the driver) and of each one
below it (the workers), read from ``/proc`` five times a second. A million documents cost the slope from the size before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deduplication import cpu, write
from planted_corpus import planted_corpus

DOCUMENTS_OF_SIZE = 38
"""Documents of a planted corpus of size 1, about."""
RUN = """
import sys
from tootsie.datasets import beam_logging
beam_logging.hush_imports()
from tootsie.curate.deduplication import pipeline
if int(sys.argv[1]):
    pipeline.BUCKET_PAIRS, pipeline.ALONE_BUCKETS = int(sys.argv[1]), 0
del sys.argv[1]
from tootsie.curate.command import app
from tootsie.datasets.command_line import run_stage
run_stage(app, "tootsie curate")
"""


def below(process: int) -> Iterator[int]:
    """Yield the processes that a process has started, and those that these have."""
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from below(child)


def peak(process: int) -> int:
    """Return the largest resident set that a process had so far, in MiB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    return 0


class Watch(threading.Thread):
    """Reads the memory of a process and of those below it until told to stop."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._process = process
        self.ended = threading.Event()
        self.driver = self.worker = 0

    def run(self) -> None:
        while not self.ended.wait(0.2):
            try:
                self.driver = max(self.driver, peak(self._process))
                self.worker = max([self.worker, *map(peak, below(self._process))])
            except OSError:  # one has ended meanwhile
                continue


@dataclass(frozen=True)
class Cost:
    """What one size took."""

    documents: int
    cpu: float


def measure(documents: int, place: Path, options: argparse.Namespace) -> Cost:
    corpus = planted_corpus(max(1, round(documents / DOCUMENTS_OF_SIZE)))
    count = len(corpus)
    write(place / "in", corpus)
    del corpus
    command = [
        sys.executable,
        "-c",
        RUN,
        str(options.bucket_pairs),
        "dedup",
        f"{place}/in/*.jsonl",
        f"{place}/out",
    ]
    before = cpu()
    process = subprocess.Popen(
        [*command, f"--workers={options.workers}", "--max-removed=1"], stdout=subprocess.DEVNULL
    )
    watch = Watch(process.pid)
    watch.start()
    code = process.wait()
    watch.ended.set()
    watch.join()
    if code:
        raise SystemExit(f"the run ended with {code}")
    used = cpu() - before
    report = json.loads((place / "out" / "deduplication.json").read_text())
    decision = report["decision"]
    shuffled = sum(decision["shuffled_bytes"].values())
    print(
        f"{count:,}\t{report['pairs']['exact'] + report['pairs']['proposed']:,}\t{used:.1f}\t{watch.driver}\t{watch.worker}\t"
        f"{shuffled / count:,.0f}\t{decision['buckets']} ({decision['by']})\t{max(decision['rounds'].values())}",
        flush=True,
    )
    return Cost(count, used)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", default="10000,20000,40000,80000")
    parser.add_argument("--bucket-pairs", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder")
    options = parser.parse_args()
    print(f"{options.workers} workers, {os.cpu_count()} cores")
    print(
        "documents\tpairs\tCPU s\tdriver MiB\tworker MiB\tshuffled bytes/document\tbuckets of pairs\trounds"
    )
    last: Cost | None = None
    for documents in map(int, options.documents.split(",")):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            cost = measure(documents, Path(folder), options)
        if last is not None:
            slope = (cost.cpu - last.cpu) / (cost.documents - last.documents) * 1e6
            print(f"a million more documents, by the last two sizes: {slope:,.0f} CPU s", flush=True)
        last = cost


if __name__ == "__main__":
    main()
