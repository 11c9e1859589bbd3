"""``python -m curate.markdownify``: one page, a folder of pages, a ZIP of pages or standard input, to Markdown."""

from __future__ import annotations

import json
import posixpath
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tootsie.curate.markdownify import command_style as style
from tootsie.curate.markdownify.archive import PAGE_SUFFIXES, read_pages
from tootsie.curate.markdownify.options import Dollars, Images, Limits, Links, Profile, References
from tootsie.curate.markdownify.rules import table
from tootsie.datasets import storage
from tootsie.datasets.command_line import run_stage
from tootsie.datasets.errors import InputError, SpecError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
Converter = Callable[[bytes], str]


class Engine(StrEnum):
    """Which converter writes the Markdown."""

    TOOTSIE = "tootsie"
    MARKDOWNIFY = "markdownify"
    """The package of that name, to compare with; knows no profiles and policies, only the style."""


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def markdownify(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE…",
            help="Pages, folders or ZIPs of pages (URLs, globs, brace ranges), or - for standard input.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "-o", "--out", help="File (one page) or folder; one page goes to standard output without."
        ),
    ] = None,
    profile: Annotated[Profile, typer.Option(help="What kind of pages these are.")] = Profile.WEB,
    engine: Annotated[Engine, typer.Option(help="Which converter.")] = Engine.TOOTSIE,
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
    counters: Annotated[
        bool, typer.Option(help="Print on standard error how often each rule applied.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Convert only the first pages.")] = None,
    dry_run: Annotated[bool, typer.Option(help="List what would be written.")] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.html",
            help="Write what each rule did to one page, source and Markdown side by side.",
        ),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="List the rules of the profile and leave.")] = False,
    heading_style: style.HeadingStyle = None,
    newline_style: style.NewlineStyle = None,
    strong_em_symbol: style.StrongEmSymbol = None,
    bullets: style.Bullets = None,
    code_language: style.CodeLanguage = None,
    strip_pre: style.StripPre = None,
    sub_symbol: style.SubSymbol = None,
    sup_symbol: style.SupSymbol = None,
    strip: style.StripTags = None,
    convert: style.ConvertTags = None,
    keep_inline_images_in: style.KeepInlineImagesIn = None,
    autolinks: style.Autolinks = None,
    default_title: style.DefaultTitle = None,
    escape_asterisks: style.EscapeAsterisks = None,
    escape_underscores: style.EscapeUnderscores = None,
    escape_misc: style.EscapeMisc = None,
    table_infer_header: style.TableInferHeader = None,
    wrap: style.Wrap = None,
    wrap_width: style.WrapWidth = None,
) -> int:
    """Convert HTML to Markdown: formulas byte for byte, tables on their grid, code verbatim.

    A folder or a ZIP becomes a mirrored tree of .md files below --out.
    """
    policies: dict[str, Any] = {
        "links": links, "images": images, "references": references, "dollars": dollars, "infobox": infobox,
        "authors": authors,
    }  # fmt: skip
    options = {name: value for name, value in policies.items() if value is not None}
    if rules:
        print(table(profile), end="")
        return 0
    if not sources:
        raise SpecError(
            "nothing to convert",
            field="SOURCE",
            remedy="Name a page, a folder or a ZIP, or give - for standard input",
        )
    styles = style.style_options(
        heading_style=heading_style, newline_style=newline_style, strong_em_symbol=strong_em_symbol, bullets=bullets,
        code_language=code_language, strip_pre=strip_pre, sub_symbol=sub_symbol, sup_symbol=sup_symbol, strip=strip,
        convert=convert, keep_inline_images_in=keep_inline_images_in, autolinks=autolinks, default_title=default_title,
        escape_asterisks=escape_asterisks, escape_underscores=escape_underscores, escape_misc=escape_misc,
        table_infer_header=table_infer_header, wrap=wrap, wrap_width=wrap_width,
    )  # fmt: skip
    total: Counter[str] = Counter()
    write = _engine(engine, profile, options, styles, charset, max_bytes, total)
    if sources == ["-"]:
        pages: Iterator[tuple[str, bytes]] = iter([("standard input", _read_stdin(max_bytes))])
        single = True
    else:
        pages, single = _pages(sources, max_bytes)
    if explain is not None:
        if not single or engine is not Engine.TOOTSIE:
            raise SpecError(
                "only one page, converted by tootsie, can be explained",
                field="--explain",
                remedy="Name one page",
            )
        if out is not None or counters:
            raise SpecError(
                "the explained page has Markdown and counters in it",
                field="--explain",
                value="--out" if out is not None else "--counters",
                remedy="Leave the other out",
            )
        _explain(
            next(pages), explain, dry_run, max_bytes, profile=profile, charset=charset, **options, **styles
        )
    elif single:
        name, content = next(pages)
        text = "" if dry_run else _convert(write, name, content)
        if dry_run:
            print(f"{name} -> {out or 'standard output'}")
        elif out is None:
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()
        else:
            storage.write_bytes(out, text.encode())
    else:
        _write_tree(pages, ", ".join(sources), out, write, limit, dry_run)
    if counters:
        print(json.dumps(dict(sorted(total.items())), indent=1), file=sys.stderr)
    return 0


