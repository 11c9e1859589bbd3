"""``tootsie train lint RUN.yaml``: how held-out texts and prompts of tasks are written, against what the model is trained on.

A model that never saw a space before the end of a document is charged for each one that a held-out set has; that is not what
the set is meant to measure. So shares of documents with some trait of form are compared: sets against the training mixture.

The training side is a sample of each dataset's cache, decoded, weighted by the tokens that the plan draws of it.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

SAMPLE = 400
"""Documents of each set and dataset that are looked at."""
CHARACTERS = 20_000
"""Of each document, from both ends."""

_HTML = re.compile(r"</?(?:p|div|span|br|a|table|td|tr|li|ul|h[1-6])\b[^<>]{0,200}>", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_TRAILING = re.compile(r"[ \t]\n")
_SPACED = re.compile(r" [.,;:!?](?:\s|$)")

TRAITS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "ends-with-space": ("end in a space or tab", lambda text: text[-1:] in (" ", "\t", "\xa0")),
    "ends-with-newline": ("end in a line break", lambda text: text.endswith("\n")),
    "ends-with-punctuation": (
        "end in a punctuation mark",
        lambda text: text.rstrip()[-1:] in tuple('.!?"”»)…'),
    ),
    "starts-with-space": ("start with white space", lambda text: text[:1].isspace()),
    "spaces-before-breaks": ("have spaces before line breaks", lambda text: bool(_TRAILING.search(text))),
    "spaces-before-punctuation": (
        "have spaces before punctuation",
        lambda text: len(_SPACED.findall(text)) > 2,
    ),
    "carriage-returns": ("have carriage returns", lambda text: "\r" in text),
    "one-line": ("are one line", lambda text: "\n" not in text.strip()),
    "markdown-headings": ("have Markdown headings", lambda text: bool(_HEADING.search(text))),
    "html-tags": ("have HTML tags", lambda text: bool(_HTML.search(text))),
    "lower-case": ("have no capital letter", lambda text: text == text.lower()),
    "replacement-characters": (
        "have replacement characters",
        lambda text: "\N{REPLACEMENT CHARACTER}" in text,
    ),
    "unknown-marks": ("have marks for unknown words", lambda text: "<unk>" in text or "@-@" in text),
}
"""Traits of a text's form: what a document with it does, and how to tell."""


class Profile(NamedTuple):
    """How the documents of a set are written."""

    documents: int  # Looked at.
    shares: dict[str, float]  # Part of them with each trait, from 0 to 1.
    terminators: dict[str, float]  # Part of them by their last token, as text; the commonest.


class Finding(NamedTuple):
    """A trait in which a held-out set is not like the training mixture."""

    set: str  # The held-out set.
    trait: str  # Its key in :data:`TRAITS`, or ``terminator``.
    message: str  # One sentence.


def profile(documents: Iterable[tuple[str, str]]) -> Profile:
    """Return the profile of documents, each given as its text and its last token as text.

    Time is linear; of a long text only both ends are looked at.
    """
    count, found, last = 0, Counter[str](), Counter[str]()
    for text, terminator in itertools.islice(documents, SAMPLE):
        if len(text) > 2 * CHARACTERS:
            text = text[:CHARACTERS] + text[-CHARACTERS:]
        count += 1
        last[terminator] += 1
        found.update(trait for trait, (_, has) in TRAITS.items() if has(text))
    whole = max(count, 1)
    shares = {trait: found[trait] / whole for trait in TRAITS}
    return Profile(count, shares, {name: number / whole for name, number in last.most_common(4)})


def mixed(profiles: dict[str, Profile], weights: dict[str, float]) -> Profile:
    """Return the profile of the mixture of datasets that is drawn with ``weights``."""
    total = sum(weights[name] for name in profiles)
    shares = {
        trait: sum(weights[name] * one.shares[trait] for name, one in profiles.items()) / total
        for trait in TRAITS
    }
    terminators: dict[str, float] = {}
    for name, one in profiles.items():
        for token, share in one.terminators.items():
            terminators[token] = terminators.get(token, 0.0) + share * weights[name] / total
    return Profile(sum(one.documents for one in profiles.values()), shares, terminators)


def compare(name: str, held_out: Profile, training: Profile, difference: float) -> list[Finding]:
    """Return the traits whose shares differ by more than ``difference``, and a last token that training does not know."""
    findings = []
    for trait, (what, _) in TRAITS.items():
        here, there = held_out.shares[trait], training.shares[trait]
        if abs(here - there) > difference:
            findings.append(
                Finding(
                    name, trait, f"{here:.0%} of its documents {what}, {there:.0%} of the training mixture's"
                )
            )
    for token, share in held_out.terminators.items():
        known = training.terminators.get(token, 0.0)
        if share - known > difference:
            findings.append(
                Finding(
                    name,
                    "terminator",
                    f"{share:.0%} of its documents end with the token {token!r}, {known:.0%} in training",
                )
            )
    return findings


