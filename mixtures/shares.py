"""From what a spec asks to whole numbers: the shares of a mixture, and the sequences that a phase draws."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tootsie.mixtures.apportionment import largest_remainder
from tootsie.mixtures.measured import Measured
from tootsie.mixtures.plan import WEIGHT_TOTAL
from tootsie.mixtures.spec import By, DatasetSpec, GroupSpec, MixtureSpec


def natural_weights(
    group: GroupSpec, datasets: Mapping[str, DatasetSpec], ledgers: Mapping[str, Measured]
) -> dict[str, Fraction]:
    """Return the weight of each dataset of a group: what its ledger measured (or the spec's weight) × oversampling."""
    weights = {}
    for name, member in group.datasets.items():
        if group.by is By.WEIGHT:
            measured = member.weight if member is not None and member.weight is not None else Fraction(1)
        else:
            measured = Fraction(getattr(ledgers[name], group.by.value))
        factor = datasets[name].oversample * (member.oversample if member is not None else 1)
        weights[name] = measured * factor
    return weights


def asked_shares(
    mixture: MixtureSpec, datasets: Mapping[str, DatasetSpec], ledgers: Mapping[str, Measured]
) -> dict[str, int]:
    """Return the share of each dataset in units of 1/2**62, in the order of the mixture; none is 0, they add up to 2**62.

    Exact fractions are rounded once, by largest remainder.
    """
    weights = {group: natural_weights(part, datasets, ledgers) for group, part in mixture.groups.items()}
    everything = sum(sum(part.values()) for part in weights.values())
    quotas: dict[str, Fraction] = {}
    for group, part in mixture.groups.items():
        total = Fraction(sum(weights[group].values()))
        share = part.share if part.share is not None else total / everything
        for name, weight in weights[group].items():
            quotas[name] = share * weight / total * WEIGHT_TOTAL
    counts = largest_remainder(list(quotas.values()), WEIGHT_TOTAL, [1] * len(quotas))
    return dict(zip(quotas, counts, strict=True))


def phase_sequences(asked: Mapping[str, int], length: int, owed: Mapping[str, Fraction]) -> dict[str, int]:
    """Return how many sequences of each dataset a phase draws, whole numbers that add up to its length.

    Each dataset is due ``share · length`` plus what the phases before, by rounding, left it short of (or minus what they
    drew too much); whole numbers by largest remainder. A dataset with a share gets at least one sequence. What datasets
    without a share in this phase are owed is spread over the others by share.

    Args:
      asked: shares in units of 1/2**62.
      length: L, at least the number of datasets.
      owed: sequences asked of all phases before, minus those drawn, by dataset.

    Raises:
      ValueError: the phase is shorter than one sequence of each dataset.
    """
    quotas = {
        name: Fraction(weight * length, WEIGHT_TOTAL) + owed.get(name, 0) for name, weight in asked.items()
    }
    spare = length - sum(quotas.values())
    quotas = {name: quota + spare * Fraction(asked[name], WEIGHT_TOTAL) for name, quota in quotas.items()}
    counts = largest_remainder(list(quotas.values()), length, [1] * len(quotas))
    return dict(zip(quotas, counts, strict=True))
