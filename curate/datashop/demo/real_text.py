"""Text that people wrote, out of two packages: what the demonstration reads.

- gensim's tests carry 106 articles of the English Wikipedia of 2016 (CC BY-SA 3.0), of which the lead is taken, and 300 news
  items of the Australian Broadcasting Corporation of 2001, which Lee, Pincombe and Welsh (2005) collected.
- mendeleev (MIT licence) has a database of the chemical elements, with some sentences on each: what it is, where it is found and
  what it is used for. Those up to xenon are taken.

Both are downloaded as wheels, known by their SHA-256, and read as archives: nothing of them is installed or run. None of it is
kept in this repository.
"""

from __future__ import annotations

import bz2
import contextlib
import html
import io
import re
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError

WHEELS = {
    "gensim": "gensim-4.4.0-cp311-cp311-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl",
    "mendeleev": "mendeleev-1.3.0-py3-none-any.whl",
}
SHA256 = {
    "gensim": "91a7fa5e814e7b1bad4b2dffa8d62c1e55410d5cbdf930714c1997ffb4404db8",
    "mendeleev": "76f415767b654634e51dead755513ef431abf200e892eab8468aa659ff218d1c",
}
_TESTS = "gensim/test/test_data/"
_WIKIPEDIA = _TESTS + "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
_NEWS = _TESTS + "lee_background.cor"
_ELEMENTS = "mendeleev/elements.db"
_NAMESPACE = "{http://www.mediawiki.org/xml/export-0.10/}"


def download(folder: Path) -> None:
    """Download the wheels that are not there yet, and check them.

    Raises:
      InputError: a file is another than the one named here.
    """
    wanted = [name for name, file in WHEELS.items() if not (folder / file).exists()]
    if wanted:
        lines = [f"{name}=={WHEELS[name].split('-')[1]} --hash=sha256:{SHA256[name]}" for name in wanted]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "wheels.txt").write_text("\n".join(lines) + "\n")
        of = ["--platform", "manylinux_2_28_x86_64", "--python-version", "3.11", "--implementation", "cp"]
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ]
        files = ["--require-hashes", "--requirement", str(folder / "wheels.txt"), "--dest", str(folder)]
        subprocess.run(
            [*command, "--only-binary", ":all:", *of, *files],
            check=True,
        )
    for name, file in WHEELS.items():
        found = storage.sha256(str(folder / file))
        if found != SHA256[name]:
            raise InputError(
                "another file than the demonstration was made for",
                file=folder / file,
                field="SHA-256",
                value=found,
                remedy="Delete it; the next run downloads it again",
            )


def write_corpora(wheels: Path, out: Path) -> list[Path]:
    """Write a file of documents for each of the three collections, the same bytes each time, and return them."""
    found = []
    for name, documents in (
        ("wikipedia", wikipedia(wheels / WHEELS["gensim"])),
        ("news", news(wheels / WHEELS["gensim"])),
        ("elements", elements(wheels / WHEELS["mendeleev"])),
    ):
        path = out / f"{name}.jsonl.zst"
        with storage.atomic_zstd(str(path)) as stream:
            for document in documents:
                stream.write(document.to_json().encode() + b"\n")
        found.append(path)
    return found


def wikipedia(wheel: Path) -> Iterator[Document]:
    """Yield the leads of the articles of gensim's dump, without redirects and pages on the encyclopedia itself."""
    with zipfile.ZipFile(wheel) as archive:
        dump = io.BytesIO(bz2.decompress(archive.read(_WIKIPEDIA)))
    for _, page in ElementTree.iterparse(dump):
        if page.tag != f"{_NAMESPACE}page":
            continue
        title = page.findtext(f"{_NAMESPACE}title", "")
        text = page.findtext(f"{_NAMESPACE}revision/{_NAMESPACE}text", "")
        if page.find(f"{_NAMESPACE}redirect") is None and page.findtext(f"{_NAMESPACE}ns") == "0":
            lead = plain(text).split("\n\n## ", 1)[0]
            yield Document(
                id="wikipedia-" + page.findtext(f"{_NAMESPACE}id", ""),
                text=f"# {title}\n\n{lead}\n",
                source="wikipedia",
                created=page.findtext(f"{_NAMESPACE}revision/{_NAMESPACE}timestamp"),
                metadata={
                    "url": "https://en.wikipedia.org/wiki/" + title.replace(" ", "_"),
                    "license": "CC-BY-SA-3.0",
                    "title": title,
                },
            )
        page.clear()


