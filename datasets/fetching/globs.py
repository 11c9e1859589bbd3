"""Globs over listed paths: ``**`` for any folders, ``*`` and ``?`` within one, braces for choices."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fsspec.utils import glob_translate

from tootsie.datasets.storage import expand_braces

WILDCARD = re.compile(r"[*?\[{]")
"""What makes a pattern of a path."""


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Return whether a path fits one of the globs.

    >>> matches("a/b/c.parquet", ["**/*.parquet"]), matches("a/b.txt", ["*.txt", "{b,c}/*"])
    (True, False)
    """
    return any(
        re.fullmatch(glob_translate(one), path) is not None
        for pattern in patterns
        for one in expand_braces(pattern)
    )


def fixed_part(pattern: str) -> str:
    """Return a pattern up to the last slash before its first wildcard, with that slash.

    >>> fixed_part("gs://bucket/a/b-*/c"), fixed_part("x.zip")
    ('gs://bucket/a/', '')
    """
    match = WILDCARD.search(pattern)
    head = pattern[: match.start()] if match else pattern
    return head[: head.rfind("/") + 1]
