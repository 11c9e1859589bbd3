"""Names on the charts: literal, and never over one another."""

from __future__ import annotations

from tootsie.train.report import charts


def test_names_are_shown_as_they_are() -> None:
    assert charts.label("<b>&\"'$x$") == "&lt;b&gt;&amp;\"'$x$"
    assert charts.label("x" * 50) == "x" * 39 + "…"


def test_names_of_short_phases_take_rows_and_then_none() -> None:
    assert charts.label_rows([0.2, 0.5, 0.9], ["stable", "broader", "cooldown"]) == [0, 0, 0]
    assert charts.label_rows([0.50, 0.51, 0.52, 0.53], ["cooldown"] * 4) == [0, 1, 2, None]
    assert charts.label_rows([0.1, 0.105, 0.9], ["cooldown"] * 3) == [0, 1, 0]
