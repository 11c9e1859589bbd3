"""Rotary position embedding (Su et al. 2021), with the frequency scaling of Llama 3.1.

Glossary of shapes:
- B: batch size.
- T: sequence length.
- H: number of heads.
- P: head size; the embedding rotates P/2 pairs, element i with element i + P/2 (Hugging Face's layout).
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from pydantic import BaseModel, ConfigDict, Field, model_validator


class Llama3Scaling(BaseModel):
    """How Llama 3.1 stretches the slow frequencies for a longer context."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    factor: float = Field(ge=1)
    """Slow frequencies are divided by this."""
    low_frequency_factor: float = Field(gt=0)
    """Wavelengths above ``original_length / low_frequency_factor`` are scaled in full."""
    high_frequency_factor: float = Field(gt=0)
    """Wavelengths below ``original_length / high_frequency_factor`` are left alone."""
    original_length: int = Field(gt=0)
    """Context length before scaling, in tokens."""

    @model_validator(mode="after")
    def _ordered(self) -> Llama3Scaling:
        if self.high_frequency_factor <= self.low_frequency_factor:
            raise ValueError("high_frequency_factor must be greater than low_frequency_factor")
        return self


class Rope(BaseModel):
    """The rotary settings of a model. Nothing has a default: Marin's 8B trained 2.77T tokens on one by accident."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    theta: float = Field(gt=1)
    """Base of the wavelengths: 10,000 for Llama 2, 500,000 for Llama 3."""
    scaling: Llama3Scaling | None
    """Frequency scaling, or ``null`` for none; must be written out."""


LLAMA3_SCALING = Llama3Scaling(
    factor=8, low_frequency_factor=1, high_frequency_factor=4, original_length=8192
)


def frequencies(rope: Rope, head_size: int) -> np.ndarray:
    """Return the angular frequency of each pair in radians per token, float64 ``[P/2]``.

    Pair i turns by ``theta ** (-2 i / P)``. With Llama-3 scaling and wavelength λ: λ < L/high keeps its frequency,
    λ > L/low is divided by ``factor``, and between them the two are mixed linearly in L/λ.
    Source: Llama 3.1 reference code, function ``apply_scaling`` (described, not copied).
    """
    plain = rope.theta ** (-np.arange(0, head_size, 2, dtype=np.float64) / head_size)
    if rope.scaling is None:
        return plain
    scaling = rope.scaling
    turns = scaling.original_length * plain / (2 * math.pi)  # full turns within the original context
    kept = (turns - scaling.low_frequency_factor) / (
        scaling.high_frequency_factor - scaling.low_frequency_factor
    )
    kept = np.clip(kept, 0.0, 1.0)
    return plain * (kept + (1 - kept) / scaling.factor)


def rotation_tables(rope: Rope, length: int, head_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return cosine and sine of every position and pair, each float32 ``[T, P/2]``.

    The angle is rounded to float32 before cosine and sine, as the reference implementations do.
    """
    turn = frequencies(rope, head_size).astype(np.float32)
    angle = np.arange(length, dtype=np.float32)[:, None] * turn[None, :]
    return np.cos(angle), np.sin(angle)


def rotate(
    x: Float[Array, "B T H P"],
    cosine: Float[Array | np.ndarray, "T P/2"],
    sine: Float[Array | np.ndarray, "T P/2"],
) -> Float[Array, "B T H P"]:
    """Turn each pair of ``x`` by the angle of its position; computed in float32, returned in the dtype of ``x``."""
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)  # [B, T, H, P/2] each
    cosine, sine = jnp.asarray(cosine)[:, None, :], jnp.asarray(sine)[:, None, :]
    turned = jnp.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
    return jax.lax.convert_element_type(turned, x.dtype)
