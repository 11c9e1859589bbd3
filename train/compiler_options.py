"""Options of XLA's compiler for the program of a step: their values, and what is said of one that it does not take.

They reach the compiler with the program itself, so they need no environment variable and hold for nothing else in the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jax.sharding import SingleDeviceSharding
from pydantic import BeforeValidator

from tootsie.datasets.errors import SpecError


def _known_type(given: Any) -> Any:
    if isinstance(given, bool | int | str):
        return given
    raise ValueError("write a whole number, true, false or a string")


OptionValue = Annotated[bool | int | str, BeforeValidator(_known_type)]
"""Of one option, as it is written; a fraction is a string."""


def check_options(options: Mapping[str, OptionValue], device: Any, file: str | None = None) -> None:
    """Compile next to nothing for ``device`` with each of ``options``: so a wrong one is refused before anything is done.

    Raises:
      SpecError: names the option that this compiler does not know, or whose value it can't read.
    """
    number = jax.ShapeDtypeStruct((), jnp.float32, sharding=SingleDeviceSharding(device))
    for name, value in options.items():
        try:
            jax.jit(jnp.negative, compiler_options={name: value}).lower(number).compile()
        except jax.errors.JaxRuntimeError as error:
            reason = str(error).removeprefix("INVALID_ARGUMENT: ").splitlines()[0].rstrip(" :.")
            raise SpecError(
                f"the compiler for {device.device_kind} refuses this option ({reason})",
                file=file,
                field=f"devices.compiler_options.{name}",
                value=value,
                remedy="Correct it or leave it out; each kind of device has options of its own (xla_tpu_…, xla_gpu_…, xla_cpu_…)",
            ) from None