def cached_documents(cache: Any, tokenizer: Any, count: int = SAMPLE) -> Iterator[tuple[str, str]]:
    """Yield text and last token of documents spread evenly over a token cache."""
    shards = cache.ledger.shards
    total = cache.ledger.documents
    identity = cache.ledger.tokenizer
    starts = [0, *itertools.accumulate(shard.documents for shard in shards)]
    shard = 0
    for number in range(min(count, total)):
        at = number * total // min(count, total)
        while at >= starts[shard + 1]:
            shard += 1
        ids = cache.document(shard, at - starts[shard]).input_ids.tolist()
        body = ids[identity.add_bos and ids[:1] == [identity.bos_id] :]
        if identity.add_eos and body[-1:] == [identity.eos_id]:
            body = body[:-1]
        yield tokenizer.decode(body), _shown(tokenizer, identity, ids)


def encoded_documents(texts: Iterable[str], tokenizer: Any) -> Iterator[tuple[str, str]]:
    """Yield text and last token of texts."""
    for text in texts:
        if text:
            yield (
                text,
                _shown(tokenizer, tokenizer.identity, list(tokenizer.encode_document(text[-CHARACTERS:]))),
            )


def _shown(tokenizer: Any, identity: Any, ids: list[int]) -> str:
    """The last token if it is the terminator; else only that there is none, for last words are many."""
    return "end of text" if ids and int(ids[-1]) == identity.eos_id else "no end of text"


def lint(run: Any, plan: Any, tokenizer: Any, difference: float) -> tuple[list[Finding], dict[str, Profile]]:
    """Compare every held-out set of a run file with its training mixture.

    Args:
      run: a run file, paths resolved.
      plan: its plan.
      tokenizer: the plan's.
      difference: shares that differ by more are told.

    Returns:
      the findings, and the profiles of the sets; that of the training mixture is called ``training``.

    Raises:
      ArtefactError: a cache is missing or damaged.
      InputError: a file of a held-out set is.
    """
    from tootsie.tokenize.cache import TokenCache
    from tootsie.train.evaluation_sets import open_texts

    training = training_profile(run, plan, tokenizer)
    sets: dict[str, Profile] = {}
    for name, given in run.evaluation.sets.items():
        if given.cache is not None:
            sets[name] = profile(cached_documents(TokenCache.open(given.cache), tokenizer))
            continue
        for one in open_texts(name, given):
            sets[one.name] = profile(encoded_documents(one.texts, tokenizer))
    findings = [finding for name, one in sets.items() for finding in compare(name, one, training, difference)]
    return findings, {"training": training, **sets}


def lint_prompts(prompts: Mapping[str, Iterable[str]], training: Profile, difference: float) -> list[Finding]:
    """Compare how the prompts of tasks are written with a training mixture; how they end as tokens does not count.

    Args:
      prompts: by task, each with the answer that is scored, if one is.
      training: profile of the mixture.
      difference: shares that differ by more are told.
    """
    findings = []
    for task, texts in prompts.items():
        found = profile((text, "") for text in texts)._replace(terminators={})
        findings += compare(task, found, training, difference)
    return findings


def training_of(run_file: str, tokenizer: Any) -> Profile:
    """Return the profile of the training mixture of a run file; errors as in :func:`lint`."""
    from tootsie.mixtures.plan import Plan
    from tootsie.train.run_file import load_run_file

    run = load_run_file(run_file)
    return training_profile(run, Plan.load(run.plan), tokenizer)


def training_profile(run: Any, plan: Any, tokenizer: Any) -> Profile:
    """Return the profile of all that a run's plan draws; arguments and errors as in :func:`lint`."""
    from tootsie.tokenize.cache import TokenCache

    drawn: dict[str, float] = {}
    for phase in plan.phases:
        for name, share in phase.shares.items():
            drawn[name] = drawn.get(name, 0.0) + share * (phase.end - phase.start) * plan.length_of(phase)
    profiles = {
        dataset.name: profile(
            cached_documents(TokenCache.open(run.caches.get(dataset.name, dataset.cache)), tokenizer)
        )
        for dataset in plan.datasets
        if dataset.name in drawn
    }
    return mixed(profiles, drawn)
