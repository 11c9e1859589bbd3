"""Datasets as the compiler sees them: what their ledgers (or, without data, their cards) say, and whether they fit together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.card import Card, Size, load_card
from tootsie.datasets.errors import UserError
from tootsie.datasets.yaml_source import Path, YamlSource
from tootsie.mixtures.block_shuffle import BlockShuffle
from tootsie.mixtures.cache_location import CARD
from tootsie.mixtures.duration import Unit
from tootsie.mixtures.plan_parts import Evidence, PlanDataset
from tootsie.mixtures.spec import Spec
from tootsie.tokenize.ledger import Ledger, TokenizerIdentity, load_ledger


@dataclass(frozen=True)
class Measured:
    """A dataset and its size."""

    url: str
    """Where its token cache lies, or ``card:NAME``."""
    identity: str
    """SHA-256 of the ledger, or of the card."""
    tokens: int
    """Ids."""
    bytes: int
    """UTF-8 bytes; 0 where a card does not say."""
    documents: int
    """Documents; 0 where a card does not say."""
    evidence: Evidence
    """Where the numbers come from."""
    tokenizer: TokenizerIdentity | None = None
    """Of the cache; none for a card."""
    split: str = "train"
    """Of the cache."""
    remark: str | None = None
    """What a person should know about the number."""
    tags: tuple[str, ...] = ()
    """What its card says it is; its kind (``pretraining``, ``instruction``) first."""
    row_tokens: int | None = None
    """Length of the rows that its conversations are packed into, where it is supervised data."""
    manifests: tuple[str | None, ...] = ()
    """SHA-256 of the manifest of each corpus the cache was made of, ``None`` for loose files; none at all for a card."""
    unlisted: tuple[str, ...] = ()
    """Names of loose files that were held against no list of what their copy must hold."""


def measured_cache(url: str, ledger: Ledger, ledger_sha256: str) -> Measured:
    """Return a token cache as the compiler sees it."""
    return Measured(
        url=url,
        identity=ledger_sha256,
        tokens=ledger.tokens,
        bytes=ledger.bytes,
        documents=ledger.documents,
        evidence=Evidence.LEDGER,
        tokenizer=ledger.tokenizer,
        split=ledger.split,
        row_tokens=ledger.row_tokens,
        manifests=tuple(source.manifest_sha256 for source in ledger.sources),
        unlisted=tuple(
            source.source for source in ledger.sources if source.manifest_sha256 is None and not source.listed
        ),
    )


def measured_card(card: Card, tokenizer: str, assumed: int | None = None) -> Measured:
    """Return a dataset of which only the card is at hand.

    Args:
      card: what is known.
      tokenizer: whose tokens are meant.
      assumed: tokens, for a card that states none.

    Raises:
      ValueError: the card states no number of tokens, or is of an evaluation set.
    """
    if card.kind == "evaluation":
        raise ValueError("this is an evaluation set; it is never to be trained on")
    found = card.size(tokenizer)
    if found is None:
        if assumed is None:
            raise ValueError("its card states no number of tokens")
        found = Size(tokenizer=tokenizer, tokens=assumed, source="assumed in the spec"), False
    size, exact = found
    said = f"{size.tokens:,} tokens ({size.source}{f', {size.note}' if size.note else ''})"
    whose = (
        "" if size.tokenizer == tokenizer else f", counted with {size.tokenizer or 'an unnamed tokenizer'}"
    )
    remark = None if exact else f"its size is not measured with {tokenizer}: {said}{whose}"
    return Measured(
        url=f"{CARD}{card.name}",
        identity=card.sha256,
        tokens=size.tokens or 0,
        bytes=size.bytes or 0,
        documents=size.documents or next((other.documents for other in card.measured if other.documents), 0),
        evidence=Evidence.MEASURED if exact else Evidence.CLAIMED,
        remark=remark,
        tags=_tags(card),
    )


def measured_in_plan(dataset: PlanDataset, tokenizer: TokenizerIdentity | None) -> Measured:
    """Return a dataset of a plan as the compiler sees it.

    The plan has its sizes. What else matters (tags, rows of conversations, manifests) is read from its ledger or its card, where
    that is at hand and still the one that the plan was made from.
    """
    remark = None
    if dataset.evidence is Evidence.CLAIMED:
        remark = (
            f"its size is not measured: {dataset.tokens:,} tokens, claimed where the plan before was compiled"
        )
    known = Measured(
        url=dataset.cache,
        identity=dataset.ledger_sha256,
        tokens=dataset.tokens,
        bytes=dataset.bytes,
        documents=dataset.documents,
        evidence=dataset.evidence,
        tokenizer=tokenizer if dataset.evidence is Evidence.LEDGER else None,
        remark=remark,
    )
    try:
        if dataset.evidence is Evidence.LEDGER:
            ledger, digest = load_ledger(dataset.cache)
            return measured_cache(dataset.cache, ledger, digest) if digest == known.identity else known
        card = load_card(dataset.cache.removeprefix(CARD))
    except (UserError, OSError):
        return known  # A plan can be gone on from where its data is not.
    return dataclasses.replace(known, tags=_tags(card)) if card.sha256 == known.identity else known


def _tags(card: Card) -> tuple[str, ...]:
    return (card.kind.value, *card.tags)


def measure(name: str, spec: Spec, source: YamlSource, folder: str) -> Measured:
    """Return the size of a dataset of a spec that lies in ``folder``, from its ledger or its card.

    Raises:
      SpecError: neither can be read; the message has the line.
    """
    dataset = spec.datasets[name]
    if dataset.card is not None:
        at: Path = ("datasets", name, "card")
        try:
            is_file = dataset.card.endswith((".yaml", ".yml"))
            card = load_card(storage.resolve(folder, dataset.card) if is_file else dataset.card)
            claim = dataset.tokens
            assumed = int(claim.amount) if claim is not None and claim.unit is Unit.TOKENS else None
            return measured_card(card, spec.tokenizer or "", assumed)
        except ValueError as error:
            raise source.error(
                str(error),
                at,
                dataset.card,
                "Add the number and its source to the card, or assume one: 'tokens: 600M tokens'",
            ) from None
        except UserError as error:
            problem = error.problem if error.file is None else f"{error.file}: {error.problem}"
            raise source.error(problem, at, error.value or dataset.card, error.remedy) from None
    assert dataset.cache is not None
    cache = storage.resolve(folder, dataset.cache)
    try:
        return measured_cache(cache, *load_ledger(cache))
    except UserError as error:
        problem = f"{error.file}: {error.problem}"
        raise source.error(
            problem, ("datasets", name, "cache"), error.value or dataset.cache, error.remedy
        ) from None


def check_caches(spec: Spec, source: YamlSource, caches: Mapping[str, Measured]) -> None:
    """Check that the caches of a spec can be mixed, and hold what the spec says.

    Raises:
      SpecError: different tokenizers, a held-out split, the same cache twice, less than one sequence, or a claimed size that
        the ledger contradicts.
    """
    reference: tuple[str, TokenizerIdentity] | None = None
    by_identity: dict[str, str] = {}
    for name, dataset in spec.datasets.items():
        at: Path = ("datasets", name, "cache" if dataset.cache is not None else "card")
        shown = dataset.cache if dataset.cache is not None else dataset.card
        ledger = caches[name]
        if ledger.split != "train":
            raise source.error(
                "this cache is held out for evaluation",
                at,
                shown,
                "Name the cache of the train split",
            )
        if ledger.tokenizer is None:
            pass
        elif reference is None:
            reference = (name, ledger.tokenizer)
        elif ledger.tokenizer.fingerprint != reference[1].fingerprint:
            first = f"{reference[0]!r} has {reference[1].name} {reference[1].fingerprint[:12]}"
            raise source.error(
                f"the caches were made with different tokenizers: {first}",
                at,
                f"{ledger.tokenizer.name} {ledger.tokenizer.fingerprint[:12]}",
                "Tokenize all datasets with the same tokenizer",
            )
        twin = by_identity.setdefault(ledger.identity, name)
        if twin != name:
            raise source.error(
                f"the same cache as {twin!r}, so its documents would be counted twice",
                at,
                shown,
                "Keep one",
            )
        if ledger.tokens < spec.span:
            piece = "sequence" if spec.span_length is None else "span"
            raise source.error(
                f"the cache holds {ledger.tokens:,} tokens, less than one {piece} of {spec.span:,}",
                at,
                shown,
                f"Leave the dataset out, or use shorter {piece}s",
            )
        try:
            planned_shuffle(name, spec, ledger)
        except ValueError as error:
            place: Path = ("datasets", name, "shuffle") if dataset.shuffle is not None else ("shuffle",)
            raise source.error(str(error), place, remedy="See docs/mixtures.md, Shuffling") from None
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


def check_length(
    names: Iterable[str],
    caches: Mapping[str, Measured],
    length: int,
    at: Path,
    source: YamlSource,
    instead: str = "Leave it out of the phase's mixture, or use",
) -> None:
    """Check that the datasets of a phase have a sequence of its length, which cuts through no row of supervised data.

    Args:
      names: of the datasets.
      caches: by name.
      length: tokens in a sequence of the phase.
      at: place of what makes the phase draw from them at that length.
      source: where it stands in the file.
      instead: what to do, ahead of the length to use.

    Raises:
      SpecError: one has none, or would be cut.
    """
    for name in names:
        tokens, rows = caches[name].tokens, caches[name].row_tokens
        if tokens < length:
            raise source.error(
                f"the dataset {name!r} holds {tokens:,} tokens, less than one sequence of {length:,}",
                at,
                length,
                f"{instead} shorter sequences",
            )
        if rows is not None and length % rows:
            raise source.error(
                f"the conversations of {name!r} are packed into rows of {rows:,} tokens, which sequences of {length:,} would cut",
                at,
                length,
                f"{instead} sequences of {rows:,} tokens or a multiple, or tokenize them with --row-tokens {length}",
            )


def planned_shuffle(name: str, spec: Spec, cache: Measured) -> BlockShuffle | None:
    """Return how a dataset is shuffled.

    Raises:
      ValueError: the size of its blocks cannot be used.
    """
    id_bytes = None if cache.tokenizer is None else np.dtype(cache.tokenizer.dtype).itemsize
    chosen = spec.datasets[name].shuffle or spec.shuffle
    return None if chosen is None else chosen.planned(spec.span, id_bytes)


def plan_datasets(
    names: Iterable[str], spec: Spec, caches: Mapping[str, Measured], notes: list[str]
) -> tuple[PlanDataset, ...]:
    """Return datasets as the plan states them; adds to ``notes`` the sizes that nobody measured, and the shuffles in blocks."""
    notes += [f"{name}: {cache.remark}" for name, cache in caches.items() if cache.remark is not None]
    datasets = tuple(plan_dataset(name, spec, caches[name]) for name in names)
    for dataset in datasets:
        if dataset.shuffle is not None:
            held = dataset.shuffle.block * dataset.shuffle.group
            notes.append(f"{dataset.name}: shuffled in {dataset.shuffle}: {held:,} windows mix")
    return datasets


def plan_dataset(name: str, spec: Spec, cache: Measured) -> PlanDataset:
    """Return a dataset as the plan states it."""
    windows, tail = divmod(cache.tokens, spec.span)
    cap = spec.datasets[name].max_epochs
    groups = [
        f"{mixture}/{group}"
        for mixture, mixed in spec.mixtures.items()
        for group, part in mixed.groups.items()
        if part is not None and name in part.datasets
    ]
    return PlanDataset(
        name=name,
        cache=cache.url,
        ledger_sha256=cache.identity,
        tokens=cache.tokens,
        bytes=cache.bytes,
        documents=cache.documents,
        evidence=cache.evidence,
        windows=windows,
        tail_tokens=tail,
        max_epochs=None if cap is None else str(cap),
        groups=tuple(groups),
        shuffle=planned_shuffle(name, spec, cache),
    )
