"""``tootsie tokenize chat``: conversations to a supervised cache."""

from __future__ import annotations

import datetime
from typing import Annotated

import typer


def chat_command(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT... OUTPUT",
            help="Files with messages (role, content) or conversations (from, value): jsonl, Parquet, Arrow …, globs, "
            "brace ranges; then the folder to make. Options that are not listed here go to the Beam runner.",
        ),
    ],
    template: Annotated[
        str,
        typer.Option(help="llama3, chatml, tulu, or the path of a Jinja file with {% generation %} blocks."),
    ],
    row_tokens: Annotated[
        int,
        typer.Option(help="Tokens of a row: the sequence length of the plan that will draw from the cache."),
    ],
    tokenizer: Annotated[str, typer.Option(help="As for build.")] = "tootsie-16k",
    overlong: Annotated[
        str,
        typer.Option(help="A conversation longer than a row: drop, cut, split (rows of its own) or refuse."),
    ] = "drop",
    date: Annotated[
        str | None, typer.Option(help="What strftime_now of the template takes for today, YYYY-MM-DD.")
    ] = None,
    validation_fraction: Annotated[
        float,
        typer.Option(
            help="Share of conversations to hold out, by a hash of metadata.duplicate_cluster, or else of their id."
        ),
    ] = 0.0,
    name: Annotated[
        str | None, typer.Option(help="Name of the dataset; by default that of the folder.")
    ] = None,
    shards: Annotated[int | None, typer.Option(help="Number of training shards.")] = None,
    add_bos: Annotated[
        bool | None,
        typer.Option("--add-bos/--no-add-bos", help="Begin conversations with BOS (by the tokenizer)."),
    ] = None,
    add_eos: Annotated[
        bool | None, typer.Option("--add-eos/--no-add-eos", help="End conversations with EOS (yes).")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes on this machine; 0: one for each core.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Read only so many records.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed holds out other conversations.")] = 0,
) -> None:
    """Build a supervised cache: loss on what the assistant says, whole conversations packed into rows."""
    from tootsie.datasets import beam_runner
    from tootsie.datasets.errors import SpecError
    from tootsie.datasets.sole_writer import sole_writer
    from tootsie.tokenize.chat.build import ChatSettings, build_chat_caches
    from tootsie.tokenize.chat.shard import Overlong
    from tootsie.tokenize.chat.template import ChatTemplate, find_template
    from tootsie.tokenize.command import print_books, show_progress
    from tootsie.tokenize.tokenizers import load_tokenizer

    located, beam_arguments = beam_runner.split_arguments(paths)
    if len(located) < 2:
        raise SpecError(
            "an input and an output are needed",
            value=" ".join(located),
            remedy="tootsie tokenize chat IN OUT",
        )
    if overlong not in list(Overlong):
        raise SpecError(
            "no such choice", field="--overlong", value=overlong, remedy="Use " + ", ".join(Overlong)
        )
    try:
        day = None if date is None else datetime.date.fromisoformat(date)
    except ValueError:
        raise SpecError("not a date", field="--date", value=date, remedy="Write YYYY-MM-DD") from None
    *inputs, output = located
    settings = ChatSettings(
        row_tokens=row_tokens,
        template=template,
        tokenizer=tokenizer,
        overlong=Overlong(overlong),
        date=day,
        name=name,
        validation_fraction=validation_fraction,
        seed=seed,
        shards=shards,
        limit=limit,
        add_bos=add_bos,
        add_eos=add_eos,
    )
    compiled = ChatTemplate(find_template(template), load_tokenizer(tokenizer), day)
    if compiled.ordinary:
        typer.echo(
            f"note: {', '.join(compiled.ordinary)}: not in the vocabulary of {tokenizer}, so encoded as ordinary text",
            err=True,
        )
    options = beam_runner.pipeline_options(beam_arguments, workers=workers, job_name="tootsie-tokenize-chat")
    with sole_writer(output):
        for cache in build_chat_caches(inputs, output, settings, options, show_progress):
            print_books(cache)
            counters = cache.ledger.counters
            rows = cache.tokens // row_tokens
            typer.echo(
                f"{cache.url}: {rows:,} rows of {row_tokens:,}, {counters.get('padding_tokens', 0) / cache.tokens:.2%} padding, "
                f"loss on {counters.get('loss_tokens', 0) / cache.tokens:.1%} of the tokens"
            )
