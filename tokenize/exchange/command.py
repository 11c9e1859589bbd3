"""``tootsie tokenize import`` and ``export``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tootsie.tokenize.exchange.token_file import Format

FORMATS = (
    "megatron (.bin and .idx), parquet (lists input_ids; also datasets' .arrow), olmo (.npy and .csv.gz), "
    "levanter (folder of a cache)."
)
FormatName = Annotated[str, typer.Argument(metavar="FORMAT", help=FORMATS)]


def import_command(
    form: FormatName,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT... OUTPUT",
            help="Files, prefixes, folders, globs and brace ranges; then the folder to make. "
            "Options that are not listed here go to the Beam runner.",
        ),
    ],
    tokenizer: Annotated[str, typer.Option(help="The tokenizer that made the ids; as for build.")],
    add_bos: Annotated[
        bool | None,
        typer.Option("--add-bos/--no-add-bos", help="Documents begin with BOS (by the tokenizer)."),
    ] = None,
    add_eos: Annotated[
        bool | None, typer.Option("--add-eos/--no-add-eos", help="Documents end with EOS (yes).")
    ] = None,
    complete: Annotated[bool, typer.Option("--complete", help="Add a BOS or EOS that is missing.")] = False,
    dtype: Annotated[
        str | None, typer.Option(help="Width of OLMo's ids, uint16 or uint32 (by the vocabulary).")
    ] = None,
    split_at_eos: Annotated[
        bool, typer.Option("--split-at-eos", help="OLMo's files without .csv.gz: EOS ends a document.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="Name of the dataset; by default that of the folder.")
    ] = None,
    shards: Annotated[int | None, typer.Option(help="Number of shards.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes on this machine; 0: one for each core.")
    ] = None,
) -> None:
    """Make a cache of token files that others wrote: ids, boundaries, BOS and EOS are checked first."""
    from tootsie.datasets import beam_runner
    from tootsie.datasets.errors import SpecError
    from tootsie.datasets.sole_writer import sole_writer
    from tootsie.tokenize.command import print_books, show_progress
    from tootsie.tokenize.exchange.importing import ImportSettings, import_tokens

    located, beam_arguments = beam_runner.split_arguments(paths)
    if len(located) < 2:
        raise SpecError(
            "an input and an output are needed",
            value=" ".join(located),
            remedy="tootsie tokenize import FORMAT IN OUT",
        )
    *inputs, output = located
    settings = ImportSettings(
        format=_format(form),
        tokenizer=tokenizer,
        add_bos=add_bos,
        add_eos=add_eos,
        complete=complete,
        dtype=dtype,
        split_at_eos=split_at_eos,
        name=name,
        shards=shards,
    )
    options = beam_runner.pipeline_options(
        beam_arguments, workers=workers, job_name="tootsie-tokenize-import"
    )
    with sole_writer(output):
        print_books(import_tokens(inputs, output, settings, options, show_progress))


def export_command(
    form: FormatName,
    cache: Annotated[
        str, typer.Argument(metavar="CACHE", help="Folder of a cache (where ledger.json lies).")
    ],
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="Folder to write into.")],
    dtype: Annotated[
        str | None, typer.Option(help="Width of OLMo's ids, uint16 or uint32 (by the vocabulary).")
    ] = None,
    drop_loss: Annotated[
        bool, typer.Option("--drop-loss", help="Leave loss spans out where the format has no place for them.")
    ] = False,
) -> None:
    """Write a cache as files of another trainer's, with export.json."""
    from tootsie.datasets.sole_writer import sole_writer
    from tootsie.tokenize.cache import TokenCache
    from tootsie.tokenize.exchange.exporting import export_tokens

    chosen = _format(form)
    opened = TokenCache.open(cache)
    with sole_writer(output):
        record = export_tokens(opened, output, chosen, dtype=dtype, drop_loss=drop_loss)
    typer.echo(
        f"{output}: {len(record.files):,} files, {record.documents:,} documents, {record.tokens:,} tokens of "
        f"{record.tokenizer.name} as {record.dtype}, {sum(file.size for file in record.files):,} bytes"
    )


def _format(name: str) -> Format:
    from tootsie.datasets.errors import SpecError
    from tootsie.tokenize.exchange.token_file import Format

    if name not in list(Format):
        raise SpecError("no such format", field="FORMAT", value=name, remedy="Use " + ", ".join(Format))
    return Format(name)
