"""The evaluation sets that a corpus must not have: a YAML file says where they are, and what is question and answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tootsie.curate.decontamination.leak_words import leak_words
from tootsie.datasets import storage
from tootsie.datasets.errors import InputError
from tootsie.datasets.provenance import canonical_json
from tootsie.datasets.readers.reading import read_records
from tootsie.datasets.readers.record import Record, find
from tootsie.datasets.yaml_model import validate
from tootsie.datasets.yaml_source import read_yaml

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
Text = Annotated[str, Field(min_length=1)]


class SetSpec(BaseModel):
    """One evaluation set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: list[Text] = Field(min_length=1)
    """URLs, globs, brace ranges, relative to the YAML file: any format that ``tootsie data`` reads."""
    question: list[Text] = Field(min_length=1)
    """Fields (dotted paths) that make the question: texts, or lists of texts such as choices."""
    answer: list[Text] = []
    """Fields that make the answer."""
    id: Text | None = None
    """Field of the id; absent: the number of the record."""


class EvaluationsSpec(BaseModel):
    """The whole file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sets: dict[Name, SetSpec] = Field(min_length=1)
    """By name."""
    common: list[Text] = []
    """Files of documents whose n-grams are no sign of a leak: licences, scripture, what everybody quotes."""


@dataclass(frozen=True)
class Part:
    """A question or an answer."""

    evaluation: str
    item: str
    name: str
    """``question`` or ``answer``."""
    words: tuple[str, ...]


@dataclass(frozen=True)
class EvaluationSet:
    """A set that has been read."""

    name: str
    items: int
    parts: tuple[Part, ...]
    sha256: str


def read_evaluation_sets(url: str) -> tuple[list[EvaluationSet], list[str]]:
    """Return the sets that a YAML file names, and the files of common texts.

    Raises:
      SpecError: the YAML file is wrong; the message has the line.
      InputError: a file is missing or damaged, a record lacks a field, or a set is empty.
    """
    source = read_yaml(url)
    spec = validate(
        EvaluationsSpec,
        source,
        what="a file of evaluation sets",
        remedies={
            "sets": "Write 'sets: {gsm8k: {files: [gsm8k.jsonl], question: [question], answer: [answer]}}'"
        },
        see="docs/clean.md has an example",
    )
    folder = url.rpartition("/")[0]
    sets = [_read_set(name, one, folder) for name, one in spec.sets.items()]
    return sets, storage.expand([storage.resolve(folder, path) for path in spec.common])


def _read_set(name: str, spec: SetSpec, folder: str) -> EvaluationSet:
    parts: list[Part] = []
    items: set[str] = set()
    for url in storage.expand([storage.resolve(folder, path) for path in spec.files]):
        for record in read_records(url):
            item = _id(record, spec, url)
            if item in items:
                raise InputError(
                    "two items have this id",
                    file=record.source_file,
                    field=f"record {record.number}",
                    value=item,
                    remedy=f"Name a field that tells the items of {name} apart, or leave 'id' out",
                )
            items.add(item)
            for part, fields in (("question", spec.question), ("answer", spec.answer)):
                if fields:
                    text = "\n".join(line for key in fields for line in _texts(record, key))
                    parts.append(Part(name, item, part, tuple(leak_words(text))))
    if not items:
        raise InputError("the evaluation set has no items", file=", ".join(spec.files), field=name)
    digest = hashlib.sha256(
        canonical_json([[part.item, part.name, part.words] for part in parts])
    ).hexdigest()
    return EvaluationSet(name, len(items), tuple(parts), digest)


def _id(record: Record, spec: SetSpec, url: str) -> str:
    if spec.id is None:
        return f"{url.rsplit('/', 1)[-1]}:{record.number}"
    value = next(iter(_values(record, spec.id)), None)
    if (
        not isinstance(value, str | int)
        or isinstance(value, bool)
        or value == ""
        or not _is_unicode(str(value))
    ):
        raise InputError(
            "an id is a string or a whole number",
            file=record.source_file,
            field=f"record {record.number}, {spec.id}",
            value=repr(value),
            remedy="Name another field as 'id', or leave it out: then the number of the record is the id",
        )
    return str(value)


def _is_unicode(text: str) -> bool:
    """Return whether a text can be written: JSON may escape half of a pair of surrogates."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def check_searchable(sets: Sequence[EvaluationSet], shortest: int) -> None:
    """Raise :class:`InputError` where nothing of a set can be looked for, so that a report would clear every corpus of it.

    Args:
      sets: that were read.
      shortest: words of the shortest part that is looked for.
    """
    for one in sets:
        longest = max(len(part.words) for part in one.parts)
        if longest < shortest:
            raise InputError(
                f"no question or answer has the {shortest} words without which none is looked for: a search would find nothing",
                field=f"sets.{one.name}",
                value=f"{longest} words in the longest",
                remedy="Name the fields that hold the texts, or take --shortest down",
            )


def _values(record: Record, key: str) -> Iterator[Any]:
    try:
        value = find(record.fields, key)
    except KeyError:
        raise InputError(
            f"the record has no field {key!r}; it has: {', '.join(map(str, record.fields))}",
            file=record.source_file,
            field=f"record {record.number}",
            remedy="Name the fields of question and answer as they are in the file",
        ) from None
    yield from value if isinstance(value, list | tuple) else [value]


def _texts(record: Record, key: str) -> Iterator[str]:
    for value in _values(record, key):
        if not isinstance(value, str | int | float):
            raise InputError(
                "a question or answer is text, a number, or a list of these",
                file=record.source_file,
                field=f"record {record.number}, {key}",
                value=type(value).__name__,
                remedy="Name the field inside it: 'choices.text'",
            )
        yield str(value)
