"""What a threshold of a filter may be: datatrove takes any value, and a wrong one lets every document pass, or fail."""

from __future__ import annotations

import inspect
import math
import typing
from typing import Any

LANGUAGE = "language"
"""Thresholds that name the language of words."""


def expected(filter_class: Any, key: str, value: Any) -> str | None:
    """Return what a threshold must be, in words, where ``value`` is not that, else ``None``.

    Args:
      filter_class: datatrove's; its annotations tell.
      key: of the threshold.
      value: as it was parsed.
    """
    hint = typing.get_type_hints(filter_class.__init__).get(key)
    kinds = typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)
    if value is None:
        # Some state a type without None for what is None by default.
        default = inspect.signature(filter_class.__init__).parameters[key].default
        return None if type(None) in kinds or default is None else "a value, not null"
    if bool in kinds:
        return None if isinstance(value, bool) else "true or false"
    if int in kinds or float in kinds:
        return None if _is_number(value) else "a number"
    if str in kinds:
        if not isinstance(value, str):
            return "a text"
        return _language(value) if key == LANGUAGE else None
    if key.endswith("_n_grams"):
        pairs = isinstance(value, list) and all(
            isinstance(pair, list)
            and len(pair) == 2
            and all(map(_is_number, pair))
            and isinstance(pair[0], int)
            for pair in value
        )
        return None if pairs else "a list of pairs, length and share: [[2, 0.2], [3, 0.18]]"
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return None if texts else "a list of texts"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _language(value: str) -> str | None:
    from datatrove.utils.word_tokenizers import load_word_tokenizer

    try:
        load_word_tokenizer(value)
    except ValueError:
        return "a language that datatrove can split into words, by its code there: eng, deu, cmn"
    return None
