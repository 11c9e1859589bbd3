"""Supervised data in a plan: whole rows with a loss mask, beside pretraining data that carries loss throughout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tootsie.datasets.accounting import Accounting
from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.compiler import compile_spec
from tootsie.mixtures.measured import measured_cache
from tootsie.mixtures.sampler import Sampler
from tootsie.mixtures.spec_file import parse_spec
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.identity import TokenizerIdentity
from tootsie.tokenize.ledger import EngineInfo, Ledger, save_ledger
from tootsie.tokenize.shard_writer import shard_path, write_shard

ROW = 16
IDENTITY = TokenizerIdentity(
    name="toy", fingerprint="ab" * 32, vocabulary_size=1000, dtype="uint16", bos_id=None, eos_id=0,
    add_bos=False, add_eos=True, golden_ids=(5, 0),
)  # fmt: skip
SPEC = """
name: mixed
seed: 1
sequence_length: {length}
datasets:
  chats: {{cache: chats}}
  web: {{cache: web}}
mixtures:
  all: {{groups: {{both: {{by: weight, datasets: {{chats: {{weight: 1}}, web: {{weight: 1}}}}}}}}}}
phases:
  - {{name: only, mixture: all, for: 8 steps, batch_size: 4, learning_rate: 1e-3}}
"""


def cache_of(
    folder: Path, name: str, documents: list[tuple[int, list[tuple[int, int]] | None]], **settings: int
) -> TokenCache:
    """A cache of documents of so many tokens, with these loss spans; ids tell chats (from 500 on) from web."""
    supervised = any(spans is not None for _, spans in documents)
    with write_shard(str(folder / name), shard_path(0, 1), IDENTITY, loss_spans=supervised) as shard:
        for number, (length, spans) in enumerate(documents):
            ids = np.full(length, (500 if name == "chats" else 1) + number, np.uint32)
            ids[-1] = 0
            shard.writer.append(f"{name}-{number}", ids, length, spans)
    assert shard.entry is not None
    ledger = Ledger(
        name=name, tokenizer=IDENTITY, engine=EngineInfo(name="none", version="0"), sources=(), settings=dict(settings),
        code_version="test", shards=(shard.entry,), documents=len(documents), tokens=shard.entry.tokens,
        bytes=shard.entry.bytes, accounting=Accounting(read=len(documents), written=len(documents)),
    )  # fmt: skip
    save_ledger(str(folder / name), ledger)
    return TokenCache.open(str(folder / name))


@pytest.fixture
def caches(tmp_path: Path) -> dict[str, TokenCache]:
    rows = [(10, [(2, 5)]), (6, [(1, 6)])] * 6
    return {
        "chats": cache_of(tmp_path, "chats", rows, row_tokens=ROW),
        "web": cache_of(tmp_path, "web", [(30, None)] * 7),
    }


def sampler_of(caches: dict[str, TokenCache], length: int) -> Sampler:
    spec, source = parse_spec(SPEC.format(length=length))
    measured = {
        name: measured_cache(cache.url, cache.ledger, cache.ledger_sha256) for name, cache in caches.items()
    }
    return Sampler(compile_spec(spec, source, measured), caches)


@pytest.mark.parametrize("length", [ROW, 2 * ROW])
def test_conversations_stay_whole_and_replayed_text_carries_loss_throughout(
    caches: dict[str, TokenCache], length: int
) -> None:
    sampler = sampler_of(caches, length)
    names = [dataset.name for dataset in sampler.plan.datasets]
    seen = {"chats": 0, "web": 0}
    mask = np.zeros(ROW, bool)
    mask[2:5] = mask[11:16] = True
    for step in range(8):
        batch = sampler.batch(step)
        for row in range(4):
            name = names[batch.dataset[row]]
            seen[name] += 1
            if name == "web":
                assert batch.loss_mask[row].all()
                continue
            assert batch.loss_mask[row].tolist() == mask.tolist() * (length // ROW)
            segments = np.repeat([1, 2, 3, 4], [10, 6, 10, 6])[:length]
            assert batch.segment_ids[row].tolist() == segments.tolist()
    assert seen == {"chats": 16, "web": 16}


@pytest.mark.parametrize("length", [8, 20, 24])
def test_sequences_that_would_cut_conversations_are_refused(
    caches: dict[str, TokenCache], length: int
) -> None:
    with pytest.raises(SpecError, match=r"the conversations of 'chats' are packed into rows of 16 tokens"):
        sampler_of(caches, length)
    with pytest.raises(
        ArtefactError, match=r"sequence length: conversations are packed into rows of 16 tokens"
    ):
        caches["chats"].window(0, length)
    caches["web"].window(0, length)


def test_a_branch_cuts_no_rows_either(tmp_path: Path) -> None:
    """Also of datasets that only the plan names, and where only the transition draws them."""
    cache_of(tmp_path, "chats", [(ROW, [(4, 9)])] * 60, row_tokens=ROW)
    cache_of(tmp_path, "web", [(16, None)] * 60)
    text = SPEC.format(length=ROW)
    (tmp_path / "spec.yaml").write_text(text)
    compile_file(str(tmp_path / "spec.yaml")).save(str(tmp_path / "plan.json"))
    side = "name: side\nbranch: {plan: plan.json, at: 4 steps}\n"
    other = "mixtures: {web: {groups: {all: {datasets: [web]}}}}\n"
    for phase in (
        "{name: two, for: 4 steps, sequence_length: 24, batch_size: 4}",
        "{name: two, mixture: web, for: 4 steps, sequence_length: 24, batch_size: 4, transition: {over: 2 steps}}",
    ):
        (tmp_path / "side.yaml").write_text(f"{side}{other}phases: [{phase}]\n")
        with pytest.raises(SpecError, match="packed into rows of 16 tokens, which sequences of 24 would cut"):
            compile_file(str(tmp_path / "side.yaml"))
