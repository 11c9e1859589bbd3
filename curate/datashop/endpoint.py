"""One request to an OpenAI-compatible server: what is sent, and what each way of answering means."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from tootsie.curate.datashop.answers import AnswerForm, with_lengths, without_lengths
from tootsie.curate.datashop.prompts import Messages, prompt_sha256
from tootsie.curate.datashop.spec import Endpoint, ModelSpec, Structured
from tootsie.datasets.errors import SpecError, shorten
from tootsie.datasets.provenance import fingerprint

DOWNGRADE = {
    Structured.LENGTHS: Structured.JSON_SCHEMA,
    Structured.JSON_SCHEMA: Structured.JSON_OBJECT,
    Structured.JSON_OBJECT: Structured.PROMPT,
}
"""What is tried where a server refuses a ``response_format``."""
RETRIED = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529))
"""Statuses that may pass."""
_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "grammar", "guided")
TOP = 20
"""First words of an answer whose probabilities are asked for; more than that no API gives."""
MALFORMED = "malformed response"
"""Reason of an answer that cannot be read."""
MAX_BODY = 8 * 2**20
"""Bytes of an answer that are read."""
MOST_TOKENS = 10**9
"""Of one answer: a server that counts more counts wrong."""
SHORTEST_SECRET = 8
"""Characters of a key from which on it is taken out of answers too; shorter ones, such as ``none``, are words."""


class Hitch(Exception):  # noqa: N818
    """This try failed; another may not. ``retry_after``: seconds the server asks to wait."""

    def __init__(self, reason: str, detail: str, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.retry_after = retry_after


class Refusal(Exception):  # noqa: N818
    """The server will not answer this request, however often it is asked."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail

    @property
    def concerns_format(self) -> bool:
        """Whether it is the ``response_format`` that the server cannot do."""
        return self.status in (400, 415, 422, 501) and any(word in self.detail for word in _FORMAT_WORDS)


