"""``tootsie curate fidelity``: how much of the pages arrives in their Markdown."""

from __future__ import annotations

import json
import posixpath
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tootsie.curate.markdownify.options import Dollars, Images, Limits, Links, Profile, References

if TYPE_CHECKING:
    from tootsie.curate.fidelity.measure import Converter
    from tootsie.curate.fidelity.pages import Page
    from tootsie.curate.markdownify.options import Options


class Engine(StrEnum):
    """Which converter is measured."""

    TOOTSIE = "tootsie"
    MARKDOWNIFY = "markdownify"
    """The package of that name."""


def fidelity(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE…", help="Pages, folders or ZIPs of pages, Enterprise dumps, Posts.xml or 7z."
        ),
    ],
    profile: Annotated[Profile, typer.Option(help="What kind of pages these are.")] = Profile.WEB,
    markdown: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Judge the .md files in this folder, a mirror of the pages, instead of converting.",
        ),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="Which converter.")] = Engine.TOOTSIE,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=SHARE",
            help="Least recall (or KIND.precision), as formulas=1.0; exit code 1 below it.",
        ),
    ] = None,
    show: Annotated[
        int, typer.Option(min=0, help="Print the worst pages of each kind, this many, with examples.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the totals as JSON.")] = False,
    records: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write one line of JSON for each page.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Measure only the first pages.")] = None,
    links: Annotated[
        Links | None, typer.Option(help="Links policy; each policy has a default by profile.")
    ] = None,
    images: Annotated[Images | None, typer.Option(help="Images policy.")] = None,
    references: Annotated[References | None, typer.Option(help="References policy.")] = None,
    dollars: Annotated[Dollars | None, typer.Option(help="Whether $…$ in text is a formula.")] = None,
    infobox: Annotated[bool | None, typer.Option(help="Wikipedia: keep the infobox.")] = None,
    authors: Annotated[bool | None, typer.Option(help="arXiv: keep the author block in the text.")] = None,
    charset: Annotated[
        str | None, typer.Option(help="Encoding of the pages where they declare none.")
    ] = None,
    max_bytes: Annotated[int, typer.Option(min=1, help="Longer pages are refused.")] = Limits.max_bytes,
) -> int:
    """Measure how much of the pages' formulas, tables, code, structure and text arrives in their Markdown.

    The pages are read by rules of the measure's own, the Markdown by a CommonMark parser.
    """
    import contextlib
    import itertools

    from rich.console import Console

    from tootsie.curate.fidelity import requirements
    from tootsie.curate.fidelity.measure import Totals, measure
    from tootsie.curate.fidelity.pages import read_sources
    from tootsie.curate.fidelity.report import Worst, print_totals
    from tootsie.curate.markdownify.options import Options
    from tootsie.datasets import storage
    from tootsie.datasets.errors import InputError

    required = [requirements.parse(text) for text in require or ()]
    policies: dict[str, Any] = {
        "links": links, "images": images, "references": references, "dollars": dollars, "infobox": infobox, "authors": authors
    }  # fmt: skip
    options = {name: value for name, value in policies.items() if value is not None}
    settings = Options.of(profile, **options)
    converter = _converter(markdown, engine, settings, options, charset, max_bytes)
    pages = itertools.islice(read_sources(sources, profile, max_bytes), limit)
    totals, worst = Totals(), Worst(show)
    with contextlib.ExitStack() as files:
        stream = files.enter_context(storage.atomic_write(records)) if records is not None else None
        for measured in measure(pages, settings, converter, charset):
            totals.add(measured)
            worst.add(measured)
            if stream is not None:
                stream.write(json.dumps(measured.record(), ensure_ascii=False).encode() + b"\n")
        if not totals.pages:
            raise InputError("no pages in it", file=", ".join(sources), remedy=f"Is {profile} their profile?")
    problems = [problem for requirement in required if (problem := requirement.problem(totals))]
    errors = Console(stderr=True, soft_wrap=True, markup=False)
    if as_json:
        print(
            json.dumps(
                {"profile": str(profile)} | totals.record() | {"unmet": problems},
                ensure_ascii=False,
                indent=1,
            )
        )
    else:
        console = Console(soft_wrap=True, markup=False)
        print_totals(totals, console)
        worst.print_to(console)
    for problem in problems:
        errors.print(f"not met: {problem}", highlight=False)
    return 1 if problems else 0


def _converter(
    folder: str | None,
    engine: Engine,
    settings: Options,
    options: dict[str, Any],
    charset: str | None,
    max_bytes: int,
) -> Converter:
    from tootsie.datasets import storage

    if folder is not None:

        def read(page: Page) -> str | None:
            stem, suffix = posixpath.splitext(page.name)
            for name in (f"{page.name}.md", f"{stem}.md" if suffix else ""):
                if name and storage.exists(storage.join(folder, name)):
                    return storage.read_bytes(storage.join(folder, name)).decode("utf-8", "replace")
            return None

        return read
    if engine is Engine.MARKDOWNIFY:
        import markdownify

        from tootsie.curate.fidelity.pages import text_of

        def by_package(page: Page) -> str | None:
            try:
                return str(markdownify.markdownify(text_of(page.content, charset), heading_style="ATX"))
            except RecursionError:
                return None

        return by_package
    from tootsie.curate.markdownify import convert

    def here(page: Page) -> str | None:
        limits = Limits(max_bytes=max_bytes)
        return convert(
            page.content, profile=settings.profile, limits=limits, charset=charset, **options
        ).markdown

    return here
