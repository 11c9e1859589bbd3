"""The mesh of devices: how many copies of the model, over how many devices each is spread.

Four axes, outermost first. The rows of a batch are split over the first two, their tokens over the last; the parameters over
all but the first:

- ``replica``: whole copies. Their gradients are summed once a step: the axis for the slow network between TPU slices.
- ``fsdp``: parameters, gradients and optimizer state are split; a layer's weights are gathered when it is computed
  (Rajbhandari et al. 2020, ZeRO stage 3).
- ``tensor``: heads, the inner size of the MLP and the vocabulary are split (Shoeybi et al. 2019); sums inside each layer.
- ``sequence``: the tokens of a row are divided (:mod:`tootsie.train.zigzag`), for rows too long or too few to be split by rows
  alone; keys and values are gathered inside each layer. Parameters are split over it as over ``fsdp``. A mesh has this axis
  only where it is more than one device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.sharding import Mesh
from pydantic import BaseModel, ConfigDict, Field

from tootsie.datasets.errors import SpecError
from tootsie.train.architecture import Architecture

REPLICA, FSDP, TENSOR, SEQUENCE = AXES = ("replica", "fsdp", "tensor", "sequence")
ROW_AXES = (REPLICA, FSDP)
"""Axes that the rows of a batch are split over."""


class MeshSettings(BaseModel):
    """Sizes of the mesh as a run file gives them. Left out, parameters are spread over all devices of a slice."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    replica: int | None = Field(default=None, gt=0)
    """Copies of the model; absent = as many as the others leave devices for."""
    fsdp: int | None = Field(default=None, gt=0)
    """Devices that each copy is spread over; absent = all of a slice, on a TPU as long as shards do not get too thin."""
    tensor: int = Field(default=1, gt=0)
    """Devices that share the computation of each layer."""
    sequence: int = Field(default=1, gt=0)
    """Devices that the tokens of a row are divided over, and its copy of the model besides ``fsdp``."""


class MeshShape(NamedTuple):
    """Sizes of the axes, in the order of :data:`AXES`; their product is the number of devices."""

    replica: int  # Copies of the model.
    fsdp: int  # Devices that parameters are gathered from.
    tensor: int  # Devices that share a layer.
    sequence: int = 1  # Devices that share the tokens of a row.

    @property
    def row_shards(self) -> int:
        """Parts that the rows of a batch are split into."""
        return self.replica * self.fsdp

    @property
    def devices(self) -> int:
        """All devices."""
        return self.replica * self.fsdp * self.tensor * self.sequence

    @property
    def weight_shards(self) -> int:
        """Devices that each weight is gathered from."""
        return self.fsdp * self.sequence

    @property
    def weight_axes(self) -> str | tuple[str, str]:
        """Axes of those devices."""
        return FSDP if self.sequence == 1 else (FSDP, SEQUENCE)

    @property
    def token_axes(self) -> tuple[str, ...]:
        """Axes that the tokens of a batch are split over: what is summed over tokens is summed over them."""
        return ROW_AXES if self.sequence == 1 else (*ROW_AXES, SEQUENCE)

    def __str__(self) -> str:
        """Return the sizes as they are told: ``2 replica × 4 fsdp × 1 tensor``, and ``sequence`` where it is used."""
        used = AXES if self.sequence > 1 else AXES[:-1]
        return " × ".join(f"{size} {axis}" for size, axis in zip(self, used, strict=False))


def slices_of(devices: Sequence[Any]) -> int:
    """Return how many TPU slices the devices belong to; 1 where there is no such thing."""
    return len({getattr(device, "slice_index", None) or 0 for device in devices})


TPU_TILE = 16
"""Rows of a tile of bfloat16 in a TPU's memory. Thinner shards are gathered by an all-reduce, at twice the traffic."""


