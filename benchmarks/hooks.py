"""CPU time of a ``MarkdownConverter`` subclass with hooks: over this engine, and over the ``markdownify`` package's.

    python benchmarks/hooks.py [--data ../shared/data] [--rounds 3]

Both have the same subclass: one hook for links, or hooks for links, items and cells too, each calling the base's method. A round
takes both in turn on the same pages; the table shows the median of the rounds.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import pages  # this folder's

from tootsie.curate import markdownify as tootsie

# This folder has a file of the package's name: from here on it must not come first on the path.
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]
package: Any = importlib.import_module("markdownify")
MEGABYTES = 1.0


def one_hook(base: Any) -> Any:
    class Links(base):  # type: ignore[misc]
        def convert_a(self, el: Any, text: str, parent_tags: Any) -> Any:
            return super().convert_a(el, text, parent_tags)

    return Links


def many_hooks(base: Any) -> Any:
    class Several(one_hook(base)):  # type: ignore[misc]
        def convert_li(self, el: Any, text: str, parent_tags: Any) -> Any:
            return super().convert_li(el, text, parent_tags)

        def convert_td(self, el: Any, text: str, parent_tags: Any) -> Any:
            return super().convert_td(el, text, parent_tags)

        def convert_p(self, el: Any, text: str, parent_tags: Any) -> Any:
            return super().convert_p(el, text, parent_tags)

    return Several


def seconds(converter: Any, documents: list[str]) -> float:
    started = time.process_time()
    for document in documents:
        converter(heading_style="ATX").convert(document)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    pages.add_option(parser)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    sets = {
        "LaTeXML": [page for page in pages.arxiv(arguments.data) if 500 < len(page) < 2_000_000],
        "Wikipedia": pages.wikipedia(arguments.data),
        "StackExchange": pages.stackexchange(arguments.data),
        "web": pages.web(arguments.data),
    }
    print(f"{'pages':15} {'hooks':7} {'documents':>9} {'package s':>10} {'here s':>8} {'ratio':>6}")
    for name, documents in sets.items():
        if not documents:
            continue
        chosen = pages.spread(documents, MEGABYTES)
        for label, make in (("none", lambda base: base), ("one", one_hook), ("four", many_hooks)):
            taken = [
                (
                    seconds(make(package.MarkdownConverter), chosen),
                    seconds(make(tootsie.MarkdownConverter), chosen),
                )
                for _ in range(arguments.rounds)
            ]
            theirs, ours = (statistics.median(column) for column in zip(*taken, strict=True))
            print(
                f"{name:15} {label:7} {len(chosen):9,} {theirs:10.2f} {ours:8.2f} {theirs / ours:6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
