"""Open and check all that a run reads: plan, token caches, held-out sets, tokenizer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.datasets.yaml_source import YamlSource
from tootsie.train.architecture import Architecture
from tootsie.train.evaluate import HeldOut, pack
from tootsie.train.evaluation_sets import EvaluationSet, encode, open_texts, with_parents
from tootsie.train.rope import LLAMA3_SCALING
from tootsie.train.run_file import EvaluationSettings, RunFile, resolve_architecture


class Inputs(NamedTuple):
    """What a run reads, opened."""

    plan: Any  # mixtures.plan.Plan
    sampler: Any  # mixtures.sampler.Sampler
    held_out: list[HeldOut]  # Packed held-out sets, in the order of the run file.
    tokenizer: Any  # tokenize.identity.Tokenizer, or None where the run writes no samples.
    architecture: Architecture  # Sizes of the model.


def open_inputs(run: RunFile, file: str) -> Inputs:
    """Open everything that ``run`` names.

    Args:
      run: the run file, paths resolved.
      file: its URL, for error messages.

    Raises:
      SpecError: the architecture does not fit the plan's tokenizer, or a cache is named for no dataset of the plan.
      ArtefactError: a cache is not the one that the plan was compiled from, or was made with another tokenizer.
    """
    from tootsie.mixtures.plan import Plan
    from tootsie.mixtures.sampler import Sampler
    from tootsie.tokenize.cache import TokenCache
    from tootsie.tokenize.tokenizers import tokenizer_of

    plan = Plan.load(run.plan)
    architecture = resolve_architecture(run.architecture, YamlSource(file, None, {}))
    check_rope(architecture, plan, file, rope_since(run, plan))
    check_vocabulary(architecture, plan, file)
    names = [dataset.name for dataset in plan.datasets]
    for name in run.caches:
        if name not in names:
            raise SpecError(
                "the plan has no such dataset",
                file=file,
                field=f"caches.{name}",
                remedy=f"Known: {', '.join(names)}",
            )
    used = {name for phase in plan.phases for name in phase.sequences}
    caches = {
        dataset.name: TokenCache.open(run.caches.get(dataset.name, dataset.cache))
        for dataset in plan.datasets
        if dataset.name in used
    }
    sampler = Sampler(plan, caches)  # compares each cache with what the plan was compiled from
    held_out = []
    texts = any(given.cache is None for given in run.evaluation.sets.values())
    tokenizer = None
    if run.samples.prompts or texts:
        tokenizer = tokenizer_of(plan.cache_tokenizer, file=run.plan, name=run.tokenizer)
    for name, given in run.evaluation.sets.items():
        if given.cache is None:
            held_out += open_documents(name, given, tokenizer, plan, run.evaluation)
            continue
        cache = TokenCache.open(given.cache)
        data = open_held_out(name, cache, given.cache, plan, run.evaluation, run.tokenizer)
        held_out.append(data._replace(tags=with_parents(given.tags)))
        for dataset, trained in caches.items():
            refuse_leak(name, given.cache, cache.ledger, dataset, trained.ledger)
    return Inputs(plan, sampler, held_out, tokenizer, architecture)


def check_vocabulary(architecture: Architecture, plan: Any, file: str) -> None:
    """Refuse a model whose vocabulary is not that of the plan's tokenizer.

    Raises:
      SpecError: they differ.
    """
    wanted = plan.cache_tokenizer.vocabulary_size
    if architecture.vocabulary_size != wanted:
        raise SpecError(
            f"the plan's tokenizer {plan.cache_tokenizer.name!r} has {wanted:,} ids",
            file=file,
            field="architecture.vocabulary_size",
            value=architecture.vocabulary_size,
            remedy=f"Write 'architecture: {{preset: …, vocabulary_size: {wanted}}}'",
        )


def rope_since(run: RunFile, plan: Any) -> int:
    """Return the step from which the model has its rotary embedding: 0 but for a branch that changes it."""
    from tootsie.mixtures.branch import branch_step

    if run.branch is None or not run.branch.change_rope:
        return 0
    try:
        return branch_step(run.branch.at, plan)
    except ValueError:
        return 0  # no such point in the plan: told when the parent is opened


def check_rope(architecture: Architecture, plan: Any, file: str, since: int = 0) -> None:
    """Refuse a plan whose phases are meant for another rotary embedding than the model's.

    Args:
      architecture: of the model.
      plan: of the run.
      file: the run file, for messages.
      since: step before which the run it branches off was trained, with a rotary embedding of its own.

    Raises:
      SpecError: they differ, or change in the middle of the run.
    """
    scaling = architecture.rope.scaling
    found = (
        architecture.rope.theta,
        "none" if scaling is None else "llama3" if scaling == LLAMA3_SCALING else "other",
    )
    for phase in plan.phases:
        wanted = phase.settings.rope if phase.end_step > since else None
        if wanted is not None and (wanted.theta, wanted.scaling.value) != found:
            raise SpecError(
                f"phase {phase.name!r} of the plan is meant for a model with rope {wanted}",
                file=file,
                field="architecture.rope",
                value=f"theta {found[0]:g}, scaling {found[1]}",
                remedy="Train with the rope of the plan. To change it is another run: 'branch' there, with 'change_rope: true'",
            )


def bos_of(tokenizer: Any) -> int | None:
    """Return the id that every document begins with, or ``None`` where the policy adds none."""
    return tokenizer.bos_id if tokenizer.add_bos else None


def refuse_leak(name: str, url: str, held_out: Any, dataset: str, trained: Any) -> None:
    """Refuse a held-out set whose documents are among those that are trained on, as far as the ledgers tell.

    Two caches of the same corpus share no document only when one cut made both: documents are held out by a hash of their
    id, so the validation split must have the seed of the train split, and not be larger than what that leaves out.

    Args:
      name: of the held-out set.
      url: of its cache.
      held_out: its ledger.
      dataset: name of a dataset that is trained on.
      trained: ledger of its cache.

    Raises:
      ArtefactError: both were made from one corpus, and not by one cut.
    """
    corpora = {source.manifest_sha256 for source in held_out.sources} - {None}
    if not corpora & {source.manifest_sha256 for source in trained.sources}:
        return
    splits = (held_out.split, trained.split) == ("validation", "train")
    cuts = [
        (ledger.settings.get("seed"), ledger.settings.get("validation_fraction"))
        for ledger in (held_out, trained)
    ]
    (seed, fraction), (train_seed, left_out) = cuts
    if not splits or seed != train_seed or not 0 < (fraction or 0) <= (left_out or 0):
        raise ArtefactError(
            f"the held-out set {name!r} and the training data {dataset!r} are of one corpus and share documents",
            file=url,
            field=f"evaluation.sets.{name}",
            value=f"{held_out.split} split of {fraction}, beside the {trained.split} split that leaves out {left_out}",
            remedy="Give the validation split of the build that made the training cache",
        )


def open_held_out(
    name: str, cache: Any, url: str, plan: Any, settings: EvaluationSettings, tokenizer: str | None = None
) -> HeldOut:
    """Pack one held-out set.

    Args:
      name: of the set.
      cache: the opened token cache.
      url: of the cache, for messages.
      plan: of the run.
      settings: row length and limit.
      tokenizer: where the plan's tokenizer lies, if its name is not enough; read where not all tokens carry loss.

    Raises:
      ArtefactError: the cache was made with another tokenizer, or is the training split of a dataset of the plan.
    """
    found, wanted = cache.ledger.tokenizer, plan.cache_tokenizer
    if found.fingerprint != wanted.fingerprint:
        raise ArtefactError(
            f"the held-out set {name!r} was made with another tokenizer",
            file=url,
            field="tokenizer.fingerprint",
            value=f"{found.name} {found.fingerprint[:12]}",
            remedy=f"The plan has {wanted.name} {wanted.fingerprint[:12]}: tokenize the held-out set with that",
        )
    for dataset in plan.datasets:
        if dataset.ledger_sha256 == cache.ledger_sha256:
            raise ArtefactError(
                f"the held-out set {name!r} is the training data {dataset.name!r}",
                file=url,
                field=f"evaluation.sets.{name}",
                remedy="Give the cache of the validation split",
            )
    limit = settings.limit.amount if settings.limit else None
    length = evaluation_length(settings, plan)

    def token_bytes() -> np.ndarray:
        from tootsie.tokenize.byte_lengths import byte_lengths
        from tootsie.tokenize.tokenizers import tokenizer_of

        return byte_lengths(tokenizer_of(wanted, file=url, name=tokenizer))

    return pack(name, cache.iterate(), length, bos_of(wanted), wanted.eos_id, limit, token_bytes)


def open_documents(
    name: str, given: EvaluationSet, tokenizer: Any, plan: Any, settings: EvaluationSettings
) -> list[HeldOut]:
    """Tokenize and pack the sets of an entry with ``documents`` or ``paloma``. That they are held out nobody can tell here.

    Raises:
      InputError: no file is there, one is damaged, or a record has no text.
      ArtefactError: a set has no document.
    """
    limit = settings.limit.amount if settings.limit else None
    identity, length = plan.cache_tokenizer, evaluation_length(settings, plan)
    found = []
    for one in open_texts(name, given):
        documents = encode(one.texts, tokenizer.encode_document)
        data = pack(one.name, documents, length, bos_of(identity), identity.eos_id, limit)
        found.append(data._replace(tags=with_parents(one.tags)))
    return found


def evaluation_length(settings: EvaluationSettings, plan: Any) -> int:
    """Return the tokens in a row of held-out text: one length all through a run, so that its scores can be compared."""
    return settings.sequence_length.amount if settings.sequence_length else plan.sequence_length
