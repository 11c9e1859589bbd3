"""A run in one process, or in several that begin and end together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import xxhash

from tootsie.datasets.errors import SpecError
from tootsie.train.host_watch import HostSettings, require_agreement, require_shared, together
from tootsie.train.inputs import Inputs
from tootsie.train.loop import Summary, train
from tootsie.train.run_file import RunFile

_PLACES = {"plan", "out", "caches", "evaluation", "branch"}
"""Settings that hold paths, which may be spelled differently on another host; their content is compared instead."""


def train_together(
    run: RunFile,
    open_all: Callable[[], Inputs],
    settings: HostSettings,
    limit: int | None = None,
    file: str | None = None,
) -> Summary:
    """Train ``run``; return how it ended.

    Args:
      run: the run file, paths resolved.
      open_all: opens what it reads.
      settings: how the processes find each other.
      limit: stop after that many steps, with a checkpoint.
      file: the run file, for messages.

    Raises:
      UserError: as :func:`tootsie.train.loop.train`; a process differs from the first; ``out`` is held by another trainer, or
        is not shared. In several processes all end, with the same message.
    """
    from tootsie.datasets.sole_writer import sole_writer
    from tootsie.train import hosts
    from tootsie.train.interrupt import leaving_at_once
    from tootsie.train.progress import SILENT, display
    from tootsie.train.supervisor import note_progress

    with together(settings) as company, contextlib.ExitStack() as stack:
        inputs = open_all()
        require_agreement(identity_of(run, inputs, limit))
        if hosts.is_first():
            stack.enter_context(sole_writer(run.out))
        require_shared(run.out)
        stack.enter_context(leaving_at_once(company.fail))
        shown = stack.enter_context(display(inputs.plan.total_steps)) if hosts.is_first() else SILENT

        def advance(steps: int) -> None:
            company.advanced()
            note_progress(steps)
            shown.advance(steps)

        with _settings_of(file):
            return train(run, inputs, shown.tell, limit, advance)


@contextlib.contextmanager
def _settings_of(file: str | None) -> Iterator[None]:
    """Name the run file in the refusal of a setting, which may come from code that knows only its value."""
    try:
        yield
    except SpecError as error:
        if error.file is None and (error.field or "").partition(".")[0] in RunFile.model_fields:
            error.file = file
        raise


def identity_of(run: RunFile, inputs: Inputs, limit: int | None) -> dict[str, Any]:
    """Return all that must be the same in every process of a run, as JSON values."""
    import jax

    from tootsie.datasets.provenance import code_version
    from tootsie.train.resolved import versions

    settings = run.model_dump(mode="json")
    held_out = {}
    for data in inputs.held_out:
        digest = xxhash.xxh3_128()
        for array in (data.inputs, data.targets, data.segment_ids, data.scored):
            digest.update(array.tobytes())
        held_out[data.name] = digest.hexdigest()
    evaluation = {name: value for name, value in settings["evaluation"].items() if name != "sets"}
    return {
        "code": {stage: code_version(stage) for stage in ("train", "mixtures", "tokenize", "datasets")},
        "versions": versions(),
        "plan": inputs.plan.hash,
        "run": {name: value for name, value in settings.items() if name not in _PLACES},
        "evaluation": evaluation | {"sets": held_out},
        "limit": limit,
        "backend": jax.default_backend(),
        "devices": jax.local_device_count(),
    }
