"""The page about the file is that of the models that read it."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tootsie.datasets.provenance import fingerprint
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_schema import OBJECTS, described, schema_page


def test_the_page_in_the_docs(project_root: Path) -> None:
    """After a change: ``python -m tootsie.mixtures.plan_schema > docs/plan.md``."""
    assert (project_root / "docs" / "plan.md").read_text() == schema_page()


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from models_in(part)


def test_every_object_and_field_is_described() -> None:
    for model in OBJECTS:
        rows = {name: text for name, _, text in described(model) if name in model.model_fields}
        assert list(rows) == list(model.model_fields), model
        assert all(rows.values()), model
        for field in model.model_fields.values():
            assert set(models_in(field.annotation)) <= set(OBJECTS)


def test_the_hash_is_what_the_page_says(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan([(8, 5, {"a": 3, "b": 1})]).sealed()
    content = json.loads(plan.to_json())
    assert list(content) == [name for name, _, _ in described(Plan) if name in content]
    for field in ("hash", "notes", "code_version"):
        del content[field]
    for dataset in content["datasets"]:
        del dataset["cache"]
    assert fingerprint(content) == plan.hash
