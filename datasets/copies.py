"""Files of a copy of a dataset, held against the list of that copy wherever they are read: a damaged copy goes no further.

``tootsie data verify`` does that when it is asked. Here it is not asked: what lies below a list is compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.inventory import FETCHED_NAME, JOURNAL_NAME, Algorithm, Checksum, read_inventory
from tootsie.datasets.manifest import MANIFEST_NAME

LEVELS = 8
"""Folders upwards from a file in which the list of its copy is looked for."""


def check_listed(digests: Mapping[str, str]) -> set[str]:
    """Compare files with the lists of the copies they lie in; return those that stand in one.

    Args:
      digests: SHA-256 of each file, 64 hex digits, by its URL.

    Raises:
      ArtefactError: a file is not as its list says, or its copy has not been fetched to the end.
    """
    lists: dict[str, tuple[str, dict[str, Checksum]] | None] = {}
    listed = set()
    for url, digest in digests.items():
        for folder, name in _above(url):
            if folder not in lists:
                lists[folder] = _list_in(folder)
            if (found := lists[folder]) is None:
                continue
            of_list, wanted = found
            if name in wanted and wanted[name].digest != digest:
                raise ArtefactError(
                    f"not the file that its list knows: the checksum is {digest[:12]}, {of_list} has {wanted[name].digest[:12]}",
                    file=url,
                    remedy=f"tootsie data verify {folder} names all that is wrong: delete that, and fetch or copy it again",
                )
            if name in wanted:
                listed.add(url)
            break
    return listed


def _above(url: str) -> Iterator[tuple[str, str]]:
    """Yield the folders above a file, the nearest first, each with the file's path in it."""
    folder, _, name = url.rpartition("/")
    for _ in range(LEVELS):
        if not folder or folder.endswith((":/", ":")):
            return
        yield folder, name
        folder, _, last = folder.rpartition("/")
        name = f"{last}/{name}"


def _list_in(folder: str) -> tuple[str, dict[str, Checksum]] | None:
    for name in (MANIFEST_NAME, FETCHED_NAME):
        if storage.exists(url := storage.join(folder, name)):
            entries = read_inventory(url).entries
            return name, {
                entry.path: entry.checksum
                for entry in entries
                if entry.checksum is not None and entry.checksum.algorithm is Algorithm.SHA256
            }
    if storage.exists(storage.join(folder, JOURNAL_NAME)):
        raise ArtefactError(
            "this copy has not been fetched to its end",
            file=folder,
            remedy="Run tootsie data fetch again: it continues",
        )
    return None
