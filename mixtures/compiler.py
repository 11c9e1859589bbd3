"""Spec + ledgers → plan. All arithmetic is exact; whatever is rounded or derived is said in the plan's notes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from tootsie.datasets.provenance import code_version
from tootsie.datasets.yaml_source import Path, YamlSource
from tootsie.mixtures.branch import branch_record, branch_step, drawn_by, owed_after, past
from tootsie.mixtures.changes import INHERITED, list_changes
from tootsie.mixtures.duration import Duration, Unit
from tootsie.mixtures.measured import Measured, check_caches, check_length, plan_datasets
from tootsie.mixtures.phase_part import whole_name
from tootsie.mixtures.plan import FORMAT, FORMAT_OF_LENGTHS, Plan, add_counts
from tootsie.mixtures.plan_parts import MAX_PHASE_LENGTH, WEIGHT_TOTAL, Branch, Change, PlanPhase
from tootsie.mixtures.rates import compile_rate
from tootsie.mixtures.settings import PhaseSettings
from tootsie.mixtures.shares import add_owed, asked_shares, phase_sequences
from tootsie.mixtures.spec import Spec
from tootsie.mixtures.step_size import Reached, StepSize, batch_of, reached_by, refuse_unsaid_batch
from tootsie.mixtures.tape import Tape, TokensRead, tape_for
from tootsie.mixtures.transition import Drawn, Part, transition_parts


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
    datasets = plan_datasets(kept, spec, caches, compiler.notes)
    tokenizer = next((cache.tokenizer for cache in caches.values() if cache.tokenizer is not None), None)
    several = spec.span_length is not None or any(phase.sequence_length for phase in compiler.phases)
    in_blocks = any(dataset.shuffle is not None for dataset in datasets)
    return Plan(
        format=FORMAT_OF_LENGTHS if several or in_blocks else FORMAT,
        name=spec.name,
        seed=spec.seed,
        sequence_length=spec.sequence_length,
        span_length=spec.span_length,
        tokenizer=tokenizer,
        datasets=datasets,
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
        self.caches = caches
        self.tokens = {name: cache.tokens for name, cache in caches.items()}
        resolved: dict[str, dict[str, Fraction]] = {}
        self.asked = {name: self._asked(name, caches, resolved) for name in spec.mixtures}
        self.phases: list[PlanPhase] = []
        self.changes: list[Change] = []
        self.notes: list[str] = []
        self._owed: dict[str, int] = {}
        self._read = TokensRead(self.tokens)
        self._reached = Reached()
        self._length = spec.sequence_length
        self._batch: Duration | None = None
        self._before = Drawn("", {})
        self._base_size: StepSize | None = None
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
        last = self.phases[-1]
        self._before = Drawn(last.mixture, last.asked)
        self._base_size = StepSize(last.batch_size, base.tape_of(last))
        self._drawn = drawn_by(base, step)
        self._owed = owed_after(base, self.phases, self._drawn)
        self._reached, self._length = reached_by(base, self.phases), base.length_of(last)
        drawn = self._drawn.items()
        passes = {name: base.lengths.passes(name, self._reached.position, count) for name, count in drawn}
        self._read = TokensRead(self.tokens, passes)
        self.changes += [
            change for change in base.changes if change.phase in {phase.name for phase in self.phases}
        ]
        names = {whole_name(phase.name) for phase in self.phases}
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
        draws = self._before if phase.mixture is None else Drawn(phase.mixture, self.asked[phase.mixture])
        asked = draws.asked
        length_before, size = self._length, self._size(index, before, asked)
        steps, sequences = self._steps_of(index, size, asked)
        ramp = self._ramp(index, draws, size, steps)
        ramped = sum(part.steps for part in ramp)
        if ramp and steps > ramped:
            sequences = self._sequences(("phases", index), asked, (steps - ramped) * size.batch_size)
        settings = self._settings(index, before, steps, size)
        for part in ramp:
            length = part.steps * size.batch_size
            drawn = self._sequences(("phases", index, "transition"), part.drawn.asked, length)
            self._append(index, part, size, drawn, settings)
        if steps > ramped:
            self._append(index, Part(phase.name, draws, steps - ramped), size, sequences, settings)
        self._before = draws
        if before is not None:
            changes = list_changes(before, self.phases[-1], (length_before, size.length))
            if phase.transition is not None:
                how = phase.transition.through or phase.transition.shape.value
                over = f"{how} over {ramped:,} steps"
                changes.append(Change(phase=phase.name, field="transition", before=None, after=over))
            self.changes += [change.model_copy(update={"phase": phase.name}) for change in changes]

    def _size(self, index: int, before: PlanPhase | None, asked: Mapping[str, int]) -> StepSize:
        """Return what a step of a phase draws, and keep what the next phase inherits."""
        phase = self.spec.phases[index]
        at: Path = ("phases", index)
        self._length = phase.sequence_length or self._length
        if phase.sequence_length is not None or phase.mixture is not None:
            check_length(asked, self.caches, self._length, (*at, "sequence_length"), self.source)
        inherited = Fraction(before.batch_size if before else 0)
        if self._batch is not None:
            inherited = self._batch.amount / self._length
        if self._base_size is not None:
            refuse_unsaid_batch(phase, at, self.source, self._base_size, self._length)
        batch_size = batch_of(phase, at, self.source, inherited, self._length)
        if phase.batch is not None or phase.batch_size is not None:
            self._batch, self._base_size = phase.batch, None
        return StepSize(batch_size, tape_for(self._length, self.spec.span))

    def _append(
        self,
        index: int,
        part: Part,
        size: StepSize,
        sequences: dict[str, int],
        settings: PhaseSettings,
    ) -> None:
        """Add a phase of the plan: a phase of the spec, or a part of its ramp."""
        name, steps, asked = part.name, part.steps, dict(part.drawn.asked)
        start, first_step, carried = self._reached.position, self._reached.step, self._drawn
        self._add_passes(index, size.tape, sequences)
        length = steps * size.batch_size
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
                mixture=part.drawn.mixture,
                start=start,
                end=start + length,
                first_step=first_step,
                end_step=first_step + steps,
                batch_size=size.batch_size,
                sequence_length=None if size.length == self.spec.sequence_length else size.length,
                length=length,
                sequences=sequences,
                asked=asked,
                carried=carried,
                settings=settings,
            )
        )
        self._drawn = add_counts(carried, sequences)
        self._owed = add_owed(self._owed, asked, length, sequences, size.length)
        self._reached = self._reached.after(steps, size)

    def _ramp(self, index: int, draws: Drawn, size: StepSize, steps: int) -> list[Part]:
        """Return the parts of a phase's transition."""
        phase = self.spec.phases[index]
        self._first_part[index], self._steps[index] = len(self.phases), steps
        transition = phase.transition
        if transition is None:
            return []
        at: Path = ("phases", index, "transition")
        through = transition.through
        bridge = None if through is None else Drawn(through, self.asked[through])
        parts = transition_parts(
            transition, phase.name, steps, size, self._before, draws, bridge, at, self.source
        )
        # A transition also draws what the phase itself does not.
        drawn = {name: None for part in parts for name in part.drawn.asked}
        instead = "Change the mixture at once ('transition' left out), or use"
        check_length(drawn, self.caches, size.length, at, self.source, instead)
        return parts

    # ----------------------------------------------------------------------------------------------- length

    def _steps_of(self, index: int, size: StepSize, asked: Mapping[str, int]) -> tuple[int, dict[str, int]]:
        """Return the whole steps of a phase, and the sequences that it draws."""
        phase, batch_size = self.spec.phases[index], size.batch_size
        absolute = phase.until is not None
        duration = phase.until if phase.until is not None else phase.length
        assert duration is not None
        at: Path = ("phases", index, "until" if absolute else "for")
        # Epochs are a limit, so they round down; everything else means at least that much.
        limited, limit = duration.unit is Unit.EPOCHS, Fraction(0)
        if limited:
            limit = self._epochs_left(duration, at, absolute, size.tape, asked)
            assert duration.dataset is not None
            exact = limit * Fraction(WEIGHT_TOTAL, asked[duration.dataset]) / batch_size
        else:
            exact = self._reached.steps_until(duration, size) if absolute else size.steps(duration)
        if exact <= 0:
            raise self.source.error(
                f"the phase ends before it begins: it starts at step {self._reached.step:,}, "
                f"sequence {self._reached.position:,}",
                at,
                str(duration),
                "'until' counts from the start of the run; write 'for' to count from the start of the phase",
            )
        steps = math.floor(exact) + 2 if limited else math.ceil(exact)
        if steps * batch_size > MAX_PHASE_LENGTH:
            raise self.source.error(
                f"the phase has {steps * batch_size:,} sequences, at most {MAX_PHASE_LENGTH:,} are possible",
                at,
                str(duration),
                "Split it",
            )
        sequences = self._sequences(at, asked, steps * batch_size)
        if duration.dataset is not None:
            name = duration.dataset
            while sequences[name] > limit and steps > 1:
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

    def _epochs_left(
        self, duration: Duration, at: Path, absolute: bool, tape: Tape, asked: Mapping[str, int]
    ) -> Fraction:
        """Return the sequences of a dataset that may be drawn until it has been seen as often as a duration says."""
        name = duration.dataset
        if name is None or name not in asked:
            raise self.source.error(
                f"the phase does not draw from {name!r}, so it never gets there",
                at,
                str(duration),
                f"It draws from {', '.join(list(asked)[:20])}",
            )
        seen = self._read.passes(name) if absolute else 0
        return (duration.amount - seen) * tape.rows(self.tokens[name])

    def _sequences(self, at: Path, asked: Mapping[str, int], length: int) -> dict[str, int]:
        if length < len(asked):
            raise self.source.error(
                f"the phase has {length} sequences, fewer than the {len(asked)} datasets that it draws from",
                at,
                length,
                "Make it longer, or leave datasets out",
            )
        return phase_sequences(asked, length, self._owed, self._length)

    def _add_passes(self, index: int, tape: Tape, sequences: dict[str, int]) -> None:
        """Count the passes of a part of a phase, against the caps."""
        self._read.add(tape, sequences)
        for name in sequences:
            cap = self.spec.datasets[name].max_epochs
            if cap is not None and (seen := self._read.passes(name)) > cap:
                phase, rows = self.spec.phases[index], tape.rows(self.tokens[name])
                raise self.source.error(
                    f"by the end of phase {phase.name!r} the dataset has been seen "
                    f"{float(seen):.4g} times ({float(seen * rows):,.0f} of {rows:,} sequences)",
                    ("datasets", name, "max_epochs"),
                    float(cap),
                    "Give it a smaller share, end the phase earlier, or raise the cap",
                )

    # ----------------------------------------------------------------------------------------------- settings

    def _settings(self, index: int, before: PlanPhase | None, steps: int, size: StepSize) -> PhaseSettings:
        phase = self.spec.phases[index]
        rate = compile_rate(self.spec, self.source, index, before, steps, size, self._reached, self.notes)
        given = {name: getattr(phase, name) for name in INHERITED if name in phase.model_fields_set}
        if before is None:
            return PhaseSettings(learning_rate=rate, **given)
        inherited = {name: getattr(before.settings, name) for name in INHERITED}
        return PhaseSettings(learning_rate=rate, **(inherited | given))
