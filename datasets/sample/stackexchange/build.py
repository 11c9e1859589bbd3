"""Builds the sample StackExchange dumps of this folder from ``sources/`` and the question families of ``computed/``.

Run from anywhere::

    python datasets/sample/stackexchange/build.py                 # rewrites the archives in this folder
    python datasets/sample/stackexchange/build.py --output DIR    # XML files and archives under DIR
    python datasets/sample/stackexchange/build.py --show KEY      # one thread, as stored, on the terminal

The result depends on the sources alone: fixed seeds, fixed file times, no clock. Needs ``py7zr``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from assembly import Row, Site, assemble, read_users  # noqa: E402
from computed import families  # noqa: E402
from threads import Thread, read_sources  # noqa: E402

FILE_TIME = datetime(2024, 4, 1, tzinfo=UTC).timestamp()
"""The modification time of the archives' members."""


@dataclass(frozen=True)
class Recipe:
    """How one dump is written."""

    name: str
    """The site's host name, and the archive's name without ``.7z``."""
    folder: str
    """Where its sources are."""
    tag_style: str
    """``angle`` until 2023, ``pipe`` since 2024."""
    line_end: str
    """CRLF in most dumps, LF in recent ones."""
    computed: bool
    """Whether the question families add their threads."""


RECIPES = [
    Recipe("sampleoverflow.stackexchange.com", "sources", "angle", "\r\n", computed=True),
    Recipe("sampleoverflow.meta.stackexchange.com", "sources/meta", "pipe", "\n", computed=False),
]


def attribute(value: object) -> str:
    """Escape an attribute value as the dumps do: line ends and tabs as character references."""
    text = str(value)
    for raw, reference in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("\r", "&#xD;"),
                           ("\n", "&#xA;"), ("\t", "&#x9;")):  # fmt: skip
        text = text.replace(raw, reference)
    return text


def xml_file(root: str, rows: list[Row], line_end: str) -> bytes:
    """One dump file: byte order mark, declaration, one ``row`` element a line, no line end after the last line."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<{root}>"]
    for row in rows:
        lines.append(
            "  <row " + " ".join(f'{name}="{attribute(value)}"' for name, value in row.items()) + " />"
        )
    lines.append(f"</{root}>")
    return b"\xef\xbb\xbf" + line_end.join(lines).encode("utf-8")


def make_threads(recipe: Recipe) -> list[Thread]:
    """The written and, where the recipe asks for them, the computed threads of a site."""
    threads = read_sources(HERE / recipe.folder)
    return threads + families.threads() if recipe.computed else threads


def make_files(recipe: Recipe) -> dict[str, bytes]:
    """The members of the site's archive by name."""
    users = read_users((HERE / "sources" / "users.dat").read_text(encoding="utf-8"))
    users[0].id = -1  # the first line is the site's own robot
    site: Site = assemble(recipe.name, make_threads(recipe), users, recipe.tag_style)
    tables = {
        "Comments": site.comments,
        "Posts": site.posts,
        "Tags": site.tags,
        "Users": site.users,
        "Votes": site.votes,
    }
    return {f"{name}.xml": xml_file(name.lower(), rows, recipe.line_end) for name, rows in tables.items()}


def pack(files: dict[str, bytes], archive: Path) -> None:
    """Write ``files`` into a 7z archive (LZMA2) whose bytes depend on their names and contents only."""
    import py7zr

    with tempfile.TemporaryDirectory() as folder:
        partial = archive.with_name(archive.name + ".partial")
        with py7zr.SevenZipFile(partial, "w", filters=[{"id": py7zr.FILTER_LZMA2, "preset": 9}]) as packed:
            for name, content in sorted(files.items()):
                path = Path(folder) / name
                path.write_bytes(content)
                path.chmod(0o644)
                os.utime(path, (FILE_TIME, FILE_TIME))
                packed.write(path, name)
        partial.replace(archive)


def show(key: str) -> str:
    """The threads whose key or title contains ``key``: title, then each body as the dump stores it."""
    from markup import render
    from outputs import fill

    pieces = []
    for thread in (thread for recipe in RECIPES for thread in make_threads(recipe)):
        if key in thread.question.key or key.lower() in thread.question.title.lower():
            pieces.append(f"# {thread.question.title}  {thread.question.tags}")
            for post in [thread.question, *thread.answers]:
                pieces.append(f"=== {post.kind} ({post.score}) {' '.join(sorted(post.flags))}")
                pieces.append(render(fill(post.body), modern=True))
                pieces += [f"  -- comment ({comment.score}): {comment.body}" for comment in post.comments]
    return "\n".join(pieces)


def main(arguments: list[str] | None = None) -> int:
    """Build every recipe and print what was made."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--output", type=Path, help="write XML files and archives here (default: archives beside this file)"
    )
    parser.add_argument("--show", metavar="KEY", help="print the threads whose key or title contains KEY")
    options = parser.parse_args(arguments)
    if options.show:
        print(show(options.show))
        return 0
    target = options.output or HERE
    for recipe in RECIPES:
        files = make_files(recipe)
        if options.output:
            folder = target / recipe.name
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                (folder / name).write_bytes(content)
        archive = target / f"{recipe.name}.7z"
        pack(files, archive)
        rows = ", ".join(f"{name} {content.count(b'  <row ')} rows" for name, content in files.items())
        print(f"{archive.name}: {archive.stat().st_size} bytes; {rows}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
