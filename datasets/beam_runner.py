"""Run a Beam pipeline the way every Tootsie command does: options, runner, quiet logs, honest errors.

Example::

    paths, beam_arguments = beam_runner.split_arguments(context_args)   # at the edge, from the command line
    options = beam_runner.pipeline_options(beam_arguments, workers=2)
    beam_runner.run(lambda pipeline: pipeline | beam.Create([1, 2]) | beam.Map(print), options)

``DirectRunner`` (the default) is mapped to the in-process ``FnApiRunner``. Beam's own default of that name first tries to
download and start the Prism binary; a run that needs no network must not depend on one. Every other runner
(``PortableRunner``, ``FlinkRunner``, ``SparkRunner``, ``DataflowRunner`` …) gets its options as they are.
"""

from __future__ import annotations

import argparse
import copy
import difflib
import errno
import functools
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tootsie.datasets import beam_logging, errors, fork_server, interruption
from tootsie.datasets.errors import SpecError, UserError

if TYPE_CHECKING:
    from apache_beam import Pipeline
    from apache_beam.options.pipeline_options import PipelineOptions

IN_PROCESS_RUNNERS = {"", "directrunner", "direct", "fnapirunner"}
"""Runner names (lower case, without module path) that mean this machine."""

_USER_ERROR = re.compile(r"^(?:RuntimeError: )?tootsie\.datasets\.errors\.(\w+): (.*)$", re.MULTILINE)
_STEP = re.compile(r" \[while running '[^']*'\]")
_SYSTEM_ERROR = re.compile(
    r"^(?:builtins\.)?(?:RuntimeError: )?(?:OSError|PermissionError|BlockingIOError): "
    r"\[Errno (\d+)\] ([^:\n]+)(?:: '([^'\n]+)')?$",
    re.MULTILINE,
)
_MENDABLE = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS)
    + (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.E2BIG)
)
"""Errors of the operating system that are no fault of a program."""


def _beam_parser() -> argparse.ArgumentParser:
    """Return a parser of all options that Beam knows (no abbreviations)."""
    beam_logging.hush_imports()
    from apache_beam.options import pipeline_options as beam_options

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise SpecError(f"Beam does not accept these options: {message}")

    parser = Parser(allow_abbrev=False, add_help=False, conflict_handler="resolve")
    for kind in dict.fromkeys(beam_options.PipelineOptions.__subclasses__()):
        if kind.__module__.startswith("apache_beam.options."):
            kind._add_argparse_args(parser)  # type: ignore[attr-defined,arg-type]
    return parser


