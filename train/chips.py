"""Accelerators: what one of them can do, and how many a topology's name means.

Peaks are dense bfloat16. Sources: the vendors' data sheets; bandwidths between chips and hosts from Austin et al., "How to Scale
Your Model" (2025), table of TPU specifications. Clock rates are not published: see :attr:`Chip.clock`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tootsie.datasets.errors import SpecError


class Chip(NamedTuple):
    """One accelerator as JAX sees it."""

    name: str  # As in the topology's name.
    kind: str  # JAX's ``device_kind``.
    peak: float  # FLOP/s, dense bfloat16.
    memory: float  # Bytes of HBM that a program may use.
    memory_bandwidth: float  # Bytes/s of HBM.
    link: float  # Bytes/s in one direction of one link to a neighbour.
    links: int  # Links to neighbours.
    between_slices: float  # Bytes/s of one chip's share of its host's network, one direction.
    clock: float  # Cycles/s, from the peak and the size of the matrix units.

    @property
    def interconnect(self) -> float:
        """Bytes/s that a chip can send to its neighbours over all links."""
        return self.link * self.links


_GIB = 2**30

CHIPS = {
    chip.name: chip
    for chip in (
        Chip("v4", "TPU v4", 275e12, 30.75 * _GIB, 1.2e12, 4.5e10, 6, 3.1e9, 1.05e9),
        Chip("v5e", "TPU v5 lite", 197e12, 15.75 * _GIB, 8.1e11, 4.5e10, 4, 3.1e9, 1.5e9),
        Chip("v5p", "TPU v5", 459e12, 95.74 * _GIB, 2.8e12, 9e10, 6, 6.2e9, 1.75e9),
        Chip("v6e", "TPU v6 lite", 918e12, 31.25 * _GIB, 1.6e12, 9e10, 4, 1.2e10, 1.75e9),
    )
}
"""Every TPU that ``precompile`` knows, by the name of its generation."""

_CHIP_CONFIGURATION = {"v4": "megacore", "v5p": "megacore"}
"""Two cores that work as one, as on the machines of the cloud."""


def chip_of(topology: str) -> Chip:
    """Return the chip of a topology such as ``v5e:16x16``.

    Raises:
      SpecError: the name is not of that form.
    """
    name, _, sizes = topology.partition(":")
    if name not in CHIPS or not sizes or not all(part.isdecimal() for part in sizes.split("x")):
        raise SpecError(
            "not a topology",
            field="--topology",
            value=topology,
            remedy=f"Write GENERATION:SIZES, such as v5e:16x16 or v4:8x8x16; generations: {', '.join(CHIPS)}",
        )
    return CHIPS[name]


def describe(topology: str, slices: int) -> list[Any]:
    """Return the devices of a TPU pod that is not there, for compiling only.

    Args:
      topology: of one slice, such as ``v5e:16x16``: chips along each dimension of the torus.
      slices: how many of them.

    Raises:
      SpecError: no such topology, or the TPU compiler is not installed.
    """
    import importlib.util
    import os

    from jax.experimental import topologies

    chip = chip_of(topology)
    if importlib.util.find_spec("libtpu") is None:
        raise SpecError(
            "compiling for a TPU needs its compiler, the package libtpu",
            field="--topology",
            value=topology,
            remedy="Install it with: pip install 'tootsie[tpu]'",
        )
    # There is no machine to ask, nothing to lock, and no host of a pod.
    for variable, value in (
        ("TPU_SKIP_MDS_QUERY", "1"),
        ("ALLOW_MULTIPLE_LIBTPU_LOAD", "1"),
        ("TPU_WORKER_HOSTNAMES", "localhost"),
    ):
        os.environ.setdefault(variable, value)
    extra = {"chip_config_name": _CHIP_CONFIGURATION[chip.name]} if chip.name in _CHIP_CONFIGURATION else {}
    try:
        found = topologies.get_topology_desc(topology, platform="tpu", num_slices=slices, **extra)
    except Exception as error:  # the compiler's own, of many kinds
        raise SpecError(
            f"the TPU compiler knows no such topology: {str(error).splitlines()[0][:200]}",
            field="--topology",
            value=f"{slices} × {topology}",
            remedy="Sizes are those of the cloud's slices, such as v5e:16x16, v4:8x8x16, v5p:8x8x8, v6e:16x16",
        ) from None
    return list(found.devices)
