"""One trainer at a time in the folder of a run: two would overwrite each other's checkpoints and lines."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator

from tootsie.datasets import storage
from tootsie.datasets.errors import UserError


@contextlib.contextmanager
def sole_trainer(out: str) -> Iterator[None]:
    """Hold the folder ``out`` for this process while the block runs; it is made where it is missing.

    The lock is on the folder itself: it leaves no file, and ends with the process however that ends. Object stores and
    file systems without locks have none.

    Raises:
      UserError: another process holds the folder.
    """
    folder = storage.local_path(out)
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise UserError(
                    "another process trains in this folder",
                    file=out,
                    remedy="Let it finish, end it, or choose another 'out'",
                ) from None
            if error.errno not in (errno.ENOTSUP, errno.EBADF, errno.ENOLCK, errno.ENOSYS):
                raise
        yield
    finally:
        os.close(descriptor)
