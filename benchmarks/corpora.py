"""Throughput, scaling and memory of the corpus pipelines on this machine, on dumps made from the pages of the sample dumps.

    python benchmarks/corpora.py [--only arxiv] [--megabytes 500] [--workers 1,2] [--rounds 3] [--folder /var/tmp] [--options "…"]

A dump of about so many megabytes of HTML is written into a temporary folder (``arxiv``: one ZIP; ``wikipedia``: one tar.gz of
NDJSON) and removed at the end. A round converts it with each number of workers in turn, so that a busy machine slows all
alike; the table has medians over the rounds. The ratio compares with the first number of workers. ``CPU s`` is that of all
processes, ``busy cores`` how much of it there was at a time; the memory columns are the largest resident set of one process,
and of all together in the second and in the last quarter of the run: of a flat run both are alike. The documents of all runs are
compared. ``by CPU`` is the ratio on a machine with a free core for each worker, whatever else this one does: of the CPU time of
the command and its busiest worker, its converter included.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "datasets" / "sample"
PAGE = os.sysconf("SC_PAGE_SIZE")
POLL_SECONDS = 0.5


def write_arxiv(path: Path, size: int) -> int:
    """Write a ZIP of papers with about ``size`` bytes of HTML; return how many bytes there are."""
    with zipfile.ZipFile(SAMPLES / "arxiv" / "ar5iv-sample-no-problem.zip") as source:
        pages = [source.read(name) for name in sorted(source.namelist())]
    written = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number, page in enumerate(itertools.cycle(pages)):
            if written >= size:
                return written
            page = page.replace(b"</body>", b"<p>Copy %d.</p></body>" % number, 1)
            name = f"no-problem/2404/24{number // 100_000 % 12 + 1:02d}.{number % 100_000:05d}.html"
            archive.writestr(zipfile.ZipInfo(name, (2024, 4, 1, 0, 0, 0)), page, zipfile.ZIP_DEFLATED)
            written += len(page)
    raise AssertionError


def articles(size: int) -> Iterator[tuple[bytes, int]]:
    """Yield lines of a dump and the bytes of HTML in them, about ``size`` in all."""
    with tarfile.open(
        SAMPLES / "wikipedia" / "samplewiki-NS0-20240501-ENTERPRISE-HTML.json.tar.gz"
    ) as source:
        member = next(member for member in source if member.isfile())
        stream = source.extractfile(member)
        assert stream is not None
        records = [json.loads(line) for line in stream]
    written = 0
    for number in itertools.count():
        record = records[number % len(records)]
        html = len(record["article_body"]["html"])
        yield json.dumps({**record, "identifier": number}, ensure_ascii=False).encode() + b"\n", html
        written += html
        if written >= size:
            return


def write_wikipedia(path: Path, size: int) -> int:
    """Write an Enterprise dump with about ``size`` bytes of HTML; return how many bytes there are."""
    written = 0
    with gzip.open(path, "wb", compresslevel=1) as packed, tarfile.open(fileobj=packed, mode="w|") as archive:
        found = articles(size)
        for number in itertools.count():
            lines = list(itertools.islice(found, 500))
            if not lines:
                return written
            content = b"".join(line for line, _ in lines)
            info = tarfile.TarInfo(f"samplewiki_namespace_0_{number}.ndjson")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
            written += sum(html for _, html in lines)
    raise AssertionError


DUMPS = {
    "arxiv": ("ar5iv-04-2024-no-problem.zip", write_arxiv),
    "wikipedia": ("samplewiki-NS0-ENTERPRISE-HTML.json.tar.gz", write_wikipedia),
}


@dataclass(frozen=True)
class Run:
    """What one run took."""

    seconds: float
    cpu: float
    """Seconds of CPU time of all processes."""
    path: float
    """Seconds of CPU time of the command itself and of its busiest worker, each with its converter."""
    largest: float
    """Largest resident set of one process in MB."""
    half: float
    """Resident sets of all processes in MB, the most in the second quarter of the run."""
    last: float
    """Likewise, the last quarter."""
    digest: str
    """Of all documents and rejects."""


class Watch:
    """Looks at the resident sets and the CPU time of the processes of a session."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.totals: list[int] = []
        self.largest = 0
        self._ticks: dict[int, int] = {}
        self._parents: dict[int, int] = {}
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            sizes = []
            for entry in os.listdir("/proc"):
                if entry.isdigit():
                    try:
                        stat = Path(f"/proc/{entry}/stat").read_bytes().rsplit(b")", 1)[1].split()
                        if int(stat[3]) == self._session:
                            sizes.append(int(stat[21]) * PAGE)
                            self._ticks[int(entry)] = int(stat[11]) + int(stat[12])
                            # Who outlives its parent is given another.
                            self._parents.setdefault(int(entry), int(stat[1]))
                    except OSError:
                        continue
            if sizes:
                self.totals.append(sum(sizes))
                self.largest = max(self.largest, *sizes)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def cpu(self) -> float:
        """Seconds of all processes so far, but for the last moments of each."""
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")

    @property
    def path(self) -> float:
        """Seconds of the command and of the busiest of the processes it started, each with what that started."""
        branches: dict[int, int] = {}
        for process, ticks in self._ticks.items():
            branch = process
            while branch != self._session and self._parents.get(branch, self._session) != self._session:
                branch = self._parents[branch]
            branches[branch] = branches.get(branch, 0) + ticks
        own = branches.pop(self._session, 0)
        return (own + max(branches.values(), default=0)) / os.sysconf("SC_CLK_TCK")

    def quarter(self, number: int) -> float:
        count = len(self.totals)
        part = self.totals[count * number // 4 : count * (number + 1) // 4]
        return max(part, default=0) / 1e6


def run(corpus: str, dump: Path, out: Path, workers: int, options: list[str]) -> Run:
    """Build the corpus once."""
    shutil.rmtree(out, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "tootsie.curate",
        corpus,
        str(dump),
        str(out),
        f"--workers={workers}",
        *options,
    ]
    start = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, start_new_session=True
    )
    watch = Watch(process.pid)
    process.wait()
    seconds = time.monotonic() - start
    watch.close()
    if process.returncode:
        raise SystemExit(f"the command failed: {' '.join(command)}")
    digest = hashlib.sha256()
    for path in sorted(out.rglob("*.zst")):
        digest.update(str(path.relative_to(out)).encode() + path.read_bytes())
    return Run(
        seconds,
        watch.cpu,
        watch.path,
        watch.largest / 1e6,
        watch.quarter(1),
        watch.quarter(3),
        digest.hexdigest(),
    )


