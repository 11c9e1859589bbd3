"""Writes checkpoints while the run goes on: arrays are copied at once, files and checksums follow in a thread.

One checkpoint is under way at a time. It is finished when its record is written; killed before that, it does not exist.
"""

from __future__ import annotations

import threading
from typing import Any

import jax
import jax.numpy as jnp

from tootsie.train import checkpoint, hosts
from tootsie.train.checkpoint import CheckpointRecord


class CheckpointWriter:
    """The checkpoints of one run. Call :meth:`finish` before its folder is read, and at the end.

    Attributes:
      newest: step of the newest finished checkpoint, ``None`` while there is none.
    """

    def __init__(self, folder: str, newest: CheckpointRecord | None = None) -> None:
        """Write to ``folder``, whose newest finished checkpoint is ``newest``."""
        self.newest = None if newest is None else newest.step
        self._folder = folder
        self._temporary = newest.step if newest is not None and newest.temporary else None
        self._thread: threading.Thread | None = None
        self._fault: BaseException | None = None
        self._writing: CheckpointRecord | None = None

    def write(self, state: Any, record: CheckpointRecord) -> None:
        """Begin a checkpoint, once the one before is finished; the arrays may be given away when this returns.

        Raises:
          OSError: the one before could not be written.
        """
        self.finish()
        if jax.default_backend() == "cpu":  # where the host's view of an array is the array itself
            state = jax.tree.map(jnp.copy, state)
        complete = checkpoint.begin(self._folder, state, record)

        def run() -> None:
            try:
                complete()
            except BaseException as fault:  # told by ``finish``, in the thread of the run
                self._fault = fault

        self._writing = record
        self._thread = threading.Thread(target=run, name=f"checkpoint-{record.step}")
        self._thread.start()

    def finish(self) -> None:
        """Wait for the checkpoint under way; then remove the temporary one that it replaces.

        Raises:
          OSError: it could not be written.
        """
        if self._thread is None or self._writing is None:
            return
        self._thread.join()
        record, self._thread, self._writing = self._writing, None, None
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
        if hosts.is_first() and self._temporary is not None and self._temporary != record.step:
            checkpoint.remove(self._folder, self._temporary)
        self._temporary = record.step if record.temporary else None
        self.newest = record.step
