"""Section ``watch`` of a run file: what is looked at beyond the loss, and from when on it is told."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tootsie.train.cadence import Duration, DurationField, Unit


class WatchSettings(BaseModel):
    """Norms by layer, and the thresholds of the alarms. Windows of losses start anew with each phase."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    norms_every: DurationField | None = Duration(10, Unit.STEPS)
    """How often a line of kind ``norms`` goes to ``metrics.jsonl``; null = never."""
    loss_window: int = Field(default=200, ge=8)
    """``loss-rising``: lines of ``metrics.jsonl`` looked at; the mean of the later half is held against the earlier."""
    loss_rise: float = Field(default=0.005, ge=0)
    """``loss-rising``: nats by which it must be higher, and at least four standard errors, while the learning rate falls."""
    head_rate: float = Field(default=0.5, gt=0, le=1)
    """``head-norm-growing``, ``log-z-growing``: looked at where the rate is below this part of the highest so far, and falls."""
    head_growth: float = Field(default=0.02, ge=0)
    """``head-norm-growing``: growth over the smallest norm since then."""
    log_z_window: int = Field(default=20, ge=1)
    """``log-z-growing``: lines of ``metrics.jsonl`` whose mean is taken."""
    log_z_growth: float = Field(default=1.0, ge=0)
    """``log-z-growing``: nats above the smallest mean since then."""
    ema_gap: float = 0.001
    """``ema-gap``: nats by which the average must be better than the hot weights at a constant learning rate."""
    ema_settled: float = Field(default=10.0, gt=0)
    """``ema-gap``: memories of the average, 1 / (1 − β) updates each, for which the rate must have been constant."""
    spike_window: int = Field(default=100, ge=8)
    """``loss-spike``: lines before, whose mean and spread are taken."""
    spike_sigmas: float = Field(default=8.0, gt=0)
    """``loss-spike``: standard deviations above the mean."""
    spike_rise: float = Field(default=0.3, ge=0)
    """``loss-spike``: and at least so many nats above it."""
    throughput_window: int = Field(default=100, ge=10)
    """``throughput-drop``: steps of the same batch before, whose median is the measure; the last fifth as many are held to it."""
    throughput_drop: float = Field(default=0.3, gt=0, lt=1)
    """``throughput-drop``: part of it that is lost."""
    dataset_wrap: bool = True
    """``dataset-wrap``: whether the start of another epoch of a dataset is told."""
