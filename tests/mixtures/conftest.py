"""Makers of ledgers, caches, specs and plans."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tootsie.datasets.accounting import Accounting
from tootsie.mixtures.compiler import compile_spec
from tootsie.mixtures.learning_rate import LearningRate, Shape
from tootsie.mixtures.measured import Measured, measured_cache
from tootsie.mixtures.plan import Plan, add_counts
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL, PlanDataset, PlanPhase
from tootsie.mixtures.settings import PhaseSettings
from tootsie.mixtures.shares import add_owed, phase_sequences
from tootsie.mixtures.spec_file import parse_spec
from tootsie.tokenize.ledger import EngineInfo, Ledger, ShardEntry, TokenizerIdentity, save_ledger
from tootsie.tokenize.shard_writer import shard_path, write_shard


def identity(fingerprint: str = "ab" * 32) -> TokenizerIdentity:
    return TokenizerIdentity(
        name="toy", fingerprint=fingerprint, vocabulary_size=1000, dtype="uint16", bos_id=None, eos_id=0,
        add_bos=False, add_eos=True, golden_ids=(5, 0),
    )  # fmt: skip


def ledger_of(name: str, shards: Sequence[ShardEntry], **changes: object) -> Ledger:
    documents = sum(shard.documents for shard in shards)
    fields: dict = {
        "name": name, "tokenizer": identity(), "engine": EngineInfo(name="none", version="0"), "sources": (),
        "settings": {}, "code_version": "test", "shards": tuple(shards), "documents": documents,
        "tokens": sum(shard.tokens for shard in shards), "bytes": sum(shard.bytes for shard in shards),
        "accounting": Accounting(read=documents, written=documents),
    }  # fmt: skip
    return Ledger(**(fields | changes)).sealed()


def measured(
    name: str, tokens: int, documents: int = 100, size: int | None = None, **changes: object
) -> Measured:
    """A cache that has a ledger only."""
    shard = ShardEntry(
        path="shards/00000-of-00001.arrow", documents=documents, tokens=tokens, bytes=size or 4 * tokens, size=1,
        xxh3_128="0" * 32, body=0, trailer_xxh3_128="0" * 32,
    )  # fmt: skip
    digest = hashlib.sha256(f"{name} {tokens} {documents}".encode()).hexdigest()
    return measured_cache(f"tokens/{name}", ledger_of(name, [shard], **changes), digest)


def write_ledger(
    folder: Path, name: str, tokens: int, split: str = "train", fingerprint: str = "ab" * 32
) -> None:
    """The ledger of a cache that has no shards."""
    shard = ShardEntry(
        path="shards/00000-of-00001.arrow",
        documents=10,
        tokens=tokens,
        bytes=4 * tokens,
        size=1,
        xxh3_128="0" * 32,
        body=0,
        trailer_xxh3_128="0" * 32,
    )
    save_ledger(str(folder / name), ledger_of(name, [shard], split=split, tokenizer=identity(fingerprint)))


def write_cache(folder: Path, name: str, lengths: Sequence[int], shards: int = 1) -> str:
    """A real cache; document d of dataset `name` has the id `name-d`, token t of the dataset is 1 + t % 900."""
    entries, at = [], 0
    for number in range(shards):
        part = range(number * len(lengths) // shards, (number + 1) * len(lengths) // shards)
        with write_shard(str(folder), shard_path(number, shards), identity()) as shard:
            for document in part:
                ids = 1 + np.arange(at, at + lengths[document]) % 900
                at += lengths[document]
                shard.writer.append(f"{name}-{document}", ids.astype(np.uint32), 3 * len(ids), None)
        assert shard.entry is not None
        entries.append(shard.entry)
    save_ledger(str(folder), ledger_of(name, entries))
    return str(folder)


def compiled(text: str, **tokens: int) -> Plan:
    """Compile a spec whose datasets have these many tokens; others have a million."""
    spec, source = parse_spec(text)
    caches = {name: measured(name, tokens.get(name, 10**6)) for name in spec.datasets}
    return compile_spec(spec, source, caches)


def make_plan(
    phases: Sequence[tuple[int, int, Mapping[str, int]]],
    windows: Mapping[str, int] | None = None,
    seed: int = 7,
    order: Sequence[str] | None = None,
) -> Plan:
    """A plan of (steps, batch size, weights) phases, sequence length 8; datasets have 50 windows unless said."""
    names = list(order or sorted({name for _, _, weights in phases for name in weights}))
    datasets = []
    for name in names:
        tokens = 8 * (windows or {}).get(name, 50) + 3
        datasets.append(
            PlanDataset(
                name=name, cache=f"tokens/{name}", ledger_sha256=hashlib.sha256(name.encode()).hexdigest(),
                tokens=tokens, bytes=4 * tokens, documents=10, windows=tokens // 8, tail_tokens=tokens % 8,
            )
        )  # fmt: skip
    settings = PhaseSettings(learning_rate=LearningRate(shape=Shape.CONSTANT, start=1e-3, end=1e-3))
    made: list[PlanPhase] = []
    owed: dict[str, int] = {}
    for number, (steps, batch_size, weights) in enumerate(phases):
        asked = scaled(weights)
        before = made[-1] if made else None
        length = steps * batch_size
        sequences = phase_sequences(asked, length, owed)
        start, first = (before.end, before.end_step) if before else (0, 0)
        made.append(
            PlanPhase(
                name=f"p{number}", mixture="m", start=start, end=start + length, first_step=first,
                end_step=first + steps, batch_size=batch_size, length=length, sequences=sequences, asked=asked,
                carried=add_counts(before.carried, before.sequences) if before else {}, settings=settings,
            )
        )  # fmt: skip
        owed = add_owed(owed, asked, length, sequences)
    return Plan(
        name="test", seed=seed, sequence_length=8, tokenizer=identity(), datasets=tuple(datasets), phases=tuple(made),
        changes=(), code_version="test",
    ).sealed()  # fmt: skip


def scaled(weights: Mapping[str, int]) -> dict[str, int]:
    from tootsie.mixtures.apportionment import largest_remainder

    total = sum(weights.values())
    quotas = [Fraction(weight * WEIGHT_TOTAL, total) for weight in weights.values()]
    return dict(zip(weights, largest_remainder(quotas, WEIGHT_TOTAL, [1] * len(quotas)), strict=True))


@pytest.fixture(scope="session")
def example_spec(project_root: Path) -> str:
    """The spec of docs/mixtures.md."""
    text = (project_root / "docs" / "mixtures.md").read_text()
    return text.split("```yaml\n")[1].split("```")[0]


@pytest.fixture(scope="session", name="measured")
def _measured() -> Callable[..., Measured]:
    return measured


@pytest.fixture(scope="session", name="write_cache")
def _write_cache() -> Callable[..., str]:
    return write_cache


@pytest.fixture(scope="session", name="write_ledger")
def _write_ledger() -> Callable[..., None]:
    return write_ledger


@pytest.fixture(scope="session", name="compiled")
def _compiled() -> Callable[..., Plan]:
    return compiled


@pytest.fixture(scope="session", name="make_plan")
def _make_plan() -> Callable[..., Plan]:
    return make_plan


@pytest.fixture
def example_folder(tmp_path: Path, example_spec: str) -> Path:
    """The example of the documentation with real caches of 1 % of its size, and phases of 1 % of the length."""
    sizes = {"web": 400_123, "wikipedia": 30_000, "arxiv": 15_000, "questions": 3_000}
    for name, tokens in sizes.items():
        lengths = [97] * (tokens // 97) + [tokens % 97]
        write_cache(tmp_path / "tokens" / name / "train", name, lengths, shards=3)
    text = example_spec.replace("40M tokens", "400_123 tokens").replace(
        "sequence_length: 512", "sequence_length: 64"
    )
    for before, after in (
        ("400 steps", "40 steps"),
        ("26M", "320k"),
        ("6M", "60k"),
        ("size: 64", "size: 48"),
        ("40 steps}", "4 steps}"),
    ):
        text = text.replace(before, after)
    (tmp_path / "spec.yaml").write_text(text)
    return tmp_path
