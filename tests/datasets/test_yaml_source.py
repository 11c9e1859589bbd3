"""Strict YAML."""

from __future__ import annotations

import pytest

from tootsie.datasets import yaml_source
from tootsie.datasets.errors import SpecError
from tootsie.datasets.yaml_source import MAX_BYTES, parse_yaml, scalar


def test_values_and_lines() -> None:
    source = parse_yaml(b"a: 1\nb:\n  - x\n  - c: 2.5\n    d: 'true'\n", "s.yaml")
    assert source.content == {"a": 1, "b": ["x", {"c": 2.5, "d": "true"}]}
    assert source.lines[("b", 1, "d")] == 5
    assert (
        str(source.error("wrong", ("b", 1, "d"), 7, "Mend it"))
        == "s.yaml:5: b[1].d: wrong (found 7). Mend it"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1_000", 1000), ("1e-3", 0.001), ("2.", 2.0), (".5", 0.5), ("-1", -1), ("true", True), ("null", None), ("", None),
        ("yes", "yes"), ("1:30", "1:30"), ("2024-01-01", "2024-01-01"), (".nan", ".nan"), ("0x10", "0x10"), ("1/3", "1/3"),
        ("e5", "e5"), ("_", "_"), ("9" * 50, "9" * 50), (".", "."), ("-", "-"), ("1e999", float("inf")),
    ],
)  # fmt: skip
def test_scalars(text: str, value: object) -> None:
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: 1\nb: 2\na: 3\n", r"s.yaml:3: the key 'a' stands twice \(first on line 1\)"),
        (b"a: !!python/object/apply:os.system [x]\n", "tags such as .* are not allowed"),
        (b"a: !x 1\n", "tags such as '!x' are not allowed"),
        (b"a: [1\n", "s.yaml:.*not valid YAML"),
        (b"a: \t- b: *c\n", "not valid YAML"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"a: \x00\n", "not valid YAML"),
        (b"", "the file is empty"),
        (b"# only a comment\n", "the file is empty"),
        (b"a: 1\n---\nb: 2\n", "not valid YAML"),
        (b"? [a, b]\n: 1\n", "a key must be text"),
        (b"[" * 10_000, "nested more than"),
        (b"a: " * 5 + b"1", "not valid YAML"),
        (b"a: &x [*x]\n", "aliases expand to too much|not valid YAML"),
        (b" " * (MAX_BYTES + 1), "larger than"),
    ],
)
def test_refused(text: bytes, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_yaml(text, "s.yaml")


def test_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_source, "MAX_NODES", 100)
    with pytest.raises(SpecError, match=r"s.yaml:1: more than 100 values"):
        parse_yaml(b"a: [" + b"x," * 100 + b"]", "s.yaml")


def test_an_alias_bomb_is_stopped() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(SpecError, match="aliases expand to too much"):
        parse_yaml("\n".join(lines).encode(), "s.yaml")


def test_harmless_aliases_work() -> None:
    assert parse_yaml(b"a: &x {b: 1}\nc: *x\n", "s.yaml").content == {"a": {"b": 1}, "c": {"b": 1}}
