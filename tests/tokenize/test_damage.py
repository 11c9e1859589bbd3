"""A hundred of the thousand faults of ``make damage-caches``."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..endurance import damage_caches


@pytest.mark.slow
def test_damage_is_noticed_before_a_wrong_token_is_served(tmp_path: Path) -> None:
    found = damage_caches.run(tmp_path, 100, seed=1)
    assert sum(found.values()) == 100
    assert {name for name, _ in found} == {fault.__name__ for fault in damage_caches.FAULTS}
    assert all(
        when == "before a row was served"
        for name, when in found
        if name in {fault.__name__ for fault in damage_caches.BEFORE_READING}
    )
    assert found["flip_bit_of_a_shard", "at the row that it touches"] > 10
