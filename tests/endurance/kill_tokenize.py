"""Kill the tokenizing of a corpus at random moments, start it again each time, and compare the cache it ends with.

    python tests/endurance/kill_tokenize.py --kills 50            # make kill-tokenize
    python tests/endurance/kill_tokenize.py --kills 3 --documents 600     # what the test suite runs

One undisturbed build on one worker gives the reference. Others, with 1, 2 and 8 workers in turn, are ended by SIGKILL (the whole
process group, so workers too) and started again each time with another number of workers; the last start is left alone. A kill in
four comes at a random time after the start, the others at a random time after the build has begun to write. The cache must then have the reference's bytes, ledger included. When it is finished
before all kills are done, another one is begun. While no ledger is there, the folder must not open as a cache.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORKERS = (1, 2, 8)


def write_corpus(folder: Path, documents: int) -> list[str]:
    """Write three files of documents of very different lengths, in three formats; return their paths."""
    from tootsie.datasets import storage

    rng = random.Random(0)
    words = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyzé数 \n", k=rng.randrange(1, 12))) for _ in range(5000)
    ]
    lines = [
        json.dumps(
            {"id": str(number), "text": " ".join(rng.choices(words, k=int(rng.paretovariate(1)) * 20))}
        )
        for number in range(documents)
    ]
    third = documents // 3
    parts = {
        "a.jsonl": lines[:third],
        "b.jsonl.zst": lines[third : 2 * third],
        "c.jsonl.xz": lines[2 * third :],
    }
    folder.mkdir()
    for name, part in parts.items():
        content = "".join(line + "\n" for line in part).encode()
        if name.endswith(".zst"):
            with storage.atomic_zstd(str(folder / name)) as stream:
                stream.write(content)
        elif name.endswith(".xz"):
            import lzma

            (folder / name).write_bytes(lzma.compress(content, preset=0))
        else:
            (folder / name).write_bytes(content)
    return [str(folder / name) for name in parts]


def start(inputs: list[str], out: Path, options: list[str], workers: int) -> subprocess.Popen[bytes]:
    """Start a build in a process group of its own."""
    command = [sys.executable, "-m", "tootsie.tokenize", "build", *inputs, str(out), *options]
    with (out.parent / "output.log").open("ab") as output:
        return subprocess.Popen(
            [*command, "--workers", str(workers)],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process group at once."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def artefacts(folder: Path) -> dict[str, str]:
    """Return ``{relative path: SHA-256}`` of all files."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def opens(folder: Path) -> bool:
    """Return whether a folder passes for a cache."""
    from tootsie.datasets.errors import UserError
    from tootsie.tokenize.cache import TokenCache

    try:
        TokenCache.open(str(folder))
    except UserError:
        return False
    return True


def begins_to_write(process: subprocess.Popen[bytes], out: Path, since: int) -> None:
    """Wait until a build has written down what it builds, or has ended.

    Args:
      process: the build.
      out: its folder.
      since: nanoseconds of the clock at which it was started; an older file is that of an earlier start.
    """
    key = out / "train" / "progress" / "build.json"
    while process.poll() is None:
        with contextlib.suppress(FileNotFoundError):
            if key.stat().st_mtime_ns >= since:
                return
        time.sleep(0.02)


def survive(folder: Path, *, kills: int, documents: int, seed: int) -> list[str]:
    """Build the reference and the disturbed caches below ``folder``; return what differs, nothing when all is well."""
    inputs = write_corpus(folder / "in", documents)
    options = [
        "--validation-fraction",
        "0.1",
        "--name",
        "endurance",
        "--shards",
        str(min(24, documents // 100)),
    ]
    began = time.monotonic()
    process = start(inputs, folder / "reference", options, 1)
    begins_to_write(process, folder / "reference", 0)
    writing = time.monotonic()
    if process.wait():
        raise SystemExit(f"the undisturbed build failed:\n{(folder / 'output.log').read_text()[-4000:]}")
    duration, writing = time.monotonic() - began, time.monotonic() - writing
    expected = artefacts(folder / "reference")
    print(f"undisturbed: {duration:.1f} s, {writing:.1f} s of it writing, {len(expected)} files", flush=True)
    rng = random.Random(seed)
    faults: list[str] = []
    done = caches = 0
    while done < kills:
        out = folder / f"disturbed-{caches}"
        caches += 1
        finished = False
        while done < kills and not finished:
            workers = WORKERS[done % len(WORKERS)]
            since = time.time_ns()
            process = start(inputs, out, options, workers)
            delay = rng.uniform(0.1, duration)
            if done % 4:
                begins_to_write(process, out, since)
                # Worker processes need about as long to start as the first process did.
                delay = rng.uniform(0, writing + (duration - writing if workers > 1 else 0))
            with contextlib.suppress(subprocess.TimeoutExpired):
                finished = process.wait(delay) == 0
            kill(process)
            if finished:
                break
            done += 1
            receipts = len(list(out.rglob("*.receipt.json")))
            for split in ("train", "validation"):
                ledger = (out / split / "ledger.json").exists()
                if opens(out / split) != ledger:
                    faults.append(
                        f"{out.name}/{split}: opens as a cache {'not ' if ledger else ''}after kill {done}"
                    )
            print(f"kill {done} of {kills}, {workers} workers: {receipts} shards were finished", flush=True)
        if start(inputs, out, options, WORKERS[caches % len(WORKERS)]).wait():
            return [f"the build did not recover:\n{(folder / 'output.log').read_text()[-4000:]}"]
        found = artefacts(out)
        faults += [f"{out.name}: missing {name}" for name in sorted(expected.keys() - found.keys())]
        faults += [f"{out.name}: extra {name}" for name in sorted(found.keys() - expected.keys())]
        shared = sorted(expected.keys() & found.keys())
        faults += [f"{out.name}: differs {name}" for name in shared if expected[name] != found[name]]
    print(f"{done} kills in {caches} caches", flush=True)
    return faults


def main() -> None:
    """Parse the options, run, and exit with 1 where anything differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--documents", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = survive(Path(folder), kills=options.kills, documents=options.documents, seed=options.seed)
    print("\n".join(found) or "identical")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
