"""How fast jsonl.zst becomes a Llama 3 token cache, beside tiktoken and Hugging Face tokenizers alone, datatrove and dolma.

    make bench-tokenize                                     # installs the peers, each in an environment of its own
    python benchmarks/tokenization.py [--megabytes 512] [--peer-megabytes 64] [--rounds 3] [--documents PATH…]

(Not called tokenize.py: a script of that name would hide the standard library module from all scripts beside it.)

Every contestant is a process of its own on the same files; they take turns, and medians of the rounds are shown. The first rate
counts all from the command to its end, the second only what more input costs: the time for three documents is taken off, which
is imports, vocabulary, and with us the proof that the fast engine is equal. The slow ones get fewer of the files. The floor is
one process that decompresses, parses and encodes with the fast engine, and neither checks nor writes anything.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / ".build" / "tokenize-peers"
CORPORA = Path(os.environ.get("TOOTSIE_SHARED_DATA", HERE.parent.parent / "shared" / "data")) / "corpora"
FILES = 8
SUFFIXES = (".py", ".md", ".rst", ".txt", ".html", ".js", ".c", ".h")


@dataclass(frozen=True)
class Contestant:
    """One line of the table."""

    name: str
    command: list[str]
    workers: int
    large: bool
    """Whether it gets all files."""
    added: int
    """Ids that it adds to each document (BOS, EOS)."""
    alone: bool = False
    """Whether it times itself: nothing but encoding counts."""


def texts(patterns: list[str], size: int) -> tuple[list[str], int]:
    """Return texts of ``size`` bytes in random order, and how many bytes of them are there only once."""
    from tootsie.datasets import storage

    if not patterns and CORPORA.is_dir():
        patterns = [str(CORPORA / "*.jsonl")]
    found: dict[str, None] = {}
    total = 0
    for url in storage.expand(patterns):
        for line in storage.read_lines(url):
            if text := json.loads(line)["text"]:
                found[text] = None
    total = sum(len(text.encode()) for text in found)
    folders = [Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib")]
    for path in (path for folder in folders for path in sorted(folder.rglob("*"))):
        if total >= size:
            break
        if path.suffix in SUFFIXES and path.is_file() and 0 < path.stat().st_size < 2**20:
            text = path.read_bytes().decode("utf-8", "replace")
            if text not in found:
                found[text] = None
                total += len(text.encode())
    listed = list(found)
    random.Random(0).shuffle(listed)
    taken: list[str] = []
    filled = 0
    while filled < size:
        for text in listed:
            taken.append(text)
            filled += len(text.encode())
            if filled >= size:
                break
    return taken, min(total, size)


def write_files(folder: Path, listed: list[str], files: int = FILES) -> list[Path]:
    """Write the texts as Dolma's jsonl.zst; return the paths."""
    from tootsie.datasets import storage

    folder.mkdir()
    paths = []
    for number in range(files):
        path = folder / f"part-{number:02d}.jsonl.zst"
        with storage.atomic_zstd(str(path)) as stream:
            for row, text in enumerate(listed[number::files]):
                record = {"id": f"{number}-{row}", "text": text, "source": "benchmark", "added": "2026-01-01"}
                stream.write(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        paths.append(path)
    return paths


def floor(task: dict[str, Any]) -> dict[str, Any]:
    """Decompress, parse and encode, one batch after another."""
    from tootsie.tokenize.engines import Engine, choose_engine, load_with_engine
    from tootsie.tokenize.shard_build import BATCH_LENGTH, RecordReader
    from tootsie.tokenize.tokenizers import load_tokenizer

    choice = choose_engine(load_tokenizer("llama3"), Engine.GIGATOKEN, 0, [])
    tokenizer = load_with_engine("llama3", None, None, choice)
    wall, cpu = time.perf_counter(), time.process_time()
    tokens = 0
    batch: list[str] = []
    length = 0
    for path, documents in task["counts"]:
        for record in RecordReader().read(path, 0, documents):
            batch.append(record.text)
            length += len(record.text)
            if length >= BATCH_LENGTH:
                tokens += sum(map(len, tokenizer.encode_documents(batch)))
                batch, length = [], 0
    tokens += sum(map(len, tokenizer.encode_documents(batch)))
    return {"tokens": tokens, "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def measure(contestant: Contestant, task: dict[str, Any]) -> dict[str, Any]:
    """Run it once; return ``wall`` and ``cpu`` seconds and ``tokens``."""
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=task["scratch"]))
    task = {**task, "folder": str(folder), "workers": contestant.workers}
    command = [part for item in contestant.command for part in (task["files"] if item == "FILES" else [item])]
    command = [str(folder / "cache") if item == "OUT" else item for item in command]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "true" if contestant.alone else "false"}
    began = time.perf_counter()
    with open(folder / "output", "wb") as output, open(folder / "errors", "wb") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=errors, env=environment
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(task).encode())
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if process.returncode:
        raise RuntimeError(f"{contestant.name}: {(folder / 'errors').read_text()[-2000:]}")
    result = {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime}
    if (folder / "cache").exists():
        result["tokens"] = json.loads((folder / "cache" / "ledger.json").read_text())["tokens"]
    else:
        result |= json.loads((folder / "output").read_text().splitlines()[-1])
    shutil.rmtree(folder)
    return result


