"""One training step: two pure functions, ``init`` and ``update``.

Glossary of shapes:
- B: batch size; inside ``shard_map``, the rows of one device.
- T: sequence length. t: tokens of a row that one device computes; T but on a mesh with an axis ``sequence``.

On several devices only the gradients are computed inside ``shard_map``; the optimizer works leaf by leaf on whatever part of
each leaf a device has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, PartitionSpec, SingleDeviceSharding

from tootsie.train.collectives import SINGLE, Layout
from tootsie.train.ema import HOST, in_device_memory, in_host_memory, update_ema
from tootsie.train.loss import BLOCK, TokenSums, cross_entropy, scored_targets
from tootsie.train.mesh import MeshShape
from tootsie.train.norms import step_norms
from tootsie.train.optimizer import UNGUARDED, Guard, StepSettings, adamw, global_norm
from tootsie.train.sharding import ROWS, check_batch, partition_tree, shape_of, shardings


class TrainingState(NamedTuple):
    """All that a step changes; nothing random among it."""

    params: Any  # Current weights, float32.
    opt_state: Any  # First and second moments and the count of updates.
    ema: Any  # Averaged weights; None in a run whose plan never averages.


class Rows(NamedTuple):
    """The part of a batch that the compiled step reads."""

    tokens: Any  # int32 [B, T].
    segment_ids: Any  # int32 [B, T]; documents are numbered from 1 within a row.
    loss_mask: Any  # bool [B, T]; which tokens carry loss.


class StepMetrics(NamedTuple):
    """What a step reports, float32 scalars but for the last."""

    loss: jax.Array  # Cross-entropy in nats per scored token, z-loss not included.
    z_loss: jax.Array  # Weighted z-loss per scored token.
    log_z: jax.Array  # Root mean square of log Z over scored tokens, nats; whatever the weight.
    grad_norm: jax.Array  # Global norm before clipping.
    param_norm: jax.Array  # Global norm of the weights after the update.
    scored: jax.Array  # Scored tokens.
    skipped: jax.Array  # 1 where the update was left out because of a spike.
    norms: jax.Array  # [K, G]: norms by kind and group, see :mod:`tootsie.train.norms`.


_ANY_SETTINGS = StepSettings(0.0, 0.0, 0.0, 0.0, 1.0, 0.9, 0.95, 1e-8)


class Split(NamedTuple):
    """How a step is divided over devices and time; the default is one device, all rows at once."""

    mesh: Mesh | None = None  # Devices; None is one, without any sharding.
    layout: Layout = SINGLE  # The part of the mesh that the model knows.
    rows_per_device: int | None = (
        None  # Most rows that a device computes at a time; the others follow. None: all.
    )
    loss_block: int = BLOCK  # Tokens whose logits exist at one time.
    average_on_host: bool = False  # Whether averaged weights live in the host's memory.
    compiler_options: dict[str, Any] | None = None  # Of XLA, for the step; None: its defaults.


ONE_DEVICE = Split()
"""No mesh, no accumulation."""


def make_init(
    model: hk.Transformed, average: bool, mesh: Mesh | None = None
) -> Callable[[jax.Array], TrainingState]:
    """Return the compiled function from a random key to the state before the first step.

    Args:
      model: of whole parameters (not of a layout), whatever the mesh: the values are the same on any mesh.
      average: whether the state has averaged weights.
      mesh: devices to spread the state over.
    """

    def init(rng: jax.Array) -> TrainingState:
        tokens = jnp.zeros((1, 8), jnp.int32)
        params = model.init(rng, tokens, tokens)
        # A copy, because the weights and their average must not share a buffer once buffers are donated.
        return TrainingState(
            params, adamw(_ANY_SETTINGS).init(params), jax.tree.map(jnp.copy, params) if average else None
        )

    if mesh is None:
        return jax.jit(init)
    shapes = jax.eval_shape(init, jax.random.key(0))
    return jax.jit(init, out_shardings=shardings(shapes, mesh))


def state_shapes(init: Callable[[jax.Array], TrainingState], split: Split = ONE_DEVICE) -> TrainingState:
    """Return shape, dtype and, where it is not the only one there is, sharding of each leaf of the state; none is computed."""
    shapes = jax.eval_shape(init, jax.random.key(0))

    def on(leaf: Any, sharding: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

    if split.mesh is not None:
        shapes = jax.tree.map(on, shapes, shardings(shapes, split.mesh))
    if split.average_on_host:
        only = SingleDeviceSharding(jax.local_devices()[0])
        shapes = shapes._replace(
            ema=jax.tree.map(
                lambda leaf: on(leaf, (leaf.sharding or only).with_memory_kind(HOST)), shapes.ema
            )
        )
    return shapes


def place_average(state: TrainingState, split: Split) -> TrainingState:
    """Return the state with its average in the memory where ``split`` has it."""
    return state._replace(ema=in_host_memory(state.ema)) if split.average_on_host else state


def make_update(
    model: hk.Transformed, bos_id: int | None, split: Split = ONE_DEVICE, guard: Guard = UNGUARDED
) -> Callable[[TrainingState, Rows, StepSettings], tuple[TrainingState, StepMetrics]]:
    """Return the compiled step. It is compiled again only for another batch shape; the old state is donated.

    Args:
      model: built with ``split.layout``.
      bos_id: the token that begins every document and is not scored, or ``None``.
      split: devices and accumulation. The loss is the sum over all scored tokens ÷ their number, however split.
      guard: what is done about spikes.
    """

    def update(state: TrainingState, rows: Rows, settings: StepSettings) -> tuple[TrainingState, StepMetrics]:
        gradients, sums, count = gradient(state.params, rows, settings.z_loss)
        state = state._replace(ema=in_device_memory(state.ema)) if split.average_on_host else state
        updates, opt_state = adamw(settings, guard).update(gradients, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        ema = None if state.ema is None else update_ema(state.ema, params, settings.ema_beta)
        per_token = 1 / jnp.maximum(count, 1)
        new, skipped = TrainingState(params, opt_state, ema), jnp.float32(0)
        if guard.skips:
            spike = sums.nll * per_token > settings.loss_limit
            spike |= global_norm(gradients) > settings.grad_norm_limit
            new = jax.tree.map(lambda old, changed: jnp.where(spike, old, changed), state, new)
            skipped = spike.astype(jnp.float32)
        metrics = StepMetrics(
            loss=sums.nll * per_token,
            z_loss=settings.z_loss * sums.z * per_token,
            log_z=jnp.sqrt(sums.z * per_token),
            grad_norm=global_norm(gradients),
            param_norm=global_norm(new.params),
            scored=count,
            skipped=skipped,
            norms=step_norms(gradients, params, updates, opt_state),
        )
        new = new if split.mesh is None else _keep_split(new, split.mesh)
        return place_average(new, split), metrics

    gradient = make_gradient(model, bos_id, split)
    return jax.jit(update, donate_argnums=0, compiler_options=split.compiler_options)


def make_gradient(
    model: hk.Transformed, bos_id: int | None, split: Split = ONE_DEVICE
) -> Callable[[Any, Rows, jax.Array], tuple[Any, TokenSums, jax.Array]]:
    """Return the function from weights, rows and the z-loss weight to gradients, sums over tokens and scored tokens."""

    def local(params: Any, rows: Rows, z_weight: jax.Array) -> tuple[Any, TokenSums, jax.Array]:
        targets, scored = scored_targets(rows.tokens, rows.loss_mask, bos_id)
        # The model takes whole rows and gives the hidden states of this device's tokens, [B, t, D].
        targets, scored = (split.layout.own_tokens(x, axis=1) for x in (targets, scored))
        count = jnp.sum(scored)
        if split.mesh is not None:
            count = jax.lax.psum(count, shape_of(split.mesh).token_axes)
        parts = microbatches(rows.tokens.shape[0], split.rows_per_device)

        def objective(params: Any, part: Any) -> tuple[jax.Array, TokenSums]:
            tokens, segment_ids, targets, scored = part
            output = model.apply(params, tokens, segment_ids)
            D = output.hidden.shape[-1]
            sums = cross_entropy(
                output.hidden.reshape(-1, D),
                output.head,
                targets.reshape(-1),
                scored.reshape(-1),
                z_weight,
                split.loss_block,
                split.layout,
            )
            return sums.objective / jnp.maximum(
                count, 1
            ), sums  # the number of all tokens, not of this part's

        def add(total: Any, part: Any) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, jax.grad(objective, has_aux=True)(params, part)), None

        given = (rows.tokens, rows.segment_ids, targets, scored)
        if parts == 1:
            gradients, sums = jax.grad(objective, has_aux=True)(params, given)
        else:
            given = jax.tree.map(lambda x: x.reshape(parts, -1, *x.shape[1:]), given)
            nothing = (jax.tree.map(jnp.zeros_like, params), TokenSums(*[jnp.float32(0)] * 3))
            (gradients, sums), _ = jax.lax.scan(add, nothing, given)
        return gradients, sums, count

    if split.mesh is None:
        return local
    mesh = split.mesh

    def sharded(params: Any, rows: Rows, z_weight: jax.Array) -> tuple[Any, TokenSums, jax.Array]:
        shape = shape_of(mesh)
        check_batch(rows.tokens.shape[0], shape)
        specs = partition_tree(params, shape)

        def summed(params: Any, rows: Rows, z_weight: jax.Array) -> tuple[Any, TokenSums, jax.Array]:
            gradients, sums, count = local(params, rows, z_weight)
            return _sum_over_tokens(gradients, specs, shape), jax.lax.psum(sums, shape.token_axes), count

        return jax.shard_map(
            summed,
            mesh=mesh,
            in_specs=(specs, ROWS, PartitionSpec()),
            out_specs=(specs, PartitionSpec(), PartitionSpec()),
            check_vma=False,  # every collective has its own gradient rule
        )(params, rows, z_weight)

    return sharded


def microbatches(rows: int, at_most: int | None) -> int:
    """Return into how many equal parts ``rows`` are divided so that none has more than ``at_most``."""
    if at_most is None:
        return 1
    return next(parts for parts in range(1, rows + 1) if rows % parts == 0 and rows // parts <= at_most)


def _sum_over_tokens(gradients: Any, specs: Any, mesh: MeshShape) -> Any:
    """Sum over replicas, and over the other axes what is not split there: what is split was summed when it was scattered."""

    def total(leaf: jax.Array, spec: PartitionSpec) -> jax.Array:
        split = {axis for axes in spec for axis in ((axes,) if isinstance(axes, str) else axes or ())}
        axes = tuple(axis for axis in mesh.token_axes if getattr(mesh, axis) > 1 and axis not in split)
        return jax.lax.psum(leaf, axes) if axes else leaf

    return jax.tree.map(total, gradients, specs)


def _keep_split(state: TrainingState, mesh: Mesh) -> TrainingState:
    return jax.tree.map(jax.lax.with_sharding_constraint, state, shardings(state, mesh))


def parameter_total(params: Any) -> int:
    """Return how many numbers a tree of arrays holds."""
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(params))