def split_arguments(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate the paths on a command line from the options that are meant for Beam.

    Args:
      tokens: what the command's own parser left over, in the order given; a bare ``--`` is ignored.

    Returns:
      The paths, and the Beam options with their values.
    """
    paths: list[str] = []
    beam: list[str] = []
    flags: set[str] | None = None
    rest = [token for token in tokens if token != "--"]
    while rest:
        token = rest.pop(0)
        if not token.startswith("-") or token == "-":
            paths.append(token)
            continue
        beam.append(token)
        if "=" in token or not rest or rest[0].startswith("--"):
            continue
        if flags is None:
            flags = {
                name
                for action in _beam_parser()._actions
                if action.nargs == 0
                for name in action.option_strings
            }
        if token not in flags:
            beam.append(rest.pop(0))
    return paths, beam


def pipeline_options(
    arguments: Sequence[str],
    *,
    workers: int | None = None,
    job_name: str = "tootsie",
    own_options: Sequence[str] = (),
) -> PipelineOptions:
    """Return Beam's options for ``arguments``.

    Args:
      arguments: options for Beam and its runner, as on a command line.
      workers: worker processes on this machine; the same as ``--direct_running_mode=multi_processing
        --direct_num_workers=N`` (0 means one for each core). ``None`` or 1 stays in this process.
      job_name: name of the job where the runner shows one.
      own_options: options of the command itself, to be suggested for one that is mistyped.

    Raises:
      SpecError: an option that Beam does not know, or ``workers`` together with another runner.
    """
    beam_logging.hush_imports()
    from apache_beam.options.pipeline_options import (
        DirectOptions,
        GoogleCloudOptions,
        PipelineOptions,
        SetupOptions,
    )

    parser = _beam_parser()
    _, unknown = parser.parse_known_args(list(arguments))
    options = PipelineOptions(list(arguments))
    in_process = is_in_process(options)
    flags = [token for token in unknown if token.startswith("-")]
    if unknown and (in_process or "dataflow" in _runner_name(options)):
        name = (flags or unknown)[0].split("=", 1)[0]
        known = [*own_options, *(option for action in parser._actions for option in action.option_strings)]
        near = difflib.get_close_matches(name, known, n=1)
        raise SpecError(
            "neither this command nor Beam has such an option",
            field=name,
            remedy=f"Did you mean {near[0]}?" if near else "See --help, and Beam's pipeline options",
        )
    if workers is not None:
        if workers < 0:
            raise SpecError("must be 0 (one for each core) or more", field="--workers", value=workers)
        if not in_process:
            raise SpecError(
                "only means something on this machine",
                field="--workers",
                value=workers,
                remedy=f"Use the options of {_runner_name(options)}, or leave --runner out",
            )
        workers = workers or os.cpu_count() or 1
        direct = options.view_as(DirectOptions)
        direct.direct_num_workers = workers
        direct.direct_running_mode = "multi_processing" if workers > 1 else "in_memory"
    if not in_process:
        cloud = options.view_as(GoogleCloudOptions)
        cloud.job_name = cloud.job_name or re.sub(r"[^a-z0-9-]+", "-", job_name.lower()).strip("-")
    # Steps live in importable modules; pickling the main session would only tie workers to this machine's command line.
    options.view_as(SetupOptions).save_main_session = False
    return options


def _runner_name(options: PipelineOptions) -> str:
    from apache_beam.options.pipeline_options import StandardOptions

    return str(options.view_as(StandardOptions).runner or "").rsplit(".", 1)[-1].lower()


def is_in_process(options: PipelineOptions) -> bool:
    """Return whether ``options`` mean this machine's built-in runner."""
    return _runner_name(options) in IN_PROCESS_RUNNERS


def worker_count(options: PipelineOptions) -> int | None:
    """Return the worker processes on this machine, or ``None`` where another runner decides."""
    from apache_beam.options.pipeline_options import DirectOptions

    if not is_in_process(options):
        return None
    return int(options.view_as(DirectOptions).direct_num_workers or os.cpu_count() or 1)


def make_pipeline(options: PipelineOptions) -> Pipeline:
    """Return an empty pipeline on the runner that ``options`` name."""
    beam_logging.hush_imports()
    import apache_beam as beam

    if not is_in_process(options):
        return beam.Pipeline(options=options)
    from apache_beam.options.pipeline_options import DirectOptions
    from apache_beam.runners.portability.fn_api_runner import FnApiRunner
    from apache_beam.transforms.environments import SubprocessSDKEnvironment

    environment = None
    if options.view_as(DirectOptions).direct_running_mode == "multi_processing":
        server = fork_server.current()
        command = (
            fork_server.worker_command(sys.executable, "-m", "tootsie.datasets.beam_worker")
            if server is None
            else server.command
        )
        _register_handler()
        environment = SubprocessSDKEnvironment.from_command_string(command)
        options = copy.deepcopy(options)
        # With its own name for the mode, FnApiRunner would put its worker command in the place of ours.
        options.view_as(DirectOptions).direct_running_mode = "worker_processes"
    return beam.Pipeline(runner=FnApiRunner(default_environment=environment), options=options)


@functools.cache
def _register_handler() -> None:
    """Put a handler of worker processes in the place of Beam's; see :mod:`tootsie.datasets.beam_handler`."""
    from apache_beam.portability import python_urns
    from apache_beam.runners.portability.fn_api_runner import worker_handlers

    from tootsie.datasets.beam_handler import Handler

    worker_handlers.WorkerHandler.register_environment(python_urns.SUBPROCESS_SDK, bytes)(Handler)


def run(build: Callable[[Pipeline], Any], options: PipelineOptions) -> None:
    """Build a pipeline, run it and wait for its end.

    Args:
      build: adds the steps to the pipeline it is given.
      options: from :func:`pipeline_options`.

    Raises:
      UserError: a step raised one in a worker; its kind and message are kept.
      OSError: a disk was full or a file not to be read or written, in a worker.
      KeyboardInterrupt: the run was interrupted.
      RuntimeError: a step failed otherwise, with the worker's traceback.
    """
    beam_logging.quiet_logging(in_process=is_in_process(options))
    try:
        pipeline = make_pipeline(options)
        build(pipeline)
        with interruption.prompt_interrupt() as interrupted, beam_logging.no_printed_traceback():
            try:
                state = pipeline.run().wait_until_finish()
            except Exception:
                if interrupted.is_set():  # Beam reports one inside a step as the fault of that step
                    raise KeyboardInterrupt from None
                raise
    except UserError as error:
        raise _innermost(error) from None
    except Exception as error:
        text = f"{type(error).__module__}.{type(error).__name__}: {error}"
        mended: Exception | None = user_error_in(text) or _setup_fault(error) or system_error_in(text)
        mended = mended or _lost_worker(error)
        if mended is not None:
            raise mended from None
        raise
    if state != "DONE":
        raise RuntimeError(f"the Beam job ended as {state}; the runner's log says why")


def _innermost(error: UserError) -> UserError:
    """Return the user error as it was raised: Beam raises a copy that has only the message and names the step."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, UserError):
            error = found
        found = found.__context__
    return error


def user_error_in(text: str) -> UserError | None:
    """Return the first user error that a worker's traceback reports, or ``None``.

    Runners hand exceptions of workers on as text, so the kind and the full message survive, its parts do not.
    """
    for kind, message in _USER_ERROR.findall(text):
        found = getattr(errors, kind, None)
        if isinstance(found, type) and issubclass(found, UserError):
            return found(_STEP.sub("", message).rstrip())
    return None


def system_error_in(text: str) -> OSError | None:
    """Return the first error of the operating system that a worker's traceback reports and a user can mend, or ``None``."""
    for number, message, path in _SYSTEM_ERROR.findall(_STEP.sub("", text)):
        if int(number) in _MENDABLE:
            return OSError(int(number), message, path or None)
    return None


def _lost_worker(error: Exception) -> UserError | None:
    from tootsie.datasets.beam_handler import LOST_WORKER, lost_worker

    return lost_worker() if LOST_WORKER in str(error) else None


def _setup_fault(error: Exception) -> UserError | None:
    """Return what Beam says of missing options or packages as a user error, ``None`` for other faults."""
    text = str(error)
    if isinstance(error, ImportError) and "apache_beam[gcp]" in text:
        return SpecError(
            "the Dataflow runner needs Google's packages", remedy="pip install 'tootsie[dataflow]'"
        )
    if isinstance(error, ValueError) and text.startswith("Unexpected pipeline runner: "):
        name, _, valid = text.removeprefix("Unexpected pipeline runner: ").partition(". ")
        return SpecError("Beam has no such runner", field="--runner", value=name, remedy=valid.rstrip("."))
    if isinstance(error, ValueError) and text.startswith("Pipeline has validations errors"):
        problems = "; ".join(line.strip().rstrip(".") for line in text.splitlines()[1:] if line.strip())
        return SpecError(
            f"the runner's options do not suffice: {problems}", remedy="See Beam's page on that runner"
        )
    return None
