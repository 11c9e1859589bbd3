"""Read a spec file; what is wrong with it is said in one sentence with the line, the value and the remedy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction

from tootsie.datasets import storage
from tootsie.datasets.errors import UserError
from tootsie.datasets.yaml_model import validate
from tootsie.datasets.yaml_source import YamlSource, parse_yaml, read_yaml
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.shuffle_spec import spec_of
from tootsie.mixtures.spec import DatasetSpec, Spec
from tootsie.mixtures.spec_references import check_names

_REMEDIES = {
    "seed": "Write for example 'seed: 17'",
    "sequence_length": "Write for example 'sequence_length: 4096'",
    "span_length": "Write for example 'span_length: 32768'",
    "name": "Give it a name of letters, digits and _ . + -",
    "cache": "Give the URL of a token cache made by tootsie tokenize",
}


def load_spec(url: str, load_plan: Callable[[str], Plan] = Plan.load) -> tuple[Spec, YamlSource, Plan | None]:
    """Read and check a spec file, and the plan that it branches off, where it does.

    Args:
      url: of the file.
      load_plan: makes a plan of what ``branch: {plan: …}`` names.

    Raises:
      SpecError: see :func:`parse_spec`; or there is no such plan.
      InputError: there is no such file.
    """
    source = read_yaml(url)
    base = _base(source, url.rsplit("/", 1)[0] if "/" in url else "", load_plan)
    if base is not None:
        kept = {"seed": base.seed, "sequence_length": base.sequence_length}
        if base.span_length is not None:
            kept["span_length"] = base.span_length
        source = dataclasses.replace(source, content=kept | source.content)
    spec = _validated(source)
    if base is not None:
        spec = with_datasets(spec, base)
    check_names(spec, source, base)
    return spec, source, base


def _base(source: YamlSource, folder: str, load_plan: Callable[[str], Plan]) -> Plan | None:
    """Return the plan that a spec branches off, if it says so in a way that can be read."""
    branch = source.content.get("branch") if isinstance(source.content, dict) else None
    if not isinstance(branch, dict) or not isinstance(branch.get("plan"), str):
        return None  # What is wrong with it, validation says.
    try:
        return load_plan(storage.resolve(folder, branch["plan"]))
    except UserError as error:
        at = ("branch", "plan")
        problem = error.problem if error.file is None else f"{error.file}: {error.problem}"
        raise source.error(problem, at, error.value, error.remedy) from None


def parse_spec(text: str | bytes, url: str = "spec.yaml") -> tuple[Spec, YamlSource]:
    """Check a spec given as text, which cannot branch off another plan.

    Raises:
      SpecError: it is not YAML, has an unknown key (the nearest known one is named), a value that cannot be used, or
        names what is not there. The message has the line.
    """
    source = parse_yaml(text.encode() if isinstance(text, str) else text, url)
    spec = _validated(source)
    if spec.branch is not None:
        raise source.error(
            "only a spec in a file can branch off a plan", ("branch",), remedy="Save it and compile the file"
        )
    check_names(spec, source)
    return spec, source


def _validated(source: YamlSource) -> Spec:
    return validate(
        Spec, source, what="a spec", remedies=_REMEDIES, see="See docs/mixtures.md for an example"
    )


def with_datasets(spec: Spec, base: Plan) -> Spec:
    """Return the spec with the datasets of the plan that it branches off, where it does not name them itself."""
    known = {
        dataset.name: DatasetSpec(
            cache=dataset.cache,
            max_epochs=None if dataset.max_epochs is None else Fraction(dataset.max_epochs),
            shuffle=spec_of(dataset.shuffle),
        )
        for dataset in base.datasets
    }
    # What is shuffled already goes on as it was, whatever the spec says of all datasets.
    written = {
        name: dataset.model_copy(update={"shuffle": dataset.shuffle or known[name].shuffle})
        if name in known
        else dataset
        for name, dataset in spec.datasets.items()
    }
    return spec.model_copy(update={"datasets": known | written})
