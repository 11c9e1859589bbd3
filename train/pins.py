"""Pinned checkpoints: kept for good, whatever else is removed.

    checkpoints/pins/<step>.json      {"step", "reasons": [...]}

A pin is a file beside the checkpoint, not in it, so a checkpoint stays what its record says.
"""

from __future__ import annotations

import json

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.train import checkpoint


def pin(folder: str, step: int, reason: str) -> None:
    """Pin the finished checkpoint of ``step``; another reason is added to those before.

    Args:
      folder: of the checkpoints.
      step: of the checkpoint.
      reason: why, for whoever finds it.

    Raises:
      ArtefactError: there is no such checkpoint.
    """
    present = checkpoint.steps_in(folder)
    if step not in present:
        near = ", ".join(f"{number:,}" for number in sorted(present, key=lambda found: abs(found - step))[:5])
        raise ArtefactError(
            "no checkpoint of that step",
            file=folder,
            field="step",
            value=step,
            remedy=f"There are: {near or 'none'}",
        )
    known = reasons(folder, step)
    if reason not in known:
        content = json.dumps({"step": step, "reasons": [*known, reason]}, ensure_ascii=False) + "\n"
        storage.write_bytes(checkpoint.pin_url(folder, step), content.encode())


def unpin(folder: str, step: int) -> None:
    """Take the pin away; the checkpoint stays until it is replaced, if it is a temporary one.

    Raises:
      ArtefactError: it is not pinned.
    """
    if not checkpoint.is_pinned(folder, step):
        raise ArtefactError("this checkpoint is not pinned", file=folder, field="step", value=step)
    storage.remove(checkpoint.pin_url(folder, step))


def reasons(folder: str, step: int) -> list[str]:
    """Return why a checkpoint is pinned; empty where it is not.

    Raises:
      ArtefactError: the pin's file is damaged.
    """
    url = checkpoint.pin_url(folder, step)
    if not storage.exists(url):
        return []
    try:
        found = json.loads(storage.read_bytes(url))["reasons"]
    except (ValueError, KeyError, TypeError) as error:
        raise ArtefactError(
            f"not the file of a pin: {error}", file=url, remedy="Remove it and pin the checkpoint again"
        ) from None
    return [str(reason) for reason in found]
