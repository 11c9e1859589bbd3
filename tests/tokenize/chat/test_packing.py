from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tootsie.tokenize.chat.packing import Packer, Row


@dataclass(frozen=True)
class Item:
    number: int
    tokens: int


def pack(sizes: list[int], length: int, open_rows: int | None = None) -> list[Row[Item]]:
    packer: Packer[Item] = Packer(length, open_rows)
    rows = [row for number, size in enumerate(sizes) for row in packer.add(Item(number, size))]
    return rows + list(packer.rest())


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(8, 32), st.integers(1, 5))
def test_every_item_is_in_one_row_and_every_row_is_full_with_its_padding(
    sizes: list[int], length: int, open_rows: int
) -> None:
    rows = pack(sizes, length, open_rows)
    assert sorted(item.number for row in rows for item in row.items) == list(range(len(sizes)))
    for row in rows:
        total = sum(item.tokens for item in row.items) + row.padding
        assert total % length == 0
        assert row.items
        assert 0 <= row.padding < length
        assert total == length or len(row.items) == 1  # only an item that is longer has several rows
        assert [item.number for item in row.items] == sorted(item.number for item in row.items)


def test_the_row_with_the_least_room_that_fits_is_taken() -> None:
    rows = pack([6, 8, 3, 2], 10)
    assert [[item.tokens for item in row.items] for row in rows] == [[8, 2], [6, 3]]
    assert [row.padding for row in rows] == [0, 1]


def test_at_most_so_many_rows_are_open() -> None:
    rows = pack([9, 8, 7, 1], 10, open_rows=2)
    # The third row closes the fullest, which would have had room for the last item.
    assert [[item.tokens for item in row.items] for row in rows] == [[9], [8, 1], [7]]
    assert [row.padding for row in rows] == [1, 1, 3]


def test_rows_are_nearly_full() -> None:
    sizes = [1 + (n * 7919) % 900 for n in range(5000)]
    rows = pack(sizes, 2048)
    assert sum(row.padding for row in rows) < 0.02 * len(rows) * 2048
