"""Rates and budgets: how soon the next request may go, and whether it may at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tootsie.datasets.errors import UserError


class Pace:
    """Keeps below so many units a minute: a bucket that fills evenly and holds a second's worth, or the largest request."""

    def __init__(
        self,
        per_minute: float | None,
        clock: Callable[[], float],
        sleep: Callable[[float], object] = asyncio.sleep,
    ) -> None:
        self._rate = None if per_minute is None else per_minute / 60
        self._clock = clock
        self._sleep = sleep
        self._free_at = clock()

    def delay(self, units: float) -> float:
        """Book ``units`` and return how many seconds to wait before they may be used."""
        if self._rate is None:
            return 0.0
        now = self._clock()
        start = max(now - 1.0, self._free_at)
        self._free_at = start + units / self._rate
        return max(0.0, start - now)

    def correct(self, units: float) -> None:
        """Give back what was booked too much (or take what was booked too little, where negative)."""
        if self._rate is not None:
            self._free_at -= units / self._rate


class Budget:
    """Tokens that may be spent."""

    def __init__(self, tokens: int | None, field: str = "model.token_budget") -> None:
        self._tokens = tokens
        self._field = field
        self.spent = 0

    def check(self) -> None:
        """Stop where nothing is left.

        Raises:
          UserError: the budget is spent.
        """
        if self._tokens is not None and self.spent >= self._tokens:
            raise UserError(
                f"the budget of {self._tokens:,} tokens is spent",
                field=self._field,
                value=self.spent,
                remedy="What was answered is kept; the same command goes on from here with a new budget",
            )
