"""Checks of what is drawn: sizes, epochs, groups, tiny shares."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from fractions import Fraction

from tootsie.mixtures.compilation import Compiled
from tootsie.mixtures.forecast import forecast
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL, Evidence, PlanPhase
from tootsie.mixtures.preflight.check import Check, Problem, Severity
from tootsie.mixtures.shares import composition
from tootsie.mixtures.spec import By

BLOCK = 2048
"""Block of Levanter's mixture, in which shares are rounded down."""
MANY_EPOCHS = 4
"""Passes beyond which repeated text teaches little (Muennighoff et al. 2023)."""
STEPS_OF_A_GROUP = 4
"""Steps that the windows of a group of a block shuffle should last for at least."""
OFF_BY = 1.25
"""Factor between a typed weight and a measured size that is taken for a mistake."""


def _epochs(compiled: Compiled) -> Iterator[Problem]:
    """Passes over each dataset in the whole run, where no cap has been thought of."""
    last = {row.dataset: row for row in forecast(compiled.plan)}
    for dataset in compiled.plan.datasets:
        row = last.get(dataset.name)
        if row is None or dataset.max_epochs is not None or row.epochs_total <= 1:
            continue
        size = f"{dataset.tokens:,} tokens ({dataset.evidence.value})"
        many = row.epochs_total > MANY_EPOCHS
        yield Problem(
            dataset.name,
            Severity.ERROR if many else Severity.WARNING,
            f"is seen {row.epochs_total:.2f} times in the run; it has {size}. Say 'max_epochs' if that is meant, "
            "or give it a smaller share",
        )


def _typed_weights(compiled: Compiled) -> Iterator[Problem]:
    """Weights that stand for sizes, in a group where most do, but not for this dataset's."""
    seen: set[str] = set()
    for name in compiled.spec.mixtures:
        for group_name, group in composition(name, compiled.spec)[0].items():
            if group.by is not By.WEIGHT:
                continue
            ratios = {
                dataset: member.weight / compiled.measured[dataset].tokens
                for dataset, member in group.datasets.items()
                if member is not None and member.weight is not None
            }
            if len(ratios) < 3:
                continue
            usual = statistics.median(ratios.values())
            for dataset, ratio in ratios.items():
                off = float(ratio / usual)
                tokens = compiled.measured[dataset].tokens
                if dataset in seen or 1 / OFF_BY < off < OFF_BY:
                    continue
                seen.add(dataset)
                yield Problem(
                    dataset,
                    Severity.ERROR,
                    f"its typed weight in group {group_name!r} is {off:.3g} × what its size calls for beside the others: it "
                    f"stands for {_amount(tokens * off)} tokens, there are {_amount(tokens)}. Write 'by: tokens' and "
                    "'oversample', so that measured sizes are used",
                )


def _claimed(compiled: Compiled) -> Iterator[Problem]:
    """Sizes that nobody counted with this tokenizer."""
    for name, measured in compiled.measured.items():
        if measured.evidence is Evidence.CLAIMED and any(
            name in phase.sequences for phase in compiled.plan.phases
        ):
            yield Problem(
                name,
                Severity.WARNING,
                f"{measured.remark}. Tokenize it (the ledger counts), or verify the copy before relying on its epochs",
            )


def _copies(compiled: Compiled) -> Iterator[Problem]:
    """Datasets made of files that nothing says are whole."""
    for name, measured in compiled.measured.items():
        if measured.unlisted and any(name in phase.sequences for phase in compiled.plan.phases):
            yield Problem(
                name,
                Severity.WARNING,
                f"was made of files ({', '.join(measured.unlisted)}) of which no list says that they are whole: a copy that is "
                "damaged or cut short looks the same. Get them with 'tootsie data fetch', or say how they were verified",
            )


def _runway(compiled: Compiled) -> Iterator[Problem]:
    """Where the first pass over a dataset ends before the run does."""
    for row in forecast(compiled.plan):
        if row.ends_at_step is not None:
            yield Problem(
                row.dataset,
                Severity.INFO,
                f"has been seen once at step {row.ends_at_step:,} of {compiled.plan.total_steps:,}, in phase {row.phase!r}; "
                "from there on it repeats, in a new order",
            )