def mesh_shape(
    settings: MeshSettings,
    devices: int,
    slices: int = 1,
    file: str | None = None,
    model_size: int = 0,
    tile: int = 1,
) -> MeshShape:
    """Return the sizes that ``settings`` mean on so many devices.

    Args:
      settings: of the run file.
      devices: in all slices together.
      slices: groups of devices with a fast network inside and a slow one between them.
      file: the run file, for messages.
      model_size: D of the model, which ``fsdp`` divides.
      tile: rows that a shard should have at least; where ``fsdp`` follows from the devices, it leaves as many if it can.

    Raises:
      SpecError: the sizes do not multiply to the devices, or a slice would not hold whole parts of copies.
    """
    replica, fsdp, tensor, sequence = settings.replica, settings.fsdp, settings.tensor, settings.sequence
    if replica is None and fsdp is None:
        most = max(1, devices // slices // (tensor * sequence))
        thick = [n for n in range(1, most + 1) if most % n == 0 and model_size % (n * sequence * tile) == 0]
        fsdp = max(thick, default=most)
    if replica is None:
        replica = max(1, devices // ((fsdp or 1) * tensor * sequence))
    if fsdp is None:
        fsdp = max(1, devices // (replica * tensor * sequence))
    shape = MeshShape(replica, fsdp, tensor, sequence)
    written = str(shape)
    if shape.devices != devices:
        free = settings.replica is None and settings.fsdp is None
        remedy = "Leave out replica and fsdp: they follow from the devices"
        if devices % (tensor * sequence):
            remedy = f"Choose tensor and sequence so that their product divides {devices}"
            remedy += "" if free else ", and leave out replica and fsdp"
        raise SpecError(
            f"the mesh needs {shape.devices:,} devices, there are {devices:,}",
            file=file,
            field="devices",
            value=written,
            remedy=remedy,
        )
    if replica % slices:
        raise SpecError(
            f"there are {slices} slices, and a copy of the model must not be spread over two",
            file=file,
            field="devices.replica",
            value=written,
            remedy=f"Make replica a multiple of {slices}",
        )
    return shape


def check_mesh(shape: MeshShape, architecture: Architecture, file: str | None = None) -> None:
    """Refuse a tensor axis that heads, MLP or vocabulary can't be split over.

    Raises:
      SpecError: names the size that is no multiple.
    """
    sizes = {"heads": architecture.heads, "kv_heads": architecture.kv_heads}
    sizes |= {"mlp_size": architecture.mlp_size, "vocabulary_size": architecture.vocabulary_size}
    for name, size in sizes.items():
        if size % shape.tensor:
            raise SpecError(
                f"architecture.{name} is {size}, which {shape.tensor} devices can't share",
                file=file,
                field="devices.tensor",
                value=shape.tensor,
                remedy="Choose a divisor of heads, kv_heads, mlp_size and vocabulary_size",
            )


def check_length(length: int, shape: MeshShape, file: str | None = None) -> None:
    """Refuse rows that can't be cut into two equal chunks for each device along ``sequence``.

    Raises:
      SpecError: the length is no multiple.
    """
    chunks = 2 * shape.sequence
    if shape.sequence > 1 and length % chunks:
        raise SpecError(
            f"rows of {length:,} tokens can't be divided over {shape.sequence} devices, which take two equal chunks each",
            file=file,
            field="devices.sequence",
            value=shape.sequence,
            remedy=f"Choose another size, or rows of a multiple of {chunks} tokens, in the plan as in evaluation.sequence_length",
        )


def make_mesh(shape: MeshShape, devices: Sequence[Any]) -> Mesh:
    """Return the mesh, neighbours on the fast network close together; with slices, ``replica`` runs over them first."""
    from jax.experimental import mesh_utils

    slices = slices_of(devices)
    sizes = tuple(shape) if shape.sequence > 1 else tuple(shape)[:-1]
    if slices > 1:
        inner, outer = (shape.replica // slices, *sizes[1:]), (slices, *[1] * (len(sizes) - 1))
        arranged = mesh_utils.create_hybrid_device_mesh(inner, outer, devices, allow_split_physical_axes=True)
    elif devices[0].platform == "cpu":
        arranged = np.asarray(devices).reshape(sizes)
    else:
        arranged = mesh_utils.create_device_mesh(sizes, devices, allow_split_physical_axes=True)
    return Mesh(arranged, AXES[: len(sizes)])
