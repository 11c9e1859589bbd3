"""What a check is, what it finds, and how a finding is acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from tootsie.datasets.errors import SpecError
from tootsie.datasets.yaml_model import nearest
from tootsie.datasets.yaml_source import Path
from tootsie.mixtures.compilation import Compiled


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """The plan is refused unless the spec acknowledges it."""
    WARNING = "warning"
    """Likely a mistake."""
    INFO = "info"
    """Good to know."""


@dataclass(frozen=True)
class Finding:
    """Something that a check has found."""

    check: str
    """Id of the check."""
    subject: str
    """Dataset, phase or mixture that it is about."""
    severity: Severity
    """How bad it is."""
    message: str
    """What is so, and what to do."""
    acknowledged: str | None = None
    """Why it is meant, says the spec."""


@dataclass(frozen=True)
class Problem:
    """What a check returns: a finding without the name of the check."""

    subject: str
    """What it is about."""
    severity: Severity
    """How bad."""
    message: str
    """In one or two sentences."""


@dataclass(frozen=True)
class Check:
    """One check."""

    id: str
    """Its name, as it is acknowledged."""
    mistakes: tuple[int, ...]
    """Numbers of the mistakes of the 8B run that it would have caught; see :mod:`.mistakes`."""
    title: str
    """What it asks, in a few words."""
    run: Callable[[Compiled], Iterable[Problem]]
    """Looks at a compiled spec."""


def preflight(compiled: Compiled, checks: Iterable[Check]) -> list[Finding]:
    """Run checks; errors come first, then warnings, each in the order of the checks.

    Raises:
      SpecError: the spec acknowledges a check that does not exist, or nothing that was found.
    """
    checks = tuple(checks)
    reasons = dict(compiled.spec.acknowledge)
    findings = []
    used: set[str] = set()
    for check in checks:
        for problem in check.run(compiled):
            key = next((key for key in (f"{check.id}/{problem.subject}", check.id) if key in reasons), None)
            if key is not None:
                used.add(key)
            reason = None if key is None else reasons[key]
            findings.append(Finding(check.id, problem.subject, problem.severity, problem.message, reason))
    for key in reasons:
        known = {check.id for check in checks}
        if key.partition("/")[0] not in known:
            raise compiled.source.error(
                "there is no such check", ("acknowledge", key), key, nearest(key.partition("/")[0], known)
            )
        if key not in used:
            raise compiled.source.error(
                "nothing of this kind was found, so there is nothing to acknowledge",
                ("acknowledge", key),
                key,
                "Remove the line: an old excuse would hide a new mistake",
            )
    order = list(Severity)
    return sorted(findings, key=lambda finding: order.index(finding.severity))


def refusal(compiled: Compiled, findings: Iterable[Finding]) -> SpecError | None:
    """Return the error to raise where there are refusals: the first of them, at the line that it is about."""
    refused = refusals(findings)
    if not refused:
        return None
    first = refused[0]
    url = compiled.source.url
    more = f" ({len(refused) - 1} more: tootsie mix preflight {url})" if len(refused) > 1 else ""
    phases = {phase.name: number for number, phase in enumerate(compiled.spec.phases)}
    places: list[Path] = [("mixtures", first.subject), ("datasets", first.subject)]
    if first.subject in phases:
        places.insert(0, ("phases", phases[first.subject]))
    place = next((place for place in places if place in compiled.source.lines), ())
    where = compiled.source.error("", place).file
    return SpecError(
        f"{first.subject} {first.message}",
        file=where,
        field=first.check,
        remedy=f"Mend it, or write 'acknowledge: {{{first.check}/{first.subject}: why it is meant}}'{more}",
    )


def refusals(findings: Iterable[Finding]) -> list[Finding]:
    """Return the errors that nobody has acknowledged."""
    return [
        finding for finding in findings if finding.severity is Severity.ERROR and finding.acknowledged is None
    ]
