"""Predict the time of a step: walk a compiled program in its order, with one clock for work and one for each kind of link.

The text of a scheduled program lists the instructions of a computation in the order in which a chip issues them. So

    work        now ← now + seconds of the instruction
    start       begin = max(now, link free); link free = due = begin + bytes ÷ rate of the link
    done        now ← max(now, due); the difference is time spent waiting, counted for the axis of the exchange

The seconds of an instruction are the compiler's own estimate (``estimated_cycles`` ÷ clock); of a product no less than its FLOPs
÷ peak; of an attention kernel, which has no estimate, its FLOPs ÷ (peak × :data:`KERNEL_SHARE`). A synchronous exchange is a
start and a done at once. One that the TPU compiler has spread over several fusions, whose estimates leave it out, starts with
the first of them and is done at the end of the last (a chain). The body of a loop is walked until a round is like the one
before; the others are then the same.

Assumptions:

- All chips are in step. Exchanges within a slice share its links and follow one another; those between slices have a network of
  their own. Both move the bytes of a ring at the full rate of the links that the algorithm uses, without latency.
- An exchange takes nothing from the work beside it but time on its link: not HBM bandwidth, nor the core that adds up.
- Copies within a chip that run beside the work (``copy-start``, ``slice-start``) are done when they are needed.

Hence ``work ≤ seconds ≤ work + all exchanges one after another``, always: a chip waits only while a link is busy.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from tootsie.train import hlo
from tootsie.train.chips import Chip
from tootsie.train.hlo import Instruction, Program

KERNEL_SHARE = {"v4": (0.75, 0.5), "v5e": (0.75, 0.5), "v5p": (0.75, 0.5), "v6e": (0.1875, 0.125)}
"""Share of the peak that Splash attention reaches over the blocks it visits: forward, and backward in one kernel.

