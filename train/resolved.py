"""``config.json``: a run with every default written out, and the part of it that a resumed run must share."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import jax

from tootsie.datasets.provenance import code_version
from tootsie.train.architecture import Architecture, flops_per_token, parameter_count
from tootsie.train.inputs import evaluation_length
from tootsie.train.optimizer import decay_lists
from tootsie.train.run_file import RunFile
from tootsie.train.step import parameter_total

PACKAGES = ("jax", "jaxlib", "dm-haiku", "optax", "orbax-checkpoint", "numpy")


def versions() -> dict[str, str]:
    """Return the versions of the packages that decide what is computed."""
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def binding_of(run: RunFile, plan: Any, architecture: Architecture) -> dict[str, Any]:
    """Return what decides the weights: a checkpoint with another binding is refused."""
    return {
        "plan": plan.hash,
        "architecture": architecture.model_dump(mode="json"),
        "compute_dtype": run.compute_dtype.value,
        "layer_loop": run.layer_loop,
        "seed": run.seed,
    }


def resolve_config(run: RunFile, plan: Any, architecture: Architecture, params: Any) -> dict[str, Any]:
    """Return the content of ``config.json``.

    Args:
      run: the run file, paths resolved.
      plan: the plan it trains on.
      architecture: sizes of the model.
      params: the parameter tree, or its shapes.
    """
    total = parameter_total(params)
    if total != parameter_count(architecture):
        raise AssertionError(
            f"the tree holds {total:,} parameters, the formula says {parameter_count(architecture):,}"
        )
    return {
        "run": run.model_dump(mode="json"),
        "plan": {
            "name": plan.name,
            "hash": plan.hash,
            "sequence_length": plan.sequence_length,
            "longest_sequence": plan.longest_sequence,
            "seed": plan.seed,
        },
        "tokenizer": plan.cache_tokenizer.model_dump(mode="json"),
        "architecture": architecture.model_dump(mode="json"),
        "parameters": total,
        "flops_per_token": flops_per_token(architecture, plan.sequence_length),
        "evaluation_length": evaluation_length(run.evaluation, plan),
        "optimizer": {"kind": "adamw", "state_dtype": "float32", **decay_lists(params)},
        "phases": [
            {
                "name": phase.name,
                "first_step": phase.first_step,
                "end_step": phase.end_step,
                "batch_size": phase.batch_size,
                "sequence_length": plan.length_of(phase),
                "settings": phase.settings.model_dump(mode="json"),
            }
            for phase in plan.phases
        ],
        "backend": jax.default_backend(),
        "versions": versions(),
        "code_version": code_version("train"),
    }
