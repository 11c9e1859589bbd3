"""``tootsie train RUN.yaml``: train, resume, export, sample."""

from __future__ import annotations

import enum
import os
import sys
from typing import Annotated, Any

import typer

from tootsie.datasets.default_command import with_default
from tootsie.datasets.errors import EXIT_FAULT
from tootsie.train import exchange_command, state_command
from tootsie.train.allocator import keep_freed_memory, on_cpu
from tootsie.train.lint_command import lint_command, lint_lines


class HostDetection(enum.StrEnum):
    """How the processes of a run find each other when they are not told."""

    AUTO = "auto"
    """JAX asks the machine."""
    ONE = "one"
    """There is one, whatever the machine says."""


app = typer.Typer(
    cls=with_default("run"),
    no_args_is_help=True,
    add_completion=False,
    help="Train a model through the phases of a plan: tootsie train RUN.yaml",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command("run")
def run_command(
    run_file: Annotated[str, typer.Argument(metavar="RUN.yaml", help="The run file.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, train nothing.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Stop after that many steps, with a checkpoint.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="In place of the run file's seed.")
    ] = None,
    hosts: Annotated[
        HostDetection | None,
        typer.Option(
            envvar="TOOTSIE_HOSTS",
            help="auto: JAX asks the TPU pod, Slurm, Open MPI or Kubernetes who takes part (left out: on a TPU only); one: none.",
        ),
    ] = None,
    coordinator: Annotated[
        str | None,
        typer.Option(
            envvar="JAX_COORDINATOR_ADDRESS",
            metavar="HOST:PORT",
            help="Where the processes meet, in the first of them.",
        ),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, envvar="JAX_NUM_PROCESSES", help="How many there are.")
    ] = None,
    process: Annotated[
        int | None, typer.Option(min=0, envvar="JAX_PROCESS_ID", help="Number of this one, from 0.")
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            min=0.1, help="Minutes without a step until several processes, or one with --restarts, are ended."
        ),
    ] = 60,
    restarts: Annotated[
        int,
        typer.Option(
            min=0,
            help="Start the trainer again where it crashes or hangs, so often in a row without a new step.",
        ),
    ] = 0,
) -> None:
    """Train, or continue: the same command resumes from the newest good checkpoint."""
    if restarts and not dry_run:
        from tootsie.train.supervisor import supervise

        options: dict[str, Any] = {
            "--limit": limit,
            "--seed": seed,
            "--hosts": hosts,
            "--coordinator": coordinator,
        }
        options |= {"--processes": processes, "--process": process, "--patience": patience}
        given = [f"{name}={value}" for name, value in options.items() if value is not None]
        command = [sys.executable, "-m", "tootsie.train", "run", run_file, *given]
        raise typer.Exit(supervise(command, restarts, patience * 60, lambda line: typer.echo(line, err=True)))
    if on_cpu():
        keep_freed_memory()  # before JAX is imported

    from tootsie.train.inputs import open_inputs
    from tootsie.train.run_file import load_run_file

    run = load_run_file(run_file)
    if seed is not None:
        run = run.model_copy(update={"seed": seed})
    if dry_run:
        inputs = open_inputs(run, run_file)
        for line in (*describe(run, inputs), *lint_lines(run, inputs)):
            typer.echo(line)
        return

    from tootsie.train.host_watch import HostSettings
    from tootsie.train.hosts import is_first
    from tootsie.train.joint_run import train_together

    detect = None if hosts is None else hosts is HostDetection.AUTO
    settings = HostSettings(detect, coordinator, processes, process, patience * 60)
    summary = train_together(run, lambda: open_inputs(run, run_file), settings, limit, run_file)
    for line in summarise(run, summary) if is_first() else ():
        typer.echo(line)
    if summary.told_to_end:
        raise typer.Exit(EXIT_FAULT)


@app.command("sample")
def sample_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run file, or the folder of a run.")],
    prompt: Annotated[list[str], typer.Option(help="Beginning to continue; give it once or more.")],
    step: Annotated[int | None, typer.Option(help="Checkpoint; the newest by default.")] = None,
    weights: Annotated[
        str | None, typer.Option(help="hot or ema; ema by default where there is one.")
    ] = None,
    length: Annotated[str, typer.Option(help="New tokens for each prompt.")] = "64 tokens",
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the likeliest token.")] = 0.7,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Another seed, another text.")] = 0,
) -> None:
    """Let a checkpoint continue some text."""
    from tootsie.datasets.errors import SpecError
    from tootsie.tokenize.ledger import TokenizerIdentity
    from tootsie.tokenize.tokenizers import tokenizer_of
    from tootsie.train.cadence import parse_tokens
    from tootsie.train.generate import make_generate, prompt_ids, until_end
    from tootsie.train.weights import load_weights, run_folder, weight_kind

    try:
        new_tokens = parse_tokens(length).amount
    except ValueError as error:
        raise SpecError(str(error), field="--length") from None
    loaded = load_weights(run_folder(run), step, weight_kind(weights))
    identity = TokenizerIdentity.model_validate(loaded.record.config["tokenizer"])
    tokenizer = tokenizer_of(identity, file=run)
    generate = make_generate(loaded.model, new_tokens, temperature)
    ids = generate(loaded.params, [prompt_ids(tokenizer, text) for text in prompt], seed)
    for text, written in zip(prompt, ids, strict=True):
        typer.echo(f"{text}{tokenizer.decode(until_end(written, identity.eos_id))}\n")


