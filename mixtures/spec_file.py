"""Read a spec file; what is wrong with it is said in one sentence with the line, the value and the remedy."""

from __future__ import annotations

from tootsie.datasets.yaml_model import validate
from tootsie.datasets.yaml_source import YamlSource, parse_yaml, read_yaml
from tootsie.mixtures.spec import Spec
from tootsie.mixtures.spec_references import check_names

_REMEDIES = {
    "seed": "Write for example 'seed: 17'",
    "sequence_length": "Write for example 'sequence_length: 4096'",
    "name": "Give it a name of letters, digits and _ . + -",
    "cache": "Give the URL of a token cache made by tootsie tokenize",
}


def load_spec(url: str) -> tuple[Spec, YamlSource]:
    """Read and check a spec file.

    Raises:
      SpecError: see :func:`parse_spec`.
      InputError: there is no such file.
    """
    return check_spec(read_yaml(url))


def parse_spec(text: str | bytes, url: str = "spec.yaml") -> tuple[Spec, YamlSource]:
    """Check a spec given as text.

    Raises:
      SpecError: it is not YAML, has an unknown key (the nearest known one is named), a value that cannot be used, or
        names what is not there. The message has the line.
    """
    return check_spec(parse_yaml(text.encode() if isinstance(text, str) else text, url))


def check_spec(source: YamlSource) -> tuple[Spec, YamlSource]:
    """Validate parsed YAML; see :func:`parse_spec`."""
    spec = validate(
        Spec, source, what="a spec", remedies=_REMEDIES, see="See docs/mixtures.md for an example"
    )
    check_names(spec, source)
    return spec, source
