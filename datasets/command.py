"""``tootsie data list|show|verify|fetch``: what corpora exist, what is in one, whether it is whole, and how to get it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tootsie.datasets.terminal import printable, printable_line

if TYPE_CHECKING:
    from tootsie.datasets.document import Document

app = typer.Typer(
    help="Look at, list, fetch and verify datasets.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_CONTEXT = {"help_option_names": ["-h", "--help"]}

Folder = Annotated[str, typer.Argument(help="Folder or URL of a corpus.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")]

SAMPLES = Path(__file__).parent / "sample"
"""The dumps that come with Tootsie."""
DUMP_SUFFIXES = (".zip", ".tar.gz", ".7z")


@app.command("list", context_settings=_CONTEXT)
def list_corpora(as_json: Json = False) -> None:
    """List the sample dumps that come with Tootsie, and the dataset cards."""
    dumps = [
        {"corpus": folder.name, "path": str(path), "bytes": path.stat().st_size}
        for folder in sorted(SAMPLES.glob("*/"))
        for path in sorted(folder.iterdir())
        if path.name.endswith(DUMP_SUFFIXES)
    ]
    from tootsie.datasets.card import describe_sizes, load_cards

    cards = list(load_cards())
    if as_json:
        print(json.dumps({"sample_dumps": dumps, "cards": [card.name for card in cards]}, indent=1))
        return
    print("Sample dumps (tootsie curate CORPUS PATH OUT):")
    for dump in dumps:
        print(f"  {dump['corpus']:<14} {dump['bytes']:>10,} bytes  {dump['path']}")
    if cards:
        print("Cards:")
        for card in cards:
            print(f"  {card.name:<34} {card.kind.value:<12} {describe_sizes(card):<44} {card.title}")


@app.command(context_settings=_CONTEXT)
def show(
    folder: Annotated[
        str,
        typer.Argument(
            help="A corpus, a dataset card's name, or the URL or glob of files in any known format."
        ),
    ],
    documents: Annotated[
        int, typer.Option("--documents", "-n", help="How many documents or records to show.", min=0)
    ] = 3,
    characters: Annotated[int, typer.Option(help="Characters of each document.", min=0)] = 600,
    rejects: Annotated[
        bool, typer.Option("--rejects", help="Show what was dropped instead, with the reason.")
    ] = False,
    text_key: Annotated[
        str | None,
        typer.Option(help="Of files: key or dotted path of the text, such as content or page.body."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a summary of a corpus and its first documents, a dataset card, or the first records of files.

    Files may be jsonl, json, Parquet, Arrow, WARC, XML rows, and tar, zip and 7z of these, also compressed, on any file system.
    """
    from tootsie.datasets import storage
    from tootsie.datasets.card import card_names, load_card
    from tootsie.datasets.document import Document
    from tootsie.datasets.manifest import read_documents, read_manifest

    if folder in card_names():
        fields = load_card(folder).model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        print(json.dumps(fields, indent=1, ensure_ascii=False) if as_json else _card_text(fields))
        return
    filesystem, path = storage.url_to_fs(folder)
    if text_key is not None or not filesystem.isdir(path):
        from tootsie.datasets.readers.preview import preview, preview_json

        urls = storage.expand([folder])
        if as_json:
            print(json.dumps(preview_json(urls, text_key, documents), indent=1, ensure_ascii=False))
            return
        for line in preview(urls, text_key, documents, characters):
            print(line)
        return
    manifest = read_manifest(folder)
    if as_json:
        print(json.dumps(manifest.model_dump(), indent=1, ensure_ascii=False))
        return
    text = sum(entry.text_bytes for entry in manifest.files)
    stored = sum(entry.size for entry in manifest.files)
    print(f"{folder}: {manifest.source}, {manifest.documents:,} documents, {text:,} bytes of text")
    print(f"  files     {len(manifest.files)}, {stored:,} bytes compressed")
    print(
        f"  inputs    {', '.join(entry.path for entry in manifest.inputs[:5])}{' …' if len(manifest.inputs) > 5 else ''}"
    )
    print(f"  code      {manifest.code_version}")
    print(f"  settings  {json.dumps(manifest.settings, ensure_ascii=False)}")
    books = manifest.accounting
    print(f"  read      {books.read:,} = written {books.written:,} + dropped {sum(books.dropped.values()):,}")
    for reason, count in books.dropped.items():
        print(f"              {count:>9,}  {reason}")
    if rejects:
        place = storage.join(folder, "rejects")
        found: Iterator[Document] = (
            Document.from_json(line, file=name, record=number)
            for name in storage.list_files(place)
            if name.startswith("part-")
            for number, line in enumerate(storage.read_lines(storage.join(place, name)))
        )
    else:
        found = read_documents(folder)
    for shown, document in enumerate(found):
        if shown >= documents:
            break
        facts = {"created": document.created, **document.metadata}
        print(f"\n━━ {printable_line(document.id)}")
        for name, value in facts.items():
            if value is not None and not isinstance(value, list | dict):
                print(printable_line(f"   {name}: {' '.join(str(value).split())[:160]}"))
        print()
        print(
            printable(document.text[:characters].rstrip()) + (" …" if len(document.text) > characters else "")
        )