def news(wheel: Path) -> Iterator[Document]:
    """Yield the news items, one for each line of the file."""
    with zipfile.ZipFile(wheel) as archive:
        lines = archive.read(_NEWS).decode().splitlines()
    for number, line in enumerate(lines):
        yield Document(
            id=f"news-{number}",
            text=line.strip() + "\n",
            source="news",
            metadata={"url": "https://github.com/piskvorky/gensim", "authors": ["ABC"], "year": 2001},
        )


def elements(wheel: Path) -> Iterator[Document]:
    """Yield a document for each chemical element that the database says something of."""
    with zipfile.ZipFile(wheel) as archive, contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(archive.read(_ELEMENTS))
        rows = database.execute(
            "SELECT symbol, name, description, sources, uses FROM elements WHERE atomic_number <= 54 ORDER BY atomic_number"
        )
        for symbol, name, *parts in rows:
            written = [part.strip() for part in parts if part and part.strip()]
            if written:
                yield Document(
                    id=f"element-{symbol}",
                    text=f"# {name}\n\n{name}: " + "\n\n".join(written) + "\n",
                    source="elements",
                    metadata={
                        "url": f"https://github.com/lmmentel/mendeleev#{symbol}",
                        "license": "MIT",
                        "title": name,
                    },
                )


_GONE = re.compile(
    r"<!--.*?-->|<ref[^>]*/>|<ref.*?</ref>|<(gallery|math|timeline|source|syntaxhighlight|imagemap|score)\b.*?</\1>|__[A-Z]+__",
    re.DOTALL | re.IGNORECASE,
)
_TEMPLATE = re.compile(r"\{\{([^{}]*)\}\}")
_TABLE = re.compile(r"^\{\|(?:(?!^\{\|).)*?^\|\}", re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(
    r"\[\[(?:File|Image|Category|[a-z-]{2,12}):(?:[^\[\]]|\[\[[^\[\]]*\]\]|\[[^\[\]]*\])*\]\]", re.IGNORECASE
)
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_ADDRESS = re.compile(r"\[(?:https?:)?//[^\s\]]+\s*([^\]]*)\]")
_HEADING = re.compile(r"^(={2,6})\s*(.*?)\s*\1\s*$", re.MULTILINE)
_APPENDIX = re.compile(
    r"^## (?:See also|References|Notes|External links|Further reading|Bibliography|Sources)\b", re.M
)
_EMPTY = re.compile(r"\s*\((?:[\s;,]|or|also)*\)|[ \t]+(?=[,.;)\n])")


def plain(wikitext: str) -> str:
    """Return wikitext as Markdown paragraphs and headings: without tables, notes, pictures and most templates."""
    text = _GONE.sub("", wikitext)
    for pattern, by in ((_TEMPLATE, _words), (_TABLE, ""), (_PICTURE, "")):
        count = 1
        while count:
            text, count = pattern.subn(by, text)
    text = _ADDRESS.sub(r"\1", _LINK.sub(r"\1", text))
    text = re.sub(r"</?[a-z]+[^<>]*>", "", re.sub(r"'{2,5}", "", text))
    text = html.unescape(text).replace("\u00a0", " ")
    text = re.sub(r"\((?:[\s;,]+)", "(", _EMPTY.sub("", text))
    text = _HEADING.sub(lambda match: f"\n{'#' * len(match[1])} {match[2]}\n", text)
    appendix = _APPENDIX.search(text)
    text = text[: appendix.start()] if appendix else text
    paragraphs = (" ".join(line.split()) for line in text.split("\n"))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph.strip(":;*#|! "))


_UNITS = {
    "C": "°C",
    "F": "°F",
    "km2": "km²",
    "m2": "m²",
    "km3": "km³",
    "m3": "m³",
    "sqkm": "km²",
    "sqmi": "sq mi",
}


def _words(match: re.Match[str]) -> str:
    """Return what a template shows, as far as it is plain words."""
    name, *rest = (part.strip() for part in match[1].split("|"))
    values = [part for part in rest if "=" not in part]
    kind = name.casefold()
    if kind in ("convert", "cvt") and len(values) > 1:
        return f"{values[0]} {_UNITS.get(values[1], values[1])}"
    if kind in (
        "nowrap",
        "nobr",
        "sub",
        "sup",
        "abbr",
        "chem",
        "val",
        "lang",
        "em",
        "linktext",
        "vanchor",
    ) or kind.startswith("lang-"):
        return "".join(values if kind == "chem" else values[1:2] if kind == "lang" else values[:1])
    return ""
