"""The forms that answers of a model have, and how they are read: one JSON object, strictly, or not at all."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tootsie.curate.datashop.spec import Annotation, Checks, Rephrase, Rubric, Style
from tootsie.datasets.errors import shorten

MAX_CHARACTERS = 200_000
"""Longest answer that is read."""
MAX_DEPTH = 8
"""Brackets within one another, at most."""
VERDICTS = {"Useless": 1, "Poor": 2, "Okay": 3, "Good": 4, "Great": 5}
_FENCE = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n```\Z", re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")


class AnswerFault(Exception):  # noqa: N818
    """An answer has not the form that was asked for; the message says what is wrong."""


@dataclass(frozen=True)
class AnswerForm:
    """A form of answers."""

    name: str
    """For the server."""
    schema: dict[str, Any]
    """JSON schema: objects that allow no other keys, arrays, strings and integers."""
    example: str
    """Shown to the model."""

    def read(self, text: str) -> dict[str, Any]:
        """Return the answer in ``text``.

        Raises:
          AnswerFault: it is not exactly one JSON object of this form; a fence of backticks around it is the one thing that
            may be there besides.
        """
        if len(text) > MAX_CHARACTERS:
            raise AnswerFault(f"the answer has {len(text):,} characters")
        text = text.strip()
        fenced = _FENCE.match(text)
        text = fenced[1].strip() if fenced else text
        if _depth(text) > MAX_DEPTH:
            raise AnswerFault(f"nested more than {MAX_DEPTH} deep")
        try:
            value = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
        except ValueError as error:
            raise AnswerFault(f"not JSON: {error}") from None
        _check(value, self.schema, "answer")
        assert isinstance(value, dict)
        return value


def _depth(text: str) -> int:
    """Return how deep brackets are nested outside of strings; linear, without recursion."""
    deepest = depth = 0
    for token in re.findall(r'"(?:[^"\\]|\\.)*+\\?+(?:"|\Z)|[\[{]|[\]}]', text, re.DOTALL):
        if token in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token in "]}":
            depth -= 1
    return deepest


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _check(value: Any, schema: dict[str, Any], place: str) -> None:
    """Check a value against the part of JSON schema that our forms use."""
    kind = schema["type"]
    if kind == "object":
        if not isinstance(value, dict):
            raise AnswerFault(f"{place} is no object")
        names = schema["properties"]
        if set(value) != set(names):
            raise AnswerFault(f"{place} has the keys {sorted(value)}, not {sorted(names)}")
        for name, part in names.items():
            _check(value[name], part, f"{place}.{name}")
    elif kind == "array":
        if not isinstance(value, list):
            raise AnswerFault(f"{place} is no list")
        if not schema["minItems"] <= len(value) <= schema["maxItems"]:
            raise AnswerFault(f"{place} has {len(value)} items")
        for number, item in enumerate(value):
            _check(item, schema["items"], f"{place}.{number}")
    elif kind == "integer":
        if type(value) is not int or not schema["minimum"] <= value <= schema["maximum"]:
            raise AnswerFault(f"{place} is no whole number from {schema['minimum']} to {schema['maximum']}")
    else:
        if not isinstance(value, str) or not value.strip():
            raise AnswerFault(f"{place} is no text")
        if not value.isascii() and _HALF.search(value):
            raise AnswerFault(f"{place} has half a character")
        if "enum" in schema and value not in schema["enum"]:
            raise AnswerFault(shorten(f"{place} is none of {', '.join(schema['enum'])}", 300))
        if len(value) > schema.get("maxLength", MAX_CHARACTERS):
            raise AnswerFault(f"{place} has {len(value):,} characters")


_TEXT: dict[str, Any] = {"type": "string"}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def with_lengths(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of ours with the condition that no text is empty."""
    found = dict(schema)
    if found.get("type") == "string" and "enum" not in found:
        found["minLength"] = 1
    if "properties" in found:
        found["properties"] = {name: with_lengths(part) for name, part in found["properties"].items()}
    if "items" in found:
        found["items"] = with_lengths(found["items"])
    return found


