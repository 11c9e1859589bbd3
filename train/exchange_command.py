"""``tootsie train import``, ``export`` and ``anneal``: models in and out, and short runs that compare mixtures."""

from __future__ import annotations

from typing import Annotated

import typer


def import_command(
    source: Annotated[str, typer.Argument(help="A Hugging Face folder, or a local .gguf file.")],
    out: Annotated[str, typer.Argument(help="Folder for the checkpoint; runs branch from it.")],
    reference: Annotated[
        str | None,
        typer.Option(help="A .npz or .safetensors with input_ids and logits that another program computed."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="Largest difference of a logit, in their standard deviations.")
    ] = 1e-3,
    layer_loop: Annotated[
        str, typer.Option(help="As in the run files to come: unrolled or stacked.")
    ] = "unrolled",
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="A setting of config.json that changes nothing; give it once or more."),
    ] = None,
    eos: Annotated[
        str | None, typer.Option(help="The token that ends a document, if not the source's.")
    ] = None,
    with_tokenizer: Annotated[bool, typer.Option("--tokenizer/--no-tokenizer", help="Take it along.")] = True,
) -> None:
    """Read a Llama from elsewhere into a checkpoint that a run may branch from; prove that it is the same model."""
    from tootsie.datasets.errors import SpecError
    from tootsie.train.importing import import_model, read_source
    from tootsie.train.model import LayerLoop
    from tootsie.train.reference import read_reference

    if layer_loop not in set(LayerLoop):
        raise SpecError(
            "no such layer loop", field="--layer-loop", value=layer_loop, remedy="Use unrolled or stacked"
        )
    compared = None if reference is None else read_reference(reference)
    found = read_source(source, ignore or (), eos, with_tokenizer)
    record = import_model(source, found, out, LayerLoop(layer_loop), compared, tolerance, typer.echo)
    typer.echo(
        f"imported {record.config['parameters']:,} parameters to {out}; in a run file: branch: {{run: {out}, at: 0 steps}}"
    )


def export_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run file, or the folder of a run.")],
    out: Annotated[str, typer.Argument(help="Folder for model.safetensors and config.json.")],
    step: Annotated[int | None, typer.Option(help="Checkpoint; the newest by default.")] = None,
    weights: Annotated[
        str | None, typer.Option(help="hot or ema; ema by default where there is one.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="float32, or bfloat16: rounded, half the size.")] = "float32",
) -> None:
    """Write a checkpoint as a Hugging Face Llama, and compare what was written bit for bit."""
    from tootsie.datasets.errors import SpecError
    from tootsie.train.export import ExportDtype
    from tootsie.train.weights import export_weights, load_weights, run_folder, weight_kind

    if dtype not in set(ExportDtype):
        raise SpecError("no such dtype", field="--dtype", value=dtype, remedy="Use float32 or bfloat16")
    loaded = load_weights(run_folder(run), step, weight_kind(weights))
    changed = export_weights(out, loaded, ExportDtype(dtype))
    rounding = f"; {changed:,} weights were rounded" if changed else ""
    typer.echo(
        f"exported step {loaded.record.step:,} ({loaded.kind.value}) to {out}; read again it is the same, bit for bit{rounding}"
    )


def anneal_command(
    spec_file: Annotated[
        str, typer.Argument(metavar="SPEC.yaml", help="Control, candidates, seeds and the start.")
    ],
) -> None:
    """Compare mixtures by short runs from one checkpoint, over seeds: a table of effects with confidence intervals."""
    from tootsie.datasets import storage
    from tootsie.datasets.sole_writer import sole_writer
    from tootsie.train.anneal import anneal
    from tootsie.train.anneal_spec import load_anneal_spec
    from tootsie.train.interrupt import leaving_at_once

    spec = load_anneal_spec(spec_file)
    with sole_writer(spec.out), leaving_at_once():
        anneal(spec, spec_file, typer.echo)
    typer.echo(storage.read_bytes(storage.join(spec.out, "effects.md")).decode())


def lm_eval_command(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run file, whose training mixture the prompts' format is held against; or the folder of a run.",
        ),
    ],
    task: Annotated[list[str], typer.Option(help="Name of a task; give it once or more.")],
    include: Annotated[list[str] | None, typer.Option(help="Folder with tasks of your own.")] = None,
    output: Annotated[str | None, typer.Option("-o", "--output", help="JSON file to write as well.")] = None,
    step: Annotated[int | None, typer.Option(help="Checkpoint; the newest by default.")] = None,
    weights: Annotated[
        str | None, typer.Option(help="hot or ema; ema by default where there is one.")
    ] = None,
    tokenizer: Annotated[str | None, typer.Option(help="Where to load it, if not by its name.")] = None,
    max_length: Annotated[
        int | None, typer.Option(min=2, help="Longest row in tokens; by default that of training.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Rows at once.")] = 8,
    shots: Annotated[int | None, typer.Option(min=0, help="Examples in front of each question.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many questions of each task.")] = None,
) -> None:
    """Run tasks of lm-evaluation-harness (extra lm-eval) over a checkpoint."""
    import json

    from tootsie.datasets import storage
    from tootsie.train.evaluation_lint import training_of
    from tootsie.train.lm_eval_adapter import evaluate, open_scorer
    from tootsie.train.weights import run_folder, weight_kind

    scorer = open_scorer(run_folder(run), step, weight_kind(weights), tokenizer, max_length, batch_size)
    training = training_of(run, scorer.tokenizer) if run.endswith((".yaml", ".yml")) else None
    found = evaluate(scorer, task, include or (), shots, limit, training)
    for name, figures in found["results"].items():
        for metric, value in figures.items():
            if isinstance(value, float):
                typer.echo(f"{name}  {metric}  {value:.4f}")
    for finding in found["format"]:
        typer.echo(f"warning: {finding['set']}: {finding['trait']}: {finding['message']}")
    typer.echo(f"contexts that lost their beginning: {found['truncated_contexts']:,}")
    if output is not None:
        storage.write_bytes(output, (json.dumps(found, indent=1, default=str) + "\n").encode())
