"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

STAGES = ("curate", "datasets", "mixtures", "tokenize", "train")
# What a stage may import of another: only the modules that define the artefact it reads.
MAY_IMPORT = {
    "curate": {},
    "datasets": {},
    "tokenize": {},
    "mixtures": {"tokenize": {"cache", "ledger"}},
    "train": {
        # ``comparison`` and ``branch`` say when one plan may take the place of another, and where a plan can be left.
        "mixtures": {"plan", "sampler", "order", "learning_rate", "settings", "comparison", "branch"},
        "tokenize": {"cache", "ledger", "tokenizers", "byte_lengths"},
    },
}
# The demo and the report look at every stage's artefacts.
SPANNING = ("train/demo/", "train/report/")
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "manager"}


def modules(root: Path) -> list[Path]:
    """Every Python file of the five stages, sample generators and launchers left out."""
    return [
        path
        for stage in STAGES
        for path in sorted((root / stage).rglob("*.py"))
        if "sample" not in path.parts and "launcher" not in path.parts
    ]


def imported(path: Path) -> list[str]:
    """Names of the ``tootsie`` modules that a file imports anywhere in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if name.startswith("tootsie.")]


def test_a_stage_reads_artefacts_not_other_stages(project_root: Path) -> None:
    wrong = []
    for path in modules(project_root):
        relative = path.relative_to(project_root).as_posix()
        if relative.startswith(SPANNING):
            continue
        stage = relative.split("/")[0]
        for name in imported(path):
            _, other, *rest = name.split(".")
            allowed = MAY_IMPORT[stage].get(other, set())
            if other not in (stage, "datasets") and (not rest or rest[0] not in allowed):
                wrong.append(f"{relative} imports {name}")
    assert not wrong


def test_the_foundation_imports_no_stage(project_root: Path) -> None:
    for path in modules(project_root):
        if path.relative_to(project_root).parts[0] == "datasets":
            assert all(name.startswith("tootsie.datasets") for name in imported(path)), path


def test_no_module_is_named_by_a_lack_of_concept(project_root: Path) -> None:
    assert not [path for path in modules(project_root) if path.stem in FORBIDDEN_NAMES]


@pytest.mark.parametrize("stage", ["tokenize", "datasets"])
def test_folders_that_must_not_be_packages(project_root: Path, stage: str) -> None:
    assert not (project_root / stage / "__init__.py").exists()


def test_top_level_is_the_one_the_project_was_given(project_root: Path) -> None:
    folders = {
        path.name
        for path in project_root.iterdir()
        if path.is_dir() and not path.name.startswith((".", "__"))
    }
    given = {"curate", "mixtures", "tokenize", "train", "datasets", "tests", "benchmarks", "docs"}
    made_by_make = {"build", "dist", "demo-run", "mini-run", "tootsie.egg-info"}
    assert folders - made_by_make == given


def test_no_module_outgrows_one_concept(project_root: Path) -> None:
    long = {
        str(p.relative_to(project_root)): n
        for p in modules(project_root)
        if (n := len(p.read_text().splitlines())) > 450
    }
    assert not long


def test_no_console_reads_markup(project_root: Path) -> None:
    """Rich takes ``[/b]`` in a page's text or a file's name for a tag: an error, or text that is not shown."""
    reading = [
        f"{path.relative_to(project_root)}:{node.lineno}"
        for path in modules(project_root)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Console"
        and not any(keyword.arg == "markup" for keyword in node.keywords)
    ]
    assert not reading


IMPORT_NAMES = {
    "beautifulsoup4": "bs4",
    "dm-haiku": "haiku",
    "markdown-it-py": "markdown_it",
    "mdit-py-plugins": "mdit_py_plugins",
    "orbax-checkpoint": "orbax",
    "pyyaml": "yaml",
    "apache-beam": "apache_beam",
}
OPTIONAL = {
    "lm_eval",
    "wandb",
    "aiohttp",
    "xllamacpp",
    "gguf",
    "gigatoken",
    "tokenizers",
    "py3langid",
    "huggingface_hub",
    "spacy",
    "tldextract",
}
"""Imported inside functions, with an error that names the extra."""


def test_every_package_that_is_imported_is_declared(project_root: Path) -> None:
    """A package that only a developer's extra or another package brings is missing on a user's machine."""
    project = tomllib.loads((project_root / "pyproject.toml").read_text())["project"]
    names = [re.split(r"[\s<>=!~\[;]", requirement)[0] for requirement in project["dependencies"]]
    declared = {IMPORT_NAMES.get(name, name) for name in names}
    missing: dict[str, str] = {}
    for path in modules(project_root):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found = [node.module or ""]
            else:
                continue
            for name in (
                {full.split(".")[0] for full in found}
                - sys.stdlib_module_names
                - declared
                - OPTIONAL
                - {"tootsie"}
            ):
                missing[name] = str(path.relative_to(project_root))
    assert not missing
