"""Cross-entropy with z-loss, summed over tokens, without ever holding the logits of a whole batch.

Glossary of shapes:
- N: tokens (batch × time).
- D: model size.
- V: vocabulary size.
- C: tokens per block.
- Vs, Ds: what this device holds of V and D; V and D themselves on a single device.

The sums are over scored tokens; whoever calls divides by the number of scored tokens, once, at the very end. So the mean
is exact under masks of uneven length and under any splitting of the batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from tootsie.train.collectives import SINGLE, Layout, own_rows

BLOCK = 512
"""Tokens whose logits exist at one time. On two CPU cores 256 is as fast at V = 16,384, but slower by 3 % at 50,304."""


class TokenSums(NamedTuple):
    """Sums over the scored tokens of a batch, float32 scalars."""

    objective: jax.Array  # negative log-likelihood + z_weight · z: what is differentiated.
    nll: jax.Array  # negative log-likelihood, nats.
    z: jax.Array  # squared log-partition, log²Z, unweighted.


def scored_targets(
    tokens: Int[Array, "B T"],
    loss_mask: Bool[Array, "B T"],
    bos_id: int | None,
) -> tuple[Int[Array, "B T"], Bool[Array, "B T"]]:
    """Return for each position the token to predict and whether that prediction is scored.

    Position t predicts token t + 1 where ``loss_mask`` marks token t + 1; the last position predicts nothing. The first
    token of a document is predicted from the end-of-sequence token before it, unless it is a beginning-of-sequence
    token (``bos_id``), which carries no information and is not scored.
    """
    targets = jnp.roll(tokens, -1, axis=1)
    scored = jnp.roll(loss_mask, -1, axis=1).at[:, -1].set(False)
    if bos_id is not None:
        scored = scored & (targets != bos_id)
    return targets, scored


def cross_entropy_full(
    hidden: Float[Array, "N D"],
    head: Float[Array, "V D"],
    targets: Int[Array, " N"],
    scored: Bool[Array, " N"],
    z_weight: Float[Array, ""] | float,
) -> TokenSums:
    """Compute all logits at once, float32 ``[N, V]``: the definition, and the oracle of the tests."""
    logits = (hidden @ head.T.astype(hidden.dtype)).astype(jnp.float32)
    log_z = jax.nn.logsumexp(logits, axis=-1)
    nll = log_z - jnp.take_along_axis(logits, targets[:, None], axis=1)[:, 0]
    nll_sum = jnp.sum(jnp.where(scored, nll, 0.0))
    z_sum = jnp.sum(jnp.where(scored, jnp.square(log_z), 0.0))
    return TokenSums(nll_sum + z_weight * z_sum, nll_sum, z_sum)


def cross_entropy(
    hidden: Float[Array, "N D"],
    head: Float[Array, "Vs Ds"],
    targets: Int[Array, " N"],
    scored: Bool[Array, " N"],
    z_weight: Float[Array, ""] | float,
    block: int = BLOCK,
    layout: Layout = SINGLE,
) -> TokenSums:
    """Compute the same as :func:`cross_entropy_full`, ``block`` tokens at a time.

    Under differentiation the gradients of a block are formed while its logits are at hand, so the head is multiplied three
    times in all (as without blocks), not four as when logits are recomputed. Only ``objective`` carries a gradient.
    ``z_weight`` is not differentiated. N is padded to a multiple of ``block`` with unscored tokens. Inside ``shard_map``
    the sums are over this device's tokens, ``head`` is its part of the head (see :mod:`tootsie.train.sharding`).
    """
    N = hidden.shape[0]
    block = min(block, N)
    padding = -N % block
    if padding:
        hidden = jnp.pad(hidden, ((0, padding), (0, 0)))
        targets, scored = jnp.pad(targets, (0, padding)), jnp.pad(scored, (0, padding))
    sums = _blocked(block, layout, hidden, head, targets, scored, jnp.asarray(z_weight, jnp.float32))
    return TokenSums(sums.objective, jax.lax.stop_gradient(sums.nll), jax.lax.stop_gradient(sums.z))


def token_nll(
    hidden: Float[Array, "N D"],
    head: Float[Array, "Vs Ds"],
    targets: Int[Array, " N"],
    block: int = BLOCK,
    layout: Layout = SINGLE,
) -> Float[Array, " N"]:
    """Return the negative log-likelihood of each target, nats, ``block`` tokens at a time; not to be differentiated."""
    N = hidden.shape[0]
    block = min(block, N)
    padding = -N % block
    if padding:
        hidden, targets = jnp.pad(hidden, ((0, padding), (0, 0))), jnp.pad(targets, (0, padding))
    head = _whole_head(layout, head, hidden.shape[1], hidden.dtype)

    def of(part: tuple[jax.Array, jax.Array]) -> jax.Array:
        ones = jnp.ones(part[1].shape, bool)
        *_, log_z = _block_sums(layout, part[0], head, part[1], ones)
        return log_z[:, 0] - part[1]

    parts = _split(block, hidden, _label_logits(layout, hidden, head, targets))
    return jax.lax.map(of, parts).reshape(-1)[:N]


def _split(block: int, *arrays: jax.Array) -> tuple[jax.Array, ...]:
    return tuple(array.reshape(-1, block, *array.shape[1:]) for array in arrays)


def _block_sums(
    layout: Layout, hidden: jax.Array, head: jax.Array, label_logits: jax.Array, scored: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]:
    """Sums of one block, with what its gradient needs: exponentials ``[C, V]``, their sum and log Z, both ``[C, 1]``."""
    logits = jnp.einsum("cd,vd->cv", hidden, head, preferred_element_type=jnp.float32)
    top = layout.max_over_tensor(jnp.max(logits, axis=-1, keepdims=True))
    exponentials = jnp.exp(logits - top)
    total = layout.sum_over_tensor(jnp.sum(exponentials, axis=-1, keepdims=True))
    log_z = top + jnp.log(total)
    nll = jnp.sum(jnp.where(scored, log_z[:, 0] - label_logits, 0.0))
    z = jnp.sum(jnp.where(scored, jnp.square(log_z[:, 0]), 0.0))
    return nll, z, exponentials, total, log_z


def _whole_head(layout: Layout, head: jax.Array, size: int, dtype: Any) -> jax.Array:
    """This device's part of the vocabulary, every column: ``[Vs, D]``, cast before it is gathered."""
    return (head if head.shape[1] == size else layout.gathered(head, size, 1, dtype)).astype(dtype)


