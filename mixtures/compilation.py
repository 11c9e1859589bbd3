"""Spec file → plan: reads the file, the ledgers or cards that it names, and the plan that it branches off, then compiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError
from tootsie.datasets.yaml_source import YamlSource
from tootsie.mixtures.branch import check_base
from tootsie.mixtures.compiler import compile_spec
from tootsie.mixtures.measured import Measured, measure
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.spec import Spec
from tootsie.mixtures.spec_file import load_spec

MAX_BRANCHES = 16
"""Specs that branch off one another."""


@dataclass(frozen=True)
class Compiled:
    """A plan, and what it was made from."""

    plan: Plan
    """What the run will do."""
    spec: Spec
    """What was asked for."""
    source: YamlSource
    """Where it stands in the file."""
    measured: Mapping[str, Measured]
    """The datasets, by name."""


def compile_file(url: str) -> Plan:
    """Compile a spec file; see :func:`compile_in_full`."""
    return compile_in_full(url).plan


def compile_in_full(url: str, above: tuple[str, ...] = ()) -> Compiled:
    """Compile a spec file, reading the ledgers of the caches (or the cards) that it names.

    Args:
      url: of the file.
      above: specs that branch off this one, the first of them first.

    Raises:
      SpecError: the spec cannot be compiled, or a cache is missing or not finished; the message has the line.
    """
    spec, source, base = load_spec(url, lambda plan: _load_base(plan, (*above, url)))
    folder = url.rsplit("/", 1)[0] if "/" in url else ""
    written = source.content.get("datasets") or {}
    measured = {name: measure(name, spec, source, folder) for name in spec.datasets if name in written}
    if base is not None:
        check_base(spec, source, base, measured)
    return Compiled(compile_spec(spec, source, measured, base), spec, source, measured)


def _load_base(url: str, above: tuple[str, ...]) -> Plan:
    """Return the plan that a spec branches off: a compiled one, or one that is compiled from its own spec."""
    if not url.endswith((".yaml", ".yml")):
        return Plan.load(url)
    if url in above or len(above) > MAX_BRANCHES:
        raise SpecError(
            "specs branch off one another in a circle, or too deeply",
            file=url,
            value=" ← ".join((*above[:4], url)),
            remedy="Break the circle: let the first of them stand on its own",
        )
    return compile_in_full(url, above).plan


def refuse_other_file(output: str) -> None:
    """Refuse to write a plan over a file that is not a plan, such as the spec.

    Raises:
      SpecError: there is such a file.
    """
    if not storage.exists(output):
        return
    with storage.open_binary(output) as stream:
        beginning = stream.read(200)
    if beginning and b'"format": "tootsie-plan/' not in beginning:
        raise SpecError(
            "the file is there already, and is not a plan",
            file=output,
            field="--output",
            remedy="Name another file, or delete this one",
        )
