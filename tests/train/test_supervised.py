"""Fine-tuning from end to end: conversations and replayed text in one plan, on top of an imported model, loss on answers only."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tootsie.datasets import beam_runner
from tootsie.datasets.accounting import Accounting
from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.mixtures.audit import audit_run
from tootsie.mixtures.compilation import compile_file
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.chat.build import ChatSettings, build_chat_caches
from tootsie.tokenize.ledger import EngineInfo, Ledger, save_ledger
from tootsie.tokenize.shard_writer import shard_path, write_shard
from tootsie.tokenize.tokenizers import load_tokenizer
from tootsie.train import reference
from tootsie.train.architecture import Architecture
from tootsie.train.export import ExportDtype, read_export, write_export
from tootsie.train.importing import import_model, read_source
from tootsie.train.inputs import open_held_out, open_inputs
from tootsie.train.llama_config import SpecialTokens
from tootsie.train.loop import Summary, train
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.rope import Rope
from tootsie.train.run_file import EvaluationSettings, load_run_file
from tootsie.train.weights import export_weights, load_weights

ROW = 64
MODEL = Architecture(
    vocabulary_size=16_384,
    model_size=16,
    layers=1,
    heads=2,
    kv_heads=1,
    head_size=8,
    mlp_size=32,
    rope=Rope(theta=10_000, scaling=None),
    tied_embeddings=True,
)
SPEC = f"""
name: tuning
seed: 3
sequence_length: {ROW}
datasets:
  chats: {{cache: chats, max_epochs: 50}}
  web: {{cache: web, max_epochs: 50}}
mixtures:
  with_replay: {{groups: {{all: {{by: weight, datasets: {{chats: {{weight: 4}}, web: {{weight: 1}}}}}}}}}}
phases:
  - {{name: sft, mixture: with_replay, for: 40 steps, batch_size: 5, learning_rate: 2e-2, weight_decay: 0}}
