"""Documents are found at every step that draws them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tootsie.datasets.errors import InputError
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.search import find_document
from tootsie.mixtures.trace import trace_rows

SPEC = """\
name: run
seed: 3
sequence_length: 16
datasets: {web: {cache: web}, wiki: {cache: wiki}}
mixtures:
  base: {groups: {all: {by: weight, datasets: {web: {weight: 3}, wiki: {weight: 1}}}}}
  other: {groups: {all: {datasets: [wiki]}}}
phases:
  - {name: one, mixture: base, for: 20 steps, batch_size: 4, learning_rate: 1e-3}
  - {name: two, mixture: other, for: 5 steps, batch_size: 3}
"""


def test_what_is_found_is_what_a_trace_of_all_steps_shows(
    tmp_path: Path, write_cache: Callable[..., str]
) -> None:
    write_cache(tmp_path / "web", "web", [5, 40, 3, 90, 21, 60], shards=2)
    write_cache(tmp_path / "wiki", "wiki", [33, 7, 50, 12])
    (tmp_path / "spec.yaml").write_text(SPEC)
    plan = compile_file(str(tmp_path / "spec.yaml"))
    seen: dict[str, list[tuple]] = {}
    for step in range(plan.total_steps):
        for row in trace_rows(plan, step):
            for document in row["documents"]:
                seen.setdefault(document["id"], []).append(
                    (step, row["row"], row["epoch"], row["window"], document["tokens"])
                )
    assert len(seen) > 5
    for document, expected in seen.items():
        found = find_document(plan, document)
        assert [(d["step"], d["row"], d["epoch"], d["window"], d["tokens"]) for d in found] == expected
    with pytest.raises(InputError, match="no cache of the plan holds this document"):
        find_document(plan, "web-99")
