"""The commands, as a person runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from tootsie.datasets.command_line import run_command
from tootsie.mixtures.changes import list_changes
from tootsie.mixtures.command import app
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.sampler import Sampler
from tootsie.mixtures.trace import print_rows
from tootsie.tokenize.cache import TokenCache


def run(*arguments: object) -> int:
    return run_command(typer.main.get_command(app), [str(argument) for argument in arguments], "tootsie mix")


@pytest.fixture
def plan_file(example_folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run("compile", example_folder / "spec.yaml", "-o", example_folder / "plan.json") == 0
    capsys.readouterr()
    return example_folder / "plan.json"


def test_compile(example_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compile", example_folder / "spec.yaml", "-o", example_folder / "plan.json") == 0
    out = capsys.readouterr().out
    assert "note: phase 'enriched': until 320k tokens is" in out
    assert "plan.json: 3 phases, 4 datasets" in out
    first = (example_folder / "plan.json").read_bytes()
    assert run("compile", example_folder / "spec.yaml", "-o", example_folder / "plan.json") == 0
    assert (example_folder / "plan.json").read_bytes() == first
    assert b'"cache": "tokens/web/train"' in first


def test_compile_dry_run_and_seed(example_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            "compile", example_folder / "spec.yaml", "-o", example_folder / "plan.json", "--dry-run", "--json"
        )
        == 0
    )
    assert not (example_folder / "plan.json").exists()
    assert json.loads(capsys.readouterr().out)["plan"] is None
    assert run("compile", example_folder / "spec.yaml", "-o", example_folder / "plan.json", "--seed", 5) == 0
    assert Plan.load(str(example_folder / "plan.json")).seed == 5


def test_a_file_that_is_no_plan_is_not_overwritten(
    example_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = example_folder / "spec.yaml"
    before = spec.read_bytes()
    assert run("compile", spec, "-o", spec) == 2
    assert "spec.yaml: --output: the file is there already, and is not a plan" in capsys.readouterr().err
    assert spec.read_bytes() == before


def test_a_seed_that_no_plan_can_hold_is_refused(
    example_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run("compile", example_folder / "spec.yaml", "-o", example_folder / "plan.json", "--seed", 2**63) == 2
    )
    assert not (example_folder / "plan.json").exists()


def test_a_bad_spec_is_a_user_error(example_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = example_folder / "spec.yaml"
    spec.write_text(spec.read_text().replace("batch_size", "batchsize"))
    assert run("compile", spec, "-o", example_folder / "plan.json") == 2
    err = capsys.readouterr().err
    assert "unknown key 'batchsize'. Did you mean 'batch_size'?" in err
    assert "Traceback" not in err
    assert not (example_folder / "plan.json").exists()


def test_show(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", plan_file, "--picture", plan_file.parent / "plan.svg") == 0
    out = capsys.readouterr().out
    for text in (
        "cooldown  mixture cooldown",
        "questions",
        "epochs so far",
        "first pass ends in step",
        "changes",
        "batch_size",
    ):
        assert text in out
    assert (plan_file.parent / "plan.svg").read_bytes().startswith(b"<?xml")


def test_show_json(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", plan_file, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["steps"] == Plan.load(str(plan_file)).total_steps
    assert sum(row["sequences"] for row in summary["datasets"]) == summary["sequences"]


def test_show_refuses_other_pictures(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", plan_file, "--picture", "plan.bmp") == 2
    assert "a picture is .png or .svg (found 'plan.bmp')" in capsys.readouterr().err


def test_trace_names_the_documents_that_the_batch_holds(
    plan_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan.load(str(plan_file))
    step = plan.total_steps - 2
    assert run("trace", plan_file, "--step", step, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    batch = Sampler(plan).batch(step)
    assert [row["dataset"] for row in rows] == [plan.datasets[index].name for index in batch.dataset]
    for number, row in enumerate(rows):
        cache = TokenCache.open(plan.datasets[batch.dataset[number]].cache)
        ids: list[int] = []
        for document in row["documents"]:
            whole = cache.document(document["shard"], document["row"])
            assert whole.document_id == document["id"]
            ids += whole.input_ids[slice(*document["tokens"])].tolist()
        assert ids == batch.tokens[number].tolist()


def test_a_document_is_a_line_whatever_its_id_and_url_hold(capsys: pytest.CaptureFixture[str]) -> None:
    document = {
        "shard": 0,
        "row": 1,
        "id": "a\x1b[2J",
        "url": "https://e.org/\nrow 9\u202e",
        "tokens": [0, 5],
    }
    row = {"row": 0, "position": 7, "dataset": "web", "epoch": 0, "window": 3, "documents": [document]}
    print_rows([row])
    out = capsys.readouterr().out
    assert out.splitlines()[1:] == ["    shard 0 row 1  tokens 0-5  a␛[2J  https://e.org/␊row 9\ufffd"]


def test_trace_gives_urls_where_the_cache_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [
        {
            "id": f"page-{n}",
            "text": f"The page of number {n}. " * 9,
            "metadata": {"url": f"https://example.org/{n}"},
        }
        for n in range(40)
    ]
    del records[3]["metadata"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    from tootsie.tokenize.command import app as tokenize

    arguments = [str(tmp_path / "a.jsonl"), str(tmp_path / "tokens"), "--tokenizer", "tootsie-16k"]
    assert run_command(typer.main.get_command(tokenize), arguments, "tootsie tokenize") == 0
    (tmp_path / "spec.yaml").write_text(
        "name: run\nseed: 1\nsequence_length: 32\ndatasets: {web: {cache: tokens}}\n"
        "mixtures: {all: {groups: {all: {datasets: [web]}}}}\n"
        "phases: [{name: one, mixture: all, for: 6 steps, batch_size: 9, learning_rate: 1e-3}]\n"
    )
    assert run("compile", tmp_path / "spec.yaml", "-o", tmp_path / "plan.json") == 0
    capsys.readouterr()
    urls = {}
    for step in range(6):
        assert run("trace", tmp_path / "plan.json", "--step", step, "--json") == 0
        for row in json.loads(capsys.readouterr().out):
            urls |= {document["id"]: document.get("url") for document in row["documents"]}
    assert len(urls) > 30
    for name, url in urls.items():
        number = int(name.removeprefix("page-"))
        assert url == (None if number == 3 else f"https://example.org/{number}")
    assert run("trace", tmp_path / "plan.json", "--step", 0) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("  page-" in line and "  https://example.org/" in line for line in lines)


def test_trace_one_row(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("trace", plan_file, "--step", 3, "--row", 7) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("row 7  position 151  ")
    assert lines[1].startswith("    shard ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--step", "999999"], "--step: the plan has no such step (found 999999). The last is"),
        (["--step", "0", "--row", "48"], "--row: the step has no such row (found 48). The last is 47"),
    ],
)
def test_trace_outside(
    plan_file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run("trace", plan_file, *arguments) == 2
    assert message in capsys.readouterr().err


def test_trace_refuses_a_rebuilt_cache(
    plan_file: Path, write_cache: object, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("web", "wikipedia", "arxiv", "questions"):
        write_cache(plan_file.parent / "tokens" / name / "train", name, [100] * 99, 3)  # type: ignore[operator]
    assert run("trace", plan_file, "--step", "0") == 2
    assert "is not the one that the plan was compiled from" in capsys.readouterr().err


def test_help_is_light() -> None:
    code = (
        "import sys; from tootsie.mixtures.command import app; import typer.main; typer.main.get_command(app);"
        "print([m for m in ('jax', 'matplotlib', 'pyarrow', 'numpy', 'apache_beam') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_trace_needs_no_jax_and_no_matplotlib(plan_file: Path) -> None:
    code = (
        "import sys; from tootsie.mixtures.command import app; import typer.main\n"
        f"typer.main.get_command(app).main(['trace', {str(plan_file)!r}, '--step', '1', '--row', '0'], standalone_mode=False)\n"
        "assert not {'jax', 'matplotlib', 'apache_beam'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_a_run_is_amended(example_folder: Path, plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A branch may go on from where the run is; a spec that changes the past is refused by the first sequence."""
    spec = (example_folder / "spec.yaml").read_text()
    amended = example_folder / "amended.yaml"
    amended.write_text(
        "name: tootsie-roll\nbranch: {plan: plan.json, at: 3 steps}\n"
        "mixtures: {only: {groups: {all: {datasets: [wikipedia]}}}}\n"
        "phases: [{name: dessert, mixture: only, for: 2 steps}]\n"
    )
    assert run("amend", plan_file, amended, "--step", 3, "-o", example_folder / "amended.json") == 0
    assert "the first 3 steps" in capsys.readouterr().out
    assert run("diff", plan_file, example_folder / "amended.json") == 0
    out = capsys.readouterr().out
    assert "they part at sequence" in out
    assert "phase dessert: only in the second plan" in out
    assert run("diff", plan_file, example_folder / "amended.json", "--exit-code") == 1
    assert run("diff", plan_file, example_folder / "amended.json", "--exit-code", "--json") == 1
    capsys.readouterr()
    assert run("diff", plan_file, plan_file, "--exit-code") == 0
    capsys.readouterr()
    assert run("diff", plan_file, plan_file) == 0
    assert "the plans draw the same, step for step" in capsys.readouterr().out
    amended.write_text(spec.replace("seed: 17", "seed: 18"))
    assert run("amend", plan_file, amended, "--step", 3) == 2
    assert "the plans part at sequence 0, in step 0: seed 17 and 18" in capsys.readouterr().err


def test_what_changed_between_two_phases(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan.load(str(plan_file))
    first, second = plan.phases[0].name, plan.phases[1].name
    assert run("changes", plan_file, first, second) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in shown] == [
        change.field for change in list_changes(plan.phases[0], plan.phases[1], (0, 0))
    ]
    assert run("changes", plan_file, first, first) == 0
    assert "differ in nothing" in capsys.readouterr().out
    assert run("changes", plan_file, first, "breakfast") == 2
    assert f"the plan has no such phase (found 'breakfast'). It has {first}" in capsys.readouterr().err


def test_find(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("trace", plan_file, "--step", 1, "--row", 0, "--json") == 0
    document = json.loads(capsys.readouterr().out)[0]["documents"][0]["id"]
    assert run("find", plan_file, "--document", document) == 0
    out = capsys.readouterr().out
    assert "step 1 row 0" in out
    assert "times in the run" in out
    assert run("find", plan_file, "--document", "no such thing") == 2
