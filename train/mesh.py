"""The mesh of devices: how many copies of the model, over how many devices each is spread.

Three axes, outermost first. The rows of a batch are split over the first two; the parameters over the last two:

- ``replica``: whole copies. Their gradients are summed once a step: the axis for the slow network between TPU slices.
- ``fsdp``: parameters, gradients and optimizer state are split; a layer's weights are gathered when it is computed
  (Rajbhandari et al. 2020, ZeRO stage 3).
- ``tensor``: heads, the inner size of the MLP and the vocabulary are split (Shoeybi et al. 2019); sums inside each layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.sharding import Mesh
from pydantic import BaseModel, ConfigDict, Field

from tootsie.datasets.errors import SpecError
from tootsie.train.architecture import Architecture

REPLICA, FSDP, TENSOR = AXES = ("replica", "fsdp", "tensor")
ROW_AXES = (REPLICA, FSDP)
"""Axes that the rows of a batch are split over."""


class MeshSettings(BaseModel):
    """Sizes of the mesh as a run file gives them. Left out, parameters are spread over all devices of a slice."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    replica: int | None = Field(default=None, gt=0)
    """Copies of the model; absent = as many as the other two leave devices for."""
    fsdp: int | None = Field(default=None, gt=0)
    """Devices that each copy is spread over; absent = all of a slice, on a TPU as long as shards do not get too thin."""
    tensor: int = Field(default=1, gt=0)
    """Devices that share the computation of each layer."""


class MeshShape(NamedTuple):
    """Sizes of the axes; their product is the number of devices."""

    replica: int  # Copies of the model.
    fsdp: int  # Devices that parameters are gathered from.
    tensor: int  # Devices that share a layer.

    @property
    def row_shards(self) -> int:
        """Parts that the rows of a batch are split into."""
        return self.replica * self.fsdp

    @property
    def devices(self) -> int:
        """All devices."""
        return self.replica * self.fsdp * self.tensor


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
    replica, fsdp, tensor = settings.replica, settings.fsdp, settings.tensor
    if replica is None and fsdp is None:
        most = max(1, devices // slices // tensor)
        thick = [size for size in range(1, most + 1) if most % size == 0 and model_size % (size * tile) == 0]
        fsdp = max(thick, default=most)
    if replica is None:
        replica = max(1, devices // ((fsdp or 1) * tensor))
    if fsdp is None:
        fsdp = max(1, devices // (replica * tensor))
    shape = MeshShape(replica, fsdp, tensor)
    written = f"{replica} replica × {fsdp} fsdp × {tensor} tensor"
    if shape.devices != devices:
        raise SpecError(
            f"the mesh needs {shape.devices} devices, there are {devices}",
            file=file,
            field="devices",
            value=written,
            remedy="Leave out replica and fsdp: they follow from the devices",
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


def make_mesh(shape: MeshShape, devices: Sequence[Any]) -> Mesh:
    """Return the mesh, neighbours on the fast network close together; with slices, ``replica`` runs over them first."""
    from jax.experimental import mesh_utils

    slices = slices_of(devices)
    if slices > 1:
        inner = (shape.replica // slices, shape.fsdp, shape.tensor)
        arranged = mesh_utils.create_hybrid_device_mesh(inner, (slices, 1, 1), devices)
    elif devices[0].platform == "cpu":
        arranged = np.asarray(devices).reshape(shape)
    else:
        arranged = mesh_utils.create_device_mesh(shape, devices, allow_split_physical_axes=True)
    return Mesh(arranged, AXES)
