"""Strict YAML with line numbers: no tags, no duplicate keys, bounded in size, depth and expansion of aliases.

Scalars follow JSON and YAML 1.2: ``true``/``false``, ``null``, decimal integers (underscores allowed), decimal numbers
(``1e-3`` is one). ``yes``, ``010``, ``1:30`` and dates are text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError

MAX_BYTES = 2**19
MAX_DEPTH = 24
MAX_NODES = 100_000
"""Nodes after aliases are expanded."""

Path = tuple[str | int, ...]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""That of libyaml, ten times as fast, where PyYAML was built with it. Only events and nodes are read from it."""

_INTEGER = re.compile(r"[-+]?[0-9][0-9_]*")
_DECIMAL = re.compile(r"[-+]?([0-9][0-9_]*)?\.?[0-9_]*([eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class YamlSource:
    """A parsed file and where each value stands."""

    url: str
    """Of the file."""
    content: Any
    """Mappings, lists and scalars."""
    lines: dict[Path, int]
    """Line of each key (of each item in lists), counted from 1."""

    def error(
        self, problem: str, path: Path = (), value: object = None, remedy: str | None = None
    ) -> SpecError:
        """Return an error that names the line of ``path``, or of the nearest thing above it."""
        known = path
        while known and known not in self.lines:
            known = known[:-1]
        # What is missing at the top is told at the top.
        line = self.lines.get(known) if known else min(self.lines.values(), default=None)
        where = f"{self.url}:{line}" if line is not None else self.url
        return SpecError(problem, file=where, field=dotted(path) or None, value=value, remedy=remedy)


def dotted(path: Path) -> str:
    """Return a path as text: ``phases[1].batch_size``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_yaml(url: str) -> YamlSource:
    """Read a file; see :func:`parse_yaml`.

    Raises:
      InputError: there is no such file.
    """
    with storage.open_binary(url) as stream:
        return parse_yaml(stream.read(MAX_BYTES + 1), url)


def parse_yaml(content: bytes, url: str) -> YamlSource:
    """Parse YAML strictly.

    Raises:
      SpecError: not UTF-8, not YAML, too large, too deep, a duplicate key, a tag, or not one document.
    """
    if len(content) > MAX_BYTES:
        raise SpecError(
            f"the file is larger than {MAX_BYTES:,} bytes", file=url, remedy="A spec is short: is this one?"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(
            "the file is not UTF-8 text", file=url, value=str(error), remedy="Save it as UTF-8"
        ) from None
    try:
        _check_size_and_depth(text, url)
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{url}:{mark.line + 1}" if mark else url
        if "nesting depth" in (error.problem or ""):
            # libyaml reads ahead, and has a limit of its own.
            raise _too_deep(where) from None
        line = text.splitlines()[mark.line].strip() if mark and mark.line < len(text.splitlines()) else None
        raise SpecError(
            f"not valid YAML: {error.problem or error.context}",
            file=where,
            value=line or None,
            remedy="Indent with spaces, close what is opened, and quote text that has ': ', '#' or brackets in it",
        ) from None
    except yaml.YAMLError as error:
        raise SpecError(
            "not valid YAML", file=url, value=" ".join(str(error).split()), remedy="Remove what is no text"
        ) from None
    if root is None:
        raise SpecError("the file is empty", file=url, remedy="The pages in docs have examples")
    builder = _Builder(url)
    return YamlSource(url, builder.build(root, (), 0), builder.lines)


def _check_size_and_depth(text: str, url: str) -> None:
    depth = 0
    nodes = 0
    for event in yaml.parse(text, Loader=_LOADER):
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > MAX_NODES:
            raise SpecError(
                f"more than {MAX_NODES:,} values",
                file=f"{url}:{_line(event)}",
                remedy="A spec is short: is this one?",
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _too_deep(f"{url}:{_line(event)}")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _too_deep(where: str) -> SpecError:
    return SpecError(f"nested more than {MAX_DEPTH} deep", file=where, remedy="A spec is flat")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


class _Builder:
    def __init__(self, url: str) -> None:
        self.url = url
        self.lines: dict[Path, int] = {}
        self._nodes = 0

    def build(self, node: yaml.Node, path: Path, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > MAX_DEPTH:
            raise self._error(node, "aliases expand to too much", "Write the values out")
        if node.tag.startswith("!") or "python" in node.tag:
            raise self._error(node, f"tags such as {node.tag!r} are not allowed", "Remove the tag")
        if isinstance(node, yaml.SequenceNode):
            result = []
            for index, item in enumerate(node.value):
                self.lines[(*path, index)] = item.start_mark.line + 1
                result.append(self.build(item, (*path, index), depth + 1))
            return result
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, depth)
        plain = isinstance(node, yaml.ScalarNode) and not node.style
        return scalar(node.value) if plain else node.value

    def _mapping(self, node: yaml.MappingNode, path: Path, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._error(key_node, "a key must be text", "Quote it")
            key = key_node.value
            if key in result:
                first = self.lines[(*path, key)]
                raise self._error(
                    key_node, f"the key {key!r} stands twice (first on line {first})", "Keep one"
                )
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            result[key] = self.build(value_node, (*path, key), depth + 1)
        return result

    def _error(self, node: yaml.Node, problem: str, remedy: str) -> SpecError:
        return SpecError(problem, file=f"{self.url}:{node.start_mark.line + 1}", remedy=remedy)


def scalar(text: str) -> Any:
    """Return the value of a plain (unquoted) scalar."""
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if len(text) <= 40 and _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    if len(text) <= 40 and _DECIMAL.fullmatch(text) and any(character.isdigit() for character in text):
        try:
            return float(text.replace("_", ""))
        except ValueError:
            return text
    return text
