"""How a spec says that a dataset is shuffled in blocks: ``shuffle: {block: 64 sequences, group: 16}``, or ``shuffle: full``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tootsie.mixtures.block_shuffle import MOST, BlockShuffle
from tootsie.mixtures.duration import parse_duration

_SIZE = re.compile(r"(?P<number>\S(?:.*\S)?)\s+(?P<unit>sequence|token|byte)s?")


class SizeUnit(StrEnum):
    """What the size of a block is given in."""

    SEQUENCES = "sequences"
    """Of the plan's ``sequence_length``; spans, where the plan has a ``span_length``."""
    TOKENS = "tokens"
    """Ids, rounded up to whole sequences."""
    BYTES = "bytes"
    """Of ids as the token cache stores them, two or four each; rounded up to whole sequences."""


@dataclass(frozen=True)
class BlockSize:
    """The size of a block as it was written."""

    amount: int
    """Positive."""
    unit: SizeUnit
    """What it counts."""
    text: str
    """As written, for messages."""


def parse_block_size(value: Any) -> BlockSize:
    """Read the size of a block: ``64 sequences``, ``256k tokens``, ``4Mi bytes``.

    Raises:
      ValueError: it is something else.
    """
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) and len(value) < 100 else None
    if match is None:
        raise ValueError(
            "not the size of a block. Write for example '64 sequences', '256k tokens' or '4Mi bytes'"
        )
    try:
        amount = parse_duration(f"{match['number']} tokens").amount
    except ValueError:
        raise ValueError(
            f"the size of a block is a whole number of {match['unit']}s above 0, for example '64 sequences' or '4Mi bytes'"
        ) from None
    return BlockSize(int(amount), SizeUnit(match["unit"] + "s"), value)


class ShuffleSpec(BaseModel):
    """How the windows of an epoch are shuffled; ``full`` is short for one without block and group."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    block: Annotated[BlockSize, BeforeValidator(parse_block_size)] | None = None
    """Neighbours that stay together until their group is shuffled: about what one read of an object store should fetch."""
    group: Annotated[int, Field(gt=0, le=MOST, strict=True)] | None = None
    """Blocks whose windows are shuffled among themselves: what a reader holds at a time."""

    @model_validator(mode="before")
    @classmethod
    def _words(cls, data: Any) -> Any:
        if data == "full":
            return {}
        if not isinstance(data, dict) or "block" not in data or "group" not in data:
            raise ValueError(
                "a shuffle is 'full' or has a block and a group: '{block: 64 sequences, group: 16}'"
            )
        return data

    def planned(self, span: int, id_bytes: int | None) -> BlockShuffle | None:
        """Return the shuffle as the plan states it; ``None`` for the full one.

        Args:
          span: tokens of what is shuffled, a sequence or a span.
          id_bytes: bytes of an id in the token cache; ``None`` where there is none yet.

        Raises:
          ValueError: the size is in bytes and there is no cache, or a block would be too large.
        """
        if self.block is None or self.group is None:
            return None
        windows = self.block.amount
        if self.block.unit is not SizeUnit.SEQUENCES:
            if self.block.unit is SizeUnit.BYTES and id_bytes is None:
                raise ValueError(
                    "a dataset without a token cache has no bytes yet; write the block in tokens"
                )
            tokens = windows if self.block.unit is SizeUnit.TOKENS else -(-windows // (id_bytes or 1))
            windows = -(-tokens // span)
        if windows > MOST:
            raise ValueError(f"a block has at most {MOST:,} sequences, this one {windows:,}")
        return BlockShuffle(block=windows, group=self.group)


def spec_of(planned: BlockShuffle | None) -> ShuffleSpec:
    """Return the spec of a shuffle that a plan states."""
    if planned is None:
        return ShuffleSpec.model_validate("full")
    return ShuffleSpec.model_validate({"block": f"{planned.block} sequences", "group": planned.group})
