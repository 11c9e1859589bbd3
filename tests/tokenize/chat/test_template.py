from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.tokenize.chat.template import BUILT_IN, LARGEST, ChatTemplate, TemplateSource, find_template
from tootsie.tokenize.tokenizers import load_tokenizer


def test_the_built_in_ones_are_there() -> None:
    for name in BUILT_IN:
        assert find_template(name).name == name


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own.jinja"
    path.write_text("{% generation %}é{% endgeneration %}")
    source = find_template(str(path))
    assert (source.name, source.text) == ("own.jinja", path.read_text())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such chat template"),
        (b"x" * (LARGEST + 1), "at most 262,144 bytes"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_what_is_no_template_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "own.jinja"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecError, match=message):
        find_template(str(path))


def test_a_built_in_template_needs_its_tokens() -> None:
    tokenizer = load_tokenizer("tootsie-16k")
    with pytest.raises(SpecError, match=r"lacks <\|im_start\|>, <\|im_end\|> \(found 'chatml'\)\. Use tulu"):
        ChatTemplate(find_template("chatml"), tokenizer)
    ChatTemplate(find_template("tulu"), tokenizer)


def test_a_template_without_generation_is_refused(chat_tokenizer: Any) -> None:
    with pytest.raises(SpecError, match=r"no \{% generation %\} block, so nothing would carry loss"):
        ChatTemplate(TemplateSource("x", "{{ messages }}", "x"), chat_tokenizer)


def test_what_only_looks_like_a_token_is_told(chat_tokenizer: Any) -> None:
    text = "<|user|><|eot_id|>{% generation %}{% endgeneration %}"
    assert ChatTemplate(TemplateSource("x", text, "x"), chat_tokenizer).ordinary == ("<|user|>",)


def test_the_date_is_the_one_given(chat_tokenizer: Any, conversation: Any) -> None:
    source = TemplateSource("x", "{{ strftime_now('%d %b %Y') }}{% generation %}{% endgeneration %}", "x")
    chat = conversation({"messages": []})
    assert ChatTemplate(source, chat_tokenizer, datetime.date(2024, 7, 26)).render(chat) == "26 Jul 2024"


def test_system_prompts_tools_and_roles(chat_tokenizer: Any, conversation: Any) -> None:
    chat = conversation({"tools": [{"name": "f"}], "messages": [{"role": "user", "content": "x"}]})
    with pytest.raises(Exception, match="tools need a system message first"):
        ChatTemplate(find_template("llama3"), chat_tokenizer).render(chat)
