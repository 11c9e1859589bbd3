"""What the parts of a spec say about each other: names, shares, what a first phase must have."""

from __future__ import annotations

from collections.abc import Iterator

from tootsie.datasets.yaml_model import nearest
from tootsie.datasets.yaml_source import Path, YamlSource
from tootsie.mixtures.duration import Duration, Unit
from tootsie.mixtures.plan import Plan
from tootsie.mixtures.shares import composition
from tootsie.mixtures.spec import By, PhaseSpec, Spec

MAX_NESTING = 64
"""Mixtures made from mixtures made from …"""


def check_names(spec: Spec, source: YamlSource, base: Plan | None = None) -> None:
    """Check all that one part of a spec says about another.

    Raises:
      SpecError: a name that stands for nothing or twice, shares that do not add up, a weight where none is used, or a first
        phase that leaves something to inherit.
    """
    for name, dataset in spec.datasets.items():
        if dataset.card is not None and spec.tokenizer is None:
            raise source.error(
                "a dataset is named by its card, so the spec has to say whose tokens are meant",
                ("datasets", name, "card"),
                dataset.card,
                "Add for example 'tokenizer: llama3' to the spec",
            )
    for mixture in spec.mixtures:
        _check_sources(mixture, spec, source)
    for mixture in spec.mixtures:
        _check_mixture(mixture, spec, source)
    seen: dict[str, int] = {}
    for index, phase in enumerate(spec.phases):
        at: Path = ("phases", index)
        if phase.name in seen:
            raise source.error(
                "another phase has this name",
                (*at, "name"),
                phase.name,
                "Names tell phases apart: change one",
            )
        seen[phase.name] = index
        if phase.mixture is not None and phase.mixture not in spec.mixtures:
            raise source.error(
                "no such mixture", (*at, "mixture"), phase.mixture, nearest(phase.mixture, spec.mixtures)
            )
        for key, duration in (("until", phase.until), ("for", phase.length)):
            if (
                duration is not None
                and duration.dataset is not None
                and duration.dataset not in spec.datasets
            ):
                remedy = nearest(duration.dataset, spec.datasets)
                raise source.error(f"no such dataset {duration.dataset!r}", (*at, key), str(duration), remedy)
        for path, duration in _inner_durations(phase):
            if duration is not None and duration.unit is Unit.EPOCHS:
                raise source.error(
                    "this length cannot be in epochs",
                    (*at, *path),
                    str(duration),
                    "Write it in steps, sequences or tokens",
                )
        if phase.transition is not None:
            _check_transition(index == 0 and base is None, index, phase, spec, source)
    first = spec.phases[0]
    if base is not None:
        return
    for key in ("mixture", "batch_size", "learning_rate"):
        if getattr(first, key) is None and not (key == "batch_size" and first.batch is not None):
            raise source.error(
                f"the first phase needs {key!r}: there is nothing before to inherit from",
                ("phases", 0, key),
                remedy="Later phases keep it until they change it",
            )


def _inner_durations(phase: PhaseSpec) -> Iterator[tuple[Path, Duration | None]]:
    """Yield the durations within a phase that are turned into steps."""
    if phase.transition is not None:
        yield ("transition", "over"), phase.transition.over
    rate = phase.learning_rate
    if rate is not None:
        yield ("learning_rate", "warmup"), rate.warmup
        yield ("learning_rate", "decay"), rate.decay
        for number, cycle in enumerate(rate.cycles or []):
            for key in ("every", "decay", "until"):
                yield ("learning_rate", "cycles", number, key), getattr(cycle, key)


def _check_transition(first: bool, index: int, phase: PhaseSpec, spec: Spec, source: YamlSource) -> None:
    assert phase.transition is not None
    at: Path = ("phases", index, "transition")
    through = phase.transition.through
    if first:
        raise source.error("the first phase has no mixture to come from", at, phase.name, "Remove it")
    if phase.mixture is None:
        raise source.error(
            "the phase keeps its mixture, so there is nothing to go over to",
            at,
            phase.name,
            "Name its 'mixture'",
        )
    if through is not None and through not in spec.mixtures:
        raise source.error("no such mixture", (*at, "through"), through, nearest(through, spec.mixtures))
    for key, duration in (("until", phase.until), ("for", phase.length)):
        if duration is not None and duration.unit is Unit.EPOCHS:
            raise source.error(
                "a phase with a transition cannot be as long as epochs",
                ("phases", index, key),
                str(duration),
                "Write its length in steps, sequences or tokens",
            )


