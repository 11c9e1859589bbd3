"""Fidelity for the reader of a terminal: a table of rates, what was left out by design, the pages with most losses."""

from __future__ import annotations

import heapq
from collections import defaultdict

from rich.console import Console
from rich.table import Table

from tootsie.curate.fidelity.measure import Measured, Totals
from tootsie.curate.fidelity.scores import KINDS, Score
from tootsie.datasets.errors import shorten


class Worst:
    """The pages that lost or added most, a few for each kind; memory does not grow with the corpus."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._pages: dict[str, list[tuple[int, int, str, Score]]] = defaultdict(list)
        self._seen = 0

    def add(self, measured: Measured) -> None:
        """Consider one page."""
        self._seen += 1
        for kind, score in measured.scores.items():
            wrong = score.expected + score.written - 2 * score.kept
            if wrong and self._keep:
                entry = (wrong, -self._seen, measured.name, score)
                heap = self._pages[kind]
                if len(heap) < self._keep:
                    heapq.heappush(heap, entry)
                else:
                    heapq.heappushpop(heap, entry)

    def print_to(self, console: Console) -> None:
        """Print them, worst first, with examples."""
        for kind in KINDS:
            for _, _, name, score in sorted(self._pages[kind], key=lambda entry: entry[:2], reverse=True):
                console.print(
                    f"{kind}: {name}: {score.kept:,} of {score.expected:,} kept, {score.written:,} written",
                    style="bold",
                )
                for label, examples in (("lost", score.lost), ("added", score.surplus)):
                    for example in examples[:5]:
                        console.print(f"  {label:5} {shorten(example, 160)}", highlight=False)


def print_totals(totals: Totals, console: Console) -> None:
    """Print the table of rates and what was left out by design."""
    table = Table(caption=f"{totals.pages:,} pages", caption_justify="left")
    table.add_column("kind")
    for name in ("in the source", "kept", "recall", "written", "precision"):
        table.add_column(name, justify="right")
    for kind, score in totals.scores.items():
        if score.expected or score.written:
            table.add_row(
                kind,
                f"{score.expected:,}",
                f"{score.kept:,}",
                share(score.recall),
                f"{score.written:,}",
                share(score.precision),
            )
    console.print(table)
    if totals.missing:
        console.print(f"{totals.missing:,} pages have no Markdown: all of them counts as lost", style="bold")
    if totals.left_out:
        words = ", ".join(f"{reason} {count:,}" for reason, count in totals.left_out.most_common() if count)
        console.print(f"left out by design, words: {words}", highlight=False)


def share(value: float) -> str:
    """Return a share in per cent, cut (not rounded) to three places, so that only what is whole reads 100 %."""
    return f"{int(value * 100_000) / 1000:.3f} %"
