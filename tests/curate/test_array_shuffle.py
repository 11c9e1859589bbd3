"""What goes into a shuffle comes out of it once, with its like, whatever the buckets and the pieces it came in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.curate import array_shuffle
from tootsie.curate.array_shuffle import Shuffle, run_shuffle
from tootsie.datasets.beam_runner import pipeline_options

KIND = (("hash", "<u8"), ("value", "<u4"))


def make(seed: int) -> Iterator[np.ndarray]:
    chance = np.random.default_rng(seed)
    for _ in range(3):
        records = np.zeros(chance.integers(0, 40), list(KIND))
        records["hash"] = chance.integers(0, 20, len(records)).astype(np.uint64) << np.uint64(40)
        records["value"] = chance.integers(0, 1000, len(records))
        yield records


def meet(records: np.ndarray) -> Mapping[str, Any]:
    """All records, each with how many of its hash there are in its bucket."""
    _, inverse, counts = np.unique(records["hash"], return_inverse=True, return_counts=True)
    return {"records": records, "counts": counts[inverse]}


@pytest.mark.parametrize(("buckets", "alone"), [(1, False), (3, True), (50, False)])
def test_equal_hashes_meet(
    tmp_path: Path, buckets: int, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(array_shuffle, "HELD_RECORDS", 16)
    shuffle = Shuffle(str(tmp_path), "step", KIND, make, meet, buckets)
    met = run_shuffle(shuffle, [1, 2, 3], pipeline_options([]), alone=alone)
    found = {"records": met.gather("records", list(KIND)), "counts": met.gather("counts", np.int64)}
    sent = np.concatenate([records for seed in (1, 2, 3) for records in make(seed)])
    assert sorted(found["records"].tolist()) == sorted(sent.tolist())
    totals = dict(zip(*np.unique(sent["hash"], return_counts=True), strict=True))
    assert found["counts"].tolist() == [totals[one] for one in found["records"]["hash"]]


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    first = run_shuffle(Shuffle(str(tmp_path), "step", KIND, make, meet, 4), [1, 2], pipeline_options([]))

    def fail(_: Any) -> Any:
        raise AssertionError("done again")

    again = run_shuffle(Shuffle(str(tmp_path), "step", KIND, fail, fail, 4), [1, 2], pipeline_options([]))
    assert again.gather("records", list(KIND)).tolist() == first.gather("records", list(KIND)).tolist()
