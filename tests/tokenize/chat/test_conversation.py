from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tootsie.datasets.errors import InputError
from tootsie.tokenize.chat.conversation import Conversation
from tootsie.tokenize.chat.tracked import Tracked

Parse = Callable[[dict[str, Any]], Conversation]


def test_sharegpt_is_the_same_as_messages(conversation: Parse) -> None:
    one = conversation(
        {"id": 5, "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    )
    two = conversation(
        {"id": "5", "conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}
    )
    assert one == two
    assert one.id == "5"


def test_every_string_is_a_message_s(conversation: Parse) -> None:
    found = conversation(
        {
            "messages": [{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]}],
            "tools": '[{"type": "function"}]',
        }
    )
    assert found.tools == [{"type": "function"}]
    waiting: list[Any] = [found.messages, found.tools]
    strings = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            strings.append(value)
        elif isinstance(value, dict):
            waiting += list(value.values())
        elif isinstance(value, list):
            waiting += value
    assert sorted(strings) == ["assistant", "f", "function"]
    assert all(isinstance(item, Tracked) and not any(flags for _, flags in item.runs) for item in strings)


def test_identity_parts_and_surrogates(conversation: Parse) -> None:
    found = conversation(
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a\ud800"}, {"text": "b"}]}]}
    )
    assert found.id == "chats.jsonl:7"
    assert found.messages[0]["content"] == "a\ufffdb"
    assert found.surrogates == 1


USER = {"role": "user", "content": "x"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": "x"}, "row 7: no conversation; the record has text. It needs messages"),
        ({"messages": "x"}, "row 7, messages: a list of messages is needed (found 'x')"),
        ({"messages": ["x"]}, "row 7, messages.0: a message is an object (found 'x')"),
        (
            {"messages": [USER, {"role": "asistant", "content": "x"}]},
            "row 7, messages.1.role: nobody has this role (found 'asistant'). Did you mean assistant?",
        ),
        (
            {"messages": [{"content": "x"}]},
            "messages.0.role: nobody has this role (found 'nothing'). Roles are system",
        ),
        (
            {"conversations": [{"from": "robot", "value": "x"}]},
            "conversations.0.from: nobody has this role (found 'robot')",
        ),
        (
            {"messages": [{"role": "user"}]},
            "messages.0.content: the text of a message is needed (found 'nothing')",
        ),
        (
            {"messages": [{"role": "user", "content": 3}]},
            "messages.0.content: the text of a message is needed (found '3')",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
            "messages.0.content.0: only text can be tokenized",
        ),
        ({"messages": [USER], "tools": "{"}, "row 7, tools: not JSON"),
        ({"messages": [USER], "tools": {"a": 1}}, "row 7, tools: a list of functions is needed"),
        ({"messages": [USER], "id": [1]}, "row 7, id: an id is a string or a number"),
        ({"messages": [{**USER, "x": b"y"}]}, "messages.0.x: a value of type bytes is not JSON"),
    ],
)
def test_what_is_no_conversation_is_named(fields: dict[str, Any], message: str, conversation: Parse) -> None:
    with pytest.raises(InputError) as caught:
        conversation(fields)
    assert str(caught.value).startswith("chats.jsonl: ")
    assert message in str(caught.value)


def test_deep_values_are_refused(conversation: Parse) -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    with pytest.raises(InputError, match="nested deeper than 32"):
        conversation({"messages": [{**USER, "x": deep}]})
