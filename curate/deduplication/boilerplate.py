"""Which lines are boilerplate: those that a good part of the documents of one site have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from tootsie.curate.array_shuffle import Records, Shuffle, run_shuffle
from tootsie.curate.cleaning_run import NO_FAULTS_OF_DOCUMENTS, CleaningRun
from tootsie.curate.deduplication.compared_text import line_hash, site_of
from tootsie.curate.deduplication.settings import DeduplicationSettings
from tootsie.curate.document_inputs import InputFile, Unreadable, read_numbered

KIND = (("hash", "<u8"), ("site", "<u8"), ("count", "<u8"))
"""A line in a site, in so many documents; the line ``0`` stands for the site itself."""
DOCUMENTS = 4096
"""Documents whose lines are counted together, at most."""
LINES = 1 << 20
"""Lines of theirs that are held, beside those of the last one."""


def _site_hash(site: str) -> int:
    return xxhash.xxh3_64_intdigest(site.encode("utf-8", "surrogatepass"), 7)


def count_lines(file: InputFile) -> Iterator[Records]:
    """Yield how many documents of a file have each line, and how many each site has (``hash`` equal to ``site``)."""
    hashes: list[int] = []
    sites: list[int] = []
    held = 0
    for _, document in read_numbered(file):
        if isinstance(document, Unreadable):
            continue
        try:
            name = site_of(document)
            site = _site_hash(name)
            lines = {line_hash(name, line) for line in document.text.split("\n")} - {None, site}
        except NO_FAULTS_OF_DOCUMENTS:
            raise
        except Exception:  # counted where it is compared, which takes the same steps
            continue
        found = [site, *(line for line in lines if line is not None)]
        hashes += found
        sites += [site] * len(found)
        held += 1
        if held == DOCUMENTS or len(hashes) >= LINES:
            yield _counted(hashes, sites)
            hashes, sites, held = [], [], 0
    if hashes:
        yield _counted(hashes, sites)


def _counted(hashes: list[int], sites: list[int]) -> Records:
    unique, first, counts = np.unique(np.array(hashes, np.uint64), return_index=True, return_counts=True)
    records = np.empty(len(unique), list(KIND))
    records["hash"] = unique
    records["site"] = np.array(sites, np.uint64)[first]
    records["count"] = counts
    return records


class CountedLines:
    """Adds up the counts of a bucket and leaves out lines of too few documents."""

    def __init__(self, least: int) -> None:
        self._least = least

    def __call__(self, records: Records) -> Mapping[str, NDArray[Any]]:
        """Return lines, their sites and counts."""
        hashes, first, inverse = np.unique(records["hash"], return_index=True, return_inverse=True)
        counts = np.zeros(len(hashes), np.uint64)
        np.add.at(counts, inverse, records["count"])
        sites = records["site"][first]
        kept = (counts >= self._least) | (hashes == sites)
        return {"hash": hashes[kept], "site": sites[kept], "count": counts[kept]}


def find_boilerplate(
    run: CleaningRun, settings: DeduplicationSettings, buckets: int, options: Any
) -> NDArray[np.uint64]:
    """Return the hashes of all lines that are boilerplate: uint64[k], sorted."""
    shuffle = Shuffle(
        run.folder, "lines", KIND, count_lines, CountedLines(settings.boilerplate_documents), buckets
    )
    met = run_shuffle(shuffle, run.files, options)
    found = {name: met.gather(name, np.uint64) for name in ("hash", "site", "count")}
    is_site = found["hash"] == found["site"]
    order = np.argsort(found["hash"][is_site])
    sites, totals = found["hash"][is_site][order], found["count"][is_site][order]
    lines = ~is_site
    of_site = totals[np.searchsorted(sites, found["site"][lines])]
    common = found["count"][lines] >= settings.boilerplate_share * of_site
    return np.sort(found["hash"][lines][common])
