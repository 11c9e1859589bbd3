"""Conversations as the records of data sets have them.

Either ``messages`` with ``role`` and ``content``, or ``conversations`` with ``from`` and ``value``.

Source: the chat format of Hugging Face's templates, and ShareGPT's.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tootsie.datasets.document import CLUSTER
from tootsie.datasets.errors import InputError, shorten
from tootsie.datasets.json_text import parse_json
from tootsie.datasets.readers.record import Record
from tootsie.tokenize.chat.tracked import Tracked
from tootsie.tokenize.identity import without_surrogates

ROLES = ("system", "developer", "user", "assistant", "tool", "ipython", "function", "environment")
"""Who may speak."""
SHAREGPT_ROLES = {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "observation": "tool",
    **{role: role for role in ROLES},
}
"""Names of speakers in ``conversations``, and the roles that they stand for."""
DEPTH = 32
"""How deep values of a message may be nested."""
Place = str | int


@dataclass(frozen=True)
class Conversation:
    """One conversation, its strings marked as a message's, never the template's."""

    id: str
    """The record's ``id``, or ``file:row``."""
    messages: list[dict[str, Any]]
    """Dictionaries with ``role``, ``content`` and whatever else the record's messages have."""
    tools: list[Any] | None
    """Descriptions of functions, for templates that write them."""
    characters: int
    """Of all strings."""
    surrogates: int
    """Lone surrogates that were replaced."""
    cluster: str | None = None
    """What it shares with its near-duplicates, if the record says so; see :data:`tootsie.datasets.document.CLUSTER`."""


def parse_conversation(record: Record, otherwise: str) -> Conversation:
    """Return a record as a conversation.

    Args:
      record: with a list ``messages`` or ``conversations``, and perhaps ``id``, ``tools`` and ``metadata``.
      otherwise: its id where the record has none.

    Raises:
      InputError: it is no conversation; the message says where.
    """
    fields = record.fields
    key = next((key for key in ("messages", "conversations") if fields.get(key) is not None), None)
    if key is None:
        have = ", ".join(map(str, fields)) or "nothing"
        raise _fault(
            record, f"no conversation; the record has {shorten(have, 200)}", "", None, "It needs messages"
        )
    listed = fields[key]
    if not isinstance(listed, list):
        raise _fault(record, "a list of messages is needed", key, listed)
    reader = _Reader(record)
    messages = [reader.message(item, f"{key}.{number}") for number, item in enumerate(listed)]
    tools = fields.get("tools")
    if isinstance(tools, str) and tools.strip():
        try:
            tools = parse_json(tools.encode())
        except ValueError as error:
            raise _fault(record, f"not JSON: {error}", "tools", tools) from None
    if tools and not isinstance(tools, list):
        raise _fault(record, "a list of functions is needed", "tools", tools)
    found = fields.get("id")
    if found is not None and (not isinstance(found, str | int) or isinstance(found, bool)):
        raise _fault(record, "an id is a string or a number", "id", found)
    identity = otherwise if found in (None, "") else without_surrogates(str(found))[0]
    marked = reader.marked(tools, "tools", 0) if tools else None
    metadata = fields.get("metadata")
    cluster = metadata.get(CLUSTER) if isinstance(metadata, Mapping) else None
    cluster = without_surrogates(cluster)[0] if isinstance(cluster, str) and cluster else None
    return Conversation(identity, messages, marked, reader.characters, reader.surrogates, cluster)


class _Reader:
    """Copies the values of one record, counting."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self.characters = 0
        self.surrogates = 0

    def message(self, item: Any, place: str) -> dict[str, Any]:
        if not isinstance(item, Mapping):
            raise _fault(self._record, "a message is an object", place, item)
        if "role" in item or "from" not in item:
            role_key, content_key, roles = "role", "content", {role: role for role in ROLES}
        else:
            role_key, content_key, roles = "from", "value", SHAREGPT_ROLES
        role = item.get(role_key)
        if not isinstance(role, str) or role not in roles:
            near = difflib.get_close_matches(role, list(roles), n=1) if isinstance(role, str) else []
            remedy = f"Did you mean {near[0]}?" if near else f"Roles are {', '.join(roles)}"
            raise _fault(
                self._record,
                "nobody has this role",
                f"{place}.{role_key}",
                role,
                remedy,
                missing=role is None,
            )
        content = item.get(content_key)
        if isinstance(content, list):
            content = self._parts(content, f"{place}.{content_key}")
        silent = content is None and any(item.get(key) for key in ("tool_calls", "function_call"))
        if not isinstance(content, str) and not silent:
            raise _fault(
                self._record,
                "the text of a message is needed",
                f"{place}.{content_key}",
                content,
                missing=content is None,
            )
        others = {
            str(key): self.marked(value, f"{place}.{key}", 0)
            for key, value in item.items()
            if key not in (role_key, content_key) and value is not None
        }
        marked = None if content is None else self.marked(content, place, 0)
        return {**others, "role": Tracked(roles[role]), "content": marked}

    def _parts(self, parts: list[Any], place: str) -> str:
        texts = []
        for number, part in enumerate(parts):
            text = (
                part.get("text") if isinstance(part, Mapping) and part.get("type", "text") == "text" else None
            )
            if not isinstance(text, str):
                raise _fault(
                    self._record,
                    "only text can be tokenized",
                    f"{place}.{number}",
                    part,
                    "Take such conversations out",
                )
            texts.append(text)
        return "".join(texts)

    def marked(self, value: Any, place: str, depth: int) -> Any:
        """Return a copy of a JSON value in which every string is a message's."""
        if isinstance(value, str):
            text, replaced = without_surrogates(value)
            self.characters += len(text)
            self.surrogates += replaced
            return Tracked(text)
        if value is None or isinstance(value, bool | int | float):
            return value
        if depth == DEPTH:
            raise _fault(self._record, f"nested deeper than {DEPTH}", place, None)
        if isinstance(value, Mapping):
            return {
                self.marked(str(key), place, depth + 1): self.marked(item, place, depth + 1)
                for key, item in value.items()
                if item is not None or depth == 0
            }
        if isinstance(value, list | tuple):
            return [self.marked(item, place, depth + 1) for item in value]
        raise _fault(self._record, f"a value of type {type(value).__name__} is not JSON", place, None)


def _fault(
    record: Record, problem: str, place: str, value: Any, remedy: str | None = None, *, missing: bool = False
) -> InputError:
    where = f"row {record.number}" + (f", {place}" if place else "")
    return InputError(
        problem,
        file=record.source_file,
        field=where,
        value="nothing" if missing else None if value is None else shorten(str(value), 80),
        remedy=remedy or "Mend the record, or take it out",
    )
