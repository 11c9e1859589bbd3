from __future__ import annotations

import json

import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from tootsie.tokenize.rank_merges import byte_alphabet, merges, tokenizer_json

SINGLE = {bytes([value]): value for value in range(256)}


def test_bytes_are_written_in_printable_characters() -> None:
    alphabet = byte_alphabet()
    assert len(set(alphabet.values())) == 256
    assert all(character.isprintable() for character in alphabet.values())
    assert (alphabet[ord("a")], alphabet[ord(" ")], alphabet[ord("\n")]) == ("a", "Ġ", "Ċ")


def test_every_cut_of_a_token_into_two_is_a_merge() -> None:
    ranks = {**SINGLE, b"aa": 256, b"aaa": 257, b"xyz": 258}
    assert merges(ranks) == [(b"a", b"a"), (b"a", b"aa"), (b"aa", b"a")]
    description = json.loads(tokenizer_json(ranks, r"\S+"))
    assert description["model"]["ignore_merges"]
    assert description["added_tokens"] == []
    assert description["model"]["vocab"]["xyz"] == 258


@given(
    st.lists(st.text("ab", min_size=2, max_size=5), unique=True, max_size=12),
    st.text("abc ", max_size=40),
)
def test_another_engine_gives_tiktokens_ids_where_no_two_cuts_of_a_token_overlap(
    tokens: list[str], text: str
) -> None:
    """Hugging Face's engine prefers, of two overlapping ways to make one token, the merge listed first, tiktoken the left one."""
    import tokenizers

    ranks = dict(SINGLE)
    for token in tokens:
        ranks[token.encode()] = len(ranks)
    made = [left + right for left, right in merges(ranks)]
    if len(set(made)) < len(made):
        return
    pattern = r"\S+|\s+"
    reference = tiktoken.Encoding("t", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    other = tokenizers.Tokenizer.from_str(tokenizer_json(ranks, pattern))
    assert other.encode(text).ids == reference.encode_ordinary(text)
