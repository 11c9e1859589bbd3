"""Fetch one file: into ``NAME.partial``, on from where an earlier attempt stopped, verified, then moved to its name.

``NAME.partial.json`` says of which state of the source the bytes are. A file has its own name only when its size, and its
checksum where one is known, are right and its bytes are on the disk. Ending the process at any moment loses at most what was
not yet written.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tootsie.datasets.errors import InputError, UserError
from tootsie.datasets.fetching.remote import Opened, Opener, RemoteFile, TroubleError, open_remote
from tootsie.datasets.inventory import Algorithm, Checksum, compute

STEP = 2**18
"""Bytes that are read and written at a time."""


@dataclass(frozen=True)
class Patience:
    """How often to try again."""

    attempts: int = 5
    """Attempts in a row that bring no new byte, after which a file is given up."""
    first_wait: float = 1.0
    """Seconds before the next attempt; doubles with each that brings no new byte, up to a minute."""
    wait: Callable[[float], object] = time.sleep
    """Waits so many seconds."""


@dataclass(frozen=True)
class Fetched:
    """A file that is there, whole."""

    file: RemoteFile
    size: int
    """Bytes."""
    digests: dict[Algorithm, Checksum]
    """SHA-256, and the kind that the list has."""
    identity: str | None
    """Of the source when it was read."""


class Stopped(Exception):  # noqa: N818
    """Another file's fault, or the user, has ended the fetch."""


@dataclass
class _State:
    """What is known of a partial file."""

    url: str
    size: int | None
    identity: str | None


