"""Rules for the bodies of StackExchange posts."""

from __future__ import annotations

from typing import Any

from tootsie.curate.markdownify.inlines import drop
from tootsie.curate.markdownify.serializer import Handler, Node, Serializer


def _snippet(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    serializer.counters["snippets"] += 1
    return None


STACKEXCHANGE_CLASSES: dict[str, Handler] = {
    "snippet": _snippet,
    "snippet-result": drop("snippet_results_dropped"),
    "question-originals-of-duplicate": drop("duplicate_notices_dropped"),
    "special-status": drop("duplicate_notices_dropped"),
}
