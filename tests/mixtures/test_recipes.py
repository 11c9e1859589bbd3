"""The recipes of the Marin 8B run reproduce the published tables, to the printed digit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tootsie.mixtures.compilation import Compiled, compile_in_full
from tootsie.mixtures.forecast import forecast
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL
from tootsie.mixtures.preflight.check import Severity, preflight, refusals
from tootsie.mixtures.preflight.checks import CHECKS
from tootsie.mixtures.trace import trace_rows

RECIPES = Path(__file__).resolve().parents[2] / "mixtures" / "recipes"
NAMES = sorted(path.stem for path in RECIPES.glob("*.yaml") if path.stem not in ("demo", "tootsie-mini"))
"""Those that compile from cards; the other two mix caches that are made first, and the tests of the demo hold them."""


@pytest.fixture(scope="module")
def compiled() -> dict[str, Compiled]:
    return {name: compile_in_full(str(RECIPES / f"{name}.yaml")) for name in NAMES}


def shares(plan: Plan, phase: str) -> dict[str, float]:
    """Shares asked in a phase, in percent."""
    (found,) = [part for part in plan.phases if part.name == phase]
    return {name: 100 * asked / WEIGHT_TOTAL for name, asked in found.asked.items()}


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_says_what_to_expect_and_compiles(compiled: dict[str, Compiled], name: str) -> None:
    text = (RECIPES / f"{name}.yaml").read_text()
    assert "Expect:" in text.partition("\nname:")[0]
    assert "tootsie mix" in text.partition("\nname:")[0]
    assert refusals(preflight(compiled[name], CHECKS)) == []


def test_length_of_the_run(compiled: dict[str, Compiled]) -> None:
    plan = compiled["marin-8b"].plan
    assert plan.total_steps == 1_420_000
    assert plan.total_sequences == 3_112_956_928
    assert plan.total_sequences * plan.sequence_length == 12_750_671_577_088
    ends = {phase.name: phase.end_step for phase in plan.phases}
    assert ends["kestrel"] == 660_000
    assert ends["ocelot"] == 740_500
    assert ends["jellyfish"] == 820_000
    assert ends["phoenix-bridge"] == 822_000
    assert ends["phoenix"] == 1_320_000
    assert ends["starling"] == 1_400_000


def test_the_mixture_of_kestrel(compiled: dict[str, Compiled]) -> None:
    """To the digit of the retrospective: 92.6 %, 6.1 %, 1.3 %."""
    found = {name: f"{share:.1f}" for name, share in shares(compiled["marin-8b"].plan, "kestrel").items()}
    assert found == {"dclm_baseline": "92.6", "starcoderdata": "6.1", "proofpile_2": "1.3"}


JELLYFISH = {
    "dolmino_dclm": ("67.77", "67.8"),
    "dolma/pes2o": ("10.78", "10.8"),
    "finemath_3_plus": ("6.31", "6.3"),
    "dolma/arxiv": ("5.17", "5.2"),
    "dolma/stackexchange": ("3.17", "3.2"),
    "starcoderdata": ("2.23", "2.2"),
    "dolma/algebraic-stack": ("2.13", "2.1"),
    "dolma/open-web-math": ("0.94", "0.9"),
    "dolma/megawika": ("0.82", "0.8"),
    "dolma/wiki": ("0.68", "0.7"),
}


def test_the_mixture_of_jellyfish_in_both_roundings(compiled: dict[str, Compiled]) -> None:
    found = shares(compiled["marin-8b"].plan, "jellyfish")
    assert {name: (f"{share:.2f}", f"{share:.1f}") for name, share in found.items()} == JELLYFISH


STARLING = {
    "nemotron_cc/medium": "22.1", "nemotron_cc/hq_synth": "17.8", "nemotron_cc/medium_low": "10.1", "nemotron_cc/hq_actual": "6.0",
    "nemotron_cc/medium_high": "5.4", "nemotron_cc/low_actual": "4.6", "nemotron_cc/low_synth": "4.1", "arxiv_markdownified": "5.2",
    "dolmino/pes2o": "5.2", "starcoderdata": "4.5", "proofpile_2": "4.5", "finemath_3_plus": "3.0", "dolmino/flan": "3.0",
    "dolmino/stackexchange": "1.5", "stackexchange_custom": "1.5", "all_math": "0.8", "wikipedia_markdown": "0.3", "dolmino/wiki": "0.3",
    "medu_science_qa": "0.1",
}  # fmt: skip


def test_the_mixture_of_starling(compiled: dict[str, Compiled]) -> None:
    for phase in ("starling-first-step", "starling", "deeper-starling"):
        found = shares(compiled["marin-8b"].plan, phase)
        assert {name: f"{share:.1f}" for name, share in found.items()} == STARLING


PHOENIX = {
    "nemotron_cc/medium": 30.847, "nemotron_cc/hq_synth": 24.824, "nemotron_cc/medium_low": 14.055, "nemotron_cc/hq_actual": 8.337,
    "nemotron_cc/medium_high": 7.527, "nemotron_cc/low_actual": 6.400, "nemotron_cc/low_synth": 5.729, "starcoderdata": 2.282,
}  # fmt: skip
BRIDGE = {
    "dclm_baseline": 25.655, "nemotron_cc/medium": 22.819, "nemotron_cc/hq_synth": 18.363, "nemotron_cc/medium_low": 10.397,
    "nemotron_cc/hq_actual": 6.167, "nemotron_cc/medium_high": 5.568, "nemotron_cc/low_actual": 4.734, "nemotron_cc/low_synth": 4.238,
    "starcoderdata": 1.688, "proofpile_2": 0.371,
}  # fmt: skip


def test_the_mixtures_of_phoenix(compiled: dict[str, Compiled]) -> None:
    plan = compiled["marin-8b"].plan
    assert shares(plan, "phoenix") == pytest.approx(PHOENIX, abs=0.002)
    assert shares(plan, "phoenix-bridge") == pytest.approx(BRIDGE, abs=0.002)


def test_the_learning_rate_at_every_boundary(compiled: dict[str, Compiled]) -> None:
    plan = compiled["marin-8b"].plan
    peak, low = 1e-3, 1e-4
    assert plan.learning_rate(1000) == peak
    # Minima of WSD-S: the last step of a cycle of 10,000 is 999/1000 through its decay, of 20,000 1999/2000.
    assert plan.learning_rate(9_999) == pytest.approx(peak / (1 + 9 * 0.999))
    assert plan.learning_rate(199_999) == plan.learning_rate(9_999)
    assert plan.learning_rate(200_000) == peak
    assert plan.learning_rate(219_999) == pytest.approx(peak / (1 + 9 * 0.9995))
    assert plan.learning_rate(659_999) == plan.learning_rate(219_999)
    assert plan.phases[0].settings.learning_rate.final(660_000) == low
    for step, rate in (
        (660_000, 1.7e-3), (740_499, 1.7e-3), (740_500, 1.7e-3), (820_000, 1.7e-4), (822_000, 1.7e-3), (1_320_000, 1.7e-3),
        (1_400_000, 1.7e-5), (1_419_999, 1.7e-5),
    ):  # fmt: skip
        assert plan.learning_rate(step) == pytest.approx(rate), step


def test_epochs_of_the_whole_run(compiled: dict[str, Compiled]) -> None:
    last = {row.dataset: row.epochs_total for row in forecast(compiled["marin-8b"].plan)}
    for name, epochs in {
        "arxiv_markdownified": 31.8, "dolmino/stackexchange": 20.4, "finemath_3_plus": 3.36, "dolmino/flan": 3.0, "proofpile_2": 2.29,
        "starcoderdata": 1.88, "dolma/arxiv": 1.86, "dolmino/pes2o": 1.5, "stackexchange_custom": 1.26, "dolmino_dclm": 0.97,
        "dclm_baseline": 0.92, "wikipedia_markdown": 0.64, "medu_science_qa": 0.14,
    }.items():  # fmt: skip
        assert last[name] == pytest.approx(epochs, rel=0.01, abs=0.005), name


def test_dessert(compiled: dict[str, Compiled]) -> None:
    """As it was run: 0.2 FLAN and math, 0.1 high quality; every math set is drawn, also those that vanished then."""
    plan = compiled["dessert-v1"].plan
    phase = plan.phases[-1]
    assert (phase.first_step, phase.end_step, phase.end - phase.start) == (820_000, 837_000, 17_000 * 3072)
    found = shares(plan, "dessert")
    assert found["dolmino/flan"] * 20.48 == pytest.approx(328.1, abs=0.1)
    vanished = {"math/dolmino_math_synth": 0.554, "math/gsm8k": 0.053, "math/codesearchnet": 0.035}
    for name, of_a_block in vanished.items():
        assert round(found[name] * 20.48, 3) == of_a_block
        assert phase.sequences[name] == pytest.approx(of_a_block * (phase.end - phase.start) / 2048, rel=0.01)
    v2 = shares(compiled["dessert-v2"].plan, "dessert")
    assert (f"{v2['dolmino/flan']:.2f}", f"{v2['all_math']:.2f}") == ("8.01", "1.99")


@pytest.mark.parametrize(
    ("recipe", "check", "subjects"),
    [
        ("marin-8b", "epochs", {"arxiv_markdownified", "dolmino/stackexchange"}),
        ("marin-8b", "typed-weights", {"proofpile_2", "arxiv_markdownified", "dolmino/stackexchange", "wikipedia_markdown", "medu_science_qa"}),
        ("marin-8b", "rope", {"ocelot-first-step"}),
        ("jellyfish-handoff", "units", {"dclm"}),
        ("dessert-v1", "expectations", {"dessert_v1"}),
        ("raccoon", "z-loss", {"raccoon"}),
    ],
)  # fmt: skip
def test_what_the_run_found_out_the_hard_way(
    compiled: dict[str, Compiled], recipe: str, check: str, subjects: set[str]
) -> None:
    findings = preflight(compiled[recipe], CHECKS)
    assert {f.subject for f in findings if f.check == check and f.severity is Severity.ERROR} == subjects


@pytest.mark.parametrize(
    ("recipe", "check", "subject"),
    [
        ("marin-8b", "weight-decay", "ocelot-first-step"),
        ("marin-8b", "z-loss", "jellyfish"),
        ("marin-8b", "rate-jumps", "ocelot-first-step"),
        ("marin-8b", "boundaries", "jellyfish"),
        ("dessert-v1", "block-floor", "math/gsm8k"),
        ("dessert-v1", "last-rate", "dessert"),
        ("sft", "replay", "sft"),
    ],
)
def test_and_what_it_might_have_known(
    compiled: dict[str, Compiled], recipe: str, check: str, subject: str
) -> None:
    assert (check, subject) in {(f.check, f.subject) for f in preflight(compiled[recipe], CHECKS)}


def test_the_hand_over_in_samples_instead_of_steps(compiled: dict[str, Compiled]) -> None:
    """The mixture of the first cooldown begins at step 724, not 740,500; and its best sets are seen nine times."""
    found = preflight(compiled["jellyfish-handoff"], CHECKS)
    (mistaken,) = [f for f in found if f.check == "units" and f.severity is Severity.ERROR]
    assert "runs until 740500 sequences, and 740,500 steps is where another phase ends" in mistaken.message
    assert compiled["jellyfish-handoff"].plan.phases[1].first_step == 724
    assert any(
        f.check == "epochs" and f.subject == "dolma/pes2o" and "8.86 times" in f.message for f in found
    )
    (told,) = [
        f
        for f in preflight(compiled["marin-8b"], CHECKS)
        if f.check == "boundaries" and f.subject == "jellyfish"
    ]
    assert "at step 740,500, sequence 923,133,952" in told.message
    assert "is given 740,500 changes it at step 723" in told.message


def test_a_step_is_traced_without_the_data(compiled: dict[str, Compiled]) -> None:
    rows = trace_rows(compiled["marin-8b"].plan, 1_350_000, 7)
    assert [(row["phase"], row["row"], row["documents"]) for row in rows] == [("starling", 7, [])]
    assert rows[0]["dataset"] in STARLING


def test_fine_tuning_is_no_cooldown(compiled: dict[str, Compiled]) -> None:
    """A rate that falls over conversations: ``replay`` speaks of it, not ``cooldown-web``."""
    found = {finding.check for finding in preflight(compiled["sft"], CHECKS) if finding.subject == "sft"}
    assert "replay" in found
    assert "cooldown-web" not in found