app.command("import")(exchange_command.import_command)
app.command("export")(exchange_command.export_command)
app.command("anneal")(exchange_command.anneal_command)
app.command("lm-eval")(exchange_command.lm_eval_command)
app.add_typer(state_command.app, name="state")
app.command("pin")(state_command.pin_command)
app.command("unpin")(state_command.unpin_command)
app.command("lint")(lint_command)


@app.command("precompile")
def precompile_command(
    run_file: Annotated[str, typer.Argument(metavar="RUN.yaml", help="The run file.")],
    topology: Annotated[
        str, typer.Option(help="Of one slice: GENERATION:SIZES, such as v5e:16x16 or v4:8x8x16.")
    ],
    slices: Annotated[int, typer.Option(min=1, help="How many of them.")] = 1,
    search: Annotated[
        bool,
        typer.Option(
            "--search",
            help="Try what to compute again, how many rows at a time, then tensor and sequence, until it fits.",
        ),
    ] = False,
    phase: Annotated[list[str] | None, typer.Option(help="Only these phases; give it once or more.")] = None,
) -> None:
    """Compile the step of each phase for a TPU pod that is not there; print memory, FLOPs, traffic and time beside the floor."""
    os.environ["JAX_PLATFORMS"] = "cpu"  # the TPU's compiler is asked, never its driver
    from tootsie.datasets.yaml_source import YamlSource
    from tootsie.mixtures.plan import Plan
    from tootsie.train.inputs import bos_of, check_vocabulary
    from tootsie.train.precompile import precompile
    from tootsie.train.precompile_text import EXPLANATION, lines_of
    from tootsie.train.run_file import load_run_file, resolve_architecture

    run = load_run_file(run_file)
    plan = Plan.load(run.plan)
    architecture = resolve_architecture(run.architecture, YamlSource(run_file, None, {}))
    bos_id = None
    if plan.tokenizer is not None:  # a plan from dataset cards has none yet
        check_vocabulary(architecture, plan, run_file)
        bos_id = bos_of(plan.tokenizer)
    programs = precompile(
        architecture,
        run.devices,
        run.compute_dtype.value,
        plan,
        bos_id,
        topology,
        slices,
        search,
        typer.echo,
        run_file,
        phase,
    )
    for names, program in programs:
        for line in lines_of(names, program):
            typer.echo(line)
    for line in EXPLANATION:
        typer.echo(line)


def describe(run: Any, inputs: Any) -> list[str]:
    """Return what a dry run prints: the model and the phases."""
    from tootsie.train.architecture import flops_per_token, parameter_count

    plan, architecture = inputs.plan, inputs.architecture
    total = parameter_count(architecture)
    flops = flops_per_token(architecture, plan.sequence_length)
    lengths = dict.fromkeys(f"{plan.length_of(phase):,}" for phase in plan.phases)
    lines = [
        f"plan {plan.name} {plan.hash[:12]}, {plan.total_steps:,} steps of rows of {' and '.join(lengths)} tokens"
    ]
    lines.append(f"model {total:,} parameters, {flops / 1e6:,.1f} MFLOP per token; writes to {run.out}")
    for phase in plan.phases:
        peak = max(plan.learning_rate(step) for step in (phase.first_step, phase.end_step - 1))
        lines.append(
            f"  {phase.name}: steps {phase.first_step:,} to {phase.end_step:,}, "
            f"batch {phase.batch_size:,} × {plan.length_of(phase):,}, "
            f"learning rate up to {peak:.3g}, z-loss {phase.settings.z_loss:g}, EMA {phase.settings.ema_beta}"
        )
    lines += [
        f"  held out: {data.name}, {data.documents:,} documents, {data.tokens:,} tokens"
        for data in inputs.held_out
    ]
    return lines


def summarise(run: Any, summary: Any) -> list[str]:
    """Return what a run prints at its end."""
    reason = "by SIGTERM" if summary.told_to_end else "by --limit"
    state = "finished" if summary.finished else f"stopped {reason}; the same command continues"
    progress = summary.progress
    lines = [
        f"{state}: step {progress.steps:,}, {progress.tokens:,} tokens, {summary.seconds:,.0f} s, "
        f"{summary.tokens_per_second:,.0f} tokens/s in the median step"
    ]
    for name, kinds in summary.scores.items():
        figures = ", ".join(f"{kind} {score.bits_per_byte:.4f}" for kind, score in kinds.items())
        lines.append(f"  {name}: {figures} bits per byte")
    if summary.finished and run.export:
        lines.append(f"  exported to {run.out.rstrip('/')}/export")
    return lines
