from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tootsie.datasets.errors import ArtefactError, InputError
from tootsie.tokenize.byte_pair import BytePairTokenizer, parse_ranks
from tootsie.tokenize.tokenizers import load_tokenizer

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
WHITE_SPACE = st.text(
    "\t\n\v\f\r \x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2003\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
)
PIECES = st.lists(
    st.one_of(
        ANY_TEXT,
        WHITE_SPACE,
        st.sampled_from(["<|end_of_text|>", "'ſ", "'LL", "a" * 60, "123456", "é\u0301", "👩‍🔬"]),
    )
).map("".join)


def ordinary(tokenizer: BytePairTokenizer, text: str) -> list[int]:
    return tokenizer._encoding.encode_ordinary(text)


@pytest.fixture(scope="module", params=["tootsie-16k", "llama3"])
def tokenizer(request: pytest.FixtureRequest) -> BytePairTokenizer:
    if request.param == "llama3":
        pytest.importorskip("llama_models", exc_type=ImportError)
    loaded = load_tokenizer(request.param)
    assert isinstance(loaded, BytePairTokenizer)
    return loaded


@given(PIECES)
@example("")
@example("<|end_of_text|><|begin_of_text|>")
def test_ids_are_tiktokens_and_come_back(tokenizer: BytePairTokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert ids == ordinary(tokenizer, text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode_bytes(ids) == text.encode()


@given(st.text(st.characters(exclude_categories=[])))
@example("\ud800")
def test_lone_surrogates_are_encoded_as_tiktoken_does(tokenizer: BytePairTokenizer, text: str) -> None:
    assert tokenizer.encode(text) == ordinary(tokenizer, text)


@given(PIECES)
@settings(max_examples=60)
def test_the_way_around_the_backtracking_limit_gives_the_same_ids(
    tokenizer: BytePairTokenizer, text: str
) -> None:
    assert tokenizer._encode_by_piece(text).tolist() == ordinary(tokenizer, text)


@pytest.mark.parametrize("unit", ["a", " ", "\n", "-", "\u3000", "é", "\t ", "字"])
def test_a_megabyte_of_one_character(tokenizer: BytePairTokenizer, unit: str) -> None:
    text = unit * (300_000 // len(unit.encode())) + "x"
    ids = tokenizer.encode_array(text)
    assert ids.dtype == np.uint32
    assert tokenizer.decode_bytes(ids.tolist()) == text.encode()


def test_special_tokens_are_never_injected(tokenizer: BytePairTokenizer) -> None:
    ids = tokenizer.encode("".join(tokenizer.specials))
    assert not set(ids) & set(tokenizer.specials.values())
    assert tokenizer.decode([tokenizer.identity.eos_id]) == "<|end_of_text|>"


def test_documents_carry_bos_and_eos_as_ids(tokenizer: BytePairTokenizer) -> None:
    identity = tokenizer.identity
    framed = tokenizer.encode_document("Hello ").tolist()
    bos = [identity.bos_id] if identity.add_bos else []
    assert framed == [*bos, *tokenizer.encode("Hello "), identity.eos_id]
    assert identity.golden_ids[0] == (identity.bos_id if identity.add_bos else identity.golden_ids[0])


def test_an_unknown_id_is_a_clear_error(tokenizer: BytePairTokenizer) -> None:
    with pytest.raises(ArtefactError, match=r"has no such id \(found 999999\)"):
        tokenizer.decode([999_999])


def rank_lines(tokens: list[bytes]) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))


def test_rank_files_are_checked() -> None:
    whole = [bytes([value]) for value in range(256)]
    assert len(parse_ranks(rank_lines(whole), "f")) == 256
    with pytest.raises(InputError, match="f: the ranks lack 1 of the 256 single bytes"):
        parse_ranks(rank_lines(whole[:-1]), "f")
    with pytest.raises(InputError, match="f:257: not a line of a rank file"):
        parse_ranks(rank_lines(whole) + b"{}\n", "f")
    with pytest.raises(InputError, match="without gaps or repeats"):
        parse_ranks(rank_lines(whole) + b"YWI= 300\n", "f")


def test_large_vocabularies_are_32_bits_wide() -> None:
    ranks = {bytes([value]): value for value in range(256)}
    for specials, dtype in (({"<e>": 65_535}, "uint16"), ({"<e>": 65_536}, "uint32")):
        made = BytePairTokenizer(
            "x",
            pattern=r"\S+|\s+",
            ranks=ranks,
            specials=specials,
            bos_id=None,
            eos_id=specials["<e>"],
            add_bos=False,
        )
        assert made.identity.dtype == dtype
        assert made.encode_document("a").tolist() == [97, specials["<e>"]]
