"""Build script: maps each top-level folder to a sub-package of ``tootsie``.

The folders ``tokenize/`` and ``datasets/`` share their names with a standard-library module and
with Hugging Face's package, so they must never become importable as top-level packages. They have no
``__init__.py``, and setuptools' ``package_dir`` publishes every folder below the ``tootsie`` namespace:
``tokenize/cache.py`` is ``tootsie.tokenize.cache`` in an editable install, in a wheel and in the sdist
that Beam sends to its workers (``--setup_file=./setup.py``).
"""

from __future__ import annotations

from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
STAGES = ("curate", "datasets", "mixtures", "tokenize", "train")
NOT_PACKAGES = {"launcher", "__pycache__"}


def stage_packages() -> dict[str, str]:
    """Map import name to folder, for each stage and each folder below it that holds a module.

    A package is installed only when its folder itself contains a Python file; data folders
    (cards, recipes, samples) travel as package data.
    """
    packages: dict[str, str] = {}
    for stage in STAGES:
        for folder in [ROOT / stage, *sorted(p for p in (ROOT / stage).rglob("*") if p.is_dir())]:
            relative = folder.relative_to(ROOT)
            if NOT_PACKAGES & set(relative.parts) or "sample" in relative.parts:
                continue
            if any(folder.glob("*.py")):
                packages[".".join(("tootsie", *relative.parts))] = relative.as_posix()
    return packages


PACKAGES = stage_packages()
# Packages that only start another: ``python -m curate.markdownify`` outside a checkout, and ``python -m tootsie.<verb>`` for the
# verbs of the command that are no folder's name.
LAUNCHERS = {
    "curate": "curate/launcher",
    "curate.markdownify": "curate/launcher/markdownify",
    **{f"tootsie.{verb}": f"datasets/launcher/{verb}" for verb in ("data", "demo", "mix", "report")},
}

setup(
    packages=[*PACKAGES, *LAUNCHERS],
    package_dir={**PACKAGES, **LAUNCHERS},
    package_data={
        "tootsie.curate.markdownify.explain": ["*.css", "*.js"],
        "tootsie.datasets": ["cards/**/*.yaml", "sample/**/*.zip", "sample/**/*.gz", "sample/**/*.7z"],
        "tootsie.mixtures": ["recipes/*.yaml"],
        "tootsie.tokenize": ["vocabularies/*"],
        "tootsie.tokenize.chat": ["templates/*.jinja"],
        "tootsie.train.report": ["page.css"],
    },
)
