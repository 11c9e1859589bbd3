"""``tootsie curate profile CORPUS [--compare OTHER]``: how documents are written, and in what two corpora differ."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tootsie.curate import command_options as options

if TYPE_CHECKING:
    from tootsie.datasets.format_comparison import Difference


def profile(
    corpus: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS", help="Folder of a corpus, or files of any format (a URL, glob or brace range)."
        ),
    ],
    compare: Annotated[str | None, typer.Option(help="Another one to compare with.", metavar="OTHER")] = None,
    text_key: Annotated[str, typer.Option(help="Key or dotted path of the text.")] = "text",
    compare_text_key: Annotated[
        str | None,
        typer.Option(
            help="That of the other one, such as the question of an evaluation set.", show_default="the same"
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Documents that are read of each, the first ones.", min=1)
    ] = None,
    languages: Annotated[
        bool, typer.Option(help="Identify the languages of texts that do not say it.")
    ] = True,
    json_file: Annotated[
        str | None,
        typer.Option("--json", help="Where the profiles and their differences go as JSON.", metavar="FILE"),
    ] = None,
    fail_on: Annotated[
        float | None,
        typer.Option(help="Fail where a share differs by so much or more.", metavar="SHARE"),
    ] = None,
) -> None:
    """Say how documents are written: ends, white space, Markdown, formulas, code, languages, lengths."""
    from tootsie.curate.language import identifier_version
    from tootsie.datasets import storage
    from tootsie.datasets.errors import ArtefactError, SpecError
    from tootsie.datasets.format_comparison import differences

    if fail_on is not None:
        options.share("--fail-on", fail_on)
        if compare is None:
            raise SpecError(
                "needs another corpus to compare with", field="--fail-on", remedy="Add --compare OTHER"
            )
    if compare_text_key is not None and compare is None:
        raise SpecError(
            "needs another corpus to compare with", field="--compare-text-key", remedy="Add --compare OTHER"
        )
    if languages:
        identifier_version("--languages")
    first = _profile(corpus, text_key, limit, languages=languages)
    content: dict[str, Any] = {"corpus": corpus, "profile": first}
    if compare is None:
        _show([(corpus, first)])
        found: list[Difference] = []
    else:
        second = _profile(compare, compare_text_key or text_key, limit, languages=languages)
        found = differences(first, second)
        content |= {
            "other": compare,
            "other_profile": second,
            "differences": [
                {**one._asdict(), "deviations": one.deviations if math.isfinite(one.deviations) else None}
                for one in found
            ],
        }
        _show([(corpus, first), (compare, second)])
        _show_differences(found, corpus, compare)
    if json_file is not None:
        storage.write_bytes(json_file, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    over = [
        one
        for one in found
        if fail_on is not None and one.kind == "share" and abs(one.first - one.second) >= fail_on
    ]
    if over:
        raise ArtefactError(
            f"{len(over)} shares differ by {fail_on:.0%} or more: " + "; ".join(one.what for one in over[:5]),
            file=compare,
            field="--fail-on",
            remedy="Write both in the same way, or accept it with a larger share",
        )


def _profile(corpus: str, text_key: str, limit: int | None, *, languages: bool) -> dict[str, Any]:
    """Return the profile of a corpus.

    Raises:
      InputError: it has no documents, or one of them has no text.
    """
    from tootsie.datasets.errors import InputError
    from tootsie.datasets.format_profile import FormatTally
    from tootsie.datasets.format_profile import profile as profile_of

    tally = FormatTally()
    for text, language in itertools.islice(_texts(corpus, text_key, languages=languages), limit):
        tally.add(text, language)
    if not tally.documents:
        raise InputError(
            "no documents", file=corpus, remedy="Name a corpus folder, or files with a text for each record"
        )
    return profile_of(tally)


def _texts(corpus: str, text_key: str, *, languages: bool) -> Iterator[tuple[str, str | None]]:
    from tootsie.curate.language import identify
    from tootsie.datasets import manifest, storage
    from tootsie.datasets.readers.reading import read_records
    from tootsie.datasets.readers.record import text_of

    filesystem, path = storage.url_to_fs(corpus)
    urls = storage.expand([corpus])
    if filesystem.isdir(path):
        if storage.exists(storage.join(corpus, manifest.MANIFEST_NAME)):
            urls = [storage.join(corpus, entry.path) for entry in manifest.read_manifest(corpus).files]
        else:
            urls = storage.find_files(corpus)
    for url in urls:
        for record in read_records(url):
            text = text_of(record, text_key)
            stated = record.fields.get("metadata")
            language = stated.get("language") if isinstance(stated, dict) else None
            if not isinstance(language, str):
                language = identify(text) if languages else None
            yield text, language


def _show(profiles: list[tuple[str, dict[str, Any]]]) -> None:
    """Print the profiles beside one another, tab-separated."""
    names = [Path(name.rstrip("/")).name or name for name, _ in profiles]
    print("\t".join(["", *names]))
    for key in ("documents", "characters", "words", "lines"):
        print("\t".join([key, *(f"{profile[key]:,}" for _, profile in profiles)]))
    for group, title in (
        ("ends", "end in"),
        ("starts", "begin with"),
        ("last_characters", "last character"),
        ("languages", "language"),
    ):
        ranked = {
            name: max(profile[group].get(name, 0.0) for _, profile in profiles)
            for _, one in profiles
            for name in one[group]
        }
        for name in sorted(ranked, key=lambda name: (-ranked[name], name))[:8]:
            print(
                "\t".join(
                    [f"{title}: {name}", *(f"{profile[group].get(name, 0.0):.1%}" for _, profile in profiles)]
                )
            )
    for name in profiles[0][1]["shares"]:
        shares = [profile["shares"][name] for _, profile in profiles]
        if any(shares):
            print("\t".join([f"have: {name}", *(f"{share:.1%}" for share in shares)]))
    for name in profiles[0][1]["lengths"]:
        for quantile in profiles[0][1]["lengths"][name]:
            values = [profile["lengths"][name].get(quantile, 0) for _, profile in profiles]
            print("\t".join([f"{name}, {quantile}", *(f"{value:,}" for value in values)]))


def _show_differences(found: list[Difference], first: str, second: str) -> None:
    if not found:
        print(f"{first} and {second} are written alike")
        return
    print(f"differences\t{len(found)}, the largest first")
    for one in found[:20]:
        values = [
            f"{value:.1%}" if one.kind == "share" else f"{value:,.0f}" for value in (one.first, one.second)
        ]
        print("\t".join([one.what, *values, one.advice]).rstrip())
