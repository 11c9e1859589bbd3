"""Where a run's state comes from: plans that it followed one after the other, a branch, operations on the state.

A lineage is a list of entries in the order in which they happened, stored in each checkpoint and in ``config.json``:

    {"kind": "plan", "step", "hash", "name"}                          from this step on the run follows this plan
    {"kind": "import", "step", "source", …}                           its weights come from elsewhere (``tootsie train import``)
    {"kind": "branch", "step", "run", "checkpoint", "plan"}           it began with that checkpoint of another run; with
                                                                      "rope_before" and "rope" where it changes the embedding
    {"kind": "operation", "step", "operation", "of", "reason", …}     a person changed the state (``tootsie train state``)

Runs with their branches make a directed graph; ``checkpoint`` and ``of`` are hashes of checkpoint records. Each plan is kept
in the run's folder, ``plans/<hash>.json``, so that a later one can be proved to have the same past.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.train import checkpoint
from tootsie.train.checkpoint import CheckpointRecord
from tootsie.train.run_file import BranchSettings, RunFile

Lineage = tuple[dict[str, Any], ...]

IMPORTED_AT = "0 steps"
"""Where a run branches off an imported model, which no plan has led to."""


class Start(NamedTuple):
    """What a run begins with."""

    record: CheckpointRecord | None  # The checkpoint; None: random weights, step 0.
    folder: str  # Folder of the checkpoints that it is among.
    own: bool  # Whether it is this run's, not that of the run it branches off.
    lineage: Lineage  # With what this start adds.


def start_of(run: RunFile, plan: Any, binding: dict[str, Any], tell: Callable[[str], None]) -> Start:
    """Return the newest good checkpoint of the run, or the one that it branches off, or nothing.

    Raises:
      ArtefactError: no checkpoint is good; it is of another model, precision or seed; or its plan has another past.
    """
    folder = storage.join(run.out, "checkpoints")
    record = checkpoint.newest_good(folder, tell)
    follows = {"kind": "plan", "hash": plan.hash, "name": plan.name}
    if record is not None:
        known = record.binding["plan"]
        if known is None:
            raise ArtefactError(
                "this folder holds an imported model",
                file=run.out,
                field="out",
                remedy=f"Choose another 'out', and write branch: {{run: {run.out}, at: {IMPORTED_AT}}}",
            )
        checkpoint.check_binding(binding | {"plan": known}, record, folder)
        lineage = record.lineage or ({**follows, "hash": known, "step": 0},)
        if known != plan.hash:
            _require_same_past(run.out, record, plan)
            lineage = (*lineage, {**follows, "step": record.step})
            tell(
                f"the plan is {plan.hash[:12]} now; up to step {record.step:,} it is the same as {known[:12]}"
            )
        return Start(record, folder, True, lineage)
    if run.branch is None:
        return Start(None, folder, True, ({**follows, "step": 0},))
    folder, record = parent_checkpoint(run.branch)
    # A branch may be computed in another precision and write other samples; the model must be the same.
    architecture, rope = binding["architecture"], _rope_of_branch(run.branch, record, binding, folder)
    if rope:
        architecture = architecture | {"rope": rope["rope_before"]}
    checkpoint.check_binding(record.binding | {"architecture": architecture}, record, folder)
    _require_same_past(run.branch.run, record, plan)
    known = record.binding["plan"]
    origin = {"run": run.branch.run, "checkpoint": record.hash, "plan": known, **rope}
    entries = [{"kind": "branch", "step": record.step, **origin}]
    if known != plan.hash:
        entries.append({**follows, "step": record.step})
    tell(f"branching off {run.branch.run} after step {record.step:,}{', with another rope' if rope else ''}")
    return Start(record, folder, False, (*record.lineage, *entries))


def _rope_of_branch(
    branch: BranchSettings, record: CheckpointRecord, binding: dict[str, Any], folder: str
) -> dict[str, Any]:
    """Return ``rope_before`` and ``rope``, what a branch says it changes, or nothing where it keeps the rotary embedding.

    Raises:
      ArtefactError: it changes and the branch does not say so.
      SpecError: it does not change and the branch says that it does.
    """
    before, after = record.binding["architecture"]["rope"], binding["architecture"]["rope"]
    difference = checkpoint.first_difference(before, after, "architecture.rope")
    if difference is None:
        if branch.change_rope:
            raise SpecError(
                "the checkpoint has this rotary embedding already", field="branch.change_rope", value=after
            )
        return {}
    if not branch.change_rope:
        raise ArtefactError(
            f"the checkpoint was made with {difference[1]!r}, this run has {difference[2]!r}",
            file=storage.join(folder, str(record.step)),
            field=difference[0],
            remedy="Undo the change; if the model is to learn its positions anew, write change_rope: true in 'branch'",
        )
    return {"rope_before": before, "rope": after}


def parent_checkpoint(branch: BranchSettings) -> tuple[str, CheckpointRecord]:
    """Return the folder and the record, verified, of the checkpoint that a branch begins with.

    Raises:
      SpecError: the parent's plan has no such point.
      ArtefactError: the parent has no checkpoint there, or it is damaged.
    """
    from tootsie.mixtures.branch import branch_step

    folder = storage.join(branch.run, "checkpoints")
    steps = checkpoint.steps_in(folder)
    if not steps:
        raise ArtefactError("the run to branch off has no checkpoint", file=folder, field="branch.run")
    known = checkpoint.read_record(folder, steps[0]).binding["plan"]
    if known is None:
        if branch.at != IMPORTED_AT:
            raise SpecError(
                "an imported model has one checkpoint",
                field="branch.at",
                value=branch.at,
                remedy=f"Write {IMPORTED_AT}",
            )
        return folder, checkpoint.verify(folder, 0)
    plan = kept_plan(branch.run, known)
    try:
        step = branch_step(branch.at, plan)
    except ValueError as error:
        raise SpecError(str(error), field="branch.at", value=branch.at) from None
    if step not in steps:
        near = ", ".join(f"{number:,}" for number in sorted(steps, key=lambda found: abs(found - step))[:5])
        raise ArtefactError(
            f"the run to branch off has no checkpoint of step {step:,}",
            file=folder,
            field="branch.at",
            value=branch.at,
            remedy=f"There are: {near}",
        )
    return folder, checkpoint.verify(folder, step)


def keep_plan(out: str, plan: Any) -> None:
    """Keep a copy of the plan in the folder of the run."""
    url = plan_url(out, plan.hash)
    if not storage.exists(url):
        plan.save(url)


def plan_url(out: str, plan_hash: str) -> str:
    """Return where the run in ``out`` keeps the plan with that hash."""
    return storage.join(out, "plans", f"{plan_hash}.json")


def kept_plan(out: str, plan_hash: str) -> Any:
    """Return a plan that the run in ``out`` has followed.

    Raises:
      ArtefactError: neither the run nor the path in its run file has it any more.
    """
    from tootsie.mixtures.plan import Plan

    url = plan_url(out, plan_hash)
    if storage.exists(url):
        return Plan.load(url)
    config = storage.join(out, "config.json")  # of a run from before plans were kept
    if storage.exists(config):
        url = json.loads(storage.read_bytes(config)).get("run", {}).get("plan", "")
        if url and storage.exists(url) and (plan := Plan.load(url)).hash == plan_hash:
            return plan
    raise ArtefactError(
        "the plan that the run has followed is not at hand, so another one can't be compared with it",
        file=plan_url(out, plan_hash),
        field="plan",
        value=plan_hash[:12],
        remedy="Restore it there, or train on with the plan as it was",
    )


def _require_same_past(out: str, record: CheckpointRecord, plan: Any) -> None:
    from tootsie.mixtures.comparison import require_same_past

    known = record.binding["plan"]
    if known is not None and known != plan.hash:  # no plan has led to an imported model
        require_same_past(kept_plan(out, known), plan, record.step)


def restore_state(start: Start, shapes: Any) -> Any:
    """Return the state of a start's checkpoint, in the structure of ``shapes`` (a ``TrainingState`` of shapes).

    Where the plan has come to keep an average and the checkpoint has none, the average starts from the weights of the
    checkpoint, as it would have had it been planned from the start. One that no phase keeps any more is dropped.

    Raises:
      ArtefactError: the checkpoint holds other arrays.
    """
    assert start.record is not None
    stored = shapes._replace(ema=shapes.params if start.record.has_average else None)
    state = checkpoint.restore(start.folder, start.record.step, stored)
    if shapes.ema is None:
        return state._replace(ema=None)
    return state if start.record.has_average else state._replace(ema=jax.tree.map(jnp.copy, state.params))
