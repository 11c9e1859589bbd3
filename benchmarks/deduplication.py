"""Deduplication on planted duplicates and look-alikes: precision, recall, time and its growth, beside datatrove's MinHash.

    python benchmarks/deduplication.py [--sizes 50,100,200] [--workers 1] [--folder /var/tmp]

Floor: precision 0.99 at recall 0.95. The corpus is that of ``planted_corpus.py``: invented text, a fifth of it copies, a third of
it look-alikes. In one run: ``tootsie curate dedup``; what its hashes alone would have removed; and datatrove's four MinHash
steps with as many bands and rows, on its local executor, one worker, words split at spaces (cheaper than its tokenizers).
Precision: of the documents removed, those of which a document with the same content is left. CPU seconds are those of all
processes; the cost of a million documents is the slope between the smallest and the largest size.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from planted_corpus import Planted, Score, planted_corpus, score_kept

from tootsie.datasets.storage import read_lines

BANDS, ROWS = 20, 5
FILES = 8


def write(folder: Path, corpus: list[Planted]) -> int:
    """Write the corpus as JSON lines; return its bytes of text."""
    folder.mkdir()
    for number in range(FILES):
        rows = (json.dumps(one.record()) + "\n" for one in corpus[number::FILES])
        (folder / f"{number}.jsonl").write_text("".join(rows))
    return sum(len(one.text.encode()) for one in corpus)


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(run: Callable[[], None]) -> tuple[float, float]:
    """Return wall and CPU seconds of something that works in child processes."""
    start, before = time.perf_counter(), cpu()
    run()
    return time.perf_counter() - start, cpu() - before


def tootsie(source: Path, output: Path, workers: int) -> None:
    command = [sys.executable, "-m", "tootsie.curate", "dedup", f"{source}/*.jsonl", str(output)]
    subprocess.run(
        [*command, f"--workers={workers}", "--max-removed=1"], check=True, stdout=subprocess.DEVNULL
    )


def datatrove(source: Path, output: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_datatrove, args=(str(source), str(output)))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"datatrove ended with {process.exitcode}")


class _Spaces:
    def word_tokenize(self, text: str) -> list[str]:
        return text.split()


def _datatrove(source: str, output: str) -> None:
    import xxhash
    from datatrove.data import Document
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import minhash

    def read(data: Any, rank: int, world_size: int) -> Iterator[Document]:
        for path in sorted(Path(source).glob("*.jsonl")):
            for line in read_lines(str(path)):
                row = json.loads(line)
                yield Document(text=row["text"], id=row["id"], metadata=row["metadata"])

    def collect(data: Any, rank: int, world_size: int) -> Iterator[Document]:
        with (Path(output) / "kept.jsonl").open("w") as stream:
            for document in data:
                stream.write(json.dumps({"id": document.id, "text": document.text}) + "\n")
                yield document

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # it logs each step
    minhash.load_word_tokenizer = lambda language: _Spaces()
    # Its own passes text to xxhash, which newer versions of that refuse.
    minhash.create_hash_func = lambda config: lambda text: xxhash.xxh64_intdigest(text.encode())
    config = minhash.MinhashConfig(n_grams=5, num_buckets=BANDS, hashes_per_bucket=ROWS)
    places = {name: f"{output}/{name}" for name in ("signatures", "buckets", "clusters")}
    steps: list[tuple[int, list[Any]]] = [
        (1, [read, minhash.MinhashDedupSignature(places["signatures"], config=config)]),
        (BANDS, [minhash.MinhashDedupBuckets(places["signatures"], places["buckets"], config=config)]),
        (1, [minhash.MinhashDedupCluster(places["buckets"], places["clusters"], config=config)]),
        (1, [read, minhash.MinhashDedupFilter(places["clusters"]), collect]),
    ]
    for number, (tasks, pipeline) in enumerate(steps):
        LocalPipelineExecutor(pipeline, tasks=tasks, workers=1, logging_dir=f"{output}/logs{number}").run()


def signatures(documents: int = 200, shingles: int = 800) -> None:
    """Print what signatures of the same shingles cost, made by rensa and as datatrove makes them in NumPy."""
    import rensa
    from datatrove.pipeline.dedup import minhash

    minhash.load_word_tokenizer = lambda language: _Spaces()
    config = minhash.MinhashConfig(num_buckets=BANDS, hashes_per_bucket=ROWS)
    theirs = minhash.MinhashDedupSignature("memory://signatures", config=config)
    hashes = np.random.default_rng(0).integers(0, 2**63, (documents, shingles), np.uint64)
    offsets = np.arange(documents + 1, dtype=np.uint64) * np.uint64(shingles)
    start = time.process_time()
    rensa.RMinHash.digest_matrix_from_flat_token_hashes(hashes.ravel(), offsets, BANDS * ROWS, 0).to_rows()
    ours = time.process_time() - start
    start = time.process_time()
    for row in hashes:
        theirs.get_signature(row.reshape(-1, 1))
    used = time.process_time() - start
    print(
        f"signatures of {documents} documents of {shingles} shingles, CPU s: rensa {ours:.4f}, datatrove {used:.4f} "
        f"({used / ours:.0f} ×)"
    )


def names(paths: Iterable[Path]) -> list[str]:
    return [json.loads(line)["id"] for path in sorted(paths) for line in read_lines(str(path))]


def show(name: str, score: Score, wall: float | None, used: float | None, documents: int) -> None:
    times = "" if wall is None or used is None else f"{wall:8.1f} {used:8.1f} {documents / used:12,.0f}"
    print(f"  {name:28} {score.removed:8,} {score.precision:10.4f} {score.recall:8.4f} {times}", flush=True)


@dataclass(frozen=True)
class Cost:
    """What one size took."""

    documents: int
    text: int
    """Bytes."""
    cpu: float
    """Seconds."""


def run(size: int, place: Path, workers: int) -> tuple[Cost, Score]:
    """Run all on a corpus of one size and print what came of it."""
    corpus = planted_corpus(size)
    text = write(place / "in", corpus)
    print(f"{len(corpus):,} documents, {text / 1e6:.1f} MB of text, {FILES} files")
    print(
        f"  {'':28} {'removed':>8} {'precision':>10} {'recall':>8} {'s':>8} {'CPU s':>8} {'documents/CPU s':>16}"
    )
    wall, used = measured(lambda: tootsie(place / "in", place / "ours", workers))
    ours = score_kept(corpus, names((place / "ours").glob("part-*")))
    show("tootsie, verified", ours, wall, used, len(corpus))
    rows = [json.loads(line) for line in read_lines(str(place / "ours" / "evidence" / "groups.jsonl.zst"))]
    gone = {row["id"] for row in rows if row["id"] != row["proposed_group"].split("/", 1)[1]}
    show("its hashes alone", score_kept(corpus, {one.id for one in corpus} - gone), None, None, 0)
    wall, peer = measured(lambda: datatrove(place / "in", place / "theirs"))
    theirs = score_kept(corpus, names([place / "theirs" / "kept.jsonl"]))
    show("datatrove MinHash", theirs, wall, peer, len(corpus))
    print(
        f"  CPU, datatrove / tootsie: {peer / used:.2f}; documents in a proposed pair: {len(rows) / len(corpus):.0%}",
        flush=True,
    )
    return Cost(len(corpus), text, used), ours


def slope(one: Cost, other: Cost) -> float:
    """Return CPU seconds of a million documents, without what a run takes to start."""
    return (other.cpu - one.cpu) / (other.documents - one.documents) * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="50,100,200")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    costs: list[Cost] = []
    failed = False
    for size in sorted({int(size) for size in arguments.sizes.split(",")}):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            cost, score = run(size, Path(folder), arguments.workers)
        costs.append(cost)
        failed |= score.precision < 0.99 or score.recall < 0.95
    if len(costs) > 1:
        one, other = costs[0], costs[-1]
        print(
            f"a million documents of {other.text / other.documents / 1e3:.1f} KB: {slope(one, other):,.0f} CPU s "
            f"(slope from {one.documents:,} to {other.documents:,})"
        )
        steps = ", ".join(f"{slope(*pair):,.0f}" for pair in itertools.pairwise(costs))
        print(f"growth: CPU s a million documents from one size to the next: {steps}")
    signatures()
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