def _check_sources(name: str, spec: Spec, source: YamlSource) -> None:
    """Check the mixtures that a mixture is made from: that they exist, and that none is made from itself."""
    path: list[str] = []
    done: set[str] = set()

    def follow(mixture: str, said_at: Path) -> None:
        if mixture not in spec.mixtures:
            raise source.error("no such mixture", said_at, mixture, nearest(mixture, spec.mixtures))
        if mixture in path:
            circle = " → ".join([*path[path.index(mixture) :], mixture])
            raise source.error("the mixture is made from itself", said_at, circle, "Break the circle")
        if mixture in done:
            return
        if len(path) >= MAX_NESTING:
            raise source.error(
                f"mixtures are made from one another more than {MAX_NESTING} deep",
                said_at,
                mixture,
                "Flatten them",
            )
        path.append(mixture)
        mixed = spec.mixtures[mixture]
        if mixed.extends is not None:
            follow(mixed.extends, ("mixtures", mixture, "extends"))
        for other in mixed.combine:
            follow(other, ("mixtures", mixture, "combine", other))
        done.add(path.pop())

    follow(name, ("mixtures", name))
    mixed = spec.mixtures[name]
    if mixed.extends is None:
        empty = next((group for group, part in mixed.groups.items() if part is None), None)
        if empty is not None:
            raise source.error(
                "the group has no datasets", ("mixtures", name, "groups", empty), remedy="Name one"
            )
        return
    base_groups, base_parts = composition(mixed.extends, spec)
    for group, part in mixed.groups.items():
        if part is None and group not in base_groups:
            raise source.error(
                f"{mixed.extends!r} has no such group to take away",
                ("mixtures", name, "groups", group),
                remedy=nearest(group, base_groups) if base_groups else "It combines mixtures",
            )
    if (mixed.groups and base_parts) or (mixed.combine and base_groups):
        raise source.error(
            "one has groups of datasets, the other combines mixtures",
            ("mixtures", name, "extends"),
            mixed.extends,
            "Write it out instead",
        )


def _check_mixture(name: str, spec: Spec, source: YamlSource) -> None:
    at: Path = ("mixtures", name, "groups")
    groups, combine = composition(name, spec)
    if combine and sum(combine.values()) != 1:
        written = " + ".join(f"{other} {float(share):g}" for other, share in combine.items())
        raise source.error(
            f"the parts add up to {float(sum(combine.values())):.10g}, not to 1",
            ("mixtures", name, "combine"),
            written,
            "Exact: write 1/3",
        )
    if not groups and not combine:
        raise source.error("nothing is left of the mixture", at, remedy="Keep a group")
    shares = {group: part.share for group, part in groups.items()}
    given = [share for share in shares.values() if share is not None]
    if given and len(given) < len(shares):
        lacking = next(group for group, share in shares.items() if share is None)
        raise source.error(
            "this group has no share, others have", (*at, lacking), remedy="Give every group a share, or none"
        )
    if given and sum(given) != 1:
        written = " + ".join(
            f"{group} {float(share):g}" for group, share in shares.items() if share is not None
        )
        raise source.error(
            f"the shares of the groups add up to {float(sum(given)):.10g}, not to 1",
            at,
            written,
            "Exact: write 1/3",
        )
    where: dict[str, str] = {}
    for group, part in groups.items():
        if not part.datasets:
            raise source.error(
                "the group has no datasets", (*at, group, "datasets"), remedy="Name one, or remove it"
            )
        for dataset, member in part.datasets.items():
            path = (*at, group, "datasets", dataset)
            if dataset not in spec.datasets:
                raise source.error(
                    f"no such dataset {dataset!r}", path, remedy=nearest(dataset, spec.datasets)
                )
            if dataset in where:
                raise source.error(
                    f"the dataset is in the group {where[dataset]!r} of this mixture already",
                    path,
                    remedy="Keep one",
                )
            where[dataset] = group
            weight = member.weight if member is not None else None
            if part.by is By.WEIGHT and weight is None:
                raise source.error(
                    "the group is 'by: weight', so each dataset needs a weight",
                    path,
                    remedy="Write 'weight: 3'",
                )
            if part.by is not By.WEIGHT and weight is not None:
                raise source.error(
                    f"a weight is used only in groups 'by: weight', this one is by {part.by.value}",
                    (*path, "weight"),
                    remedy="Write 'by: weight', or use oversample",
                )
