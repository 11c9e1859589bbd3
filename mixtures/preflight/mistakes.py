"""The 42 mistakes of the 8B run and its kin, and what holds each of them here; ``docs/mistakes.md`` is printed from this table.

python -m tootsie.mixtures.preflight.mistakes > docs/mistakes.md
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tootsie.mixtures.preflight.checks import CHECKS


class State(StrEnum):
    """Whether it can still happen."""

    HELD = "held"
    """Not in silence."""
    PARTLY = "partly"
    """Some of it."""
    OPEN = "open"
    """Nothing holds it yet."""


@dataclass(frozen=True)
class Mistake:
    """One of them."""

    number: int
    """As they are counted in the retrospective's analysis."""
    what: str
    """What went wrong."""
    state: State
    """Whether it can happen here."""
    by: str
    """What holds it besides the preflight checks, or what is missing."""
    test: str = ""
    """A test that commits it and sees it refused, alarmed or made impossible; preflight checks have their own."""


H, P, O = State.HELD, State.PARTLY, State.OPEN  # noqa: E741
MISTAKES = (
    Mistake(
        1,
        "rotary settings of Llama 2 for 2.77T tokens",
        H,
        "`train/rope.py`: no default; the trainer compares with the plan",
        "tests/train/test_inputs.py::test_rope_is_that_of_every_phase",
    ),
    Mistake(
        2,
        "the average's beta reversed",
        H,
        "`tests/train/test_ema.py`: closed form; the alarm `ema-gap`",
        "tests/train/test_alarms.py::test_a_reversed_beta_gives_alarm",
    ),
    Mistake(
        3,
        "the average started from random weights",
        H,
        "`train/ema.py`: starts from the weights as they are",
        "tests/train/test_ema.py::test_beta_zero_is_exactly_the_weights_so_switching_on_starts_from_them",
    ),
    Mistake(
        4,
        "no z-loss, so the output layer grew in deep cooldown",
        H,
        "on by default; alarms `head-norm-growing`, `log-z-growing`, `loss-rising`; `benchmarks/deep_cooldown.py` has both arms",
        "tests/train/test_alarms.py::test_a_deep_cooldown_without_z_loss_gives_alarm_and_with_it_none",
    ),
    Mistake(
        5,
        "two groups' weights swapped",
        H,
        "groups and mixtures are combined by name; `expect` says what they add up to",
    ),
    Mistake(6, "tiny datasets got no sequence at all", H, "`mixtures/phase_order.py`: never less than one"),
    Mistake(
        7,
        "realised shares up to 38 % too small",
        H,
        "`mixtures/phase_order.py`: within one sequence at every prefix",
    ),
    Mistake(
        8,
        "a corrupted copy of the main dataset",
        H,
        "`tootsie data fetch` and `verify`; `datasets/copies.py`: a fetched copy is held against its list where it is read",
        "tests/tokenize/test_sources.py::test_a_damaged_copy_is_refused_before_it_is_tokenized",
    ),
    Mistake(
        9,
        "ran out of data without warning",
        H,
        "`tootsie mix show`; the alarm `dataset-wrap`",
        "tests/train/test_alarms.py::test_dataset_wrap",
    ),
    Mistake(
        10,
        "hand-typed token counts: one set seen 32 times, not 5",
        H,
        "`by: tokens` takes the ledger's count",
    ),
    Mistake(
        11,
        "steps and samples confused at a boundary",
        H,
        "durations have units; a bare number is refused",
        "tests/train/test_cadence.py::test_what_is_no_duration_is_refused_with_what_would_be",
    ),
    Mistake(
        12,
        "a batch size that broke the alignment of blocks",
        H,
        "a phase may end at any sequence: there are no blocks",
    ),
    Mistake(13, "learning rate rescaled by hand when the batch grew", H, "`scale: sqrt`"),
    Mistake(
        14, "fictitious peak rates to get the wanted rate in a side run", H, "segments by phase, `branch`"
    ),
    Mistake(
        15,
        "weight decay doubled by a changed default",
        H,
        "the plan writes every setting out; phases inherit from phases only",
    ),
    Mistake(
        16,
        "a linear-congruential shuffle that correlated batches",
        H,
        "`mixtures/shuffle.py`: Feistel network",
    ),
    Mistake(
        17,
        "the same order in every epoch",
        H,
        "the epoch is in the key of the shuffle",
        "tests/mixtures/test_order.py::test_epochs_differ",
    ),
    Mistake(
        18,
        "test questions leaked by a stale cache",
        H,
        "a cache's identity has sources and code; a report clears the very corpora that were tokenized, and no others",
        "tests/mixtures/preflight/test_contamination.py::test_a_stale_cache_of_a_corpus_that_was_cleaned_since_is_refused",
    ),
    Mistake(
        19,
        "no decontamination at all",
        H,
        "`tootsie curate decontaminate` reports and leaves out; a spec that does not ask for its report is told so",
        "tests/mixtures/preflight/test_contamination.py::test_a_run_that_asks_for_no_search_is_told",
    ),
    Mistake(
        20,
        "trailing spaces of an evaluation set taken for a regression",
        H,
        "`tootsie train lint`, which a dry run does too: white space, ends and format of held-out sets",
        "tests/train/test_evaluation_lint.py::test_trailing_spaces_are_told_in_words",
    ),
    Mistake(
        21,
        "a space before every end-of-text token",
        H,
        "`tokenize/`: the id is appended; first and last tokens stand in the ledger",
        "tests/tokenize/test_byte_pair.py::test_documents_carry_bos_and_eos_as_ids",
    ),
    Mistake(
        22,
        "the begin-of-text token lost by a changed backend",
        H,
        "`tokenize/identity.py`: fingerprint with golden ids",
        "tests/tokenize/test_shard_build.py::test_a_worker_with_another_tokenizer_writes_nothing",
    ),
    Mistake(
        23,
        "sensitivity to formats unseen in training",
        H,
        "`tootsie train lint` tells the formats of held-out sets that training lacks, `tootsie train lm-eval` those of prompts",
        "tests/train/test_evaluation_lint.py::test_prompts_in_a_format_that_training_lacks_are_told",
    ),
    Mistake(
        24,
        "datasets left out on intuition",
        H,
        "`tootsie train anneal`: a control, candidates that differ from it in data alone, seeds, effects with intervals",
        "tests/train/test_anneal.py::test_what_cannot_be_compared_is_refused",
    ),
    Mistake(25, "cooldown on high-quality text alone hurt task scores", H, ""),
    Mistake(
        26,
        "model names that are not their sizes",
        H,
        "`train/architecture.py`: presets with a number have that many parameters",
        "tests/train/test_architecture.py::test_a_name_with_a_number_means_it",
    ),
    Mistake(
        27,
        "clipping off for 6,000 steps",
        H,
        "changes are in the plan; `tootsie report why` tells them at the step",
        "tests/train/report/test_why.py::test_a_boundary_is_told_with_its_shares_and_batch",
    ),
    Mistake(
        28,
        "a checkpoint of the wrong phase, configurations edited afterwards",
        H,
        "`train/lineage.py`: a branch names run, step and checkpoint, the plans must share the past; records are sealed",
        "tests/train/test_lineage.py::test_a_branch_with_another_past_is_refused",
    ),
    Mistake(
        29,
        "optimizer state reset by deleting files",
        H,
        "`tootsie train state`: recorded operations; a checkpoint that lacks a file is refused",
        "tests/train/test_checkpoint.py::test_any_damage_is_found",
    ),
    Mistake(
        30,
        "temporary checkpoints saved by hand",
        H,
        "`tootsie train pin`; alarms pin by themselves",
        "tests/train/test_lineage.py::test_a_pinned_checkpoint_is_never_removed",
    ),
    Mistake(
        31,
        "runs from private branches, restarted by hand",
        H,
        "plan, caches and checkpoints carry the code's version, a resumed run records it anew; `train/supervisor.py` starts "
        "again what crashed or hangs",
        "tests/train/test_supervisor.py::test_a_hang_is_ended_and_followed_by_a_start",
    ),
    Mistake(
        32,
        "numbers of the report that are not the code's",
        H,
        "`train/report`: made from plan, ledgers and metrics",
        "tests/train/report/test_records.py::test_plan_against_reality",
    ),
    Mistake(
        33,
        "a changed shuffle made old runs irreproducible",
        H,
        "`tootsie-plan/1`: golden draws",
        "tests/mixtures/test_order.py::test_golden_order",
    ),
    Mistake(
        34,
        "a side run with another rotary embedding than its checkpoint",
        H,
        "checkpoints of another architecture are refused; a branch may declare another rotary embedding, and its lineage says so",
        "tests/train/test_lineage.py::test_a_branch_of_another_model_is_refused",
    ),
    Mistake(35, "cooled down to a rate too high for fine-tuning", H, ""),
    Mistake(36, "fine-tuning without replay", H, ""),
    Mistake(
        37,
        "averages of averages in evaluation",
        H,
        "`train/evaluate.py`: total bits by total bytes; macro and micro averages are both named",
        "tests/train/test_evaluation_sets.py::test_macro_is_a_mean_of_sets_and_micro_all_bits_by_all_bytes",
    ),
    Mistake(
        38,
        "a cache that does not fit was only a warning",
        H,
        "`tokenize/ledger.py`: an error; written atomically",
        "tests/tokenize/test_ledger.py::test_a_changed_ledger_is_refused",
    ),
    Mistake(
        39,
        "8,000 steps lost: the newest checkpoint was damaged",
        H,
        "`train/checkpoint.py`: verified, by step, the one before if damaged",
        "tests/train/test_loop.py::test_a_damaged_checkpoint_falls_back_to_the_one_before",
    ),
    Mistake(
        40,
        "a counter that said zero tokens",
        H,
        "`tokenize/`: counted from the arrays",
        "tests/tokenize/test_verification.py::test_counts_that_differ_from_the_shards_are_found",
    ),
    Mistake(
        41,
        "mean of means in gradient accumulation",
        H,
        "`train/loss.py`, `train/step.py`: sums over all parts and devices by all scored tokens",
        "tests/train/test_sharding.py::test_every_split_computes_the_loss_and_gradients_of_one_device",
    ),
    Mistake(
        42,
        "attention kernels replaced in silence",
        H,
        "`train/attention.py`: an error unless the run file allows a fallback; the one in use is told and recorded",
        "tests/train/test_attention.py::test_a_backend_that_cannot_run_is_refused_with_the_reason",
    ),
)


def table() -> str:
    """Return ``docs/mistakes.md``."""
    counts = {state: sum(mistake.state is state for mistake in MISTAKES) for state in State}
    lines = [
        "# The 42 mistakes",
        "",
        "What cost the Marin 8B run and its siblings trillions of tokens, and what holds it here. "
        "`check` is an id of `tootsie mix preflight`.",
        f"Held: {counts[H]}, partly: {counts[P]}, open: {counts[O]}. Printed by `python -m tootsie.mixtures.preflight.mistakes`.",
        "",
        "| | mistake | state | check | by |",
        "|---|---|---|---|---|",
    ]
    for mistake in MISTAKES:
        checks = ", ".join(f"`{check.id}`" for check in CHECKS if mistake.number in check.mistakes)
        test = mistake.test and f"`{mistake.test.rpartition('::')[2]}`"
        by = "; ".join(filter(None, [mistake.by, test]))
        lines.append(f"| {mistake.number} | {mistake.what} | {mistake.state.value} | {checks} | {by} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
