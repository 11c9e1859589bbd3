"""Which device holds which part of each parameter, and which rows of a batch.

| parameter | shape | split over ``tensor`` | split over ``fsdp`` |
|---|---|---|---|
| query, key, value, gate, up | [D, out] | out | D |
| output, down | [in, D] | in | D |
| embedding, head | [V, D] | V | D |
| norms | [D] | – | – |

Where D can't be divided, the other dimension is split over ``fsdp`` too, but for the vocabulary: small tables stay whole. A stack
of layers is split like one layer. Optimizer moments and averages are split like their parameter. Where the mesh has an axis
``sequence``, ``fsdp`` here means both.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tootsie.datasets.errors import SpecError
from tootsie.train.mesh import FSDP, ROW_AXES, TENSOR, MeshShape

SMALL = 2**20
"""Parameters with at most so many numbers may lie on every device whole."""

_TENSOR_DIMENSION = {"query": 1, "key": 1, "value": 1, "gate": 1, "up": 1}
_TENSOR_DIMENSION |= {"output": 0, "down": 0, "embedding": 0, "head": 0}

_TABLES = ("embedding", "head")
"""Their rows are looked up where they lie; they are gathered along D alone."""

ROWS = PartitionSpec(ROW_AXES)
"""How the rows of a batch are split: over replicas and fsdp alike. Devices along ``sequence`` have the same rows, whole."""


def partition(name: str, shape: tuple[int, ...], mesh: MeshShape) -> PartitionSpec:
    """Return how the parameter called ``name`` (its last part) is split.

    Args:
      name: as in the parameter tree.
      shape: of the whole parameter; with a leading dimension for layers where they are stacked.
      mesh: sizes of the axes.

    Raises:
      SpecError: a large parameter can't be split over ``fsdp``.
    """
    if name not in _TENSOR_DIMENSION:
        return PartitionSpec()
    first = len(shape) - 2
    shared = first + _TENSOR_DIMENSION[name]
    other = first + 1 - _TENSOR_DIMENSION[name]
    axes: list[Any] = [None] * len(shape)
    if mesh.tensor > 1:
        axes[shared] = TENSOR
    shards, over = mesh.weight_shards, mesh.weight_axes
    if shards > 1:
        if shape[other] % shards == 0:
            axes[other] = over
        elif name not in _TABLES and shape[shared] % (mesh.tensor * shards) == 0:
            both = (TENSOR, over) if isinstance(over, str) else (TENSOR, *over)
            axes[shared] = both if mesh.tensor > 1 else over
        elif int(np.prod(shape)) > SMALL:
            raise SpecError(
                f"the parameter {name!r} of shape {list(shape)} can't be split over {shards} devices",
                field="devices.fsdp",
                value=mesh.fsdp,
                remedy="Choose a divisor of the model size, and let 'replica' take the rest of the devices",
            )
    return PartitionSpec(*axes)


def shard_shape(name: str, shape: tuple[int, ...], mesh: MeshShape) -> tuple[int, ...]:
    """Return the shape of one device's part of a parameter."""
    sizes = mesh._asdict()
    parts = []
    for length, axes in zip(shape, [*partition(name, shape, mesh), *[None] * len(shape)], strict=False):
        names = (axes,) if isinstance(axes, str) else axes or ()
        parts.append(length // int(np.prod([sizes[axis] for axis in names], dtype=int)))
    return tuple(parts)


def partition_tree(tree: Any, mesh: MeshShape) -> Any:
    """Return the tree of partitions for parameters, gradients, moments or a whole training state (arrays or shapes)."""

    def of(path: Any, leaf: Any) -> PartitionSpec:
        names = [key.key for key in path if isinstance(key, jax.tree_util.DictKey)]
        return partition(names[-1], leaf.shape, mesh) if names else PartitionSpec()

    return jax.tree_util.tree_map_with_path(of, tree)


def shardings(tree: Any, mesh: Mesh) -> Any:
    """Return the tree of shardings on a mesh with the axes of :mod:`tootsie.train.mesh`."""
    specs = partition_tree(tree, shape_of(mesh))
    return jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs)


def shape_of(mesh: Mesh) -> MeshShape:
    """Return the sizes of a mesh's axes."""
    return MeshShape(**dict(mesh.shape))


def replicated_leaves(tree: Any, mesh: MeshShape) -> list[str]:
    """Return the names of the leaves that lie whole on every device though they are not small; should be empty."""
    specs = jax.tree_util.tree_leaves(partition_tree(tree, mesh), is_leaf=_is_spec)
    paths = jax.tree_util.tree_flatten_with_path(tree)[0]
    return [
        jax.tree_util.keystr(path)
        for (path, leaf), spec in zip(paths, specs, strict=True)
        if int(np.prod(leaf.shape)) > SMALL and mesh.weight_shards > 1 and FSDP not in str(spec)
    ]


def own_rows(mesh: Mesh, batch_size: int) -> slice:
    """Return the rows of a batch that the devices of this process work on; other processes read the others.

    Raises:
      SpecError: the batch can't be split over the mesh, or the process would need rows that do not lie side by side.
    """
    check_batch(batch_size, shape_of(mesh))
    sharding = NamedSharding(mesh, ROWS)
    parts = {
        (index[0].start or 0, batch_size if index[0].stop is None else index[0].stop)
        for index in sharding.addressable_devices_indices_map((batch_size,)).values()
        if index is not None
    }
    first, end = min(start for start, _ in parts), max(stop for _, stop in parts)
    if sum(stop - start for start, stop in parts) != end - first:
        raise SpecError(
            "the devices of one host work on rows that do not lie side by side",
            field="devices",
            value=str(dict(mesh.shape)),
            remedy="Choose sizes so that each host has whole neighbouring parts of the mesh",
        )
    return slice(first, end)


def check_batch(batch_size: int, mesh: MeshShape, file: str | None = None) -> None:
    """Refuse a batch that can't be split evenly.

    Raises:
      SpecError: the rows are no multiple of the parts.
    """
    if batch_size % mesh.row_shards:
        raise SpecError(
            f"a batch of {batch_size} rows can't be split over {mesh.row_shards} devices",
            file=file,
            field="devices",
            value=f"{mesh.replica} replica × {mesh.fsdp} fsdp",
            remedy="Give the rest of the devices to 'sequence' or 'tensor', or use fewer",
        )


def place_rows(mesh: Mesh, batch_size: int, rows: Any) -> Any:
    """Make global arrays from the rows that this process has read (:func:`own_rows`); others hold the rest."""
    sharding = NamedSharding(mesh, ROWS)
    return jax.tree.map(
        lambda array: jax.make_array_from_process_local_data(
            sharding, np.asarray(array), (batch_size, *array.shape[1:])
        ),
        rows,
    )


def place_whole(mesh: Mesh | None, rows: Any) -> Any:
    """Make global arrays from rows that every process has in whole; without a mesh they stay as they are."""
    if mesh is None:
        return rows
    size = len(jax.tree.leaves(rows)[0])
    own = own_rows(mesh, size)
    return place_rows(mesh, size, jax.tree.map(lambda array: array[own], rows))


def _is_spec(node: Any) -> bool:
    return isinstance(node, PartitionSpec)
