"""Sum up the receipts of a corpus: check the books and the error budget, and make the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tootsie.curate import shard_statistics
from tootsie.curate.corpus import TimeLimitFault
from tootsie.curate.markdownify import Profile
from tootsie.curate.markdownify.rules import rules_of
from tootsie.curate.shard_output import REJECTS, Receipt
from tootsie.datasets import storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.errors import InputError

TOLERATED_FAILURES = 1
"""Failures that never fail a run, whatever the budget: one bad document is no reason to stop."""


def check_books(
    receipts: Sequence[Receipt],
    folder: str,
    inputs: Sequence[str],
    source: str,
    *,
    max_failures: float,
    allow_empty: bool,
) -> Accounting:
    """Return the books of all shards.

    Args:
      receipts: of all shards.
      folder: URL of the output.
      inputs: names of the files that were read.
      source: name of the corpus.
      max_failures: share of the records that may fail.
      allow_empty: whether a corpus without a document is none to complain about.

    Raises:
      InputError: there was nothing in the inputs, nothing is left of it, or too much of it failed.
    """
    accounting = Accounting.total(receipt.accounting for receipt in receipts)
    joined = sum((Counter(receipt.joined) for receipt in receipts), Counter[str]())
    own = accounting.read - joined.total()
    if not own:
        raise InputError(
            "no records in the inputs", file=", ".join(inputs[:5]), remedy=f"Are these {source} dumps?"
        )
    if not accounting.written and not allow_empty:
        reason, count = (Counter(accounting.dropped) - joined).most_common(1)[0]
        raise InputError(
            f"no document is left: all {own:,} records were dropped, most of them ({count:,}) as: {reason}",
            file=storage.join(folder, REJECTS),
            remedy="Look at the rejects there; --allow-empty accepts it without converting again",
        )
    failures = sum(receipt.failures for receipt in receipts)
    if failures > max(TOLERATED_FAILURES, max_failures * own):
        raise InputError(
            f"{failures:,} of {own:,} records failed, more than the budget of "
            f"{max_failures:.2%} ({accounting.dropped})",
            file=storage.join(folder, REJECTS),
            field="--max-failures",
            remedy="Look at the rejects there; a larger --max-failures accepts them without converting again",
        )
    return accounting


def total_counters(receipts: Sequence[Receipt]) -> dict[str, int]:
    """Return how often each rule applied in all shards."""
    counters: Counter[str] = Counter()
    for receipt in receipts:
        counters.update(receipt.counters)
    return dict(sorted(counters.items()))


def unmatched_rules(receipts: Sequence[Receipt], source: str) -> dict[str, int]:
    """Return for each rule of the converter in how many of the shards that hold documents it matched nothing, if in any."""
    if source not in set(Profile):
        return {}
    filled = [receipt for receipt in receipts if receipt.accounting.written]
    missing = {
        name: sum(not receipt.counters.get(name) for receipt in filled) for name in sorted(rules_of(source))
    }
    return {name: count for name, count in missing.items() if count}


def statistics(receipts: Sequence[Receipt]) -> dict[str, dict[str, int]]:
    """Return how many documents there are by licence, language, length …"""
    return shard_statistics.total(receipt.statistics for receipt in receipts)


def notes(dropped: Mapping[str, int], time_limit: float) -> list[str]:
    """Return what a user should know of how the corpus was made."""
    late = dropped.get(TimeLimitFault.reason, 0)
    if not late:
        return []
    return [
        f"{late:,} documents were dropped by the time limit of {time_limit:g} s of CPU time: a slower or faster machine may "
        "drop others"
    ]
