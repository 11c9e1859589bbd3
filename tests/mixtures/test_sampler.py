"""Rows of tokens from caches."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.sampler import Sampler
from tootsie.tokenize.cache import Rows, TokenCache


@dataclasses.dataclass
class FakeCache:
    """A cache whose row w is w, w, w, …"""

    ledger_sha256: str
    reads: list[int] = dataclasses.field(default_factory=list)

    def gather(self, windows: np.ndarray, into: Rows, rows: np.ndarray) -> None:
        self.reads += windows.tolist()
        into.tokens[rows] = windows[:, None]


@pytest.fixture
def plan(make_plan: Callable[..., Plan]) -> Plan:
    return make_plan([(10, 4, {"a": 2, "b": 1}), (5, 7, {"b": 1, "c": 1})])


def fakes(plan: Plan) -> dict[str, FakeCache]:
    return {dataset.name: FakeCache(dataset.ledger_sha256) for dataset in plan.datasets}


def test_a_batch_holds_what_the_order_says(plan: Plan) -> None:
    sampler = Sampler(plan, fakes(plan))
    batch = sampler.batch(12)
    assert batch.tokens.shape == (7, 8)
    assert batch.tokens.dtype == batch.segment_ids.dtype == np.int32
    assert batch.loss_mask.dtype == bool
    first, end = plan.rows_of_step(12)
    draws = sampler.order.draw(np.arange(first, end))
    assert batch.dataset.tolist() == draws.dataset.tolist()
    assert batch.tokens[:, 0].tolist() == batch.window.tolist() == draws.window.tolist()


def test_a_host_reads_its_rows_only(plan: Plan) -> None:
    caches = fakes(plan)
    sampler = Sampler(plan, caches)
    whole = sampler.batch(12)
    for cache in caches.values():
        cache.reads.clear()
    part = sampler.batch(12, slice(2, 5))
    for name in ("tokens", "segment_ids", "loss_mask", "dataset", "epoch", "window"):
        assert np.array_equal(getattr(part, name), getattr(whole, name)[2:5])
    assert sum(len(cache.reads) for cache in caches.values()) == 3


def test_consumed(plan: Plan) -> None:
    sampler = Sampler(plan, fakes(plan))
    assert sampler.consumed(0) == {"a": 0, "b": 0, "c": 0}
    assert sampler.consumed(40) == {"a": 27, "b": 13, "c": 0}
    drawn = np.concatenate([sampler.batch(step).dataset for step in range(12)])
    assert list(sampler.consumed(54).values()) == np.bincount(drawn, minlength=3).tolist()


def test_reading_ahead_gives_the_same_batches(plan: Plan) -> None:
    sampler = Sampler(plan, fakes(plan))
    ahead = list(sampler.batches(3, 12, slice(0, 2)))
    assert len(ahead) == 9
    for step, batch in zip(range(3, 12), ahead, strict=True):
        assert np.array_equal(batch.tokens, sampler.batch(step, slice(0, 2)).tokens)
    assert list(sampler.batches(5, 5)) == []


def test_segment_ids_are_made_when_asked_for_and_where_batches_are_read(plan: Plan) -> None:
    sampler = Sampler(plan, fakes(plan))
    batch = sampler.batch(12)
    assert "segment_ids" not in vars(batch)
    assert batch.segment_ids is batch.segment_ids
    assert np.array_equal(batch.segment_ids, np.ones((7, 8)))
    (ahead,) = sampler.batches(12, 13)
    assert np.array_equal(vars(ahead)["segment_ids"], batch.segment_ids)


def test_reading_ahead_is_bounded_and_ends_when_nobody_reads_on(plan: Plan) -> None:
    caches = fakes(plan)
    sampler = Sampler(plan, caches)
    before = threading.active_count()
    for ahead in (1, 3):
        for cache in caches.values():
            cache.reads.clear()
        batches = sampler.batches(0, 12, ahead=ahead)
        next(batches)
        next(batches)
        batches.close()
        assert sum(len(cache.reads) for cache in caches.values()) <= 4 * (2 + ahead)
    assert threading.active_count() == before


def test_what_fails_ahead_is_raised_in_its_turn(plan: Plan) -> None:
    caches = fakes(plan)

    class Broken(FakeCache):
        def gather(self, windows: np.ndarray, into: Rows, rows: np.ndarray) -> None:
            raise ArtefactError("damaged")

    caches["c"] = Broken(caches["c"].ledger_sha256)
    batches = Sampler(plan, caches).batches(8, 15)
    assert [len(next(batches).tokens) for _ in range(2)] == [4, 4]
    with pytest.raises(ArtefactError, match="damaged"):
        next(batches)


def test_a_foreign_cache_is_refused(plan: Plan) -> None:
    caches = fakes(plan) | {"b": FakeCache("f" * 64)}
    with pytest.raises(ArtefactError, match=r"tokens/b: ledger_sha256: the cache of 'b' is not the one"):
        Sampler(plan, caches)


def test_a_missing_cache_is_refused(plan: Plan) -> None:
    caches = fakes(plan)
    del caches["c"]
    with pytest.raises(ArtefactError, match="no cache was given for the dataset 'c'"):
        Sampler(plan, caches)


def test_no_such_step(plan: Plan) -> None:
    with pytest.raises(IndexError, match="has no step 15"):
        Sampler(plan, fakes(plan)).batch(15)


def test_real_caches(example_folder: Path) -> None:
    plan = compile_file(str(example_folder / "spec.yaml"))
    sampler = Sampler(plan)
    cache = TokenCache.open(plan.datasets[1].cache)
    for step in (0, plan.total_steps // 2, plan.total_steps - 1):
        batch = sampler.batch(step)
        for row in np.flatnonzero(batch.dataset == 1):
            start = int(batch.window[row]) * plan.sequence_length
            assert np.array_equal(batch.tokens[row], cache.read(start, start + plan.sequence_length))
            assert batch.segment_ids[row][0] == 1


def test_a_rebuilt_cache_is_refused(example_folder: Path, write_cache: Callable[..., str]) -> None:
    plan = compile_file(str(example_folder / "spec.yaml"))
    write_cache(example_folder / "tokens/arxiv/train", "arxiv", [100] * 150, 3)
    with pytest.raises(ArtefactError, match="is not the one that the plan was compiled from"):
        Sampler(plan)
