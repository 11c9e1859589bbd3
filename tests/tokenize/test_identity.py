from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize.identity import TokenizerIdentity, dtype_of, require_same, without_surrogates
from tootsie.tokenize.tokenizers import load_tokenizer


def test_only_a_vocabulary_that_fits_is_stored_in_16_bits() -> None:
    assert [dtype_of(size) for size in (1, 16_384, 65_536, 65_537, 128_256)] == ["uint16"] * 3 + [
        "uint32"
    ] * 2
    fields = load_tokenizer("tootsie-16k").identity.model_dump()
    with pytest.raises(ValidationError, match="stored as uint32, not uint16"):
        TokenizerIdentity.model_validate({**fields, "vocabulary_size": 65_537})
    with pytest.raises(ValidationError, match="outside the vocabulary"):
        TokenizerIdentity.model_validate({**fields, "eos_id": 16_384})
    with pytest.raises(ValidationError, match="no bos_id"):
        TokenizerIdentity.model_validate({**fields, "add_bos": True})


def test_a_foreign_tokenizer_is_named_with_the_first_difference() -> None:
    identity = load_tokenizer("tootsie-16k").identity
    without_eos = load_tokenizer("tootsie-16k", add_eos=False).identity
    assert without_eos.fingerprint != identity.fingerprint
    require_same(identity, identity.model_copy(update={"name": "renamed"}), "cache")
    with pytest.raises(ArtefactError, match=r"cache: tokenizer.add_eos: made by another tokenizer"):
        require_same(without_eos, identity, "cache")


def test_golden_ids_show_bos_and_eos() -> None:
    identity = load_tokenizer("tootsie-16k").identity
    assert identity.golden_ids[-1] == identity.eos_id == 16_383
    assert identity.bos_id is None


@given(st.text(st.characters(exclude_categories=[])))
def test_without_surrogates_counts_what_it_replaces(text: str) -> None:
    clean, replaced = without_surrogates(text)
    clean.encode()
    assert replaced == clean.count("\ufffd") - text.count("\ufffd")
    if not any(0xD800 <= ord(c) < 0xE000 for c in text):
        assert (clean, replaced) == (text, 0)


def test_surrogate_halves_side_by_side_become_the_character_they_spell() -> None:
    assert without_surrogates("a\ud83d\ude42b") == ("a🙂b", 0)
    assert without_surrogates("a\ud83d!\ude42") == ("a\ufffd!\ufffd", 2)
