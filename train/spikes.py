"""What is done about steps that are far out of line: leave the update out, or bound it. Both are off unless asked for.

A step is skipped, as in OLMo, where its loss or the norm of its gradient lies more than k standard deviations above the mean of
the last W steps. The window holds every step, the skipped ones too, so a loss that stays high is soon no spike any more. Nothing
is skipped before the window is full. It is stored with each checkpoint, so a run that resumes skips the same steps.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tootsie.train.optimizer import StepSettings


class SpikeSettings(BaseModel):
    """Section ``spikes`` of a run file."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    skip_sigmas: float | None = Field(default=None, gt=0)
    """Standard deviations above the mean of the window from which on a step is skipped; null = never."""
    window: int = Field(default=128, ge=8)
    """Steps before, whose losses and gradient norms are taken."""
    update_clip: float | None = Field(default=None, gt=0)
    """Root mean square of gradient ÷ √second moment of one parameter beyond which its update is scaled down; null = never."""


class Limits(NamedTuple):
    """What a step must not exceed, or it is skipped; float32, infinite where nothing is."""

    loss: np.float32  # Nats per scored token, z-loss not included.
    grad_norm: np.float32  # Before clipping.


class SpikeWindow:
    """The last losses and gradient norms of a run."""

    def __init__(self, settings: SpikeSettings, kept: Sequence[tuple[float, float]] = ()) -> None:
        """Go on with what :meth:`record` returned, as far as the window of ``settings`` reaches."""
        self._settings = settings
        self._seen: deque[tuple[float, float]] = deque(kept, maxlen=settings.window)

    @property
    def limits(self) -> Limits:
        """What the next step must not exceed."""
        sigmas = self._settings.skip_sigmas
        if sigmas is None or len(self._seen) < self._settings.window:
            return Limits(np.float32(math.inf), np.float32(math.inf))
        seen = np.asarray(self._seen, np.float64)
        return Limits(*(seen.mean(axis=0) + sigmas * seen.std(axis=0, ddof=1)).astype(np.float32))

    def limit(self, settings: StepSettings) -> StepSettings:
        """Return the settings of the next step with its limits."""
        clip = self._settings.update_clip
        loss, grad_norm = self.limits
        return settings._replace(
            loss_limit=loss,
            grad_norm_limit=grad_norm,
            update_clip=np.float32(math.inf if clip is None else clip),
        )

    def observe(self, loss: float, grad_norm: float) -> None:
        """Take what a step reported; nothing is kept where no step is skipped."""
        if self._settings.skip_sigmas is not None:
            self._seen.append((loss, grad_norm))

    def record(self) -> tuple[tuple[float, float], ...]:
        """Return what a checkpoint keeps."""
        return tuple(self._seen)
