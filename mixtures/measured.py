"""Token caches as the compiler sees them: what their ledgers measured, and whether they belong together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tootsie.datasets.yaml_source import Path, YamlSource
from tootsie.mixtures.duration import Unit
from tootsie.mixtures.plan import PlanDataset
from tootsie.mixtures.spec import Spec
from tootsie.tokenize.ledger import Ledger, TokenizerIdentity


class MeasuredCache(NamedTuple):
    """A token cache as the compiler sees it."""

    url: str
    """Where it lies."""
    ledger: Ledger
    """What it holds."""
    ledger_sha256: str
    """Its identity."""


def check_caches(spec: Spec, source: YamlSource, caches: Mapping[str, MeasuredCache]) -> None:
    """Check that the caches of a spec can be mixed, and hold what the spec says.

    Raises:
      SpecError: different tokenizers, a held-out split, the same cache twice, less than one sequence, or a claimed size that
        the ledger contradicts.
    """
    reference: tuple[str, TokenizerIdentity] | None = None
    by_identity: dict[str, str] = {}
    for name, dataset in spec.datasets.items():
        at: Path = ("datasets", name, "cache")
        ledger = caches[name].ledger
        if ledger.split != "train":
            raise source.error(
                "this cache is held out for evaluation",
                at,
                dataset.cache,
                "Name the cache of the train split",
            )
        if reference is None:
            reference = (name, ledger.tokenizer)
        elif ledger.tokenizer.fingerprint != reference[1].fingerprint:
            first = f"{reference[0]!r} has {reference[1].name} {reference[1].fingerprint[:12]}"
            raise source.error(
                f"the caches were made with different tokenizers: {first}",
                at,
                f"{ledger.tokenizer.name} {ledger.tokenizer.fingerprint[:12]}",
                "Tokenize all datasets with the same tokenizer",
            )
        twin = by_identity.setdefault(caches[name].ledger_sha256, name)
        if twin != name:
            raise source.error(
                f"the same cache as {twin!r}, so its documents would be counted twice",
                at,
                dataset.cache,
                "Keep one",
            )
        if ledger.tokens < spec.sequence_length:
            raise source.error(
                f"the cache holds {ledger.tokens:,} tokens, less than one sequence of {spec.sequence_length:,}",
                at,
                dataset.cache,
                "Leave the dataset out, or use shorter sequences",
            )
        claim = dataset.tokens
        if claim is not None:
            if claim.unit is not Unit.TOKENS:
                raise source.error(
                    "a claimed size is in tokens",
                    ("datasets", name, "tokens"),
                    str(claim),
                    "Write '12.3M tokens'",
                )
            if abs(claim.amount - ledger.tokens) > claim.resolution / 2:
                raise source.error(
                    f"the ledger counts {ledger.tokens:,} tokens, {float(ledger.tokens / claim.amount):.3g} times as many",
                    ("datasets", name, "tokens"),
                    str(claim),
                    "Correct the number, or find out which cache this is",
                )


def plan_dataset(name: str, spec: Spec, cache: MeasuredCache) -> PlanDataset:
    """Return a dataset as the plan states it."""
    ledger = cache.ledger
    windows, tail = divmod(ledger.tokens, spec.sequence_length)
    cap = spec.datasets[name].max_epochs
    groups = [
        f"{mixture}/{group}"
        for mixture, mixed in spec.mixtures.items()
        for group, part in mixed.groups.items()
        if name in part.datasets
    ]
    return PlanDataset(
        name=name,
        cache=cache.url,
        ledger_sha256=cache.ledger_sha256,
        tokens=ledger.tokens,
        bytes=ledger.bytes,
        documents=ledger.documents,
        windows=windows,
        tail_tokens=tail,
        max_epochs=None if cap is None else str(cap),
        groups=tuple(groups),
    )
