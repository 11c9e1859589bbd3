"""How fast jsonl.zst becomes a Llama 3 token cache, beside tiktoken and Hugging Face tokenizers alone, datatrove and dolma.

    make bench-tokenize                                     # installs the peers, each in an environment of its own
    python benchmarks/tokenization.py [--megabytes 512] [--peer-megabytes 64] [--rounds 3] [--documents PATH…] [--own]

(Not called tokenize.py: a script of that name would hide the standard library module from all scripts beside it.)

Every contestant is a process of its own; they take turns. Each reads two inputs, all of it and a fourth; its rate is what the
rest has in bytes by what the rest took longer, so that imports, vocabulary and, with us, the proof that the fast engine is
equal, count nothing, and no estimate of them is taken off. A rate is the median of those of the rounds, and so is a ratio. The
slow ones get fewer of the files. What encodes texts in memory times itself. The floor is one process that decompresses, parses
and encodes with the fast engine, and neither checks nor writes anything. *Two builds at once* are two commands of one worker,
each on half of the input: what the machine gives for a second core.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
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
PART = 4
"""The smaller input has every so many-th text."""
PR_SET_CHILD_SUBREAPER = 36
TWO_BUILDS = "two builds at once, gigatoken"
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
    copies: int = 1
    """Processes that run at once, each on its part of the files."""


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
    began = time.perf_counter()
    running = [start(contestant, task, copy) for copy in range(contestant.copies)]
    left = {process.pid for process, _ in running}
    failed, cpu, wall = False, 0.0, 0.0
    with contextlib.suppress(ChildProcessError):  # None is left.
        while True:
            pid, status, usage = os.wait4(-1, 0)
            cpu += usage.ru_utime + usage.ru_stime
            if pid in left:
                left.remove(pid)
                failed |= status != 0
                wall = time.perf_counter() - began
    for process, _ in running:
        process.returncode = 0
    results = [result_of(contestant, folder, failed) for _, folder in running]
    tokens = sum(result["tokens"] for result in results)
    return {"cpu": cpu, "wall": wall, **(results[0] if contestant.alone else {}), "tokens": tokens}


def adopt_orphans() -> None:
    """Become the parent of workers whose own parent ends first, so that their processor time is counted, too."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def start(contestant: Contestant, task: dict[str, Any], copy: int) -> tuple[subprocess.Popen[bytes], Path]:
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=task["scratch"]))
    files = task["files"][copy :: contestant.copies]
    task = {**task, "folder": str(folder), "workers": contestant.workers}
    command = [part for item in contestant.command for part in (files if item == "FILES" else [item])]
    command = [str(folder / "cache") if item == "OUT" else item for item in command]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "true" if contestant.alone else "false"}
    with open(folder / "output", "wb") as output, open(folder / "errors", "wb") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=errors, env=environment
        )
    assert process.stdin is not None
    process.stdin.write(json.dumps(task).encode())
    process.stdin.close()
    return process, folder


def result_of(contestant: Contestant, folder: Path, failed: bool) -> dict[str, Any]:
    if failed:
        raise RuntimeError(f"{contestant.name}: {(folder / 'errors').read_text()[-2000:]}")
    if (folder / "cache").exists():
        result = {"tokens": json.loads((folder / "cache" / "ledger.json").read_text())["tokens"]}
    else:
        result = json.loads((folder / "output").read_text().splitlines()[-1])
    shutil.rmtree(folder)
    return result


