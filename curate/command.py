"""``tootsie curate arxiv|wikipedia|stackexchange|web IN... OUT``: raw dumps to Markdown documents; ``fidelity`` measures them;
``dedup``, ``decontaminate`` and ``filter`` clean them; ``attributes`` writes scores of them;
``profile`` says how they are written; ``datashop`` makes questions and answers of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main

from tootsie.curate import command_options as options
from tootsie.curate.corpus_command import run_corpus
from tootsie.curate.datashop.command import datashop
from tootsie.curate.decontamination.command import decontaminate
from tootsie.curate.deduplication.command import dedup
from tootsie.curate.fidelity.command import fidelity
from tootsie.curate.profile_command import profile
from tootsie.curate.quality.attributes_command import write_attributes
from tootsie.curate.quality.command import filter_documents

if TYPE_CHECKING:
    from tootsie.curate.corpus_build import BuildSettings

app = typer.Typer(
    help="Raw dumps to Markdown documents (jsonl.zst with a manifest). Options that are not listed go to Beam and its runner.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(fidelity)
_CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}
app.command(context_settings=_CONTEXT)(dedup)
app.command(context_settings=_CONTEXT)(decontaminate)
app.command()(profile)
app.command("attributes", context_settings=_CONTEXT)(write_attributes)
app.command("filter", context_settings=_CONTEXT)(filter_documents)
app.command(context_settings=_CONTEXT)(datashop)


@app.command(context_settings=_CONTEXT)
@options.workers_ahead("tootsie.curate.corpus_steps", "tootsie.curate.arxiv")
def arxiv(
    paths: options.Paths,
    references: Annotated[
        str, typer.Option(help="Citations and bibliographies: keep, cite-keys or drop.")
    ] = "cite-keys",
    metadata: Annotated[
        str | None,
        typer.Option(
            help="arXiv's metadata, one JSON object a line (.json, .gz, .zst): version, licence, categories, authors.",
            metavar="FILE",
        ),
    ] = None,
    languages: options.Languages = None,
    licences: options.Licences = None,
    min_characters: options.MinCharacters = 200,
    max_characters: options.MaxCharacters = None,
    max_error_density: options.MaxErrorDensity = None,
    shards: options.Shards = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    added: options.Added = None,
    max_failures: options.MaxFailures = 0.02,
    max_document_bytes: options.MaxBytes = 64 * 2**20,
    time_limit: options.TimeLimit = 60.0,
    memory_limit: options.MemoryLimit = 2048,
    allow_empty: options.AllowEmpty = False,
    sample_dropped_text: options.SampleDroppedText = 256,
    dry_run: options.DryRun = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Papers of ar5iv: ZIPs of LaTeXML pages, or a folder of them."""
    from tootsie.curate import arxiv_metadata
    from tootsie.curate.arxiv import Arxiv
    from tootsie.datasets.errors import SpecError

    if metadata is not None and not metadata.lower().endswith(arxiv_metadata.SUFFIXES):
        raise SpecError(
            "not a file of metadata",
            field="--metadata",
            value=metadata,
            remedy=f"It ends in {', '.join(arxiv_metadata.SUFFIXES)}",
        )
    corpus = Arxiv(
        added=options.date(added),
        max_document_bytes=max_document_bytes,
        references=options.choice("--references", references, options.REFERENCES),
        **_filters(min_characters, max_characters, languages, licences, max_error_density),
    )
    run_corpus(
        corpus,
        [*([metadata] if metadata else []), *paths],
        _settings(
            shards, seed, limit, max_failures, time_limit, memory_limit, allow_empty, sample_dropped_text
        ),
        workers,
        dry_run=dry_run,
        overwrite=overwrite,
    )


