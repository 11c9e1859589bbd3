"""Tiny dumps made in the tests, and a way to run the command on them."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest

from tootsie.datasets.command_line import run_command
from tootsie.datasets.document import Document
from tootsie.datasets.manifest import Manifest, read_documents, read_manifest
from tootsie.datasets.storage import read_lines

PROSE = "The quick brown fox jumps over the lazy dog, and nobody minds at all. "


def page(title: str, body: str = PROSE * 8) -> str:
    """A page as LaTeXML writes it."""
    return (
        f'<!DOCTYPE html><html lang="en"><head><title>{title}</title></head><body><div class="ltx_page_main">'
        f'<div class="ltx_page_content"><article class="ltx_document"><h1 class="ltx_title ltx_title_document">{title}</h1>'
        '<div class="ltx_abstract"><h6 class="ltx_title ltx_title_abstract">Abstract</h6>'
        '<p class="ltx_p">We show what can be shown.</p></div>'
        f'<section class="ltx_section" id="S1"><h2 class="ltx_title ltx_title_section">First</h2>'
        f'<div class="ltx_para"><p class="ltx_p">{body}</p></div></section></article></div></div></body></html>'
    )


def write_zip(path: Path, pages: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in pages.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 4, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return path


def article(number: int, revision: int = 1, **changes: Any) -> dict[str, Any]:
    """An article as Wikimedia Enterprise has it."""
    return {
        "name": f"Article {number}",
        "identifier": number,
        "date_modified": f"2024-01-{min(revision, 28):02d}T00:00:00Z",
        "version": {"identifier": revision},
        "url": f"https://en.wikipedia.org/wiki/Article_{number}",
        "namespace": {"identifier": 0},
        "in_language": {"identifier": "en"},
        "is_part_of": {"identifier": "enwiki"},
        "article_body": {
            "html": f"<html><body><section><p>Revision {revision}. {PROSE * 5}</p></section></body></html>"
        },
        "license": [{"identifier": "CC-BY-SA-4.0", "url": "https://creativecommons.org/licenses/by-sa/4.0/"}],
    } | changes


def ndjson(articles: Iterable[Any]) -> bytes:
    return b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in articles)


def write_tar(path: Path, members: Mapping[str, bytes]) -> Path:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return path


def rows(root: str, items: Sequence[Mapping[str, Any]]) -> str:
    """A table of a StackExchange dump."""
    lines = [
        f"  <row {' '.join(f'{key}={quoteattr(str(value))}' for key, value in item.items())} />"
        for item in items
    ]
    return "\n".join(['﻿<?xml version="1.0" encoding="utf-8"?>', f"<{root}>", *lines, f"</{root}>", ""])


def question(number: int, **more: Any) -> dict[str, Any]:
    return {
        "Id": number,
        "PostTypeId": 1,
        "CreationDate": "2019-05-01T10:00:00.000",
        "Score": 3,
        "Title": f"Question {number}?",
        "Body": f"<p>I wonder about {number} &amp; $x_{{1}}$.</p>",
        "Tags": "<alpha><beta>",
        "OwnerUserId": 7,
    } | more


def answer(number: int, parent: int, **more: Any) -> dict[str, Any]:
    return {
        "Id": number,
        "PostTypeId": 2,
        "ParentId": parent,
        "CreationDate": "2010-05-01T10:00:00.000",
        "Score": 1,
        "Body": f"<p>Answer {number}.</p>",
        "OwnerUserId": 8,
    } | more


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@dataclass
class Result:
    """What a run left behind."""

    code: int
    folder: Path
    stdout: str
    stderr: str

    @property
    def manifest(self) -> Manifest:
        return read_manifest(str(self.folder))

    @property
    def documents(self) -> dict[str, Document]:
        return {document.id: document for document in read_documents(str(self.folder))}

    @property
    def dropped(self) -> dict[str, int]:
        return self.manifest.accounting.dropped

    @property
    def rejects(self) -> list[Document]:
        return [
            Document.from_json(line, file=path.name, record=number)
            for path in sorted((self.folder / "rejects").glob("part-*"))
            for number, line in enumerate(read_lines(str(path)))
        ]

    @property
    def bytes(self) -> dict[str, bytes]:
        return files_in(self.folder)


@pytest.fixture
def curate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """``curate("arxiv", input, …, "--option", out="name")`` runs the command in this process."""
    import typer.main

    from tootsie.curate.command import app

    def run(corpus: str, *arguments: object, out: str = "out") -> Result:
        folder = tmp_path / out
        options = [str(one) for one in arguments if str(one).startswith("--")]
        inputs = [str(one) for one in arguments if not str(one).startswith("--")]
        capsys.readouterr()
        code = run_command(typer.main.get_command(app), [corpus, *inputs, str(folder), *options])
        printed = capsys.readouterr()
        return Result(code, folder, printed.out, printed.err)

    return run


@pytest.fixture
def stopped_after(curate: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """``stopped_after(module, "step", "dedup", input, …, out="name")`` runs the command until that step has ended."""

    def run(module: ModuleType | type, name: str, *command: object, out: str) -> Result:
        step = getattr(module, name)

        def stop_after(*arguments: object, **options: object) -> None:
            step(*arguments, **options)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(module, name, stop_after)
            stopped = curate(*command, out=out)
        assert stopped.code not in (0, 2)
        return stopped

    return run
