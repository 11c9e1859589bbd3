"""Ask a server many things at once: bounded, paced, retried, remembered."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from tootsie.curate.datashop.answers import AnswerFault, read_likelihood
from tootsie.curate.datashop.endpoint import (
    DOWNGRADE,
    MAX_BODY,
    Hitch,
    Question,
    Refusal,
    Reply,
    authorization,
    read_reply,
    without_key,
)
from tootsie.curate.datashop.pacing import Budget, Pace
from tootsie.curate.datashop.prompts import prompt_sha256
from tootsie.curate.datashop.response_cache import ResponseCache
from tootsie.curate.datashop.spec import ModelSpec
from tootsie.datasets.errors import SpecError, UserError, shorten

FIRST_WAIT = 0.5
"""Seconds before the first retry, about; twice as long before each further one."""
LONGEST_WAIT = 60.0
"""Seconds, unless the server asks for more."""
GIVE_UP = 20
"""Requests in a row that fail in all their attempts before the server counts as gone."""
WRONG_FORM, CUT_OFF = "wrong form", "cut off"
"""Reasons of rows that the model has answered, but badly: these answers are filed."""


@dataclass(frozen=True)
class Answered:
    """A row that is done."""

    answer: dict[str, Any]
    """In the form that was asked for."""
    provenance: dict[str, Any]
    """How the answer came about: model, revision, prompt, sampling, finish reason …"""


@dataclass(frozen=True)
class Failed:
    """A row that failed, and why."""

    reason: str
    """Name under which it is counted."""
    detail: str
    provenance: dict[str, Any]


Result = Answered | Failed


class Dialogue(Protocol):
    """Several questions of which each depends on the answers before it, with one result."""

    async def put_to(self, client: Client) -> Result:
        """Ask, and return what came of it."""
        ...


class Client:
    """An open connection to a server. ``async with`` it."""

    def __init__(self, model: ModelSpec, cache: ResponseCache, *, first_wait: float = FIRST_WAIT) -> None:
        """Prepare a connection.

        Args:
          model: the endpoint; its ``url`` must be set.
          cache: of answers.
          first_wait: seconds before the first retry.

        Raises:
          SpecError: the key is missing.
        """
        assert model.url is not None
        self._url = model.url.rstrip("/") + "/chat/completions"
        self._model = model
        self._cache = cache
        self._headers = authorization(model)
        self._key = self._headers.get("Authorization", "").removeprefix("Bearer ")
        self._structured = model.structured
        self._first_wait = first_wait
        self._requests = Pace(model.requests_per_minute, time.monotonic)
        self._tokens = Pace(model.tokens_per_minute, time.monotonic)
        self._budget = Budget(model.token_budget)
        self._lost_in_a_row = 0
        self._stopping = asyncio.Event()
        self._slots = asyncio.Semaphore(model.concurrency)
        self._session: Any = None
        self.counters: Counter[str] = Counter()
        """Requests, retries by reason, tokens, answers from the cache."""

    async def __aenter__(self) -> Client:
        try:
            import aiohttp
        except ImportError:
            raise SpecError(
                "asking a model needs another package", remedy="pip install 'tootsie[datashop]'"
            ) from None
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=self._model.timeout),
            headers={"Content-Type": "application/json", **self._headers},
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, question: Question) -> Result:
        """Return the answer to a question, or why there is none.

        An answer of the wrong form is asked for again with another seed; one that was cut off, once more with twice the tokens.
        Every answer of the model is filed, also the bad ones: they are not asked for twice either.

        Raises:
          UserError: the token budget is spent, the server is gone or rejects the key.
        """
        reason, detail = "", ""
        provenance: dict[str, Any] = {}
        tries = 0
        while tries <= self._model.reasks:
            reply, provenance = await self._filed(question)
            if isinstance(reply, Failed):
                return reply
            provenance["asked"] = tries + 1
            try:
                answer = (
                    read_likelihood(reply.first_words)
                    if question.likelihood
                    else question.form.read(reply.content)
                )
            except AnswerFault as fault:
                cut = reply.finish_reason == "length" and not question.likelihood
                reason, detail = (CUT_OFF if cut else WRONG_FORM), str(fault)
                room = question.max_tokens * (2 if cut and tries == 0 else 1)
                question = dataclasses.replace(question, seed=question.seed + 1, max_tokens=room)
                self.counters[f"asked again: {reason}"] += tries < self._model.reasks
                tries += 1
                continue
            return Answered(answer, provenance)
        return Failed(reason, detail, provenance)

    async def _filed(self, question: Question) -> tuple[Reply | Failed, dict[str, Any]]:
        """Return what the server says, from the cache where it has said it, with its provenance."""
        prompt = prompt_sha256(question.messages)
        key = question.key(self._model, prompt)
        provenance: dict[str, Any] = {
            "key": key,
            "model": self._model.name,
            "revision": self._model.revision,
            "prompt_sha256": prompt,
            "sampling": question.sampling(self._model),
        }
        found = self._cache.get(key)
        if found is not None and "reply" in found:
            self.counters["answers from the cache"] += 1
        else:
            try:
                found = await self._from_server(question)
            except Hitch as hitch:
                return Failed(hitch.reason, hitch.detail, provenance), provenance
            except Refusal as refusal:  # says nothing of the model: the next server may answer
                reason = f"refused with status {refusal.status}"
                return Failed(reason, refusal.detail, provenance), provenance
            self._cache.put(key, found)
        reply = Reply(**{**found["reply"], "first_words": tuple(map(tuple, found["reply"]["first_words"]))})
        provenance.update(
            served_model=reply.model,
            server=reply.fingerprint,
            structured=found["structured"],
            finish_reason=reply.finish_reason,
            truncated=reply.finish_reason == "length" and not question.likelihood,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
        )
        return reply, provenance

    async def _from_server(self, question: Question) -> dict[str, Any]:
        """Ask until there is an answer, which is what gets filed.

        Raises:
          Hitch: every attempt failed.
          Refusal: the server does not answer this request.
        """
        attempt = 0
        while True:
            structured = self._structured
            try:
                reply = await self._once(question, structured)
            except Refusal as refusal:
                if refusal.status in (401, 403):
                    raise SpecError(
                        f"the server rejects the key (status {refusal.status}): {refusal.detail}",
                        field="model.key_variable",
                        value=self._model.key_variable,
                    ) from None
                if structured in DOWNGRADE and refusal.concerns_format:
                    self._structured = DOWNGRADE[structured]
                    self.counters[f"response_format refused: {structured.value}"] += 1
                    continue
                self._lost_in_a_row = 0
                raise
            except Hitch as hitch:
                attempt += 1
                self.counters[f"hitch: {hitch.reason}"] += 1
                if self._stopping.is_set():
                    raise
                if attempt >= self._model.attempts:
                    self._lost_in_a_row += 1
                    self._check_present(hitch)
                    raise
                await self._pause(self._wait(attempt, hitch.retry_after))
                continue
            self._lost_in_a_row = 0
            return {"reply": dict(vars(reply)), "structured": structured.value}

    def stop(self) -> None:
        """Begin no further attempts; requests under way may end, so that their answers are filed."""
        self._stopping.set()

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
                field="model.url",
                remedy="What was answered is kept; the same command goes on from here",
            )

    async def _once(self, question: Question, structured: Any) -> Reply:
        import aiohttp

        booked = question.tokens()
        content = question.body(self._model, structured)
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
                    body = await response.content.read(MAX_BODY + 1)
                    while len(body) <= MAX_BODY and (more := await response.content.read(MAX_BODY + 1)):
                        body += more
                    headers = {name.lower(): value for name, value in response.headers.items()}
                    status = response.status
            except TimeoutError:
                raise Hitch("timeout", f"no answer in {self._model.timeout:g} s") from None
            except (aiohttp.ClientError, OSError, ValueError) as error:
                detail = without_key(f"{type(error).__name__}: {error}", self._key)
                raise Hitch("connection", shorten(detail, 300)) from None
        return self._read(status, headers, body, booked)

    def _read(self, status: int, headers: dict[str, str], body: bytes, booked: int) -> Reply:
        """Return the answer in a response, its tokens booked."""
        if len(body) > MAX_BODY:
            raise Hitch("malformed response", f"more than {MAX_BODY:,} bytes")
        reply = read_reply(status, headers, body, self._key)
        spent = (reply.prompt_tokens + reply.completion_tokens) or booked
        self._tokens.correct(booked - spent)
        self._budget.spent += spent
        self.counters["prompt tokens"] += reply.prompt_tokens
        self.counters["completion tokens"] += reply.completion_tokens
        return reply


async def ask_all(
    client: Client, questions: Iterable[tuple[str, Question | Dialogue]], concurrency: int
) -> AsyncIterator[tuple[str, Result]]:
    """Yield each row's name and result as they come, with ``concurrency`` requests under way and as many rows ready to follow.

    Args:
      client: open.
      questions: names of rows, and what to ask; read only as far as there is room.
      concurrency: requests at once.

    Raises:
      UserError: see :meth:`Client.ask`; what was answered is filed.
    """
    waiting: dict[asyncio.Task[Result], str] = {}
    rest = iter(questions)
    more = True
    try:
        while more or waiting:
            while more and len(waiting) < 2 * concurrency:
                row = next(rest, None)
                if row is None:
                    more = False
                    break
                name, asked = row
                result = client.ask(asked) if isinstance(asked, Question) else asked.put_to(client)
                waiting[asyncio.create_task(result)] = name
            if not waiting:
                break
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield waiting.pop(task), task.result()
    except UserError:
        client.stop()
        await asyncio.gather(*waiting, return_exceptions=True)
        raise
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
