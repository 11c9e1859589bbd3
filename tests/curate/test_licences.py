from __future__ import annotations

import pytest

from tootsie.curate.licences import post_licence


@pytest.mark.parametrize(
    ("created", "licence"),
    [
        ("2008-07-31T21:42:52.667", "CC BY-SA 2.5"),
        ("2011-04-07T23:59:59.999", "CC BY-SA 2.5"),
        ("2011-04-08T00:00:00.000", "CC BY-SA 3.0"),
        ("2018-05-01T23:59:59.999", "CC BY-SA 3.0"),
        ("2018-05-02T00:00:00.000", "CC BY-SA 4.0"),
        ("2024-04-02", "CC BY-SA 4.0"),
        (None, "CC BY-SA"),
    ],
)
def test_licence_by_date(created: str | None, licence: str) -> None:
    assert post_licence(created, None) == licence


def test_what_the_dump_states_wins() -> None:
    assert post_licence("2009-01-01", "CC BY-SA 4.0") == "CC BY-SA 4.0"
