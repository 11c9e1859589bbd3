"""Compare a copy of a dataset, local or remote, with the list of what it must hold, and name everything that is wrong.

A file is told by its content: where the checksum of a file is that of another entry, it is said which, so that swapped shards,
copies under two names and renamed files are told from damage.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError
from tootsie.datasets.inventory import Algorithm, Checksum, Entry, Inventory, compute

THREADS = 4
"""Files that are read at a time."""


class Problem(StrEnum):
    """What can be wrong with a file."""

    MISSING = "missing"
    """Listed, and not there."""
    SHORT = "short"
    """Fewer bytes than listed."""
    LONG = "long"
    """More bytes than listed."""
    ALTERED = "altered"
    """The size fits, the checksum does not, and it is no other file of the list."""
    SWAPPED = "swapped"
    """It has the content of another entry, which has this one's."""
    DUPLICATED = "duplicated"
    """It has the content of another entry, or the other way round: one content under two names."""
    EXTRA = "extra"
    """Not listed."""
    MISCOUNTED = "miscounted"
    """Rows or tokens are not as many as listed."""
    UNREADABLE = "unreadable"
    """It cannot be read to its end."""


@dataclass(frozen=True)
class Fault:
    """One thing that is not as the list says."""

    path: str
    """Relative to the copy."""
    problem: str
    """What is wrong, for people."""
    kind: Problem
    """What is wrong, for programs."""


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison."""

    faults: tuple[Fault, ...]
    """In the order of the list, then extra files; none for a whole copy."""
    files: int
    """Entries of the list."""
    bytes: int
    """Of the files that are there and listed."""
    unchecked: int
    """Entries without a checksum: of these only size and counts were compared."""
    rows: int
    """That the list has for all files together, 0 where it has none."""
    unit: str
    """What the rows are: documents or rows."""


def list_sizes(folder: str) -> dict[str, int | None]:
    """Return the files below a folder, by relative path, with their sizes where the file system tells."""
    filesystem, root = storage.url_to_fs(folder)
    if not filesystem.exists(root):
        return {}
    root = root.rstrip("/")
    found = filesystem.find(root, detail=True)
    return {
        path[len(root) :].lstrip("/"): details.get("size")
        for path, details in sorted(found.items())
        if details.get("type") == "file" or details.get("type") is None
    }


def compare(folder: str, inventory: Inventory, *, counts: bool = True) -> Comparison:
    """Compare the files of a copy with a list: presence, size, checksum, and rows and tokens where the list has them.

    Args:
      folder: the copy.
      inventory: what it must hold.
      counts: also count rows and tokens, which means decompressing everything.
    """
    sizes = list_sizes(folder)
    extra = [path for path in sizes if path not in _paths(inventory) and inventory.is_covered(path)]
    wanted = [entry for entry in inventory.entries if entry.path in sizes]
    digests = _digests(folder, inventory, sizes, [entry.path for entry in wanted] + extra)
    content = _Content(inventory, digests)
    faults: list[Fault] = []
    for entry in inventory.entries:
        if entry.path not in sizes:
            faults.append(_missing(entry, content, extra))
        else:
            faults += _file_faults(entry, sizes[entry.path], digests.get(entry.path, {}), content)
    if counts:
        sound = [entry for entry in wanted if not any(fault.path == entry.path for fault in faults)]
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            for found in pool.map(lambda entry: list(count_faults(folder, entry)), sound):
                faults += found
    order = {entry.path: number for number, entry in enumerate(inventory.entries)}
    faults.sort(key=lambda fault: order[fault.path])
    for path in extra:
        same = content.entries_with(digests.get(path, {}))
        note = f": it has the content of {same[0]}" if same else ""
        faults.append(
            Fault(path, f"not in the manifest{note}", Problem.DUPLICATED if same else Problem.EXTRA)
        )
    return Comparison(
        tuple(faults),
        len(inventory.entries),
        sum(sizes[entry.path] or 0 for entry in wanted),
        sum(entry.checksum is None for entry in inventory.entries),
        sum(entry.rows or 0 for entry in inventory.entries),
        "documents" if any(entry.text_bytes is not None for entry in inventory.entries) else "rows",
    )


Digests = Mapping[Algorithm, Checksum]


def _paths(inventory: Inventory) -> set[str]:
    return {entry.path for entry in inventory.entries}


def _digests(
    folder: str, inventory: Inventory, sizes: Mapping[str, int | None], paths: list[str]
) -> dict[str, Digests]:
    """Return the checksums of the files whose content may be that of an entry, in the list's own algorithms."""
    algorithms = {entry.checksum.algorithm for entry in inventory.entries if entry.checksum is not None}
    listed = {entry.size for entry in inventory.entries if entry.checksum is not None}
    readable = [path for path in paths if None in listed or sizes[path] is None or sizes[path] in listed]

    def work(path: str) -> Digests:
        url = storage.join(folder, path)
        size = sizes[path]
        with storage.open_binary(url) as stream:
            return compute(stream, storage.size(url) if size is None else size, algorithms)

    if not algorithms:
        return {}
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        return dict(zip(readable, pool.map(work, readable), strict=True))


