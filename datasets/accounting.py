"""The conservation law of every stage: read = written + dropped (by reason)."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field


class ConservationError(AssertionError):
    """Records were lost or invented between input and output: a fault in the stage, never in its input."""


class Accounting(BaseModel):
    """Record counts of one stage, one shard or one file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    read: int = Field(default=0, ge=0)
    """Records that the stage was given."""
    written: int = Field(default=0, ge=0)
    """Records that it wrote."""
    dropped: dict[str, int] = Field(default_factory=dict)
    """Records left out, by reason."""

    def check(self, stage: str) -> Accounting:
        """Return ``self`` when the books balance.

        Raises:
          ConservationError: ``read`` differs from ``written`` plus all that was dropped.
        """
        out = self.written + sum(self.dropped.values())
        if out != self.read:
            raise ConservationError(
                f"{stage}: read {self.read:,} records but wrote {self.written:,} and dropped "
                f"{sum(self.dropped.values()):,} ({self.dropped}); {self.read - out:+,} are unaccounted for"
            )
        return self

    @staticmethod
    def total(parts: Iterable[Accounting]) -> Accounting:
        """Return the sum of ``parts``, reasons in alphabetical order."""
        read = written = 0
        dropped: dict[str, int] = {}
        for part in parts:
            read += part.read
            written += part.written
            for reason, count in part.dropped.items():
                dropped[reason] = dropped.get(reason, 0) + count
        return Accounting(read=read, written=written, dropped=dict(sorted(dropped.items())))
