"""``tootsie tokenize inspect``, ``stats`` and ``diff``: caches for the eye, and with ``--json`` for machines."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tootsie.tokenize.cache import TokenCache
    from tootsie.tokenize.comparison import Comparison
    from tootsie.tokenize.statistics import Statistics

CACHE_HELP = "Folder of a cache (where ledger.json lies)."
Cache = Annotated[str, typer.Argument(metavar="CACHE", help=CACHE_HELP)]
Caches = Annotated[list[str], typer.Argument(metavar="CACHE...", help=CACHE_HELP)]
TokenizerName = Annotated[
    str | None,
    typer.Option("--tokenizer", help="Where the cache's tokenizer lies, if its name is not enough."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]


def inspect_command(
    cache: Cache,
    document: Annotated[str | None, typer.Option(help="Id of the document to show.")] = None,
    start: Annotated[
        int, typer.Option(min=0, help="Show the documents from this token of the cache on.")
    ] = 0,
    limit: Annotated[int, typer.Option(min=1, help="Documents to show.")] = 3,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of each document to show.")] = 200,
    ids: Annotated[bool, typer.Option("--ids", help="Write the id behind each piece.")] = False,
    tokenizer: TokenizerName = None,
    as_json: AsJson = False,
) -> None:
    """Show documents, their ids and the pieces they stand for, in colour; tokens with loss underlined where not all have it."""
    from tootsie.tokenize.cache import TokenCache
    from tootsie.tokenize.inspection import describe_documents, show_documents
    from tootsie.tokenize.tokenizers import tokenizer_of

    opened = TokenCache.open(cache)
    loaded = tokenizer_of(opened.ledger.tokenizer, file=cache, name=tokenizer)
    if as_json:
        for value in describe_documents(
            opened, loaded, document=document, start=start, limit=limit, tokens=tokens
        ):
            _print_json(value)
        return
    for line in show_documents(
        opened, loaded, document=document, start=start, limit=limit, tokens=tokens, ids=ids
    ):
        _console().print(line, soft_wrap=True)


def stats_command(caches: Caches, as_json: AsJson = False) -> None:
    """Describe caches side by side: documents, tokens, bytes a token, lengths, how documents begin and end."""
    from tootsie.tokenize.cache import TokenCache
    from tootsie.tokenize.statistics import ends_table, statistics_of, statistics_table

    opened = [TokenCache.open(url) for url in caches]
    found = [statistics_of(cache) for cache in opened]
    if as_json:
        for url, statistics in zip(caches, found, strict=True):
            _print_json({"cache": url, **statistics.to_json()})
        return
    _console().print(statistics_table(found))
    _console().print(ends_table(found, _pieces(opened)))


def diff_command(
    one: Annotated[str, typer.Argument(metavar="A", help=CACHE_HELP)],
    two: Annotated[str, typer.Argument(metavar="B", help=CACHE_HELP)],
    limit: Annotated[int, typer.Option(min=0, help="Ids to name of each kind of difference.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Say what differs between two caches: tokenizer, settings, sources, shards, and documents added, removed and changed."""
    from tootsie.tokenize.cache import TokenCache
    from tootsie.tokenize.comparison import compare

    found = compare(TokenCache.open(one), TokenCache.open(two), limit)
    if as_json:
        _print_json(found.to_json())
    else:
        _print_difference(found)


def _print_difference(found: Comparison) -> None:
    console = _console()
    for name, before, after in found.fields:
        console.print(f"{name}: {before!r} → {after!r}", soft_wrap=True)
    console.print(
        f"shards: {found.same_shards:,} the same, {len(found.other_shards):,} not; documents: {found.same:,} the same, "
        + ", ".join(f"{count:,} {kind}" for kind, count in found.counts.items()),
        soft_wrap=True,
    )
    for kind, style, mark in (("added", "green", "+"), ("removed", "red", "-"), ("changed", "yellow", "~")):
        names = getattr(found, kind)
        for name in names:
            console.print(f"{mark} {name}", style=style, soft_wrap=True)
        if found.counts[kind] > len(names):
            console.print(f"{mark} … {found.counts[kind] - len(names):,} more", style=style)
    if found.equal:
        console.print("the same cache")


def _pieces(caches: list[TokenCache]) -> Any:
    """Return a function that shows an id with its piece, where the tokenizer is at hand."""
    from tootsie.datasets.errors import UserError
    from tootsie.tokenize.identity import Tokenizer
    from tootsie.tokenize.tokenizers import tokenizer_of

    known: dict[str, Tokenizer | None] = {}
    for cache in caches:
        identity = cache.ledger.tokenizer
        try:
            known[identity.fingerprint] = tokenizer_of(identity, file=cache.url)
        except UserError:
            known[identity.fingerprint] = None

    def shown(found: Statistics, token: int) -> str:
        tokenizer = known[found.fingerprint]
        if tokenizer is None:
            return str(token)
        piece = tokenizer.decode_bytes([token]).decode("utf-8", "backslashreplace")
        return f"{token} {piece!r}"

    return shown


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False))


def _console() -> Any:
    from rich.console import Console

    terminal = sys.stdout.isatty()
    return Console(highlight=False, markup=False, width=None if terminal else 200)
