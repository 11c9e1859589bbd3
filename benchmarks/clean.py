"""Pages of a crawl to filtered documents, beside datatrove's local executor on the same pages, in one run.

    python benchmarks/clean.py [--pages 1200] [--few 200] [--rounds 3] [--data ../shared/data]

Floor: as many documents a second as datatrove; 1.8 times as many from the second core. Both for the pages beyond the first
``--few`` (marginal: what a crawl costs that is long beside the starts of commands and workers), and for all of them. The crawl is
real pages (of ``web`` and ``warc`` in the data folder, invented ones where that is absent), each some times over with a number in
its text, in eight WARC files of gzip members. Both read WARC, take trafilatura's main content with precision, apply
gopher_repetition, gopher_quality, c4_quality and fineweb_quality, and write JSON lines, the rejects too; no language is told
(datatrove's identifier is fetched). Ours are two commands, ``curate web`` and ``curate filter``: with Markdown in which
formulas, tables and code survive (``tootsie``), or, like for like, with the text that trafilatura makes of the page (``plain
text``: ``--plain-text``). datatrove writes that text, in one pipeline, in an environment of its own (``make bench-clean``).
``two at once`` is the machine's own second core: two of ``tootsie`` with one worker each, side by side, each over the whole
crawl; what they are faster than one is all that a second worker could give. Rounds alternate; medians are printed.
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
import shlex
import shutil
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
TOGETHER = "two at once"
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


def plain_text(crawl: Path, output: Path, workers: int) -> tuple[float, float]:
    return tootsie(crawl, output, workers, "--plain-text")


def commands(crawl: Path, output: Path, workers: int, *more: str) -> list[list[str]]:
    """Return the two commands: pages to documents, documents to good documents."""
    web, good = str(output / "web"), str(output / "good")
    main = [sys.executable, "-m", "tootsie.curate"]
    shared = [f"--workers={workers}", "--max-failures=0.5"]
    content = ["--preset=precision", "--no-identify-language", "--min-characters=1", f"--shards={FILES}"]
    return [
        [*main, "web", str(crawl), web, *content, *more, *shared],
        [*main, "filter", web, good, f"--filters={FILTERS}", *shared],
    ]


def tootsie(crawl: Path, output: Path, workers: int, *more: str) -> tuple[float, float]:
    first, second = (run(command) for command in commands(crawl, output, workers, *more))
    return first[0] + second[0], first[1] + second[1]


def two_at_once(crawl: Path, output: Path) -> tuple[float, float]:
    """Clean the crawl twice, independently and at once; return half of the seconds, so that they are those of one crawl."""
    parts = [output / "one", output / "other"]
    for part in parts:
        part.mkdir()
    lines = [" && ".join(shlex.join(command) for command in commands(crawl, part, 1)) for part in parts]
    script = f"({lines[0]}) & one=$!; ({lines[1]}) & other=$!; wait $one && wait $other"
    wall, cpu = run(["sh", "-c", script])
    return wall / 2, cpu / 2


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
    parser.add_argument("--few", type=int, default=200, help="pages of the small crawl")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    adopt_orphans()
    sources = pages(options.data)
    with tempfile.TemporaryDirectory(prefix="tootsie-clean-", dir=options.folder) as name:
        folder = Path(name)
        counts = (options.few, options.pages)
        sizes = {count: write_crawl(folder / f"crawl-{count}", sources, count) / 1e6 for count in counts}
        print(
            f"{options.pages:,} pages of {len(sources)} sources, {sizes[options.pages]:.1f} MB of HTML; {os.cpu_count()} cores"
        )
        runs = {"tootsie": tootsie, "plain text": plain_text}
        if PEER.exists():
            runs["datatrove"] = datatrove
        else:
            print("datatrove\tskipped: make bench-clean sets it up")
        times: dict[tuple[str, int, int], list[tuple[float, float]]] = {}
        documents: dict[str, int] = {}
        texts: dict[str, set[tuple[str, str]]] = {}
        for number in range(options.rounds):
            for count in counts:
                output = folder / f"two-{count}-{number}"
                output.mkdir()
                found = two_at_once(folder / f"crawl-{count}", output)
                times.setdefault((TOGETHER, 1, count), []).append(found)
                shutil.rmtree(output)
            for workers in (1, 2):
                for count in counts:
                    for peer, function in runs.items():
                        output = folder / f"{peer}-{workers}-{count}-{number}"
                        output.mkdir()
                        found = function(folder / f"crawl-{count}", output, workers)
                        times.setdefault((peer, workers, count), []).append(found)
                        texts[peer] = {(row["metadata"]["url"], row["text"]) for row in kept(output)}
                        documents[peer] = len(texts[peer])
                        shutil.rmtree(output)
        report(times, documents, sizes, options.few, options.pages)
        if "datatrove" in texts:
            same = len(texts["plain text"] & texts["datatrove"])
            print(
                f"documents of plain text that are datatrove's to the letter: {same:,} of {documents['plain text']:,}"
            )


def report(
    times: dict[tuple[str, int, int], list[tuple[float, float]]],
    documents: dict[str, int],
    sizes: dict[int, float],
    few: int,
    many: int,
) -> None:
    """Print the table: of all pages with the starts of commands, and of those beyond the first few."""
    medians = {
        key: tuple(statistics.median(column) for column in zip(*rows, strict=True))
        for key, rows in times.items()
    }
    rates: dict[tuple[str, int, str], tuple[float, float]] = {}
    print("name\tworkers\tof\twall s\tCPU s\tpages/s\tpages/CPU s\tMB/CPU s\tdocuments kept")
    for peer, workers in dict.fromkeys((peer, workers) for peer, workers, _ in medians):
        whole, start = medians[peer, workers, many], medians[peer, workers, few]
        rows = {
            "all": (*whole, many, sizes[many]),
            "marginal": (whole[0] - start[0], whole[1] - start[1], many - few, sizes[many] - sizes[few]),
        }
        for kind, (wall, cpu, count, size) in rows.items():
            rates[peer, workers, kind] = count / wall, count / cpu
            text = f"{wall:.1f}\t{cpu:.1f}\t{count / wall:.1f}\t{count / cpu:.1f}\t{size / cpu:.2f}"
            print(f"{peer}\t{workers}\t{kind}\t{text}\t{documents.get(peer, documents['tootsie']):,}")
    for kind in ("all", "marginal"):
        ceiling = rates[TOGETHER, 1, kind][0] / rates["tootsie", 1, kind][0]
        print(f"{kind}\tthe machine: two independent runs at once are {ceiling:.2f} × as fast as one")
        for peer in documents:
            gain = rates[peer, 2, kind][0] / rates[peer, 1, kind][0]
            print(f"{kind}\t{peer}: two workers are {gain:.2f} × as fast as one")
            for workers in (1, 2) if peer != "datatrove" and "datatrove" in documents else ():
                ours, theirs = rates[peer, workers, kind], rates["datatrove", workers, kind]
                wall, cpu = ours[0] / theirs[0], ours[1] / theirs[1]
                beside = f"{wall:.2f} × datatrove's pages a second, {cpu:.2f} × its pages a CPU second"
                print(f"{kind}\t{peer}, {workers} workers: {beside}")


if __name__ == "__main__":
    main()
