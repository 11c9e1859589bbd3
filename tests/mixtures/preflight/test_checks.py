"""Each check, by a spec that commits the mistake and one that does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.compilation import Compiled, compile_in_full
from tootsie.mixtures.compiler import compile_spec
from tootsie.mixtures.preflight.check import Severity, preflight, refusals
from tootsie.mixtures.preflight.checks import CHECKS
from tootsie.mixtures.preflight.mistakes import MISTAKES, State, table
from tootsie.mixtures.spec_file import parse_spec

HEAD = """\
name: run
seed: 1
sequence_length: 100
datasets:
  web: {cache: web, tags: [web]}
  wiki: {cache: wiki}
  math: {cache: math}
  code: {cache: code}
mixtures:
  base: {groups: {all: {by: weight, datasets: {web: {weight: 100}, wiki: {weight: 10}, math: {weight: 1}, code: {weight: 1}}}}}
  good: {groups: {all: {by: weight, datasets: {wiki: {weight: 10}, math: {weight: 1}, code: {weight: 1}}}}}
  groups:
    groups: {web: {share: 0.7, datasets: [web]}, hq: {share: 0.1, datasets: [wiki]}, dessert: {share: 0.2, datasets: [math, code]}}
    expect: {hq: 0.2, dessert: 0.1}
acknowledge: {decontamination: a test}
phases:
  - {name: one, mixture: base, for: 100 steps, batch_size: 10, learning_rate: LR}
