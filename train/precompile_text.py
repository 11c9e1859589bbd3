"""What ``tootsie train precompile`` prints: a program beside its floor."""

from __future__ import annotations

from tootsie.train.mesh import FSDP, SEQUENCE
from tootsie.train.precompile import Compiled


def lines_of(phases: list[str], program: Compiled) -> list[str]:
    """Return the figures of one program as lines for a terminal; all are for one chip and one step."""
    chip, floor, mesh = program.chip, program.floor, program.mesh
    settings = program.settings
    rows = program.shape.batch_size // mesh.row_shards
    at_once = min(rows, settings.rows_per_device or rows)
    between = program.axis_bytes.get("between slices", 0.0)
    first, last = program.step_seconds
    step, tokens = program.timeline, program.shape.batch_size * program.shape.length / mesh.devices
    lines = [
        f"{', '.join(phases)}: {program.shape.batch_size:,} × {program.shape.length:,} tokens on {mesh.devices:,} {chip.name} "
        f"chips, {mesh}, remat {settings.remat.value}, "
        f"{at_once} of {rows} rows at a time",
        f"  {'':<28}{'compiled':>12}{'floor':>12}{'ratio':>8}",
        _row("memory of HBM", program.memory / 2**30, chip.memory / 2**30, "GiB", "of"),
        _row("state", program.arguments / 2**30, floor.state / 2**30, "GiB"),
        _row("FLOPs", program.flops / 1e12, floor.flops / 1e12, "T"),
        _row(
            "  matrices, recomputed too",
            program.matrix_flops / 1e12,
            (floor.matrix_flops + floor.remat_flops) / 1e12,
            "T",
        ),
        _row(
            "  attention, recomputed too",
            program.attention_flops / 1e12,
            (floor.attention_flops + floor.remat_attention_flops) / 1e12,
            "T",
        ),
        f"  {'  recomputed of the floor':<28}{'':>12}{(floor.remat_flops + floor.remat_attention_flops) / 1e12:>10,.1f} T",
        _row("bytes sent", program.bytes / 1e9, floor.bytes / 1e9, "GB"),
    ]
    known = {"tensor": floor.tensor_bytes, "sequence": floor.sequence_bytes}
    weights = " and ".join(axis for axis in (FSDP, SEQUENCE) if getattr(mesh, axis) > 1)
    known[weights] = known.get(weights, 0.0) + floor.fsdp_bytes
    known["between slices" if between else "replica"] = floor.replica_bytes
    for axis, size in sorted(program.axis_bytes.items(), key=lambda item: -item[1]):
        lines.append(_row(f"  {axis}", size / 1e9, known.get(axis, 0.0) / 1e9, "GB"))
    lines += [
        f"  attention: {', '.join(program.kernels) or 'no kernel in the program'}",
        f"  large leaves whole on every chip: {', '.join(program.replicated) or 'none'}",
        f"  predicted step: {step.seconds:.2f} s, MFU {program.mfu(step.seconds):.0%} "
        f"({program.mfu_of_all_pairs(step.seconds):.0%} with attention over all pairs), "
        f"{tokens / step.seconds:,.0f} tokens/s a chip",
        f"    work {step.work:.2f} s: {_parts(step.parts)}; at peak {program.flops / chip.peak:.2f} s",
        f"    waiting {sum(step.waits.values()):.2f} s: {_parts(step.waits)}; exchanges in all "
        f"{sum(step.exchanges.values()):.2f} s: {_parts(step.exchanges)}",
        f"  bounds: {first:.2f} s (work at peak, exchanges hidden) to {last:.2f} s (nothing hidden): "
        f"MFU {program.mfu(last):.0%} to {program.mfu(first):.0%}",
        f"  compiled in {program.seconds:,.0f} s",
    ]
    return lines


def _parts(seconds: dict[str, float]) -> str:
    """The larger first, and none that would be printed as zero."""
    ordered = sorted(seconds.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {spent:.2f}" for name, spent in ordered if spent >= 0.005) or "none"


def _row(name: str, found: float, least: float, unit: str, between: str = "") -> str:
    ratio = f"{found / least:>8.3f}" if least else f"{'':>8}"
    return f"  {name:<28}{found:>8,.2f} {unit:<3}{least:>8,.2f} {unit:<3}{ratio}"


EXPLANATION = (
    "MFU = model FLOPs (6 × matrices, and causal attention: half of all pairs) ÷ (time × dense bfloat16 peak)",
    "predicted: the program's own order, the compiler's estimates of its instructions, links at full rate; never run on a TPU",
    "floor: gathers in bfloat16, forward and backward; gradients scattered once; all of a ring's bytes",
)
"""Printed below the figures."""
