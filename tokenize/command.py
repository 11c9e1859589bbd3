"""``tootsie tokenize IN OUT``: build, verify, inspect and describe token caches."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tootsie.tokenize import look
from tootsie.tokenize.chat.command import chat_command
from tootsie.tokenize.exchange.command import export_command, import_command

if TYPE_CHECKING:
    from tootsie.tokenize.cache import TokenCache
    from tootsie.tokenize.job import Job


class _BuildByDefault(TyperGroup):
    """Makes ``tokenize IN OUT`` short for ``tokenize build IN OUT``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["build", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_BuildByDefault,
    no_args_is_help=True,
    add_completion=False,
    help="Documents to a sharded Arrow token cache: tootsie tokenize IN OUT",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command("build", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def build_command(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT... OUTPUT",
            help="Corpus folders (with _manifest.json) or jsonl[.gz|.zst] files, globs, brace ranges; then the folder to make. "
            "Options that are not listed here go to the Beam runner.",
        ),
    ],
    tokenizer: Annotated[
        str,
        typer.Option(
            help="tootsie-16k, tootsie-4k, llama3, llama3:PATH, cl100k_base:PATH, other tiktoken encodings, PATH/tokenizer.json."
        ),
    ] = "tootsie-16k",
    validation_fraction: Annotated[
        float,
        typer.Option(
            help="Share of documents to hold out, by a hash of their id: makes OUTPUT/train and OUTPUT/validation."
        ),
    ] = 0.0,
    name: Annotated[
        str | None, typer.Option(help="Name of the dataset; by default that of the corpus.")
    ] = None,
    shards: Annotated[int | None, typer.Option(help="Number of training shards.")] = None,
    shard_tokens: Annotated[
        int | None,
        typer.Option(help="Target size of a shard in tokens, reckoned from the bytes of text (16.8M)."),
    ] = None,
    add_bos: Annotated[
        bool | None,
        typer.Option("--add-bos/--no-add-bos", help="Begin documents with BOS (by the tokenizer)."),
    ] = None,
    add_eos: Annotated[
        bool | None, typer.Option("--add-eos/--no-add-eos", help="End documents with EOS (yes).")
    ] = None,
    allow_special: Annotated[
        bool,
        typer.Option(
            "--allow-special",
            help="Encode text that spells a special token as that token: only for documents that you wrote yourself.",
        ),
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            help="auto, tiktoken or gigatoken. auto: gigatoken, where it is installed and has proved to give tiktoken's ids."
        ),
    ] = "auto",
    workers: Annotated[
        int | None, typer.Option(help="Worker processes on this machine; 0: one for each core.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Read only so many documents.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed holds out other documents.")] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the input, show the shards, write nothing.")
    ] = False,
) -> None:
    """Build a cache, or continue an interrupted build: the same command ends with the same bytes."""
    from tootsie.datasets import fork_server

    with fork_server.workers_ahead(None if dry_run else workers):
        fork_server.preload(importlib.import_module, "tootsie.tokenize.shard_build")
        from tootsie.datasets import beam_runner
        from tootsie.datasets.errors import SpecError
        from tootsie.datasets.sole_writer import sole_writer
        from tootsie.tokenize.build import BuildSettings, build_caches, plan_jobs
        from tootsie.tokenize.engines import Engine
        from tootsie.tokenize.identity import SPECIAL_SUFFIX

        located, beam_arguments = beam_runner.split_arguments(paths)
        if len(located) < 2:
            raise SpecError(
                "an input and an output are needed", value=" ".join(located), remedy="tootsie tokenize IN OUT"
            )
        *inputs, output = located
        settings = BuildSettings(
            tokenizer=tokenizer + SPECIAL_SUFFIX if allow_special else tokenizer,
            name=name,
            validation_fraction=validation_fraction,
            seed=seed,
            shards=shards,
            shard_tokens=shard_tokens,
            limit=limit,
            add_bos=add_bos,
            add_eos=add_eos,
            engine=Engine.named(engine),
        )
        settings.preload(None)
        options = beam_runner.pipeline_options(beam_arguments, workers=workers, job_name="tootsie-tokenize")
        if dry_run:
            for job in plan_jobs(inputs, output, settings):
                documents = sum(part.stop - part.first for part in job.tasks[0].slices)
                typer.echo(
                    f"{job.folder}: {job.key.name} {job.key.split}, {len(job.tasks)} shards from "
                    f"{sum(file.documents for source in job.key.sources for file in source.files):,} documents "
                    f"({documents:,} read for the first), {job.key.tokenizer.name} {job.key.tokenizer.dtype}"
                    + (", finished already" if job.finished else "")
                )
            return
        with sole_writer(output):
            for cache in build_caches(inputs, output, settings, options, show_progress):
                print_books(cache)


