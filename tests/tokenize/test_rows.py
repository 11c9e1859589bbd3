from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.tokenize.rows import Rows


@given(st.integers(0, 5), st.integers(1, 100), st.data())
@settings(max_examples=60)
def test_segments_count_the_documents_of_each_row(count: int, length: int, data: st.DataObject) -> None:
    rows = Rows(count, length)
    wanted = np.ones((count, length), np.int32)
    for row in data.draw(st.permutations(range(count))):
        begins = sorted(data.draw(st.sets(st.integers(-3, length + 3))))
        shift = data.draw(st.integers(-50, 50))
        rows.mark([row], [len(begins)], [shift + row * length], (np.array(begins, np.int64) - shift).data)
        for begin in begins:
            if 0 < begin < length:
                wanted[row, begin:] += 1
    assert rows.segment_ids().tolist() == wanted.tolist()
    assert rows.segment_ids().dtype == np.int32
    assert rows.loss_mask.all()


def test_threads_do_not_mix_up_rows() -> None:
    rows = Rows(2000, 16)

    def fill(part: range) -> None:
        for row in part:
            rows.mark([row], [1], [row * 16], np.array([row % 15 + 1], np.int64).data)
            rows.place_loss(row, row % 15, np.zeros(1, bool))

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(fill, range(first, 2000, 8)) for first in range(8)]:
            done.result()
    wanted = 1 + (np.arange(16) >= np.arange(2000)[:, None] % 15 + 1)
    assert np.array_equal(rows.segment_ids(), wanted)
    assert np.array_equal(rows.loss_mask, np.arange(16) != np.arange(2000)[:, None] % 15)


def test_a_loss_mask_takes_memory_only_where_a_token_has_none() -> None:
    rows = Rows(3, 4)
    rows.place_loss(1, 0, None)
    mask = rows.loss_mask
    assert (mask.shape, mask.dtype, mask.strides) == ((3, 4), bool, (0, 0))
    assert mask.all()
    with pytest.raises(ValueError, match="read-only"):
        mask[0, 0] = False
    rows.place_loss(2, 1, np.array([False, True, False]))
    assert rows.loss_mask.tolist() == [[True] * 4, [True] * 4, [True, False, True, False]]
