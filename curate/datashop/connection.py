"""A connection to a server: requests bounded, paced, within a budget, and tried again."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol, Self, TypeVar

from tootsie.curate.datashop.endpoint import MALFORMED, MAX_BODY, Hitch, Refusal, authorization, without_key
from tootsie.curate.datashop.pacing import Budget, Pace
from tootsie.curate.datashop.spec import Endpoint
from tootsie.datasets.errors import SpecError, UserError, shorten

FIRST_WAIT = 0.5
"""Seconds before the first retry, about; twice as long before each further one."""
LONGEST_WAIT = 60.0
"""Seconds, unless the server asks for more."""
GIVE_UP = 20
"""Requests in a row that fail in all their attempts before the server counts as gone."""


class Counted(Protocol):
    """An answer that says what it cost."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens read; 0 where the server does not say."""
        ...

    @property
    def completion_tokens(self) -> int:
        """Tokens written, likewise."""
        ...


AnswerT = TypeVar("AnswerT", bound=Counted)
Reader = Callable[[int, dict[str, str], bytes, str], AnswerT]
"""Reads an answer from status, headers, body and key; raises :class:`Hitch` or :class:`Refusal` where it is none."""


class Connection:
    """An open connection to a server. ``async with`` it."""

    max_body = MAX_BODY
    """Bytes of an answer that are read."""

    def __init__(self, endpoint: Endpoint, path: str, field: str, first_wait: float) -> None:
        """Prepare a connection.

        Args:
          endpoint: its ``url`` must be set.
          path: below that URL.
          field: where the spec has the endpoint.
          first_wait: seconds before the first retry.

        Raises:
          SpecError: the key is missing.
        """
        assert endpoint.url is not None
        self._url = endpoint.url.rstrip("/") + path
        self._endpoint = endpoint
        self._field = field
        self._headers = authorization(endpoint, field)
        self._key = self._headers.get("Authorization", "").removeprefix("Bearer ")
        self._first_wait = first_wait
        self._requests = Pace(endpoint.requests_per_minute, time.monotonic)
        self._tokens = Pace(endpoint.tokens_per_minute, time.monotonic)
        self._budget = Budget(endpoint.token_budget, f"{field}.token_budget")
        self._lost_in_a_row = 0
        self._stopping = asyncio.Event()
        self._slots = asyncio.Semaphore(endpoint.concurrency)
        self._session: Any = None
        self.counters: Counter[str] = Counter()
        """Requests, retries by reason, tokens, answers from the cache."""

    async def __aenter__(self) -> Self:
        try:
            import aiohttp
        except ImportError:
            raise SpecError(
                "asking a model needs another package", remedy="pip install 'tootsie[datashop]'"
            ) from None
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=self._endpoint.timeout),
            headers={"Content-Type": "application/json", **self._headers},
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    def stop(self) -> None:
        """Begin no further attempts; requests under way may end, so that their answers are filed."""
        self._stopping.set()

    async def ended_early(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Begin no further attempts and wait for the tasks to end, however they do."""
        self.stop()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def post(self, body: bytes, booked: int, read: Reader[AnswerT]) -> AnswerT:
        """Ask until there is an answer.

        Args:
          body: of the request.
          booked: tokens that it costs, about.
          read: reads the answer.

        Raises:
          Hitch: every attempt failed.
          Refusal: the server does not answer this request.
          UserError: the token budget is spent, the server is gone or rejects the key.
        """
        attempt = 0
        while True:
            try:
                answer = await self._once(body, booked, read)
            except Refusal as refusal:
                if refusal.status in (401, 403):
                    raise SpecError(
                        f"the server rejects the key (status {refusal.status}): {refusal.detail}",
                        field=f"{self._field}.key_variable",
                        value=self._endpoint.key_variable,
                    ) from None
                self._lost_in_a_row = 0
                raise
            except Hitch as hitch:
                attempt += 1
                self.counters[f"hitch: {hitch.reason}"] += 1
                if self._stopping.is_set():
                    raise
                if attempt >= self._endpoint.attempts:
                    self._lost_in_a_row += 1
                    self._check_present(hitch)
                    raise
                await self._pause(self._wait(attempt, hitch.retry_after))
                continue
            self._lost_in_a_row = 0
            return answer

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until :meth:`stop`."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    def _wait(self, attempt: int, asked: float | None) -> float:
        """Return seconds before the next attempt: an exponential with jitter, and no less than the server asks for."""
        grown = random.uniform(0.5, 1.0) * min(LONGEST_WAIT, self._first_wait * 2 ** (attempt - 1))
        return grown if asked is None else max(grown, asked + random.uniform(0, self._first_wait))

    def _check_present(self, hitch: Hitch) -> None:
        if self._lost_in_a_row >= GIVE_UP:
            raise UserError(
                f"the server does not answer: {self._lost_in_a_row} requests in a row failed in all attempts, the last with "
                f"{hitch.reason}: {hitch.detail}",
                file=self._url,
                field=f"{self._field}.url",
                remedy="What was answered is kept; the same command goes on from here",
            )

    async def _once(self, content: bytes, booked: int, read: Reader[AnswerT]) -> AnswerT:
        import aiohttp

        # A slot is free again as soon as the last byte is here; until the answer is filed nothing is waited for, so that whoever
        # kills the process loses no answer that has come.
        async with self._slots:
            wait = max(self._requests.delay(1), self._tokens.delay(booked))
            if wait:
                await self._pause(wait)
            if self._stopping.is_set():
                raise Hitch("stopped", "the run ended before the request was sent")
            self._budget.check()
            self.counters["requests"] += 1
            try:
                async with self._session.post(self._url, data=content, allow_redirects=False) as response:
                    body = await response.content.read(self.max_body + 1)
                    while len(body) <= self.max_body and (
                        more := await response.content.read(self.max_body + 1)
                    ):
                        body += more
                    headers = {name.lower(): value for name, value in response.headers.items()}
                    status = response.status
            except TimeoutError:
                raise Hitch("timeout", f"no answer in {self._endpoint.timeout:g} s") from None
            except (aiohttp.ClientError, OSError, ValueError) as error:
                detail = without_key(f"{type(error).__name__}: {error}", self._key)
                raise Hitch("connection", shorten(detail, 300)) from None
        if len(body) > self.max_body:
            raise Hitch(MALFORMED, f"more than {self.max_body:,} bytes")
        answer = read(status, headers, body, self._key)
        spent = (answer.prompt_tokens + answer.completion_tokens) or booked
        self._tokens.correct(booked - spent)
        self._budget.spent += spent
        self.counters["prompt tokens"] += answer.prompt_tokens
        self.counters["completion tokens"] += answer.completion_tokens
        return answer


async def cancelled(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel what is still under way of the tasks, and wait until all have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