DESCRIPTION = AnswerForm("description", _object(description=_TEXT), '{"description": "…"}')


YES_NO = AnswerForm("likelihood", {}, "yes or no")


def read_likelihood(words: Iterable[tuple[str, float]]) -> dict[str, Any]:
    """Return the probability of ``yes`` among ``yes`` and ``no``, in whatever case, as first word of an answer.

    Args:
      words: the most probable first tokens and the logarithms of their probabilities.

    Raises:
      AnswerFault: neither is among them.
    """
    sums = {"yes": 0.0, "no": 0.0}
    for word, logarithm in words:
        name = word.strip().lower()
        if name in sums and logarithm == logarithm:
            sums[name] += math.exp(logarithm)
    total = sum(sums.values())
    if not total:
        raise AnswerFault("neither yes nor no is among the most probable first words")
    return {"probability": sums["yes"] / total}


def grade_form(settings: Annotation) -> AnswerForm:
    """Return the form of a grade; what the model says of its reasons comes first, where it is asked for them."""
    if settings.rubric is Rubric.LIKELIHOOD:
        return YES_NO
    if settings.rubric is Rubric.ADDITIVE:
        grade: dict[str, Any] = {"score": {"type": "integer", "minimum": 0, "maximum": 5}}
        example = '"score": 0 to 5'
    else:
        grade = {"verdict": {"type": "string", "enum": list(VERDICTS)}}
        example = f'"verdict": "{"|".join(VERDICTS)}"'
    if settings.rationale:
        return AnswerForm(
            "grade", _object(rationale=_TEXT, **grade), f'{{"rationale": "at most 40 words", {example}}}'
        )
    return AnswerForm("grade", _object(**grade), f"{{{example}}}")


def grade_of(answer: dict[str, Any]) -> float:
    """Return the grade of an answer: 0 to 5, 1 to 5 for a verdict, 0 to 1 for a likelihood."""
    if "probability" in answer:
        return float(answer["probability"])
    return int(answer["score"]) if "score" in answer else VERDICTS[answer["verdict"]]


def without_lengths(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of ours without conditions on the length of texts, which not all servers can."""
    found = {name: part for name, part in schema.items() if name != "maxLength"}
    if "properties" in found:
        found["properties"] = {name: without_lengths(part) for name, part in found["properties"].items()}
    if "items" in found:
        found["items"] = without_lengths(found["items"])
    return found


def question_form(checks: Checks) -> AnswerForm:
    """Return the form of one question, which ends before it is longer than questions may be."""
    kind = {**_TEXT, "maxLength": checks.max_question_characters}
    return AnswerForm("question", _object(question=kind), '{"question": "…"}')


def answer_form(sentences: Sequence[str]) -> AnswerForm:
    """Return the form of an answer: one of these sentences, or any text where there are none."""
    kind = {**_TEXT, "enum": list(dict.fromkeys(sentences))} if sentences else _TEXT
    return AnswerForm("answer", _object(answer=kind), '{"answer": "…"}')


def rephrase_form(style: Style, settings: Rephrase) -> AnswerForm:
    """Return the form of an answer in a style."""
    if style is Style.CHOICE:
        right = {"type": "integer", "minimum": 0, "maximum": 3}
        item = _object(question=_TEXT, options=_list(_TEXT, 4, 4), right=right)
        example = '{"question": "…", "options": ["…", "…", "…", "…"], "right": 0}'
    elif style is Style.CLOZE:
        item, example = _object(sentence=_TEXT, replaced=_TEXT), '{"sentence": "… ____ …", "replaced": "…"}'
    else:
        item, example = _object(question=_TEXT, answer=_TEXT), '{"question": "…", "answer": "…"}'
    items = _list(item, 1, settings.items)
    if style is Style.EXPLAIN:
        return AnswerForm(
            style.value,
            _object(explanation=_TEXT, items=items),
            f'{{"explanation": "…", "items": [{example}]}}',
        )
    return AnswerForm(style.value, _object(items=items), f'{{"items": [{example}]}}')
