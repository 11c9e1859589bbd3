"""The miniature of the Marin 8B run: its phases are the run's, and a short one ends as its plan says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tootsie.mixtures.plan import Plan
from tootsie.mixtures.spec_file import load_spec, parse_spec
from tootsie.train.demo import miniature, package_texts, walk
from tootsie.train.demo.settings import Choices, commands, spec_file

MARIN = Path(__file__).resolve().parents[3] / "mixtures" / "recipes" / "marin-8b.yaml"
PARTS = {
    "kestrel": "kestrel",
    "ocelot": "ocelot",
    "jellyfish": "jellyfish",
    "phoenix-bridge": "phoenix-bridge",
    "phoenix": "phoenix",
    "starling": "starling",
    "dessert": "deeper-starling",
}
"""Phase of the miniature, and the phase of the run that it stands for."""


@pytest.fixture
def check_mini(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("tests/endurance/check_mini.py")


def test_each_phase_ends_at_a_thousandth_of_the_steps_with_a_thousandth_of_the_tokens() -> None:
    mini, _ = parse_spec(spec_file(Choices(mini=True)))
    run = {phase.name: phase for phase in load_spec(str(MARIN))[0].phases}
    batch = {"mini": 0, "run": 0}
    for phase in mini.phases:
        like = run[PARTS[phase.name]]
        assert phase.until is not None
        assert like.until is not None
        assert phase.until.amount == like.until.amount // 1000
        batch["mini"] = phase.batch_size or batch["mini"]
        batch["run"] = like.batch_size or batch["run"]
        assert batch["mini"] * 32 == batch["run"], phase.name
        assert phase.z_loss == (like.z_loss if phase.name != "starling" else 1e-4)
    assert [phase.name for phase in mini.phases] == list(PARTS)


def test_the_rates_have_the_ratios_of_the_run() -> None:
    mini, _ = parse_spec(spec_file(Choices(mini=True)))
    run = {phase.name: phase for phase in load_spec(str(MARIN))[0].phases}
    run["ocelot"] = run["ocelot-first-step"]
    for phase in mini.phases[:-2]:
        small, large = phase.learning_rate, run[PARTS[phase.name]].learning_rate
        if small is None:
            assert large is None
            continue
        assert large is not None
        assert small.shape is large.shape
        for ours, theirs in ((small.start, large.start), (small.end, large.end)):
            assert (ours is None) == (theirs is None)
            assert ours is None or ours == pytest.approx(5 * theirs)


def test_a_quick_one_is_shorter_in_all_phases_but_the_bridge() -> None:
    quick, _ = parse_spec(spec_file(Choices(mini=True, quick=True, seed=3)))
    assert [str(phase.length) for phase in quick.phases] == [f"{n} steps" for n in (60, 7, 7, 2, 45, 7, 2)]
    assert [phase.batch_size for phase in quick.phases] == [4, 12, None, None, None, 16, None]
    assert quick.seed == 3


def test_the_commands_end_with_an_audit_and_a_report() -> None:
    steps = [" ".join(step[:2]) for step in commands(Choices(mini=True))]
    assert steps[-4:] == ["mix show", "train run.yaml", "mix audit", "report run"]
    assert len([step for step in steps if step == "tokenize build"]) == 8
    assert "seed: 5\n" in miniature.run_file(5)


def test_docstrings_are_taken_with_the_names_they_belong_to() -> None:
    long = "The sum of both. " * 20
    source = f'"""{long}"""\nclass A:\n  "short"\n  def f(self):\n    """{long}"""\n'
    text = package_texts.docstrings(source.encode())
    assert text == f"{long.strip()}\n\n## f\n\n{long.strip()}\n"
    assert package_texts.docstrings(b"x = 1\n") is None
    assert package_texts.docstrings(b"def broken(:\n") is None


def test_texts_are_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = {name: text for name, text in package_texts.TEXTS.items() if name in ("code", "manual")}
    monkeypatch.setattr(package_texts, "TEXTS", kept)
    package_texts.write_texts(3)
    first = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in Path("texts").iterdir()}
    assert sorted(first) == ["code.jsonl", "manual.jsonl"]
    package_texts.write_texts(3)
    assert first == {
        path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in Path("texts").iterdir()
    }
    assert len(re.findall(r"manual\.jsonl: 3 documents", capsys.readouterr().out)) == 2


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_quick_one_goes_through_every_phase_as_planned(tmp_path: Path, check_mini: ModuleType) -> None:
    walk.walk(str(tmp_path), Choices(mini=True, quick=True))
    assert check_mini.check(tmp_path, quick=True) == []
    plan = Plan.load(str(tmp_path / "plan.json"))
    rows = map(json.loads, (tmp_path / "run" / "metrics.jsonl").read_text().splitlines())
    train = {row["step"]: row for row in rows if row["kind"] == "train"}
    train[7]["z_loss"] = 0.1
    train[60]["consumed"]["web"] += 2
    assert check_mini.z_loss(plan, train) == ["z-loss is not as planned in 1 steps, the first 7"]
    assert check_mini.boundaries(plan, train) == [
        "kestrel is 1.8 sequences off what it asks for",
        "ocelot is 1.8 sequences off what it asks for",
    ]


def test_minima_are_counted_where_cycles_end(check_mini: ModuleType) -> None:
    plan = SimpleNamespace(
        phases=[SimpleNamespace(end_step=600)], learning_rate=lambda step: 1.0 if step % 20 < 15 else 0.1
    )
    assert check_mini.cycle_ends(plan) == list(range(20, 600, 20))
    rough = {step: 5 - step / 600 + step % 7 / 1000 for step in range(0, 605, 5)}
    dipping = {step: loss - 0.05 * (step % 20 == 0) for step, loss in rough.items()}
    assert check_mini.minima(plan, dipping) == []
    assert check_mini.minima(plan, rough) == ["the cycles do not end in minima"]
    bent = {step: 5 + (step - 900) ** 2 / 1e5 for step in rough}
    assert check_mini.minima(plan, bent) == ["the cycles do not end in minima"]


def test_the_average_must_lead_and_lead_steadily(check_mini: ModuleType) -> None:
    phase = SimpleNamespace(
        name="phoenix", first_step=0, end_step=500, settings=SimpleNamespace(ema_beta=0.95)
    )
    plan, hot = SimpleNamespace(phases=[phase]), dict.fromkeys(range(0, 505, 5), 5.0)
    assert check_mini.averaged(plan, hot, dict.fromkeys(hot, 4.9)) == []
    assert check_mini.averaged(plan, hot, dict.fromkeys(hot, 5.0)) == [
        "the averaged weights do not lead all through the constant rate"
    ]
    assert check_mini.averaged(plan, hot, {step: 4.9 - step / 1000 for step in hot}) == [
        "the lead of the average is not constant"
    ]
