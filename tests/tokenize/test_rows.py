from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.tokenize.rows import Rows


@given(st.integers(0, 5), st.integers(1, 20), st.data())
@settings(max_examples=60, deadline=None)
def test_segments_count_the_documents_of_each_row(count: int, length: int, data: st.DataObject) -> None:
    rows = Rows(count, length)
    wanted = np.ones((count, length), np.int32)
    for row in data.draw(st.permutations(range(count))):
        begins = sorted(data.draw(st.sets(st.integers(-3, length + 3))))
        shift = data.draw(st.integers(-50, 50))
        rows.add_begins(row, np.array(begins, np.int64) - shift, shift + row * length)
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
            rows.add_begins(row, np.array([row % 15 + 1], np.int64), row * 16)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(fill, range(first, 2000, 8)) for first in range(8)]:
            done.result()
    wanted = 1 + (np.arange(16) >= np.arange(2000)[:, None] % 15 + 1)
    assert np.array_equal(rows.segment_ids(), wanted)