def _label_logits(layout: Layout, hidden: jax.Array, head: jax.Array, targets: jax.Array) -> jax.Array:
    """Logit of each token's own target, float32 ``[N]``."""
    local, inside = own_rows(layout, head.shape[0], targets)
    rows = jnp.take(head, local, axis=0)
    logits = jnp.einsum("nd,nd->n", hidden, rows, preferred_element_type=jnp.float32)
    return logits if layout.tensor == 1 else layout.sum_over_tensor(jnp.where(inside, logits, 0.0))


def _blocked_sums(
    block: int,
    layout: Layout,
    hidden: jax.Array,
    head: jax.Array,
    targets: jax.Array,
    scored: jax.Array,
    z_weight: jax.Array,
) -> TokenSums:
    head = _whole_head(layout, head, hidden.shape[1], hidden.dtype)

    def step(sums: tuple[jax.Array, jax.Array], part: Any) -> tuple[Any, None]:
        nll, z, *_ = _block_sums(layout, part[0], head, *part[1:])
        return (sums[0] + nll, sums[1] + z), None

    parts = _split(block, hidden, _label_logits(layout, hidden, head, targets), scored)
    (nll, z), _ = jax.lax.scan(step, (jnp.float32(0), jnp.float32(0)), parts)
    return TokenSums(nll + z_weight * z, nll, z)


