"""What a running build tells its user: a bar on a terminal, plain lines elsewhere, a table of the books at the end."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from tootsie.curate.corpus_build import Job
from tootsie.curate.markdownify.rules import RULES, Effect
from tootsie.curate.shard_output import WORK, Receipt
from tootsie.datasets import storage
from tootsie.datasets.manifest import Manifest

POLL_SECONDS = 0.5
"""How often the state of the run is looked at on a terminal."""
LINE_SECONDS = 10.0
"""How often a plain line is printed elsewhere."""


class _Watcher:
    """Reads the receipts of a running build, each once."""

    def __init__(self, job: Job) -> None:
        self._folder = job.folder
        self._seen: dict[str, Receipt] = {}
        self._split = 0
        self.tasks = len(job.tasks)
        self.shards = job.shards

    def look(self) -> dict[str, int]:
        """Return tasks split, shards written, documents and source bytes so far."""
        place = storage.join(self._folder, WORK, "shards")
        for name in storage.list_files(place):
            if name.endswith(".json") and name not in self._seen:
                with contextlib.suppress(Exception):
                    self._seen[name] = Receipt.model_validate_json(
                        storage.read_bytes(storage.join(place, name))
                    )
        split = storage.list_files(storage.join(self._folder, WORK, "split"))
        # A run that has ended has removed what is counted here.
        self._split = max(self._split, sum(name.endswith(".json") for name in split))
        return {
            "tasks": self.tasks,
            "split": self._split,
            "shards": len(self._seen),
            "documents": sum(receipt.accounting.written for receipt in self._seen.values()),
            "bytes": sum(receipt.source_bytes for receipt in self._seen.values()),
        }


@contextlib.contextmanager
def watch(job: Job) -> Iterator[None]:
    """Show the progress of ``job`` on stderr while the block runs, whatever runner does the work."""
    watcher = _Watcher(job)
    stop = threading.Event()
    terminal = sys.stderr.isatty()
    thread = threading.Thread(target=_bar if terminal else _lines, args=(watcher, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class _Pace:
    """How fast a run converts and how long it will still take, told by what is done since it began to convert."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._first: dict[str, int] | None = None
        self._start = 0.0

    def tell(self, state: dict[str, int], now: float) -> str:
        """Return documents/s, MB/s of source and the time left.

        Args:
          state: from :meth:`_Watcher.look`; the first one is what an earlier run had done.
          now: seconds by a clock.
        """
        if self._first is None:
            self._first, self._start = state, now
        if state["split"] < state["tasks"]:
            self._start = now
        seconds = max(now - self._start, 1e-9)
        done = {name: state[name] - self._first[name] for name in ("shards", "documents", "bytes")}
        text = f"{state['documents']:,} documents"
        if not done["shards"]:
            return text
        left = (self._shards - state["shards"]) * seconds / done["shards"]
        rate = f"{done['documents'] / seconds:,.1f} documents/s, {done['bytes'] / 1e6 / seconds:.1f} MB/s"
        return f"{text}, {rate}, {_span(left)} left"


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


def _lines(watcher: _Watcher, stop: threading.Event) -> None:
    pace = _Pace(watcher.shards)
    pace.tell(watcher.look(), time.monotonic())
    while not stop.wait(LINE_SECONDS):
        state = watcher.look()
        print(
            f"inputs read {state['split']}/{watcher.tasks}, shards written {state['shards']}/{watcher.shards}, "
            f"{pace.tell(state, time.monotonic())}",
            file=sys.stderr,
            flush=True,
        )


def _bar(watcher: _Watcher, stop: threading.Event) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    pace = _Pace(watcher.shards)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        TextColumn("{task.fields[pace]}"),
        console=Console(stderr=True, markup=False),
        transient=True,
    ) as progress:
        split = progress.add_task("inputs", total=watcher.tasks, pace="")
        shards = progress.add_task("shards", total=watcher.shards, pace="")
        while True:
            state = watcher.look()
            progress.update(split, completed=state["split"])
            progress.update(shards, completed=state["shards"], pace=pace.tell(state, time.monotonic()))
            if stop.wait(POLL_SECONDS):
                return


def accounting_rows(manifest: Manifest) -> list[tuple[str, int]]:
    """Return the books of a corpus as rows: read, written, dropped by reason."""
    accounting = manifest.accounting
    return [
        ("read", accounting.read),
        ("written", accounting.written),
        *((f"dropped: {reason}", count) for reason, count in accounting.dropped.items()),
    ]


def show_accounting(manifest: Manifest, folder: str) -> None:
    """Print the books on stdout: a table on a terminal, otherwise ``name<TAB>count`` lines."""
    rows = accounting_rows(manifest)
    if not sys.stdout.isatty():
        for name, count in rows:
            print(f"{name}\t{count}")
        return
    from rich.console import Console
    from rich.table import Table

    table: Any = Table(title=f"{manifest.source}: {folder}", title_justify="left")
    table.add_column("records")
    table.add_column("count", justify="right")
    for name, count in rows:
        table.add_row(name, f"{count:,}")
    Console(markup=False).print(table)


def show_notes(manifest: Manifest) -> None:
    """Print on stderr what is odd about a corpus: rules that matched nothing in any file, and its notes."""
    filled = sum(1 for entry in manifest.files if entry.documents)
    never = [name for name, files in manifest.unmatched_rules.items() if filled and files == filled]
    removing = [
        name for name in never if name in RULES and RULES[name].effect in (Effect.DROPPED, Effect.ASIDE)
    ]
    if removing:
        print(f"rules that left nothing out of any document: {', '.join(removing)}", file=sys.stderr)
    if never:
        print(
            f"rules that matched nothing: {len(never)} (unmatched_rules in the manifest names them)",
            file=sys.stderr,
        )
    for note in manifest.notes:
        print(f"note: {note}", file=sys.stderr)
