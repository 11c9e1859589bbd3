"""Phases of several sequence lengths: what is read of each dataset, against a reader that walks its tapes token by token."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.block_shuffle import epoch_shuffle
from tootsie.mixtures.comparison import first_difference, require_same_past
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import FORMAT, FORMAT_OF_LENGTHS, Plan
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL
from tootsie.mixtures.search import find_document
from tootsie.mixtures.trace import trace_rows

NAMES = ("a", "b", "c")
Compile = Callable[..., Plan]


def spec_of(phases: list[tuple[int, int, int]], span: int | None, base: int = 8, first: str = "") -> str:
    """A spec of (steps, batch size, sequence length) phases, each of a mixture of its own."""
    lines = [
        "name: run",
        "seed: 5",
        f"sequence_length: {base}",
        "datasets: {a: {cache: a}, b: {cache: b}, c: {cache: c}}",
    ]
    lines += [] if span is None else [f"span_length: {span}"]
    lines += ["mixtures:"]
    for number in range(len(phases)):
        weights = f"a: {{weight: {2 + number % 3}}}, b: {{weight: {1 + number}}}, c: {{weight: 3}}"
        lines += [f"  m{number}: {{groups: {{all: {{by: weight, datasets: {{{weights}}}}}}}}}"]
    lines += ["phases:"]
    for number, (steps, batch, length) in enumerate(phases):
        rate = ", learning_rate: 1e-3" if number == 0 else ""
        lines += [
            f"  - {{name: p{number}, mixture: m{number}, for: {steps} steps, batch_size: {batch}, sequence_length: {length}{rate}}}"
        ]
    return "\n".join(lines) + first + "\n"


@st.composite
def runs(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """A spec with one to five phases of any lengths, with spans or without, one dataset in blocks or not, and the tokens of all."""
    base = draw(st.sampled_from([4, 6, 8]))
    span = draw(st.sampled_from([None, base, 2 * base, 12 * base]))
    lengths = st.sampled_from([base, base // 2, 2 * base, 3 * base, 4 * base, 5, 6 * base])
    phases = [
        (draw(st.integers(1, 15)), draw(st.integers(3, 9)), draw(lengths))
        for _ in range(draw(st.integers(1, 5)))
    ]
    tokens = {name: draw(st.integers(12 * base, 40 * base)) for name in NAMES}
    blocks = draw(st.sampled_from(["", ", shuffle: {block: 3 sequences, group: 2}"]))
    return spec_of(phases, span, base).replace("b: {cache: b}", f"b: {{cache: b{blocks}}}"), tokens


class Reader:
    """Walks the tapes of one dataset: a list of token positions for each, epoch after epoch."""

    def __init__(self, plan: Plan, name: str) -> None:
        self.plan, self.name = plan, name
        self.dataset = next(dataset for dataset in plan.datasets if dataset.name == name)
        self.tokens = self.dataset.tokens
        self.place: dict[int, int] = {}
        self.read: dict[int, Counter[int]] = {}
        self.passed_over: dict[int, Counter[int]] = {}

    def tape(self, span: int, place: int) -> int:
        """The token at a place of the tape."""
        spans = self.tokens // span
        epoch, place = divmod(place, spans * span)
        key = self.name if span == self.plan.span else f"{self.name}\0{span}"
        shuffle = epoch_shuffle(spans, self.plan.seed, key, epoch, self.dataset.shuffle)
        shuffled = shuffle(np.array([place // span]))
        return int(shuffled[0]) * span + place % span

    def next(self, length: int, begins: bool) -> tuple[int, int]:
        """Read a sequence; return epoch and first token. Where a phase ``begins``, whole sequences begin too."""
        span = self.plan.span if self.plan.span % length == 0 else length
        at = self.place.get(span, 0)
        while begins and at % length:
            self.passed_over.setdefault(span, Counter())[self.tape(span, at)] += 1
            at += 1
        read = [self.tape(span, at + offset) for offset in range(length)]
        assert read == list(range(read[0], read[0] + length)), "a sequence is one piece of text"
        self.read.setdefault(span, Counter()).update(read)
        self.place[span] = at + length
        return at // (self.tokens // span * span), read[0]


def walk(plan: Plan) -> dict[str, Reader]:
    """Compare every draw of a plan with the reader's, and return the readers."""
    draws, readers = Order(plan).draw(np.arange(plan.total_sequences)), {}
    names = [dataset.name for dataset in plan.datasets]
    for phase in plan.phases:
        length, met = plan.length_of(phase), set()
        for position in range(phase.start, phase.end):
            name = names[draws.dataset[position]]
            reader = readers.setdefault(name, Reader(plan, name))
            expected = reader.next(length, name not in met)
            met.add(name)
            assert (int(draws.epoch[position]), int(draws.window[position]) * length) == expected
    return readers