"""
SIZES = {"web": 100_000_000, "wiki": 10_000_000, "math": 1_000_000, "code": 1_000_000}


@pytest.fixture
def check(measured: Callable[..., Any]) -> Callable[..., dict[str, list[tuple[str, Severity]]]]:
    """Compile a spec and return what each check finds: subjects with severities."""

    def compile_text(phases: str, sizes: dict[str, int], change: tuple[str, str], rate: str) -> Compiled:
        spec, source = parse_spec((HEAD.replace("LR", rate) + phases).replace(*change))
        caches = {name: measured(name, (SIZES | sizes)[name]) for name in spec.datasets}
        return Compiled(compile_spec(spec, source, caches), spec, source, caches)

    def check(
        phases: str = "",
        sizes: dict[str, int] | None = None,
        change: tuple[str, str] = ("", ""),
        rate: str = "1e-3",
    ) -> dict[str, list[tuple[str, Severity]]]:
        found: dict[str, list[tuple[str, Severity]]] = {}
        for finding in preflight(compile_text(phases, sizes or {}, change, rate), CHECKS):
            if finding.check == "decontamination":
                continue  # acknowledged in the spec; test_contamination.py has it
            found.setdefault(finding.check, []).append((finding.subject, finding.severity))
        return found

    return check


def test_a_plain_run_has_only_its_small_shares_named(check: Any) -> None:
    assert check() == {}


E, W, I = Severity.ERROR, Severity.WARNING, Severity.INFO  # noqa: E741
TWO = "  - {{name: two, for: 100 steps, {}}}\n"


@pytest.mark.parametrize(
    ("arguments", "name", "expected"),
    [
        # Five epochs in silence; with a cap it is meant. Twice is only worth a word.
        ({"sizes": {"wiki": 1_800}}, "epochs", [("wiki", E)]),
        ({"sizes": {"wiki": 6_000}}, "epochs", [("wiki", W)]),
        # Longer sequences: other spans, and a rotary embedding that has to be meant for them. In shared spans only the latter.
        ({"phases": TWO.format("sequence_length: 200")}, "sequence-length", [("two", W), ("two", I)]),
        ({"phases": TWO.format("sequence_length: 50")}, "sequence-length", []),
        (
            {
                "phases": TWO.format("sequence_length: 200"),
                "change": ("sequence_length: 100\n", "sequence_length: 100\nspan_length: 400\n"),
            },
            "sequence-length",
            [("two", I)],
        ),
        # Twice the tokens in a step at the same rate; the same tokens in half as many sequences.
        ({"phases": TWO.format("sequence_length: 200")}, "batch-and-rate", [("two", W)]),
        ({"phases": TWO.format("sequence_length: 200, batch: 1k tokens")}, "batch-and-rate", []),
        (
            {"sizes": {"wiki": 1_800}, "change": ("{cache: wiki}", "{cache: wiki, max_epochs: 9}")},
            "epochs",
            [],
        ),
        # A step draws 9 windows of web: a group of 12 is one batch and a bit, one of 36 lasts for four.
        *(
            (
                {
                    "change": (
                        "{cache: web,",
                        f"{{cache: web, shuffle: {{block: 4 sequences, group: {group}}},",
                    )
                },
                "shuffle",
                expected,
            )
            for group, expected in ((3, [("web", W)]), (9, []))
        ),
        # One weight was typed from another dataset's size.
        ({"sizes": {"wiki": 500_000}}, "typed-weights", [("wiki", E)]),
        # The 0.2 and the 0.1 have changed places.
        ({"phases": TWO.format("mixture: groups")}, "expectations", [("groups", E), ("groups", E)]),
        (
            {
                "phases": TWO.format("mixture: groups"),
                "change": ("{hq: 0.2, dessert: 0.1}", "{hq: 0.1, 'tag:web': 0.7}"),
            },
            "expectations",
            [],
        ),
        (
            {"phases": TWO.format("mixture: groups"), "change": ("{hq: 0.2,", "{hp: 0.2,")},
            "expectations",
            [("groups", E)] * 2,
        ),
        ({"sizes": {"wiki": 6_000}}, "runway", [("wiki", I)]),
        ({"change": ("math: {weight: 1}", "math: {weight: 0.05}")}, "block-floor", [("math", I)]),
        (
            {"phases": TWO.format("mixture: good, learning_rate: {shape: linear, to: 1e-4}")},
            "cooldown-web",
            [("two", W)],
        ),
        ({"phases": TWO.format("learning_rate: {shape: linear, to: 1e-4}")}, "cooldown-web", []),
        (
            {
                "phases": TWO.format("mixture: good"),
                "change": ("{cache: wiki}", "{cache: wiki, tags: [instruction]}"),
            },
            "replay",
            [],
        ),
        # Rotary embedding.
        (
            {
                "phases": TWO.format("rope: {theta: 500000, scaling: llama3}"),
                "change": ("batch_size: 10", "batch_size: 10, rope: {theta: 10000, scaling: none}"),
            },
            "rope",
            [("two", E)],
        ),
        ({"phases": TWO.format("z_loss: 0")}, "z-loss", [("two", W)]),
        (
            {"phases": TWO.format("z_loss: 0, learning_rate: {shape: linear, to: 1e-5}")},
            "z-loss",
            [("two", E)],
        ),
        ({"phases": TWO.format("weight_decay: 0.1")}, "weight-decay", [("two", W)]),
        ({"phases": TWO.format("clip_norm: null")}, "optimizer", [("two", E)]),
        ({"phases": TWO.format("adam_beta2: 0.99")}, "optimizer", [("two", W)]),
        ({"phases": TWO.format("ema_beta: 0.995")}, "average", [("two", I)]),
        ({"phases": TWO.format("batch_size: 30")}, "batch-and-rate", [("two", W)]),
        ({"phases": TWO.format("batch_size: 30, learning_rate: {scale: sqrt}")}, "batch-and-rate", []),
        (
            {
                "phases": TWO.format("learning_rate: {from: 1e-3, jump: true}"),
                "rate": "{shape: linear, from: 1e-3, to: 1e-4}",
            },
            "rate-jumps",
            [("two", W)],
        ),
        (
            {
                "phases": TWO.format("learning_rate: {from: 1e-3, warmup: 20 steps}"),
                "rate": "{shape: linear, from: 1e-3, to: 1e-4}",
            },
            "rate-jumps",
            [],
        ),
        # 100 sequences, where another phase ends at step 100.
        ({"phases": "  - {name: two, for: 100 sequences}\n"}, "units", [("two", E), ("run", W)]),
        ({"phases": TWO.format("learning_rate: {shape: linear, to: 5e-4}")}, "last-rate", [("two", W)]),
        ({"phases": TWO.format("learning_rate: {shape: linear, to: 5e-5}")}, "last-rate", []),
    ],
)
def test_a_mistake_and_its_check(
    check: Any, arguments: dict[str, Any], name: str, expected: list[Any]
) -> None:
    assert check(**arguments).get(name, []) == expected


def test_conversations_alone(check: Any) -> None:
    change = ("  wiki: {cache: wiki}\n  math: {cache: math}\n  code: {cache: code}", "".join(
        f"  {name}: {{cache: {name}, tags: [instruction]}}\n" for name in ("wiki", "math", "code")
    ).rstrip())  # fmt: skip
    assert check(TWO.format("mixture: good"), change=change)["replay"] == [("two", W)]


CARD = "name: a\ntitle: A\nkind: pretraining\nabout: x\nlocation: {hub: a/a}\nformat: x\nlicence: MIT\n"
SPEC = """\
name: run
seed: 1
sequence_length: 100
tokenizer: llama3
datasets: {a: {card: a.yaml}}
mixtures: {base: {groups: {all: {datasets: [a]}}}}
phases: [{name: one, mixture: base, for: 10 steps, batch_size: 10, learning_rate: 1e-3}]
"""


def test_claimed_sizes(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CARD + "claimed: [{tokens: 100000, source: a slide}]\n")
    (tmp_path / "spec.yaml").write_text(SPEC)
    found = preflight(compile_in_full(str(tmp_path / "spec.yaml")), CHECKS)
    assert [(finding.check, finding.subject, finding.severity) for finding in found] == [
        ("sizes", "a", W), ("decontamination", "run", W)
    ]  # fmt: skip
    assert "a slide" in found[0].message


def test_a_finding_is_acknowledged_by_check_or_subject(tmp_path: Path) -> None:
    """An excuse for what is not there, or for a check that is not there, is refused: it would hide a new mistake."""
    (tmp_path / "a.yaml").write_text(
        CARD + "measured: [{tokenizer: llama3, tokens: 1000, source: counted}]\n"
    )
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC)
    (refused,) = refusals(preflight(compile_in_full(str(path)), CHECKS))
    assert (refused.check, refused.subject) == ("epochs", "a")
    for key in ("epochs", "epochs/a"):
        path.write_text(SPEC + f"acknowledge: {{{key}: a test of repetition}}\n")
        findings = preflight(compile_in_full(str(path)), CHECKS)
        assert refusals(findings) == []
        assert "a test of repetition" in [finding.acknowledged for finding in findings]
    for key, message in (
        ("epoch", "Did you mean 'epochs'"),
        ("epochs/b", "nothing to acknowledge"),
        ("rope", "nothing to ack"),
    ):
        path.write_text(SPEC + f"acknowledge: {{{key}: because}}\n")
        with pytest.raises(SpecError, match=message):
            preflight(compile_in_full(str(path)), CHECKS)


def test_the_table_of_mistakes_is_complete_and_printed(project_root: Path) -> None:
    assert [mistake.number for mistake in MISTAKES] == list(range(1, 43))
    numbers = {number for check in CHECKS for number in check.mistakes}
    for mistake in MISTAKES:
        assert mistake.by or mistake.number in numbers
        assert mistake.test or mistake.number in numbers or mistake.state is not State.HELD, (
            "held, but shown by nothing"
        )
        if mistake.state is State.OPEN:
            assert mistake.number not in numbers
    assert (project_root / "docs" / "mistakes.md").read_text() == table()
    for mistake in MISTAKES:
        for name in [part for part in mistake.by.split("`") if "/" in part and part != "tootsie-plan/1"]:
            assert (project_root / name).exists(), name
        if mistake.test:
            file, _, test = mistake.test.partition("::")
            assert f"def {test}(" in (project_root / file).read_text(), mistake.test