From times printed in axlearn's ``flash_attention/tpu_attention_benchmark.py`` (v5p, 2 rows of 8,192 tokens, a window of 4,096,
blocks of 512, heads of 128): forward 3.2 ms of 40 heads to 6.7 ms of 88, 79 to 83 % of the peak; backward 12.0 to 24.6 ms, 53 to
56 %; both rounded down. A core of v4 and of v5e has the matrix and vector units of a core of v5p. One of v6e does four times
the products in a cycle beside the same vector unit: it is taken to need as many cycles, so to gain nothing of that.
"""


def kernel_seconds(chip: Chip, name: str, flops: float) -> float:
    """Return the time of one run of the Splash kernel ``name``."""
    return flops / (chip.peak * KERNEL_SHARE[chip.name]["dkv" in name])


class Timeline(NamedTuple):
    """A step of one chip, seconds."""

    seconds: float  # Of the whole step.
    parts: dict[str, float]  # Work: "matrices" (fusions with a product), "attention", "other".
    waits: dict[str, float]  # Waiting for exchanges, by axis.
    exchanges: dict[str, float]  # Time on the links, waited for or not, by axis.

    @property
    def work(self) -> float:
        """All but waiting."""
        return sum(self.parts.values())

    @property
    def unhidden(self) -> float:
        """What the step would take if nothing were hidden."""
        return self.work + sum(self.exchanges.values())


class _Exchange(NamedTuple):
    key: str  # Name or chain, by which it is waited for.
    link: str  # What it keeps busy.
    axis: str  # What its waiting is counted for.
    seconds: float  # On the link.


class _Step(NamedTuple):
    work: float = 0.0
    part: str = "other"
    starts: tuple[_Exchange, ...] = ()
    waits: tuple[str, ...] = ()
    enters: tuple[str, ...] = ()  # Computations that run in its place,
    rounds: int = 1  # this often.


def simulate(
    program: Program,
    chip: Chip,
    axis_of: Callable[[tuple[int, ...]], str],
    kernel_flops: Callable[[str, tuple[int, ...]], float],
) -> Timeline:
    """Return the timeline of a scheduled program.

    Args:
      program: as the TPU compiler has scheduled it.
      chip: clock and rates.
      axis_of: names the axis of the mesh along which a group of devices lies.
      kernel_flops: of an attention kernel, from its name and the shape of its queries.
    """
    walk = _Walk(_Reader(program, chip, axis_of, kernel_flops))
    walk.run(program.entry)
    return Timeline(walk.now, *(dict(counter) for counter in walk.counters))


class _Walk:
    """The clocks, and where they are."""

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader
        self.now = 0.0
        self.free: dict[str, float] = {}  # When each link has done all that was started.
        self.due: dict[str, tuple[float, str]] = {}  # End and axis of what was started and not waited for.
        self.counters: tuple[defaultdict[str, float], ...] = (
            defaultdict(float),
            defaultdict(float),
            defaultdict(float),
        )

    def run(self, computation: str) -> None:
        parts, waits, exchanges = self.counters
        for step in self.reader.steps(computation):
            for exchange in step.starts:
                begin = max(self.now, self.free.get(exchange.link, 0.0))
                self.free[exchange.link] = begin + exchange.seconds
                self.due[exchange.key] = (self.free[exchange.link], exchange.axis)
                exchanges[exchange.axis] += exchange.seconds
            self.now += step.work
            if step.work:
                parts[step.part] += step.work
            if step.enters:
                self.repeat(step.enters, step.rounds)
            for key in step.waits:
                due, axis = self.due.pop(key, (0.0, ""))
                if due > self.now:
                    waits[axis] += due - self.now
                    self.now = due

    def repeat(self, computations: tuple[str, ...], rounds: int) -> None:
        before = None
        for done in range(1, rounds + 1):
            began, old = self.now, [counter.copy() for counter in self.counters]
            for computation in computations:
                self.run(computation)
            spent = self.now - began
            backlog = {link: max(0.0, free - self.now) for link, free in self.free.items()}
            if before is not None and _same(before, {"": spent, **backlog}):
                left = rounds - done
                self.now += left * spent
                self.free = {link: self.now + late for link, late in backlog.items()}
                for counter, start in zip(self.counters, old, strict=True):
                    for name in counter:
                        counter[name] += left * (counter[name] - start[name])
                self.due = {key: (due + left * spent, axis) for key, (due, axis) in self.due.items()}
                return
            before = {"": spent, **backlog}


def _same(a: dict[str, float], b: dict[str, float]) -> bool:
    return a.keys() == b.keys() and all(abs(a[key] - b[key]) <= 1e-9 * max(1e-3, abs(a[key])) for key in a)


class _Reader:
    """The steps of each computation, read once."""

    def __init__(
        self,
        program: Program,
        chip: Chip,
        axis_of: Callable[[tuple[int, ...]], str],
        kernel_flops: Callable[[str, tuple[int, ...]], float],
    ) -> None:
        self.program, self.chip, self.axis_of, self.kernel_flops = program, chip, axis_of, kernel_flops
        self.known: dict[str, list[_Step]] = {}

    def steps(self, name: str) -> list[_Step]:
        if name not in self.known:
            computation = self.program.computations[name]
            steps = [self.step(instruction, computation) for instruction in computation.values()]
            last = {key: at for at, step in enumerate(steps) for key in step.waits}
            begun: set[str] = set()
            for at, step in enumerate(steps):  # of a chain, the first part starts and the last is waited for
                starts = tuple(exchange for exchange in step.starts if exchange.key not in begun)
                waits = tuple(key for key in step.waits if last[key] == at or not key.startswith(_CHAIN))
                begun.update(exchange.key for exchange in starts)
                steps[at] = step._replace(starts=starts, waits=waits)
            self.known[name] = steps
        return self.known[name]

    def step(self, instruction: Instruction, computation: dict[str, Instruction]) -> _Step:
        opcode, rest = instruction.opcode, instruction.rest
        if opcode == "while":
            body = re.search(r"body=%([\w.\-]+)", rest)
            assert body is not None
            return _Step(enters=(body[1],), rounds=hlo.trip_count(self.program, instruction))
        if opcode in ("call", "conditional"):
            return _Step(enters=hlo.called(instruction))
        if opcode.endswith("-done"):
            return _Step(waits=(_key_of_start(instruction, computation),))
        exchange = self.exchange(instruction, computation)
        if exchange is not None:  # by itself: either its start or all of it
            later = opcode in ("send",) or opcode.endswith("-start")
            return _Step(starts=(exchange,), waits=() if later else (exchange.key,))
        inner = [inside for name in hlo.called(instruction) for inside in self.inside(name)]
        parts = [found for inside, around in inner if (found := self.exchange(inside, around)) is not None]
        if opcode == "async-start":
            return _Step(starts=tuple(part._replace(key=instruction.name) for part in parts))
        flops = sum(hlo.product_flops(*each) for each in [(instruction, computation), *inner])
        seconds, part = self.work(instruction, computation)
        if flops:
            seconds, part = max(seconds, flops / self.chip.peak), "matrices"
        return _Step(seconds, part, tuple(parts), tuple(part.key for part in parts))

    def inside(self, name: str) -> list[tuple[Instruction, dict[str, Instruction]]]:
        """All instructions of a fusion, those of fusions within it too."""
        computation = self.program.computations[name]
        found = [(instruction, computation) for instruction in computation.values()]
        for instruction in computation.values():
            if instruction.opcode == "fusion":
                found += [inside for called in hlo.called(instruction) for inside in self.inside(called)]
        return found

    def exchange(self, instruction: Instruction, computation: dict[str, Instruction]) -> _Exchange | None:
        """The exchange that an instruction is or begins, if any."""
        found = hlo.exchange_of(instruction, computation)
        if found is None:
            return None
        size, chip = hlo.wire_bytes(found), self.chip
        if found.kind == "between slices":
            return _Exchange(_key(instruction), "network", found.kind, size / chip.between_slices)
        links = chip.links if _ALL_LINKS in instruction.rest else 2
        return _Exchange(_key(instruction), "links", self.axis_of(found.group), size / (chip.link * links))

    def work(self, instruction: Instruction, computation: dict[str, Instruction]) -> tuple[float, str]:
        """Seconds of an instruction that exchanges nothing, and which part of the work it is."""
        estimated = hlo.cycles_of(instruction)
        if estimated is not None:
            return estimated / self.chip.clock, "other"
        kernel = hlo.splash_query(instruction, computation)
        if kernel is not None:
            return kernel_seconds(self.chip, kernel[0], self.kernel_flops(*kernel)), "attention"
        if instruction.opcode not in _MOVES:
            return 0.0, "other"
        moved = instruction.shape
        if instruction.opcode == "dynamic-update-slice":  # in its place
            moved = computation[instruction.operands[1]].shape
        return 2 * hlo.size_in_bytes(moved) / self.chip.memory_bandwidth, "other"


_CHAIN = "chain "
"""Begins the key of an exchange that several fusions share."""
_ALL_LINKS = '"emitter":"RotatedPincer'
"""The compiler's all-reduce in several directions of the torus; its other algorithms are rings, of two links each."""
_MOVES = ("copy", "reshape", "transpose", "slice", "pad", "concatenate", "broadcast", "dynamic-update-slice")
"""Without an estimate they are taken to read and write their result in HBM; anything else without one is free."""


def _key(instruction: Instruction) -> str:
    """By what an exchange is waited for: its chain, the meeting of a send with its receive, or its own name."""
    chain = hlo.chain_of(instruction)
    if chain is not None:
        return f"{_CHAIN}{chain}"
    meeting = re.search(r'rendezvous="([^"]*)"', instruction.rest)
    return f"meeting {meeting[1]}" if meeting else instruction.name


def _key_of_start(done: Instruction, computation: dict[str, Instruction]) -> str:
    start = done
    while start.opcode.endswith(("-done", "-update")) and start.operands[0] in computation:
        start = computation[start.operands[0]]
    return _key(start)
