"""Run files: what is refused, and how it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.datasets.yaml_source import YamlSource
from tootsie.train.architecture import PRESETS
from tootsie.train.evaluation_sets import EvaluationSet
from tootsie.train.run_file import load_run_file, resolve_architecture

GOOD = """
plan: plan.json
out: run
architecture: tootsie-demo
evaluation:
  sets: {arxiv: tokens/arxiv}
  every: 40 steps
caches: {arxiv: "memory://there", local: /abs}
tokenizer: base/tokenizer.json
"""


def write(folder: Path, text: str) -> str:
    path = folder / "RUN.yaml"
    path.write_text(text)
    return str(path)


def test_paths_are_relative_to_the_run_file(tmp_path: Path) -> None:
    run = load_run_file(write(tmp_path, GOOD))
    assert run.plan == f"{tmp_path}/plan.json"
    assert run.evaluation.sets == {"arxiv": EvaluationSet(cache=f"{tmp_path}/tokens/arxiv")}
    assert run.caches == {"arxiv": "memory://there", "local": "/abs"}
    assert run.tokenizer is not None
    assert run.tokenizer.endswith("/base/tokenizer.json")
    assert run.evaluation.every == (40, "steps")


def test_a_run_file_in_the_working_folder_keeps_its_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, GOOD)
    monkeypatch.chdir(tmp_path)
    assert load_run_file("RUN.yaml").plan == "plan.json"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("evaluaton: {}", r"RUN.yaml:\d+: evaluaton: unknown setting. Did you mean 'evaluation'\?"),
        ("checkpoints: {evry: 5 steps}", r"checkpoints.evry: unknown setting. Did you mean 'every'\?"),
        ("checkpoints: {every: 5}", "checkpoints.every: 5 has no unit; write for example '5 steps'"),
        ("samples: {length: 3 miles}", "'miles' is not a unit"),
        ("compute_dtype: float16", "compute_dtype: Input should be 'float32' or 'bfloat16'"),
        (
            "architecture: tootsie-demi",
            r"architecture: no such preset \(found 'tootsie-demi'\). Did you mean 'tootsie-demo'",
        ),
        (
            "architecture: {preset: tootsie-demo, layer: 3}",
            r"architecture.layer: unknown setting. Did you mean 'layers'",
        ),
        (
            "architecture: {preset: tootsie-demo, rope: {theta: 5}}",
            "architecture.rope.scaling: this setting is required",
        ),
        (
            "architecture: {preset: tootsie-demo, kv_heads: 2}",
            r"heads \(3\) must be a multiple of kv_heads \(2\)",
        ),
        (
            "architecture: {preset: tootsie-demo, rope: {theta: 5, scalin: null}}",
            r"architecture.rope.scalin: unknown setting. Did you mean 'scaling'\?",
        ),
        ("plan: [", r"RUN.yaml:\d+: not valid YAML"),
        ("plan: ''", "plan: String should have at least 1 character"),
        ("out: ''", "out: String should have at least 1 character"),
        ("plan: a\nplan: b", "the key 'plan' stands twice"),
        ("seed: -1", r"seed: Input should be greater than or equal to 0 \(found -1\)"),
        ("seed: 99999999999999999999", "seed: Input should be less than or equal to 4294967295"),
        ("samples: {temperature: 1e999}", "samples.temperature: Input should be a finite number"),
        ("samples: {length: 3 steps}", "samples.length: this amount is in tokens"),
        ("architecture: 7", r"architecture: write a preset's name, or a mapping of sizes.*\(found 7\)"),
        ("architecture: {preset: [a]}", "architecture: write a preset's name"),
        (
            "devices: {compiler_options: {xla_some: 1.5}}",
            r"xla_some: write a whole number, true, false or a string \(found 1.5\)",
        ),
        (
            "architecture: {preset: tootsie-demo, rope: {theta: 1e999, scaling: null}}",
            "rope.theta: .* finite",
        ),
    ],
)
def test_faults_are_named_with_the_way_out(tmp_path: Path, change: str, message: str) -> None:
    key = change.split(":")[0]
    kept = [line for line in GOOD.splitlines() if not line.startswith(f"{key}:")]
    with pytest.raises(SpecError, match=message):
        load_run_file(write(tmp_path, "\n".join([*kept, change])))


def test_a_required_setting_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="out: this setting is required"):
        load_run_file(write(tmp_path, "plan: p\narchitecture: tootsie-demo\n"))
    with pytest.raises(SpecError, match="a run file is a mapping"):
        load_run_file(write(tmp_path, "- plan\n"))


def test_a_preset_can_be_changed_field_by_field() -> None:
    found = resolve_architecture(
        {"preset": "tootsie-demo", "vocabulary_size": 512}, YamlSource("RUN.yaml", None, {})
    )
    assert found == PRESETS["tootsie-demo"].model_copy(update={"vocabulary_size": 512})
