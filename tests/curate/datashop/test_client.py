"""Keys, rates, waits and concurrency."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from tootsie.curate.datashop import prompts
from tootsie.curate.datashop.answers import DESCRIPTION
from tootsie.curate.datashop.client import Answered, Client, Failed, ask_all
from tootsie.curate.datashop.endpoint import Hitch, Question, Refusal, read_reply
from tootsie.curate.datashop.pacing import Pace
from tootsie.curate.datashop.response_cache import ResponseCache
from tootsie.curate.datashop.spec import ModelSpec, Structured, Subject
from tootsie.datasets.errors import SpecError

KEY = "sk-very-secret-0123456789"


def question(number: int) -> Question:
    messages = prompts.describe(
        [f"example {number} of something"], Subject(name="s", description="d"), DESCRIPTION
    )
    return Question(messages, DESCRIPTION, 50, 0)


def ask(model: ModelSpec, folder: Path, count: int) -> tuple[list[Any], Any]:
    async def main() -> tuple[list[Any], Any]:
        cache = ResponseCache(str(folder / "answers"))
        async with Client(model, cache, first_wait=0.001) as client:
            asked = [(str(n), question(n)) for n in range(count)]
            found = {name: result async for name, result in ask_all(client, asked, model.concurrency)}
        cache.close()
        return [found[str(n)] for n in range(count)], client.counters

    return asyncio.run(main())


def test_as_many_are_under_way_as_the_spec_says(oracle: Any, tmp_path: Path) -> None:
    found, counters = ask(ModelSpec(url=oracle.url, concurrency=5), tmp_path, 60)
    assert all(isinstance(result, Answered) for result in found)
    assert counters["requests"] == 60
    assert oracle.most_under_way <= 5


def test_the_key_is_sent_and_stays_out_of_everything_else(
    oracle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any, capfd: Any
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    oracle.answer = lambda body: {"description": "fine"}
    oracle.fault = lambda number, body: "413" if number % 2 else None
    found, _ = ask(ModelSpec(url=oracle.url, key_variable="MY_KEY"), tmp_path, 6)
    assert {headers["Authorization"] for headers in oracle.headers} == {f"Bearer {KEY}"}
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in written
    assert KEY not in repr(found) + caplog.text + "".join(capfd.readouterr())


def test_a_server_that_repeats_the_key_is_not_quoted(
    oracle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "no luck")  # what the oracle's error says
    oracle.fault = lambda number, body: "413"
    (result,), _ = ask(ModelSpec(url=oracle.url, key_variable="MY_KEY"), tmp_path, 1)
    assert isinstance(result, Failed)
    assert "no luck" not in result.detail
    oracle.fault = lambda number, body: "401"
    with pytest.raises(SpecError, match="rejects the key") as caught:
        ask(ModelSpec(url=oracle.url, key_variable="MY_KEY", seed=1), tmp_path / "other", 1)
    assert "no luck" not in str(caught.value)


def test_an_answer_with_the_key_is_kept_without_it(
    oracle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    oracle.answer = lambda body: {"description": f"sent with {KEY}"}
    (result,), _ = ask(ModelSpec(url=oracle.url, key_variable="MY_KEY"), tmp_path, 1)
    assert isinstance(result, Answered)
    assert result.answer == {"description": "sent with [key]"}
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    word = b'{"choices": [{"message": {"content": "none"}, "finish_reason": "stop"}], "system_fingerprint": "%s"}'
    assert read_reply(200, {}, word % KEY.encode(), KEY).fingerprint == "[key]"
    assert read_reply(200, {}, word, "none").content == "none"  # what local servers take for a key
    with pytest.raises(Hitch) as caught:  # no part of it either, where the message is cut
        read_reply(500, {}, b"x" * 290 + KEY.encode(), KEY)
    assert KEY[:5] not in caught.value.detail


def test_a_refusal_is_not_filed(oracle: Any, tmp_path: Path) -> None:
    oracle.answer = lambda body: {"description": "fine"}
    oracle.fault = lambda number, body: (
        "413"
    )  # or 404, of an address that is wrong, or a model that is not loaded yet
    (result,), _ = ask(ModelSpec(url=oracle.url), tmp_path, 1)
    assert isinstance(result, Failed)
    oracle.fault = None
    (result,), _ = ask(ModelSpec(url=oracle.url), tmp_path, 1)
    assert isinstance(result, Answered)


def test_a_missing_key_is_said_by_the_name_of_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(SpecError, match="export MY_KEY"):
        ask(ModelSpec(url="http://127.0.0.1:9/v1", key_variable="MY_KEY"), tmp_path, 1)


def test_retry_after_is_heeded() -> None:
    with pytest.raises(Hitch) as caught:
        read_reply(429, {"retry-after": "7"}, b"")
    assert (caught.value.reason, caught.value.retry_after) == ("rate limit", 7.0)
    with pytest.raises(Hitch) as caught:
        read_reply(503, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, b"")
    assert caught.value.retry_after == 0.0
    for nonsense in ("soon", "nan", "", "Mon, 01 Jan 2020 00:00:00 +99999999999999999999"):
        with pytest.raises(Hitch) as caught:
            read_reply(503, {"retry-after": nonsense}, b"")
        assert caught.value.retry_after is None
    with pytest.raises(Refusal):
        read_reply(404, {}, b"no such model")


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"null", b'{"choices": [{}]}', b'{"choices": [{"message": {"content": null}, "finish_reason": "stop"}]}',
     b'{"choices": [{"message": {"content": "x"}, "finish_reason": null}]}', b"\xff\xfe", b"[" * 200_000, b'data: {"choices": []}\n\n'],
)  # fmt: skip
def test_a_body_that_is_no_answer_is_tried_again(body: bytes) -> None:
    with pytest.raises(Hitch):
        read_reply(200, {}, body)


@pytest.mark.parametrize("usage", ["1e400", "-3", '"many"', "[]", str(10**400), "null"])
def test_what_a_server_counts_loses_no_answer(usage: str) -> None:
    body = '{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": %s}}'
    reply = read_reply(200, {}, (body % usage).encode())
    assert (reply.content, reply.prompt_tokens) == ("x", 0)


def test_reasoning_that_takes_all_tokens_is_an_answer_that_was_cut_off() -> None:
    body = (
        b'{"choices": [{"message": {"content": null, "reasoning_content": "hm"}, "finish_reason": "length"}]}'
    )
    assert read_reply(200, {}, body).content == ""


def test_a_pace_is_kept() -> None:
    now = [0.0]
    pace = Pace(60.0, lambda: now[0])
    sent = []
    for _ in range(10):
        now[0] += pace.delay(1)
        sent.append(now[0])
    assert sent[-1] == pytest.approx(9.0)
    assert Pace(None, lambda: 0.0).delay(1e9) == 0


def test_what_an_answer_depends_on_is_what_it_is_filed_under() -> None:
    model = ModelSpec(url="http://a/v1")
    key = question(1).key(model)
    assert key == question(1).key(
        model.model_copy(update={"url": "http://b/v1", "concurrency": 3, "attempts": 1})
    )
    others = [
        question(2).key(model),
        question(1).key(model.model_copy(update={"name": "x"})),
        question(1).key(model.model_copy(update={"revision": "x"})),
        question(1).key(model.model_copy(update={"temperature": 1.0})),
        dataclasses.replace(question(1), seed=1).key(model),
        dataclasses.replace(question(1), max_tokens=51).key(model),
    ]
    assert len({key, *others}) == 7


def test_requests_carry_the_schema(oracle: Any, tmp_path: Path) -> None:
    ask(ModelSpec(url=oracle.url, structured=Structured.JSON_SCHEMA), tmp_path, 1)
    sent = oracle.seen[0]["response_format"]["json_schema"]
    assert sent["strict"] is True
    assert json.loads(json.dumps(DESCRIPTION.schema)) == sent["schema"]
    ask(ModelSpec(url=oracle.url, seed=1), tmp_path / "other", 1)
    strict = oracle.seen[-1]["response_format"]["json_schema"]["schema"]
    assert strict["properties"]["description"] == {"type": "string", "minLength": 1}


def test_a_server_that_asks_for_no_wait_gets_one(tmp_path: Path) -> None:
    client = Client(ModelSpec(url="http://h/v1"), ResponseCache(str(tmp_path)), first_wait=1.0)
    assert client._wait(5, 0.0) >= 8.0
    assert client._wait(1, 7.0) >= 7.0
    assert client._wait(1, None) <= 1.0
