"""A checkpoint of a run as one of step 0 that no plan has led to: any plan may follow it, with any seed.

Weights, optimizer moments and averages stay as they are. What the run has consumed is forgotten: a plan that follows may draw a
document a second time. A run that must not do so branches off the run itself, under a plan with the same past.
"""

from __future__ import annotations

import json

import jax

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.train import checkpoint
from tootsie.train.architecture import Architecture
from tootsie.train.checkpoint import CheckpointRecord
from tootsie.train.lineage import parent_checkpoint
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.run_file import BranchSettings
from tootsie.train.step import make_init


def detach(start: BranchSettings, out: str) -> CheckpointRecord:
    """Write the checkpoint that ``start`` means as a checkpoint of step 0 in ``out``, or return the one that is there.

    Raises:
      UserError: the run has no such checkpoint, or it is damaged.
      ArtefactError: ``out`` holds another one.
    """
    folder, record = parent_checkpoint(start)
    target = storage.join(out, "checkpoints")
    origin = {"kind": "import", "step": 0, "source": start.run, "of": record.hash, "at": record.step}
    if checkpoint.steps_in(target):
        found = checkpoint.verify(target, 0)
        if found.lineage[-1:] != (origin,):
            raise ArtefactError(
                "this folder holds another start",
                file=out,
                field="start",
                value=found.lineage[-1].get("of") if found.lineage else None,
                remedy="Choose another 'out'",
            )
        return found
    binding = record.binding
    execution = Execution(binding["compute_dtype"], LayerLoop(binding["layer_loop"]))
    model = build(Architecture.model_validate(binding["architecture"]), execution)
    shapes = jax.eval_shape(make_init(model, record.has_average), jax.random.key(0))
    state = checkpoint.restore(folder, record.step, shapes)
    longest = record.config.get("plan") or {}
    config = {
        "run": None,
        "plan": None,
        "imported": {
            "source": start.run,
            "of": record.hash,
            "longest_sequence": longest.get("longest_sequence", longest.get("sequence_length")),
        },
        "architecture": binding["architecture"],
        "parameters": record.config["parameters"],
        "tokenizer": record.config["tokenizer"],
        "phases": [],
    }
    made = CheckpointRecord(
        step=0,
        position=0,
        tokens=0,
        phase="import",
        consumed={},
        binding={**binding, "plan": None},
        config=config,
        lines={},
        averaged=record.has_average,
        lineage=(*record.lineage, origin),
    )
    made = checkpoint.save(target, state, made)
    storage.write_bytes(storage.join(out, "config.json"), (json.dumps(config, indent=2) + "\n").encode())
    return made
