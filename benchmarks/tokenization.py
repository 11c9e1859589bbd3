"""How fast documents become a token cache, beside tiktoken alone on the same texts in the same process.

    python benchmarks/tokenization.py [--documents PATH.jsonl…] [--tokenizer llama3] [--megabytes 50] [--workers 2]

(Not called tokenize.py: a script of that name would hide the standard library module from all scripts beside it.)

Without ``--documents`` the texts are Python's standard library source. Prints MB of UTF-8 text per second of wall and of
processor time. The build reads jsonl.zst, checks it, splits, encodes, writes Arrow and hashes; tiktoken alone only encodes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tootsie.datasets import beam_runner, storage
from tootsie.tokenize.build import BuildSettings, build_caches, plan_jobs
from tootsie.tokenize.shard_build import build_shard
from tootsie.tokenize.tokenizers import load_tokenizer


def texts(patterns: list[str], size: int) -> list[str]:
    """Return at least ``size`` bytes of text; what there is, repeated."""
    if patterns:
        found = [
            json.loads(line)["text"] for url in storage.expand(patterns) for line in storage.read_lines(url)
        ]
    else:
        paths = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
        found = [path.read_text(errors="replace") for path in paths]
    taken: list[str] = []
    total = 0
    while total < size:
        for text in found:
            taken.append(text)
            total += len(text.encode())
            if total >= size:
                break
    return taken


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Return wall and processor seconds (children included) of ``action()``."""

    def processor() -> float:
        return sum(
            usage.ru_utime + usage.ru_stime
            for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        )

    wall, cpu = time.perf_counter(), processor()
    action()
    return time.perf_counter() - wall, processor() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", nargs="*", default=[])
    parser.add_argument("--tokenizer", default="llama3")
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    sample = texts(options.documents, int(options.megabytes * 1e6))
    size = sum(len(text.encode()) for text in sample)
    tokenizer = load_tokenizer(options.tokenizer)
    folder = Path(tempfile.mkdtemp(prefix="tootsie-benchmark-"))
    try:
        url = str(folder / "documents.jsonl.zst")
        with storage.atomic_zstd(url) as stream:
            for number, text in enumerate(sample):
                stream.write(json.dumps({"id": str(number), "text": text}).encode() + b"\n")
        encoding = getattr(tokenizer, "_encoding", None)
        alone = encoding.encode_ordinary if encoding is not None else tokenizer.encode

        def tiktoken_alone() -> None:
            for text in sample:
                alone(text)

        settings = BuildSettings(tokenizer=options.tokenizer, name="benchmark", shards=8)

        def shards_only() -> None:
            (job,) = plan_jobs([url], str(folder / "shards-only"), settings)
            for task in job.tasks:
                build_shard(task)

        def build(workers: int) -> Callable[[], object]:
            arguments = beam_runner.pipeline_options([], workers=workers)
            return lambda: build_caches([url], str(folder / f"cache-{workers}"), settings, arguments)

        build_caches([url], str(folder / "warm-up"), BuildSettings(tokenizer=options.tokenizer, limit=2))
        rows = [
            (f"{tokenizer.engine} alone, one thread", timed(tiktoken_alone)),
            ("build without Beam, one process", timed(shards_only)),
            ("build, one process", timed(build(1))),
        ]
        if options.workers > 1:
            rows.append((f"build, {options.workers} workers", timed(build(options.workers))))
        base_wall, base_cpu = rows[0][1]
        print(
            f"{size / 1e6:.1f} MB of text in {len(sample):,} documents, {options.tokenizer}, {os.cpu_count()} cores"
        )
        print(f"{'':36}{'MB/s':>8}{'× alone':>9}{'MB per CPU s':>14}{'× alone':>9}")
        for name, (wall, cpu) in rows:
            print(
                f"{name:36}{size / 1e6 / wall:8.1f}{base_wall / wall:9.2f}{size / 1e6 / cpu:14.1f}{base_cpu / cpu:9.2f}"
            )
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