@settings(max_examples=60)
@given(runs())
def test_draws_are_those_of_a_reader_that_walks_the_tapes(
    compiled: Compile, run: tuple[str, dict[str, int]]
) -> None:
    """And every token of a tape has been read ⌊e⌋ or ⌈e⌉ times after e epochs of it, those passed over at a change of length counted
    as read; fewer than one sequence is passed over at each change, none where the lengths divide one another downwards.
    """
    text, tokens = run
    plan = compiled(text, **tokens)
    changes = sum(
        plan.length_of(one) != plan.length_of(two)
        for one, two in zip(plan.phases, plan.phases[1:], strict=False)
    )
    for name, reader in walk(plan).items():
        for span, read in reader.read.items():
            size = reader.tokens // span * span
            place, over = reader.place[span], reader.passed_over.get(span, Counter())
            often = [read[token] + over[token] for token in range(size)]
            assert set(often) <= {place // size, -(-place // size)}
            assert sum(often) == place
            assert sum(over.values()) <= changes * (plan.longest_sequence - 1)
        drawn = int(Order(plan).counts(plan.total_sequences)[list(NAMES).index(name)])
        passes = sum(
            sum(read.values()) / (reader.tokens // span * span) for span, read in reader.read.items()
        )
        assert float(plan.lengths.passes(name, plan.total_sequences, drawn)) == pytest.approx(passes)
        some = np.arange(0, plan.total_sequences + 1, 17)
        counts = np.array(
            [Order(plan).counts(position)[list(NAMES).index(name)] for position in some.tolist()]
        )
        assert plan.lengths.passes_along(name, some, counts).tolist() == pytest.approx(
            [
                float(plan.lengths.passes(name, *point))
                for point in zip(some.tolist(), counts.tolist(), strict=True)
            ]
        )
        assert plan.lengths.tokens_of(name, plan.total_sequences, drawn) == sum(
            sum(read.values()) for read in reader.read.values()
        )
        pieces = plan.lengths.stretches(name, drawn)
        assert sum(count * tape.length for tape, _, count in pieces) == sum(
            map(Counter.total, reader.read.values())
        )


@settings(max_examples=30)
@given(runs(), st.randoms(use_true_random=False))
def test_however_positions_are_asked_for(
    compiled: Compile, run: tuple[str, dict[str, int]], rng: Any
) -> None:
    """In a row, through the phases; one by one; some at a time in any order."""
    text, tokens = run
    plan = compiled(text, **tokens)
    order, expected = Order(plan), Order(plan).draw(np.arange(plan.total_sequences))
    in_a_row = order._stretch(0, plan.total_sequences)
    for got, want in zip(in_a_row, expected, strict=True):
        assert got.tolist() == want.tolist()
    positions, at = list(range(plan.total_sequences)), 0
    rng.shuffle(positions)
    while at < len(positions):
        part = np.array(positions[at : at + rng.choice([1, 7, 40])])
        for got, want in zip(order.draw(part), expected, strict=True):
            assert got.tolist() == want[part].tolist()
        at += len(part)


@settings(max_examples=60)
@given(runs())
def test_shares_are_kept_in_tokens_across_lengths(compiled: Compile, run: tuple[str, dict[str, int]]) -> None:
    """At the end of every phase each dataset is within one sequence of the tokens asked of all phases; inside, within one more."""
    text, tokens = run
    plan = compiled(
        text.replace("for: ", "for: 4"), **tokens
    )  # long enough that none is lifted to its one sequence
    draws = Order(plan).draw(np.arange(plan.total_sequences))
    for index, dataset in enumerate(plan.datasets):
        due = 0  # Units of 1/2**62 token.
        got = 0
        for phase in plan.phases:
            length, asked = plan.length_of(phase), phase.asked[dataset.name]
            exact = phase.sequences[dataset.name]
            drawn = np.cumsum(draws.dataset[phase.start : phase.end] == index)
            quota = np.arange(1, phase.length + 1) * exact
            assert (np.abs(drawn * phase.length - quota) < phase.length).all()
            due += asked * length * phase.length
            got += int(drawn[-1]) * length
            assert abs(got * WEIGHT_TOTAL - due) < length * WEIGHT_TOTAL


def test_lengths_that_halve_pass_over_nothing(compiled: Compile) -> None:
    plan = compiled(spec_of([(9, 5, 32), (7, 9, 16), (11, 7, 8)], 32), a=32 * 9, b=32 * 20, c=32 * 50)
    for reader in walk(plan).values():
        assert set(reader.read) == {32}
        assert not reader.passed_over


def test_twice_as_long_without_spans_reads_a_tape_of_its_own(compiled: Compile) -> None:
    plan = compiled(spec_of([(9, 5, 8), (7, 9, 16)], None), a=640, b=640, c=640)
    readers = walk(plan)
    assert {span for reader in readers.values() for span in reader.read} == {8, 16}
    assert plan.format == FORMAT_OF_LENGTHS


def test_one_length_is_a_plan_as_ever(compiled: Compile) -> None:
    one = compiled(spec_of([(9, 5, 8), (7, 9, 8)], None))
    assert one.format == FORMAT
    assert b"span_length" not in one.to_json()
    assert one.to_json().count(b'"sequence_length"') == 1
    assert one.lengths.begun == tuple(phase.carried for phase in one.phases)


def test_saved_and_loaded(compiled: Compile, tmp_path: Path) -> None:
    plan = compiled(spec_of([(9, 5, 8), (7, 9, 16)], 32))
    plan.save(str(tmp_path / "plan.json"))
    again = Plan.load(str(tmp_path / "plan.json"))
    assert again.hash == plan.hash
    assert again.lengths.begun == plan.lengths.begun
    assert [again.length_of(phase) for phase in again.phases] == [8, 16]
    assert again.format == FORMAT_OF_LENGTHS


@pytest.mark.parametrize("change", [{"format": FORMAT}, {"span_length": 12}])
def test_a_plan_whose_lengths_do_not_fit_is_refused(compiled: Compile, change: dict[str, Any]) -> None:
    plan = compiled(spec_of([(9, 5, 8), (7, 9, 16)], 32))
    with pytest.raises(ValueError, match=r"does not fit the sequence lengths|no multiple"):
        Plan.model_validate(plan.model_dump() | change)


def test_durations_and_batches_in_tokens(compiled: Compile) -> None:
    head = spec_of([(10, 4, 8)], 16)
    plan = compiled(
        head
        + "  - {name: long, mixture: m0, for: 640 tokens, batch: 64 tokens, sequence_length: 16}\n"
        + "  - {name: more, mixture: m0, until: 1280 tokens, sequence_length: 8}\n"
        + "  - {name: last, mixture: m0, until: 140 sequences, batch_size: 1}\n"
    )
    assert [(phase.steps, phase.batch_size, plan.length_of(phase)) for phase in plan.phases] == [
        (10, 4, 8), (10, 4, 16), (5, 8, 8), (20, 1, 8)
    ]  # fmt: skip
    assert [plan.tokens_before(phase.end) for phase in plan.phases] == [320, 960, 1280, 1440]
    assert plan.total_tokens == 1440
    assert [float(plan.lengths.position_of(tokens)) for tokens in (320, 328, 960, 1440)] == [
        40,
        40.5,
        80,
        140,
    ]
    changes = {(change.phase, change.field): (change.before, change.after) for change in plan.changes}
    assert changes["long", "sequence_length"] == (8, 16)
    assert changes["long", "batch_tokens"] == (32, 64)
    assert changes["more", "sequence_length"] == (16, 8)
    assert ("more", "batch_tokens") not in changes
    assert ("last", "sequence_length") not in changes


def test_epochs_and_caps_count_all_lengths(compiled: Compile) -> None:
    head = spec_of([(10, 4, 8)], 16)
    seen = 18 / 100  # Of 1,600 tokens at weights 2, 1 and 3: sequences of 8, 13 or 14 of 40.
    plan = compiled(head + "  - {name: long, mixture: m0, until: 1 epoch of a, sequence_length: 16}\n", a=800)
    (before, after) = (phase.carried.get("a", 0) for phase in (plan.phases[1], plan.phases[1]))
    drawn = after + plan.phases[1].sequences["a"]
    passes = plan.lengths.passes("a", plan.total_sequences, drawn)
    assert before / 100 < seen < passes <= 1
    assert 1 - passes <= (plan.phases[1].batch_size + 1) / 50
    capped = head.replace("a: {cache: a}", "a: {cache: a, max_epochs: 0.5}")
    with pytest.raises(SpecError, match=r"by the end of phase 'long' the dataset has been seen"):
        compiled(capped + "  - {name: long, mixture: m0, for: 20 steps, sequence_length: 16}\n", a=800)


def test_a_rate_is_scaled_by_tokens(compiled: Compile) -> None:
    head = spec_of([(10, 4, 8)], 32)
    plan = compiled(
        head
        + "  - {name: long, mixture: m0, for: 5 steps, sequence_length: 32, learning_rate: {scale: sqrt}}\n"
    )
    assert plan.phases[1].settings.learning_rate.start == pytest.approx(2e-3)
    assert any("32 tokens a step to 0.002 at 128" in note for note in plan.notes)


LINE = "  - {name: long, mixture: m0, for: 5 steps, "


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (LINE + "batch: 100 tokens, sequence_length: 16}", "a batch of 100 tokens is 6.25 sequences of 16"),
        (LINE + "batch: 4 sequences}", "this is in tokens"),
        (LINE + "batch: 64}", "a bare number has no unit"),
        (LINE + "batch: 64 tokens, batch_size: 4}", "not both"),
        (LINE + "sequence_length: 0}", "greater than 0"),
        (LINE + "sequence_length: 900}", "the dataset 'a' holds 800 tokens, less than one sequence of 900"),
        (LINE + "batch: 64 tokens}\n" + LINE.replace("long", "longer") + "sequence_length: 24}", "64 tokens is 2.667 sequences of 24"),
    ],
)  # fmt: skip
def test_what_is_refused(compiled: Compile, extra: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        compiled(spec_of([(10, 4, 8)], 16) + extra + "\n", a=800)


@pytest.mark.parametrize(
    ("span", "message"), [(12, "no whole number of sequences of 8"), (1600, "less than one span of 1,600")]
)
def test_spans_that_are_refused(compiled: Compile, span: int, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        compiled(spec_of([(10, 4, 8)], span), a=800)


def test_later_lengths_leave_the_past_as_it_was(compiled: Compile) -> None:
    first = [(9, 5, 8), (7, 9, 16)]
    short, long = compiled(spec_of(first, 32)), compiled(spec_of([*first, (5, 6, 24), (5, 6, 32)], 32))
    for before, after in zip(
        Order(short).draw(np.arange(short.total_sequences)),
        Order(long).draw(np.arange(short.total_sequences)),
        strict=True,
    ):
        assert before.tolist() == after.tolist()
    require_same_past(short, long, short.total_steps)
    other = compiled(spec_of([(9, 5, 8), (7, 9, 32)], 32))
    difference = first_difference(short, other)
    assert difference is not None
    assert (difference.step, difference.reason) == (9, "sequences of 16 and of 32 tokens")


def test_a_transition_draws_nothing_shorter_than_a_sequence(compiled: Compile) -> None:
    """A ramp or a bridge draws what the phase itself does not: that too has a sequence of the new length."""
    text = (
        "name: run\nseed: 1\nsequence_length: 8\ndatasets: {a: {cache: a}, tiny: {cache: tiny}}\nmixtures:\n"
        "  all: {groups: {all: {by: weight, datasets: {a: {weight: 9}, tiny: {weight: 1}}}}}\n"
        "  one: {groups: {all: {datasets: [a]}}}\nphases:\n"
        "  - {name: one, mixture: FIRST, for: 10 steps, batch_size: 10, learning_rate: 1e-3}\n"
        "  - {name: two, mixture: one, for: 10 steps, sequence_length: 64, transition: {over: 5 stepsHOW}}\n"
    )
    for first, how in (("all", ""), ("one", ", through: all"), ("all", ", through: all")):
        spec = text.replace("FIRST", first).replace("HOW", how)
        with pytest.raises(
            SpecError, match="transition: the dataset 'tiny' holds 40 tokens, less than one sequence of 64"
        ):
            compiled(spec, tiny=40)
        assert compiled(spec, tiny=64).total_steps == 20


def test_branching_within_a_phase_to_another_length(compiled: Compile, tmp_path: Path) -> None:
    base = compiled(spec_of([(9, 5, 8), (7, 9, 16)], 32), a=1600, b=900, c=800)
    base.save(str(tmp_path / "plan.json"))
    branch = (
        "name: side\nbranch: {plan: plan.json, at: AT}\nmixtures: {m: {groups: {all: {datasets: [a, b, c]}}}}\n"
        "phases: [{name: dessert, mixture: m, for: 9 steps, sequence_length: 32, batch_size: 9}]\n"
    )
    for at, step in (("12 steps", 12), ("792 tokens", 12), ("end of p0", 9)):
        (tmp_path / "branch.yaml").write_text(branch.replace("AT", at))
        plan = compile_file(str(tmp_path / "branch.yaml"))
        assert plan.phases[-1].first_step == step
        assert plan.span_length == 32
        require_same_past(base, plan, step)
        walk(plan)


SPEC = """\
name: run
seed: 3
sequence_length: 16
SPAN
datasets: {web: {cache: web}, wiki: {cache: wiki}}
mixtures:
  base: {groups: {all: {by: weight, datasets: {web: {weight: 3}, wiki: {weight: 1}}}}}
  other: {groups: {all: {datasets: [wiki]}}}
phases:
  - {name: one, mixture: base, for: 13 steps, batch_size: 3, learning_rate: 1e-3}
  - {name: two, mixture: other, for: 5 steps, sequence_length: 32}
  - {name: three, mixture: base, for: 7 steps, sequence_length: 8}
"""


@pytest.mark.parametrize("span", ["", "span_length: 32"])
def test_documents_are_found_at_every_length(
    tmp_path: Path, write_cache: Callable[..., str], span: str
) -> None:
    write_cache(tmp_path / "web", "web", [5, 40, 3, 90, 21, 60], shards=2)
    write_cache(tmp_path / "wiki", "wiki", [33, 7, 50, 12])
    (tmp_path / "spec.yaml").write_text(SPEC.replace("SPAN", span))
    plan = compile_file(str(tmp_path / "spec.yaml"))
    seen: dict[str, list[tuple]] = {}
    for step in range(plan.total_steps):
        length = plan.length_of(plan.phase_of_step(step))
        for row in trace_rows(plan, step):
            parts = [document["tokens"] for document in row["documents"]]
            assert sum(stop - start for start, stop in parts) == length
            for document in row["documents"]:
                seen.setdefault(document["id"], []).append(
                    (step, row["row"], row["epoch"], row["window"], document["tokens"])
                )
    assert len(seen) > 5
    for document, expected in seen.items():
        found = find_document(plan, document)
        assert [(d["step"], d["row"], d["epoch"], d["window"], d["tokens"]) for d in found] == expected


def test_forecast_adds_up_over_lengths(compiled: Compile) -> None:
    from tootsie.mixtures.forecast import forecast

    plan = compiled(spec_of([(40, 5, 8), (30, 9, 16)], 32), a=1600, b=900, c=800)
    draws, tokens = Order(plan).draw(np.arange(plan.total_sequences)), {"a": 1600, "b": 896, "c": 800}
    for row in forecast(plan):
        phase = next(phase for phase in plan.phases if phase.name == row.phase)
        index = list(NAMES).index(row.dataset)
        read = 0
        once = None
        for earlier in plan.phases:
            mine = draws.dataset[earlier.start : earlier.end] == index
            for place in np.flatnonzero(mine).tolist():
                read += plan.length_of(earlier)
                if once is None and read >= tokens[row.dataset]:
                    once = (earlier.name, earlier.first_step + place // earlier.batch_size)
            if earlier is phase:
                break
        assert row.epochs_total == pytest.approx(read / tokens[row.dataset])
        assert row.tokens == phase.sequences[row.dataset] * plan.length_of(phase)
        if row.ends_at_step is not None:
            assert once is not None
            assert once[0] == phase.name
            assert math.isclose(once[1], row.ends_at_step, abs_tol=1)
        else:
            assert once is None or once[0] != phase.name


def test_golden_draws_of_several_lengths(compiled: Compile) -> None:
    """Fixed for ever, as those of test_order.py."""
    plan = compiled(spec_of([(9, 5, 8), (7, 9, 16), (4, 9, 24)], 32), a=32 * 40, b=32 * 60, c=32 * 80)
    draws = Order(plan).draw(np.arange(plan.total_sequences))
    for start, dataset, epoch, window in GOLDEN:
        stop = start + len(dataset)
        assert draws.dataset[start:stop].tolist() == dataset
        assert draws.epoch[start:stop].tolist() == epoch
        assert draws.window[start:stop].tolist() == window


GOLDEN: list[tuple[int, list[int], list[int], list[int]]] = [
    (0, [0, 2, 2, 0, 1, 2, 0, 2, 2, 0, 1, 2], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [136, 244, 245, 137, 60, 246, 138, 247, 156, 139, 61, 157]),
    (38, [1, 2, 0, 2, 0, 1, 2, 0, 2, 1, 0, 2], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [194, 135, 153, 52, 154, 195, 53, 42, 27, 40, 43, 30]),
    (100, [0, 2, 1, 0, 2, 0, 1, 2, 0, 1, 2, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [49, 152, 29, 40, 153, 41, 22, 18, 34, 30, 60, 18]),
    (132, [1, 2, 0, 1, 2, 0, 1, 2, 0, 0, 1, 2], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [5, 104, 31, 76, 16, 9, 49, 30, 30, 46, 73, 88]),
]  # fmt: skip
