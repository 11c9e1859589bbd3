"""The harness itself, over a tiny model, on tasks made here: multiple choice, a whole text, and generation."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import typer.main

pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed: make lm-eval")

from tootsie.datasets.command_line import run_command
from tootsie.datasets.errors import SpecError
from tootsie.train.architecture import Architecture
from tootsie.train.command import app
from tootsie.train.export import write_export
from tootsie.train.importing import import_model, read_source
from tootsie.train.llama_config import SpecialTokens
from tootsie.train.lm_eval_adapter import generation_of, open_scorer
from tootsie.train.model import Execution, LayerLoop, build
from tootsie.train.rope import Rope

MODEL = Architecture(
    vocabulary_size=16_384, model_size=16, layers=1, heads=2, kv_heads=1, head_size=8, mlp_size=32,
    rope=Rope(theta=10_000, scaling=None), tied_embeddings=True, initializer_scale=0.5,
)  # fmt: skip
ROWS = [
    {"question": f"Which word follows number {n}?", "choices": ["stone", "river", "engine"], "answer": n % 3}
    for n in range(9)
]
COMMON = """
dataset_path: json
dataset_kwargs: {data_files: {test: FILE}}
test_split: test
"""
TASKS = {
    "made_choice": "output_type: multiple_choice\ndoc_to_text: '{{question}}'\ndoc_to_choice: '{{choices}}'\n"
    "doc_to_target: answer\nmetric_list: [{metric: acc}]\n",
    "made_text": "output_type: loglikelihood_rolling\ndoc_to_text: ''\ndoc_to_target: '{{question}}'\n"
    "metric_list: [{metric: bits_per_byte}]\n",
    "made_answer": "output_type: generate_until\ndoc_to_text: '{{question}}'\ndoc_to_target: '{{choices[answer]}}'\n"
    "generation_kwargs: {until: ['?'], max_gen_toks: 6, do_sample: false}\nmetric_list: [{metric: exact_match}]\n",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("harness")
    ones = jnp.ones((1, 4), jnp.int32)
    params = build(MODEL, Execution("float32", LayerLoop.UNROLLED)).init(jax.random.key(0), ones, ones)
    write_export(str(folder / "theirs"), params, MODEL, 64, SpecialTokens(None, 16383), {})
    source = read_source(str(folder / "theirs"), (), None, False)
    import_model("theirs", source, str(folder / "run"), LayerLoop.UNROLLED, None, 0.0, print)
    (folder / "tasks").mkdir()
    (folder / "rows.json").write_text("\n".join(map(json.dumps, ROWS)))
    for name, text in TASKS.items():
        common = COMMON.replace("FILE", str(folder / "rows.json"))
        (folder / "tasks" / f"{name}.yaml").write_text(f"task: {name}\n{common}{text}")
    arguments = [
        "lm-eval",
        str(folder / "run"),
        "--tokenizer",
        "tootsie-16k",
        "--include",
        str(folder / "tasks"),
    ]
    arguments += [part for name in TASKS for part in ("--task", name)]
    code = run_command(
        typer.main.get_command(app), [*arguments, "-o", str(folder / "out.json")], name="tootsie train"
    )
    assert code == 0
    return folder, json.loads((folder / "out.json").read_text())


def test_the_harness_reports_what_the_scorer_says(found: tuple[Path, dict[str, Any]]) -> None:
    folder, out = found
    scorer = open_scorer(str(folder / "run"), None, None, "tootsie-16k", None, 4)
    right = 0
    for row in ROWS:
        nats = [scorer.continuations([(row["question"], f" {choice}")])[0].nats for choice in row["choices"]]
        right += nats.index(max(nats)) == row["answer"]
    assert out["results"]["made_choice"]["acc,none"] == pytest.approx(right / 9)
    texts = [row["question"] for row in ROWS]
    bits = -sum(scorer.whole_texts(texts)) / math.log(2) / sum(len(text.encode()) for text in texts)
    assert out["results"]["made_text"]["bits_per_byte,none"] == pytest.approx(bits, rel=1e-4)
    assert out["results"]["made_answer"]["exact_match,none"] == 0.0
    assert out["truncated_contexts"] == 0


def test_tasks_that_are_not_there_are_named(found: tuple[Path, dict[str, Any]], capsys: Any) -> None:
    folder, _ = found
    arguments = [
        "lm-eval",
        str(folder / "run"),
        "--tokenizer",
        "tootsie-16k",
        "--task",
        "no_such_task_at_all",
    ]
    assert run_command(typer.main.get_command(app), arguments, name="tootsie train") == 2
    assert "no such task" in capsys.readouterr().err


def test_a_model_without_a_tokenizer_needs_one_named(found: tuple[Path, dict[str, Any]]) -> None:
    with pytest.raises(SpecError, match="came without a tokenizer"):
        open_scorer(str(found[0] / "run"), None, None, None, None, 4)


def test_generation_settings_are_honoured_or_refused() -> None:
    generation, temperature = generation_of(
        "a", {"until": "x", "max_gen_toks": 3, "do_sample": False, "temperature": 0.9}
    )
    assert (generation.stops, generation.new_tokens, temperature) == (("x",), 3, 0.0)
    assert generation_of("a", {"do_sample": True})[1] == 1.0
    with pytest.raises(SpecError, match=r"generation_kwargs\.num_beams"):
        generation_of("a", {"num_beams": 4})