@app.command(context_settings=_CONTEXT)
@options.workers_ahead("tootsie.curate.corpus_steps", "tootsie.curate.wikipedia")
def wikipedia(
    paths: options.Paths,
    references: Annotated[str, typer.Option(help="References: keep, cite-keys or drop.")] = "drop",
    infobox: Annotated[bool, typer.Option(help="Keep the infobox, as a table.")] = True,
    languages: options.Languages = None,
    licences: options.Licences = None,
    min_characters: options.MinCharacters = 200,
    max_characters: options.MaxCharacters = None,
    shards: options.Shards = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    added: options.Added = None,
    max_failures: options.MaxFailures = 0.02,
    max_document_bytes: options.MaxBytes = 64 * 2**20,
    time_limit: options.TimeLimit = 60.0,
    memory_limit: options.MemoryLimit = 2048,
    allow_empty: options.AllowEmpty = False,
    sample_dropped_text: options.SampleDroppedText = 256,
    dry_run: options.DryRun = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Articles of Wikimedia Enterprise HTML dumps: tar.gz of NDJSON, or NDJSON."""
    from tootsie.curate.wikipedia import Wikipedia

    corpus = Wikipedia(
        added=options.date(added),
        max_document_bytes=max_document_bytes,
        references=options.choice("--references", references, options.REFERENCES),
        infobox=infobox,
        **_filters(min_characters, max_characters, languages, licences),
    )
    run_corpus(
        corpus,
        paths,
        _settings(
            shards, seed, limit, max_failures, time_limit, memory_limit, allow_empty, sample_dropped_text
        ),
        workers,
        dry_run=dry_run,
        overwrite=overwrite,
    )


@app.command(context_settings=_CONTEXT)
@options.workers_ahead("tootsie.curate.corpus_steps", "tootsie.curate.stackexchange")
def stackexchange(
    paths: options.Paths,
    unanswered: Annotated[str, typer.Option(help="Questions without answers: keep or drop.")] = "keep",
    comments: Annotated[str, typer.Option(help="Comments: keep or drop.")] = "drop",
    scores: Annotated[
        str,
        typer.Option(
            help="Scores in the text: keep (before a post), after (it), shuffle (either, by thread) or drop. "
            "They stay in the metadata."
        ),
    ] = "keep",
    tags: Annotated[
        str, typer.Option(help="Tags in the text: keep or drop (they stay in the metadata).")
    ] = "keep",
    authors: Annotated[
        str, typer.Option(help="Authors in the text: keep or drop (they stay in the metadata).")
    ] = "drop",
    template: Annotated[
        str,
        typer.Option(
            help="Layout of a thread: headings, labels, rules, dialogue, shuffle (one of them, by thread), "
            "or a YAML file of your own.",
            metavar="NAME|FILE",
        ),
    ] = "headings",
    layout_seed: Annotated[int, typer.Option(help="Of --scores=shuffle and --template=shuffle.")] = 0,
    min_question_score: Annotated[
        int | None, typer.Option(help="Lowest score of a question that is kept.")
    ] = None,
    min_answer_score: Annotated[
        int | None, typer.Option(help="Lowest score of an answer that is kept, but for the accepted one.")
    ] = None,
    max_answers: Annotated[
        int | None, typer.Option(help="Most answers of a thread, the first in its order.", min=0)
    ] = None,
    truncated: Annotated[
        str, typer.Option(help="A table that is cut off: fail, or keep the rows that are there.")
    ] = "fail",
    site: Annotated[
        str | None, typer.Option(help="Host name of the site, where file names do not tell.")
    ] = None,
    shards: options.Shards = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    added: options.Added = None,
    max_failures: options.MaxFailures = 0.02,
    max_document_bytes: options.MaxBytes = 64 * 2**20,
    time_limit: options.TimeLimit = 60.0,
    memory_limit: options.MemoryLimit = 2048,
    allow_empty: options.AllowEmpty = False,
    sample_dropped_text: options.SampleDroppedText = 256,
    dry_run: options.DryRun = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Threads of StackExchange data dumps: 7z archives, folders or Posts.xml."""
    from tootsie.curate.stackexchange import SCORES, StackExchange
    from tootsie.curate.stackexchange_layout import load_template

    corpus = StackExchange(
        added=options.date(added),
        max_document_bytes=max_document_bytes,
        unanswered=options.policy("--unanswered", unanswered),
        comments=options.policy("--comments", comments),
        scores=options.choice("--scores", scores, SCORES),
        tags=options.policy("--tags", tags),
        authors=options.policy("--authors", authors),
        template=load_template(template, authors=authors == "keep"),
        layout_seed=layout_seed,
        min_question_score=min_question_score,
        min_answer_score=min_answer_score,
        max_answers=max_answers,
        truncated=options.choice("--truncated", truncated, ("fail", "keep")) == "keep",
        site=options.host(site),
    )
    run_corpus(
        corpus,
        paths,
        _settings(
            shards, seed, limit, max_failures, time_limit, memory_limit, allow_empty, sample_dropped_text
        ),
        workers,
        dry_run=dry_run,
        overwrite=overwrite,
    )


@app.command(context_settings=_CONTEXT)
@options.workers_ahead("tootsie.curate.corpus_steps", "tootsie.curate.web.corpus")
def web(
    paths: options.Paths,
    preset: Annotated[
        str, typer.Option(help="What is taken for main content in doubt: precision, balanced or recall.")
    ] = "balanced",
    plain_text: Annotated[
        bool,
        typer.Option(
            "--plain-text",
            help="Write trafilatura's text, as others do, in place of Markdown with formulas, tables and code.",
        ),
    ] = False,
    refuse_robots: Annotated[
        str | None,
        typer.Option(
            help="Directives to robots, as in noindex,noai: pages that have one are dropped. They stay in metadata.robots.",
            metavar="LIST",
        ),
    ] = None,
    identify_language: Annotated[bool, typer.Option(help="Write down the language of each text.")] = True,
    languages: options.Languages = None,
    min_characters: options.MinCharacters = 200,
    max_characters: options.MaxCharacters = None,
    shards: options.Shards = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    added: options.Added = None,
    max_failures: options.MaxFailures = 0.02,
    max_document_bytes: options.MaxBytes = 16 * 2**20,
    time_limit: options.TimeLimit = 60.0,
    memory_limit: options.MemoryLimit = 2048,
    allow_empty: options.AllowEmpty = False,
    dry_run: options.DryRun = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Pages of crawls: WARC, WET and ARC files."""
    from tootsie.curate.language import identifier_version
    from tootsie.curate.web.corpus import Web
    from tootsie.curate.web.main_content import Preset

    filters = _filters(min_characters, max_characters, languages, None)
    if identify_language:
        filters["language_identifier"] = identifier_version("--identify-language")
    corpus = Web(
        added=options.date(added),
        max_document_bytes=max_document_bytes,
        preset=options.choice("--preset", preset, tuple(Preset)),
        plain_text=plain_text,
        identify_language=identify_language,
        refused_robots=options.several(
            "--refuse-robots", refuse_robots, r"[a-z-]+", "directives, as in noindex,noai"
        ),
        **filters,
    )
    run_corpus(
        corpus,
        paths,
        _settings(shards, seed, limit, max_failures, time_limit, memory_limit, allow_empty, 0),
        workers,
        dry_run=dry_run,
        overwrite=overwrite,
    )


def _settings(
    shards: int | None,
    seed: int,
    limit: int | None,
    max_failures: float,
    time_limit: float,
    memory_limit: int,
    allow_empty: bool,
    sample_dropped_text: int,
) -> BuildSettings:
    from tootsie.curate.corpus_build import BuildSettings

    return BuildSettings(
        shards, seed, limit, max_failures, time_limit, memory_limit, allow_empty, sample_dropped_text
    )


def _filters(
    min_characters: int,
    max_characters: int | None,
    languages: str | None,
    licences: str | None,
    max_error_density: float | None = None,
) -> dict[str, Any]:
    from tootsie.curate.language import identifier_version
    from tootsie.datasets.errors import SpecError

    if max_characters is not None and max_characters < min_characters:
        raise SpecError(
            f"is less than --min-characters ({min_characters:,}), so that no document would be kept",
            field="--max-characters",
            value=max_characters,
        )
    codes = options.several("--languages", languages, r"[A-Za-z]{2,3}", "codes of ISO 639, as in en,de")
    return {
        "min_characters": min_characters,
        "max_characters": max_characters,
        "languages": tuple(sorted({code.lower() for code in codes})),
        "language_identifier": identifier_version() if codes else None,
        "licences": options.several("--licences", licences, r"[^\s,]+", "names, as in CC-BY-4.0,CC0-1.0"),
        "max_error_density": max_error_density,
    }
