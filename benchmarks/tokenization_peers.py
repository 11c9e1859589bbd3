"""What ``benchmarks/tokenization.py`` sets beside our build. Each runs in a process of its own, with the Python that has it.

    python benchmarks/tokenization_peers.py NAME < task.json      # prints one JSON object

The task: ``files`` (jsonl.zst), ``tokenizer_json``, ``folder`` (to write into), ``workers``; ``ranks`` and ``pattern`` for
tiktoken.
The object: ``tokens``, and where only encoding counts ``wall`` and ``cpu`` (seconds); the others are timed from outside.
This file imports nothing of the package: peers need other versions of what it depends on.
"""

from __future__ import annotations

import base64
import glob
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

EOS = "<|end_of_text|>"


def texts(task: dict[str, Any]) -> Iterator[str]:
    import zstandard

    for path in task["files"]:
        with open(path, "rb") as stored, zstandard.ZstdDecompressor().stream_reader(stored) as stream:
            rest = b""
            while chunk := stream.read(2**20):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)["text"]


def tiktoken_alone(task: dict[str, Any]) -> dict[str, Any]:
    """One thread that only encodes."""
    import tiktoken

    lines = Path(task["ranks"]).read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    encoding = tiktoken.Encoding("t", pat_str=task["pattern"], mergeable_ranks=ranks, special_tokens={})
    return alone([[text] for text in texts(task)], lambda batch: [len(encoding.encode_ordinary(batch[0]))])


def huggingface_alone(task: dict[str, Any]) -> dict[str, Any]:
    """``encode_batch_fast``, on as many threads as workers."""
    import tokenizers

    os.environ["RAYON_NUM_THREADS"] = str(task["workers"])
    tokenizer = tokenizers.Tokenizer.from_file(task["tokenizer_json"])
    listed = list(texts(task))
    batches = [listed[start : start + 256] for start in range(0, len(listed), 256)]
    return alone(batches, lambda batch: [len(found.ids) for found in tokenizer.encode_batch_fast(batch)])


def alone(batches: list[list[str]], encode: Callable[[list[str]], list[int]]) -> dict[str, Any]:
    """Time nothing but encoding: the texts are in memory."""
    wall, cpu = time.perf_counter(), time.process_time()
    counts = [encode(batch) for batch in batches]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"tokens": sum(map(sum, counts)), "wall": wall, "cpu": cpu}


def datatrove(task: dict[str, Any]) -> dict[str, Any]:
    """JsonlReader and DocumentTokenizer, one task a worker, documents in the order of the input."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer

    folder = Path(task["folder"])
    steps = [
        JsonlReader(str(Path(task["files"][0]).parent), glob_pattern="*.jsonl.zst", compression="zstd"),
        DocumentTokenizer(
            str(folder / "out"),
            tokenizer_name_or_path=task["tokenizer_json"],
            eos_token=EOS,
            shuffle_documents=False,
        ),
    ]
    executor = LocalPipelineExecutor(
        steps, tasks=task["workers"], workers=task["workers"], logging_dir=str(folder / "logs")
    )
    executor.run()
    sizes = [os.path.getsize(path) for path in glob.glob(str(folder / "out" / "*.ds"))]
    return {"tokens": sum(sizes) // 4}


def dolma(task: dict[str, Any]) -> dict[str, Any]:
    """``dolma tokens``."""
    out = Path(task["folder"]) / "out"
    command = [
        *(sys.executable, "-m", "dolma.cli.__main__", "tokens"),
        *("--documents", *task["files"]),
        *("--destination", str(out), "--tokenizer.name_or_path", task["tokenizer_json"]),
        *("--tokenizer.eos_token_id", "128001", "--dtype", "uint32", "--processes", str(task["workers"])),
    ]
    subprocess.run(command, check=True, stdout=sys.stderr)
    sizes = [os.path.getsize(path) for path in glob.glob(str(out / "**" / "*.npy"), recursive=True)]
    return {"tokens": sum(sizes) // 4}


PEERS = {
    "tiktoken": tiktoken_alone,
    "huggingface": huggingface_alone,
    "datatrove": datatrove,
    "dolma": dolma,
}


def main() -> None:
    task = json.load(sys.stdin)
    print(json.dumps(PEERS[sys.argv[1]](task)))


if __name__ == "__main__":
    main()
