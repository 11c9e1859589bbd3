"""Put the rows of a stage to the model: every row ends as done, or as failed with a reason, in the order it was given in.

Rows are documents. Lots of them are what workers are given; a lot's output appears when all of its rows have ended. What was
answered before a run was stopped is in the response cache.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from tootsie.curate.array_shuffle import run_tasks
from tootsie.curate.datashop.client import CUT_OFF, WRONG_FORM, Answered, Client, Dialogue, Result, ask_all
from tootsie.curate.datashop.endpoint import Question
from tootsie.curate.datashop.response_cache import ResponseCache
from tootsie.curate.datashop.spec import Endpoint, ModelSpec
from tootsie.datasets import beam_runner, storage
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError

LOT_ROWS = 5000
"""Rows of a lot: many times what is asked at once, so that the end of a lot costs little."""
RESULT = "datashop_result"
"""Field of a row's metadata that says what came of it."""
RESPONSES = "responses"
"""Folder of the response cache."""
TOLERATED = 1
"""Rows that do not fail a stage, whatever the budget."""

EndpointT = TypeVar("EndpointT", bound=Endpoint)
Ask = Callable[[Document], Question | Dialogue]
"""Makes a row's question; travels to the workers."""


def lot_url(folder: str, stage: str, lot: int) -> str:
    """Return where the rows of a lot wait."""
    return storage.join(folder, "_work", stage, f"lot-{lot:05d}.jsonl.zst")


def rows_url(folder: str, stage: str, lot: int) -> str:
    """Return where the rows of a lot lie once they have ended."""
    return storage.join(folder, stage, f"rows-{lot:05d}.jsonl.zst")


def write_lots(folder: str, stage: str, rows: Iterable[Document]) -> int:
    """Write the rows of a stage in lots and return how many lots that are."""
    lot = 0
    held: list[Document] = []
    for row in rows:
        held.append(row)
        if len(held) == LOT_ROWS:
            _write(lot_url(folder, stage, lot), held)
            held, lot = [], lot + 1
    if held:
        _write(lot_url(folder, stage, lot), held)
        lot += 1
    return lot


def _write(url: str, rows: Iterable[Document]) -> None:
    with storage.atomic_zstd(url) as stream:
        for row in rows:
            stream.write(row.to_json().encode("utf-8", "replace") + b"\n")


def read_rows(url: str) -> Iterator[Document]:
    """Yield the rows of a file."""
    for number, line in enumerate(storage.read_lines(url)):
        yield Document.from_json(line, file=url, record=number)


@dataclass(frozen=True)
class AskLot:
    """Asks the rows of a lot."""

    folder: str
    stage: str
    model: ModelSpec
    ask: Ask
    first_wait: float

    def __call__(self, lot: int) -> None:
        """Ask what is not answered, and write the rows with their results, and the counters."""
        url = rows_url(self.folder, self.stage, lot)
        if storage.exists(url):
            return
        rows = list(read_rows(lot_url(self.folder, self.stage, lot)))
        results, counters = asyncio.run(self._ask(rows))
        counted = json.dumps(dict(sorted(counters.items()))).encode()
        storage.write_bytes(
            storage.join(self.folder, "_work", self.stage, f"counters-{lot:05d}.json"), counted
        )
        _write(url, (ended(row, results[number]) for number, row in enumerate(rows)))

    async def _ask(self, rows: list[Document]) -> tuple[dict[int, Result], Counter[str]]:
        cache = ResponseCache(storage.join(self.folder, RESPONSES))
        results: dict[int, Result] = {}
        try:
            async with Client(self.model, cache, first_wait=self.first_wait) as client:
                questions = ((str(number), self.ask(row)) for number, row in enumerate(rows))
                async for name, result in ask_all(client, questions, self.model.concurrency):
                    results[int(name)] = result
            return results, client.counters
        finally:
            cache.close()


def ended(row: Document, result: Result) -> Document:
    """Return a row with what came of it."""
    if isinstance(result, Answered):
        found: dict[str, Any] = {"state": "done", "answer": result.answer, **result.provenance}
    else:
        found = {"state": "failed", "reason": result.reason, "detail": result.detail, **result.provenance}
    return row.model_copy(update={"metadata": {**row.metadata, RESULT: found}})


