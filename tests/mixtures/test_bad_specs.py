"""Mistakes in a spec: each gets one message, with the line in the file, the value found and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tootsie.datasets.errors import UserError
from tootsie.mixtures.compilation import compile_in_full
from tootsie.mixtures.preflight.check import preflight, refusal
from tootsie.mixtures.preflight.checks import CHECKS

GOOD = """\
name: run
seed: 1
sequence_length: 100
tokenizer: llama3
datasets:
  web: {cache: web, tags: [web]}
  wiki:
    cache: wiki
    tokens: 40k tokens
    max_epochs: 2
  math: {cache: math}
  flan: {card: dolmino/flan}
mixtures:
  base:
    groups:
      all: {datasets: [web, wiki]}
  rich:
    groups:
      web: {share: 0.7, datasets: [web]}
      good:
        share: 0.3
        by: weight
        datasets:
          wiki: {weight: 2}
          math: {weight: 1, at_least: 20%}
  richer:
    extends: rich
    groups:
      web: {share: 0.5, datasets: [web]}
      good: {share: 0.5, datasets: [math]}
  both:
    combine: {base: 0.9, rich: 0.1}
    expect: {base: 90%}
phases:
  - name: stable
    mixture: base
    for: 20 steps
    batch_size: 8
    learning_rate:
      shape: inverse
      from: 1e-3
      to: 1e-4
      cycles:
        - {every: 5 steps, decay: 1 step, until: 10 steps}
        - {every: 10 steps, decay: 2 steps}
    rope: {theta: 10000, scaling: none}
  - name: ramp
    mixture: rich
    for: 10 steps
    batch_size: 32
    transition: {over: 4 steps, shape: cosine, parts: 2}
    learning_rate: {scale: sqrt, warmup: 2 steps}
  - name: end
    mixture: both
    until: 40 steps
    learning_rate: {shape: linear, to: 1e-5}
    clip_norm: 1.0
"""
BRANCH = """\
name: branch
branch: {plan: good.yaml, at: end of ramp}
mixtures:
  dessert: {groups: {all: {datasets: [math]}}}
phases:
  - {name: dessert, mixture: dessert, for: 3 steps}
