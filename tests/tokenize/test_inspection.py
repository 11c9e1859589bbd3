from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.inspection import (
    PIECE_STYLES,
    SPECIAL_STYLE,
    coloured,
    document_lengths,
    statistics_table,
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


def test_lengths_and_table(tmp_path: Path, make_cache: Callable[..., Any]) -> None:
    make_cache(str(tmp_path), [[("a", [1, 2, 0], 5, None)], [], [("b", [3, 0], 2, None)]])
    cache = TokenCache.open(str(tmp_path))
    assert document_lengths(cache).tolist() == [3, 2]
    assert statistics_table([cache, cache]).row_count == 2
