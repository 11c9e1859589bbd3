"""Run in a process of its own with four CPU devices: the same steps on several meshes; prints one JSON object.

    XLA_FLAGS=--xla_force_host_platform_device_count=4 python tests/train/mesh_cases.py CASE…

A case is REPLICA.FSDP.TENSOR.SEQUENCE.ROWS_PER_DEVICE.LOOP.REMAT.TIED (0 rows: all at once).
"""

from __future__ import annotations

import json
import sys
from typing import Any

import jax
import numpy as np

from tootsie.train.architecture import Architecture
from tootsie.train.collectives import Layout
from tootsie.train.mesh import MeshShape, make_mesh
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.optimizer import StepSettings
from tootsie.train.remat import Remat
from tootsie.train.rope import Rope
from tootsie.train.sharding import own_rows, place_rows
from tootsie.train.step import Rows, Split, make_init, make_update

SMALL = Architecture(
    vocabulary_size=64,
    model_size=32,
    layers=2,
    heads=4,
    kv_heads=2,
    head_size=8,
    mlp_size=48,
    rope=Rope(theta=10_000, scaling=None),
    tied_embeddings=False,
)
SETTINGS = StepSettings(*map(np.float32, (1e-2, 0.1, 0.02, 0.9, 0.5, 0.9, 0.95, 1e-8)))


def rows(step: int) -> Rows:
    """Eight rows of documents; some carry almost no loss, one none at all."""
    rng = np.random.default_rng(step)
    tokens = rng.integers(0, 63, (8, 16)).astype(np.int32)
    segments = 1 + np.cumsum(rng.random((8, 16)) < 0.1, axis=1).astype(np.int32)
    share = np.array([0.9, 0.1, 0.5, 0.0, 1.0, 0.02, 0.7, 0.3])[:, None]
    return Rows(tokens, segments, rng.random((8, 16)) < share)


def run(case: str) -> dict[str, Any]:
    *sizes, at_a_time, loop, remat, tied = case.split(".")
    shape = MeshShape(*map(int, sizes))
    layers = SMALL.layers if loop == "stacked" else 1
    architecture = SMALL.model_copy(update={"tied_embeddings": tied == "tied", "layers": layers})
    mesh = make_mesh(shape, jax.devices()[: shape.devices]) if shape.devices > 1 else None
    layout = Layout(shape.fsdp, shape.tensor, sequence=shape.sequence)
    execution = Execution("float32", LayerLoop(loop), remat=Remat(remat), layout=layout)
    model = build(architecture, execution)
    split = Split(mesh, layout, int(at_a_time) or None, loss_block=8)
    state = make_init(build(architecture, execution._replace(layout=Layout())), True, mesh)(jax.random.key(0))

    def batch(step: int) -> Rows:
        if mesh is None:
            return rows(step)
        own = own_rows(mesh, 8)  # all that this process would read
        return place_rows(mesh, 8, Rows(*(array[own] for array in rows(step))))

    parts = {"/".join(map(str, k)): list(v.sharding.shard_shape(v.shape)) for k, v in flat(state.params)}
    gradient: dict[str, list[float]] = {}
    update, losses = make_update(model, None, split), []
    for step in range(3):
        state, metrics = update(state, batch(step), SETTINGS)
        if step == 0:  # the first moment is a share of the gradient
            gradient = {
                "/".join(k): np.asarray(v).ravel().tolist()[::7] for k, v in flat(state.opt_state[1].mu)
            }
        losses.append([float(value) for value in metrics[:5]])
    return {"gradient": gradient, "metrics": losses, "parts": parts}


def flat(params: Any) -> list[tuple[tuple[str, str], Any]]:
    return [((module, name), leaf) for module, leaves in params.items() for name, leaf in leaves.items()]


if __name__ == "__main__":
    print(json.dumps({case: run(case) for case in sys.argv[1:]}))
