"""The command ``tootsie``: one verb for each stage, loaded only when it is used.

Every stage module named here has ``app``, a typer application, and is also runnable on its own
(``python -m tootsie.<stage>``). Exit codes: 0 whole, 2 user error (no traceback), 1 fault.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from tootsie.datasets.errors import EXIT_FAULT, EXIT_USER_ERROR, EXIT_WHOLE, UserError
from tootsie.datasets.terminal import printable

STAGES = {
    "curate": ("tootsie.curate.command", "Raw dumps to Markdown documents."),
    "data": ("tootsie.datasets.command", "Look at, list, fetch and verify datasets."),
    "tokenize": ("tootsie.tokenize.command", "Documents to a sharded Arrow token cache."),
    "mix": ("tootsie.mixtures.command", "Compile, show and trace a mixture plan."),
    "train": ("tootsie.train.command", "Train a model through the phases of a plan."),
    "report": ("tootsie.train.report.command", "One self-contained HTML page about a run."),
    "demo": ("tootsie.train.demo.command", "The whole way on the sample dumps, in minutes."),
}


_REMEDIES = {
    errno.ENOSPC: "Free some space and run the same command again",
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f), or choose another file system",
    errno.EDQUOT: "Free some space and run the same command again",
    errno.EACCES: "Check the permissions, or choose another path",
    errno.EPERM: "Check the permissions, or choose another path",
    errno.EROFS: "Choose a path that can be written to",
    errno.EEXIST: "A file stands where a folder is needed: choose another path",
    errno.ENOTDIR: "A file stands where a folder is needed: choose another path",
    errno.EMFILE: "Raise the limit on open files (ulimit -n), or use fewer workers",
    errno.ENFILE: "Close other programs, or use fewer workers",
    errno.EAGAIN: "Raise the limit on processes (ulimit -u), or use fewer workers",
    errno.ENOMEM: "Use fewer workers, or a machine with more memory",
    errno.E2BIG: "Start the command with fewer or shorter environment variables",
    errno.EISDIR: "A folder stands where a file is needed: choose another path",
}
"""What to do about an error of the operating system, by its number."""


class _LazyGroup(click.Group):
    """A click group whose commands are imported when they are called, so that ``--help`` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(STAGES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Any:
        if cmd_name not in STAGES:
            return None
        import typer.main

        return typer.main.get_command(importlib.import_module(STAGES[cmd_name][0]).app)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Stages"):
            formatter.write_dl([(verb, text) for verb, (_, text) in STAGES.items()])


def run_command(command: Any, arguments: Sequence[str] | None = None, name: str | None = None) -> int:
    """Run a click or typer command and return its exit code; user errors are printed without a traceback.

    Set ``TOOTSIE_TRACEBACK=1`` to see the traceback of a user error as well.
    """
    try:
        result = command.main(args=arguments, prog_name=name, standalone_mode=False)
    except UserError as error:
        if os.environ.get("TOOTSIE_TRACEBACK"):
            raise
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return EXIT_USER_ERROR
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return EXIT_FAULT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAULT
    except OSError as error:
        # A full disk, a missing permission, a file where a folder must be: the terminal's reader can mend it, we can't.
        if error.filename is None and error.errno not in _REMEDIES:
            raise
        if os.environ.get("TOOTSIE_TRACEBACK"):
            raise
        path = error.filename2 or error.filename  # the second is where a file was to be moved
        where = "" if path is None else f"{path}: "
        remedy = _REMEDIES.get(error.errno or 0, "Check the path")
        print(f"error: {where}{error.strerror}. {remedy}", file=sys.stderr)
        return EXIT_USER_ERROR
    except Exception as error:
        # Newer typer carries its own copy of click, whose exceptions are not those of the package.
        if type(error).__name__ == "Abort":
            print("interrupted", file=sys.stderr)
            return EXIT_FAULT
        if type(error).__name__ == "Exit":
            return int(getattr(error, "exit_code", EXIT_WHOLE))
        show = getattr(error, "show", None)
        if show is None or not hasattr(error, "exit_code"):
            raise
        show()
        return EXIT_USER_ERROR
    return result if isinstance(result, int) else EXIT_WHOLE


def open_closed_streams() -> None:
    """Let standard streams that are closed (``<&-``) be the null device.

    Else a file, a pipe or a socket opened next would get the number of one, and what is meant for the terminal would be
    written into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)  # noqa: SIM115 - it gets the lowest free number, which is that of the stream
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def run_stage(app: Any, name: str) -> None:
    """Entry point of ``python -m tootsie.<stage>``: run a typer application and exit with its code."""
    import typer.main

    open_closed_streams()
    sys.exit(run_command(typer.main.get_command(app), name=name))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tootsie")
def tootsie() -> None:
    """From raw dumps to Markdown corpora, token caches, a provable data mixture and a trained model."""


def main() -> None:
    """Entry point of the ``tootsie`` command."""
    open_closed_streams()
    sys.exit(run_command(tootsie, name="tootsie"))


if __name__ == "__main__":
    main()
