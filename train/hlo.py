"""What a compiled program does: FLOPs, and bytes between devices, read from its HLO text.

XLA's own analysis counts the body of a loop once. Here every instruction counts as often as it runs: the trip count of a loop is
the constant that its condition compares the counter with, as in the loops that ``jax.lax.scan`` makes.

A collective that the TPU compiler spreads over several fusions, to hide it behind their products, carries one ``chain_id`` and
counts once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_BITS = {"pred": 8, "token": 0, "opaque": 0}
"""Of an element, where the dtype's name does not say it, as ``bf16``, ``s4``, ``c64`` and ``f8e4m3fn`` do."""
_ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([0-9,<=]*)\]")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = (.*)$")
_OPCODE = re.compile(r"^ ?([a-z][a-z0-9\-]*)\(")
_HEADER = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{\s*$")
_CALLS = re.compile(r"(?:calls|to_apply|(?:branch|true|false)_computations?)=\{?((?:%[\w.\-]+(?:, )?)+)")


class Instruction(NamedTuple):
    """One line of a computation."""

    name: str  # Unique in the program.
    opcode: str  # Such as "fusion".
    shape: str  # Text of the result's shape; a tuple in parentheses.
    operands: tuple[str, ...]  # Names.
    rest: str  # Everything after the operands.


class Program(NamedTuple):
    """Computations by name."""

    computations: dict[str, dict[str, Instruction]]  # Instructions by name, in order.
    entry: str  # The computation that runs first.


class Collective(NamedTuple):
    """One exchange between devices, as often as it runs."""

    kind: str  # "all-gather", "reduce-scatter", "all-reduce", "all-to-all", "collective-permute", "between slices".
    bytes: int  # Of the whole arrays on one device: the result of a gather, the operand of a scatter.
    group: tuple[
        int, ...
    ]  # Devices of one group, as positions in the mesh; empty where the program does not say.
    times: int  # How often it runs in a step.
    source: str  # Name of the operation it comes from.


def parse(text: str) -> Program:
    """Return the computations of an HLO module in text form."""
    computations: dict[str, dict[str, Instruction]] = {}
    entry, current = "", {}
    for line in text.splitlines():
        header = _HEADER.match(line)
        if header:
            current = computations[header[2]] = {}
            entry = header[2] if header[1] else entry
            continue
        found = _INSTRUCTION.match(line)
        if found:
            instruction = _instruction(found[1], found[2])
            if instruction is not None:
                current[instruction.name] = instruction
    return Program(computations, entry)


def _instruction(name: str, text: str) -> Instruction | None:
    end = _closing(text, 0) + 1 if text.startswith("(") else text.index(" ")
    shape, text = text[:end], text[end:]
    opcode = _OPCODE.match(text)
    if opcode is None:
        return None
    close = _closing(text, opcode.end() - 1)
    operands = tuple(re.findall(r"%([\w.\-]+)", text[opcode.end() : close]))
    return Instruction(name, opcode[1], shape, operands, text[opcode.end() : close] + text[close:])


def _closing(text: str, start: int) -> int:
    """Position of the parenthesis that closes the one at ``start``."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    raise ValueError(f"no closing parenthesis: {text[start : start + 80]}")


def arrays(shape: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return dtype and dimensions of each array in a shape's text, a tuple's in order."""
    return [
        (dtype, tuple(int(size.removeprefix("<=")) for size in sizes.split(",") if size))
        for dtype, sizes in _ARRAY.findall(re.sub(r"\{[^}]*\}", "", shape))
    ]


def size_in_bytes(shape: str) -> int:
    """Return the bytes of all arrays in a shape's text, padding left out; of a dynamic size, the bound."""
    return sum(-(-_bits(dtype) * math.prod(sizes) // 8) for dtype, sizes in arrays(shape))


def _bits(dtype: str) -> int:
    named = re.match(r"[a-z]+(\d+)", dtype)
    return int(named[1]) if named else _BITS[dtype]


def executed(program: Program) -> Iterator[tuple[Instruction, dict[str, Instruction], int, bool]]:
    """Yield each instruction with its computation, how often it runs, and whether it is part of a fusion."""
    stack = [(program.entry, 1, False)]
    while stack:
        name, times, fused = stack.pop()
        computation = program.computations[name]
        for instruction in computation.values():
            yield instruction, computation, times, fused
            if instruction.opcode == "while":
                body = re.search(r"body=%([\w.\-]+)", instruction.rest)
                assert body is not None
                stack.append((body[1], times * trip_count(program, instruction), fused))
            elif instruction.opcode in ("fusion", "call", "conditional", "async-start"):
                for target in called(instruction):
                    stack.append((target, times, fused or instruction.opcode == "fusion"))


def called(instruction: Instruction) -> tuple[str, ...]:
    """Return the names of the computations that an instruction calls; of a loop none."""
    lists = _CALLS.findall(instruction.rest)
    return tuple(name for names in lists for name in re.findall(r"%([\w.\-]+)", names))


def trip_count(program: Program, loop: Instruction) -> int:
    """Return how often a loop's body runs: the counter goes from 0 to the constant of the condition."""
    stated = re.search(r'known_trip_count[^0-9]*"?([0-9]+)', loop.rest)
    if stated:
        return int(stated[1])
    name = re.search(r"condition=%([\w.\-]+)", loop.rest)
    assert name is not None
    condition = program.computations[name[1]]
    limits = [
        int(found[1])
        for instruction in condition.values()
        if instruction.opcode == "constant" and (found := re.match(r"(\d+)\)", instruction.rest))
    ]
    return max(limits, default=1)


def matrix_flops(program: Program) -> int:
    """Return the FLOPs of all matrix products and convolutions in one run; a multiply-add counts 2."""
    return sum(
        times * product_flops(instruction, computation)
        for instruction, computation, times, _ in executed(program)
    )


def product_flops(instruction: Instruction, computation: dict[str, Instruction]) -> int:
    """Return the FLOPs of one run of a matrix product or a convolution; 0 of anything else."""
    if instruction.opcode == "dot":
        return _dot_flops(instruction, computation)
    return _convolution_flops(instruction, computation) if instruction.opcode == "convolution" else 0


def _dot_flops(dot: Instruction, computation: dict[str, Instruction]) -> int:
    (_, left), *_ = arrays(computation[dot.operands[0]].shape)
    contracted = re.search(r"lhs_contracting_dims=\{([0-9,]*)\}", dot.rest)
    assert contracted is not None
    (_, out), *_ = arrays(dot.shape)
    return 2 * math.prod(out) * math.prod(left[int(i)] for i in contracted[1].split(",") if i)


def _convolution_flops(convolution: Instruction, computation: dict[str, Instruction]) -> int:
    """Products of a convolution; positions where the window lies on padding do not count."""
    left, right = (arrays(computation[name].shape)[0][1] for name in convolution.operands)
    out = arrays(convolution.shape)[0][1]
    labels = re.search(r"dim_labels=(\w+)_(\w+)->(\w+)", convolution.rest)
    assert labels is not None
    of_left, of_right, of_out = (dict(zip(text, sizes, strict=True)) for text, sizes in zip(
        labels.groups(), (left, right, out), strict=True
    ))  # fmt: skip
    window = re.search(r"window=\{([^}]*)\}", convolution.rest)
    settings = dict(part.split("=") for part in window[1].split()) if window else {}
    flops = 2 * of_out["b"] * of_out["f"] * of_right["i"]
    for dimension in (label for label in of_out if label.isdigit()):
        at = int(dimension)

        def setting(name: str, default: int, at: int = at) -> int:
            return int(settings[name].split("x")[at].split("_")[0]) if name in settings else default

        stride, low = setting("stride", 1), setting("pad", 0)
        spread, step = setting("lhs_dilate", 1), setting("rhs_dilate", 1)
        reach = (of_left[dimension] - 1) * spread + 1
        # Both are at most the sizes of a batch or a row.
        position = np.arange(of_out[dimension])[:, None] * stride - low
        position = position + np.arange(of_right[dimension])[None] * step
        flops *= int(np.sum((position >= 0) & (position < reach) & (position % spread == 0)))
    return flops


_COLLECTIVES = ("all-gather", "reduce-scatter", "all-reduce", "all-to-all", "collective-permute")


def collectives(program: Program) -> list[Collective]:
    """Return every exchange of arrays between devices."""
    found, chains = [], set()
    for instruction, computation, times, _ in executed(program):
        exchange = exchange_of(instruction, computation, times)
        if exchange is None:
            continue
        chain = chain_of(instruction)
        if chain is None or chain not in chains:
            found.append(exchange)
        chains.add(chain)
    return found


def exchange_of(
    instruction: Instruction, computation: dict[str, Instruction], times: int = 1
) -> Collective | None:
    """Return what one instruction exchanges, as one of so many runs; ``None`` where it is not a collective or its start."""
    kind = instruction.opcode.removesuffix("-start")
    if kind == "send" and "megascale" in instruction.rest:
        size = size_in_bytes(computation[instruction.operands[0]].shape)
        return Collective("between slices", size, (), times, _source(instruction))
    if kind not in _COLLECTIVES:
        return None
    operands = sum(size_in_bytes(computation[name].shape) for name in instruction.operands)
    group = _first_group(instruction.rest)
    size = operands * len(group) if kind == "all-gather" else operands
    return Collective(kind, size, group, times, _source(instruction))


def chain_of(instruction: Instruction) -> str | None:
    """Return the number that a collective's parts share where the TPU compiler has spread it over several fusions."""
    chain = re.search(r'chain_id="(\d+)"', instruction.rest)
    return chain[1] if chain else None


def _source(instruction: Instruction) -> str:
    named = re.search(r'op_name="([^"]*)"', instruction.rest)
    return named[1] if named else instruction.name


def _first_group(text: str) -> tuple[int, ...]:
    listed = re.search(r"replica_groups=\{\{([0-9,]*)\}", text) or re.search(
        r"source_target_pairs=\{\{([0-9,]*)\}", text
    )
    if listed:
        return tuple(int(number) for number in listed[1].split(","))
    iota = re.search(r"replica_groups=\[([0-9,]+)\]<=\[([0-9,]+)\](?:T\(([0-9,]+)\))?", text)
    if not iota:
        return ()
    shape, dims = ([int(n) for n in iota[i].split(",")] for i in (1, 2))
    ids = np.arange(math.prod(dims)).reshape(dims)
    if iota[3]:
        ids = ids.transpose([int(n) for n in iota[3].split(",")])
    return tuple(int(n) for n in ids.reshape(shape)[0])


def wire_bytes(collective: Collective) -> float:
    """Return the bytes that one device sends in all runs: a ring's, the least there is for each kind."""
    n = len(collective.group) or 2  # a group of one exchanges nothing
    part = (n - 1) / n
    per_run = {"all-reduce": 2 * part, "collective-permute": 1.0, "between slices": 1.0}.get(
        collective.kind, part
    )
    return collective.times * per_run * collective.bytes


def cycles_of(instruction: Instruction) -> int | None:
    """Return the TPU compiler's own estimate for one run of an instruction, where it gives one."""
    found = re.search(r'"estimated_cycles":"(\d+)"', instruction.rest)
    return int(found[1]) if found else None


def splash_query(
    instruction: Instruction, computation: dict[str, Instruction]
) -> tuple[str, tuple[int, ...]] | None:
    """Return name and shape of the queries [B, H, T, P] of a Splash attention kernel; ``None`` where it is none."""
    if instruction.opcode != "custom-call" or "tpu_custom_call" not in instruction.rest:
        return None
    if not instruction.name.startswith("splash"):
        return None
    shapes = [arrays(computation[name].shape)[0] for name in instruction.operands]
    query = next(sizes for dtype, sizes in shapes if len(sizes) >= 3 and dtype in ("bf16", "f32"))
    return instruction.name, (1, *query)[-4:]  # of a single row, the compiler leaves the first dimension out


def splash_kernels(program: Program) -> list[tuple[str, tuple[int, ...], int]]:
    """Return name, shape of the queries [B, H, T, P] and runs of each Splash attention kernel in the program."""
    return [
        (*kernel, times)
        for instruction, computation, times, _ in executed(program)
        if (kernel := splash_query(instruction, computation)) is not None
    ]
