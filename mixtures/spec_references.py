"""What the parts of a spec say about each other: names, shares, what a first phase must have."""

from __future__ import annotations

from tootsie.datasets.yaml_model import nearest
from tootsie.datasets.yaml_source import Path, YamlSource
from tootsie.mixtures.duration import Unit
from tootsie.mixtures.spec import By, MixtureSpec, Spec


def check_names(spec: Spec, source: YamlSource) -> None:
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
    for mixture, mixed in spec.mixtures.items():
        _check_mixture(mixture, mixed, spec, source)
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
        if phase.learning_rate is not None:
            for key, duration in (
                ("warmup", phase.learning_rate.warmup),
                ("decay", phase.learning_rate.decay),
            ):
                if duration is not None and duration.unit is Unit.EPOCHS:
                    raise source.error(
                        "this length cannot be in epochs",
                        (*at, "learning_rate", key),
                        str(duration),
                        "Write it in steps, sequences or tokens",
                    )
    first = spec.phases[0]
    for key in ("mixture", "batch_size", "learning_rate"):
        if getattr(first, key) is None:
            raise source.error(
                f"the first phase needs {key!r}: there is nothing before to inherit from",
                ("phases", 0, key),
                remedy="Later phases keep it until they change it",
            )


def _check_mixture(name: str, mixture: MixtureSpec, spec: Spec, source: YamlSource) -> None:
    at: Path = ("mixtures", name, "groups")
    shares = {group: part.share for group, part in mixture.groups.items()}
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
    for group, part in mixture.groups.items():
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
