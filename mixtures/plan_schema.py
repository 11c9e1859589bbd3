"""The schema of ``plan.json``, written from the models that read it.

``python -m tootsie.mixtures.plan_schema`` prints ``docs/plan.md``.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator

from pydantic import BaseModel

from tootsie.mixtures.block_shuffle import BlockShuffle
from tootsie.mixtures.learning_rate import Cycle, LearningRate
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.plan_parts import Branch, Change, PlanDataset, PlanPhase
from tootsie.mixtures.settings import PhaseSettings, RopeSettings
from tootsie.tokenize.ledger import TokenizerIdentity

OBJECTS: tuple[type[BaseModel], ...] = (
    Plan,
    PlanDataset,
    PlanPhase,
    PhaseSettings,
    LearningRate,
    Cycle,
    RopeSettings,
    BlockShuffle,
    TokenizerIdentity,
    Branch,
    Change,
)
"""The objects of the file, the outermost first."""

_HEAD = """\
# The schema of `plan.json`

One JSON object, UTF-8, its fields in the order below. Every field stands in the file but those marked *may be absent*,
which do where they have a value. Integers are exact, other numbers are doubles in their shortest decimal form. Unknown
fields are refused. `hash` is the SHA-256 of the canonical JSON (keys sorted, no blanks, UTF-8) of all fields but `hash`,
`notes`, `code_version` and the `cache` of each dataset. What a plan draws follows from it as [mixtures.md](mixtures.md)
says. Printed by `python -m tootsie.mixtures.plan_schema`.
"""
_ABSENT = {(Plan, "span_length"), (PlanPhase, "sequence_length"), (PlanDataset, "shuffle")}
"""Fields of format 2 that are left out where they say nothing."""


def described(model: type[BaseModel]) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and description of each field of a model, from its source."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(body, ast.ClassDef)
    found = list(zip(body.body, [*body.body[1:], ast.Pass()], strict=True))
    for statement, following in found:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        text = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            text = inspect.cleandoc(str(following.value.value))
        yield statement.target.id, ast.unparse(statement.annotation), text


def schema_page() -> str:
    """Return docs/plan.md."""
    parts = [_HEAD]
    for model in OBJECTS:
        about = inspect.cleandoc(model.__doc__ or "").partition("\n")[0]
        parts.append(f"## {model.__name__}\n\n{_markdown(about)}\n\n| field | type | |\n|---|---|---|\n")
        for name, kind, text in described(model):
            absent = " *May be absent.*" if (model, name) in _ABSENT else ""
            cell = kind.replace("|", "\\|")
            parts[-1] += f"| `{name}` | `{cell}` | {_markdown(' '.join(text.split()))}{absent} |\n"
    return "\n".join(parts)


def _markdown(text: str) -> str:
    """Return a docstring as Markdown: roles and double backquotes become code."""
    words = text.replace("``", "`").replace("|", "\\|")
    for role in (":class:", ":func:", ":mod:", ":attr:", ":meth:", ":data:"):
        words = words.replace(f"{role}`", "`").replace("`~", "`")
    return words


if __name__ == "__main__":
    print(schema_page(), end="")
