"""What made an artefact: the version of the code and the checksum of its settings and inputs."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Return ``value`` as JSON with sorted keys and no spaces: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def fingerprint(value: Any) -> str:
    """Return the SHA-256 (64 hex digits) of :func:`canonical_json` of ``value``."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


@functools.cache
def code_version(stage: str) -> str:
    """Return ``<package version>+<12 hex digits>`` for one stage.

    The digits are a SHA-256 over the stage's Python files, so an edited checkout never passes for a release.

    Args:
      stage: folder name of the stage, for example ``"curate"``.
    """
    folder = Path(__file__).resolve().parent.parent / stage
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        relative = path.relative_to(folder).as_posix()
        if relative.startswith(("launcher/", "sample/")):
            continue
        digest.update(relative.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{importlib.metadata.version('tootsie')}+{digest.hexdigest()[:12]}"
