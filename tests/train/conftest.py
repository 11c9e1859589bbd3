"""Shape checks on, and a made-up plan with made-up data: no cache, no sampler, nothing on disk."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jaxtyping
import numpy as np
import pytest

# Programs here are compiled for one or two small steps: compiling costs more than running. For processes of the tests too.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
jax.config.update("jax_disable_most_optimizations", True)

# Before the modules are imported for the first time: every shape annotation is checked at run time in these tests.
jaxtyping.install_import_hook(
    ["tootsie.train.attention", "tootsie.train.model", "tootsie.train.loss", "tootsie.train.rope"],
    "beartype.beartype",
)

from pydantic import BaseModel  # noqa: E402

from tootsie.datasets.accounting import Accounting  # noqa: E402
from tootsie.tokenize.identity import TokenizerIdentity  # noqa: E402
from tootsie.tokenize.ledger import EngineInfo, Ledger, save_ledger  # noqa: E402
from tootsie.tokenize.shard_writer import shard_path, write_shard  # noqa: E402
from tootsie.tokenize.tokenizers import load_tokenizer  # noqa: E402
from tootsie.train.architecture import Architecture  # noqa: E402
from tootsie.train.evaluate import pack  # noqa: E402
from tootsie.train.inputs import Inputs  # noqa: E402
from tootsie.train.rope import Rope  # noqa: E402
from tootsie.train.run_file import RunFile  # noqa: E402

TINY = Architecture(
    vocabulary_size=64,
    model_size=16,
    layers=2,
    heads=4,
    kv_heads=2,
    head_size=4,
    mlp_size=24,
    rope=Rope(theta=10_000, scaling=None),
    tied_embeddings=True,
)


class FakeTokenizer(BaseModel):
    name: str = "made-up"
    fingerprint: str = "0" * 64
    vocabulary_size: int = 64
    bos_id: int | None = None
    eos_id: int = 63
    add_bos: bool = False
    add_eos: bool = True


class FakeSettings(BaseModel):
    weight_decay: float = 0.1
    z_loss: float = 1e-4
    ema_beta: float | None = None
    clip_norm: float | None = 1.0
    adam_beta1: float = 0.9
    adam_beta2: float = 0.95
    adam_epsilon: float = 1e-8
    rope: None = None


@dataclasses.dataclass(frozen=True)
class FakePhase:
    name: str
    first_step: int
    end_step: int
    start: int
    end: int
    batch_size: int
    settings: FakeSettings


@dataclasses.dataclass(frozen=True)
class FakeDataset:
    name: str
    ledger_sha256: str = ""


@dataclasses.dataclass(frozen=True)
class FakePlan:
    """Three phases: stable, then twice the batch with averaging, then a lower learning rate."""

    steps: tuple[int, ...] = (4, 4, 4)
    hash: str = "a" * 64
    name: str = "made-up"
    seed: int = 0
    sequence_length: int = 16
    cache_tokenizer: FakeTokenizer = dataclasses.field(default_factory=FakeTokenizer)
    datasets: tuple[FakeDataset, ...] = (FakeDataset("even"), FakeDataset("odd"))

    @property
    def phases(self) -> list[FakePhase]:
        settings = (FakeSettings(), FakeSettings(ema_beta=0.9), FakeSettings(ema_beta=0.9, z_loss=0.0))
        phases, step, position = [], 0, 0
        for index, (length, batch) in enumerate(zip(self.steps, (4, 8, 8), strict=True)):
            end = position + length * batch
            phases.append(
                FakePhase(f"phase{index}", step, step + length, position, end, batch, settings[index])
            )
            step, position = step + length, end
        return phases

    @property
    def total_steps(self) -> int:
        return sum(self.steps)

    def phase_of_step(self, step: int) -> FakePhase:
        return next(phase for phase in self.phases if phase.first_step <= step < phase.end_step)

    def rows_of_step(self, step: int) -> tuple[int, int]:
        phase = self.phase_of_step(step)
        first = phase.start + (step - phase.first_step) * phase.batch_size
        return first, first + phase.batch_size

    longest_sequence = 16

    @property
    def boundaries(self) -> frozenset[int]:
        return frozenset(phase.end_step for phase in self.phases)

    def length_of(self, phase: FakePhase) -> int:
        return self.sequence_length

    def tokens_before(self, position: int) -> int:
        return position * self.sequence_length

    @property
    def lengths(self) -> SimpleNamespace:
        return SimpleNamespace(passes=lambda name, position, drawn: drawn / 1000)

    def save(self, url: str) -> None:
        Path(url).parent.mkdir(parents=True, exist_ok=True)
        Path(url).write_text(json.dumps({"hash": self.hash}))

    def learning_rate(self, step: int) -> float:
        return 1e-2 if step < self.phases[2].first_step else 1e-3


@dataclasses.dataclass(frozen=True)
class FakeBatch:
    tokens: np.ndarray
    segment_ids: np.ndarray
    loss_mask: np.ndarray
    dataset: np.ndarray


class FakeSampler:
    """Row p counts up from p by one (dataset even) or two (dataset odd), modulo 60: easy to learn."""

    def __init__(self, plan: FakePlan) -> None:
        self.plan = plan

    def batch(self, step: int, own: slice | None = None) -> FakeBatch:
        first, end = self.plan.rows_of_step(step)
        rows = np.arange(first, end)[:, None]
        dataset = (rows[:, 0] % 2).astype(np.int32)
        tokens = ((rows * 7 + np.arange(self.plan.sequence_length) * (1 + dataset[:, None])) % 60).astype(
            np.int32
        )
        tokens, dataset = tokens[own or slice(None)], dataset[own or slice(None)]
        return FakeBatch(tokens, np.ones_like(tokens), np.ones(tokens.shape, bool), dataset)

    def draws(self, step: int) -> FakeBatch:
        return self.batch(step)

    def batches(self, first: int, end: int, own: slice | None = None) -> Iterator[FakeBatch]:
        return (self.batch(step, own) for step in range(first, end))

    def consumed(self, position: int) -> dict[str, int]:
        return {"even": (position + 1) // 2, "odd": position // 2}


@dataclasses.dataclass(frozen=True)
class FakeDocument:
    input_ids: np.ndarray
    byte_length: int
    loss_mask: np.ndarray | None = None


class FakeText:
    """A tokenizer whose ids are letters."""

    identity = FakeTokenizer()

    def encode(self, text: str) -> list[int]:
        return [ord(letter) % 60 for letter in text]

    def decode(self, ids: Any) -> str:
        return "".join(chr(32 + int(value)) for value in ids)


def fake_documents(count: int = 6) -> list[FakeDocument]:
    return [
        FakeDocument(np.array([*((np.arange(n) + n) % 60), 63], np.int32), 3 * n) for n in range(5, 5 + count)
    ]


def write_cache(
    folder: str, documents: Sequence[tuple[str, Sequence[int], int]], identity: TokenizerIdentity
) -> None:
    """Write a cache of ``(document_id, ids, byte_length)`` rows in one shard."""
    with write_shard(folder, shard_path(0, 1), identity) as shard:
        for name, ids, length in documents:
            shard.writer.append(name, ids, length, None)
    assert shard.entry is not None
    ledger = Ledger(
        name=Path(folder).name, tokenizer=identity, engine=EngineInfo(name="test", version="0"), sources=(), settings={},
        code_version="test", shards=(shard.entry,), documents=shard.entry.documents, tokens=shard.entry.tokens,
        bytes=shard.entry.bytes, accounting=Accounting(read=len(documents), written=len(documents)),
    )  # fmt: skip
    save_ledger(folder, ledger)


def write_text_cache(folder: Path, texts: Sequence[str]) -> None:
    """Write a cache of texts, encoded by the default tokenizer."""
    tokenizer = load_tokenizer("tootsie-16k")
    rows = [(str(n), tokenizer.encode_document(text), len(text.encode())) for n, text in enumerate(texts)]
    write_cache(str(folder), rows, tokenizer.identity)


def make_run(out: Path, **changes: Any) -> RunFile:
    """A run file that exercises everything the loop can do."""
    return RunFile.model_validate(
        {
            "plan": "made-up",
            "out": str(out),
            "architecture": TINY.model_dump(),
            "evaluation": {"sets": {"held": "x"}, "every": "3 steps"},
            "checkpoints": {"every": "5 steps"},
            "samples": {"prompts": ["ab", "c"], "length": "5 tokens"},
            **changes,
        }
    )


def make_inputs(plan: FakePlan) -> Inputs:
    """All that the loop reads, opened."""
    held = pack("held", fake_documents(), plan.sequence_length, None, 63)
    return Inputs(plan, FakeSampler(plan), [held], FakeText(), TINY)


@pytest.fixture(scope="session", autouse=True)
def compile_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Many tests compile the same tiny step: keep what was compiled until the session ends."""
    jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


@pytest.fixture(scope="session")
def tiny() -> Architecture:
    return TINY


@pytest.fixture(scope="session")
def documents() -> list[FakeDocument]:
    return fake_documents()


@pytest.fixture(scope="session")
def plan() -> FakePlan:
    return FakePlan()


@pytest.fixture(scope="session")
def inputs(plan: FakePlan) -> Inputs:
    return make_inputs(plan)


@pytest.fixture(scope="session")
def run_file() -> Callable[..., RunFile]:
    return make_run
