"""``tootsie data fetch``: bring the files of a source into a folder, on from where an earlier run stopped.

``_fetched.partial.jsonl`` in the folder names each file that is whole, as it becomes so; when all are, it becomes
``_fetched.jsonl``, the list that ``tootsie data verify`` compares with. No list, not finished.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, SpecError, UserError
from tootsie.datasets.fetching.listing import Listing, list_source
from tootsie.datasets.fetching.remote import Opener, RemoteFile, open_remote
from tootsie.datasets.fetching.transfer import Fetched, Patience, Stopped, Transfer, adopt
from tootsie.datasets.inventory import FETCHED_NAME, JOURNAL_NAME
from tootsie.datasets.json_text import parse_json
from tootsie.datasets.sole_writer import sole_writer


@dataclass(frozen=True)
class Outcome:
    """What a fetch did; it only returns when everything is there."""

    files: int
    """Of the source, all of them whole now."""
    bytes: int
    """Of all files."""
    fetched: int
    """Files that this run brought."""
    received: int
    """Bytes that this run received."""


def fetch(
    source: str,
    folder: str,
    *,
    manifest: str | None = None,
    workers: int = 8,
    patience: Patience | None = None,
    report: Callable[[str], object] = lambda line: None,
    opener: Opener = open_remote,
) -> Outcome:
    """Fetch every file of a source into a local folder, verified; see the module.

    Args:
      source: see :func:`tootsie.datasets.fetching.listing.list_source`.
      folder: local folder; made where it is missing.
      manifest: URL of a list of the files, with sizes and checksums.
      workers: files at a time.
      patience: how often to try again.
      report: told of progress, a line at most every second.
      opener: opens a file of the source.

    Raises:
      UserError: the listing is not whole, a file could not be had or is not what the list says, the disk has no room, or a
        path would leave the folder. What was fetched stays; the same command continues.
    """
    root = storage.local_path(folder)
    if root is None:
        raise SpecError("the destination must be a local folder", field="DEST", value=folder)
    listing = list_source(source, manifest)
    with sole_writer(str(root)):
        return _Fetch(listing, root, workers, patience or Patience(), report, opener).run()


class _Fetch:
    def __init__(
        self,
        listing: Listing,
        root: Path,
        workers: int,
        patience: Patience,
        report: Callable[[str], object],
        opener: Opener,
    ) -> None:
        self._listing = listing
        self._root = root
        self._workers = workers
        self._patience = patience
        self._report = report
        self._opener = opener
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._received = 0
        self._reported = time.monotonic()
        self._done: dict[str, dict[str, Any]] = {}
        self._journal = root / JOURNAL_NAME

    def run(self) -> Outcome:
        self._recall()
        files = self._listing.files
        todo = [file for file in files if not self._is_done(file)]
        self._check_room(todo)
        if todo:
            self._report(f"{len(todo):,} of {len(files):,} files to fetch")
        # What says that the folder is finished is fetched when everything else is there.
        last = [file for file in todo if file.path.rsplit("/", 1)[-1] in ("_manifest.json", "ledger.json")]
        failures = self._bring_all([file for file in todo if file not in last])
        if not failures:
            failures = self._bring_all(last)
        if failures:
            raise ArtefactError(
                f"{len(failures):,} of {len(files):,} files are not there; the first: {failures[0]}",
                file=str(self._root),
                remedy="Run the same command again: it continues",
            )
        self._finish()
        sizes = sum(self._done[file.path]["size"] for file in files)
        return Outcome(len(files), sizes, len(todo), self._received)

    def _recall(self) -> None:
        """Read what earlier runs brought. A finished list becomes a journal again: the folder is not finished now."""
        finished = self._root / FETCHED_NAME
        for path in (finished, self._journal):
            if not path.is_file():
                continue
            for line in path.read_bytes().splitlines():
                try:
                    entry = parse_json(line)
                    self._done[entry["path"]] = entry
                except (ValueError, KeyError, TypeError):
                    continue  # the last line of a run that was killed
        content = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in self._done.values())
        storage.write_bytes(str(self._journal), content.encode("utf-8", "surrogatepass"))
        finished.unlink(missing_ok=True)

    def _is_done(self, file: RemoteFile) -> bool:
        entry = self._done.get(file.path)
        target = self._target(file)
        if entry is None or entry.get("source") != file.url or not target.is_file():
            return False
        if target.stat().st_size != entry.get("size") or file.size not in (None, entry.get("size")):
            return False
        known = entry.get(file.checksum.algorithm.value) if file.checksum else None
        if file.checksum is not None and known != file.checksum.digest:
            return False
        return not (file.identity and entry.get("identity") and file.identity != entry["identity"])

    def _target(self, file: RemoteFile) -> Path:
        """Return where a file goes.

        Raises:
          UserError: a link in the folder leads out of it.
        """
        target = self._root / file.path
        if not target.parent.resolve().is_relative_to(self._root.resolve()):
            raise UserError(
                "a link leads out of the destination", file=str(target), remedy="Remove it, or choose another"
            )
        return target

    def _check_room(self, todo: list[RemoteFile]) -> None:
        needed = 0
        for file in todo:
            partial = self._root / f"{file.path}.partial"
            have = partial.stat().st_size if partial.is_file() else 0
            needed += max(0, (file.size or 0) - have)
        free = shutil.disk_usage(self._root).free
        if needed > free:
            raise UserError(
                f"the disk has {free:,} bytes, {needed:,} are needed",
                file=str(self._root),
                remedy="Free some space, or choose another destination",
            )

    def _bring_all(self, todo: list[RemoteFile]) -> list[str]:
        """Fetch files side by side; return what went wrong with those that could not be had."""
        failures: list[str] = []
        with concurrent.futures.ThreadPoolExecutor(self._workers, thread_name_prefix="fetch") as pool:
            futures = [pool.submit(self._bring, file) for file in todo]
            try:
                for future in concurrent.futures.as_completed(futures):
                    try:
                        future.result()
                    except UserError as error:
                        failures.append(str(error))
                        self._report(f"failed: {error}")
            except BaseException:
                self._stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return failures

    def _bring(self, file: RemoteFile) -> None:
        if self._stop.is_set():
            raise Stopped
        target = self._target(file)
        ours = file.path in self._done
        target.parent.mkdir(parents=True, exist_ok=True)
        fetched = None if ours else adopt(file, target)
        if fetched is not None:
            self._record(fetched)
            return
        transfer = Transfer(
            file,
            target,
            patience=self._patience,
            progress=self._progressed,
            stop=self._stop,
            opener=self._opener,
        )
        fetched = transfer.bring()
        # Recorded first: a file that has its name and is in no list could not be told from another's.
        self._record(fetched)
        transfer.publish()

    def _record(self, fetched: Fetched) -> None:
        file = fetched.file
        entry: dict[str, Any] = {"path": file.path, "size": fetched.size}
        entry |= {algorithm.value: checksum.digest for algorithm, checksum in fetched.digests.items()}
        entry |= {"source": file.url} | ({"identity": fetched.identity} if fetched.identity else {})
        line = json.dumps(entry, ensure_ascii=False) + "\n"
        with self._lock, self._journal.open("ab") as journal:
            journal.write(line.encode("utf-8", "surrogatepass"))
            journal.flush()
            os.fsync(journal.fileno())
            self._done[file.path] = entry

    def _progressed(self, count: int) -> None:
        with self._lock:
            self._received += count
            now = time.monotonic()
            if now - self._reported < 1.0:
                return
            self._reported = now
            received, done = self._received, len(self._done)
        self._report(f"{received:,} bytes received, {done:,} of {len(self._listing.files):,} files whole")

    def _finish(self) -> None:
        """Check that everything is there, and say so."""
        missing = [file.path for file in self._listing.files if not self._is_done(file)]
        if missing:
            raise ArtefactError(
                f"{len(missing):,} files are gone or changed since they were fetched",
                file=str(self._root),
                value=missing[0],
                remedy="Run the same command again",
            )
        listed = {file.path for file in self._listing.files}
        # What other sources brought into the same folder stays in its list as long as it is there.
        entries = [
            entry
            for path, entry in sorted(self._done.items())
            if path in listed or (self._root / path).is_file()
        ]
        lines = [json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries]
        storage.write_bytes(str(self._root / FETCHED_NAME), "".join(lines).encode("utf-8", "surrogatepass"))
        self._journal.unlink()


def report_to_terminal(line: str) -> None:
    """Print a line of progress where it does not mix with the output."""
    print(line, file=sys.stderr, flush=True)
