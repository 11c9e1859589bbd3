"""The training loop, from top to bottom.

At step n (after n updates) things happen in this order, each only if it is due: the metrics line, the held-out sets, the
samples, the checkpoint. A checkpoint stores how long the line files were, so whatever came after it is done again, the same
way, when the run resumes.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from tootsie.datasets import storage
from tootsie.datasets.errors import UserError
from tootsie.train import checkpoint, hosts, lineage
from tootsie.train.alarms import Alarm, Watcher
from tootsie.train.cadence import Duration, Progress, is_due
from tootsie.train.checkpoint import CheckpointRecord
from tootsie.train.checkpoint_writer import CheckpointWriter
from tootsie.train.devices import plan_computation
from tootsie.train.ema import in_device_memory
from tootsie.train.evaluate import Score, make_evaluate
from tootsie.train.evaluation_sets import averages
from tootsie.train.export import SpecialTokens, write_export
from tootsie.train.feed import feed
from tootsie.train.generate import make_generate, prompt_ids, until_end
from tootsie.train.inputs import Inputs, bos_of
from tootsie.train.metrics import Recorder, Unrecorded
from tootsie.train.model import build
from tootsie.train.norms import group_names, named_norms
from tootsie.train.optimizer import Guard, StepSettings
from tootsie.train.pins import pin
from tootsie.train.programs import BatchShape, StepPrograms, keep_programs
from tootsie.train.resolved import binding_of, resolve_config
from tootsie.train.run_file import RunFile
from tootsie.train.spikes import SpikeWindow
from tootsie.train.step import TrainingState, make_init, make_update, place_average, state_shapes


class TrainingStoppedError(UserError):
    """The run can't go on by itself: the loss is not finite."""


class Summary(NamedTuple):
    """How a run ended."""

    progress: Progress  # Where it stands now.
    finished: bool  # Whether that is the end of the plan.
    resumed_from: int | None  # Step of the checkpoint it began with; None for a new run.
    seconds: float  # Wall time of this invocation.
    tokens_per_second: float  # Of the median step, compilation and evaluation left out.
    scores: dict[str, dict[str, Score]]  # Last evaluation: by held-out set, then "hot" and "ema".
    told_to_end: bool = False  # Whether it stopped because one of several hosts was sent SIGTERM.


