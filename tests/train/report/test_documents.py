"""Consumed documents, against reading every sequence that the order draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.datasets.accounting import Accounting
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.ledger import EngineInfo, Ledger, save_ledger
from tootsie.tokenize.shard_writer import shard_path, write_shard
from tootsie.train.report import documents
from tootsie.train.report.documents import count_documents


@pytest.fixture
def built(plan: Plan, tmp_path: Path) -> tuple[Plan, TokenCache]:
    """The plan with a real cache, of two shards and uneven documents, for its dataset ``papers``."""
    rng = np.random.default_rng(0)
    dataset, length = plan.datasets[0], plan.sequence_length
    sizes, left = [], dataset.windows * length + 5  # the last documents lie in the tail that no window holds
    while left > 3:
        sizes.append(int(min(left - 2, rng.integers(1, 3 * length))))
        left -= sizes[-1]
    sizes += [1] * left
    folder, shards = tmp_path / "papers", []
    for number, part in enumerate((sizes[:20], sizes[20:])):
        with write_shard(str(folder), shard_path(number, 2), plan.tokenizer) as shard:
            for row, size in enumerate(part):
                shard.writer.append(f"{number}-{row}", [5] * (size - 1) + [0], size, None)
        assert shard.entry is not None
        shards.append(shard.entry)
    total = len(sizes)
    ledger = Ledger(
        name="papers", tokenizer=plan.tokenizer, engine=EngineInfo(name="test", version="0"), sources=(), settings={},
        code_version="test", shards=tuple(shards), documents=total, tokens=sum(sizes), bytes=sum(sizes),
        accounting=Accounting(read=total, written=total),
    )  # fmt: skip
    save_ledger(str(folder), ledger.sealed())
    cache = TokenCache.open(str(folder))
    known = dataset.model_copy(
        update={"cache": str(folder), "ledger_sha256": cache.ledger_sha256, "tail_tokens": 5, "documents": total,
                "tokens": sum(sizes), "bytes": sum(sizes)}
    )  # fmt: skip
    return plan.model_copy(update={"datasets": (known, *plan.datasets[1:])}), cache


def test_the_count_is_that_of_reading_every_sequence(built: tuple[Plan, TokenCache]) -> None:
    plan, cache = built
    length, dataset = plan.sequence_length, plan.datasets[0]
    draws = Order(plan).draw(np.arange(plan.total_sequences))
    seen: set[Any] = set()
    counts = [0]
    for window in draws.window[draws.dataset == 0].tolist():
        seen |= {span.document_id for span in cache.documents_in(window * length, (window + 1) * length)}
        counts.append(len(seen))
    assert 0 < counts[1] < counts[5] < counts[-1]
    for drawn, wanted in enumerate(counts):
        found = count_documents(plan, dataset, cache.url, drawn, plan.total_sequences)
        assert found == (wanted, "")
    every = count_documents(plan, dataset, cache.url, 3 * dataset.windows, plan.total_sequences).documents
    assert every == len(cache.documents_in(0, dataset.windows * length)) < cache.documents


@pytest.mark.parametrize("spans", [None, 2])
def test_the_count_where_sequences_become_longer(built: tuple[Plan, TokenCache], spans: int | None) -> None:
    """Sequences twice as long in the second phase, from the same spans or not."""
    plan, cache = built
    length, first = plan.sequence_length, plan.datasets[0]
    content = plan.model_dump() | {"format": "tootsie-plan/2", "span_length": spans and spans * length}
    content["phases"][1]["sequence_length"] = 2 * length
    for dataset in content["datasets"]:
        dataset["windows"], dataset["tail_tokens"] = divmod(dataset["tokens"], (spans or 1) * length)
    plan = Plan.model_validate(content)
    order = Order(plan)
    draws = order.draw(np.arange(plan.total_sequences))
    seen: set[Any] = set()
    drawn = 0
    for position in np.flatnonzero(draws.dataset == 0).tolist():
        size = length if position < plan.phases[0].end else 2 * length
        start = int(draws.window[position]) * size
        seen |= {span.document_id for span in cache.documents_in(start, start + size)}
        drawn += 1
        found = count_documents(plan, plan.datasets[0], cache.url, drawn, plan.total_sequences)
        assert found == (len(seen), "")
    assert drawn > plan.phases[0].sequences[first.name]


def test_what_is_not_counted_says_why(
    built: tuple[Plan, TokenCache], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan, cache = built
    dataset = plan.datasets[0]
    assert "not at hand: no ledger" in count_documents(plan, dataset, str(tmp_path / "no"), 3, 3).why_not
    assert "not on this machine" in count_documents(plan, dataset, "memory://x", 3, 3).why_not
    foreign = dataset.model_copy(update={"ledger_sha256": "1" * 64})
    assert count_documents(plan, foreign, cache.url, 3, 3).why_not == "another cache stands in its place"
    monkeypatch.setattr(documents, "MAX_SEQUENCES", 2)
    assert count_documents(plan, dataset, cache.url, 3, 3) == (
        None,
        "not counted beyond 2 sequences or 5,000,000 documents",
    )
