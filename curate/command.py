"""``tootsie curate arxiv|wikipedia|stackexchange IN... OUT``: raw dumps to Markdown documents."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
import typer.main

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions

    from tootsie.curate.corpus import Corpus
    from tootsie.curate.corpus_build import BuildSettings, Job

app = typer.Typer(
    help="Raw dumps to Markdown documents (jsonl.zst with a manifest). Options that are not listed go to Beam and its runner.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}

REFERENCES = ("keep", "cite-keys", "drop")

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="IN... OUT", help="Files, folders, globs, brace ranges or URLs; the output folder last."
    ),
]
Shards = Annotated[
    int | None, typer.Option(help="Output files. Default: one for each 64 MiB of source, at least 4.")
]
Limit = Annotated[int | None, typer.Option(help="Read only the first N records.")]
Seed = Annotated[int, typer.Option(help="Spreads the documents over the output files.")]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Worker processes on this machine; 0 means one for each core. Default: none, this process works."
    ),
]
Added = Annotated[
    str | None,
    typer.Option(help="Date (YYYY-MM-DD) for the field 'added' of every document.", metavar="DATE"),
]
MaxFailures = Annotated[
    float, typer.Option(help="Share of records whose conversion may fail before the run does.")
]
MaxBytes = Annotated[
    int, typer.Option(help="Longest source of one document in bytes; longer ones are dropped.", min=1)
]
MinCharacters = Annotated[int, typer.Option(help="Shortest text that is kept.", min=0)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be read and written, and stop.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Delete what an earlier run left in the output folder.")
]


@app.command(context_settings=_CONTEXT)
def arxiv(
    paths: Paths,
    references: Annotated[
        str, typer.Option(help="Citations and bibliographies: keep, cite-keys or drop.")
    ] = "keep",
    min_characters: MinCharacters = 200,
    shards: Shards = None,
    limit: Limit = None,
    seed: Seed = 0,
    workers: Workers = None,
    added: Added = None,
    max_failures: MaxFailures = 0.02,
    max_document_bytes: MaxBytes = 64 * 2**20,
    dry_run: DryRun = False,
    overwrite: Overwrite = False,
) -> None:
    """Papers of ar5iv: ZIPs of LaTeXML pages, or a folder of them."""
    from tootsie.curate.arxiv import Arxiv

    corpus = Arxiv(
        added=_date(added),
        max_document_bytes=max_document_bytes,
        references=_choice("--references", references, REFERENCES),
        min_characters=min_characters,
    )
    _run(
        corpus,
        paths,
        _settings(shards, seed, limit, max_failures),
        workers,
        dry_run=dry_run,
        overwrite=overwrite,
    )


@app.command(context_settings=_CONTEXT)
def wikipedia(
    paths: Paths,
    references: Annotated[str, typer.Option(help="References: keep, cite-keys or drop.")] = "drop",
    infobox: Annotated[bool, typer.Option(help="Keep the infobox, as a table.")] = True,
    min_characters: MinCharacters = 200,
    shards: Shards = None,
    limit: Limit = None,
    seed: Seed = 0,
    workers: Workers = None,
    added: Added = None,
    max_failures: MaxFailures = 0.02,
    max_document_bytes: MaxBytes = 64 * 2**20,
    dry_run: DryRun = False,
    overwrite: Overwrite = False,
) -> None:
    """Articles of Wikimedia Enterprise HTML dumps: tar.gz of NDJSON, or NDJSON."""
    from tootsie.curate.wikipedia import Wikipedia

    corpus = Wikipedia(
        added=_date(added),
        max_document_bytes=max_document_bytes,
        references=_choice("--references", references, REFERENCES),
        infobox=infobox,
        min_characters=min_characters,
    )
    _run(
        corpus,
        paths,
        _settings(shards, seed, limit, max_failures),
        workers,
        dry_run=dry_run,
        overwrite=overwrite,
    )


@app.command(context_settings=_CONTEXT)
def stackexchange(
    paths: Paths,
    unanswered: Annotated[str, typer.Option(help="Questions without answers: keep or drop.")] = "keep",
    comments: Annotated[str, typer.Option(help="Comments: keep or drop.")] = "drop",
    scores: Annotated[
        str, typer.Option(help="Scores in the text: keep or drop (they stay in the metadata).")
    ] = "keep",
    tags: Annotated[
        str, typer.Option(help="Tags in the text: keep or drop (they stay in the metadata).")
    ] = "keep",
    authors: Annotated[
        str, typer.Option(help="Authors in the text: keep or drop (they stay in the metadata).")
    ] = "drop",
    site: Annotated[
        str | None, typer.Option(help="Host name of the site, where file names do not tell.")
    ] = None,
    shards: Shards = None,
    limit: Limit = None,
    seed: Seed = 0,
    workers: Workers = None,
    added: Added = None,
    max_failures: MaxFailures = 0.02,
    max_document_bytes: MaxBytes = 64 * 2**20,
    dry_run: DryRun = False,
    overwrite: Overwrite = False,
) -> None:
    """Threads of StackExchange data dumps: 7z archives, folders or Posts.xml."""
    from tootsie.curate.stackexchange import StackExchange

    corpus = StackExchange(
        added=_date(added),
        max_document_bytes=max_document_bytes,
        unanswered=_policy("--unanswered", unanswered),
        comments=_policy("--comments", comments),
        scores=_policy("--scores", scores),
        tags=_policy("--tags", tags),
        authors=_policy("--authors", authors),
        site=_host(site),
    )
    _run(
        corpus,
        paths,
        _settings(shards, seed, limit, max_failures),
        workers,
        dry_run=dry_run,
        overwrite=overwrite,
    )


def _settings(shards: int | None, seed: int, limit: int | None, max_failures: float) -> BuildSettings:
    from tootsie.curate.corpus_build import BuildSettings

    return BuildSettings(shards=shards, seed=seed, limit=limit, max_failures=max_failures)


def _date(text: str | None) -> str | None:
    import datetime

    from tootsie.datasets.errors import SpecError

    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise SpecError("not a date", field="--added", value=text, remedy="Write it as YYYY-MM-DD") from None


def _choice(option: str, value: str, choices: Sequence[str]) -> str:
    from tootsie.datasets.errors import SpecError

    if value not in choices:
        raise SpecError(f"must be {', '.join(choices[:-1])} or {choices[-1]}", field=option, value=value)
    return value


def _policy(option: str, value: str) -> bool:
    return _choice(option, value, ("keep", "drop")) == "keep"


def _host(site: str | None) -> str | None:
    from tootsie.datasets.errors import SpecError

    if site is not None and not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", site):
        raise SpecError(
            "not a host name", field="--site", value=site, remedy="Write it as math.stackexchange.com"
        )
    return site


def _run(
    corpus: Corpus,
    tokens: Sequence[str],
    settings: BuildSettings,
    workers: int | None,
    *,
    dry_run: bool,
    overwrite: bool,
) -> None:
    from tootsie.datasets import beam_runner, storage
    from tootsie.datasets.errors import SpecError

    paths, beam_arguments = beam_runner.split_arguments(tokens)
    if len(paths) < 2:
        raise SpecError("inputs and an output folder are needed", field="IN... OUT", value=list(paths))
    if "" in paths:  # an unset variable of a shell would else mean this folder
        raise SpecError("a path is empty", field="IN... OUT", value=list(paths))
    folder = paths.pop().rstrip("/") or "/"
    place = storage.absolute(folder)
    for path in map(storage.absolute, storage.expand(paths)):
        if f"{place}/".startswith(f"{path}/"):
            raise SpecError(
                "the output must not lie inside an input", file=folder, remedy="Name another folder"
            )
    commands = typer.main.get_group(app).commands
    own = [name for parameter in commands[corpus.name].params for name in parameter.opts]
    options = beam_runner.pipeline_options(
        beam_arguments, workers=workers, job_name=f"tootsie-curate-{corpus.name}", own_options=own
    )

    from tootsie.curate import corpus_build
    from tootsie.datasets.sole_writer import sole_writer

    job = corpus_build.make_job(corpus, paths, folder, settings, on_file=_say_file)
    if dry_run:
        _say_plan(job)
        return
    with sole_writer(folder):
        _build(job, options, overwrite=overwrite)


def _build(job: Job, options: PipelineOptions, *, overwrite: bool) -> None:
    from tootsie.curate import corpus_build, progress

    folder = job.folder
    finished = corpus_build.check_output(job, overwrite=overwrite)
    if finished is not None:
        print(f"{folder}: already finished, {finished.documents:,} documents; nothing to do")
        progress.show_accounting(finished, folder)
        return
    start = time.monotonic()
    with progress.watch(job):
        manifest = corpus_build.build(job, options)
    seconds = time.monotonic() - start
    progress.show_accounting(manifest, folder)
    text = sum(entry.text_bytes for entry in manifest.files)
    source = sum(entry.size for entry in manifest.inputs)
    print(
        f"{folder}: {manifest.documents:,} documents, {text / 1e6:.1f} MB of text from {source / 1e6:.1f} MB of dumps "
        f"in {seconds:.1f} s ({manifest.documents / seconds:.1f} documents/s)"
    )


def _say_file(name: str, size: int) -> None:
    if size > 2**28:
        print(f"computing the checksum of {name} ({size / 1e9:.1f} GB)", file=sys.stderr, flush=True)


def _say_plan(job: Job) -> None:
    from tootsie.curate.shard_output import part_name

    for entry in job.plan.inputs:
        print(f"read\t{entry.path}\t{entry.size}")
    for name, value in job.plan.settings.items():
        print(f"setting\t{name}\t{value}")
    for shard in range(job.shards):
        print(f"write\t{job.folder}/{part_name(shard, job.shards)}")
    print(f"write\t{job.folder}/_manifest.json")
