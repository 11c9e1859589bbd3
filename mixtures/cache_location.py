"""Where a plan says that its caches lie: relative to its own folder where that can be."""

from __future__ import annotations

import os

from tootsie.datasets import storage

CARD = "card:"
"""What stands before the name of a card, in place of a path, where there is no cache yet."""


def is_absolute(path: str) -> bool:
    """Return whether a path is complete in itself."""
    return "://" in path or path.startswith(("/", CARD))


def _local(url: str) -> str | None:
    """Return the path of a local file; ``None`` where the URL names another file system, which need not be installed."""
    path = url.removeprefix("file://")
    return None if "://" in path else path


def seen_from(url: str, cache: str) -> str:
    """Return a cache as seen from the folder of the file ``url``, if it is a relative path or lies below that folder."""
    if cache.startswith(CARD):
        return cache
    plan, local = _local(url), _local(cache)
    if local is None:
        return cache.removeprefix(url.rpartition("/")[0] + "/")
    path = os.path.abspath(local)
    if plan is None:
        return path
    folder = os.path.dirname(os.path.abspath(plan))
    if is_absolute(cache) and not path.startswith(folder + os.sep):
        return cache
    return os.path.relpath(path, folder).replace(os.sep, "/")


def as_seen_here(folder: str, path: str) -> str:
    """Return ``path``, which is relative to ``folder``, as seen from the working folder."""
    if "://" in folder:
        return storage.join(folder, path)
    return os.path.normpath(os.path.join(folder, path)).replace(os.sep, "/")
