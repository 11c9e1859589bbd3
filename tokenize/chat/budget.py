"""What one rendering of a chat template may cost: a number that every loop, call and written character takes from."""

from __future__ import annotations

import time

BASE_COST, COST_PER_CHARACTER = 4_000_000, 64
"""A rendering may cost the first, and the second for each character of its input."""
STEP = 8
"""Cost of a loop's turn, a call, a filter; a character that is copied costs 1."""
SECONDS = 60.0
"""Processor time of one rendering, at most: the last resort where single steps are slow."""


class ChatTemplateError(Exception):
    """The template cannot be used, or did what it may not; or it called ``raise_exception``."""


class Budget:
    """What a rendering may still cost."""

    def __init__(self, characters: int) -> None:
        self.left = BASE_COST + COST_PER_CHARACTER * characters
        self.most = self.left
        self._deadline = time.thread_time() + SECONDS
        self._charges = 0

    def charge(self, cost: int) -> None:
        """Take ``cost`` away.

        Raises:
          ChatTemplateError: nothing is left.
        """
        self.left -= cost
        self._charges += 1
        if self.left < 0:
            raise ChatTemplateError("the template does more work than a conversation of this length can need")
        if not self._charges % 1024 and time.thread_time() > self._deadline:
            raise ChatTemplateError(f"the template takes more than {SECONDS:.0f} seconds")

    def charge_product(self, times: int, length: int) -> None:
        """Take away the cost of ``times`` copies of ``length`` characters or items before they are made."""
        self.charge(max(0, times) * max(0, length))