def for_each_worker(model: EndpointT, workers: int) -> EndpointT:
    """Return the settings of one of several workers, which together keep to the limits of all."""

    def part(limit: float | None) -> float | None:
        return None if limit is None else limit / workers

    budget = None if model.token_budget is None else max(1, model.token_budget // workers)
    return model.model_copy(
        update={
            "concurrency": max(1, model.concurrency // workers),
            "requests_per_minute": part(model.requests_per_minute),
            "tokens_per_minute": part(model.tokens_per_minute),
            "token_budget": budget,
        }
    )


@dataclass(frozen=True)
class Asked:
    """The books of a stage that asks."""

    accounting: Accounting
    """Rows asked, done, and failed by reason."""
    counters: dict[str, int]
    """Of the clients."""
    urls: tuple[str, ...]
    """Files of the rows."""

    def rows(self) -> Iterator[Document]:
        """Yield all rows in order."""
        for url in self.urls:
            yield from read_rows(url)


def ask_rows(
    folder: str,
    stage: str,
    lots: int,
    ask: Ask,
    model: ModelSpec,
    options: Any,
    *,
    max_failures: float,
    tolerated: int = TOLERATED,
    first_wait: float = 0.5,
) -> Asked:
    """Ask all lots of a stage.

    Args:
      folder: of the run.
      stage: its name.
      lots: see :func:`write_lots`.
      ask: makes the questions.
      model: with its URL.
      options: of Beam.
      max_failures: share of the rows that may fail.
      tolerated: rows that may fail in any case.
      first_wait: seconds before a retry.

    Raises:
      InputError: more rows failed; the lots that have any are put back, so that a further run asks for those rows only.
      UserError: the server is gone, or the budget is spent.
    """
    workers = min(max(1, lots), beam_runner.worker_count(options) or 1)
    run_tasks(
        AskLot(folder, stage, for_each_worker(model, workers), ask, first_wait), list(range(lots)), options
    )
    urls = tuple(rows_url(folder, stage, lot) for lot in range(lots))
    failed: Counter[str] = Counter()
    faulty: dict[str, str] = {}
    asked = done = 0
    for lot, url in enumerate(urls):
        waiting = [row.id for row in read_rows(lot_url(folder, stage, lot))]
        found = []
        for row in read_rows(url):
            found.append(row.id)
            result = row.metadata[RESULT]
            done += result["state"] == "done"
            if result["state"] == "failed":
                failed[result["reason"]] += 1
                faulty[url] = f"{row.id}: {result['reason']}: {result['detail']}"
        if found != waiting:
            raise AssertionError(f"{url}: the rows are not those that were asked")
        asked += len(waiting)
    accounting = Accounting(read=asked, written=done, dropped=dict(sorted(failed.items()))).check(stage)
    if failed.total() > max(tolerated, max_failures * asked):
        for url in faulty:
            storage.remove(url)
        raise InputError(
            f"{failed.total():,} of {asked:,} rows of the stage {stage} failed, more than the budget of {max_failures:.1%}: "
            + ", ".join(f"{reason} {count:,}" for reason, count in failed.most_common()),
            file=folder,
            field="max_failures",
            value=next(iter(faulty.values())),
            remedy=_remedy(failed),
        )
    counters: Counter[str] = Counter()
    for lot in range(lots):
        url = storage.join(folder, "_work", stage, f"counters-{lot:05d}.json")
        if storage.exists(url):
            counters.update(json.loads(storage.read_bytes(url)))
    return Asked(accounting, dict(sorted(counters.items())), urls)


def _remedy(failed: Counter[str]) -> str:
    """Return what to do about rows that failed, by their reasons."""
    answered = failed[WRONG_FORM] + failed[CUT_OFF]
    parts = []
    if answered < failed.total():
        parts.append("What was answered is kept; the same command asks again for the rest")
    if answered:
        parts.append(
            f"Answers of the {WRONG_FORM} or {CUT_OFF} are kept too and not asked for again: ask with more 'reasks' or "
            "'max_tokens', another seed or model, or allow more 'max_failures'"
        )
    return ". ".join(parts)


def result_of(row: Document) -> dict[str, Any]:
    """Return what came of a row."""
    found: dict[str, Any] = row.metadata[RESULT]
    return found


def without_result(row: Document) -> dict[str, Any]:
    """Return the metadata of a row but for what came of it."""
    return {name: value for name, value in row.metadata.items() if name != RESULT}
