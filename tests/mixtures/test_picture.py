"""The timeline."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.learning_rate import Cycle, LearningRate, Shape
from tootsie.mixtures.picture import LABELLED, colour_of, draw_picture, knots, unit_of
from tootsie.mixtures.plan import Plan


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_equal_plans_give_equal_pictures(make_plan: Callable[..., Plan], tmp_path: Path, kind: str) -> None:
    plan = make_plan([(50, 4, {"a": 5, "b": 1}), (25, 8, {"a": 1, "b": 2, "c": 1})])
    contents = []
    for number in range(2):
        draw_picture(plan, str(tmp_path / f"{number}.{kind}"))
        contents.append((tmp_path / f"{number}.{kind}").read_bytes())
    assert contents[0] == contents[1]
    assert contents[0][:4] in (b"\x89PNG", b"<?xm")


def test_areas_are_coloured_by_share(make_plan: Callable[..., Plan], tmp_path: Path) -> None:
    """The first dataset's colour fills about its share of the mixture's area."""
    import matplotlib.image

    def area(share: int) -> int:
        draw_picture(make_plan([(100, 10, {"a": share, "b": 100 - share})]), str(tmp_path / "p.png"))
        pixels = matplotlib.image.imread(io.BytesIO((tmp_path / "p.png").read_bytes()))[..., :3]
        return int((np.abs(pixels - np.array([0x44, 0x77, 0xAA]) / 255).max(axis=2) < 0.02).sum())

    assert area(80) / area(40) == pytest.approx(2, rel=0.05)


def test_many_datasets(make_plan: Callable[..., Plan], tmp_path: Path) -> None:
    draw_picture(make_plan([(100, 10, {f"d{n}": n + 1 for n in range(40)})]), str(tmp_path / "p.png"))


def test_other_suffixes_are_refused(make_plan: Callable[..., Plan]) -> None:
    with pytest.raises(SpecError, match=r"a picture is .png or .svg \(found 'plan'\)"):
        draw_picture(make_plan([(1, 1, {"a": 1})]), "plan")


@pytest.mark.parametrize(("tokens", "unit"), [(12, "tokens"), (1500, "k tokens"), (2**40, "T tokens")])
def test_units(tokens: int, unit: str) -> None:
    assert unit_of(tokens)[1] == unit


def test_every_dataset_in_the_legend_has_its_own_colour() -> None:
    assert len({colour_of(number) for number in range(LABELLED + 1)}) == LABELLED + 1
    assert colour_of(LABELLED) == colour_of(LABELLED + 5)


def test_every_cycle_of_the_rate_is_drawn() -> None:
    """Where a cycle begins, where its decay begins, and its last step; also in a later part of the segment."""
    cycles = (Cycle(steps=100, decay_steps=10, until=1000), Cycle(steps=250, decay_steps=50))
    rate = LearningRate(shape=Shape.LINEAR, start=1e-3, end=0, warmup_steps=7, cycles=cycles)
    steps = knots(rate, 2000)
    assert {0, 7, 90, 99, 100, 900, 990, 999, 1000, 1200, 1249, 1950, 1999} <= set(steps)
    assert steps == sorted(set(steps))
    assert set(knots(rate.part(950, 2000), 100)) >= {0, 40, 49, 50, 99}
    assert len(knots(rate.model_copy(update={"cycles": (Cycle(steps=2, decay_steps=1),)}), 10**7)) < 10**5


def test_thousands_of_phases(make_plan: Callable[..., Plan], tmp_path: Path) -> None:
    draw_picture(make_plan([(2, 3, {"a": 1 + n % 3, "b": 1}) for n in range(300)]), str(tmp_path / "p.png"))
