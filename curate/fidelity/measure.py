"""Measuring pages one by one, and adding up what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tootsie.curate.fidelity.pages import Page, text_of
from tootsie.curate.fidelity.reading import read_markdown
from tootsie.curate.fidelity.scores import KINDS, Score, compare
from tootsie.curate.fidelity.source import read_source
from tootsie.curate.markdownify.options import Options

Converter = Callable[[Page], str | None]
"""Returns the Markdown of a page, ``None`` where there is none."""


@dataclass
class Measured:
    """One page and how much of it arrived."""

    name: str
    scores: dict[str, Score]
    left_out: dict[str, int]
    """Words that the profile leaves out, by reason."""
    missing: bool
    """There is no Markdown for it: all is lost."""

    def record(self) -> dict[str, Any]:
        """Return the page's line of the records file: counts of each kind that it holds, examples of what was lost or added."""
        kinds = {
            kind: counts(score) for kind, score in self.scores.items() if score.expected or score.written
        }
        for kind, entry in kinds.items():
            entry |= {
                name: found for name in ("lost", "surplus") if (found := getattr(self.scores[kind], name))
            }
        return {"page": self.name, "missing": self.missing, "kinds": kinds, "left_out": self.left_out}


@dataclass
class Totals:
    """Sums over pages."""

    pages: int = 0
    missing: int = 0
    scores: dict[str, Score] = field(default_factory=lambda: {kind: Score() for kind in KINDS})
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, measured: Measured) -> None:
        """Add one page."""
        self.pages += 1
        self.missing += measured.missing
        self.left_out.update(measured.left_out)
        for kind, score in measured.scores.items():
            self.scores[kind].add(score)

    def record(self) -> dict[str, Any]:
        """Return the sums as JSON values."""
        kinds = {
            kind: counts(score) | {"recall": score.recall, "precision": score.precision}
            for kind, score in self.scores.items()
        }
        return {
            "pages": self.pages,
            "missing": self.missing,
            "kinds": kinds,
            "left_out": dict(self.left_out.most_common()),
        }


def counts(score: Score) -> dict[str, Any]:
    """Return the three counts of a score by name."""
    return {"expected": score.expected, "kept": score.kept, "written": score.written}


def measure(
    pages: Iterable[Page], options: Options, markdown_of: Converter, charset: str | None = None
) -> Iterator[Measured]:
    """Yield the measured pages one by one.

    Args:
      pages: what is measured.
      options: the profile and policies by which the pages were, or are now, converted.
      markdown_of: gives the Markdown that is judged.
      charset: encoding of pages that declare none.
    """
    for page in pages:
        source = read_source(text_of(page.content, charset), options)
        markdown = markdown_of(page)
        scores = compare(source, read_markdown(markdown or ""))
        yield Measured(page.name, scores, source.left_out, markdown is None)