class _Content:
    """Which entry a content belongs to, and where in the copy it was found."""

    def __init__(self, inventory: Inventory, digests: Mapping[str, Digests]) -> None:
        self._entries: dict[Checksum, list[str]] = {}
        self._found: dict[Checksum, list[str]] = {}
        for entry in inventory.entries:
            if entry.checksum is not None:
                self._entries.setdefault(entry.checksum, []).append(entry.path)
        for path, sums in digests.items():
            for checksum in sums.values():
                self._found.setdefault(checksum, []).append(path)

    def entries_with(self, digests: Digests) -> list[str]:
        """Return the entries that list the content of a file."""
        return [path for checksum in digests.values() for path in self._entries.get(checksum, [])]

    def places_of(self, entry: Entry) -> list[str]:
        """Return the files that hold the content of an entry."""
        return self._found.get(entry.checksum, []) if entry.checksum is not None else []


def _missing(entry: Entry, content: _Content, extra: list[str]) -> Fault:
    elsewhere = content.places_of(entry)
    renamed = [path for path in elsewhere if path in extra]
    note = f"; its content is there as {(renamed or elsewhere)[0]}" if elsewhere else ""
    return Fault(entry.path, f"the manifest lists a file that is missing{note}", Problem.MISSING)


def _file_faults(entry: Entry, size: int | None, digests: Digests, content: _Content) -> Iterator[Fault]:
    right = entry.checksum is not None and digests.get(entry.checksum.algorithm) == entry.checksum
    if right:
        return
    others = [path for path in content.entries_with(digests) if path != entry.path]
    places = [path for path in content.places_of(entry) if path != entry.path]
    swapped = [path for path in others if path in places]
    if swapped:
        yield Fault(
            entry.path, f"swapped with {swapped[0]}: each has the content of the other", Problem.SWAPPED
        )
    elif others:
        note = f"; its own is in {places[0]}" if places else "; its own is nowhere"
        yield Fault(entry.path, f"it has the content of {others[0]}{note}", Problem.DUPLICATED)
    elif size is not None and entry.size is not None and size != entry.size:
        kind = Problem.SHORT if size < entry.size else Problem.LONG
        difference = f"{abs(size - entry.size):,} {'fewer' if size < entry.size else 'more'}"
        yield Fault(
            entry.path, f"the file has {size:,} bytes, the manifest says {entry.size:,}: {difference}", kind
        )
    elif entry.checksum is not None:
        note = f"; its content is in {places[0]}" if places else ""
        yield Fault(
            entry.path,
            f"the checksum differs from the manifest ({entry.checksum.algorithm.value}) at equal size{note}",
            Problem.ALTERED,
        )


def count_faults(folder: str, entry: Entry) -> Iterator[Fault]:
    """Yield what is wrong with the counts of a file: rows, tokens and bytes of text, where the list has them."""
    from tootsie.datasets.readers.counting import count

    if entry.rows is None and entry.tokens is None and entry.text_bytes is None:
        return
    try:
        found = count(
            storage.join(folder, entry.path),
            tokens=entry.tokens is not None,
            documents=entry.text_bytes is not None,
        )
    except InputError as error:
        where = f" ({error.field})" if error.field else ""
        yield Fault(entry.path, f"unreadable: {error.problem}{where}", Problem.UNREADABLE)
        return
    for number, listed, name in (
        (found.rows, entry.rows, "documents" if entry.text_bytes is not None else "rows"),
        (found.tokens, entry.tokens, "tokens"),
        (found.text_bytes, entry.text_bytes, "bytes of text"),
    ):
        if listed is not None and number != listed:
            yield Fault(entry.path, f"{number:,} {name}, the manifest says {listed:,}", Problem.MISCOUNTED)