def _blocked_forward(
    block: int,
    layout: Layout,
    hidden: jax.Array,
    head: jax.Array,
    targets: jax.Array,
    scored: jax.Array,
    z_weight: jax.Array,
) -> tuple[TokenSums, tuple[jax.Array, jax.Array]]:
    """Sums, and the gradients of the objective by ``hidden`` [N, D] and by ``head`` [Vs, Ds].

    For a scored token, d objective / d logits = p · (1 + 2 · z_weight · log Z) − onehot(target). The first part is rounded to
    the dtype of ``hidden`` before it is multiplied, and the second part makes up for the rounding of the target's own p: as
    p comes near to 1 it is rounded to 1 in bfloat16, and what is left of the gradient would not sum to zero over the vocabulary,
    but push all logits down together, which nothing without z-loss would undo.
    """
    dtype, columns = hidden.dtype, head.shape[1]
    head = _whole_head(layout, head, hidden.shape[1], dtype)

    def step(carry: Any, part: Any) -> tuple[Any, Any]:
        nll_sum, z_sum, grad_head_t = carry
        nll, z, exponentials, total, log_z = _block_sums(layout, part[0], head, *part[1:])
        factor = jnp.where(part[2][:, None], (1.0 + 2.0 * z_weight * log_z) / total, 0.0)
        grad_logits = _rounded(exponentials * factor, dtype).astype(
            dtype
        )  # [C, Vs], without the one-hot part
        grad_hidden = jnp.dot(grad_logits, head, preferred_element_type=jnp.float32)
        grad_head_t += jnp.dot(part[0].T, grad_logits, preferred_element_type=jnp.float32)
        return (nll_sum + nll, z_sum + z, grad_head_t), (grad_hidden, log_z[:, 0])

    label_logits = _label_logits(layout, hidden, head, targets)
    parts = _split(block, hidden, label_logits, scored)
    # [D, Vs]: as [Vs, D] this product is slower on a CPU, while that with the head is as fast from its rows
    start = (jnp.float32(0), jnp.float32(0), jnp.zeros(head.shape[::-1], jnp.float32))
    (nll, z, grad_head_t), (grad_hidden, log_z) = jax.lax.scan(step, start, parts)
    local, inside = own_rows(layout, head.shape[0], targets)
    marked = (scored & inside)[:, None].astype(jnp.float32)
    log_z = log_z.reshape(-1)
    of_target = jnp.exp(label_logits - log_z) * (1.0 + 2.0 * z_weight * log_z)
    marked *= 1.0 + (_rounded(of_target, dtype) - of_target)[:, None]
    grad_hidden = grad_hidden.reshape(hidden.shape) - marked * jnp.take(head, local, axis=0)
    grad_hidden = layout.sum_over_tensor(grad_hidden)
    grad_head = grad_head_t.T.at[local].add(-marked * hidden.astype(jnp.float32))
    grad_head = layout.scattered(grad_head, columns, 1)
    return TokenSums(nll + z_weight * z, nll, z), (grad_hidden.astype(dtype), grad_head)


def _rounded(values: jax.Array, dtype: Any) -> jax.Array:
    """Round float32 values to what ``dtype`` can hold, in an operation that the compiler may not leave out as it may a cast."""
    if dtype == jnp.float32:
        return values
    return jax.lax.reduce_precision(values, jnp.finfo(dtype).nexp, jnp.finfo(dtype).nmant)


def _blocked_backward(
    block: int, layout: Layout, gradients: tuple[jax.Array, jax.Array], cotangent: TokenSums
) -> tuple[jax.Array | None, ...]:
    grad_hidden, grad_head = gradients
    scale = cotangent.objective
    return (grad_hidden * scale.astype(grad_hidden.dtype), grad_head * scale, None, None, None)


_blocked = jax.custom_vjp(_blocked_sums, nondiff_argnums=(0, 1))
_blocked.defvjp(_blocked_forward, _blocked_backward)
