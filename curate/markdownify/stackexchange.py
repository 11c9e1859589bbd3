"""Rules for the bodies of StackExchange posts."""

from __future__ import annotations

from typing import Any

from tootsie.curate.markdownify import formulas
from tootsie.curate.markdownify.inlines import drop
from tootsie.curate.markdownify.serializer import SKIP, Handler, Node, Serializer

_DELIMITERS = (("$$", "$$", True), ("\\[", "\\]", True), ("\\(", "\\)", False), ("$", "$", False))


def _math_container(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``span.math-container``: a formula with its delimiters."""
    text = (node.text(deep=True) or "").strip()
    for opening, closing, display in _DELIMITERS:
        if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening) + len(closing):
            serializer.counters["formulas_from_container"] += 1
            serializer.formula(formulas.normalise(text[len(opening) : -len(closing)]), display)
            return SKIP
    return None


def _snippet(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    serializer.counters["snippets"] += 1
    return None


STACKEXCHANGE_CLASSES: dict[str, Handler] = {
    "math-container": _math_container,
    "snippet": _snippet,
    "snippet-result": drop("snippet_results_dropped"),
    "question-originals-of-duplicate": drop("duplicate_notices_dropped"),
    "special-status": drop("duplicate_notices_dropped"),
}
