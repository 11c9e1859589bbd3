"""Growth of the converter's CPU time and output on hostile pages: each at 1×, 2×, 4× and 8×, in a process of its own.

    python benchmarks/hostile.py [--profile web arxiv wikipedia stackexchange subclass] [--only WORD] [--unit 1.0] [--all]

A line for each page: MB of the largest, CPU seconds and MB of Markdown at the four sizes, the exponent *k* of seconds ~
size^k from 2× or from 4× to 8×, whichever is less (between sizes a guard may set in); the peak of memory. ``SLOW``: *k*
is above 1.3 (and 8× takes more than 50 ms). ``LONG``: the Markdown is more than 40 times the page. ``LOST``: the last
paragraph is missing. ``FAILED``: why there is no result. Without ``--all`` only marked lines are printed. The exit code
is 1 where there is one.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import sys
import time
from typing import Any

from hostile_pages import END, PAGES, SENTINEL  # this folder's

from tootsie.curate.markdownify import MarkdownConverter, convert

SIZES = (1, 2, 4, 8)
CASES: dict[str, dict[str, Any]] = {
    **{name: {"profile": name} for name in ("web", "arxiv", "wikipedia", "stackexchange")},
    "web, strict dollars": {"profile": "web", "dollars": "strict"},
    "web, other policies": {"profile": "web", "references": "drop", "links": "text", "images": "alt"},
    "arxiv, other policies": {"profile": "arxiv", "references": "drop", "links": "keep", "authors": True},
    "wikipedia, other policies": {
        "profile": "wikipedia",
        "references": "keep",
        "links": "keep",
        "exact": True,
    },
}
MEGABYTE = 2**20


class Subclass(MarkdownConverter):
    """Hooks for the commonest elements, each of which calls the base's."""


def _hook(name: str) -> Any:
    def hook(self: Any, el: Any, text: str, parent_tags: Any) -> Any:
        return getattr(MarkdownConverter, name)(self, el, text, parent_tags)

    return hook


for _tag in ("a", "b", "p", "div", "li", "td", "tr", "pre", "code", "blockquote", "img", "h1"):
    setattr(Subclass, f"convert_{_tag}", _hook(f"convert_{_tag}"))


def measure(page: str | bytes, case: str) -> tuple[float, int, bool]:
    """Return CPU seconds, bytes of Markdown, and whether the last paragraph is in it."""
    started = time.process_time()
    if case == "subclass":
        markdown = Subclass().convert(page)
    elif case == "package's options":
        markdown = MarkdownConverter(wrap=True, escape_misc=True, bullets="*").convert(page)
    else:
        markdown = convert(page, **CASES[case]).markdown
    return (
        time.process_time() - started,
        len(markdown.encode("utf-8", "replace")),
        SENTINEL in " ".join(markdown.split()),
    )


def _child(connection: Any, name: str, count: int, case: str) -> None:
    try:
        page = PAGES[name][1](count)
        page += END if isinstance(page, str) else END.encode()
        result = measure(page, case)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        connection.send((*result, len(page), peak / 1024))
    except BaseException as error:
        connection.send(f"{type(error).__name__}: {error}"[:100])


def in_process(name: str, count: int, case: str, limit: float) -> tuple[float, int, bool, int, float] | str:
    """Return what :func:`measure` found, the length of the page and the peak of memory in MiB; or the failure."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(theirs, name, count, case))
    process.start()
    theirs.close()
    try:
        result: Any = ours.recv() if ours.poll(limit) else f"more than {limit:.0f} s"
    except EOFError:
        result = "the process died"
    process.kill()
    process.join()
    return result


def line_of(name: str, case: str, unit: float, limit: float) -> tuple[str, bool]:
    """Return the line of the table for one page, and whether it is marked."""
    runs: list[tuple[float, int, bool, int, float]] = []
    for size in SIZES:
        found = in_process(name, max(1, int(PAGES[name][0] * unit * size)), case, limit)
        if isinstance(found, str):
            return f"{name:45.45} {case:14.14} FAILED at {size}×: {found}", True
        runs.append(found)
    seconds = [run[0] for run in runs]
    # Some pages grow faster than the number of their repetitions.
    exponent = min(
        math.log(max(seconds[3], 1e-4) / max(seconds[less], 1e-4))
        / math.log(max(SIZES[3] / SIZES[less], runs[3][3] / runs[less][3]))
        for less in (1, 2)
    )
    marks = []
    if exponent > 1.3 and seconds[3] > 0.05:
        marks.append("SLOW")
    if runs[3][1] > 40 * runs[3][3] + 1000:
        marks.append("LONG")
    if not all(run[2] for run in runs):
        marks.append("LOST")
    figures = " ".join(f"{value:7.3f}" for value in seconds)
    output = " ".join(f"{run[1] / MEGABYTE:6.2f}" for run in runs)
    line = f"{name:45.45} {case:14.14} {runs[3][3] / MEGABYTE:6.2f} {figures}  {output}  {exponent:5.2f}"
    return f"{line} {runs[3][4]:6.0f} {' '.join(marks)}", bool(marks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    choices = [*CASES, "subclass", "package's options"]
    parser.add_argument("--profile", nargs="+", choices=choices, default=["web"])
    parser.add_argument("--only", default="", help="pages whose name holds this")
    parser.add_argument("--unit", type=float, default=1.0, help="multiple of the pages' sizes")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one conversion")
    parser.add_argument("--all", action="store_true", help="print also lines without a mark")
    arguments = parser.parse_args()
    print(
        f"{'page':45} {'case':14} {'MB 8×':>6} {'CPU seconds at 1×, 2×, 4×, 8×':31}  {'MB of Markdown':27}  {'k':>5} {'MiB':>6}"
    )
    marked = total = 0
    for case in arguments.profile:
        for name in PAGES:
            if arguments.only in name:
                line, bad = line_of(name, case, arguments.unit, arguments.limit)
                marked += bad
                total += 1
                if bad or arguments.all:
                    print(line, flush=True)
    print(f"{total} growth lines, {marked} marked")
    sys.exit(1 if marked else 0)


if __name__ == "__main__":
    main()
