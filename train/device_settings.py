"""Section ``devices`` of a run file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tootsie.train.cadence import TokensField
from tootsie.train.compiler_options import OptionValue
from tootsie.train.mesh import MeshSettings
from tootsie.train.remat import Remat


class DeviceSettings(MeshSettings):
    """How a step is divided over devices, memory and time. None of it changes what is computed, but by rounding."""

    rows_per_device: int | None = Field(default=None, gt=0)
    """Most rows of a batch that a device computes at a time; it accumulates the gradients of the others. Absent = all."""
    remat: Remat = Remat.NONE
    """What is computed again in the backward pass instead of kept: none, projections, attention or block."""
    attention: Literal["auto", "splash", "cudnn", "xla", "reference"] = "auto"
    """How attention is computed: ``auto`` is splash on a TPU, cuDNN on a GPU and XLA elsewhere."""
    attention_fallback: bool = False
    """Whether XLA may take the place of a backend that can't run; otherwise that is an error."""
    gradient_dtype: Literal["float32", "bfloat16"] = "float32"
    """Dtype in which the gradients of several devices are summed."""
    loss_block: TokensField | None = None
    """Tokens whose logits exist at one time; absent = 512 on a CPU, elsewhere about 1 GiB of logits."""
    ema_memory: Literal["device", "host"] = "device"
    """Where averaged weights live: ``host`` spares the devices their 4 bytes a parameter, for a transfer both ways each step."""
    compiler_options: dict[str, OptionValue] = Field(default_factory=dict)
    """XLA's options for the program of the step, such as ``xla_tpu_scoped_vmem_limit_kib: 65536``; absent = its defaults."""
