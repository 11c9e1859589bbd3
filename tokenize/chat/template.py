"""Chat templates: a conversation in, text out whose characters know where they come from.

==============  ====================================================================================
``llama3``      ``<|start_header_id|>role<|end_header_id|>`` … ``<|eot_id|>`` (needs these tokens)
``chatml``      ``<|im_start|>role`` … ``<|im_end|>`` (needs these tokens)
``tulu``        ``<|user|>`` and ``<|assistant|>`` as ordinary text, EOS after each answer (any vocabulary)
``PATH.jinja``  a template of your own, in Hugging Face's dialect, with ``{% generation %}`` blocks
==============  ====================================================================================
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError
from tootsie.tokenize.chat.budget import Budget, ChatTemplateError
from tootsie.tokenize.chat.conversation import Conversation
from tootsie.tokenize.chat.sandbox import compile_template
from tootsie.tokenize.chat.tracked import Tracked, concatenate
from tootsie.tokenize.identity import Tokenizer

BUILT_IN = {
    "llama3": ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    "chatml": ("<|im_start|>", "<|im_end|>"),
    "tulu": (),
}
"""Name to the special tokens that the vocabulary must have."""
LARGEST = 2**18
"""Bytes of a template, at most."""
_GENERATION = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")
_TOKEN_LIKE = re.compile(r"<\|[A-Za-z0-9_:. -]{1,64}\|>")


@dataclass(frozen=True)
class TemplateSource:
    """A template, not yet compiled; what a ledger keeps of it."""

    name: str
    """As it was asked for, without any path."""
    text: str
    """Jinja."""
    file: str
    """Where it came from, for messages."""

    @property
    def sha256(self) -> str:
        """Of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def find_template(name: str) -> TemplateSource:
    """Return a template by its name or path; see the table above.

    Raises:
      SpecError: there is no such template, it is too large, or no text.
    """
    if name in BUILT_IN:
        path = Path(__file__).parent / "templates" / f"{name}.jinja"
        return TemplateSource(name, path.read_text(), name)
    if not storage.exists(name):
        raise SpecError(
            "no such chat template",
            field="--template",
            value=name,
            remedy=f"Use {', '.join(BUILT_IN)}, or the path of a Jinja file",
        )
    with storage.open_binary(name) as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise SpecError(f"a template has at most {LARGEST:,} bytes", file=name, remedy="Is it a Jinja file?")
    try:
        return TemplateSource(name.rsplit("/", 1)[-1], content.decode(), name)
    except UnicodeDecodeError as error:
        raise SpecError("the template is not UTF-8", file=name, value=str(error)) from None


class ChatTemplate:
    """A compiled template for one tokenizer.

    Args:
      source: from :func:`find_template`.
      tokenizer: gives ``bos_token`` and ``eos_token``, and the special tokens that the template may spell.
      date: what ``strftime_now`` formats; without it, a template that asks for the date is refused: the same input gives the
        same cache on every day.

    Raises:
      SpecError: it is not a template, is not allowed, marks nothing for the model to say, or needs tokens that are not there.
    """

    def __init__(
        self, source: TemplateSource, tokenizer: Tokenizer, date: datetime.date | None = None
    ) -> None:
        self.source = source
        try:
            self._environment, self._template = compile_template(source.text)
        except ChatTemplateError as fault:
            raise SpecError(
                f"the chat template cannot be used: {fault}", file=source.file, field="--template"
            ) from None
        if not _GENERATION.search(source.text):
            raise SpecError(
                "the template has no {% generation %} block, so nothing would carry loss",
                file=source.file,
                field="--template",
                remedy="Put {% generation %} and {% endgeneration %} around what the assistant says, end of turn included",
            )
        missing = [name for name in BUILT_IN.get(source.name, ()) if name not in tokenizer.specials]
        if source.file in BUILT_IN and missing:
            raise SpecError(
                f"the vocabulary of {tokenizer.identity.name} lacks {', '.join(missing)}",
                field="--template",
                value=source.name,
                remedy="Use tulu, which needs no such token, or a tokenizer that has them",
            )
        self.ordinary = tuple(
            sorted({name for name in _TOKEN_LIKE.findall(source.text) if name not in tokenizer.specials})
        )
        """What looks like a special token in the template but is not in the vocabulary: encoded as ordinary text."""
        names = {identity: name for name, identity in tokenizer.specials.items()}
        bos_id = tokenizer.identity.bos_id
        self._variables = {
            "bos_token": "" if bos_id is None else names.get(bos_id, ""),
            "eos_token": names.get(tokenizer.identity.eos_id, ""),
            "add_generation_prompt": False,
            "documents": None,
        }
        self._environment.globals["strftime_now"] = _clock(date)
        self._template.globals["strftime_now"] = _clock(date)

    def render(self, conversation: Conversation) -> Tracked:
        """Return the text of a conversation.

        Raises:
          ChatTemplateError: the template does not take it, or costs too much.
        """
        environment = self._environment
        environment.budget = Budget(conversation.characters)
        variables: Mapping[str, Any] = {
            "messages": conversation.messages,
            "tools": conversation.tools,
            **self._variables,
        }
        context = self._template.new_context(dict(variables))
        try:
            return concatenate(self._template.root_render_func(context))
        except jinja2.TemplateError as error:
            raise ChatTemplateError(error.message or type(error).__name__) from None
        except (RecursionError, MemoryError):
            raise ChatTemplateError("nested too deep") from None
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
            raise ChatTemplateError(f"{type(error).__name__}: {str(error)[:300]}") from None


def _clock(date: datetime.date | None) -> Any:
    def strftime_now(form: str) -> Tracked:
        if date is None:
            raise ChatTemplateError(
                "it asks for today's date, which would make every build another: give --date"
            )
        if len(form) > 64:
            raise ChatTemplateError("a date format of more than 64 characters")
        return Tracked(date.strftime(str.__str__(form)))

    return strftime_now
