"""What follows from a run's settings and its devices: mesh, attention backend, how a step is divided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from tootsie.train import attention
from tootsie.train.architecture import Architecture
from tootsie.train.collectives import SINGLE, Layout
from tootsie.train.compiler_options import check_options
from tootsie.train.device_settings import DeviceSettings
from tootsie.train.loss import BLOCK
from tootsie.train.mesh import TPU_TILE, check_length, check_mesh, make_mesh, mesh_shape, slices_of
from tootsie.train.model import Execution, LayerLoop
from tootsie.train.sharding import check_batch
from tootsie.train.step import Split


class Computation(NamedTuple):
    """How the steps of a run are computed on given devices."""

    execution: Execution  # Of the model in the step; its layout is that of the mesh.
    split: Split  # Devices, accumulation, loss blocks.

    @property
    def whole(self) -> Execution:
        """Of a model on whole parameters, for their initial values and for samples."""
        return self.execution._replace(layout=SINGLE, attention=attention.AttentionBackend.XLA)


def plan_computation(
    settings: DeviceSettings,
    architecture: Architecture,
    compute_dtype: str,
    layer_loop: str,
    batches: Sequence[tuple[int, int]],
    devices: Sequence[Any],
    tell: Callable[[str], None],
    file: str | None = None,
    held_out_length: int | None = None,
) -> Computation:
    """Return how to compute on ``devices``; on a single one there is no mesh at all.

    Args:
      settings: of the run file.
      architecture: sizes of the model.
      compute_dtype: of activations.
      layer_loop: how the blocks are repeated.
      batches: rows and length of the batches of each phase.
      devices: to use, of all processes.
      tell: takes one line.
      file: the run file, for messages.
      held_out_length: of the rows that are evaluated, if any are; how many go at once is rounded up to fit.

    Raises:
      SpecError: a size does not divide, the attention backend can't run or the compiler refuses an option.
    """
    platform = devices[0].platform
    tile = TPU_TILE if platform == "tpu" else 1
    shape = mesh_shape(settings, len(devices), slices_of(devices), file, architecture.model_size, tile)
    check_mesh(shape, architecture, file)
    backends = {}
    lengths = [length for _, length in batches]
    for rows, _ in batches:
        check_batch(rows, shape, file)
    for length in lengths if held_out_length is None else [*lengths, held_out_length]:
        check_length(length, shape, file)
        if length not in backends:
            backends[length] = attention.choose(
                settings.attention,
                settings.attention_fallback,
                platform,
                length,
                architecture.head_size,
                compute_dtype,
                tell,
                file,
                shape.sequence,
            )
    backend = (
        attention.AttentionBackend.XLA if len(set(backends.values())) != 1 else next(iter(backends.values()))
    )
    if shape.devices > 1:
        tell(f"{shape.devices:,} devices: {shape}")
    mesh = make_mesh(shape, devices) if shape.devices > 1 else None
    layout = (
        SINGLE if mesh is None else Layout(shape.fsdp, shape.tensor, settings.gradient_dtype, shape.sequence)
    )
    execution = Execution(compute_dtype, LayerLoop(layer_loop), backend, settings.remat, layout)
    vocabulary = architecture.vocabulary_size // shape.tensor
    block = settings.loss_block.amount if settings.loss_block else loss_block(platform, vocabulary)
    on_host = settings.ema_memory == "host"
    options = settings.compiler_options or None
    if options:
        own = next(device for device in devices if device.process_index == jax.process_index())
        check_options(options, own, file)
    return Computation(execution, Split(mesh, layout, settings.rows_per_device, block, on_host, options))


def loss_block(platform: str, vocabulary: int) -> int:
    """Return how many tokens' logits to hold at a time: large blocks read the head seldom, small ones stay in a CPU's cache."""
    if platform == "cpu":
        return BLOCK
    return max(BLOCK, 2 ** ((2**28 // vocabulary).bit_length() - 1))  # float32: at most 1 GiB