def _block_floor(compiled: Compiled) -> Iterator[Problem]:
    """What a mixture that rounds shares down within blocks would do to small datasets."""
    for phase in compiled.plan.phases:
        gone = {name: asked for name, asked in phase.asked.items() if asked * BLOCK < WEIGHT_TOTAL}
        for name in gone:
            in_block = float(Fraction(gone[name] * BLOCK, WEIGHT_TOTAL))
            yield Problem(
                name,
                Severity.INFO,
                f"asks for {in_block:.3g} of {BLOCK:,} sequences in phase {phase.name!r}: a mixture that "
                f"rounds down within blocks would never draw it; this plan draws {phase.sequences[name]:,} sequences",
            )
        for name, asked in phase.asked.items():
            exact = Fraction(asked * BLOCK, WEIGHT_TOTAL)
            lost = 1 - (exact.numerator // exact.denominator) / exact
            if name not in gone and lost > Fraction(1, 20):
                yield Problem(
                    name,
                    Severity.INFO,
                    f"would get {float(lost):.1%} too little in phase {phase.name!r} if shares were rounded down within blocks "
                    f"of {BLOCK:,}; this plan draws {phase.sequences[name]:,} sequences, its share to the sequence",
                )


def _expectations(compiled: Compiled) -> Iterator[Problem]:
    """What the groups of a mixture add up to, against what is said of it."""
    used = {phase.mixture or "" for phase in compiled.spec.phases}
    for name, mixture in compiled.spec.mixtures.items():
        if not mixture.expect or name not in used:
            continue
        phase = next((phase for phase in compiled.plan.phases if phase.mixture == name), None)
        if phase is None:
            continue
        shares = {dataset: Fraction(asked, WEIGHT_TOTAL) for dataset, asked in phase.asked.items()}
        groups, parts = composition(name, compiled.spec)
        for part, expected in mixture.expect.items():
            if part.startswith("tag:"):
                tag = part.removeprefix("tag:")
                members = [dataset for dataset in shares if tag in _tags(compiled, dataset)]
                found = sum((shares[dataset] for dataset in members), Fraction(0))
            elif part in groups:
                found = sum((shares[dataset] for dataset in groups[part].datasets), Fraction(0))
            elif part in parts:
                found = parts[part]
            else:
                yield Problem(
                    name,
                    Severity.ERROR,
                    f"{part!r} is expected to have {float(expected):.1%}, but the mixture has no such group, part or tag",
                )
                continue
            if abs(found - expected) > Fraction(1, 200):
                yield Problem(
                    name,
                    Severity.ERROR,
                    f"{part!r} has {float(found):.1%} of the mixture, expected are {float(expected):.1%}. "
                    "Are two groups swapped?",
                )


def _no_web(compiled: Compiled) -> Iterator[Problem]:
    """A cooldown without broad text."""
    tags = {dataset.name: _tags(compiled, dataset.name) for dataset in compiled.plan.datasets}
    if not any("web" in found for found in tags.values()):
        return  # Nothing says which of them is web text.
    for phase in compiled.plan.phases:
        if phase.settings.learning_rate.end >= phase.settings.learning_rate.start:
            continue
        if _conversations_alone(compiled, phase):
            continue  # Fine-tuning; `replay` speaks of it.
        share = sum(asked for name, asked in phase.asked.items() if "web" in tags[name]) / WEIGHT_TOTAL
        if share < 0.2:
            yield Problem(
                phase.name,
                Severity.WARNING,
                f"cools down on {share:.0%} web text. High-quality text alone lowered task scores in the microannealing runs: "
                "keep a good part of the pretraining mixture",
            )


def _conversations_alone(compiled: Compiled, phase: PlanPhase) -> bool:
    return all("instruction" in _tags(compiled, name) for name in phase.asked)


def _no_replay(compiled: Compiled) -> Iterator[Problem]:
    """Fine-tuning on conversations alone."""
    for phase in compiled.plan.phases:
        if _conversations_alone(compiled, phase):
            yield Problem(
                phase.name,
                Severity.WARNING,
                "draws conversations only. Without a replay of pretraining text the model forgets (MMLU fell in the 8B run's "
                "fine-tuning): add some",
            )


def _shuffles(compiled: Compiled) -> Iterator[Problem]:
    """Shuffles in blocks whose groups hold little more than a batch, so that batches are drawn from few places."""
    plan = compiled.plan
    for dataset in plan.datasets:
        if dataset.shuffle is None:
            continue
        # What is shuffled are spans, which may hold several sequences of a phase.
        held = dataset.shuffle.block * dataset.shuffle.group
        in_a_step = {
            phase.name: phase.shares[dataset.name] * phase.batch_size / plan.tape_of(phase).slices
            for phase in plan.phases
            if dataset.name in phase.sequences
        }
        phase, most = max(in_a_step.items(), key=lambda item: item[1], default=("", 0.0))
        if held < STEPS_OF_A_GROUP * most:
            yield Problem(
                dataset.name,
                Severity.WARNING,
                f"is shuffled in {dataset.shuffle}: {held:,} windows, of which a step of phase {phase!r} draws {most:,.0f}. "
                "Batches come from few places of the file, so that their losses follow its order. Make 'group' "
                f"{math.ceil(STEPS_OF_A_GROUP * most / dataset.shuffle.block):,} or more",
            )


def _tags(compiled: Compiled, dataset: str) -> set[str]:
    spec, measured = compiled.spec.datasets.get(dataset), compiled.measured.get(dataset)
    return set(measured.tags if measured is not None else ()) | set(spec.tags if spec is not None else ())


def _amount(tokens: float) -> str:
    for factor, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if tokens >= factor:
            return f"{tokens / factor:.3g}{suffix}"
    return f"{tokens:,.0f}"


DATA_CHECKS = (
    Check("epochs", (8, 9, 10), "datasets seen more often than once without a cap", _epochs),
    Check("typed-weights", (10,), "typed weights that do not fit the sizes", _typed_weights),
    Check("sizes", (8, 10), "sizes that are claimed, not measured", _claimed),
    Check("copies", (8,), "copies that nobody verified", _copies),
    Check("expectations", (5,), "groups that do not add up to what is expected", _expectations),
    Check("runway", (8, 9), "where each dataset has been seen once", _runway),
    Check("block-floor", (6, 7, 12), "small shares that rounding within blocks would lose", _block_floor),
    Check("shuffle", (16,), "block shuffles that mix too little", _shuffles),
    Check("cooldown-web", (25,), "cooldowns without broad text", _no_web),
    Check("replay", (36,), "fine-tuning without replay", _no_replay),
)
