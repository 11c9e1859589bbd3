"""Beam's log, reduced to what a person at the terminal can use: a line each, no traceback that comes as an exception anyway."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

from tootsie.datasets import errors
from tootsie.datasets.errors import SpecError

JOB_LOGGERS = ("apache_beam.runners.portability.portable_runner", "apache_beam.runners.dataflow")
"""Loggers that report the state of a job elsewhere."""


@contextlib.contextmanager
def no_printed_traceback() -> Iterator[None]:
    """Keep Beam's worker code from printing a step's traceback: the exception that follows carries it."""
    from apache_beam.runners.worker import sdk_worker

    if "TOOTSIE_BEAM_LOG" in os.environ:
        yield
        return
    vars(sdk_worker)["print"] = lambda *_, **__: None
    try:
        yield
    finally:
        vars(sdk_worker).pop("print", None)


class _OneLine(logging.Formatter):
    """A log record as one line: level, logger, first line of the message; no traceback."""

    def format(self, record: logging.LogRecord) -> str:
        first = (record.getMessage().strip().splitlines() or [""])[0]
        return f"{record.levelname.lower()}: beam: {errors.shorten(first, 300)}"


class _CurrentStderr(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to whatever ``sys.stderr`` is at that moment."""

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        pass


class _NotBeamItself(logging.Filter):
    """Leaves out what Beam's modules log on the root logger while they are imported."""

    def filter(self, record: logging.LogRecord) -> bool:
        return f"{os.sep}apache_beam{os.sep}" not in record.pathname


def hush_imports() -> None:
    """Keep what Beam logs while it is imported off the terminal."""
    root = logging.getLogger()
    if not any(isinstance(item, _NotBeamItself) for item in root.filters):
        root.addFilter(_NotBeamItself())


def quiet_logging(*, in_process: bool = True) -> None:
    """Reduce Beam's log to one-line messages on stderr.

    In this process errors reach the caller as exceptions, so nothing below CRITICAL is printed; with other runners
    warnings are, and what :data:`JOB_LOGGERS` say of the state and address of the job.
    ``TOOTSIE_BEAM_LOG=DEBUG|INFO|WARNING|ERROR`` overrides it.
    """
    logger = logging.getLogger("apache_beam")
    level = os.environ.get("TOOTSIE_BEAM_LOG", "CRITICAL" if in_process else "WARNING").upper()
    if level not in logging.getLevelNamesMapping():
        raise SpecError(
            "not a log level", field="TOOTSIE_BEAM_LOG", value=level, remedy="DEBUG, INFO, WARNING or ERROR"
        )
    logger.setLevel(level)
    for name in JOB_LOGGERS:
        logging.getLogger(name).setLevel(
            logging.NOTSET if in_process or "TOOTSIE_BEAM_LOG" in os.environ else "INFO"
        )
    logger.propagate = False
    if not any(isinstance(handler, _CurrentStderr) for handler in logger.handlers):
        handler = _CurrentStderr()
        handler.setFormatter(_OneLine())
        logger.addHandler(handler)
