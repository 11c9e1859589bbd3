"""The namespace and the launcher in fresh environments: editable, wheel, sdist.

``package_dir`` publishes ``tokenize/`` as ``tootsie.tokenize``; neither Python's ``tokenize`` nor Hugging Face's
``datasets`` may ever be shadowed by our folders, wherever Python is started.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROBE = """
import tokenize, os, importlib.util
assert os.path.dirname(tokenize.__file__) == os.path.dirname(os.__file__), tokenize.__file__
spec = importlib.util.find_spec("datasets")
assert spec is None or spec.origin is None or "site-packages" in spec.origin, spec
from tootsie.curate.markdownify import markdownify
import tootsie.tokenize.ledger, tootsie.datasets.storage, tootsie.mixtures.plan, tootsie.train.architecture
import inspect; inspect.getsource(tootsie.datasets.storage)
print(markdownify("<h1>A</h1>").strip())
"""
VERBS = ("curate", "data", "tokenize", "mix", "train", "report", "demo")
SKIPPED = shutil.ignore_patterns(
    ".git",
    ".venv",
    ".build",
    "build",
    "dist",
    "*.egg-info",
    "__pycache__",
    "demo-run",
    ".*_cache",
    ".hypothesis",
)


def run(command: list[str | Path], cwd: Path, **more: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TOOTSIE"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment | more,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def environment(folder: Path, *, dependencies: bool = True) -> Path:
    """Make a virtual environment and return its Python.

    With ``dependencies`` it sees the packages of the running environment by a path entry: those are importable, but
    what is installed as editable there (this project) is not, because nested ``.pth`` files are not read.
    """
    run([sys.executable, "-m", "venv", folder], folder.parent)
    if dependencies:
        site = next(folder.glob("lib/python*/site-packages"))
        (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def checkout(project_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout") / "project"
    shutil.copytree(project_root, folder, ignore=SKIPPED)
    return folder


@pytest.fixture(scope="module")
def distributions(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is built from the sdist alone."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--outdir", folder, checkout], folder)
    return folder


def assert_works(python: Path, cwd: Path, verbs: Sequence[str] = ()) -> None:
    assert run([python, "-c", PROBE], cwd).startswith("# A")
    page = cwd / "page.html"
    page.write_text("<h1>T</h1><p>x <math alttext='a_{1}<b'></math></p>")
    assert "$a_{1}<b$" in run([python, "-m", "curate.markdownify", page], cwd)
    page.unlink()
    assert "Stages" in run([python.parent / "tootsie", "--help"], cwd)
    for verb in verbs:
        assert "Usage" in run([python, "-m", f"tootsie.{verb}", "--help"], cwd)


def test_editable_install_inside_and_outside_the_checkout(checkout: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "venv")
    run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--editable", checkout], tmp_path)
    assert_works(python, checkout, ["data"])
    assert_works(python, tmp_path)


def test_wheel_anywhere(distributions: Path, tmp_path: Path, checkout: Path) -> None:
    python = environment(tmp_path / "venv")
    wheel = next(distributions.glob("*.whl"))
    run([python, "-m", "pip", "install", "--quiet", "--no-deps", wheel], tmp_path)
    assert_works(python, tmp_path, VERBS)
    assert_works(python, checkout)


def test_what_the_wheel_and_the_sdist_hold(distributions: Path) -> None:
    names = set(zipfile.ZipFile(next(distributions.glob("*.whl"))).namelist())
    top = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert top == {"tootsie", "curate"}
    assert "curate/markdownify/__main__.py" in names
    assert "curate/__init__.py" not in names
    for needed in (
        "tootsie/tokenize/vocabularies/tootsie-16k.tiktoken",
        "tootsie/tokenize/chat/templates/llama3.jinja",
        "tootsie/mixtures/recipes/demo.yaml",
        "tootsie/datasets/sample/stackexchange/sampleoverflow.stackexchange.com.7z",
    ):
        assert needed in names
    assert not [name for name in names if "/tests/" in name or name.startswith("tests/")]
    with tarfile.open(next(distributions.glob("*.tar.gz"))) as archive:
        inside = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {
        "setup.py",
        "LICENSE",
        "README.md",
        "constraints.txt",
        "tokenize/cache.py",
        "datasets/storage.py",
    } <= inside


def needed() -> set[str]:
    """Normal names of the distributions that the project requires without any extra, and of all that these require."""
    found: set[str] = set()
    left = [("tootsie", "")]
    done = set(left)
    while left:
        name, extra = left.pop()
        found.add(canonicalize_name(name))
        for line in importlib.metadata.requires(name) or ():
            requirement = Requirement(line)
            if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
                continue
            for wanted in ("", *requirement.extras):
                if (requirement.name, wanted) not in done:
                    done.add((requirement.name, wanted))
                    left.append((requirement.name, wanted))
    return found


def test_the_sdist_runs_a_pipeline_with_nothing_but_what_it_requires(
    distributions: Path, tmp_path: Path
) -> None:
    """What Beam's ``--setup_file=./setup.py`` does on a Dataflow worker; packages of extras cannot be imported there."""
    python = environment(tmp_path / "venv")
    allowed = needed()
    others = [
        module
        for module, names in importlib.metadata.packages_distributions().items()
        if not allowed & {canonicalize_name(name) for name in names} and module not in ("pip", "setuptools")
    ]
    assert {"pytest", "gigatoken", "tokenizers"} <= set(others)
    site = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    (site / "hidden.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({others!r}))\n")
    (site / "hidden.pth").write_text("import hidden\n")
    sdist = next(distributions.glob("*.tar.gz"))
    run([python, "-m", "pip", "install", "--quiet", "--no-deps", sdist], tmp_path)
    with pytest.raises(AssertionError, match="import of gigatoken halted"):
        run([python, "-c", "import gigatoken"], tmp_path)
    dump = "import tootsie.datasets.command_line as c, pathlib; print(pathlib.Path(c.__file__).parent / 'sample')"
    sample = Path(run([python, "-c", dump], tmp_path).strip())
    archive = sample / "stackexchange" / "sampleoverflow.stackexchange.com.7z"
    out = tmp_path / "documents"
    run([python.parent / "tootsie", "curate", "stackexchange", archive, out, "--limit", "20"], tmp_path)
    assert (out / "_manifest.json").exists()
    modules = [
        "tootsie." + ".".join(path.relative_to(sample.parents[1]).with_suffix("").parts)
        for path in sorted(sample.parents[1].rglob("command.py"))
    ]
    assert len(modules) > 5
    run([python, "-c", "\n".join(f"import {module}" for module in modules)], tmp_path)