@dataclass(frozen=True)
class Question:
    """What is asked."""

    messages: Messages
    form: AnswerForm
    max_tokens: int
    seed: int
    temperature: float | None = None
    """In the place of the model's."""
    frequency_penalty: float = 0.0
    """Against repetition."""
    likelihood: bool = False
    """Whether it is not the answer that is wanted but how probable each first word of it is."""

    def key(self, model: ModelSpec, prompt: str | None = None) -> str:
        """Return what the answer is filed under: a hash of all that it depends on, 64 hex digits.

        Args:
          model: the endpoint.
          prompt: :func:`prompt_sha256` of the messages, where it is known.
        """
        return fingerprint(
            {
                "model": model.name,
                "revision": model.revision,
                "messages": prompt or prompt_sha256(self.messages),
                "schema": self.form.schema,
                "sampling": self.sampling(model),
                **({"likelihood": True} if self.likelihood else {}),
            }
        )

    def sampling(self, model: ModelSpec) -> dict[str, Any]:
        """Return the settings of the sampling."""
        return {
            **({"frequency_penalty": self.frequency_penalty} if self.frequency_penalty else {}),
            "temperature": model.temperature if self.temperature is None else self.temperature,
            "top_p": model.top_p,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
        }

    def body(self, model: ModelSpec, structured: Structured) -> bytes:
        """Return the request's JSON."""
        content: dict[str, Any] = {
            "model": model.name,
            "messages": self.messages,
            **self.sampling(model),
            "stream": False,
        }
        if self.likelihood:
            content |= {"logprobs": True, "top_logprobs": TOP}
        elif structured in (Structured.LENGTHS, Structured.JSON_SCHEMA):
            inner = (with_lengths if structured is Structured.LENGTHS else without_lengths)(self.form.schema)
            schema = {"name": self.form.name, "schema": inner, "strict": True}
            content["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif structured is Structured.JSON_OBJECT:
            content["response_format"] = {"type": "json_object"}
        return json.dumps(content, ensure_ascii=True).encode()

    def tokens(self) -> int:
        """Return about how many tokens the request costs at most; a token has about four characters."""
        return sum(len(message["content"]) for message in self.messages) // 4 + self.max_tokens


@dataclass(frozen=True)
class Reply:
    """What a server answered."""

    content: str
    finish_reason: str
    """``stop``, ``length`` …"""
    model: str
    """As the server calls it."""
    fingerprint: str
    """Of the server's software and settings, where it gives one."""
    prompt_tokens: int
    completion_tokens: int
    first_words: tuple[tuple[str, float], ...] = ()
    """The most probable first tokens and the logarithms of their probabilities, where these were asked for."""


def read_reply(status: int, headers: dict[str, str], body: bytes, key: str = "") -> Reply:
    """Return the answer in a response.

    Args:
      status: of HTTP.
      headers: names in lower case.
      body: at most :data:`MAX_BODY` bytes.
      key: the API key, which is taken out of what the server says.

    Raises:
      Hitch: another try may succeed: overload, a server's fault, a body that is no answer.
      Refusal: it will not.
    """
    text = without_key(body.decode("utf-8", "replace"), key)
    check_status(status, headers, text)
    try:
        value = json.loads(body)
        choice = value["choices"][0]
        content, finish = choice["message"]["content"], choice["finish_reason"]
        if content is None and finish == "length":
            content = ""  # all tokens went into reasoning, which some servers keep apart
        if not isinstance(content, str) or not isinstance(finish, str):
            raise TypeError("content and finish_reason are no texts")
        usage = value.get("usage")
        read, written = (count_of(usage, name) for name in ("prompt_tokens", "completion_tokens"))
        first = ((choice.get("logprobs") or {}).get("content") or [{}])[0].get("top_logprobs") or []
        words = tuple((str(one["token"]), min(0.0, float(one["logprob"]))) for one in first[: 2 * TOP])
        model, server = str(value.get("model", "")), str(value.get("system_fingerprint") or "")
        secret = key if len(key) >= SHORTEST_SECRET else ""
        content, finish, model, server = (
            without_key(part, secret) for part in (content, finish, model, server)
        )
        return Reply(content, finish, model, server, read, written, words)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise Hitch(MALFORMED, shorten(f"{type(error).__name__}: {error}; {text}", 300)) from None


def check_status(status: int, headers: dict[str, str], text: str) -> None:
    """Let an answer pass, and nothing else.

    Raises:
      Hitch: another try may succeed.
      Refusal: it will not.
    """
    if status in RETRIED or (status >= 500 and status != 501):
        reason = "rate limit" if status == 429 else f"status {status}"
        raise Hitch(reason, shorten(text, 300), _seconds(headers.get("retry-after")))
    if status != 200:
        raise Refusal(status, shorten(text, 500))


def count_of(usage: Any, name: str) -> int:
    """Return how many tokens a server says it took; 0 where it says nothing that can be."""
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and 0 < value <= MOST_TOKENS else 0


def _seconds(value: str | None) -> float | None:
    """Return what ``Retry-After`` asks for; a date counts from now."""
    if value is None:
        return None
    try:
        found = float(value)
    except ValueError:
        import datetime
        import email.utils

        try:
            when = email.utils.parsedate_to_datetime(value)
            if when.tzinfo is None:
                when = when.replace(tzinfo=datetime.UTC)
            found = (when - datetime.datetime.now(datetime.UTC)).total_seconds()
        except (ValueError, OverflowError):
            return None
    return min(max(found, 0.0), 3600.0) if found == found else None


def authorization(model: Endpoint, field: str = "model") -> dict[str, str]:
    """Return the header that carries the key, which comes from the environment and goes nowhere else.

    Args:
      model: the endpoint.
      field: where the spec has it.

    Raises:
      SpecError: the variable is not set, or its value cannot be a header.
    """
    if model.key_variable is None:
        return {}
    key = os.environ.get(model.key_variable, "").strip()
    if not key or not key.isascii() or not key.isprintable():
        raise SpecError(
            "the environment variable of the API key is not set, or its value cannot be one",
            field=f"{field}.key_variable",
            value=model.key_variable,
            remedy=f"export {model.key_variable}=…",
        )
    return {"Authorization": f"Bearer {key}"}


def without_key(text: str, key: str) -> str:
    """Return a server's words without the key, which some repeat."""
    return text.replace(key, "[key]") if key else text