def train(
    run: RunFile,
    inputs: Inputs,
    tell: Callable[[str], None],
    limit: int | None = None,
    advance: Callable[[int], None] = lambda steps: None,
) -> Summary:
    """Train ``run`` to the end of its plan, from its newest good checkpoint where there is one.

    On several hosts each process calls this; the first alone writes, all but the arrays of checkpoints.

    Args:
      run: what to train and record.
      inputs: the plan and the data.
      tell: takes one line for the terminal at a time.
      limit: stop after that many steps of this invocation, with a checkpoint.
      advance: takes the number of updates done so far, after each.

    Raises:
      ArtefactError: checkpoints exist but none is good, or they belong to another plan or model.
      TrainingStoppedError: the loss is not finite.
    """
    started = time.perf_counter()
    if run.compilation.cache is not None:
        keep_programs(run.compilation.cache)
    plan, sampler, held_out, tokenizer, architecture = inputs
    folder = storage.join(run.out, "checkpoints")

    # What is computed: the model and the compiled functions.
    computation = plan_computation(
        run.devices,
        architecture,
        run.compute_dtype.value,
        run.layer_loop,
        [(phase.batch_size, plan.length_of(phase)) for phase in plan.phases],
        jax.devices(),
        tell,
        held_out_length=held_out[0].inputs.shape[1] if held_out else None,
    )
    split, mesh = computation.split, computation.split.mesh
    hosts.meet(mesh)
    model, whole = build(architecture, computation.execution), build(architecture, computation.whole)
    average = any(phase.settings.ema_beta is not None for phase in plan.phases)
    init = make_init(whole, average, mesh)
    guard = Guard(run.spikes.skip_sigmas is not None, run.spikes.update_clip is not None)
    update = make_update(model, bos_of(plan.cache_tokenizer), split, guard)
    evaluate = make_evaluate(model, run.evaluation.batch_size, split)
    shapes = state_shapes(init, split)
    generate = make_generate(whole, run.samples.length.amount, run.samples.temperature)

    # Where it begins: the newest good checkpoint of this very run, or step 0.
    config = resolve_config(run, plan, architecture, shapes.params)
    config["attention"] = computation.execution.attention.value
    binding = binding_of(run, plan, architecture)
    start = hosts.from_first("start", lambda: lineage.start_of(run, plan, binding, tell))
    found = start.record if start.own else None
    consumed = np.zeros(len(plan.datasets), np.int64)
    names = [dataset.name for dataset in plan.datasets]
    if found is None:
        hosts.from_first("foreign-records", lambda: refuse_foreign_records(run.out))
        tell(
            f"a new run: {config['parameters']:,} parameters, {plan.total_steps:,} steps, on {jax.default_backend()}"
        )
    if start.record is None:
        state = init(jax.random.key(run.seed))
    else:
        state = lineage.restore_state(start, shapes)
        consumed[:] = [start.record.consumed.get(name, 0) for name in names]
    state = place_average(state, split)
    writes = hosts.is_first()
    if found is not None:
        tell(f"resuming after step {found.step:,} of {plan.total_steps:,}")
    first = 0 if start.record is None else start.record.step
    window = SpikeWindow(run.spikes, () if start.record is None else start.record.spike_window)
    recorder: Recorder | Unrecorded = Unrecorded()
    config["lineage"] = list(start.lineage)
    if writes:
        recorder = Recorder(run.out, {} if found is None else found.lines, first, run.wandb)
        if found is not None:
            checkpoint.remove_replaced(folder, found.step)
        checkpoint.remove_unfinished(folder)  # nothing is deleted before all is known to fit
        lineage.keep_plan(run.out, plan)
        storage.write_bytes(storage.join(run.out, "config.json"), _json(config))
    scores: dict[str, dict[str, Score]] = {}
    durations: list[float] = []  # seconds per token of each step
    writer = CheckpointWriter(folder, found)
    groups = group_names(shapes.params)
    watcher = Watcher(run.watch, lambda *where: float(plan.lengths.passes(*where)))
    watcher.replay(recorder.kept("metrics.jsonl"), recorder.kept("alarms.jsonl"))

    if found is not None:
        now_run_by = {
            "code_version": config["code_version"],
            "backend": config["backend"],
            "devices": jax.device_count(),
        }
        recorder.record("timing", {"step": first, "resumed": now_run_by})

    def record(kind: str, entry: dict[str, Any]) -> None:
        """Record an entry, and what it gives alarm of."""
        if not writes:
            return
        recorder.record(kind, entry)
        for alarm in watcher.observe({"kind": kind, **entry}):
            raise_alarm(alarm)

    def raise_alarm(alarm: Alarm) -> None:
        recorder.record("alarm", alarm.record())
        if not alarm.first or not writes:
            return
        writer.finish()
        pinned = "no checkpoint to pin"
        if writer.newest is not None:
            pin(folder, writer.newest, f"{alarm.id.value} at step {alarm.step}: {alarm.message}")
            pinned = f"pinned checkpoint {writer.newest:,}"
        tell(f"ALARM {alarm.id.value} at step {alarm.step:,}: {alarm.message}; {pinned}")

    def counts(drawn: np.ndarray) -> dict[str, int]:
        return dict(zip(names, drawn.tolist(), strict=True))

    def evaluate_all(at: Progress) -> None:
        where = {"step": at.steps, "position": at.sequences, "tokens": at.tokens}
        for data in held_out:
            scores[data.name] = {}
            for kind, params in weights_of(state, at.steps):
                score = scores[data.name][kind] = evaluate(params, data)
                record("evaluation", {**where, "weights": kind, "dataset": data.name, **score._asdict()})
        for kind in dict.fromkeys(kind for kinds in scores.values() for kind in kinds):
            tags = {data.name: data.tags for data in held_out}
            each = {name: kinds[kind] for name, kinds in scores.items()}
            for tag, average in averages(each, tags).items():
                record("average", {**where, "weights": kind, "tag": tag, **average})
        if held_out:
            figures = "  ".join(
                f"{name} " + "/".join(f"{score.bits_per_byte:.4f}" for score in kinds.values())
                for name, kinds in scores.items()
            )
            tell(f"step {at.steps:,}  bits per byte ({'/'.join(next(iter(scores.values())))})  {figures}")

    def write_samples(at: Progress) -> None:
        if not run.samples.prompts:
            return
        kind, params = weights_of(state, at.steps)[-1]
        ids = generate(params, [prompt_ids(tokenizer, prompt) for prompt in run.samples.prompts], run.seed)
        for prompt, written in zip(run.samples.prompts, ids, strict=True):
            text = tokenizer.decode(until_end(written, plan.cache_tokenizer.eos_id))
            recorder.record(
                "sample",
                {"step": at.steps, "tokens": at.tokens, "weights": kind, "prompt": prompt, "text": text},
            )

    def save(at: Progress, phase: str, *, is_temporary: bool) -> None:
        planned = sampler.consumed(at.sequences)
        if counts(consumed) != planned:
            recorder.close()
            raise AssertionError(f"step {at.steps}: drew {counts(consumed)}, the plan says {planned}")
        recorder.sync()
        fields = CheckpointRecord(
            step=at.steps,
            position=at.sequences,
            tokens=at.tokens,
            phase=phase,
            consumed=counts(consumed),
            binding=binding,
            config=config,
            lines=recorder.written,
            temporary=is_temporary,
            averaged=state.ema is not None,
            lineage=start.lineage,
            spike_window=window.record(),
        )
        writer.write(state, fields)

    def weights_of(state: TrainingState, step: int) -> list[tuple[str, Any]]:
        """The weights to look at: hot, and the average where the phase of that step keeps one."""
        phase = plan.phase_of_step(max(0, step - 1))
        averaged = state.ema is not None and phase.settings.ema_beta is not None
        hot = ("hot", state.params)
        return [hot, ("ema", in_device_memory(state.ema))] if averaged else [hot]

    now = progress_at(plan, first)
    if found is None:
        evaluate_all(now)
        save(now, plan.phase_of_step(max(0, first - 1)).name, is_temporary=False)

    stop = plan.total_steps if limit is None else min(plan.total_steps, first + limit)
    coming = [phase for phase in plan.phases if phase.end_step > first and phase.first_step < stop]
    batches = [BatchShape(phase.batch_size, plan.length_of(phase)) for phase in coming]
    take_step = StepPrograms(update, shapes, mesh, batches, tell, run.compilation.ahead)
    logged = first  # steps told so far
    ending = False
    for step, batch in enumerate(feed(sampler, mesh, first, stop), first):
        began = time.perf_counter()
        phase = plan.phase_of_step(step)
        settings = window.limit(settings_of(plan, step))
        state, metrics = take_step(state, batch.rows, settings)
        if guard.skips:
            window.observe(float(metrics.loss), float(metrics.grad_norm))
            if metrics.skipped:
                tell(f"step {step + 1:,}: a spike, update skipped; loss {float(metrics.loss):.4f}")
        before, now = now, progress_at(plan, step + 1)
        consumed += np.bincount(batch.dataset, minlength=len(names))
        ends_phase, ends_stretch = now.steps == phase.end_step, now.steps in plan.boundaries

        permanent = ends_stretch or _due(run.checkpoints.every, before, now)
        ending = hosts.told_to_end(now.steps)
        saves = permanent or ending or now.steps == stop or _due(run.checkpoints.temporary_every, before, now)
        records = ends_phase or is_due(run.metrics_every, before, now)
        where = {"step": now.steps, "position": now.sequences, "tokens": now.tokens, "phase": phase.name}
        rate_used = float(settings.learning_rate)
        if records or saves:
            figures = {name: float(value) for name, value in metrics._asdict().items() if name != "norms"}
            if not all(map(math.isfinite, figures.values())):
                raise_alarm(watcher.non_finite(now.steps, phase.name, figures))
                writer.finish()
                recorder.close()
                raise TrainingStoppedError(
                    f"the loss, its gradient or the weights are not finite at step {now.steps:,}",
                    file=run.out,
                    field=f"phase {phase.name}",
                    value=figures,
                    remedy="The newest checkpoint is good; lower the learning rate or the clip norm from there",
                )
        if records:
            entry = {name: figures[name] for name in ("loss", "z_loss", "log_z")}
            entry |= {"learning_rate": rate_used, "batch_size": phase.batch_size}
            entry |= {name: figures[name] for name in ("grad_norm", "param_norm")}
            entry |= {"tokens_scored": int(metrics.scored), "ema_beta": phase.settings.ema_beta}
            if guard.skips:
                entry["skipped"] = bool(metrics.skipped)
            record("train", {**where, **entry, "consumed": counts(consumed)})
        if _due(run.watch.norms_every, before, now):
            record("norms", {**where, "learning_rate": rate_used, **named_norms(metrics.norms, groups)})
        seconds = time.perf_counter() - began
        durations.append(seconds / batch.tokens)
        advance(now.steps)
        size = batch.tokens
        speed = {"seconds": seconds, "batch_tokens": size, "tokens_per_second": size / seconds}
        record("timing", {"step": now.steps, **speed})
        if is_due(run.log_every, before, now) or ends_stretch:
            recent = durations[logged - first :]
            rate, logged = len(recent) / sum(recent), now.steps  # evaluation and checkpoints left out
            tell(
                f"step {now.steps:,}/{plan.total_steps:,}  {phase.name}  loss {float(metrics.loss):.4f}"
                f"  learning rate {rate_used:.2e}  {rate:,.0f} tokens/s"
            )
        if ends_stretch or _due(run.evaluation.every, before, now):
            evaluate_all(now)
        if ends_stretch or _due(run.samples.every, before, now):
            write_samples(now)
        if saves:
            save(now, phase.name, is_temporary=not permanent)
        if ending:
            break

    take_step.close()
    writer.finish()
    recorder.close()
    finished = now.steps == plan.total_steps
    if finished and run.export:
        kind, spread = weights_of(state, now.steps)[-1]
        params = hosts.to_first(spread)
        origin = {
            "weights": kind,
            "step": now.steps,
            "tokens": now.tokens,
            "plan": {"name": plan.name, "hash": plan.hash},
            "tokenizer": {"name": plan.cache_tokenizer.name, "fingerprint": plan.cache_tokenizer.fingerprint},
        }
        special = SpecialTokens(bos_of(plan.cache_tokenizer), plan.cache_tokenizer.eos_id)
        if writes:
            write_export(
                storage.join(run.out, "export"), params, architecture, plan.longest_sequence, special, origin
            )
    rate = 1 / float(np.median(durations)) if durations else 0.0
    resumed_from = None if found is None else found.step
    return Summary(now, finished, resumed_from, time.perf_counter() - started, rate, scores, ending)