class Transfer:
    """The fetch of one file.

    Args:
      file: what to fetch.
      target: where to; its folder exists.
      patience: how often to try again.
      progress: told of each number of bytes that arrives.
      stop: set when the fetch is to end.
      opener: opens the source.
    """

    def __init__(
        self,
        file: RemoteFile,
        target: Path,
        *,
        patience: Patience,
        progress: Callable[[int], object],
        stop: threading.Event,
        opener: Opener = open_remote,
    ) -> None:
        self._file = file
        self._target = target
        self._partial = target.with_name(target.name + ".partial")
        self._state_path = target.with_name(target.name + ".partial.json")
        self._patience = patience
        self._progress = progress
        self._stop = stop
        self._opener = opener
        self._wrong: Checksum | None = None

    def bring(self) -> Fetched:
        """Fetch the file into its partial and verify it; :meth:`publish` then gives it its name.

        Raises:
          UserError: it does not exist, may not be read, is not what the list says, or could not be had.
        """
        failures = best = 0
        while True:
            try:
                return self._attempt()
            except TroubleError as error:
                have = self._partial.stat().st_size if self._partial.exists() else 0
                # Only bytes beyond all that there ever were count as progress, so that there is an end to it.
                failures = 0 if have > best else failures + 1
                best = max(best, have)
                if failures >= self._patience.attempts:
                    raise InputError(
                        f"could not be fetched in {self._patience.attempts} attempts: {error}",
                        file=self._file.url,
                    ) from None
            if self._stop.is_set():
                raise Stopped
            self._patience.wait(min(self._patience.first_wait * 2**failures, 60.0))

    def publish(self) -> None:
        """Give the verified file its name."""
        os.replace(self._partial, self._target)
        with contextlib.suppress(FileNotFoundError):
            self._state_path.unlink()
        folder = os.open(self._target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _attempt(self) -> Fetched:
        state = self._load()
        if state is None:
            state, offset = _State(self._file.url, self._file.size, None), 0
        else:
            offset = self._partial.stat().st_size
        size = self._file.size if self._file.size is not None else state.size
        if offset == 0 or size is None or offset != size:
            state = self._read_on(state, offset)
        return self._verified(state)

    def _load(self) -> _State | None:
        """Return the state of what is there of the file, ``None`` where that is nothing, or of another source."""
        try:
            raw = json.loads(self._state_path.read_bytes())
            state = _State(raw["url"], raw["size"], raw["identity"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        changed = state.identity and self._file.identity and state.identity != self._file.identity
        resized = state.size is not None and self._file.size is not None and state.size != self._file.size
        if state.url != self._file.url or changed or resized or not self._partial.is_file():
            return None
        # What cannot be told from another state of the source may be continued only where its checksum will tell.
        return state if state.identity or self._file.checksum else None

    def _read_on(self, state: _State, offset: int) -> _State:
        with self._opener(self._file, offset, state.identity) as opened:
            if opened.start and self._is_another(opened, state):
                self._discard()
                raise TroubleError("the file changed at its source; beginning again")
            size = opened.size if opened.size is not None else self._file.size
            if opened.size is not None and self._file.size not in (None, opened.size):
                raise TroubleError(f"the source has {opened.size:,} bytes, the list says {self._file.size:,}")
            if size is None and not opened.ends_by_itself:
                raise InputError(
                    "the server does not say how long the file is, so its end cannot be told from a dropped connection",
                    file=self._file.url,
                    remedy="Give a list with sizes with --manifest",
                )
            state = _State(self._file.url, size, opened.identity)
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | (0 if opened.start else os.O_TRUNC)
            descriptor = os.open(self._partial, flags, 0o644)
            with os.fdopen(descriptor, "wb", buffering=0) as target:
                if not opened.start:
                    self._save(state)
                target.seek(opened.start)
                target.truncate()
                self._copy(opened.stream, target, opened.start, size)
                os.fsync(descriptor)
        return state

    def _is_another(self, opened: Opened, state: _State) -> bool:
        """Return whether what is read may be of another state of the source than what is there."""
        if None not in (opened.size, state.size) and opened.size != state.size:
            return True
        if opened.identity is None or state.identity is None:
            return self._file.checksum is None  # else that tells, at the end
        return opened.identity != state.identity

    def _copy(self, source: object, target: object, at: int, size: int | None) -> None:
        while chunk := source.read(STEP):  # type: ignore[attr-defined]
            if self._stop.is_set():
                raise Stopped
            at += len(chunk)
            if size is not None and at > size:
                self._discard()
                raise TroubleError(f"more than the {size:,} bytes that were announced")
            view = memoryview(chunk)
            while view:
                view = view[target.write(view) :]  # type: ignore[attr-defined]
            self._progress(len(chunk))
        if size is not None and at < size:
            raise TroubleError(f"the connection dropped after {at:,} of {size:,} bytes")

    def _verified(self, state: _State) -> Fetched:
        checksum = self._file.checksum
        algorithms = {Algorithm.SHA256} | ({checksum.algorithm} if checksum else set())
        size = self._partial.stat().st_size
        with self._partial.open("rb") as stream:
            digests = compute(stream, size, algorithms)
        if checksum and (found := digests[checksum.algorithm]) != checksum:
            self._discard()
            problem = f"its {checksum.algorithm.value} is {found.digest}, the list says {checksum.digest}"
            if found == self._wrong:
                raise InputError(
                    f"twice the same, and not what the list says: {problem}",
                    file=self._file.url,
                    remedy="The source is damaged, or the list is of another version of it",
                )
            self._wrong = found
            raise TroubleError(problem)
        return Fetched(self._file, size, digests, state.identity)

    def _save(self, state: _State) -> None:
        fresh = self._state_path.with_name(self._state_path.name + ".new")
        fresh.write_text(json.dumps(vars(state)))
        os.replace(fresh, self._state_path)

    def _discard(self) -> None:
        for path in (self._partial, self._state_path):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()


def adopt(file: RemoteFile, target: Path) -> Fetched | None:
    """Return a file that is there already and has the checksum of the list; ``None`` where that cannot be said.

    Raises:
      UserError: something is there that is not this file and was not fetched: it is not overwritten.
    """
    if not target.exists():
        return None
    if target.is_file() and file.checksum is not None and file.size in (None, target.stat().st_size):
        with target.open("rb") as stream:
            digests = compute(stream, target.stat().st_size, {Algorithm.SHA256, file.checksum.algorithm})
        if digests[file.checksum.algorithm] == file.checksum:
            return Fetched(file, target.stat().st_size, digests, None)
    raise UserError(
        "something is there that was not fetched, and it is not this file"
        if file.checksum
        else "something is there that was not fetched, and there is no checksum to tell whether it is this file",
        file=target,
        remedy="Move it away, or choose another destination",
    )
