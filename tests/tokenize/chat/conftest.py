"""A byte-pair tokenizer with the special tokens of the templates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tootsie.datasets.readers.record import Record
from tootsie.tokenize.byte_pair import BytePairTokenizer, parse_ranks
from tootsie.tokenize.chat.conversation import Conversation, parse_conversation
from tootsie.tokenize.encodings import VOCABULARIES

HERE = Path(__file__).parent


def special_names() -> list[str]:
    return json.loads((HERE / "specials.json").read_text())


def make_tokenizer(*, add_bos: bool = False, add_eos: bool = False) -> BytePairTokenizer:
    """The embedded vocabulary, its special tokens replaced by those of all templates."""
    path = VOCABULARIES / "tootsie-16k.tiktoken"
    ranks = parse_ranks(path.read_bytes(), str(path))
    specials = {name: len(ranks) + number for number, name in enumerate(special_names())}
    return BytePairTokenizer(
        "chat",
        pattern=json.loads((VOCABULARIES / "tootsie-16k.json").read_text())["pattern"],
        ranks=ranks,
        specials=specials,
        bos_id=specials["<|begin_of_text|>"],
        eos_id=specials["<|end_of_text|>"],
        add_bos=add_bos,
        add_eos=add_eos,
    )


def conversation_of(fields: dict[str, object]) -> Conversation:
    return parse_conversation(Record("chats.jsonl", 7, fields), "chats.jsonl:7")


@pytest.fixture(scope="session")
def chat_tokenizer() -> BytePairTokenizer:
    return make_tokenizer()


@pytest.fixture(scope="session")
def framing_tokenizer() -> BytePairTokenizer:
    return make_tokenizer(add_bos=True, add_eos=True)


@pytest.fixture(scope="session")
def conversation():  # type: ignore[no-untyped-def]
    return conversation_of


@pytest.fixture(scope="session")
def render():  # type: ignore[no-untyped-def]
    """Render ``fields`` with the template ``text``."""
    from tootsie.tokenize.chat.template import ChatTemplate, TemplateSource

    def run(text: str, fields: dict[str, object], tokenizer: BytePairTokenizer | None = None):  # type: ignore[no-untyped-def]
        source = TemplateSource("own.jinja", text + "{% generation %}{% endgeneration %}", "own.jinja")
        return ChatTemplate(source, tokenizer or make_tokenizer()).render(conversation_of(fields))

    return run
