from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tootsie.curate import stackexchange_index
from tootsie.curate.stackexchange_index import SiteIndex, number_of


def test_names_and_threads() -> None:
    with SiteIndex() as index:
        for user, name in ((7, "Ann"), (-1, "Community"), (7, "another Ann")):
            index.add_name(user, name)
        index.add_post(10, 10)
        index.add_post(11, 10)
        index.add_post(11, 99)
        assert [index.name(user) for user in ("7", "-1", "8", None, "x")] == [
            "Ann",
            "Community",
            None,
            None,
            None,
        ]
        assert [index.thread(post) for post in ("10", "11", "12", None, "")] == ["10", "10", None, None, None]
        index.add_post(12, 10)
        assert index.thread("12") == "10"


def test_many_names_leave_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stackexchange_index, "CACHE_KIB", 64)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path))
    with SiteIndex() as index:
        for number in range(50_000):
            index.add_name(number, f"user {number}")
        assert list(tmp_path.iterdir()) == []  # nameless already while it is in use
        assert index.name("49999") == "user 49999"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("-1", -1),
        ("", None),
        (None, None),
        ("1.0", None),
        ("٣", None),
        ("-", None),
        ("9" * 19, None),
    ],
)
def test_number_of(text: str | None, number: int | None) -> None:
    assert number_of(text) == number
