"""``plan.json``: the compiled mixture. Everything that a run needs to know about its data, step by step.

A *position* is the number of sequences drawn so far. A phase covers the positions ``[start, end)`` and the steps
``[first_step, end_step)``; step s of the phase draws ``batch_size`` sequences.

The counts are exact. A phase states how many sequences of each dataset it draws (``sequences``), a whole number; the
share of a dataset in the phase *is* ``sequences / length``. See :mod:`tootsie.mixtures.order` for what follows from it.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.json_text import parse_json, readable_json
from tootsie.datasets.provenance import fingerprint
from tootsie.mixtures.cache_location import as_seen_here, is_absolute, seen_from
from tootsie.mixtures.lengths import Lengths
from tootsie.mixtures.phase_part import stretch_ends
from tootsie.mixtures.plan_parts import Branch, Change, Evidence, PlanDataset, PlanPhase
from tootsie.mixtures.tape import Tape, tape_for
from tootsie.tokenize.ledger import TokenizerIdentity

FORMAT: Literal["tootsie-plan/1"] = "tootsie-plan/1"
FORMAT_OF_LENGTHS: Literal["tootsie-plan/2"] = "tootsie-plan/2"
"""Of plans with spans, with a phase of another sequence length or a dataset shuffled in blocks; others stay of format 1, with
the same bytes and hash."""


class Plan(BaseModel):
    """A compiled mixture; make one with :func:`tootsie.mixtures.compiler.compile_spec`, read one with :meth:`load`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["tootsie-plan/1", "tootsie-plan/2"] = FORMAT
    """Version of this layout *and* of the order and shuffling; later versions replay it."""
    name: str = Field(min_length=1)
    """Name of the run."""
    seed: int = Field(ge=0, lt=2**63)
    """Key of the shuffling, with the dataset's name and the epoch."""
    sequence_length: int = Field(gt=0)
    """T, tokens in a sequence of every phase that does not state its own."""
    span_length: int | None = Field(default=None, gt=0)
    """S, tokens in a span: what an epoch shuffles in one piece (see :mod:`tootsie.mixtures.tape`); absent: one sequence."""
    tokenizer: TokenizerIdentity | None
    """The tokenizer that all caches were made with; none in a plan made from cards alone, which cannot be trained on."""
    datasets: tuple[PlanDataset, ...]
    """In the order of the spec; an index into this tuple is a dataset's number in batches."""
    phases: tuple[PlanPhase, ...] = Field(min_length=1)
    """In time order, without gaps."""
    changes: tuple[Change, ...]
    """All that changes between phases."""
    branch: Branch | None = None
    """The plan that this one goes on from; the phases before are in ``phases``."""
    notes: tuple[str, ...] = ()
    """What the compiler rounded or derived, in sentences."""
    code_version: str
    """Version of the compiler."""
    hash: str = ""
    """SHA-256 of the canonical JSON of all that decides what a run does: every other field but ``notes``,
    ``code_version`` and where the caches lie (a moved cache is the same data)."""

    @model_validator(mode="after")
    def _consistent(self) -> Plan:
        names = [dataset.name for dataset in self.datasets]
        known = set(names)
        if len(known) != len(names):
            raise ValueError("datasets: a name stands there twice")
        own = [phase.sequence_length for phase in self.phases if phase.sequence_length is not None]
        in_blocks = any(dataset.shuffle is not None for dataset in self.datasets)
        if (self.format == FORMAT_OF_LENGTHS) != bool(own or in_blocks or self.span_length is not None):
            raise ValueError(f"format {self.format} does not fit the sequence lengths and shuffles")
        if self.sequence_length in own or self.span % self.sequence_length:
            raise ValueError(
                "a phase repeats the plan's sequence_length, or span_length is no multiple of it"
            )
        for dataset in self.datasets:
            if divmod(dataset.tokens, self.span) != (dataset.windows, dataset.tail_tokens):
                raise ValueError(f"dataset {dataset.name!r}: windows and tail_tokens do not fit its tokens")
        position = step = 0
        drawn: dict[str, int] = {}
        for phase in self.phases:
            if phase.start != position or phase.first_step != step:
                raise ValueError(f"phase {phase.name!r} does not start where the phase before ends")
            unknown = [name for name in (*phase.sequences, *phase.carried) if name not in known]
            if unknown:
                raise ValueError(
                    f"phase {phase.name!r} draws {unknown[0]!r}, which is no dataset of the plan"
                )
            if drawn and {name: count for name, count in drawn.items() if count} != phase.carried:
                raise ValueError(f"phase {phase.name!r}: carried is not what the phases before draw")
            position, step = phase.end, phase.end_step
            whole = phase.length == phase.end - phase.start
            # The counts after a phase that is cut short are a matter of its order; `Order` checks those.
            drawn = add_counts(phase.carried, phase.sequences) if whole else {}
        return self

    @cached_property
    def _end_steps(self) -> list[int]:
        return [phase.end_step for phase in self.phases]

    @property
    def cache_tokenizer(self) -> TokenizerIdentity:
        """The tokenizer of the caches.

        Raises:
          ArtefactError: the plan was made from cards: there are no caches.
        """
        cards = [dataset.name for dataset in self.datasets if dataset.evidence is not Evidence.LEDGER]
        if self.tokenizer is None or cards:
            raise ArtefactError(
                "the plan was compiled from dataset cards, not from token caches",
                file=f"plan {self.name}",
                field="datasets",
                value=", ".join(cards[:5]),
                remedy="Tokenize the datasets, name the caches in the spec and compile it again",
            )
        return self.tokenizer

    @property
    def total_steps(self) -> int:
        """Steps of the whole run."""
        return self.phases[-1].end_step

    @property
    def total_sequences(self) -> int:
        """Sequences of the whole run."""
        return self.phases[-1].end

    def phase_of_step(self, step: int) -> PlanPhase:
        """Return the phase that step ``step`` (0 <= step < total_steps) belongs to.

        Raises:
          IndexError: the plan has no such step.
        """
        if not 0 <= step < self.total_steps:
            raise IndexError(f"plan {self.name!r} has no step {step}; it has {self.total_steps:,}")
        return self.phases[bisect.bisect_right(self._end_steps, step)]

    def rows_of_step(self, step: int) -> tuple[int, int]:
        """Return the positions ``[first, end)`` that step ``step`` draws.

        Raises:
          IndexError: the plan has no such step.
        """
        phase = self.phase_of_step(step)
        first = phase.start + (step - phase.first_step) * phase.batch_size
        return first, first + phase.batch_size

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of the update from ``step`` to ``step + 1``.

        Raises:
          IndexError: the plan has no such step.
        """
        phase = self.phase_of_step(step)
        return phase.settings.learning_rate.at(step - phase.first_step, phase.steps)

    @property
    def span(self) -> int:
        """S, tokens in a span of the plan."""
        return self.span_length or self.sequence_length

    def length_of(self, phase: PlanPhase) -> int:
        """Return T, the tokens in a sequence of a phase."""
        return phase.sequence_length or self.sequence_length

    def tape_of(self, phase: PlanPhase) -> Tape:
        """Return how a phase reads its datasets."""
        return tape_for(self.length_of(phase), self.span)

    @cached_property
    def lengths(self) -> Lengths:
        """What follows from the sequence lengths: tokens at a position, places on the tapes, passes."""
        return Lengths(self)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Plan:
        """Return a copy with other fields; nothing that was computed from the old ones goes with it."""
        copy = super().model_copy(update=update, deep=deep)
        for name in ("lengths", "boundaries", "_end_steps"):
            copy.__dict__.pop(name, None)
        return copy

    @cached_property
    def boundaries(self) -> frozenset[int]:
        """Steps after which a stretch of the run is over: the ends of all phases, but a ramp is one stretch."""
        ends = stretch_ends([phase.name for phase in self.phases])
        return frozenset(phase.end_step for phase, end in zip(self.phases, ends, strict=True) if end)

    @property
    def longest_sequence(self) -> int:
        """Tokens in the longest sequence of the run."""
        return max(self.length_of(phase) for phase in self.phases)

    def tokens_before(self, position: int) -> int:
        """Return the tokens in the first ``position`` sequences of the run."""
        return self.lengths.tokens_before(position)

    @property
    def total_tokens(self) -> int:
        """Tokens of the whole run."""
        return self.tokens_before(self.total_sequences)

    def content_hash(self) -> str:
        """Return what :attr:`hash` must be."""
        exclude: dict[str, Any] = dict.fromkeys(("hash", "notes", "code_version"), True)
        exclude["datasets"] = {"__all__": {"cache"}}
        return fingerprint(self._written(self.model_dump(mode="json", exclude=exclude)))

    @staticmethod
    def _written(content: dict[str, Any]) -> dict[str, Any]:
        """Leave out the fields that format 1 does not have where they say nothing: its plans keep their bytes."""
        for part, field in (
            (content, "span_length"),
            *((part, "sequence_length") for part in content["phases"]),
            *((part, "shuffle") for part in content["datasets"]),
        ):
            if part[field] is None:
                del part[field]
        return content

    def sealed(self) -> Plan:
        """Return the plan with its hash."""
        return self.model_copy(update={"hash": self.content_hash()})

    def to_json(self) -> bytes:
        """Return the content of ``plan.json``: equal plans give equal bytes."""
        return readable_json(self._written(self.model_dump(mode="json")))

    def save(self, url: str) -> None:
        """Seal the plan and write it atomically; caches are named relative to its folder where they can."""
        storage.write_bytes(url, self.sealed()._relocated(lambda cache: seen_from(url, cache)).to_json())

    def _relocated(self, move: Callable[[str], str]) -> Plan:
        datasets = [dataset.model_copy(update={"cache": move(dataset.cache)}) for dataset in self.datasets]
        return self.model_copy(update={"datasets": tuple(datasets)})

    @classmethod
    def load(cls, url: str) -> Plan:
        """Read a plan and check its hash.

        Raises:
          ArtefactError: it is missing, not valid, of another version, or was edited after compilation.
        """
        if not storage.exists(url):
            raise ArtefactError(
                "no such plan", file=url, remedy="Compile it: tootsie mix compile SPEC -o plan.json"
            )
        try:
            raw = parse_json(storage.read_bytes(url))
        except ValueError as error:
            raise ArtefactError(
                "the plan is not JSON", file=url, value=str(error), remedy=_COMPILE_AGAIN
            ) from None
        if not isinstance(raw, dict) or raw.get("format") not in (FORMAT, FORMAT_OF_LENGTHS):
            found = raw.get("format") if isinstance(raw, dict) else type(raw).__name__
            raise ArtefactError(
                "not a plan, or one of another version",
                file=url,
                field="format",
                value=found,
                remedy=f"This code reads {FORMAT} and {FORMAT_OF_LENGTHS}",
            )
        try:
            plan = cls.model_validate(raw)
        except ValidationError as error:
            first = error.errors()[0]
            raise ArtefactError(
                f"not a valid plan: {first['msg'].removeprefix('Value error, ')}",
                file=url,
                field=".".join(map(str, first["loc"])) or None,
                remedy=_COMPILE_AGAIN,
            ) from None
        if plan.hash != plan.content_hash():
            raise ArtefactError(
                "the plan was changed after it was compiled",
                file=url,
                field="hash",
                value=plan.hash,
                remedy=f"A plan is never edited by hand: edit the spec. {_COMPILE_AGAIN}",
            )
        folder = url.rpartition("/")[0]
        return plan._relocated(lambda cache: cache if is_absolute(cache) else as_seen_here(folder, cache))


def add_counts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of two sets of counters by name; zeros are left out."""
    total = dict(first)
    for name, count in second.items():
        total[name] = total.get(name, 0) + count
    return {name: count for name, count in total.items() if count}


_COMPILE_AGAIN = "Compile it again with tootsie mix compile"
