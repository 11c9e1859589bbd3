"""Options of the curate commands: what they are called, what they say in ``--help``, what their values may be."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

REFERENCES = ("keep", "cite-keys", "drop")

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="IN... OUT", help="Files, folders, globs, brace ranges or URLs; the output folder last."
    ),
]
Shards = Annotated[
    int | None, typer.Option(help="Output files. Default: one for each 64 MiB of source, a multiple of 4.")
]
Limit = Annotated[int | None, typer.Option(help="Read only the first N records.")]
Seed = Annotated[int, typer.Option(help="Spreads the documents over the output files.")]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Worker processes on this machine; 0 means one for each core. Default: none, this process works."
    ),
]
Added = Annotated[
    str | None,
    typer.Option(help="Date (YYYY-MM-DD) for the field 'added' of every document.", metavar="DATE"),
]
MaxFailures = Annotated[
    float, typer.Option(help="Share of records whose conversion may fail before the run does.")
]
MaxBytes = Annotated[
    int, typer.Option(help="Longest source of one document in bytes; longer ones are dropped.", min=1)
]
TimeLimit = Annotated[
    float,
    typer.Option(help="Seconds of CPU time that the conversion of a document may take; 0: any.", min=0),
]
MemoryLimit = Annotated[
    int, typer.Option(help="MiB of memory that the conversion of a document may take; 0: any.", min=0)
]
AllowEmpty = Annotated[
    bool, typer.Option("--allow-empty", help="Accept that no document is left, which else is an error.")
]
SampleDroppedText = Annotated[
    int,
    typer.Option(
        help="Of about one document in N, write down in rejects/ what the converter left out; 0: of none.",
        min=0,
        metavar="N",
    ),
]
MinCharacters = Annotated[int, typer.Option(help="Shortest text that is kept.", min=0)]
MaxCharacters = Annotated[int | None, typer.Option(help="Longest text that is kept.", min=1)]
Languages = Annotated[
    str | None, typer.Option(help="Languages that are kept: ISO 639 codes, as in en,de.", metavar="LIST")
]
Licences = Annotated[
    str | None,
    typer.Option(
        help="Licences that are kept, as in CC-BY-4.0,CC0-1.0 (see metadata.license).", metavar="LIST"
    ),
]
MaxErrorDensity = Annotated[
    float | None, typer.Option(help="Most LaTeXML errors for each 1,000 words of text.", min=0)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be read and written, and stop.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Delete what an earlier run left in the output folder.")
]


def date(text: str | None) -> str | None:
    """Return the date in ISO 8601.

    Raises:
      SpecError: it is none.
    """
    import datetime

    from tootsie.datasets.errors import SpecError

    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise SpecError("not a date", field="--added", value=text, remedy="Write it as YYYY-MM-DD") from None


def choice(option: str, value: str, choices: Sequence[str]) -> str:
    """Return ``value``.

    Raises:
      SpecError: it is none of ``choices``.
    """
    from tootsie.datasets.errors import SpecError

    if value not in choices:
        raise SpecError(f"must be {', '.join(choices[:-1])} or {choices[-1]}", field=option, value=value)
    return value


def share(option: str, value: float) -> float:
    """Return ``value``.

    Raises:
      SpecError: it is not between 0 and 1.
    """
    from tootsie.datasets.errors import SpecError

    if not 0 <= value <= 1:
        raise SpecError("must be a share between 0 and 1", field=option, value=value)
    return value


def policy(option: str, value: str) -> bool:
    """Return whether ``value`` is ``keep``.

    Raises:
      SpecError: it is not ``drop`` either.
    """
    return choice(option, value, ("keep", "drop")) == "keep"


def host(site: str | None) -> str | None:
    """Return the host name.

    Raises:
      SpecError: it is none.
    """
    from tootsie.datasets.errors import SpecError

    if site is not None and not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", site):
        raise SpecError(
            "not a host name", field="--site", value=site, remedy="Write it as math.stackexchange.com"
        )
    return site


def several(option: str, text: str | None, pattern: str, kind: str) -> tuple[str, ...]:
    """Return the values of a list with commas, sorted; ``kind`` says what they are, and gives an example.

    Raises:
      SpecError: one of them does not match ``pattern``.
    """
    from tootsie.datasets.errors import SpecError

    if text is None:
        return ()
    values = [value.strip() for value in text.split(",")]
    for value in values:
        if not re.fullmatch(pattern, value):
            raise SpecError("not in a list with commas", field=option, value=value, remedy=f"Write {kind}")
    return tuple(sorted(set(values)))


def workers_ahead(*modules: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let the workers of a command be copies of a process that imports its modules while the command does.

    Args:
      modules: what the workers import.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(*args: Any, **options: Any) -> None:
            from tootsie.datasets import fork_server

            with fork_server.workers_ahead(None if options.get("dry_run") else options.get("workers")):
                for module in modules:
                    fork_server.preload(importlib.import_module, module)
                command(*args, **options)

        return run

    return decorate
