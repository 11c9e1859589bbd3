"""Changes that a person makes to the state of a run, as recorded operations: never by deleting or editing files.

An operation takes a checkpoint and writes another one of the same step in its place. The one before is kept beside it as
``replaced-<step>-<hash>``; the new one's lineage names that hash, the operation and the reason.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.train import checkpoint
from tootsie.train.architecture import Architecture
from tootsie.train.checkpoint import CheckpointRecord
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.step import TrainingState, make_init


class Operation(enum.StrEnum):
    """What can be done to a state."""

    RESET_MOMENTS = "reset-moments"
    """Adam's moments and its count of updates start from zero; the weights stay."""
    GRAFT = "graft"
    """Some parameters are taken from another checkpoint; their moments start from zero, their average from the new weights."""
    EMA_ON = "ema-on"
    """The average starts anew from the weights as they are."""


Change = tuple[TrainingState, dict[str, Any]]
"""The new state, and what the lineage says besides the operation."""


def load_state(folder: str, step: int | None) -> tuple[CheckpointRecord, TrainingState]:
    """Return a verified checkpoint with its arrays; no plan or data needed.

    Args:
      folder: of the checkpoints.
      step: of the checkpoint; ``None`` takes the newest.

    Raises:
      ArtefactError: there is no such checkpoint, or it is damaged.
    """
    steps = checkpoint.steps_in(folder)
    if not steps or (step is not None and step not in steps):
        near = ", ".join(f"{number:,}" for number in steps[:5])
        raise ArtefactError(
            "no checkpoint of that step",
            file=folder,
            field="step",
            value=step,
            remedy=f"There are: {near or 'none'}",
        )
    record = checkpoint.verify(folder, steps[0] if step is None else step)
    architecture = Architecture.model_validate(record.binding["architecture"])
    model = build(
        architecture, Execution(record.binding["compute_dtype"], LayerLoop(record.binding["layer_loop"]))
    )
    shapes = jax.eval_shape(make_init(model, record.has_average), jax.random.key(0))
    return record, checkpoint.restore(folder, record.step, shapes)


def reset_moments(state: TrainingState) -> Change:
    """Return the state with the optimizer's moments and count at zero."""
    return state._replace(opt_state=jax.tree.map(jnp.zeros_like, state.opt_state)), {}


def ema_on(state: TrainingState) -> Change:
    """Return the state with an average that starts from the weights."""
    return state._replace(ema=jax.tree.map(jnp.copy, state.params)), {"had_average": state.ema is not None}


def graft(state: TrainingState, donor: Any, pattern: str) -> Change:
    """Return the state with the parameters that match ``pattern`` taken from ``donor``.

    Args:
      state: of the run.
      donor: a parameter tree.
      pattern: regular expression that the whole name, ``module/parameter``, must match.

    Raises:
      SpecError: the pattern is not valid, matches nothing, or a match has another shape in the donor.
    """
    try:
        matches = re.compile(pattern).fullmatch
    except re.error as error:
        raise SpecError(f"not a regular expression: {error}", field="--parameters", value=pattern) from None
    names = [f"{module}/{name}" for module, leaves in state.params.items() for name in leaves]
    chosen = [name for name in names if matches(name)]
    if not chosen:
        raise SpecError(
            "no parameter has such a name",
            field="--parameters",
            value=pattern,
            remedy=f"There are: {', '.join(names[:8])}, …",
        )
    for full in chosen:
        module, _, name = full.rpartition("/")
        wanted, found = (
            state.params[module][name].shape,
            getattr(donor.get(module, {}).get(name), "shape", None),
        )
        if wanted != found:
            raise SpecError(
                f"{full} is {list(wanted)} here and {found and list(found)} there", field="--from"
            )

    def replaced(tree: Any, by: Callable[[str, str, Any], Any]) -> Any:
        return {
            module: {
                name: by(module, name, leaf) if f"{module}/{name}" in chosen else leaf
                for name, leaf in leaves.items()
            }
            for module, leaves in tree.items()
        }

    def from_donor(module: str, name: str, leaf: Any) -> Any:
        return jnp.copy(donor[module][name])

    def forgotten(module: str, name: str, leaf: Any) -> Any:
        return jnp.zeros_like(leaf)

    opt_state = state.opt_state
    for moment in ("mu", "nu"):
        opt_state = optax.tree.set(
            opt_state, **{moment: replaced(optax.tree.get(opt_state, moment), forgotten)}
        )
    params, ema = replaced(state.params, from_donor), state.ema and replaced(state.ema, from_donor)
    return TrainingState(params, opt_state, ema), {"parameters": chosen}


def operate(
    out: str,
    operation: Operation,
    reason: str,
    change: Callable[[TrainingState], Change],
    origin: dict[str, Any] | None = None,
) -> CheckpointRecord:
    """Apply ``change`` to the newest checkpoint of the run in ``out``; return the record of the new one.

    To change an older one, start a branch there. Nobody may be training in the folder: hold it with ``sole_writer``.

    Args:
      out: folder of the run.
      operation: what it is called.
      reason: why, for whoever reads the lineage.
      change: from state to state.
      origin: further fields of the lineage's entry.

    Raises:
      ArtefactError: there is no such checkpoint, or it is damaged.
      SpecError: no reason is given.
    """
    if not reason.strip():
        raise SpecError(
            "an operation needs a reason", field="--reason", remedy="Write why, for whoever reads the report"
        )
    folder = storage.join(out, "checkpoints")
    checkpoint.end_replacing(folder)
    record, state = load_state(folder, None)
    state, told = change(state)
    entry = {
        "kind": "operation",
        "step": record.step,
        "operation": operation.value,
        "of": record.hash,
        "reason": reason,
    }
    new = record.model_copy(
        update={
            "lineage": (*record.lineage, {**entry, **(origin or {}), **told}),
            "averaged": state.ema is not None,
            "temporary": False,
            "files": {},
        }
    )
    return checkpoint.replace(folder, state, new, record)
