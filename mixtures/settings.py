"""What the trainer needs of a phase besides data."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from tootsie.mixtures.learning_rate import LearningRate


class RopeScaling(StrEnum):
    """How a rotary embedding is stretched for a longer context."""

    NONE = "none"
    """Not at all."""
    LLAMA3 = "llama3"
    """As in Llama 3.1: factor 8, frequencies between 1 and 4 turns of 8,192 tokens."""


class RopeSettings(BaseModel):
    """A rotary embedding; nothing has a default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    theta: float = Field(gt=1, allow_inf_nan=False)
    """Base of the wavelengths."""
    scaling: RopeScaling
    """Stretching."""

    def __str__(self) -> str:
        return f"theta {self.theta:g}, scaling {self.scaling.value}"


class PhaseSettings(BaseModel):
    """What the trainer needs besides data. Written out in full for every phase; nothing is left to a framework."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    learning_rate: LearningRate
    """Segment of the schedule."""
    weight_decay: float = Field(default=0.05, ge=0, allow_inf_nan=False)
    """Decoupled: the update subtracts ``learning_rate · weight_decay · w``."""
    z_loss: float = Field(default=1e-4, ge=0, allow_inf_nan=False)
    """Factor of mean(logsumexp(logits)²)."""
    ema_beta: float | None = Field(default=None, gt=0, lt=1)
    """ema ← beta·ema + (1 − beta)·w after every update; ``null``: no average."""
    clip_norm: float | None = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Largest global norm of the gradient; ``null``: not clipped."""
    adam_beta1: float = Field(default=0.9, ge=0, lt=1)
    """Decay of the first moment."""
    adam_beta2: float = Field(default=0.95, ge=0, lt=1)
    """Decay of the second moment."""
    adam_epsilon: float = Field(default=1e-8, gt=0, allow_inf_nan=False)
    """Added to the root of the second moment."""
    rope: RopeSettings | None = None
    """Rotary embedding that the phase is meant to be trained with; ``null``: as the run file says. The trainer compares."""
    precision: str | None = None
    """Dtype of the computation, for people: ``bfloat16``, ``float32 attention`` …"""
    hardware: str | None = None
    """What it runs on, for people: ``v5e-256 ×2`` …"""
