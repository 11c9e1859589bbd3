"""What a training step can't do without, per chip: the figures a compiled program is held against.

Symbols: N numbers in all matrices of a layer, L layers, V·D one table of the vocabulary, tokens of one chip t, sequence length T,
H heads of P, K of keys and values, f devices along ``fsdp`` (and ``sequence``, S of them), m microbatches. See each function for
its formula.
"""

from __future__ import annotations

from typing import NamedTuple

from tootsie.train.architecture import Architecture, parameter_count
from tootsie.train.mesh import MeshShape
from tootsie.train.remat import Remat


class Floor(NamedTuple):
    """The least work of one step on one chip."""

    state: float  # Bytes: float32 weights, two moments and, where the plan averages, the average.
    matrix_flops: float  # Products with matrices, forward and backward.
    attention_flops: float  # Causal attention, forward and backward: half of all pairs.
    remat_flops: float  # Products with matrices that the policy computes again.
    remat_attention_flops: (
        float  # Attention computed again: by the policy, and scores in any backward kernel.
    )
    fsdp_bytes: float  # Gathering weights and scattering gradients.
    replica_bytes: float  # Summing gradients over the copies of the model.
    tensor_bytes: float  # Summing activations within a layer.
    sequence_bytes: float  # Gathering keys and values where rows are divided, and scattering their gradients.

    @property
    def model_flops(self) -> float:
        """FLOPs that MFU counts: nothing computed again."""
        return self.matrix_flops + self.attention_flops

    @property
    def flops(self) -> float:
        """All FLOPs of the chosen policy."""
        return self.model_flops + self.remat_flops + self.remat_attention_flops

    @property
    def bytes(self) -> float:
        """All bytes that a chip must send."""
        return self.fsdp_bytes + self.replica_bytes + self.tensor_bytes + self.sequence_bytes


def floor(
    architecture: Architecture,
    mesh: MeshShape,
    batch_size: int,
    length: int,
    remat: Remat,
    microbatches: int,
    average: bool,
    gradient_bytes: int,
) -> Floor:
    """Return the floor of one step.

    Args:
      architecture: sizes of the model.
      mesh: sizes of the axes.
      batch_size: rows of the whole batch.
      length: T.
      remat: what is computed again.
      microbatches: parts that a chip works on one after another.
      average: whether the state has averaged weights.
      gradient_bytes: of one number of a gradient on its way between chips: 4, or 2 in bfloat16.
    """
    a = architecture
    shards = mesh.weight_shards * mesh.tensor
    row_tokens = batch_size * length / mesh.row_shards  # of the chips that have the same rows together
    tokens = row_tokens / mesh.sequence  # of the chips that share a layer together
    table = a.vocabulary_size * a.model_size
    layer = layer_matrices(a)
    heads = a.heads * a.head_size
    pairs = 2 * heads * length / 2  # FLOPs of one product of queries and keys for a token, causal
    output, mlp = heads * a.model_size, 2 * a.model_size * a.mlp_size
    again = {
        Remat.NONE: 0,
        Remat.PROJECTIONS: 0,
        Remat.ATTENTION: output + mlp,  # gate and up
        Remat.BLOCK: layer - a.model_size * a.mlp_size,  # all but down, whose result nothing needs
    }[remat]
    share = tokens / mesh.tensor
    gathers = (
        2 * 2 * a.layers * layer + 2 * 2 * table
    )  # bfloat16: layers forward and backward, both tables once
    scatters = gradient_bytes * (a.layers * layer + 2 * table)
    part = (mesh.weight_shards - 1) / mesh.weight_shards / mesh.tensor
    keys_values = (
        (mesh.sequence - 1) / mesh.sequence * row_tokens * 2 * a.kv_heads * a.head_size / mesh.tensor
    )
    sums = 2 * (mesh.tensor - 1) / mesh.tensor * tokens * a.model_size * 2
    return Floor(
        state=parameter_count(a) / shards * 4 * (4 if average else 3),
        matrix_flops=share * 6 * (a.layers * layer + table),
        attention_flops=share * a.layers * 6 * pairs,
        remat_flops=share * a.layers * 2 * again,
        remat_attention_flops=share * a.layers * pairs * (3 if remat is Remat.BLOCK else 1),
        fsdp_bytes=microbatches * part * (gathers + scatters),
        replica_bytes=2 * (mesh.replica - 1) / mesh.replica * 4 * parameter_count(a) / shards,
        tensor_bytes=sums * (a.layers * (5 if remat is Remat.BLOCK else 4) + 3),
        # In bfloat16 forward and again backward.
        sequence_bytes=a.layers * keys_values * (2 * 2 + gradient_bytes),
    )


def layer_matrices(architecture: Architecture) -> int:
    """Return the numbers in the matrices of one layer: ``D·P·(2H + 2K) + 3·D·F``."""
    a = architecture
    return a.model_size * a.head_size * (2 * a.heads + 2 * a.kv_heads) + 3 * a.model_size * a.mlp_size
