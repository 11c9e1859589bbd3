"""What a running trainer tells its user: lines, and on a terminal a bar below them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Display(NamedTuple):
    """Where a trainer's messages go."""

    tell: Callable[[str], None]
    """Takes one line."""
    advance: Callable[[int], None]
    """Takes the number of updates done so far."""


SILENT = Display(lambda line: None, lambda steps: None)
"""For a process that is not to say anything."""


@contextlib.contextmanager
def display(total_steps: int) -> Iterator[Display]:
    """Yield a display: plain lines on standard output, and on a terminal a bar with step, speed and time left.

    Args:
      total_steps: updates in the whole plan.
    """
    if not sys.stdout.isatty():
        yield Display(lambda line: print(line, flush=True), lambda _: None)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("steps"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, transient=True) as progress:
        task = progress.add_task("training", total=total_steps)
        yield Display(
            lambda line: progress.console.print(line, markup=False, highlight=False),
            lambda steps: progress.update(task, completed=steps),
        )
