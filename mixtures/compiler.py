"""Spec + ledgers → plan. All arithmetic is exact; whatever is rounded or derived is said in the plan's notes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError
from tootsie.datasets.provenance import code_version
from tootsie.datasets.yaml_source import Path, YamlSource
from tootsie.mixtures.branch import branch_record, branch_step, check_base, drawn_by, owed_after, past
from tootsie.mixtures.changes import INHERITED, list_changes
from tootsie.mixtures.duration import Duration, Unit
from tootsie.mixtures.measured import Measured, check_caches, measure, plan_dataset
from tootsie.mixtures.plan import (
    MAX_PHASE_LENGTH,
    WEIGHT_TOTAL,
    Branch,
    Change,
    Plan,
    PlanPhase,
    add_counts,
)
from tootsie.mixtures.rates import compile_rate, whole_steps
from tootsie.mixtures.settings import PhaseSettings
from tootsie.mixtures.shares import add_owed, asked_shares, phase_sequences
from tootsie.mixtures.spec import Spec
from tootsie.mixtures.spec_file import load_spec
from tootsie.mixtures.transition import blend, progress, split_steps

MAX_BRANCHES = 16
"""Specs that branch off one another."""


@dataclass(frozen=True)
class Compiled:
    """A plan, and what it was made from."""

    plan: Plan
    """What the run will do."""
    spec: Spec
    """What was asked for."""
    source: YamlSource
    """Where it stands in the file."""
    measured: Mapping[str, Measured]
    """The datasets, by name."""


def compile_file(url: str) -> Plan:
    """Compile a spec file; see :func:`compile_in_full`."""
    return compile_in_full(url).plan


def compile_in_full(url: str, above: tuple[str, ...] = ()) -> Compiled:
    """Compile a spec file, reading the ledgers of the caches (or the cards) that it names.

    Args:
      url: of the file.
      above: specs that branch off this one, the first of them first.

    Raises:
      SpecError: the spec cannot be compiled, or a cache is missing or not finished; the message has the line.
    """
    spec, source, base = load_spec(url, lambda plan: _load_base(plan, (*above, url)))
    folder = url.rsplit("/", 1)[0] if "/" in url else ""
    written = source.content.get("datasets") or {}
    measured = {name: measure(name, spec, source, folder) for name in spec.datasets if name in written}
    if base is not None:
        check_base(spec, source, base, measured)
    return Compiled(compile_spec(spec, source, measured, base), spec, source, measured)


def _load_base(url: str, above: tuple[str, ...]) -> Plan:
    """Return the plan that a spec branches off: a compiled one, or one that is compiled from its own spec."""
    if not url.endswith((".yaml", ".yml")):
        return Plan.load(url)
    if len(above) > MAX_BRANCHES:
        raise SpecError(
            "specs branch off one another in a circle, or too deeply",
            file=url,
            value=" ← ".join(above[:4]),
            remedy="Break the circle: let the first of them stand on its own",
        )
    return compile_in_full(url, above).plan


def refuse_other_file(output: str) -> None:
    """Refuse to write a plan over a file that is not a plan, such as the spec.

    Raises:
      SpecError: there is such a file.
    """
    if not storage.exists(output):
        return
    with storage.open_binary(output) as stream:
        beginning = stream.read(200)
    if beginning and b'"format": "tootsie-plan/' not in beginning:
        raise SpecError(
            "the file is there already, and is not a plan",
            file=output,
            field="--output",
            remedy="Name another file, or delete this one",
        )


def compile_spec(
    spec: Spec, source: YamlSource, caches: Mapping[str, Measured], base: Plan | None = None
) -> Plan:
    """Compile a checked spec.

    Args:
      spec: what is asked for.
      source: where it stands in the file, for messages.
      caches: a measured cache for each dataset of the spec.
      base: the plan that it branches off, if any.

    Raises:
      SpecError: a dataset does not fit (another tokenizer, a held-out split, too small, not as large as claimed), a
        phase ends before it begins or is too short for its mixture, a cap on epochs is exceeded, or the learning rate
        jumps without saying so.
    """
    check_caches(spec, source, caches)
    compiler = _Compiler(spec, source, caches)
    branch = None if base is None else compiler.begin_with(base)
    for index in range(len(spec.phases)):
        compiler.add_phase(index)
    used = {name for phase in compiler.phases for name in phase.sequences}
    # Of the datasets of the plan that it branches off, those that are never drawn are not this plan's.
    written = source.content.get("datasets") or {}
    kept = [name for name in spec.datasets if name in written or name in used]
    unused = [name for name in kept if name not in used]
    if unused:
        compiler.notes.append(f"no phase draws from {', '.join(unused)}")
    compiler.notes += [
        f"{name}: {cache.remark}" for name, cache in caches.items() if cache.remark is not None
    ]
    tokenizer = next((cache.tokenizer for cache in caches.values() if cache.tokenizer is not None), None)
    return Plan(
        name=spec.name,
        seed=spec.seed,
        sequence_length=spec.sequence_length,
        tokenizer=tokenizer,
        datasets=tuple(plan_dataset(name, spec, caches[name]) for name in kept),
        phases=tuple(compiler.phases),
        changes=tuple(compiler.changes),
        branch=branch,
        notes=tuple(compiler.notes),
        code_version=code_version("mixtures"),
    ).sealed()


class _Compiler:
    """Adds phases one after the other; holds what a phase inherits."""

    def __init__(
        self,
        spec: Spec,
        source: YamlSource,
        caches: Mapping[str, Measured],
    ) -> None:
        self.spec, self.source = spec, source
        self.windows = {name: cache.tokens // spec.sequence_length for name, cache in caches.items()}
        resolved: dict[str, dict[str, Fraction]] = {}
        self.asked = {name: self._asked(name, caches, resolved) for name in spec.mixtures}
        self.phases: list[PlanPhase] = []
        self.changes: list[Change] = []
        self.notes: list[str] = []
        self._owed: dict[str, int] = {}
        self._mixture = ""
        self._drawn: dict[str, int] = {}
        self._first_part: dict[int, int] = {}
        self._steps: dict[int, int] = {}

    def _asked(
        self, mixture: str, caches: Mapping[str, Measured], resolved: dict[str, dict[str, Fraction]]
    ) -> dict[str, int]:
        try:
            return asked_shares(mixture, self.spec, caches, resolved)
        except ValueError as error:
            raise self.source.error(
                str(error), ("mixtures", mixture), mixture, remedy="See docs/mixtures.md, Shares"
            ) from None

    def begin_with(self, base: Plan) -> Branch:
        """Start with the phases of another plan, up to where this one branches off."""
        assert self.spec.branch is not None
        try:
            step = branch_step(self.spec.branch.at, base)
        except ValueError as error:
            raise self.source.error(
                str(error), ("branch", "at"), self.spec.branch.at, "Write 'end of PHASE' or '820000 steps'"
            ) from None
        self.phases = past(base, step)
        self._mixture = self.phases[-1].mixture
        self.asked.setdefault(self._mixture, dict(self.phases[-1].asked))
        self._drawn = drawn_by(base, step)
        self._owed = owed_after(self.phases, self._drawn)
        self.changes += [
            change for change in base.changes if change.phase in {phase.name for phase in self.phases}
        ]
        names = {phase.name for phase in self.phases}
        again = next((number for number, phase in enumerate(self.spec.phases) if phase.name in names), None)
        if again is not None:
            raise self.source.error(
                "the plan that this one branches off has a phase of this name",
                ("phases", again, "name"),
                self.spec.phases[again].name,
                "Names tell phases apart: change one",
            )
        return branch_record(base, step)

    def add_phase(self, index: int) -> None:
        phase, before = self.spec.phases[index], self.phases[-1] if self.phases else None
        mixture = phase.mixture or self._mixture
        batch_size = phase.batch_size or (before.batch_size if before else 0)
        asked = self.asked[mixture]
        steps, sequences = self._length(index, batch_size, asked)
        ramp = self._ramp(index, mixture, batch_size, steps)
        ramped = sum(part_steps for _, _, _, part_steps in ramp)
        if ramp and steps > ramped:
            sequences = self._sequences(("phases", index), asked, (steps - ramped) * batch_size)
        settings = self._settings(index, before, steps, batch_size)
        for name, label, shares, part_steps in ramp:
            drawn = self._sequences(("phases", index, "transition"), shares, part_steps * batch_size)
            self._append(index, name, label, shares, part_steps, batch_size, drawn, settings)
        if steps > ramped:
            self._append(index, phase.name, mixture, asked, steps - ramped, batch_size, sequences, settings)
        self._mixture = mixture
        if before is not None:
            changes = list_changes(before, self.phases[-1])
            if phase.transition is not None:
                how = phase.transition.through or phase.transition.shape.value
                over = f"{how} over {ramped:,} steps"
                changes.append(Change(phase=phase.name, field="transition", before=None, after=over))
            self.changes += [change.model_copy(update={"phase": phase.name}) for change in changes]

    def _append(
        self,
        index: int,
        name: str,
        mixture: str,
        asked: dict[str, int],
        steps: int,
        batch_size: int,
        sequences: dict[str, int],
        settings: PhaseSettings,
    ) -> None:
        """Add a phase of the plan: a phase of the spec, or a part of its ramp."""
        before = self.phases[-1] if self.phases else None
        start, first_step = (before.end, before.end_step) if before else (0, 0)
        carried = self._drawn
        self._check_epochs(index, carried, sequences)
        length = steps * batch_size
        for dataset, weight in asked.items():
            if weight * length < WEIGHT_TOTAL:
                self.notes.append(
                    f"phase {name!r}: {dataset} asks for {weight * length / WEIGHT_TOTAL:.2g} of a sequence, "
                    f"draws {sequences[dataset]}"
                )
        begun = sum(phase.steps for phase in self.phases[self._first_part[index] :])
        if begun or steps != self._steps[index]:
            rate = settings.learning_rate.part(begun, self._steps[index])
            settings = settings.model_copy(update={"learning_rate": rate})
        self.phases.append(
            PlanPhase(
                name=name,
                mixture=mixture,
                start=start,
                end=start + length,
                first_step=first_step,
                end_step=first_step + steps,
                batch_size=batch_size,
                length=length,
                sequences=sequences,
                asked=asked,
                carried=carried,
                settings=settings,
            )
        )
        self._drawn = add_counts(carried, sequences)
        self._owed = add_owed(self._owed, asked, length, sequences)

    def _ramp(
        self, index: int, mixture: str, batch_size: int, steps: int
    ) -> list[tuple[str, str, dict[str, int], int]]:
        """Return the parts of a phase's transition: name, mixture, shares, steps."""
        phase = self.spec.phases[index]
        self._first_part[index], self._steps[index] = len(self.phases), steps
        transition = phase.transition
        if transition is None:
            return []
        at: Path = ("phases", index, "transition")
        over = math.ceil(whole_steps(transition.over, self.spec.sequence_length, batch_size))
        if over > steps:
            raise self.source.error(
                f"the transition ({over:,} steps) is longer than the phase ({steps:,} steps)",
                (*at, "over"),
                str(transition.over),
                "Make it shorter, or the phase longer",
            )
        if transition.through is not None:
            return [(f"{phase.name} (bridge)", transition.through, self.asked[transition.through], over)]
        old, new = self.asked[self._mixture], self.asked[mixture]
        pieces = split_steps(over, transition.parts)
        parts, done = [], 0
        for number, size in enumerate(pieces):
            share = progress(transition.shape, Fraction(2 * done + size, 2 * over))
            name = f"{phase.name} (ramp {number + 1}/{len(pieces)})"
            label = f"{self._mixture} to {mixture}, {float(share):.1%}"
            parts.append((name, label, blend(old, new, share), size))
            done += size
        return parts

    # ----------------------------------------------------------------------------------------------- length

    def _length(self, index: int, batch_size: int, asked: dict[str, int]) -> tuple[int, dict[str, int]]:
        """Return the whole steps of a phase, and the sequences that it draws."""
        phase, before = self.spec.phases[index], self.phases[-1] if self.phases else None
        start, first_step = (before.end, before.end_step) if before else (0, 0)
        carried = self._drawn
        absolute = phase.until is not None
        duration = phase.until if phase.until is not None else phase.length
        assert duration is not None
        at: Path = ("phases", index, "until" if absolute else "for")
        exact = self._exact_steps(duration, at, absolute, start, first_step, batch_size, asked, carried)
        if exact <= 0:
            raise self.source.error(
                f"the phase ends before it begins: it starts at step {first_step:,}, sequence {start:,}",
                at,
                str(duration),
                "'until' counts from the start of the run; write 'for' to count from the start of the phase",
            )
        # Epochs are a limit, so they round down; everything else means at least that much.
        limited = duration.unit is Unit.EPOCHS
        steps = math.floor(exact) + 2 if limited else math.ceil(exact)
        if steps * batch_size > MAX_PHASE_LENGTH:
            raise self.source.error(
                f"the phase has {steps * batch_size:,} sequences, at most {MAX_PHASE_LENGTH:,} are possible",
                at,
                str(duration),
                "Split it",
            )
        sequences = self._sequences(at, asked, steps * batch_size)
        if limited:
            assert duration.dataset is not None
            name, base = duration.dataset, carried.get(duration.dataset, 0) if absolute else 0
            limit = duration.amount * self.windows[name]
            while base + sequences[name] > limit and steps > 1:
                steps -= 1
                sequences = self._sequences(at, asked, steps * batch_size)
            self.notes.append(
                f"phase {phase.name!r}: {'until' if absolute else 'for'} {duration} is {steps:,} steps of {batch_size:,} "
                f"sequences, which draw {sequences[name]:,} sequences of {name}"
            )
        elif steps != exact:
            self.notes.append(
                f"phase {phase.name!r}: {'until' if absolute else 'for'} {duration} is {float(exact):,.4f} steps of "
                f"{batch_size:,} sequences, rounded up to {steps:,}"
            )
        return steps, sequences

    def _exact_steps(
        self,
        duration: Duration,
        at: Path,
        absolute: bool,
        start: int,
        first_step: int,
        batch_size: int,
        asked: dict[str, int],
        carried: dict[str, int],
    ) -> Fraction:
        if duration.unit is Unit.STEPS:
            return duration.amount - (first_step if absolute else 0)
        if duration.unit is Unit.EPOCHS:
            assert duration.dataset is not None
            name = duration.dataset
            if name not in asked:
                raise self.source.error(
                    f"the phase does not draw from {name!r}, so it never gets there",
                    at,
                    str(duration),
                    f"It draws from {', '.join(list(asked)[:20])}",
                )
            wanted = duration.amount * self.windows[name] - (carried.get(name, 0) if absolute else 0)
            return wanted * Fraction(WEIGHT_TOTAL, asked[name]) / batch_size
        sequences = duration.amount
        if duration.unit is Unit.TOKENS:
            sequences = duration.amount / self.spec.sequence_length
        return (sequences - (start if absolute else 0)) / batch_size

    def _sequences(self, at: Path, asked: dict[str, int], length: int) -> dict[str, int]:
        if length < len(asked):
            raise self.source.error(
                f"the phase has {length} sequences, fewer than the {len(asked)} datasets that it draws from",
                at,
                length,
                "Make it longer, or leave datasets out",
            )
        return phase_sequences(asked, length, self._owed)

    def _check_epochs(self, index: int, carried: dict[str, int], sequences: dict[str, int]) -> None:
        for name, count in sequences.items():
            cap = self.spec.datasets[name].max_epochs
            total = carried.get(name, 0) + count
            if cap is not None and total > cap * self.windows[name]:
                phase = self.spec.phases[index]
                raise self.source.error(
                    f"by the end of phase {phase.name!r} the dataset has been seen "
                    f"{total / self.windows[name]:.4g} times ({total:,} of {self.windows[name]:,} sequences)",
                    ("datasets", name, "max_epochs"),
                    float(cap),
                    "Give it a smaller share, end the phase earlier, or raise the cap",
                )

    # ----------------------------------------------------------------------------------------------- settings

    def _settings(self, index: int, before: PlanPhase | None, steps: int, batch_size: int) -> PhaseSettings:
        phase = self.spec.phases[index]
        rate = compile_rate(self.spec, self.source, index, before, steps, batch_size, self.notes)
        given = {name: getattr(phase, name) for name in INHERITED if name in phase.model_fields_set}
        if before is None:
            return PhaseSettings(learning_rate=rate, **given)
        inherited = {name: getattr(before.settings, name) for name in INHERITED}
        return PhaseSettings(learning_rate=rate, **(inherited | given))
