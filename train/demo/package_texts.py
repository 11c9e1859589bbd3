"""Real text that lies on every machine Tootsie runs on: what Python and the packages under it say of themselves.

Docstrings are prose with formulas and examples, the standard library is code, the topics of ``pydoc`` are a manual. Nothing has
to be fetched or shipped: all of it belongs to others and is installed anyway. Other versions of the packages have other texts.
"""

from __future__ import annotations

import ast
import importlib.util
import itertools
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import InputError

SHORTEST = 200
"""Characters of the shortest docstring that is taken: shorter ones say what the name says already."""
LEFT_OUT = frozenset(
    {"tests", "test", "testing", "idlelib", "encodings", "pydoc_data", "site-packages", "lib2to3"}
)
"""Folders without prose or code worth learning from: tests, tables, and what belongs to others."""


class Text(NamedTuple):
    """Where the documents of one corpus come from."""

    says: str  # For people, in the dry run.
    documents: Callable[[], Iterator[tuple[str, str]]]  # Id and text of each, in a fixed order.


def python_files(folder: Path) -> list[Path]:
    """Return the source files below a folder, sorted by path, without those in :data:`LEFT_OUT`."""
    found = [path for path in folder.rglob("*.py") if not LEFT_OUT & set(path.relative_to(folder).parts)]
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def docstrings(source: bytes) -> str | None:
    """Return the docstrings of a module, its classes and functions, each below its name; ``None`` where there are none.

    They come in the breadth-first order of :func:`ast.walk`; what does not parse has none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in the strings of others
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    parts = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = (ast.get_docstring(node) or "").strip()
            if len(text) >= SHORTEST:
                parts.append(text if isinstance(node, ast.Module) else f"## {node.name}\n\n{text}")
    return "\n\n".join(parts) + "\n" if parts else None


def package_folder(name: str) -> Path:
    """Return where an installed package lies.

    Raises:
      InputError: it is not installed.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise InputError("the package is not installed", value=name, remedy=f"pip install {name}")
    return Path(next(iter(spec.submodule_search_locations)))


def documentation_of(*packages: str) -> Text:
    """Return the docstrings of packages: a document for each module that has any."""

    def documents() -> Iterator[tuple[str, str]]:
        for package in packages:
            folder = package_folder(package)
            for path in python_files(folder):
                text = docstrings(path.read_bytes())
                if text is not None:
                    yield f"{package}/{path.relative_to(folder).as_posix()}", text

    return Text(f"docstrings of {', '.join(packages)}", documents)


def _standard_library() -> Iterator[tuple[str, str]]:
    folder = Path(sysconfig.get_path("stdlib"))
    for path in python_files(folder):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a file in an old encoding, there to test that
        if text.strip():
            yield path.relative_to(folder).as_posix(), text


def _manual() -> Iterator[tuple[str, str]]:
    from pydoc_data.topics import topics

    for name in sorted(topics):
        yield name, topics[name].strip() + "\n"


TEXTS: dict[str, Text] = {
    "web": documentation_of("numpy", "scipy", "matplotlib"),
    "code": Text("source of Python's standard library", _standard_library),
    "medium": documentation_of("jax", "apache_beam", "orbax", "optax", "haiku"),
    "synthetic": documentation_of("plotly"),
    "manual": Text("topics of Python's reference, as pydoc has them", _manual),
}
"""By name of the dataset."""


def text_file(name: str) -> str:
    """Return where the documents of a text are written, below the walk's folder."""
    return f"texts/{name}.jsonl"


def write_texts(limit: int | None) -> None:
    """Write each text as a file of documents, unless it is there with the same content already.

    Args:
      limit: documents of each, from the first; ``None``: all.

    Raises:
      InputError: a package is not installed.
    """
    for name, text in TEXTS.items():
        lines = [
            Document(id=identity, text=content, source=name).to_json() + "\n"
            for identity, content in itertools.islice(text.documents(), limit)
        ]
        content = "".join(lines).encode("utf-8", "surrogatepass")
        path = Path(text_file(name))
        if not path.exists() or path.read_bytes() != content:
            storage.write_bytes(str(path), content)
        print(f"{path}: {len(lines):,} documents, {len(content):,} bytes, {text.says}", flush=True)
