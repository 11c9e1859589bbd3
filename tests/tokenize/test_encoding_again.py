from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.encoding_again import encodes_again
from tootsie.tokenize.tokenizers import load_tokenizer


@pytest.mark.parametrize(
    ("settings", "inside", "same"),
    [
        ({}, "ordinary", True),
        ({}, "special", False),  # no document of text can have it
        ({"template": {}}, "special", True),
        ({"format": "parquet"}, "special", True),
        ({"template": {}}, "other split", False),
        ({"template": {}}, "other bytes", False),
    ],
)
def test_special_tokens_inside_belong_to_conversations_only(
    tmp_path: Path, make_cache: Callable[..., Any], settings: dict[str, Any], inside: str, same: bool
) -> None:
    tokenizer = load_tokenizer("tootsie-16k")
    words, eos = tokenizer.encode("some words"), tokenizer.identity.eos_id
    ids = {
        "ordinary": words,
        "special": [*words, eos, *words],
        "other split": [*tokenizer.encode("some wo"), *tokenizer.encode("rds")],
        "other bytes": words,
    }[inside]
    size = 10 * (2 if inside == "special" else 1) + (inside == "other bytes")
    cache = TokenCache.open(make_cache(str(tmp_path), [[("a", [*ids, eos], size, None)]], tokenizer.identity))
    ledger = cache.ledger.model_copy(update={"settings": settings})
    assert encodes_again(tokenizer, cache.document(0, 0), ledger) is same