def contestants(own: bool) -> list[Contestant]:
    """Return all that are installed, or ours and the floor alone."""
    build = [sys.executable, "-m", "tootsie.tokenize", "build", "FILES", "OUT", "--name", "benchmark"]
    build += ["--tokenizer", "llama3"]
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
            command = [*build, "--shards", "8", "--engine", engine, "--workers", str(workers)]
            found.append(Contestant(f"Tootsie, {engine}", command, workers, engine == "gigatoken", 2))
    command = [*build, "--shards", "4", "--engine", "gigatoken", "--workers", "1"]
    found.append(Contestant(TWO_BUILDS, command, 1, True, 2, copies=2))
    if own:
        return [contestant for contestant in found if contestant.large]
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
    parser.add_argument("--own", action="store_true", help="leave the others out")
    parser.add_argument("--floor", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.floor:
        print(json.dumps(floor(json.load(sys.stdin))))
        return
    adopt_orphans()
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
        for name, chosen in (("large", listed), ("small", few)):
            for size, part in ((name, chosen), (f"{name} part", chosen[::PART])):
                paths = write_files(scratch / size, part)
                inputs[size] = {
                    "scratch": str(scratch),
                    "files": [str(path) for path in paths],
                    "counts": [(str(path), survey(str(path)).documents) for path in paths],
                    "bytes": sum(len(text.encode()) for text in part),
                    "tokenizer_json": str(scratch / "tokenizer.json"),
                    "ranks": str(scratch / "ranks"),
                    "pattern": LLAMA3_PATTERN,
                }
        show(run(contestants(options.own), inputs, options.rounds), inputs, once, len(listed))
    finally:
        shutil.rmtree(scratch)


@dataclass(frozen=True)
class Round:
    """What one contestant did in a round."""

    wall: float
    """Seconds for all of its input."""
    rate: float
    """MB a second by the clock, start left out."""
    cpu_rate: float
    """MB a second of processor time."""


def run(
    found: list[Contestant], inputs: dict[str, dict[str, Any]], rounds: int
) -> list[tuple[Contestant, list[Round]]]:
    """Let all take turns; return what each did in each round."""
    runs: list[list[Round]] = [[] for _ in found]
    tokens: dict[str, int] = {}
    for number in range(rounds):
        for contestant, results in zip(found, runs, strict=True):
            print(f"round {number + 1}: {contestant.name} {contestant.workers}", file=sys.stderr, flush=True)
            size = "large" if contestant.large else "small"
            whole, part = (timed(contestant, inputs[name], name, tokens) for name in (size, f"{size} part"))
            more = (inputs[size]["bytes"] - inputs[f"{size} part"]["bytes"]) / 1e6
            if contestant.alone:  # no start in it
                part, more = dict.fromkeys(part, 0.0), inputs[size]["bytes"] / 1e6
            results.append(
                Round(
                    whole["wall"], more / (whole["wall"] - part["wall"]), more / (whole["cpu"] - part["cpu"])
                )
            )
            print(f"  {whole} {part} {results[-1]}", file=sys.stderr, flush=True)
    return list(zip(found, runs, strict=True))


def timed(
    contestant: Contestant, task: dict[str, Any], size: str, tokens: dict[str, int]
) -> dict[str, float]:
    """Run it on one input, and compare the number of tokens with that of the others."""
    result = measure(contestant, task)
    plain = result["tokens"] - contestant.added * sum(count for _, count in task["counts"])
    # dolma's are a few less: it takes the white space around a document away.
    if abs(tokens.setdefault(size, plain) - plain) > plain // 1000:
        raise SystemExit(f"{contestant.name} made {plain:,} tokens, the others {tokens[size]:,}")
    return result


def show(
    rows: list[tuple[Contestant, list[Round]]], inputs: dict[str, dict[str, Any]], once: int, documents: int
) -> None:
    """Print the table and the ratios."""
    sizes = {name: inputs[name]["bytes"] / 1e6 for name in ("large", "small")}
    print(
        f"{sizes['large']:.0f} MB of text in {documents:,} documents ({once / 1e6:.0f} MB of it distinct), the slow ones "
        f"{sizes['small']:.0f} MB; Llama 3; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; start left out"
    )
    print(f"{'':32}{'workers':>8}{'s in all':>10}{'MB/s (spread)':>26}{'MB per CPU s (spread)':>26}")
    found = {(contestant.name, contestant.workers): rounds for contestant, rounds in rows}
    for (name, workers), rounds in found.items():
        print(
            f"{name:32}{workers:8}{statistics.median(one.wall for one in rounds):10.1f}"
            f"{spread([one.rate for one in rounds]):>26}{spread([one.cpu_rate for one in rounds]):>26}"
        )
    ours = "Tootsie, gigatoken"
    print()
    for text, one, other in (
        ("one worker ÷ the floor", (ours, 1), ("floor: read and encode", 1)),
        ("one worker ÷ tiktoken alone", (ours, 1), ("tiktoken alone", 1)),
        ("two workers ÷ one", (ours, 2), (ours, 1)),
        ("two builds at once ÷ one", (TWO_BUILDS, 1), (ours, 1)),
        ("one worker ÷ datatrove, one", (ours, 1), ("datatrove", 1)),
        ("two workers ÷ datatrove, two", (ours, 2), ("datatrove", 2)),
        ("one worker ÷ dolma, one", (ours, 1), ("dolma", 1)),
        ("two workers ÷ dolma, two", (ours, 2), ("dolma", 2)),
    ):
        if one in found and other in found:
            pairs = list(zip(found[one], found[other], strict=True))
            print(
                f"{text}: {spread([mine.rate / theirs.rate for mine, theirs in pairs], 2)} by the clock, "
                f"{spread([mine.cpu_rate / theirs.cpu_rate for mine, theirs in pairs], 2)} by processor time"
            )


def spread(numbers: list[float], digits: int = 1) -> str:
    """Return the median, and the smallest and largest of several."""
    middle, low, high = (
        f"{number:.{digits}f}" for number in (statistics.median(numbers), min(numbers), max(numbers))
    )
    return f"{middle} ({low} to {high})"


if __name__ == "__main__":
    main()
