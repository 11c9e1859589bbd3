"""Data of which nobody knows whether its copy is whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tootsie.mixtures.compilation import Compiled
from tootsie.mixtures.compiler import compile_spec
from tootsie.mixtures.preflight.check import preflight
from tootsie.mixtures.preflight.checks import CHECKS
from tootsie.mixtures.spec_file import parse_spec
from tootsie.tokenize.ledger import Source, SourceFile

SPEC = """\
name: run
seed: 1
sequence_length: 100
datasets: {web: {cache: web}}
mixtures: {base: {groups: {all: {datasets: [web]}}}}
phases: [{name: one, mixture: base, for: 10 steps, batch_size: 10, learning_rate: 1e-3}]
"""


@pytest.mark.parametrize(
    ("manifest", "listed", "found"),
    [(None, False, ["web"]), (None, True, []), ("a" * 64, False, [])],
    ids=["loose files", "loose files of a listed copy", "a finished corpus"],
)
def test_files_that_no_list_knows(
    measured: Callable[..., Any], manifest: str | None, listed: bool, found: list[str]
) -> None:
    spec, source = parse_spec(SPEC)
    files = (SourceFile(path="a.jsonl", sha256="f", documents=1),)
    sources = (Source(manifest_sha256=manifest, source="copy", files=files, listed=listed),)
    caches = {"web": measured("web", 1_000_000, sources=sources)}
    compiled = Compiled(compile_spec(spec, source, caches), spec, source, caches)
    assert [one.subject for one in preflight(compiled, CHECKS) if one.check == "copies"] == found
