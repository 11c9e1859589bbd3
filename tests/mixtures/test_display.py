"""Numbers as a person reads them."""

from __future__ import annotations

import pytest

from tootsie.mixtures.display import amount


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (1234, "1.23k"),
        (12_750_700_000_000, "12.8T"),
        (999_999, "1,000k"),
    ],
)
def test_amounts(count: int, text: str) -> None:
    assert amount(count) == text