def contestants() -> list[Contestant]:
    """Return all that are installed."""
    build = [sys.executable, "-m", "tootsie.tokenize", "build", "FILES", "OUT", "--name", "benchmark"]
    build += ["--tokenizer", "llama3", "--shards", "8"]
    peers = str(HERE / "tokenization_peers.py")
    found = [
        Contestant("floor: read and encode", [sys.executable, __file__, "--floor"], 1, True, 2, alone=True),
        Contestant("tiktoken alone", [sys.executable, peers, "tiktoken"], 1, False, 0, alone=True),
    ]
    for workers in (1, 2):
        found.append(
            Contestant(
                "HF tokenizers alone", [sys.executable, peers, "huggingface"], workers, False, 0, alone=True
            )
        )
    for engine in ("gigatoken", "tiktoken"):
        for workers in (1, 2):
            command = [*build, "--engine", engine, "--workers", str(workers)]
            found.append(Contestant(f"Tootsie, {engine}", command, workers, engine == "gigatoken", 2))
    for name in ("datatrove", "dolma"):
        python = PEERS / name / "bin" / "python"
        if python.exists():
            for workers in (1, 2):
                found.append(Contestant(name, [str(python), peers, name], workers, False, 1))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", nargs="*", default=[])
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--peer-megabytes", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--floor", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.floor:
        print(json.dumps(floor(json.load(sys.stdin))))
        return
    from tootsie.tokenize.document_files import survey
    from tootsie.tokenize.encodings import LLAMA3_PATTERN
    from tootsie.tokenize.rank_merges import tokenizer_json
    from tootsie.tokenize.tokenizers import load_tokenizer

    scratch = Path(tempfile.mkdtemp(prefix="tootsie-benchmark-"))
    try:
        listed, once = texts(options.documents, options.megabytes * 10**6)
        few = listed[:: max(1, options.megabytes // options.peer_megabytes)]
        tokenizer: Any = load_tokenizer("llama3")
        description = json.loads(tokenizer_json(tokenizer.ranks, LLAMA3_PATTERN))
        special = {
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        description["added_tokens"] = [{"id": 128001, "content": "<|end_of_text|>", **special}]
        # As older versions of tokenizers write it: dolma's is of 2024.
        description["model"]["merges"] = [" ".join(pair) for pair in description["model"]["merges"]]
        (scratch / "tokenizer.json").write_text(json.dumps(description))
        import base64

        ranks = sorted(tokenizer.ranks.items(), key=lambda item: item[1])
        (scratch / "ranks").write_bytes(
            b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks)
        )
        inputs = {}
        for name, chosen in (("large", listed), ("small", few), ("start", listed[:3])):
            paths = write_files(scratch / name, chosen, FILES if name != "start" else 2)
            inputs[name] = {
                "scratch": str(scratch),
                "files": [str(path) for path in paths],
                "counts": [(str(path), survey(str(path)).documents) for path in paths],
                "tokenizer_json": str(scratch / "tokenizer.json"),
                "ranks": str(scratch / "ranks"),
                "pattern": LLAMA3_PATTERN,
            }
        sizes = {"large": sum(len(t.encode()) for t in listed), "small": sum(len(t.encode()) for t in few)}
        show(run(contestants(), inputs, options.rounds), sizes, once, len(listed))
    finally:
        shutil.rmtree(scratch)


def run(
    found: list[Contestant], inputs: dict[str, dict[str, Any]], rounds: int
) -> list[tuple[Contestant, dict[str, float]]]:
    """Let all take turns; return medians of what each needed."""
    runs: list[list[dict[str, float]]] = [[] for _ in found]
    tokens: dict[str, int] = {}
    for number in range(rounds):
        for contestant, results in zip(found, runs, strict=True):
            print(f"round {number + 1}: {contestant.name} {contestant.workers}", file=sys.stderr, flush=True)
            size = "large" if contestant.large else "small"
            result = measure(contestant, inputs[size])
            plain = result["tokens"] - contestant.added * sum(count for _, count in inputs[size]["counts"])
            # dolma's are a few less: it takes the white space around a document away.
            if abs(tokens.setdefault(size, plain) - plain) > plain // 1000:
                raise SystemExit(f"{contestant.name} made {plain:,} tokens, the others {tokens[size]:,}")
            start = {"wall": 0.0, "cpu": 0.0} if contestant.alone else measure(contestant, inputs["start"])
            results.append({**result, "start": start["wall"], "start_cpu": start["cpu"]})
            print(f"  {results[-1]}", file=sys.stderr, flush=True)
    medians = [{key: statistics.median(r[key] for r in results) for key in results[0]} for results in runs]
    return list(zip(found, medians, strict=True))


def show(
    rows: list[tuple[Contestant, dict[str, float]]], sizes: dict[str, int], once: int, documents: int
) -> None:
    """Print the table and the ratios."""
    print(
        f"{sizes['large'] / 1e6:.0f} MB of text in {documents:,} documents ({once / 1e6:.0f} MB of it distinct), the slow ones "
        f"{sizes['small'] / 1e6:.0f} MB; Llama 3; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"{'':28}{'workers':>8}{'s':>8}{'start s':>9}{'MB/s':>8}{'MB/s after start':>18}{'MB per CPU s':>14}"
    )
    rate: dict[tuple[str, int], tuple[float, float]] = {}
    for contestant, found in rows:
        size = sizes["large" if contestant.large else "small"] / 1e6
        after, cpu = size / (found["wall"] - found["start"]), size / (found["cpu"] - found["start_cpu"])
        rate[contestant.name, contestant.workers] = after, cpu
        print(
            f"{contestant.name:28}{contestant.workers:8}{found['wall']:8.1f}{found['start']:9.1f}{size / found['wall']:8.1f}"
            f"{after:18.1f}{cpu:14.1f}"
        )
    ours = rate["Tootsie, gigatoken", 1]
    print(
        f"\none worker ÷ tiktoken alone: {ours[0] / rate['tiktoken alone', 1][0]:.1f} by the clock, "
        f"{ours[1] / rate['tiktoken alone', 1][1]:.1f} by processor time"
    )
    print(f"second core: × {rate['Tootsie, gigatoken', 2][0] / ours[0]:.2f} by the clock")
    for name in ("datatrove", "dolma"):
        for workers in (1, 2):
            if (name, workers) in rate:
                mine, other = rate["Tootsie, gigatoken", workers], rate[name, workers]
                print(
                    f"÷ {name}, {workers} workers: {mine[0] / other[0]:.1f} by the clock, "
                    f"{mine[1] / other[1]:.1f} by processor time"
                )


if __name__ == "__main__":
    main()