def measure(
    corpus: str, folder: Path, size: int, workers: list[int], rounds: int, options: list[str]
) -> None:
    """Make the dump, convert it again and again, print the table."""
    name, write = DUMPS[corpus]
    dump = folder / name
    html = write(dump, size)
    runs: dict[int, list[Run]] = {count: [] for count in workers}
    for _ in range(rounds):
        for count in workers:
            runs[count].append(run(corpus, dump, folder / "out", count, options))
    documents = sum(
        entry["documents"] for entry in json.loads((folder / "out/_manifest.json").read_bytes())["files"]
    )
    print(
        f"{corpus}: {documents:,} documents, {html / 1e6:,.0f} MB of HTML, {dump.stat().st_size / 1e6:,.0f} MB packed"
    )
    print(
        "workers  seconds  documents/s  MB/s  ratio  by CPU  CPU s  busy cores  MB of one  MB at half  MB at end"
    )
    first = statistics.median(one.seconds for one in runs[workers[0]])
    first_path = statistics.median(one.path for one in runs[workers[0]])
    for count, found in runs.items():
        seconds, cpu, path, largest, half, last = (
            statistics.median(getattr(one, name) for one in found)
            for name in ("seconds", "cpu", "path", "largest", "half", "last")
        )
        print(
            f"{count:7}  {seconds:7.1f}  {documents / seconds:11.1f}  {html / 1e6 / seconds:4.1f}  {first / seconds:5.2f}  "
            f"{first_path / path:6.2f}  "
            f"{cpu:5.1f}  {cpu / seconds:10.2f}  {largest:9.0f}  {half:10.0f}  {last:9.0f}"
        )
    alike = len({one.digest for found in runs.values() for one in found}) == 1
    print(
        f"outputs of all {rounds * len(workers)} runs: {'the same bytes' if alike else 'DIFFERENT'}",
        flush=True,
    )
    shutil.rmtree(folder / "out")
    dump.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=list(DUMPS))
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--workers", default="1,2", help="numbers of worker processes, with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--folder", type=Path, help="where the dumps are written; by default the temporary folder"
    )
    parser.add_argument("--options", default="", help="further options of the command, as one word")
    arguments = parser.parse_args()
    workers = [int(count) for count in arguments.workers.split(",")]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        for corpus in [arguments.only] if arguments.only else list(DUMPS):
            size = arguments.megabytes * 1_000_000
            measure(corpus, Path(name), size, workers, arguments.rounds, arguments.options.split())


if __name__ == "__main__":
    main()
