"""Compile the training step of each phase for a pod that is not there, and hold the program against the floor."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from tootsie.datasets.errors import SpecError
from tootsie.train import chips, hlo
from tootsie.train.architecture import Architecture
from tootsie.train.attention import visited_share
from tootsie.train.chips import Chip
from tootsie.train.device_settings import DeviceSettings
from tootsie.train.devices import Computation, plan_computation
from tootsie.train.floor import Floor, floor
from tootsie.train.mesh import AXES, TPU_TILE, MeshShape, check_length, check_mesh, mesh_shape
from tootsie.train.model import build
from tootsie.train.optimizer import StepSettings
from tootsie.train.remat import Remat
from tootsie.train.sharding import ROWS, replicated_leaves, shape_of
from tootsie.train.step import Rows, make_init, make_update, microbatches, state_shapes
from tootsie.train.timeline import Timeline, simulate


class Shape(NamedTuple):
    """What decides the program of a phase; phases that share it share the program."""

    batch_size: int  # Rows.
    length: int  # Tokens of a row.


class Compiled(NamedTuple):
    """One program, measured; all figures are for one chip and one step."""

    shape: Shape  # Batch and length.
    settings: DeviceSettings  # How it is divided.
    mesh: MeshShape  # Sizes of the axes.
    chip: Chip  # What it runs on.
    seconds: float  # That compiling took here.
    arguments: int  # Bytes: state and rows; the new state takes the place of the old.
    memory: int  # Bytes of HBM that a step needs at most at once: state, rows and all between, as the compiler places them.
    matrix_flops: float  # Products with matrices in the program.
    attention_flops: float  # Of the blocks that the attention kernels visit.
    kernels: list[str]  # Splash attention kernels in the program.
    axis_bytes: dict[str, float]  # Bytes sent along each axis of the mesh.
    timeline: Timeline  # What the step is predicted to take.
    replicated: list[str]  # Large leaves of the state that lie whole on every chip.
    floor: Floor  # What can't be done without.

    @property
    def flops(self) -> float:
        """All FLOPs of matrices and attention."""
        return self.matrix_flops + self.attention_flops

    @property
    def bytes(self) -> float:
        """All bytes sent."""
        return sum(self.axis_bytes.values())

    @property
    def step_seconds(self) -> tuple[float, float]:
        """Least time, work at peak or all bytes at all links' rate, and most: work as predicted and nothing hidden."""
        work, slow = self.flops / self.chip.peak, self.axis_bytes.get("between slices", 0.0)
        links = (self.bytes - slow) / self.chip.interconnect
        return max(work, links, slow / self.chip.between_slices), max(work, self.timeline.unhidden)

    def mfu(self, seconds: float) -> float:
        """Model FLOPs (nothing computed again, causal attention halved) ÷ dense bfloat16 peak × time."""
        return self.floor.model_flops / (self.chip.peak * seconds)

    def mfu_of_all_pairs(self, seconds: float) -> float:
        """MFU with attention counted over all pairs, as MaxText does: twice the causal one's."""
        return (self.floor.model_flops + self.floor.attention_flops) / (self.chip.peak * seconds)


class DoesNotFitError(SpecError):
    """The program needs more memory than a chip has."""


def shapes_of(plan: Any, only: list[str] | None = None, file: str | None = None) -> dict[Shape, list[str]]:
    """Return the distinct programs of a plan, each with the names of its phases; of some phases where ``only`` names them.

    Raises:
      SpecError: the plan has no phase of such a name.
    """
    known = [phase.name for phase in plan.phases]
    for name in only or ():
        if name not in known:
            raise SpecError(
                "the plan has no such phase",
                file=file,
                field="--phase",
                value=name,
                remedy=f"Known: {', '.join(known)}",
            )
    shapes: dict[Shape, list[str]] = {}
    for phase in plan.phases:
        if not only or phase.name in only:
            shapes.setdefault(Shape(phase.batch_size, plan.length_of(phase)), []).append(phase.name)
    return shapes


