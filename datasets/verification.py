"""Check a finished corpus, or any copy of a dataset, against its list, file by file, and name everything that is wrong."""

from __future__ import annotations

from tootsie.datasets.comparison import Comparison, Fault, Problem, compare
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.inventory import find_inventory
from tootsie.datasets.manifest import MANIFEST_NAME, Manifest, read_manifest


def verify(folder: str) -> tuple[Manifest, list[Fault]]:
    """Compare sizes, checksums, document counts and text bytes of a corpus with its manifest.

    Returns:
      The manifest, and the faults found; empty when the corpus is whole.

    Raises:
      ArtefactError: there is no valid manifest.
    """
    manifest = read_manifest(folder)
    faults = list(verify_copy(folder).faults)
    if manifest.documents != manifest.accounting.written:
        faults.append(
            Fault(
                MANIFEST_NAME,
                f"its files hold {manifest.documents:,} documents, {manifest.accounting.written:,} were written",
                Problem.MISCOUNTED,
            )
        )
    return manifest, faults


def verify_copy(folder: str, manifest: str | None = None, *, counts: bool = True) -> Comparison:
    """Compare a copy of a dataset with a list of its files.

    Args:
      folder: the copy, local or remote.
      manifest: URL of the list; without it the one in the folder. See :mod:`tootsie.datasets.inventory`.
      counts: also count rows and tokens where the list has them.

    Raises:
      ArtefactError: there is no list, or it is not valid.
    """
    return compare(folder, find_inventory(folder, manifest), counts=counts)


def describe(folder: str, comparison: Comparison) -> str:
    """Return one line about a whole copy."""
    files = f"{comparison.files:,} {'file' if comparison.files == 1 else 'files'}"
    what = (
        f"{comparison.rows:,} {comparison.unit} in {files}"
        if comparison.rows
        else f"{files}, {comparison.bytes:,} bytes"
    )
    if comparison.unchecked:
        what += f"; {comparison.unchecked:,} have no checksum in the list, so that only sizes and counts were compared"
    return f"{folder}: whole, {what}"


def error(folder: str, comparison: Comparison) -> ArtefactError:
    """Return the error that sums the faults of a copy up: how many of each kind."""
    number, files = len(comparison.faults), comparison.files
    kinds: dict[str, int] = {}
    for fault in comparison.faults:
        kinds[fault.kind.value] = kinds.get(fault.kind.value, 0) + 1
    return ArtefactError(
        f"{number} {'fault' if number == 1 else 'faults'} in {files} {'file' if files == 1 else 'files'}: "
        + ", ".join(f"{count} {kind}" for kind, count in kinds.items()),
        file=folder,
        remedy="Delete what is wrong and fetch or copy it again, or make the corpus again with --overwrite",
    )