app.command("chat", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(chat_command)
app.command("import", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(
    import_command
)
app.command("export")(export_command)


@app.command("verify")
def verify_command(
    caches: look.Caches,
    sample: Annotated[
        int,
        typer.Option(
            min=0, help="Also decode so many documents, spread evenly, and encode their text again."
        ),
    ] = 0,
    tokenizer: look.TokenizerName = None,
    source: Annotated[
        list[str] | None,
        typer.Option(help="Also compare this input of the build with what it was then. Repeatable."),
    ] = None,
    identity: Annotated[
        str | None,
        typer.Option(help="Also check that it is this very cache: the ledger's hash, or its beginning."),
    ] = None,
) -> None:
    """Read every byte: checksums, counts, ids, BOS and EOS of each document, histograms."""
    from tootsie.tokenize.cache import TokenCache
    from tootsie.tokenize.verification import verify, verify_identity, verify_sample, verify_sources

    for url in caches:
        cache = TokenCache.open(url)
        if identity is not None:
            verify_identity(cache, identity)
        found = verify(cache)
        line = (
            f"{url}: whole, {found.shards:,} shards, {found.documents:,} documents, {found.tokens:,} tokens"
        )
        if sample:
            again = verify_sample(cache, sample, tokenizer)
            line += f", {again:,} documents encoded again with equal ids"
        if source:
            line += f", {verify_sources(cache, source):,} source files as they were"
        typer.echo(line)


app.command("inspect")(look.inspect_command)
app.command("stats")(look.stats_command)
app.command("diff")(look.diff_command)


def print_books(cache: TokenCache) -> None:
    """Print what was read, written and dropped."""
    ledger = cache.ledger
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in ledger.accounting.dropped.items())
    mended = "".join(f"; {count:,} {what}" for what, count in ledger.counters.items())
    typer.echo(
        f"{cache.url}: {ledger.name} {ledger.split}: read {ledger.accounting.read:,} = written {ledger.documents:,} + "
        f"dropped {sum(ledger.accounting.dropped.values()):,}" + (f" ({dropped})" if dropped else "") + mended
    )
    typer.echo(
        f"{cache.url}: {ledger.tokens:,} tokens ({ledger.tokenizer.name}, {ledger.tokenizer.dtype}), "
        f"{ledger.bytes / ledger.tokens:.2f} bytes a token, {len(ledger.shards):,} shards, "
        f"encoded by {ledger.engine.name} {ledger.engine.version}"
    )


def show_progress(jobs: list[Job]) -> Any:
    """Print what is to be known of the jobs; return a context manager that shows finished shards, on a terminal only."""
    import contextlib

    for note in dict.fromkeys(note for job in jobs for note in job.notes):
        typer.echo(note, err=True)
    if not sys.stderr.isatty():
        return contextlib.nullcontext()
    return _bar(jobs)


def _bar(jobs: list[Job]) -> Any:
    import contextlib
    import threading
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from tootsie.tokenize.job import finished_shards

    @contextlib.contextmanager
    def shown() -> Iterator[None]:
        columns = [
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        ]
        stop = threading.Event()
        with Progress(*columns, console=Console(stderr=True, markup=False)) as bar:
            task = bar.add_task("tokenize (shards)", total=sum(len(job.tasks) for job in jobs))

            def watch() -> None:
                while not stop.wait(0.5):
                    bar.update(task, completed=finished_shards(jobs))

            thread = threading.Thread(target=watch, daemon=True)
            thread.start()
            try:
                yield
            finally:
                stop.set()
                thread.join()
                bar.update(task, completed=finished_shards(jobs))

    return shown()