def compile_step(
    architecture: Architecture,
    computation: Computation,
    settings: DeviceSettings,
    shape: Shape,
    bos_id: int | None,
    average: bool,
    chip: Chip,
) -> Compiled:
    """Compile one step for the devices of ``computation`` and measure the program.

    Raises:
      DoesNotFitError: the compiler says by how much.
    """
    execution, split = computation
    mesh = split.mesh
    assert mesh is not None
    given = state_shapes(make_init(build(architecture, computation.whole), average), split)
    everywhere, by_rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, ROWS)
    rows = [
        jax.ShapeDtypeStruct(shape, dtype, sharding=by_rows) for dtype in (jnp.int32, jnp.int32, jnp.bool_)
    ]
    scalar = jax.ShapeDtypeStruct((), jnp.float32, sharding=everywhere)
    step_settings = StepSettings(*[scalar] * len(StepSettings._fields))
    began = time.perf_counter()
    update: Any = make_update(
        build(architecture, execution), bos_id, split
    )  # compiled functions can be lowered
    lowered = update.lower(given, Rows(*rows), step_settings)
    try:
        compiled = lowered.compile()
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise _does_not_fit(str(error), chip, settings) from None
    seconds = time.perf_counter() - began
    program = hlo.parse(compiled.as_text())
    memory = compiled.memory_analysis()
    sizes = shape_of(mesh)
    kernels = hlo.splash_kernels(program)
    axis_bytes: dict[str, float] = {}
    for exchange in hlo.collectives(program):
        axis = exchange.kind if exchange.kind == "between slices" else axis_of(exchange.group, sizes)
        axis_bytes[axis] = axis_bytes.get(axis, 0.0) + hlo.wire_bytes(exchange)
    parts = microbatches(shape.batch_size // sizes.row_shards, split.rows_per_device)
    return Compiled(
        shape=shape,
        settings=settings,
        mesh=sizes,
        chip=chip,
        seconds=seconds,
        arguments=memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes,
        memory=memory.peak_memory_in_bytes,
        matrix_flops=hlo.matrix_flops(program),
        attention_flops=sum(
            times * _kernel_flops(name, query, sizes.sequence) for name, query, times in kernels
        ),
        kernels=sorted({name.split(".")[0] for name, _, _ in kernels}),
        axis_bytes=axis_bytes,
        timeline=simulate(
            program,
            chip,
            lambda group: axis_of(group, sizes),
            lambda name, query: _kernel_flops(name, query, sizes.sequence),
        ),
        replicated=replicated_leaves(given, sizes),
        floor=floor(
            architecture,
            sizes,
            *shape,
            remat=settings.remat,
            microbatches=parts,
            average=average,
            gradient_bytes=2 if settings.gradient_dtype == "bfloat16" else 4,
        ),
    )


def _kernel_flops(name: str, query: tuple[int, ...], sequence: int) -> float:
    """Two products forward; backward five in one kernel: scores again, and the gradients of all that went in."""
    rows, heads, own, size = query  # own: the tokens of one device
    backward, length = "dkv" in name, own * sequence
    pairs = visited_share(length, backward, sequence) * length * own
    return (5 if backward else 2) * 2 * rows * heads * size * pairs


def axis_of(group: tuple[int, ...], mesh: MeshShape) -> str:
    """Return the axes of the mesh along which the devices of a group differ, such as ``fsdp``."""
    places = [np.unravel_index(n, mesh) for n in group]
    return (
        " and ".join(name for i, name in enumerate(AXES) if len({place[i] for place in places}) > 1) or "none"
    )


def _does_not_fit(message: str, chip: Chip, settings: DeviceSettings) -> DoesNotFitError:
    import re

    found = re.search(r"Used ([0-9.]+[KMGT]) of ([0-9.]+[KMGT])", message) or re.search(
        r"temporaries \(([0-9.]+[KMGT])\) exceeds available HBM \(([0-9.]+[KMGT])\)", message
    )
    divided = "".join(
        f", {name} {n}" for name in ("tensor", "sequence") if (n := getattr(settings, name)) > 1
    )
    needed = f"{found[1]}iB of {found[2]}iB" if found else message.splitlines()[0][:200]
    return DoesNotFitError(
        f"the step does not fit a {chip.name} chip",
        field="devices",
        value=f"{needed}; remat {settings.remat.value}, rows_per_device {settings.rows_per_device}{divided}",
        remedy="Choose another remat, fewer rows_per_device or a larger topology; --search tries them",
    )


def candidates(
    settings: DeviceSettings, architecture: Architecture, mesh: MeshShape, shape: Shape, chip: Chip
) -> list[DeviceSettings]:
    """Return what to try, fastest floor first: the time of its work and then of its traffic, nothing hidden.

    Args:
      settings: of the run file; all but ``remat`` and ``rows_per_device`` stays.
      architecture: sizes of the model.
      mesh: sizes of the axes.
      shape: batch and length.
      chip: what it is to run on.
    """
    return [chosen for _, chosen in _timed(settings, architecture, mesh, shape, chip)]


def _timed(
    settings: DeviceSettings, architecture: Architecture, mesh: MeshShape, shape: Shape, chip: Chip
) -> list[tuple[float, DeviceSettings]]:
    """Return the candidates of one mesh, each with the seconds of its floor, in their order; none where rows do not divide."""
    rows, odd = divmod(shape.batch_size, mesh.row_shards)
    timed: list[tuple[float, DeviceSettings]] = []
    for parts in [] if odd else [parts for parts in range(1, rows + 1) if rows % parts == 0]:
        for policy in (Remat.PROJECTIONS, Remat.ATTENTION, Remat.BLOCK):
            least = floor(architecture, mesh, *shape, policy, parts, False, gradient_bytes=4)
            seconds = least.flops / chip.peak + (least.bytes - least.replica_bytes) / chip.interconnect
            chosen = settings.model_copy(update={"remat": policy, "rows_per_device": rows // parts})
            timed.append((seconds, chosen))
    return sorted(timed, key=lambda each: each[0])


DIVISORS = (1, 2, 4, 8)
"""Sizes of ``tensor`` and ``sequence`` that a search tries."""


def further_candidates(
    settings: DeviceSettings,
    architecture: Architecture,
    devices: int,
    slices: int,
    shape: Shape,
    chip: Chip,
) -> list[DeviceSettings]:
    """Return what to try where nothing fits by rows alone: layers or rows divided as well, fastest floor first.

    Nothing, where the run file says how the devices are divided.
    """
    if settings.replica or settings.fsdp or settings.tensor > 1 or settings.sequence > 1:
        return []
    timed: list[tuple[float, DeviceSettings]] = []
    for tensor, sequence in itertools.product(DIVISORS, DIVISORS):
        divided = settings.model_copy(update={"tensor": tensor, "sequence": sequence})
        try:
            mesh = mesh_shape(divided, devices, slices, None, architecture.model_size, TPU_TILE)
            check_mesh(mesh, architecture)
            check_length(shape.length, mesh)
        except SpecError:
            continue
        if (tensor, sequence) != (1, 1):
            timed += _timed(divided, architecture, mesh, shape, chip)
    return [chosen for _, chosen in sorted(timed, key=lambda each: each[0])]


def precompile(
    architecture: Architecture,
    settings: DeviceSettings,
    compute_dtype: str,
    plan: Any,
    bos_id: int | None,
    topology: str,
    slices: int,
    search: bool,
    tell: Callable[[str], None],
    file: str | None = None,
    only: list[str] | None = None,
) -> Iterator[tuple[list[str], Compiled]]:
    """Yield the names of the phases and the measured program of each distinct step of a plan.

    Args:
      architecture: sizes of the model.
      settings: how a step is divided.
      compute_dtype: of activations.
      plan: its phases' batches and lengths.
      bos_id: the token that begins every document and is not scored, or ``None``.
      topology: of one slice, such as ``v5e:16x16``.
      slices: how many of them.
      search: try policies, then other meshes, until one fits, instead of what ``settings`` says.
      tell: takes one line.
      file: the run file, for messages.
      only: names of phases; absent = all.

    Raises:
      DoesNotFitError: a step needs more memory than there is, and without ``search`` or whatever was tried.
      SpecError: something does not divide, or the topology is not known.
    """
    chip = chips.chip_of(topology)
    devices = chips.describe(topology, slices)
    average = any(phase.settings.ema_beta is not None for phase in plan.phases)

    def attempt(shape: Shape, chosen: DeviceSettings) -> Compiled:
        computation = plan_computation(
            chosen, architecture, compute_dtype, "stacked", [shape], devices, lambda line: None, file
        )
        return compile_step(architecture, computation, chosen, shape, bos_id, average, chip)

    for shape, names in shapes_of(plan, only, file).items():
        if not search:
            yield names, attempt(shape, settings)
            continue
        mesh = mesh_shape(settings, len(devices), slices, file, architecture.model_size, TPU_TILE)
        fault: DoesNotFitError | None = None
        by_rows = candidates(settings, architecture, mesh, shape, chip)
        divided = further_candidates(settings, architecture, len(devices), slices, shape, chip)
        for chosen in [*by_rows, *divided] or [settings]:  # which says what does not divide
            try:
                yield names, attempt(shape, chosen)
                break
            except DoesNotFitError as error:
                fault = error
                tell(f"{', '.join(names)}: {error}")
        else:
            assert fault is not None
            raise fault
