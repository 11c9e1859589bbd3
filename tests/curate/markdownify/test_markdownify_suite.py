"""The test suite of the ``markdownify`` package, its calls made to that package and to this converter's ``MarkdownConverter``.

The suite is others' work and not part of this project. ``make setup-dev`` downloads the last source distribution that carries
it; ``make markdownify-suite SUITE=FOLDER`` takes the ``tests`` folder of a checkout of a later version. What counts is what the
installed version returns for a call of the suite. Both must be the same text, or look the same to a reader (only blank lines,
spaces and line breaks within paragraphs differ), or ``markdownify_differences.toml`` says why not.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
import tarfile
import tomllib
import types
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import markdownify as package
import pytest
from markdown_it import MarkdownIt

import tootsie.curate.markdownify as ours

ARCHIVE = "markdownify-0.12.1"
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


class Whatever(str):
    """A result that meets every expectation, so that a test makes all of its calls."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True


@dataclass(frozen=True)
class Call:
    """One call of the suite."""

    test: str
    html: str
    options: str
    result: str | None
    """``None`` where the hooks of the test do not suit the interface of the converter."""

    @property
    def key(self) -> str:
        """Short name of the call, the same in every version of the suite."""
        return hashlib.sha256(f"{self.html}\0{self.options}".encode()).hexdigest()[:10]


@pytest.fixture(scope="module")
def suite(project_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if folder := os.environ.get("MARKDOWNIFY_SUITE"):
        return Path(folder)
    archive = project_root / ".build" / "specifications" / f"{ARCHIVE}.tar.gz"
    if not archive.exists():
        pytest.skip(f"{archive} is missing: make setup-dev downloads it")
    target = tmp_path_factory.mktemp("suite")
    with tarfile.open(archive) as members:
        members.extractall(target, filter="data")
    return target / ARCHIVE / "tests"


def substitute(converter: type, calls: list[tuple[str, str, str | None]]) -> types.ModuleType:
    """Return a module that looks like the package and notes each conversion by ``converter``."""

    class MarkdownConverter(converter):  # type: ignore[misc]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.given = options

        def convert(self, html: str) -> str:
            try:
                result = super().convert(html)
            except TypeError:
                result = None
            options = {name: value for name, value in self.given.items() if not callable(value)}
            kind = "" if type(self) is MarkdownConverter else type(self).__name__
            calls.append((html, f"{kind}{sorted(options.items())}", result))
            return Whatever(result)

    module = types.ModuleType("markdownify")
    for name in dir(package):
        if name.isupper():
            setattr(module, name, getattr(package, name))
    module.MarkdownConverter = MarkdownConverter  # type: ignore[attr-defined]
    module.markdownify = lambda html, **options: MarkdownConverter(**options).convert(html)  # type: ignore[attr-defined]
    return module


def calls_of(suite: Path, converter: type, monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Run the suite with ``converter`` and return the calls it made."""
    calls: list[Call] = []
    noted: list[tuple[str, str, str | None]] = []
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in [name for name in sys.modules if name.split(".")[0] == "markdownify_tests"]:
            patch.delitem(sys.modules, name)
        root = types.ModuleType("markdownify_tests")
        root.__path__ = [str(suite)]
        patch.setitem(sys.modules, "markdownify_tests", root)
        patch.setitem(sys.modules, "markdownify", substitute(converter, noted))
        for path in sorted(suite.glob("test_*.py")):
            module = importlib.import_module(f"markdownify_tests.{path.stem}")
            for name, test in list(vars(module).items()):
                if name.startswith("test_") and callable(test):
                    noted.clear()
                    test()
                    calls += [Call(f"{path.stem}::{name}", *entry) for entry in noted]
    for name in [name for name in sys.modules if name.split(".")[0] == "markdownify_tests"]:
        del sys.modules[name]
    return calls


def seen(markdown: str) -> str:
    """Return what a reader of GFM sees, as HTML without the white space that HTML does not show."""
    return re.sub(r"\s+", " ", re.sub(r">\s+<", "><", READER.render(markdown))).strip()


def test_the_suite_gets_what_the_package_gives(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    differences = tomllib.loads(Path(__file__).with_name("markdownify_differences.toml").read_text())
    argued = {key for entry in differences["difference"] for key in entry["calls"]}
    theirs = calls_of(suite, package.MarkdownConverter, monkeypatch)
    mine = calls_of(suite, ours.MarkdownConverter, monkeypatch)
    assert [call.key for call in theirs] == [call.key for call in mine]
    counts: Counter[str] = Counter()
    unargued, mended = [], []
    for their, our in zip(theirs, mine, strict=True):
        if their.result is None:
            counts["hooks of an older interface"] += 1
            assert our.result is not None
        elif their.result == our.result:
            counts["the same text"] += 1
            mended += [their.key] if their.key in argued else []
        elif seen(their.result) == seen(our.result or ""):
            counts["the same to a reader"] += 1
            mended += [their.key] if their.key in argued else []
        elif their.key in argued:
            counts["different, argued"] += 1
        else:
            unargued.append(
                f"{their.test} {their.key}\n  {their.html!r} {their.options}\n  package {their.result!r}\n  here    {our.result!r}"
            )
    print(f"markdownify's suite, {len(theirs)} calls:", dict(counts))
    assert counts["the same text"] > 100
    assert not unargued, "\n".join(unargued)
    assert not mended, f"no longer different: {mended}"
