"""Pages of a crawl to filtered documents, beside datatrove's local executor on the same pages, in one run.

    python benchmarks/clean.py [--pages 1200] [--rounds 3] [--data ../shared/data]

Floor: as many documents a second as datatrove; 1.8 times as many from the second core. The crawl is real pages (of ``web`` and
``warc`` in the data folder, invented ones where that is absent), each some times over with a number in its text, in eight WARC
files of gzip members. Both read WARC, take trafilatura's main content with precision, apply gopher_repetition, gopher_quality,
c4_quality and fineweb_quality, and write JSON lines, the rejects too; no language is identified (datatrove's identifier is
fetched). Ours writes Markdown with formulas, tables and code, in two commands: ``curate web``, ``curate filter``; datatrove
writes plain text, in one pipeline, in an environment of its own (``make bench-clean``). Rounds alternate; medians are printed.
CPU seconds are those of all processes, the starts of the commands included.
"""

from __future__ import annotations

import argparse
import ctypes
import gzip
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT / ".build" / "clean-peers" / "venv" / "bin" / "python"
FILES = 8
FILTERS = "gopher_repetition,gopher_quality,c4_quality,fineweb_quality"


def pages(data: Path) -> list[bytes]:
    """Real pages, or invented ones."""
    from tootsie.curate.web.archive_records import payload_of, read_archive

    found = [
        path.read_bytes() for path in sorted((data / "web").rglob("*.html")) if "expected" not in path.name
    ]
    for name in ("dolma_sample-0001_creativecommons.warc.gz", "commoncrawl_whirlwind.warc.gz"):
        if (path := data / "warc" / name).exists():
            for record in read_archive(str(path), 2**24):
                content = payload_of(record, 2**24).content if record.kind == "response" else None
                if content and b"<html" in content[:2000].lower():
                    found.append(content)
    return found or [invented(number) for number in range(40)]


def invented(number: int) -> bytes:
    draw = random.Random(number)
    words = [
        f"{a}{b}" for a in ["st", "bl", "cr", "fo", "ma", "re"] for b in ["one", "ing", "ark", "ill", "end"]
    ] + [
        "the",
        "of",
        "and",
        "to",
    ]
    prose = "".join(
        f"<p>{' '.join(draw.choice(words) for _ in range(60)).capitalize()}.</p>"
        for _ in range(draw.randint(5, 40))
    )
    menu = "".join(f"<li><a href='/{one}'>Page {one}</a></li>" for one in range(150))
    return f"<html><body><nav><ul>{menu}</ul></nav><main><h1>Page</h1>{prose}</main></body></html>".encode()


def write_crawl(folder: Path, sources: list[bytes], count: int) -> int:
    """Write the crawl; return its bytes of HTML."""
    folder.mkdir()
    size = 0
    streams = [(folder / f"{number}.warc.gz").open("wb") for number in range(FILES)]
    for number in range(count):
        page = sources[number % len(sources)].replace(b"</p>", b" %d</p>" % number, 1)
        http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://example.org/{number}\r\n"
            "WARC-Date: 2024-05-01T00:00:00Z\r\n"
            f"WARC-Record-ID: <urn:uuid:{number:08d}>\r\nContent-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(http)}\r\n\r\n"
        )
        streams[number % FILES].write(gzip.compress(head.encode() + http + b"\r\n\r\n", 6, mtime=0))
        size += len(page)
    for stream in streams:
        stream.close()
    return size


def run(command: list[str]) -> tuple[float, float]:
    """Return wall and CPU seconds of a command and all its children."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    start, before = time.perf_counter(), used()
    result = subprocess.run(command, capture_output=True, text=True)
    while True:  # processes whose parent has left them, too
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    if result.returncode:
        raise SystemExit(f"{' '.join(command)}\n{result.stdout[-2000:]}\n{result.stderr[-4000:]}")
    return time.perf_counter() - start, used() - before


def adopt_orphans() -> None:
    """Make this process the parent of those below it whose own ends first, so that their CPU time is known (Linux)."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def tootsie(crawl: Path, output: Path, workers: int) -> tuple[float, float]:
    shared = [f"--workers={workers}", "--max-failures=0.5"]
    web = [
        str(crawl),
        str(output / "web"),
        "--preset=precision",
        "--no-identify-language",
        "--min-characters=1",
    ]
    first = run([sys.executable, "-m", "tootsie.curate", "web", *web, f"--shards={FILES}", *shared])
    paths = [str(output / "web"), str(output / "good")]
    second = run([sys.executable, "-m", "tootsie.curate", "filter", *paths, f"--filters={FILTERS}", *shared])
    return first[0] + second[0], first[1] + second[1]


def datatrove(crawl: Path, output: Path, workers: int) -> tuple[float, float]:
    script = str(Path(__file__).with_name("clean_peer.py"))
    return run([str(PEER), script, str(crawl), str(output), str(workers), str(FILES)])


def kept(folder: Path) -> Iterator[dict]:
    """Documents that a run of either wrote."""
    from tootsie.datasets.storage import read_lines

    for path in sorted([*folder.glob("good/part-*"), *folder.glob("good/*.jsonl.gz")]):
        yield from (json.loads(line) for line in read_lines(str(path)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    adopt_orphans()
    sources = pages(options.data)
    with tempfile.TemporaryDirectory(prefix="tootsie-clean-", dir=options.folder) as name:
        folder = Path(name)
        size = write_crawl(folder / "crawl", sources, options.pages)
        print(
            f"{options.pages:,} pages of {len(sources)} sources, {size / 1e6:.1f} MB of HTML; {os.cpu_count()} cores"
        )
        runs = {"tootsie": tootsie}
        if PEER.exists():
            runs["datatrove"] = datatrove
        else:
            print("datatrove\tskipped: make bench-clean sets it up")
        times: dict[tuple[str, int], list[tuple[float, float]]] = {}
        documents: dict[str, int] = {}
        for number in range(options.rounds):
            for workers in (1, 2):
                for peer, function in runs.items():
                    output = folder / f"{peer}-{workers}-{number}"
                    output.mkdir()
                    times.setdefault((peer, workers), []).append(function(folder / "crawl", output, workers))
                    documents[peer] = sum(1 for _ in kept(output))
        print("name\tworkers\twall s\tCPU s\tpages/s\tpages/CPU s\tMB/CPU s\tdocuments kept")
        for (peer, workers), rows in times.items():
            wall, cpu = (statistics.median(column) for column in zip(*rows, strict=True))
            rates = f"{options.pages / wall:.1f}\t{options.pages / cpu:.1f}\t{size / 1e6 / cpu:.2f}"
            print(f"{peer}\t{workers}\t{wall:.1f}\t{cpu:.1f}\t{rates}\t{documents[peer]:,}")
        for peer in runs:
            one, two = (statistics.median(wall for wall, _ in times[peer, workers]) for workers in (1, 2))
            print(f"{peer}: two workers are {one / two:.2f} × as fast as one")
        if "datatrove" in runs:
            for workers in (1, 2):
                ours, theirs = times["tootsie", workers], times["datatrove", workers]
                wall, cpu = (
                    statistics.median(row[column] for row in theirs)
                    / statistics.median(row[column] for row in ours)
                    for column in (0, 1)
                )
                print(
                    f"{workers} workers: {wall:.2f} × the pages a second, {cpu:.2f} × the pages a CPU second of datatrove"
                )


if __name__ == "__main__":
    main()
