"""Convert the pages of one document within limits on time and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tootsie.curate import markdownify


def convert_here(
    pages: Sequence[str | bytes], *, profile: str, **options: Any
) -> list[markdownify.Conversion]:
    """Convert pages in this process, without limits."""
    return [markdownify.convert(page, profile=profile, **options) for page in pages]
