from __future__ import annotations

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.tokenize.hold_out import check_fraction, is_held_out

IDS = [f"document/{n}" for n in range(20_000)]


def test_the_share_is_that_asked_for() -> None:
    for fraction in (0.0, 0.01, 0.05, 0.5):
        share = sum(is_held_out(name, fraction) for name in IDS) / len(IDS)
        assert abs(share - fraction) < 0.01
    assert not any(is_held_out(name, 0.0) for name in IDS)


def test_a_larger_share_holds_out_the_same_documents_and_more() -> None:
    small = {name for name in IDS if is_held_out(name, 0.02)}
    assert small < {name for name in IDS if is_held_out(name, 0.05)}


def test_another_seed_holds_out_others() -> None:
    first, second = ({name for name in IDS if is_held_out(name, 0.05, seed)} for seed in (0, 1))
    assert len(first & second) < len(first) / 4


@pytest.mark.parametrize("fraction", [-0.1, 1.0, 5, float("nan")])
def test_impossible_shares_are_refused(fraction: float) -> None:
    with pytest.raises(SpecError, match="--validation-fraction"):
        check_fraction(fraction)
