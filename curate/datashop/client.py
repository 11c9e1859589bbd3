"""Ask a server many questions at once, and remember what it answers."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from tootsie.curate.datashop.answers import AnswerFault, read_likelihood
from tootsie.curate.datashop.connection import FIRST_WAIT, Connection, cancelled
from tootsie.curate.datashop.endpoint import (
    DOWNGRADE,
    Hitch,
    Question,
    Refusal,
    Reply,
    read_reply,
)
from tootsie.curate.datashop.prompts import prompt_sha256
from tootsie.curate.datashop.response_cache import ResponseCache
from tootsie.curate.datashop.spec import ModelSpec
from tootsie.datasets.errors import UserError

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


class Client(Connection):
    """An open connection to a server that answers questions. ``async with`` it."""

    def __init__(self, model: ModelSpec, cache: ResponseCache, *, first_wait: float = FIRST_WAIT) -> None:
        """Prepare a connection.

        Args:
          model: the endpoint; its ``url`` must be set.
          cache: of answers.
          first_wait: seconds before the first retry.

        Raises:
          SpecError: the key is missing.
        """
        super().__init__(model, "/chat/completions", "model", first_wait)
        self._model = model
        self._cache = cache
        self._structured = model.structured

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
        while True:
            structured = self._structured
            try:
                reply = await self.post(question.body(self._model, structured), question.tokens(), read_reply)
            except Refusal as refusal:
                if structured in DOWNGRADE and refusal.concerns_format:
                    self._structured = DOWNGRADE[structured]
                    self.counters[f"response_format refused: {structured.value}"] += 1
                    continue
                raise
            return {"reply": dict(vars(reply)), "structured": structured.value}


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
        await client.ended_early(waiting)
        raise
    finally:
        await cancelled(waiting)
