"""What the processes of a run on several hosts tell each other besides the computation.

All of them compute; the first alone writes records, manifests and reports, and decides what to begin with. They speak through
the coordination service that ``jax.distributed`` keeps in the first process. Alone, each function here does the obvious.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

Value = TypeVar("Value")

WAIT_SECONDS = 3600
"""How long a process waits for another that is alive; one that dies is noticed sooner (:mod:`tootsie.train.host_watch`)."""
PREFIX = "tootsie"
"""What the names of our entries in the coordination service begin with."""


def client() -> Any:
    """Return the client of the coordination service, or ``None`` where this process has joined no others."""
    from jax._src import distributed  # JAX has no public name for it; Orbax takes it from there too

    return distributed.global_state.client


def count() -> int:
    """Return the number of processes."""
    return 1 if client() is None else jax.process_count()


def index() -> int:
    """Return the number of this process, from 0."""
    return 0 if client() is None else jax.process_index()


def is_first() -> bool:
    """Return whether this is the process that writes what is written once."""
    return index() == 0


def from_first(name: str, make: Callable[[], Value]) -> Value:
    """Return what ``make`` returns in the first process; the others wait for it.

    Args:
      name: of this exchange, used once in the life of a process.
      make: called in the first process only; its value must be small, and one that can be pickled.
    """
    if count() == 1:
        return make()
    key = f"{PREFIX}/first/{name}"
    if is_first():
        value = make()
        client().key_value_set_bytes(key, pickle.dumps(value))
        return value
    return pickle.loads(client().blocking_key_value_get_bytes(key, WAIT_SECONDS * 1000))


def gather(name: str, value: Value) -> list[Value]:
    """Return the values of all processes, in order, in the first one; elsewhere an empty list.

    Args:
      name: of this exchange, used once in the life of a process.
      value: small, and one that can be pickled.
    """
    if count() == 1:
        return [value]
    keys = [f"{PREFIX}/gather/{name}/{number}" for number in range(count())]
    client().key_value_set_bytes(keys[index()], pickle.dumps(value))
    if not is_first():
        return []
    return [pickle.loads(client().blocking_key_value_get_bytes(key, WAIT_SECONDS * 1000)) for key in keys]


def barrier(name: str) -> None:
    """Wait until all processes are here; ``name`` is used once in the life of a process."""
    if count() > 1:
        client().wait_at_barrier(f"{PREFIX}/{name}", WAIT_SECONDS * 1000)


def meet(mesh: Mesh | None) -> None:
    """Let each group of a mesh's devices exchange something small for the first time, all processes at the same time.

    On CPUs, Gloo connects the devices of a group when they first exchange something, and gives up where one comes 30 seconds
    after another, as may happen when one process compiles faster. Once connected they wait.
    """
    if mesh is None or count() == 1 or mesh.devices.flat[0].platform != "cpu":
        return
    split = [axis for axis, size in mesh.shape.items() if size > 1]
    everywhere = NamedSharding(mesh, PartitionSpec())
    one = jax.make_array_from_callback((1,), everywhere, lambda index: np.ones(1, np.float32)[index])
    for number in range(1, len(split) + 1):
        for axes in itertools.combinations(split, number):

            def total(x: jax.Array, axes: tuple[str, ...] = axes) -> jax.Array:
                return jax.lax.psum(x, axes)

            spec = PartitionSpec()
            summed = jax.shard_map(total, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
            program = jax.jit(summed).lower(one).compile()
            barrier(f"meet {' '.join(axes)}")
            jax.block_until_ready(program(one))


def to_first(tree: Any) -> Any:
    """Return a tree of arrays that are spread over processes as whole arrays of the first one's; elsewhere ``None``.

    Leaf by leaf: a device holds one whole leaf at a time, the first host all of them.
    """
    if count() == 1:
        return tree
    from jax.experimental.multihost_utils import process_allgather

    def whole(leaf: Any) -> Any:
        array = process_allgather(leaf, tiled=True)
        return np.asarray(array) if is_first() else None

    tree = jax.tree.map(whole, tree)
    return tree if is_first() else None


def told_to_end(step: int) -> bool:
    """Return whether all processes must end after ``step`` because one of them was sent SIGTERM: true at the same step in all.

    Asked at each step. Where processes have joined, JAX catches that signal and agrees on the step in the background; a
    process that has joined nothing just ends.
    """
    if client() is None:
        return False
    from jax.experimental.multihost_utils import reached_preemption_sync_point

    return reached_preemption_sync_point(step)
