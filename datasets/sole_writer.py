"""One writer at a time in an output folder: two would delete each other's unfinished work."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator

from tootsie.datasets import storage
from tootsie.datasets.errors import UserError


@contextlib.contextmanager
def sole_writer(folder: str) -> Iterator[None]:
    """Hold ``folder`` for this process while the block runs; it is made where it is missing.

    The lock is on the folder itself: it leaves no file, and ends with the process however that ends. Object stores and
    file systems without locks have none.

    Raises:
      UserError: another process holds the folder.
    """
    path = storage.local_path(folder)
    if path is None:
        yield
        return
    path.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise UserError(
                    "another process writes into this folder",
                    file=folder,
                    remedy="Let it finish, end it, or choose another output folder",
                ) from None
            if error.errno not in (errno.ENOTSUP, errno.EBADF, errno.ENOLCK, errno.ENOSYS):
                raise
        yield
    finally:
        os.close(descriptor)
