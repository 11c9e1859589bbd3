"""From what a spec asks to whole numbers: the shares of a mixture, and the sequences that a phase draws."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tootsie.mixtures.apportionment import largest_remainder, round_parts
from tootsie.mixtures.measured import Measured
from tootsie.mixtures.plan_parts import WEIGHT_TOTAL
from tootsie.mixtures.spec import By, DatasetSpec, GroupSpec, Spec


def natural_weights(
    group: GroupSpec, datasets: Mapping[str, DatasetSpec], measured: Mapping[str, Measured]
) -> dict[str, Fraction]:
    """Return the weight of each dataset of a group: what was measured (or the spec's weight) × oversampling.

    Raises:
      ValueError: a dataset's card does not say how many bytes or documents it has.
    """
    weights = {}
    for name, member in group.datasets.items():
        if group.by is By.WEIGHT:
            size = member.weight if member is not None and member.weight is not None else Fraction(1)
        else:
            size = Fraction(getattr(measured[name], group.by.value))
            if not size:
                raise ValueError(f"the card of {name!r} does not say how many {group.by.value} it has")
        factor = datasets[name].oversample * (member.oversample if member is not None else 1)
        weights[name] = size * factor
    return weights


def group_shares(
    group: GroupSpec, datasets: Mapping[str, DatasetSpec], measured: Mapping[str, Measured]
) -> dict[str, Fraction]:
    """Return the part of each dataset in its group, exactly; they add up to 1.

    Raises:
      ValueError: as :func:`natural_weights`, or the floors leave nothing for the others.
    """
    weights = natural_weights(group, datasets, measured)
    floors = {
        name: member.at_least
        for name, member in group.datasets.items()
        if member is not None and member.at_least is not None
    }
    held: dict[str, Fraction] = {}
    while True:
        # Lifting one to its floor takes from the others, which may then need lifting too.
        rest = 1 - sum(held.values(), Fraction(0))
        free = {name: weight for name, weight in weights.items() if name not in held}
        if (rest <= 0 and free) or rest < 0:
            raise ValueError(f"the floors of {', '.join(held)} leave nothing for the others")
        total = sum(free.values(), Fraction(0))
        shares = {name: rest * weight / total for name, weight in free.items()}
        low = {name: floors[name] for name in free if name in floors and shares[name] < floors[name]}
        if not low:
            return {name: held.get(name, shares.get(name, Fraction(0))) for name in weights}
        held |= low


def exact_shares(
    name: str, spec: Spec, measured: Mapping[str, Measured], resolved: dict[str, dict[str, Fraction]]
) -> dict[str, Fraction]:
    """Return the share of each dataset in a mixture, exactly; mixtures done before are kept in ``resolved``.

    Raises:
      ValueError: as :func:`group_shares`.
    """
    if name not in resolved:
        groups, combine = composition(name, spec)
        shares: dict[str, Fraction] = {}
        parts: list[tuple[Fraction, dict[str, Fraction]]] = []
        if combine:
            parts = [
                (share, exact_shares(other, spec, measured, resolved)) for other, share in combine.items()
            ]
        else:
            weights = {
                key: sum(natural_weights(group, spec.datasets, measured).values(), Fraction(0))
                for key, group in groups.items()
                if group.share is None
            }
            everything = sum(weights.values(), Fraction(0))
            for key, group in groups.items():
                share = group.share if group.share is not None else weights[key] / everything
                parts.append((share, group_shares(group, spec.datasets, measured)))
        for share, inside in parts:
            for dataset, part in inside.items():
                shares[dataset] = shares.get(dataset, Fraction(0)) + share * part
        resolved[name] = shares
    return resolved[name]


def composition(name: str, spec: Spec) -> tuple[dict[str, GroupSpec], dict[str, Fraction]]:
    """Return the groups of a mixture and the mixtures that it combines (one of the two is empty), what it extends included."""
    mixture = spec.mixtures[name]
    groups: dict[str, GroupSpec] = {}
    combine: dict[str, Fraction] = {}
    if mixture.extends is not None:
        groups, combine = composition(mixture.extends, spec)
    changed = groups | mixture.groups
    return {key: group for key, group in changed.items() if group is not None}, combine | mixture.combine


def asked_shares(
    name: str,
    spec: Spec,
    measured: Mapping[str, Measured],
    resolved: dict[str, dict[str, Fraction]] | None = None,
) -> dict[str, int]:
    """Return the share of each dataset in units of 1/2**62, in the order of the mixture; none is 0, they add up to 2**62.

    Exact fractions are rounded once, by largest remainder.

    Args:
      name: of the mixture.
      spec: that it stands in.
      measured: sizes by dataset.
      resolved: exact shares of mixtures that were asked for before; this one's are added.

    Raises:
      ValueError: as :func:`group_shares`.
    """
    shares = exact_shares(name, spec, measured, {} if resolved is None else resolved)
    counts = largest_remainder(
        [share * WEIGHT_TOTAL for share in shares.values()], WEIGHT_TOTAL, [1] * len(shares)
    )
    return dict(zip(shares, counts, strict=True))


def phase_sequences(
    asked: Mapping[str, int], length: int, owed: Mapping[str, int], tokens: int = 1
) -> dict[str, int]:
    """Return how many sequences of each dataset a phase draws, whole numbers that add up to its length.

    Each dataset is due ``share · length`` plus what the phases before, by rounding, left it short of (or minus what they
    drew too much); whole numbers by largest remainder. A dataset with a share gets at least one sequence. What datasets
    without a share in this phase are owed is spread over the others by share.

    Args:
      asked: shares in units of 1/2**62.
      length: L, at least the number of datasets.
      owed: sequences asked of all phases before, minus those drawn, by dataset, in units of 1/2**62; in a plan of several
        sequence lengths tokens instead.
      tokens: in a sequence of the phase, where ``owed`` is in tokens.

    Raises:
      ValueError: the phase is shorter than one sequence of each dataset.
    """
    due = {name: weight * length * tokens + owed.get(name, 0) for name, weight in asked.items()}
    spare = length * tokens * WEIGHT_TOTAL - sum(due.values())
    # The spare part of each is a product of two numbers in units of 1/2**62, so all are counted in those of 1/2**124.
    parts = [due[name] * WEIGHT_TOTAL + spare * weight for name, weight in asked.items()]
    counts = round_parts(parts, WEIGHT_TOTAL**2 * tokens, length, [1] * len(parts))
    return dict(zip(asked, counts, strict=True))


def add_owed(
    owed: Mapping[str, int],
    asked: Mapping[str, int],
    length: int,
    drawn: Mapping[str, int],
    tokens: int = 1,
) -> dict[str, int]:
    """Return what is owed after ``length`` more positions: see :func:`phase_sequences`.

    Args:
      owed: before, in units of 1/2**62 of a sequence, or of a token.
      asked: shares of these positions, in units of 1/2**62.
      length: how many they are.
      drawn: sequences that they draw.
      tokens: in a sequence of theirs, where ``owed`` is in tokens.
    """
    after = dict(owed)
    for name, share in asked.items():
        after[name] = after.get(name, 0) + share * length * tokens
    for name, count in drawn.items():
        after[name] = after.get(name, 0) - count * WEIGHT_TOTAL * tokens
    return after
