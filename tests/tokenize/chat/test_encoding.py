from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.datasets.errors import SpecError
from tootsie.tokenize.chat.encoding import ConversationEncoder, spans_of
from tootsie.tokenize.chat.template import ChatTemplate, TemplateSource, find_template
from tootsie.tokenize.chat.tracked import Tracked, concatenate, tracked

HERE = Path(__file__).parent
CONVERSATIONS = json.loads((HERE / "conversations.json").read_text())
EXPECTED = json.loads((HERE / "expected.json").read_text())
"""Made by transformers, see make_expected.py."""


def template_of(name: str) -> TemplateSource:
    return find_template(str(HERE / "reasoning.jinja") if name == "reasoning" else name)


def mask_of(encoded: Any) -> str:
    mask = np.zeros(len(encoded.ids), int)
    for start, end in encoded.loss_spans:
        mask[start:end] = 1
    return "".join(map(str, mask.tolist()))


@pytest.mark.parametrize("name", ["llama3", "chatml", "tulu", "reasoning"])
@pytest.mark.parametrize("number", range(len(CONVERSATIONS)))
def test_ids_and_loss_are_those_of_transformers(
    name: str, number: int, chat_tokenizer: Any, conversation: Any
) -> None:
    template = ChatTemplate(template_of(name), chat_tokenizer)
    expected = EXPECTED[name][number]
    rendered = template.render(conversation(CONVERSATIONS[number]))
    assert rendered == expected["text"]
    encoded = ConversationEncoder(chat_tokenizer).encode(rendered)
    assert encoded.ids.tolist() == expected["ids"]
    assert mask_of(encoded) == expected["mask"]


@pytest.mark.parametrize(
    ("name", "turns"),
    [
        ("llama3", ["one<|eot_id|>", "two\n\nthree<|eot_id|>"]),
        ("chatml", ["one<|im_end|>", " two\n\nthree\n<|im_end|>"]),
        ("tulu", ["one<|end_of_text|>", " two\n\nthree\n<|end_of_text|>"]),
    ],
)
def test_loss_is_on_the_answers_and_their_ends_and_nothing_else(
    name: str, turns: list[str], chat_tokenizer: Any, conversation: Any
) -> None:
    chat = conversation(
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "assistant one"},
                {"role": "assistant", "content": "one"},
                {"role": "user", "content": "go on"},
                {"role": "assistant", "content": " two\n\nthree\n"},
            ]
        }
    )
    encoded = ConversationEncoder(chat_tokenizer).encode(
        ChatTemplate(template_of(name), chat_tokenizer).render(chat)
    )
    assert [chat_tokenizer.decode(encoded.ids[start:end]) for start, end in encoded.loss_spans] == turns


def test_the_tokenizer_s_frame_is_added_once_and_carries_no_loss(
    framing_tokenizer: Any, conversation: Any
) -> None:
    identity = framing_tokenizer.identity
    chat = conversation(CONVERSATIONS[0])
    for name, ends_with_eos in (("llama3", False), ("chatml", False), ("tulu", True)):
        encoded = ConversationEncoder(framing_tokenizer).encode(
            ChatTemplate(template_of(name), framing_tokenizer).render(chat)
        )
        ids = encoded.ids.tolist()
        assert (ids[0], ids[-1]) == (identity.bos_id, identity.eos_id)
        assert ids.count(identity.bos_id) == ids.count(identity.eos_id) == 1
        assert (mask_of(encoded)[-1] == "1") is ends_with_eos
        assert mask_of(encoded)[0] == "0"


def test_bytes_are_those_of_ordinary_text(chat_tokenizer: Any) -> None:
    text = concatenate([tracked("<|im_start|>"), Tracked("ü<|im_end|>"), tracked("<|im_end|>")])
    encoded = ConversationEncoder(chat_tokenizer).encode(text)
    assert encoded.byte_length == len("ü<|im_end|>".encode())
    assert not encoded.loss_spans


def test_a_cut_conversation_keeps_its_beginning(framing_tokenizer: Any) -> None:
    encoder = ConversationEncoder(framing_tokenizer)
    whole = encoder.encode(
        concatenate([Tracked("some words before "), Tracked("and an answer that is long").generated()])
    )
    start = whole.loss_spans[0][0]
    cut = encoder.cut(whole, start + 3)
    assert cut.ids[:-1].tolist() == whole.ids[: start + 2].tolist()
    assert cut.ids[-1] == framing_tokenizer.identity.eos_id
    assert cut.loss_spans == [(start, start + 2)]
    assert cut.byte_length == len(framing_tokenizer.decode_bytes(cut.ids[1:-1].tolist()))


def test_a_tokenizer_that_loses_bytes_is_refused(
    chat_tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_tokenizer, "token_bytes", lambda token: b"x")
    with pytest.raises(SpecError, match="loss cannot be placed"):
        ConversationEncoder(chat_tokenizer).encode(
            concatenate([Tracked("some text "), Tracked("said").generated()])
        )


def test_spans_of_a_mask() -> None:
    assert spans_of(np.array([1, 1, 0, 1], bool)) == [(0, 2), (3, 4)]
    assert spans_of(np.zeros(3, bool)) == spans_of(np.zeros(0, bool)) == []


def test_loss_between_special_tokens_needs_no_bytes(
    chat_tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_tokenizer, "token_bytes", lambda token: b"x")
    said = concatenate([Tracked("some text"), "<|im_end|>"]).generated()
    encoded = ConversationEncoder(chat_tokenizer).encode(
        concatenate([Tracked("asked"), "<|im_start|>", said, Tracked("x")])
    )
    start, end = encoded.loss_spans[0]
    assert chat_tokenizer.encode("some text") == encoded.ids[start : end - 1].tolist()
    assert len(encoded.loss_spans) == 1


def test_loss_that_begins_and_ends_within_words(chat_tokenizer: Any) -> None:
    """Against each token's characters, one by one."""
    tokenizer = chat_tokenizer
    encoder = ConversationEncoder(tokenizer)
    choose = random.Random(5)
    for _ in range(300):
        parts = [
            (Tracked("".join(choose.choices("ab cdé🙂\n 12", k=choose.randint(0, 9)))), choose.random() < 0.4)
            for _ in range(8)
        ]
        text = concatenate(part.generated() if said else part for part, said in parts)
        encoded = encoder.encode(text)
        carries = [said for part, said in parts for char in part for _ in range(len(str(char).encode()))]
        at, expected = 0, ""
        for token in encoded.ids.tolist():
            size = len(tokenizer.token_bytes(token))
            expected += str(int(any(carries[at : at + size])))
            at += size
        assert mask_of(encoded) == expected
