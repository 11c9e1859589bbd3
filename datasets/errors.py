"""The one exception family for faults that the reader of the terminal can mend.

Every stage raises :class:`UserError` (or a subclass) for bad input: a file, record, field or setting that is
not what it must be. The command line prints it without a traceback and exits with code 2; any other
exception is a fault of ours and exits with code 1.
"""

from __future__ import annotations

import re

EXIT_WHOLE = 0
EXIT_FAULT = 1
EXIT_USER_ERROR = 2

_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]{1,300}(?=@)")
"""User and password in a URL: a message never repeats them, for it goes to logs."""


class UserError(Exception):
    """Bad input, described for the person who can mend it.

    Args:
      problem: what is wrong, one sentence without a final full stop.
      file: the file, URL or artefact at fault, with ``:line`` where it is known.
      field: the record, key or option at fault.
      value: the value that was found.
      remedy: what to do about it.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: object = None,
        field: str | None = None,
        value: object = None,
        remedy: str | None = None,
    ) -> None:
        self.problem = problem
        self.file = None if file is None else str(file)
        self.field = field
        self.value = value
        self.remedy = remedy
        super().__init__(problem)

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments survive pickling, so that an error raised in a worker process arrives whole.
        state = {"file": self.file, "field": self.field, "value": self.value, "remedy": self.remedy}
        return _rebuild, (type(self), self.problem, state)

    def __str__(self) -> str:
        where = self.file or ""
        if self.field:
            where = f"{where}: {self.field}" if where else self.field
        text = f"{where}: {self.problem}" if where else self.problem
        if self.value is not None:
            text += f" (found {shorten(repr(self.value))})"
        return _CREDENTIALS.sub("***", f"{text}. {self.remedy}" if self.remedy else text)


class ArtefactError(UserError):
    """An artefact on disk (manifest, cache, plan, checkpoint) is missing, incomplete, damaged or foreign."""


class InputError(UserError):
    """A raw input file is truncated, damaged, of another format, or over a limit."""


class SpecError(UserError):
    """A spec, run file or option has a value that cannot be used."""


def _rebuild(kind: type[UserError], problem: str, state: dict[str, object]) -> UserError:
    return kind(problem, **state)  # type: ignore[arg-type]


def shorten(text: str, limit: int = 200) -> str:
    """Cut ``text`` to at most ``limit`` characters, with an ellipsis where something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