acknowledge: {{z-loss: forty steps, average: forty steps, replay: it is there, epochs/chats: tiny, epochs/web: tiny}}
"""
RUN = """
plan: plan.json
out: OUT
architecture: ARCHITECTURE
branch: {run: base, at: AT}
log_every: 100 steps
export: false
"""
ANSWER = "The answer is forty-two."
WORDS = ["river", "stone", "cloud", "paper", "engine", "window", "garden", "yellow", "silver", "market"]


def conversations() -> list[dict[str, Any]]:
    choose = random.Random(5)
    return [
        {
            "id": str(number),
            "messages": [
                {"role": "user", "content": " ".join(choose.choices(WORDS, k=8))},
                {"role": "assistant", "content": ANSWER},
            ],
        }
        for number in range(80)
    ]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("tuning")
    tokenizer = load_tokenizer("tootsie-16k")
    with contextlib.chdir(folder):
        Path("chats.jsonl").write_text("\n".join(map(json.dumps, conversations())))
        settings = ChatSettings(row_tokens=ROW, template="tulu")
        build_chat_caches(["chats.jsonl"], "chats", settings, beam_runner.pipeline_options([], workers=1))
        choose = random.Random(6)
        with write_shard("web", shard_path(0, 1), tokenizer.identity) as shard:
            for number in range(60):
                text = " ".join(choose.choices(WORDS, k=60))
                shard.writer.append(f"w{number}", tokenizer.encode_document(text), len(text), None)
        assert shard.entry is not None
        ledger = Ledger(
            name="web", tokenizer=tokenizer.identity, engine=EngineInfo(name="test", version="0"), sources=(),
            settings={}, code_version="test", shards=(shard.entry,), documents=60, tokens=shard.entry.tokens,
            bytes=shard.entry.bytes, accounting=Accounting(read=60, written=60),
        )  # fmt: skip
        save_ledger("web", ledger.sealed())
        Path("spec.yaml").write_text(SPEC)
        compile_file("spec.yaml").save("plan.json")
        ones = jnp.ones((1, 4), jnp.int32)
        model = build(MODEL, Execution("float32", LayerLoop.UNROLLED))
        params = model.init(jax.random.key(1), ones, ones)
        write_export("theirs", params, MODEL, ROW, SpecialTokens(None, 16383), {})
        source = read_source("theirs", (), None, False)
        import_model("theirs", source, "base", LayerLoop.UNROLLED, None, 0.0, print)
        go("tuned")
        yield folder


def go(out: str, at: str = "0 steps", limit: int | None = None) -> Summary:
    model = json.dumps(MODEL.model_dump())
    text = RUN.replace("OUT", out).replace("at: AT", f"at: {at}").replace("ARCHITECTURE", model)
    Path(f"{out}.yaml").write_text(text)
    run = load_run_file(f"{out}.yaml")
    return train(run, open_inputs(run, f"{out}.yaml"), print, limit)


def nll(params: Any, batch: Any) -> np.ndarray:
    """What each token costs, given those before it in its document; nan where nothing comes before."""
    model = build(MODEL, Execution("float32", LayerLoop.UNROLLED))
    params = jax.tree.map(jnp.asarray, params)
    output = model.apply(params, jnp.asarray(batch.tokens), jnp.asarray(batch.segment_ids))
    logits = np.asarray(output.hidden @ output.head.T, np.float64)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    costs = np.full(batch.tokens.shape, np.nan)
    costs[:, 1:] = -np.take_along_axis(logs[:, :-1], batch.tokens[:, 1:, None], -1)[..., 0]
    return costs


def test_only_answers_and_replayed_text_carry_loss(world: Path) -> None:
    """The loss of the first step is that of a brute-force sum over what the masks mark; the masks mark the answers."""
    inputs = open_inputs(load_run_file("tuned.yaml"), "tuned.yaml")
    tokenizer = load_tokenizer("tootsie-16k")
    names = [dataset.name for dataset in inputs.plan.datasets]
    lines = [json.loads(line) for line in Path("tuned/metrics.jsonl").read_text().splitlines()]
    rows = [line for line in lines if line["kind"] == "train"]
    first, _ = read_export("theirs")
    drawn = {"chats": 0, "web": 0}
    for step in range(len(rows)):
        batch = inputs.sampler.batch(step)
        mask = np.asarray(batch.loss_mask).copy()
        mask[:, 0] = False  # nothing in the row comes before
        assert rows[step]["tokens_scored"] == mask.sum()
        if step == 0:
            wanted = nll(first, batch)[mask].mean()
            assert rows[0]["loss"] == pytest.approx(wanted, rel=1e-5)
        for row, number in enumerate(batch.dataset):
            drawn[names[number]] += 1
            if names[number] == "web":
                assert batch.loss_mask[row].all()
                continue
            for segment in range(1, batch.segment_ids[row].max() + 1):
                inside = batch.segment_ids[row] == segment
                text = tokenizer.decode(batch.tokens[row][inside & batch.loss_mask[row]])
                assert text.replace("<|endoftext|>", "").replace("<|end_of_text|>", "").strip() == ANSWER
    assert drawn == {"chats": 160, "web": 40}
    assert rows[-1]["consumed"] == drawn


def test_held_out_conversations_are_priced_on_their_answers(world: Path) -> None:
    tokenizer, cache = load_tokenizer("tootsie-16k"), TokenCache.open("chats")
    plan = SimpleNamespace(cache_tokenizer=cache.ledger.tokenizer, datasets=(), sequence_length=ROW)
    held = open_held_out("chats", cache, "chats", plan, EvaluationSettings())
    eos = cache.ledger.tokenizer.eos_id
    priced = held.targets[held.scored]
    texts = tokenizer.decode(priced[priced != eos])
    assert texts.count(ANSWER) == 80
    assert not texts.replace(ANSWER, "").strip()
    assert (priced == eos).sum() == 80, "the end of each answer, and none of the row's padding"
    assert held.bytes == len(texts.encode())
    assert (held.documents, held.tokens, held.ends.sum()) == (80, len(priced), 80)
    assert (held.targets[held.ends] == eos).all()
    with pytest.raises(InputError, match=r"elsewhere/tokenizer\.json"):
        open_held_out("chats", cache, "chats", plan, EvaluationSettings(), "elsewhere/tokenizer.json")


def test_the_answer_is_learnt_and_the_question_is_not(world: Path) -> None:
    inputs = open_inputs(load_run_file("tuned.yaml"), "tuned.yaml")
    chats = [dataset.name for dataset in inputs.plan.datasets].index("chats")
    before, _ = read_export("theirs")
    after = load_weights("tuned", None, None).params
    batch = inputs.sampler.batch(0)
    rows = (batch.dataset == chats)[:, None] & (batch.segment_ids > 0)
    answers, questions = rows & batch.loss_mask, rows & ~batch.loss_mask
    answers[:, 0] = questions[:, 0] = False
    costs = [nll(params, batch) for params in (before, after)]
    assert costs[0][answers].mean() > 9, "untrained: about the logarithm of the vocabulary"
    assert costs[1][answers].mean() < 3
    assert costs[1][questions].mean() > costs[1][answers].mean() + 2


def test_the_run_says_where_it_comes_from_and_keeps_to_its_plan(world: Path) -> None:
    inputs = open_inputs(load_run_file("tuned.yaml"), "tuned.yaml")
    assert audit_run(inputs.plan, "tuned").first_deviation is None
    kinds = [entry["kind"] for entry in json.loads(Path("tuned/config.json").read_text())["lineage"]]
    assert kinds == ["import", "branch", "plan"]
    assert go("tuned").resumed_from == 40


def test_step_0_of_the_run_holds_the_imported_weights(world: Path) -> None:
    loaded = load_weights("tuned", 0, None)
    assert export_weights("again", loaded, ExportDtype.FLOAT32) == 0
    assert Path("again/model.safetensors").read_bytes() == Path("theirs/model.safetensors").read_bytes()


def test_an_imported_model_is_branched_off_and_not_trained_in_place(world: Path) -> None:
    with pytest.raises(SpecError, match=r"branch\.at: an imported model has one checkpoint.*Write 0 steps"):
        go("other", at="1 steps", limit=1)
    with pytest.raises(
        ArtefactError, match=r"this folder holds an imported model.*branch: \{run: base, at: 0 steps\}"
    ):
        go("base", limit=1)


def test_the_tuned_model_still_agrees_with_itself_elsewhere(world: Path, tmp_path: Path) -> None:
    """Export, import, compare: the way to another program and back."""
    loaded = load_weights("tuned", None, None)
    export_weights(str(tmp_path / "out"), loaded, ExportDtype.FLOAT32)
    ids = np.arange(12)[None] + 100
    logits = reference.compute_logits(loaded.params, MODEL, ids)
    np.savez(tmp_path / "logits.npz", input_ids=ids, logits=logits)
    compared = reference.read_reference(str(tmp_path / "logits.npz"))
    source = read_source(str(tmp_path / "out"), (), None, False)
    import_model("out", source, str(tmp_path / "back"), LayerLoop.UNROLLED, compared, 1e-6, print)