def _explain(page: tuple[str, bytes], target: str, dry_run: bool, max_bytes: int, **options: Any) -> None:
    from tootsie.curate.markdownify.explain import explain

    def write(content: bytes) -> str:
        return explain(
            content, name=posixpath.basename(page[0]), limits=Limits(max_bytes=max_bytes), **options
        )

    if dry_run:
        print(f"{page[0]} -> {target}")
    else:
        storage.write_bytes(target, _convert(write, *page).encode())
        print(f"{page[0]} explained in {target}", file=sys.stderr)


def _write_tree(
    pages: Iterator[tuple[str, bytes]],
    source: str,
    out: str | None,
    write: Converter,
    limit: int | None,
    dry_run: bool,
) -> None:
    if out is None:
        raise SpecError(
            "a folder or archive needs a folder to write to", field="--out", remedy="Give one with -o FOLDER"
        )
    count = 0
    written: dict[str, str] = {}
    for name, content in pages:
        if limit is not None and count >= limit:
            break
        count += 1
        target = posixpath.splitext(name)[0] + ".md"
        if target in written:
            raise InputError(
                "two pages would be written to the same file",
                file=source,
                field=target,
                value=f"{written[target]}, {name}",
                remedy="Rename one of them",
            )
        written[target] = name
        if dry_run:
            print(f"{name} -> {storage.join(out, target)}")
        else:
            storage.write_bytes(storage.join(out, target), _convert(write, name, content).encode())
    if not count:
        raise InputError("no pages in it", file=source, remedy=f"Pages end in {', '.join(PAGE_SUFFIXES)}")
    print(f"{count:,} pages {'would be ' if dry_run else ''}written to {out}", file=sys.stderr)


def _convert(write: Converter, name: str, content: bytes) -> str:
    try:
        return write(content)
    except InputError as error:
        raise InputError(error.problem, file=name, value=error.value, remedy=error.remedy) from None


def _engine(
    engine: Engine,
    profile: Profile,
    options: dict[str, Any],
    styles: dict[str, Any],
    charset: str | None,
    max_bytes: int,
    total: Counter[str],
) -> Converter:
    if engine is Engine.MARKDOWNIFY:
        for name in [*(["profile"] if profile is not Profile.WEB else []), *options]:
            raise SpecError(
                "the markdownify package knows no profiles and policies",
                field=f"--{name}",
                remedy="Leave it out, or use --engine tootsie",
            )
        return _package(styles, charset)

    from tootsie.curate.markdownify.conversion import convert, settings_of

    limits = Limits(max_bytes=max_bytes)
    settings_of(profile, {**options, **styles})  # refuses what is wrong before a page is read

    def convert_here(content: bytes) -> str:
        conversion = convert(content, profile=profile, limits=limits, charset=charset, **options, **styles)
        total.update(conversion.counters)
        return conversion.markdown

    return convert_here


def _package(styles: dict[str, Any], charset: str | None) -> Converter:
    """Return the conversion by the ``markdownify`` package, with ATX headings unless told otherwise."""
    import markdownify as package

    from tootsie.curate.markdownify.decoding import decode
    from tootsie.curate.markdownify.options import Options

    Options.of(Profile.WEB, **styles)
    settings = {"heading_style": "atx", **styles}

    def convert_by_package(content: bytes) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # Beautiful Soup's, when a page looks like a file name or like XML
            try:
                return package.markdownify(decode(content, charset).text, **settings).strip() + "\n"
            except RecursionError:
                raise InputError(
                    "nested too deep for the markdownify package", remedy="Use --engine tootsie"
                ) from None

    return convert_by_package


def _pages(sources: list[str], max_bytes: int) -> tuple[Iterator[tuple[str, bytes]], bool]:
    """Return ``(relative name, content)`` pairs and whether ``sources`` stand for one page."""
    found = [
        url
        for source in sources
        for url in ([source] if storage.exists(source) else storage.expand([source]))
    ]
    parts = [_pages_of(url, max_bytes) for url in found]
    if len(parts) == 1 and parts[0] is not None:
        return parts[0], False
    if len(parts) == 1:
        return iter([(found[0], _read_file(found[0], max_bytes))]), True

    def every_page() -> Iterator[tuple[str, bytes]]:
        for url, pages in zip(found, parts, strict=True):
            if pages is None:
                yield posixpath.basename(url), _read_file(url, max_bytes)
            else:
                yield from pages

    return every_page(), False


def _pages_of(url: str, max_bytes: int) -> Iterator[tuple[str, bytes]] | None:
    """Return the pages of a folder or archive, ``None`` for a page."""
    local = storage.local_path(url)
    if local is not None and local.is_dir():
        return _folder(local, max_bytes)
    if url.lower().endswith(".zip") or _is_zip(url):
        return ((member.name, member.content) for member in read_pages(url, max_bytes))
    return None


def _folder(folder: Path, max_bytes: int) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in PAGE_SUFFIXES and path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), _read_file(str(path), max_bytes)


def _is_zip(url: str) -> bool:
    with storage.open_binary(url) as stream:
        return stream.read(4) == b"PK\x03\x04"


def _read_file(url: str, max_bytes: int) -> bytes:
    with storage.open_binary(url) as stream:
        content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise InputError(f"the page is longer than {max_bytes:,} bytes", file=url, remedy="Raise --max-bytes")
    return content


def _read_stdin(max_bytes: int) -> bytes:
    content = sys.stdin.buffer.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise InputError(
            f"the page is longer than {max_bytes:,} bytes", file="standard input", remedy="Raise --max-bytes"
        )
    return content


def main() -> None:
    """Entry point of ``python -m curate.markdownify``."""
    run_stage(app, "python -m curate.markdownify")