def progress_at(plan: Any, step: int) -> Progress:
    """Return where a run stands after ``step`` updates."""
    position = plan.rows_of_step(step - 1)[1] if step else 0
    return Progress(step, position, plan.tokens_before(position))


def settings_of(plan: Any, step: int) -> StepSettings:
    """Return the training settings of the update from ``step`` to ``step + 1``, as float32 scalars."""
    given = plan.phase_of_step(step).settings
    values = StepSettings(
        learning_rate=plan.learning_rate(step),
        weight_decay=given.weight_decay,
        z_loss=given.z_loss,
        ema_beta=0.0 if given.ema_beta is None else given.ema_beta,
        clip_norm=math.inf if given.clip_norm is None else given.clip_norm,
        adam_beta1=given.adam_beta1,
        adam_beta2=given.adam_beta2,
        adam_epsilon=given.adam_epsilon,
    )
    return StepSettings(*(np.float32(value) for value in values))


def refuse_foreign_records(out: str) -> None:
    """Refuse to start from scratch over the records of a run whose checkpoints are gone, or over something else.

    Raises:
      UserError: ``metrics.jsonl`` has training steps, so a checkpoint must have existed; or ``config.json`` is no run's.
    """
    config = storage.join(out, "config.json")
    if storage.exists(config) and not (
        b'"run"' in (content := storage.read_bytes(config)) and b'"plan"' in content
    ):
        raise UserError(
            "this folder holds something else than a run", file=config, remedy="Choose another 'out'"
        )
    url = storage.join(out, "metrics.jsonl")
    if storage.exists(url) and b'"kind": "train"' in storage.read_bytes(url):
        raise UserError(
            "the run has trained before, but its checkpoints are missing",
            file=storage.join(out, "checkpoints"),
            remedy="Restore them, or choose another 'out' to start from scratch",
        )


def _due(every: Duration | None, before: Progress, now: Progress) -> bool:
    return every is not None and is_due(every, before, now)


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
