"""Block shuffles from the text of a spec to the plan, its hash, its comparison and its branches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tootsie.datasets.errors import ArtefactError, SpecError
from tootsie.mixtures.block_shuffle import BlockShuffle
from tootsie.mixtures.comparison import (
    compare,
    differs,
    first_difference,
    print_comparison,
    require_same_past,
)
from tootsie.mixtures.compilation import compile_file
from tootsie.mixtures.order import Order
from tootsie.mixtures.plan import Plan

SPEC = """\
name: run
seed: 1
sequence_length: 100
{everywhere}
datasets:
  web: {{cache: web{web}}}
  wiki: {{cache: wiki}}
mixtures: {{base: {{groups: {{all: {{datasets: [web, wiki]}}}}}}}}
phases: [{{name: one, mixture: base, for: 40 steps, batch_size: 10, learning_rate: 1e-3}}]
"""


def text(everywhere: str = "", web: str = "") -> str:
    return SPEC.format(everywhere=everywhere, web=web)


def shuffles(plan: Plan) -> list[BlockShuffle | None]:
    return [dataset.shuffle for dataset in plan.datasets]


IN_BLOCKS = BlockShuffle(block=4, group=3)


def test_a_plan_without_keeps_its_bytes(compiled: Callable[..., Plan]) -> None:
    plain, full = compiled(text()), compiled(text("shuffle: full", ", shuffle: full"))
    assert plain.format == "tootsie-plan/1"
    assert b"shuffle" not in plain.to_json()
    assert full.hash == plain.hash


@pytest.mark.parametrize(
    "size", ["4 sequences", "400 tokens", "0.4k tokens", "301 tokens", "800 bytes", "4 sequence"]
)
def test_the_size_of_a_block(compiled: Callable[..., Plan], size: str) -> None:
    """Tokens and bytes (here two for each id) are rounded up to whole windows."""
    plan = compiled(text(f"shuffle: {{block: {size}, group: 3}}"))
    assert shuffles(plan) == [IN_BLOCKS, IN_BLOCKS]
    assert plan.format == "tootsie-plan/2"
    assert plan.hash != compiled(text()).hash
    assert "web: shuffled in blocks of 4, shuffled 3 at a time: 12 windows mix" in plan.notes


def test_a_dataset_of_its_own(compiled: Callable[..., Plan], tmp_path: Path) -> None:
    plan = compiled(
        text("shuffle: {block: 9 sequences, group: 2}", ", shuffle: {block: 4 sequences, group: 3}")
    )
    assert shuffles(plan) == [IN_BLOCKS, BlockShuffle(block=9, group=2)]
    plan = compiled(text("shuffle: {block: 4 sequences, group: 3}", ", shuffle: full"))
    assert shuffles(plan) == [None, IN_BLOCKS]
    plan.save(str(tmp_path / "plan.json"))
    loaded = Plan.load(str(tmp_path / "plan.json"))
    assert (loaded.hash, shuffles(loaded)) == (plan.hash, shuffles(plan))


def test_only_the_windows_change(compiled: Callable[..., Plan]) -> None:
    plain, blocks = (
        compiled(text(web=web), web=12_345, wiki=7_000)
        for web in ("", ", shuffle: {block: 4 sequences, group: 3}")
    )
    one, other = (Order(plan).draw(np.arange(400)) for plan in (plain, blocks))
    assert one.dataset.tolist() == other.dataset.tolist()
    assert one.epoch.tolist() == other.epoch.tolist()
    wiki = one.dataset == 1
    assert one.window[wiki].tolist() == other.window[wiki].tolist()
    web = other.window[~wiki]
    assert sorted(web[:123].tolist()) == list(range(123))
    assert len(np.unique(web[:12] // 4)) <= 4


def test_diff_and_amend_name_it(compiled: Callable[..., Plan], capsys: pytest.CaptureFixture[str]) -> None:
    plain, blocks = compiled(text()), compiled(text(web=", shuffle: {block: 4 sequences, group: 3}"))
    found = first_difference(plain, blocks)
    assert found is not None
    assert found.reason.endswith("(web is shuffled in full, and in blocks of 4, shuffled 3 at a time)")
    result = compare(plain, blocks)
    assert differs(result)
    print_comparison(result)
    out = capsys.readouterr().out
    assert "dataset web: shuffled in full → in blocks of 4, shuffled 3 at a time" in out
    assert "tokens →" not in out
    with pytest.raises(ArtefactError, match="is shuffled in full, and in blocks of 4"):
        require_same_past(plain, blocks, 40)


BRANCH = """\
name: branch
branch: {{plan: plan.json, at: 7 steps}}
{everywhere}
datasets: {{new: {{cache: new}}{web}}}
mixtures: {{more: {{groups: {{all: {{datasets: [web, wiki, new]}}}}}}}}
phases: [{{name: two, mixture: more, for: 9 steps}}]
"""


def test_a_branch_keeps_the_shuffles_of_the_past(write_ledger: Callable[..., None], tmp_path: Path) -> None:
    for name in ("web", "wiki", "new"):
        write_ledger(tmp_path, name, 12_345 + len(name) if name != "new" else 9_999)
    (tmp_path / "spec.yaml").write_text(text(web=", shuffle: {block: 4 sequences, group: 3}"))
    base = compile_file(str(tmp_path / "spec.yaml"))
    base.save(str(tmp_path / "plan.json"))

    def branch(everywhere: str = "", web: str = "") -> Plan:
        (tmp_path / "branch.yaml").write_text(BRANCH.format(everywhere=everywhere, web=web))
        return compile_file(str(tmp_path / "branch.yaml"))

    for plan in (branch(), branch("shuffle: {block: 9 sequences, group: 2}", ", web: {cache: web}")):
        by_name = {dataset.name: dataset.shuffle for dataset in plan.datasets}
        assert (by_name["web"], by_name["wiki"]) == (IN_BLOCKS, None)
        require_same_past(base, plan, 7)
    assert by_name["new"] == BlockShuffle(block=9, group=2)
    with pytest.raises(SpecError, match=r"branches off shuffles 'web' in blocks of 4, shuffled 3 at a time"):
        branch(web=", web: {cache: web, shuffle: full}")


@pytest.mark.parametrize(
    ("shuffle", "message"),
    [
        ("yes", "a shuffle is 'full' or has a block and a group"),
        ("{block: 4 sequences}", "a shuffle is 'full' or has a block and a group"),
        ("{block: 4, group: 3}", "not the size of a block"),
        ("{block: 4 steps, group: 3}", "not the size of a block"),
        ("{block: 0 tokens, group: 3}", "a whole number of tokens above 0"),
        ("{block: 4 sequences, group: 0}", "greater than 0"),
        ("{block: 4 sequences, group: 3, seed: 1}", "unknown key 'seed'"),
        (
            "{block: 2000000000 sequences, group: 3}",
            r"at most 1,073,741,824 sequences, this one 2,000,000,000",
        ),
    ],
)
def test_what_is_refused(compiled: Callable[..., Plan], shuffle: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        compiled(text(f"shuffle: {shuffle}"))
    assert "spec.yaml:4" in str(caught.value)
