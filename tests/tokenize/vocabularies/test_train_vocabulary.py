from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.tokenize.byte_pair import parse_ranks
from tootsie.tokenize.vocabularies.train_vocabulary import PATTERN, SPECIALS, count_pieces, train_ranks


def by_the_book(pieces: dict[bytes, int], size: int) -> list[bytes]:
    """The same by recounting everything for each merge."""
    tokens = [bytes([value]) for value in range(256)]
    words = {piece: list(piece) for piece in pieces}
    while len(tokens) < size:
        counts: Counter[tuple[int, int]] = Counter()
        for piece, word in words.items():
            for pair in pairwise(word):
                counts[pair] += pieces[piece]
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        joined = tokens[best[0]] + tokens[best[1]]
        if joined not in tokens:
            tokens.append(joined)
        rank = tokens.index(joined)
        for word in words.values():
            at = 0
            while at < len(word) - 1:
                if (word[at], word[at + 1]) == best:
                    word[at : at + 2] = [rank]
                at += 1
    return tokens


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=9).map(str.encode), st.integers(1, 5), max_size=12),
    st.integers(0, 25),
)
@settings(max_examples=150)
def test_the_incremental_trainer_merges_as_recounting_does(pieces: dict[bytes, int], merges: int) -> None:
    assert train_ranks(pieces, 256 + merges) == by_the_book(pieces, 256 + merges)


def test_the_order_of_the_text_does_not_matter() -> None:
    texts = ["the cat sat", "on the mat", "the end"]
    assert train_ranks(count_pieces(texts), 280) == train_ranks(count_pieces(reversed(texts)), 280)


@given(st.text())
def test_the_pattern_leaves_nothing_out(text: str) -> None:
    assert sum(len(piece) * count for piece, count in count_pieces([text]).items()) == len(
        text.encode("utf-8", "replace")
    )


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        (r"\alpha_{12345} = x", [r"\alpha", "_{", "123", "45", "}", " =", " x"]),
        ("it's don't", ["it", "'s", " don", "'t"]),
        ("a\n\n    b", ["a", "\n\n", "   ", " b"]),
        ("cafe\u0301 été", ["cafe\u0301", " été"]),
    ],
)
def test_pieces(text: str, pieces: list[str]) -> None:
    assert list(count_pieces([text])) == [piece.encode() for piece in dict.fromkeys(pieces)]
    engine = tiktoken.Encoding(
        "x",
        pat_str=PATTERN,
        mergeable_ranks={p.encode(): n for n, p in enumerate(set(pieces))},
        special_tokens={},
    )
    assert engine.decode_tokens_bytes(engine.encode_ordinary(text)) == [piece.encode() for piece in pieces]


def test_the_script_writes_a_vocabulary_that_loads(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("The quick brown fox. " * 50)
    (tmp_path / "in" / "b.jsonl").write_text('{"text": "été à la plage, été"}\n' * 20)
    out = tmp_path / "tiny"
    command = [
        sys.executable,
        "-m",
        "tootsie.tokenize.vocabularies.train_vocabulary",
        f"mine={tmp_path / 'in'}*2",
    ]
    subprocess.run([*command, "--out", str(out), "--size", "290"], check=True, capture_output=True)
    ranks = parse_ranks((tmp_path / "tiny.tiktoken").read_bytes(), "tiny")
    description = json.loads((tmp_path / "tiny.json").read_text())
    assert len(ranks) == 290 - len(SPECIALS)
    assert description["specials"]["<|end_of_text|>"] == 289
    (entry,) = description["inputs"]
    assert (entry["name"], entry["files"], entry["weight"]) == ("mine", 2, 2)
