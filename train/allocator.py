"""What malloc does with freed memory while a model is trained on a CPU.

XLA frees the memory of a step's intermediate results at the step's end and asks for it again at the next; so do its products of
matrices with their packed operands. As glibc is set, each time it hands large blocks back to the kernel, which gives them out
again page by page, filled with zeros: several GB a step of a model of 125M parameters, a tenth to a third of the step's CPU time.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

TRIM_THRESHOLD, MMAP_MAX, ARENA_MAX = -1, -4, -8
"""Options of mallopt(3), as ``malloc.h`` numbers them."""

ACCELERATORS = ("accel*", "vfio/[0-9]*", "nvidia[0-9]*", "kfd")
"""Device files of TPUs and GPUs, below ``/dev``."""


def on_cpu(devices: Path = Path("/dev")) -> bool:
    """Return whether JAX is going to compute on the CPU, as far as that is known before it is imported."""
    if platforms := os.environ.get("JAX_PLATFORMS"):
        return platforms.split(",")[0] == "cpu"
    return not any(any(devices.glob(pattern)) for pattern in ACCELERATORS)


def keep_freed_memory() -> bool:
    """Let malloc keep what is freed, for all threads, up to the process's end; return whether it can (it is glibc's).

    To be called before JAX is imported: threads that have a part of the heap of their own already go on using it.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # No block mapped by itself, the heap never cut at its end, and one heap: those of other threads end at 64 MiB.
    return mallopt is not None and all(
        mallopt(option, value) for option, value in ((MMAP_MAX, 0), (TRIM_THRESHOLD, -1), (ARENA_MAX, 1))
    )
