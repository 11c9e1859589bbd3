"""What a run needs has to fit together before it starts."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.mixtures.settings import RopeScaling, RopeSettings
from tootsie.train.architecture import PRESETS
from tootsie.train.inputs import check_rope


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ([None, None], True),
        ([(500_000, "llama3"), None], True),
        ([(500_000, "none")], False),
        ([(10_000, "none"), (500_000, "llama3")], False),
        ([(500_000, "llama3"), (10_000, "llama3")], False),
    ],
)
def test_rope_is_that_of_every_phase(wanted: list[tuple[float, str] | None], fits: bool) -> None:
    """A rope that the plan does not mean, or that would change in the middle of the run, is refused."""
    phases = [
        SimpleNamespace(
            name=f"p{number}",
            end_step=10 * number + 10,
            settings=SimpleNamespace(
                rope=None if rope is None else RopeSettings(theta=rope[0], scaling=RopeScaling(rope[1]))
            ),
        )
        for number, rope in enumerate(wanted)
    ]
    plan, architecture = SimpleNamespace(phases=phases), PRESETS["llama3.1-8b"]
    check_rope(architecture, plan, "run.yaml", since=20)
    later = wanted[1:] in ([(500_000, "llama3")], [None], [])
    with contextlib.nullcontext() if later else pytest.raises(SpecError):
        check_rope(architecture, plan, "run.yaml", since=10)
    if fits:
        check_rope(architecture, plan, "run.yaml")
    else:
        with pytest.raises(SpecError, match=r"is meant for a model with rope theta"):
            check_rope(architecture, plan, "run.yaml")
