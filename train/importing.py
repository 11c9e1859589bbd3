"""A model from elsewhere as a checkpoint of step 0, which a run may branch from: ``branch: {run: OUT, at: 0 steps}``.

    OUT/checkpoints/0/    the weights, with fresh optimizer moments; verified like any other checkpoint
    OUT/config.json       architecture, where it comes from, how it compared with the reference
    OUT/tokenizer/        tokenizer.json and tokenizer_config.json, where the source has one

No plan has led to it, so a run that branches from it follows any plan from its first step on.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, UserError
from tootsie.datasets.provenance import code_version
from tootsie.train import checkpoint, reference
from tootsie.train.architecture import Architecture, parameter_count
from tootsie.train.checkpoint import CheckpointRecord
from tootsie.train.export import from_hugging_face, read_json, require_equal, stacked, to_hugging_face
from tootsie.train.gguf_file import read_gguf
from tootsie.train.gguf_tokenizer import tokenizer_files, write_tokenizer
from tootsie.train.llama_config import from_config
from tootsie.train.model import LayerLoop
from tootsie.train.optimizer import StepSettings, adamw
from tootsie.train.safetensors_folder import read_tensors
from tootsie.train.step import TrainingState

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


class Source(NamedTuple):
    """A model that was read from elsewhere."""

    architecture: Architecture  # Its sizes.
    tensors: dict[str, np.ndarray]  # By Hugging Face's names, float32.
    kinds: dict[str, int]  # How many tensors were stored in each dtype or quantisation.
    tokenizer: dict[str, Any]  # Contents of tokenizer.json and tokenizer_config.json by name; empty without.
    longest: int | None  # Longest sequence that it was made for, tokens.


def read_source(url: str, ignored: Collection[str], eos: str | None, with_tokenizer: bool) -> Source:
    """Read a GGUF file, or a folder with ``config.json`` and safetensors.

    Args:
      url: of the file or folder.
      ignored: settings of the config that the user takes to be without effect.
      eos: the token that ends a document, if not the source's.
      with_tokenizer: whether to take the tokenizer along.

    Raises:
      UserError: it cannot be read, or is no model of this family.
    """
    if url.endswith(".gguf"):
        found = read_gguf(url)
        files = tokenizer_files(found.metadata, url, eos) if with_tokenizer else {}
        architecture = from_config(found.config, url)
        return Source(
            architecture, found.tensors, found.kinds, files, found.config["max_position_embeddings"]
        )
    file = storage.join(url, "config.json")
    if not storage.exists(file):
        raise ArtefactError(
            "no config.json there", file=url, remedy="Give a Hugging Face folder or a .gguf file"
        )
    config = read_json(file)
    architecture = from_config(config, file, ignored)
    tensors, dtypes = read_tensors(url)
    kinds = {kind: list(dtypes.values()).count(kind) for kind in sorted(set(dtypes.values()))}
    files = {}
    if with_tokenizer and storage.exists(storage.join(url, "tokenizer.json")):
        present = [name for name in _TOKENIZER_FILES if storage.exists(storage.join(url, name))]
        files = {name: read_json(storage.join(url, name)) for name in present}
        if eos is not None:
            files["tokenizer_config.json"] = files.get("tokenizer_config.json", {}) | {"eos_token": eos}
    return Source(architecture, tensors, kinds, files, config.get("max_position_embeddings"))


def import_model(
    url: str,
    source: Source,
    out: str,
    layer_loop: LayerLoop,
    compared: reference.Reference | None,
    tolerance: float,
    tell: Callable[[str], None],
) -> CheckpointRecord:
    """Write a model as a checkpoint of step 0 in ``out``, once it has proved to be what it was.

    Every tensor is used exactly once, and exported again gives the same bits; with a reference, the logits are compared. Nothing
    is written if one of these fails.

    Args:
      url: where it was read.
      source: what was read there.
      out: folder that does not exist yet, or is empty.
      layer_loop: how the runs that branch from it repeat the blocks.
      compared: logits that another program computed from the same weights, or ``None``.
      tolerance: largest difference of a logit, in standard deviations of the reference's.
      tell: takes one line for the terminal at a time.

    Raises:
      UserError: ``out`` holds something.
      ArtefactError: a tensor is missing, left over or does not come back; the logits are others.
    """
    if storage.exists(storage.join(out, "config.json")) or checkpoint.steps_in(
        storage.join(out, "checkpoints")
    ):
        raise UserError("this folder holds a run already", file=out, remedy="Choose another folder")
    architecture = source.architecture
    unrolled = from_hugging_face(source.tensors, architecture, url)
    back = to_hugging_face(unrolled, architecture)
    require_equal(back, {name: source.tensors[name] for name in back}, url)
    tell(
        f"read {len(source.tensors):,} tensors ({_counts(source.kinds)}); exported again they are the same, bit for bit"
    )
    agreement = None
    if compared is not None:
        agreement = reference.compare(unrolled, architecture, compared)
        reference.require_agreement(agreement, tolerance, url)
        tell(agreement.line())
    params = stacked(unrolled, architecture.layers) if layer_loop is LayerLoop.STACKED else unrolled
    params = jax.tree.map(jnp.asarray, params)
    state = TrainingState(params, adamw(_NO_STEP).init(params), None)
    tokenizer = None
    if source.tokenizer:
        write_tokenizer(storage.join(out, "tokenizer"), source.tokenizer)
        tokenizer = _identity(storage.join(out, "tokenizer", "tokenizer.json"), tell)
    config: dict[str, Any] = {
        "run": None,
        "plan": None,
        "imported": {
            "source": url,
            "tensors_sha256": tensors_sha256(back),
            "stored_as": source.kinds,
            "longest_sequence": source.longest,
            "reference": None
            if agreement is None
            else {**agreement._asdict(), "relative": agreement.relative},
        },
        "architecture": architecture.model_dump(mode="json"),
        "parameters": parameter_count(architecture),
        "tokenizer": tokenizer,
        "phases": [],
        "versions": {name: importlib.metadata.version(name) for name in ("jax", "numpy", "safetensors")},
        "code_version": code_version("train"),
    }
    binding = {
        "plan": None,
        "architecture": config["architecture"],
        "compute_dtype": "float32",
        "layer_loop": layer_loop.value,
        "seed": 0,
    }
    origin = {"kind": "import", "step": 0, **config["imported"]}
    record = CheckpointRecord(
        step=0,
        position=0,
        tokens=0,
        phase="import",
        consumed={},
        binding=binding,
        config=config,
        lines={},
        averaged=False,
        lineage=(origin,),
    )
    record = checkpoint.save(storage.join(out, "checkpoints"), state, record)
    storage.write_bytes(storage.join(out, "config.json"), (json.dumps(config, indent=2) + "\n").encode())
    return record


_NO_STEP = StepSettings(0.0, 0.0, 0.0, 0.0, 1.0, 0.9, 0.95, 1e-8)


def tensors_sha256(tensors: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 of names, shapes and float32 values, in the order of the names."""
    digest = hashlib.sha256()
    for name, array in sorted(tensors.items()):
        digest.update(f"{name}{list(array.shape)}".encode())
        digest.update(np.ascontiguousarray(array, "<f4").tobytes())
    return digest.hexdigest()


def _identity(location: str, tell: Callable[[str], None]) -> dict[str, Any] | None:
    from tootsie.tokenize.tokenizers import load_tokenizer

    try:
        return load_tokenizer(location).identity.model_dump(mode="json")
    except UserError as error:  # the weights are of use without it
        tell(f"note: the tokenizer is written but was not tried: {error}")
        return None


def _counts(kinds: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
