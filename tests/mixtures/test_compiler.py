"""Spec and ledgers to plan: positions, inheritance, notes, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL

HEAD = """\
name: run
seed: 1
sequence_length: 100
datasets:
  web: {cache: tokens/web}
  wiki: {cache: tokens/wiki}
mixtures:
  base: {groups: {all: {datasets: [web, wiki]}}}
  only: {groups: {all: {datasets: [wiki]}}}
phases:
"""
FIRST = "  - {name: one, mixture: base, for: 10 steps, batch_size: 8, learning_rate: 1e-3}\n"


def test_the_documented_example(compiled: Callable[..., Plan], example_spec: str) -> None:
    plan = compiled(example_spec, web=40_123_456, wikipedia=3_000_000, arxiv=1_500_000, questions=300_000)
    assert [phase.name for phase in plan.phases] == ["stable", "enriched", "cooldown"]
    assert [phase.steps for phase in plan.phases] == [400, 263, 123]
    assert [phase.batch_size for phase in plan.phases] == [64, 96, 96]
    assert plan.total_sequences == 62_656
    assert plan.phases[1].asked["web"] == round(Fraction(7, 10) * WEIGHT_TOTAL)
    assert plan.phases[2].settings.ema_beta == 0.995
    assert plan.learning_rate(0) == pytest.approx(1e-3 / 41)
    assert plan.learning_rate(662) == 1e-3
    assert plan.learning_rate(663) == 1e-3
    assert plan.learning_rate(785) == pytest.approx(1e-5 + (1e-3 - 1e-5) / 123)
    assert plan.notes[0].startswith(
        "phase 'enriched': until 26M tokens is 262.3047 steps of 96 sequences, rounded up"
    )
    fields = {(change.phase, change.field) for change in plan.changes}
    assert ("enriched", "batch_size") in fields
    assert ("cooldown", "share.questions") in fields
    assert not [
        change
        for change in plan.changes
        if change.field.startswith("settings.") and "rate" not in change.field
    ]


def test_equal_input_gives_equal_bytes(compiled: Callable[..., Plan], example_spec: str) -> None:
    tokens = {"web": 40_123_456}
    assert compiled(example_spec, **tokens).to_json() == compiled(example_spec, **tokens).to_json()


@pytest.mark.parametrize(
    ("length", "steps"),
    [
        ("for: 10 steps", 10),
        ("for: 80 sequences", 10),
        ("for: 81 sequences", 11),
        ("until: 8000 tokens", 10),
        ("until: 8001 tokens", 11),
        ("for: 1 epoch of wiki", 11),
        ("for: 1.2 epochs of wiki", 13),
    ],
)
def test_whole_steps(compiled: Callable[..., Plan], length: str, steps: int) -> None:
    plan = compiled(HEAD + FIRST.replace("for: 10 steps", length), web=4000, wiki=5000)
    assert plan.total_steps == steps
    rounded = steps * 8 * 100 != 8000 and "epoch" not in length
    assert not rounded or plan.notes


def test_epochs_never_exceed_what_was_asked(compiled: Callable[..., Plan]) -> None:
    text = HEAD.replace("tokens/wiki}", "tokens/wiki, max_epochs: 2}") + FIRST.replace(
        "10 steps", "2 epochs of wiki"
    )
    for tokens in range(1000, 9000, 613):
        plan = compiled(text, web=7777, wiki=tokens)
        windows = plan.datasets[1].windows
        assert 2 * windows - 8 <= plan.phases[0].sequences["wiki"] <= 2 * windows


def test_until_epochs_counts_from_the_start_of_the_run(compiled: Callable[..., Plan]) -> None:
    second = "  - {name: two, mixture: only, until: 1 epoch of wiki, batch_size: 1}\n"
    plan = compiled(HEAD + FIRST, web=4000, wiki=10_000)
    drawn = plan.phases[0].sequences["wiki"]
    plan = compiled(HEAD + FIRST + second, web=4000, wiki=10_000)
    assert plan.phases[1].steps == 100 - drawn


def test_steps_after_a_batch_change(compiled: Callable[..., Plan]) -> None:
    plan = compiled(HEAD + FIRST + "  - {name: two, until: 25 steps, batch_size: 12}\n")
    assert [(p.first_step, p.end_step, p.start, p.end) for p in plan.phases] == [
        (0, 10, 0, 80),
        (10, 25, 80, 260),
    ]


def test_settings_are_inherited_and_null_switches_off(compiled: Callable[..., Plan]) -> None:
    first = FIRST.replace("}", ", z_loss: 0.5, ema_beta: 0.9, weight_decay: 0.2}")
    plan = compiled(
        HEAD + first + "  - {name: two, for: 3 steps}\n  - {name: three, for: 3 steps, ema_beta: null}\n"
    )
    assert [p.settings.ema_beta for p in plan.phases] == [0.9, 0.9, None]
    assert [p.settings.z_loss for p in plan.phases] == [0.5, 0.5, 0.5]
    assert [p.settings.clip_norm for p in plan.phases] == [1.0, 1.0, 1.0]
    assert [(c.phase, c.field, c.before, c.after) for c in plan.changes] == [
        ("three", "settings.ema_beta", 0.9, None)
    ]


def test_a_rewarm_is_continuous(compiled: Callable[..., Plan]) -> None:
    phases = (
        FIRST
        + "  - {name: down, for: 10 steps, learning_rate: {shape: linear, to: 1e-4}}\n"
        + "  - {name: up, for: 10 steps, learning_rate: {from: 2e-3, warmup: 5 steps}}\n"
        + "  - {name: on, for: 10 steps}\n"
    )
    plan = compiled(HEAD + phases)
    assert plan.learning_rate(20) == pytest.approx(1e-4)
    assert plan.learning_rate(25) == plan.learning_rate(39) == 2e-3


def test_an_acknowledged_jump(compiled: Callable[..., Plan]) -> None:
    plan = compiled(HEAD + FIRST + "  - {name: two, for: 3 steps, learning_rate: {from: 2e-3, jump: true}}\n")
    assert plan.learning_rate(10) == 2e-3


def test_stable_then_decay(compiled: Callable[..., Plan]) -> None:
    plan = compiled(HEAD + FIRST.replace("1e-3", "{from: 1e-3, shape: linear, to: 0.0, decay: 20 sequences}"))
    assert plan.phases[0].settings.learning_rate.decay_steps == 3
    assert "decay of 20 sequences is rounded up to 3 steps" in plan.notes


def test_a_dataset_that_no_phase_draws_is_noted(compiled: Callable[..., Plan]) -> None:
    plan = compiled(HEAD + FIRST.replace("base", "only"))
    assert "no phase draws from web" in plan.notes


def test_less_than_one_sequence_is_noted(compiled: Callable[..., Plan]) -> None:
    plan = compiled(HEAD + FIRST, web=10**9, wiki=100)
    assert plan.phases[0].sequences == {"web": 79, "wiki": 1}
    assert "phase 'one': wiki asks for 8e-06 of a sequence, draws 1" in plan.notes


CANNOT = [
    ("  - {name: two, until: 10 steps}\n", {}, 12, "the phase ends before it begins: it starts at step 10, sequence 80"),
    ("  - {name: two, until: 5k tokens}\n", {}, 12, "the phase ends before it begins"),
    ("  - {name: two, for: 1 epoch of web, mixture: only}\n", {}, 12, "the phase does not draw from 'web'"),
    ("  - {name: two, for: 999999999999999 steps}\n", {}, 12, "at most 1,099,511,627,776 are possible"),
    ("  - {name: two, for: 1 step, batch_size: 1}\n", {}, 12, "fewer than the 2 datasets that it draws from"),
    ("  - {name: two, for: 3 steps, learning_rate: 2e-3}\n", {}, 12, "the learning rate jumps from 0.001, where phase 'one' ends, to 0.002. Write 'jump: true'"),
    ("  - {name: two, for: 3 steps, learning_rate: {from: 1e-3, warmup: 1 step, warmup_from: 0}}\n", {}, 12, "jumps from 0.001"),
    ("  - {name: two, for: 3 steps, learning_rate: {shape: linear, to: 1e-4, warmup: 2 steps, decay: 2 steps}}\n", {}, 12, "are longer than the phase (3 steps)"),
    ("  - {name: two, for: 3 steps, learning_rate: {shape: linear, to: 1e-4, warmup: 3 steps}}\n", {}, 12, "leaves no step for the decay"),
    ("  - {name: two, for: 3 steps, learning_rate: {shape: linear, to: 0}}\n  - {name: three, for: 3 steps}\n", {}, 13, "the phase before ended at 0"),
    ("  - {name: two, for: 3 steps, learning_rate: {shape: inverse, to: 0}}\n", {}, 12, "cannot reach 0"),
    ("", {"web": 99}, 5, "the cache holds 99 tokens, less than one sequence of 100"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("phases", "tokens", "line", "message"), CANNOT, ids=[case[3][:30] for case in CANNOT]
)
def test_what_cannot_be_compiled(
    compiled: Callable[..., Plan], phases: str, tokens: dict, line: int, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        compiled(HEAD + FIRST + phases, **tokens)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"spec.yaml:{line}: "), caught.value


def test_a_cap_counts_all_phases(compiled: Callable[..., Plan]) -> None:
    text = HEAD.replace("tokens/wiki}", "tokens/wiki, max_epochs: 1}") + FIRST
    with pytest.raises(SpecError, match=r"by the end of phase 'two' the dataset has been seen 1.28 times"):
        compiled(text + "  - {name: two, mixture: only, for: 3 steps}\n", web=5000, wiki=5000)


def test_from_real_caches(example_folder: Path) -> None:
    plan = compile_file(str(example_folder / "spec.yaml"))
    assert plan.datasets[0].cache == str(example_folder / "tokens/web/train")
    assert plan.datasets[0].tokens == 400_123


def test_a_cache_that_is_not_there(example_folder: Path) -> None:
    (example_folder / "tokens/arxiv/train/ledger.json").unlink()
    with pytest.raises(
        SpecError,
        match=r"spec.yaml:\d+: datasets.arxiv.cache: .*arxiv/train/ledger.json: no ledger, so this is not a finished",
    ):
        compile_file(str(example_folder / "spec.yaml"))


def test_many_datasets_and_phases(compiled: Callable[..., Plan]) -> None:
    """A large spec stays a matter of seconds (not asserted) and of exact counts."""
    lines = ["name: big", "seed: 1", "sequence_length: 100", "datasets:"]
    lines += [f"  d{n}: {{cache: t/d{n}}}" for n in range(200)]
    lines += [
        "mixtures:",
        "  all:",
        "    groups:",
        "      g: {datasets: [" + ", ".join(f"d{n}" for n in range(200)) + "]}",
    ]
    lines += [
        "phases:",
        "  - {name: p0, mixture: all, for: 100k steps, batch_size: 512, learning_rate: 1e-3}",
    ]
    lines += [f"  - {{name: p{n}, for: 1k steps, batch_size: {512 + n}}}" for n in range(1, 30)]
    plan = compiled("\n".join(lines), **{f"d{n}": 10**6 + n**3 for n in range(200)})
    assert len(plan.phases) == 30
