"""How much memory a build takes: one worker, on books of 50 MB and on ten million tiny documents.

    python benchmarks/tokenization_memory.py [--books 4] [--tiny 10000000] [--tokenizer llama3] [--engine auto]

Prints the largest resident set of the process that encodes, beside that of the same build on three documents.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

BOOK_BYTES = 50_000_000


def books(count: int) -> Iterator[bytes]:
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randrange(1, 10))) for _ in range(20_000)]
    for number in range(count):
        text = " ".join(rng.choices(words, k=BOOK_BYTES // 6))
        yield json.dumps({"id": f"book-{number}", "text": text}).encode()


def tiny(count: int) -> Iterator[bytes]:
    for number in range(count):
        yield b'{"id": "%d", "text": "Document %d is short."}' % (number, number)


def measure(name: str, lines: Iterator[bytes], folder: Path, options: argparse.Namespace) -> None:
    """Write the documents, build the cache, print the figures, remove both."""
    from tootsie.datasets import storage

    path, out = folder / f"{name}.jsonl.zst", folder / name
    count = 0
    with storage.atomic_zstd(str(path)) as stream:
        for line in lines:
            stream.write(line + b"\n")
            count += 1
    command = [sys.executable, "-m", "tootsie.tokenize", "build", str(path), str(out)]
    command += ["--tokenizer", options.tokenizer, "--engine", options.engine, "--name", name]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{name}: the build failed")
    ledger = json.loads((out / "ledger.json").read_text())
    sizes = [shard["size"] for shard in ledger["shards"]]
    print(
        f"{name:10}{count:12,} documents {ledger['bytes'] / 1e6:9.1f} MB of text: {usage.ru_maxrss / 1024:7.0f} MiB, "
        f"{time.perf_counter() - began:.0f} s, {usage.ru_utime + usage.ru_stime:.0f} CPU s; {len(sizes)} shards of "
        f"{min(sizes) / 1e6:.1f} to {max(sizes) / 1e6:.1f} MB ({ledger['engine']['name']})",
        flush=True,
    )
    shutil.rmtree(out)
    path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--books", type=int, default=4)
    parser.add_argument("--tiny", type=int, default=10_000_000)
    parser.add_argument("--tokenizer", default="llama3")
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tootsie-benchmark-") as scratch:
        folder = Path(scratch)
        measure("three", tiny(3), folder, options)
        measure("books", books(options.books), folder, options)
        measure("tiny", tiny(options.tiny), folder, options)


if __name__ == "__main__":
    main()