"""
BAD = [
    # What is wrong: before, after (in the good spec), line, value, remedy.
    ("a typo in a key", "seed: 1", "sead: 1", 2, "'sead'", "Did you mean 'seed'?"),
    ("a typo deep inside", "max_epochs: 2", "max_epoch: 2", 10, "'max_epoch'", "Did you mean 'max_epochs'?"),
    ("a missing key", "seed: 1\n", "", 1, "seed: this key is required", "Write for example 'seed: 17'"),
    ("a key twice", "seed: 1", "seed: 1\nseed: 2", 3, "'seed' stands twice (first on line 2)", "Keep one"),
    ("a tab", "  web: {cache: web", "\tweb: {cache: web", 6, "web: {cache: web", "Indent with spaces"),
    ("a brace left open", "math: {cache: math}", "math: {cache: math", 12, "card: dolmino/flan", "close what is opened"),
    ("a tag", "seed: 1", "seed: !!python/name:os.system 1", 2, "python/name", "Remove the tag"),
    ("text for a number", "seed: 1", "seed: one", 2, "'one'", "Write for example 'seed: 17'"),
    ("a quoted number", "seed: 1", "seed: '1'", 2, "'1'", "Write for example 'seed: 17'"),
    ("a negative seed", "seed: 1", "seed: -1", 2, "-1", "Write 0 or a number above it"),
    ("a fraction of a token", "sequence_length: 100", "sequence_length: 99.5", 3, "99.5", "Write for example 'sequence_length: 4096'"),
    ("a bad name", "name: run", "name: my run", 1, "'my run'", "Give it a name of letters"),
    ("a list for a mapping", "datasets:\n  web", "datasets: [a]\nrest:\n  web", 6, "'rest'", "Known: acknowledge"),
    ("a value where keys are needed", "math: {cache: math}", "math: tokens", 11, "'tokens'", "in braces: {key: value}"),
    ("a cache and a card", "math: {cache: math}", "math: {cache: math, card: x}", 11, "cache: math", "one of the two"),
    ("neither cache nor card", "math: {cache: math}", "math: {tags: [x]}", 11, "tags: [x]", "a 'cache: …' (a token cache) or a 'card: …'"),
    ("no such cache", "math: {cache: math}", "math: {cache: moth}", 11, "'moth'", "ledger.json"),
    ("a held-out cache", "math: {cache: math}", "math: {cache: heldout}", 11, "'heldout'", "Name the cache of the train split"),
    ("another tokenizer", "math: {cache: math}", "math: {cache: foreign}", 11, "cdcdcdcdcdcd", "with the same tokenizer"),
    ("the same cache twice", "math: {cache: math}", "math: {cache: wiki}", 11, "'wiki'", "Keep one"),
    ("too small a cache", "math: {cache: math}", "math: {cache: tiny}", 11, "holds 99 tokens", "use shorter sequences"),
    ("a claim the ledger denies", "tokens: 40k tokens", "tokens: 41k tokens", 9, "'41k tokens'", "Correct the number"),
    ("a claim in steps", "tokens: 40k tokens", "tokens: 40k steps", 9, "'40k steps'", "Write '12.3M tokens'"),
    ("a number without a unit", "tokens: 40k tokens", "tokens: 40_000", 9, "40000", "Write for example '80000 steps'"),
    ("a cap of nothing", "max_epochs: 2", "max_epochs: 0", 10, "0", "leave the entry out"),
    ("a cap that is exceeded", "max_epochs: 2", "max_epochs: 0.1", 10, "0.1", "Give it a smaller share"),
    ("no such card", "card: dolmino/flan", "card: dolmino/flam", 12, "dolmino/flam", "flan"),
    ("a card of an evaluation set", "card: dolmino/flan", "card: paloma/c4_en", 12, "paloma/c4_en", "never to be trained on"),
    ("a card, but no tokenizer", "tokenizer: llama3\n", "", 11, "'dolmino/flan'", "Add for example 'tokenizer: llama3'"),
    ("NaN", "share: 0.3", "share: .nan", 21, "'.nan'", "write for example 0.7, 70% or 1/3"),
    ("infinity", "share: 0.3", "share: .inf", 21, "'.inf'", "write for example 0.7, 70% or 1/3"),
    ("a negative share", "share: 0.3", "share: -0.3", 21, "-0.3", "cannot be negative"),
    ("a share divided by 0", "share: 0.3", "share: 1/0", 21, "'1/0'", "write for example 0.7, 70% or 1/3"),
    ("shares that are not all", "share: 0.3", "share: 0.2", 18, "'web 0.7 + good 0.2'", "write 1/3"),
    ("shares that are too much", "share: 0.7", "share: 7", 18, "'web 7 + good 0.3'", "write 1/3"),
    ("a share left out", "        share: 0.3\n", "", 20, "good: this group has no share", "Give every group a share, or none"),
    ("a way to weigh that is none", "by: weight", "by: wheight", 22, "'wheight'", "Did you mean 'weight'?"),
    ("weights where none is used", "by: weight", "by: tokens", 24, "wiki.weight", "Write 'by: weight', or use oversample"),
    ("no weight where one is", "wiki: {weight: 2}", "wiki: {}", 24, "wiki", "Write 'weight: 3'"),
    ("an unknown dataset", "wiki: {weight: 2}", "wikki: {weight: 2}", 24, "'wikki'", "Did you mean 'wiki'?"),
    ("a dataset in two groups", "wiki: {weight: 2}", "web: {weight: 2}", 24, "the group 'web'", "Keep one"),
    ("a dataset twice in a list", "[web, wiki]", "[web, web]", 16, "'web' stands twice", "docs/mixtures.md"),
    ("an empty group", "[web, wiki]", "[]", 16, "all.datasets", "Name one, or remove it"),
    ("floors above all", "at_least: 20%", "at_least: 120%", 17, "math leave nothing", "Shares"),
    ("extends nothing", "extends: rich", "extends: ritch", 27, "'ritch'", "Did you mean 'rich'?"),
    ("extends itself", "extends: rich", "extends: richer", 27, "'richer → richer'", "Break the circle"),
    ("extends in a circle", "  rich:\n", "  rich:\n    extends: richer\n", 28, "rich → richer → rich", "Break the circle"),
    ("takes away what is not there", "good: {share: 0.5, datasets: [math]}", "godo: null", 30, "groups.godo", "Did you mean 'good'?"),
    ("combines nothing", "base: 0.9, rich", "bass: 0.9, rich", 32, "'bass'", "Did you mean 'base'?"),
    ("combines in a circle", "{base: 0.9, rich: 0.1}", "{base: 0.9, both: 0.1}", 32, "'both → both'", "Break the circle"),
    ("parts that are not all", "rich: 0.1}", "rich: 0.01}", 32, "'base 0.9 + rich 0.01'", "write 1/3"),
    ("groups and parts", "    expect: {base", "    groups: {a: {datasets: [web]}}\n    expect: {base", 31, "combine: {base: 0.9", "not both"),
    ("expects another share", "expect: {base: 90%}", "expect: {base: 10%}", 31, "90.0% of the mixture, expected are 10.0%", "Are two groups swapped?"),
    ("expects a group that is not there", "expect: {base: 90%}", "expect: {bass: 10%}", 31, "'bass'", "Mend it, or write 'acknowledge:"),
    ("acknowledges no check", "phases:\n", "acknowledge: {epoch/web: x}\nphases:\n", 34, "'epoch/web'", "Did you mean 'epochs'?"),
    ("acknowledges nothing", "phases:\n", "acknowledge: {epochs/web: x}\nphases:\n", 34, "'epochs/web'", "Remove the line"),
    ("an unknown mixture", "mixture: base", "mixture: bass", 36, "'bass'", "Did you mean 'base'?"),
    ("two phases of one name", "name: ramp", "name: stable", 47, "'stable'", "change one"),
    ("no length", "    for: 20 steps\n", "", 35, "name: stable", "'until: …' (counted from the start of the run) or 'for: …'"),
    ("two lengths", "for: 20 steps", "for: 20 steps\n    until: 20 steps", 35, "until: 20 steps", "or 'for: …'"),
    ("no unit", "for: 20 steps", "for: 20", 37, "20", "Write for example '80000 steps'"),
    ("an unknown unit", "for: 20 steps", "for: 20 stops", 37, "'20 stops'", "Write for example '80000 steps'"),
    ("epochs of nothing", "for: 20 steps", "for: 2 epochs", 37, "'2 epochs'", "Write for example '2 epochs of wikipedia'"),
    ("epochs of an unknown dataset", "for: 20 steps", "for: 2 epochs of wikki", 37, "'2 epochs of wikki'", "Did you mean 'wiki'?"),
    ("epochs of what is not drawn", "for: 20 steps", "for: 2 epochs of math", 37, "'2 epochs of math'", "It draws from web, wiki"),
    ("phases that overlap", "until: 40 steps", "until: 25 steps", 55, "'25 steps'", "write 'for' to count from the start of the phase"),
    ("an endless phase", "until: 40 steps", "until: 999999999999999 steps", 55, "'999999999999999 steps'", "Split it"),
    ("a phase shorter than its mixture", "    until: 40 steps", "    batch_size: 1\n    for: 1 step", 56, "1", "Make it longer, or leave datasets out"),
    ("no batch size", "    batch_size: 8\n", "", 35, "needs 'batch_size'", "Later phases keep it until they change it"),
    ("half a sequence", "batch_size: 8", "batch_size: 8.5", 38, "8.5", "Write a whole number"),
    ("a huge batch", "batch_size: 8", "batch_size: 2000000", 38, "2000000", "Write 1048576 or a number below it"),
    ("an unknown shape", "shape: linear", "shape: liner", 56, "'liner'", "Did you mean 'linear'?"),
    ("no rate to end at", "shape: linear, to: 1e-5", "shape: linear", 56, "shape: linear", "needs 'to'"),
    ("a rate that jumps", "{scale: sqrt, warmup: 2 steps}", "{from: 7e-3}", 52, "to 0.007", "Write 'jump: true' if that is meant"),
    ("scaled and given", "{scale: sqrt, warmup: 2 steps}", "{scale: sqrt, from: 1e-3}", 52, "scale: sqrt", "not both"),
    ("a scale that is none", "{scale: sqrt, warmup", "{scale: square, warmup", 52, "'square'", "linear"),
    ("a scale of nothing", "      from: 1e-3\n", "      scale: sqrt\n", 41, "learning_rate.scale", "Write 'from: …'"),
    ("a warm-up too long", "warmup: 2 steps", "warmup: 11 steps", 52, "(11 steps)", "Make them shorter, or the phase longer"),
    ("a decay longer than its cycle", "decay: 1 step,", "decay: 6 steps,", 44, "'6 steps'", "Make it shorter"),
    ("cycles that are not whole", "until: 10 steps}", "until: 12 steps}", 44, "'12 steps'", "for example at step 10"),
    ("cycles that end too early", "decay: 2 steps}", "decay: 2 steps, until: 20 steps}", 45, "'20 steps'", "Leave 'until' out"),
    ("cycles that do not say where they end", ", until: 10 steps}", "}", 44, "another kind of cycle follows", "Say 'until' where"),
    ("cycles of no shape", "shape: inverse", "shape: constant", 39, "shape: constant", "add for example 'shape: linear'"),
    ("a cycle in epochs", "every: 10 steps", "every: 1 epoch of web", 45, "'1 epoch of web'", "Write it in steps, sequences or tokens"),
    ("a ramp longer than its phase", "over: 4 steps", "over: 11 steps", 51, "'11 steps'", "Make it shorter, or the phase longer"),
    ("a ramp of one part", "parts: 2", "parts: 1", 51, "1", "Write a number above 1"),
    ("a ramp of another shape", "shape: cosine", "shape: cosin", 51, "'cosin'", "Did you mean 'cosine'?"),
    ("a ramp from nothing", "    for: 20 steps\n", "    for: 20 steps\n    transition: {over: 2 steps}\n", 38, "'stable'", "Remove it"),
    ("a ramp to the same", "    mixture: rich\n    for", "    for", 50, "'ramp'", "Name its 'mixture'"),
    ("a bridge of no mixture", "parts: 2}", "through: bot}", 51, "'bot'", "Did you mean 'both'?"),
    ("a ramp in epochs", "over: 4 steps", "over: 1 epoch of web", 51, "'1 epoch of web'", "Write it in steps"),
    ("a phase with a ramp in epochs", "    for: 10 steps", "    for: 1 epoch of math", 49, "'1 epoch of math'", "Write its length in steps"),
    ("rope without its scaling", "{theta: 10000, scaling: none}", "{theta: 10000}", 46, "rope.scaling", "docs/mixtures.md"),
    ("rope of another scaling", "scaling: none", "scaling: llama2", 46, "'llama2'", "llama3"),
    ("rope of no wavelength", "theta: 10000", "theta: 1", 46, "1", "Write a number above 1"),
    ("a setting of null", "clip_norm: 1.0", "z_loss: null", 53, "'z_loss' has no value", "leave the line out to keep the value"),
    ("a rate that is no number", "learning_rate: {shape: linear, to: 1e-5}", "learning_rate: 1e\u22123", 56, "'1e\u22123'", "write a number, for example 1e-3"),
    ("an infinite rate", "learning_rate: {shape: linear, to: 1e-5}", "learning_rate: .inf", 56, "'.inf'", "write a number, for example 1e-3"),
    ("a block of nothing", "seed: 1", "seed: 1\nshuffle: {block: 0 bytes, group: 2}", 3, "'0 bytes'", "a whole number of bytes above 0"),
    ("a block of a part of a sequence", "seed: 1", "seed: 1\nshuffle: {block: 1.5 sequences, group: 2}", 3, "'1.5 sequences'", "a whole number of sequences above 0"),
    ("an average of more than all", "clip_norm: 1.0", "ema_beta: 1.5", 57, "1.5", "Write a number below 1"),
    ("a quoted rate", "clip_norm: 1.0", "weight_decay: '0.1'", 57, "'0.1'", "Write a number, without quotes"),
]  # fmt: skip
BRANCHES = [
    ("a branch of nothing", "plan: good.yaml", "plan: bad.yaml", 2, "no such file", "bad.yaml"),
    ("a branch of itself", "plan: good.yaml", "plan: spec.yaml", 2, "spec.yaml ← ", "Break the circle"),
    ("a branch at no phase", "end of ramp", "end of romp", 2, "'end of romp'", "it has stable, ramp"),
    ("a branch past the end", "end of ramp", "41 steps", 2, "'41 steps'", "Write 'end of PHASE' or '820000 steps'"),
    ("a branch within a step", "end of ramp", "9 sequences", 2, "'9 sequences'", "write it in steps, for example 1 steps"),
    ("a branch in epochs", "end of ramp", "1 epoch of web", 2, "'1 epoch of web'", "Write 'end of PHASE' or '820000 steps'"),
    ("a branch of another seed", "name: branch\n", "name: branch\nseed: 2\n", 2, "2", "A branch keeps it"),
    ("a branch with a phase of that name", "{name: dessert", "{name: ramp", 6, "'ramp'", "change one"),
    ("a branch whose dataset is another", "mixtures:", "datasets: {math: {cache: other}}\nmixtures:", 2, "'math'", "Give the new cache another name"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, write_ledger: Callable[..., None]) -> Path:
    """A folder with ledgers of the caches, and the good spec."""
    place = tmp_path_factory.mktemp("specs")
    sizes = {"web": 1_000_000, "wiki": 40_000, "math": 30_000, "tiny": 99, "other": 30_001}
    for name, tokens in sizes.items():
        write_ledger(place, name, tokens)
    write_ledger(place, "heldout", 30_000, split="validation")
    write_ledger(place, "foreign", 30_000, fingerprint="cd" * 32)
    (place / "good.yaml").write_text(GOOD)
    return place


def check(spec: Path) -> UserError | None:
    """Do what ``tootsie mix compile --dry-run`` does; return what is wrong."""
    try:
        compiled = compile_in_full(str(spec))
        return refusal(compiled, preflight(compiled, CHECKS))
    except UserError as error:
        return error


def test_the_good_specs_are_good(folder: Path) -> None:
    (folder / "spec.yaml").write_text(BRANCH)
    assert check(folder / "good.yaml") is None
    assert check(folder / "spec.yaml") is None


@pytest.mark.parametrize(
    ("base", "before", "after", "line", "value", "remedy"),
    [(GOOD, *row[1:]) for row in BAD] + [(BRANCH, *row[1:]) for row in BRANCHES],
    ids=[row[0] for row in BAD + BRANCHES],
)
def test_one_message_with_line_value_and_remedy(
    folder: Path, base: str, before: str, after: str, line: int, value: str, remedy: str
) -> None:
    assert before in base
    (folder / "spec.yaml").write_text(base.replace(before, after, 1))
    error = check(folder / "spec.yaml")
    assert error is not None
    text = str(error)
    assert text.startswith(f"{folder / 'spec.yaml'}:{line}: "), text
    assert value in text, text
    assert remedy in text, text
    assert "\n" not in text
