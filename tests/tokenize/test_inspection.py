from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.inspection import (
    PIECE_STYLES,
    SPECIAL_STYLE,
    choose_documents,
    coloured,
    describe_documents,
    show_documents,
)
from tootsie.tokenize.tokenizers import load_tokenizer


def test_neighbours_differ_in_colour_and_specials_stand_out() -> None:
    tokenizer = load_tokenizer("tootsie-16k")
    text = coloured(tokenizer.encode_document("Some words\n").tolist(), tokenizer)
    assert text.plain == "Some words⏎\n<|end_of_text|>"
    styles = [str(span.style) for span in text.spans]
    assert styles[-1] == SPECIAL_STYLE
    assert all(one != two for one, two in itertools.pairwise(styles))
    assert set(styles[:-1]) <= set(PIECE_STYLES)


def test_bytes_that_are_no_character_are_shown_as_such() -> None:
    assert coloured([0xE2], load_tokenizer("tootsie-16k"), ids=True).plain == "\\xe2226 "


def test_tokens_with_loss_are_underlined_and_counted(tmp_path: Path, make_cache: Callable[..., Any]) -> None:
    tokenizer = load_tokenizer("tootsie-16k")
    ids = [*tokenizer.encode("Hi"), *tokenizer.encode("there"), tokenizer.identity.eos_id]
    rows = [("a", ids, 7, [(len(ids) - 2, len(ids))]), ("b", ids, 7, None)]
    cache = TokenCache.open(make_cache(str(tmp_path), [[], rows], tokenizer.identity, loss_spans=True))
    options = {"document": None, "start": 0, "limit": 5, "tokens": 100}
    lines = list(show_documents(cache, tokenizer, ids=False, **options))
    assert (
        lines[0].plain
        == f"a (shard 1, row 0, token 0): {len(ids)} tokens, 2 with loss, 7 bytes, {7 / len(ids):.2f} bytes a token"
    )
    assert [str(span.style).endswith("underline") for span in lines[1].spans] == [False] * (len(ids) - 2) + [
        True
    ] * 2
    first, second = describe_documents(cache, tokenizer, **options)
    assert (first["document_id"], first["shard"], first["row"], first["start"]) == ("a", 1, 0, 0)
    assert "".join(first["pieces"]) == "Hithere<|end_of_text|>"
    assert first["loss_mask"] == [0] * (len(ids) - 2) + [1, 1]
    assert second["start"] == len(ids)
    assert second["loss_mask"] == [1] * len(ids)


def test_a_document_is_found_by_its_id(tmp_path: Path, make_cache: Callable[..., Any]) -> None:
    make_cache(
        str(tmp_path), [[("a", [1, 2, 0], 5, None)], [], [("b", [3, 0], 2, None), ("a", [4, 0], 1, None)]]
    )
    cache = TokenCache.open(str(tmp_path))
    found = list(choose_documents(cache, document="a", start=0, limit=9))
    assert [(shown.shard, shown.row, shown.start) for shown in found] == [(0, 0, 0), (2, 1, 5)]
    assert all(shown.loss_mask is None for shown in found)
    with pytest.raises(SpecError, match=r"--document: no such document \(found 'c'\)"):
        list(choose_documents(cache, document="c", start=0, limit=9))