@app.command(context_settings=_CONTEXT)
def verify(
    folder: Folder,
    manifest: Annotated[
        str | None,
        typer.Option(
            help="URL of the list to compare with: jsonl or JSON of {path, size, sha256|md5|xxh3, rows}, a hub's tree, a "
            "manifest or ledger. Without it the one in the folder."
        ),
    ] = None,
    counts: Annotated[bool, typer.Option(help="Count rows and tokens where the list has them.")] = True,
    as_json: Json = False,
) -> None:
    """Compare a local or remote copy with its list, and name every file that is wrong.

    Found are files that are missing, short, long, altered, swapped, duplicated (one content under two names), extra, unreadable
    or with other counts than listed.
    """
    from dataclasses import asdict

    from tootsie.datasets.verification import describe, error, verify_copy

    found = verify_copy(folder, manifest, counts=counts)
    if as_json:
        print(json.dumps({found.unit: found.rows, **asdict(found)}, indent=1))
    else:
        for fault in found.faults:
            print(printable_line(f"{fault.path}: {fault.problem}"))
    if found.faults:
        raise error(folder, found)
    if not as_json:
        print(describe(folder, found))


@app.command(context_settings=_CONTEXT)
def fetch(
    source: Annotated[
        str,
        typer.Argument(
            help="A card's name, or a URL: file, folder, glob, brace range, hf://datasets/ID@REVISION/GLOB, .paths.gz list."
        ),
    ],
    dest: Annotated[str, typer.Argument(help="Local folder.")],
    manifest: Annotated[
        str | None, typer.Option(help="URL of a list of the files below SOURCE, with sizes and checksums.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Files at a time.", min=1, max=64)] = 8,
) -> None:
    """Fetch a dataset into a folder: resumable, verified, and never called done while anything is missing.

    The same command continues after an interruption. What is there is listed, with checksums, in _fetched.jsonl.
    """
    from tootsie.datasets.fetching.fetch import fetch as bring
    from tootsie.datasets.fetching.fetch import report_to_terminal
    from tootsie.datasets.interruption import prompt_interrupt

    with prompt_interrupt() as interrupted:
        try:
            done = bring(source, dest, manifest=manifest, workers=workers, report=report_to_terminal)
        finally:
            if interrupted.is_set():
                report_to_terminal(f"{dest}: not finished; the same command continues")
    print(f"{dest}: whole, {done.files:,} files, {done.bytes:,} bytes; {done.fetched:,} of them fetched now")


def _card_text(fields: dict[str, Any]) -> str:
    """Return a card as lines, a list's entries below its name."""
    lines = []
    for name, value in fields.items():
        if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
            lines.append(f"{name}:")
            for entry in value:
                facts = [
                    f"{key} {fact:,}" if isinstance(fact, int) else f"{key} {fact}"
                    for key, fact in entry.items()
                ]
                lines.append(f"  - {'; '.join(facts)}")
        elif isinstance(value, dict):
            lines.append(f"{name}: {'; '.join(f'{key} {fact}' for key, fact in value.items())}")
        else:
            lines.append(f"{name}: {', '.join(value) if isinstance(value, list) else value}")
    return "\n".join(lines)
