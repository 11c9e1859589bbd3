"""The weights of a finished checkpoint, for export and sampling; no plan or data needed."""

from __future__ import annotations

import enum
import json
from typing import Any, NamedTuple

import haiku as hk
import jax

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.train import checkpoint
from tootsie.train.architecture import Architecture
from tootsie.train.checkpoint import CheckpointRecord
from tootsie.train.export import ExportDtype, write_export
from tootsie.train.llama_config import SpecialTokens
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.step import make_init


class WeightKind(enum.StrEnum):
    """Which of the two sets of weights."""

    HOT = "hot"
    """As the optimizer left them."""
    EMA = "ema"
    """Their exponential moving average."""


class Weights(NamedTuple):
    """Weights with what is needed to use them."""

    params: Any  # The parameter tree.
    kind: WeightKind  # Which they are.
    model: hk.Transformed  # The model they fit.
    architecture: Architecture  # Its sizes.
    record: CheckpointRecord  # The checkpoint they come from.


def weight_kind(name: str | None) -> WeightKind | None:
    """Return the kind that an option names; ``None`` for none.

    Raises:
      SpecError: there is no such kind.
    """
    if name is not None and name not in set(WeightKind):
        raise SpecError("no such weights", field="--weights", value=name, remedy="Use hot or ema")
    return None if name is None else WeightKind(name)


def load_weights(out: str, step: int | None, kind: WeightKind | None) -> Weights:
    """Read the weights of the run whose folder is ``out``.

    Args:
      out: folder of the run.
      step: of the checkpoint; ``None`` takes the newest.
      kind: ``None`` takes the average where the phase keeps one, else hot.

    Raises:
      ArtefactError: no such checkpoint, or it is damaged.
      SpecError: averages were asked for and the phase keeps none.
    """
    folder = storage.join(out, "checkpoints")
    steps = checkpoint.steps_in(folder)
    if not steps:
        raise ArtefactError(
            "no finished checkpoint", file=folder, remedy="Give the folder that a run file calls 'out'"
        )
    if step is not None and step not in steps:
        near = ", ".join(f"{number:,}" for number in sorted(steps, key=lambda found: abs(found - step))[:5])
        raise ArtefactError(
            "no checkpoint of that step", file=folder, field="step", value=step, remedy=f"There are: {near}"
        )
    record = checkpoint.verify(folder, steps[0] if step is None else step)
    architecture = Architecture.model_validate(record.binding["architecture"])
    execution = Execution(record.binding["compute_dtype"], LayerLoop(record.binding["layer_loop"]))
    model = build(architecture, execution)
    phases = {phase["name"]: phase["settings"]["ema_beta"] is not None for phase in record.config["phases"]}
    kept = record.has_average and phases.get(record.phase, False)  # of an import there are no phases
    if kind is None:
        kind = WeightKind.EMA if kept else WeightKind.HOT
    if kind is WeightKind.EMA and not kept:
        raise SpecError(
            "this phase keeps no average", file=folder, field="weights", value=record.phase, remedy="Use hot"
        )
    shapes = jax.eval_shape(make_init(model, record.has_average), jax.random.key(0))
    state = checkpoint.restore(folder, record.step, shapes)
    return Weights(state.params if kind is WeightKind.HOT else state.ema, kind, model, architecture, record)


def export_weights(out: str, loaded: Weights, dtype: ExportDtype) -> int:
    """Export weights to the folder ``out``; return how many of them were rounded. See :func:`write_export`."""
    config = loaded.record.config
    identity, plan = config["tokenizer"], config["plan"]
    origin: dict[str, Any] = {
        "weights": loaded.kind.value,
        "step": loaded.record.step,
        "tokens": loaded.record.tokens,
        "plan": plan and {key: plan[key] for key in ("name", "hash")},
        "tokenizer": identity and {key: identity[key] for key in ("name", "fingerprint")},
    }
    special = SpecialTokens(None, None)
    if identity is not None:
        special = SpecialTokens(identity["bos_id"] if identity["add_bos"] else None, identity["eos_id"])
    if plan is None:
        origin["imported"] = config["imported"]
        longest = config["imported"]["longest_sequence"] or 2048  # what transformers takes for a missing one
    else:
        longest = plan.get("longest_sequence", plan["sequence_length"])  # Runs of before had one length.
    return write_export(out, loaded.params, loaded.architecture, longest, special, origin, dtype)


def tokenizer_location(out: str) -> str | None:
    """Return the URL of the ``tokenizer.json`` that came with an imported model, or ``None``."""
    url = storage.join(out, "tokenizer", "tokenizer.json")
    return url if storage.exists(url) else None


def run_folder(given: str) -> str:
    """Return the folder of a run, from that folder or from its run file."""
    if given.endswith((".yaml", ".yml")):
        from tootsie.train.run_file import load_run_file

        return load_run_file(given).out
    if not storage.exists(storage.join(given, "config.json")):
        raise ArtefactError(
            "not the folder of a run", file=given, remedy="Give a run file, or the folder it calls 'out'"
        )
    return given


def read_config(out: str) -> dict[str, Any]:
    """Return ``config.json`` of a run."""
    return json.loads(storage.read_bytes(storage.join(out, "config.json")))
