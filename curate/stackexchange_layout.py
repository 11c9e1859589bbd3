"""How a thread is laid out as text: templates of our own and of the user's, and the draw between them.

A template has a text for the question, one for an answer and one for a comment, with placeholders as in ``str.format``:
names in braces, nothing else (no attributes, no indices, no formats), ``{{`` for a brace. A line consists of segments
separated by `` · ``; a segment whose placeholders are all empty is left out, a line without segments as well, and of
several blank lines one stays. So one text serves with and without scores, tags, authors and comments.

The draw of a layout is a pure function of seed and thread: the same in every process, worker and run.
"""

from __future__ import annotations

import hashlib
import re
import string
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tootsie.curate.markdownify.escaping import escape_line_start
from tootsie.datasets.errors import SpecError
from tootsie.datasets.yaml_source import read_yaml

SEPARATOR = " · "
POST_FIELDS = (
    "title",
    "body",
    "comments",
    "score_before",
    "score_after",
    "author",
    "tags",
    "date",
    "site",
    "url",
    "license",
)
"""Placeholders of a question or answer. Of the two scores one is empty: which, ``--scores`` decides."""
COMMENT_FIELDS = ("text", "author", "score", "date")
BLOCKS = ("body", "comments")
"""Placeholders that stand alone on their line."""
MAX_TEMPLATE = 10_000
"""Characters of one text of a template."""

Line = tuple[tuple[tuple[str, str | None], ...], ...]
"""Segments of (literal text, placeholder after it)."""


@dataclass(frozen=True)
class Template:
    """Texts with placeholders."""

    question: str
    answer: str
    accepted: str
    """The accepted answer."""
    comment: str = "- {text} · {author}"
    comments: str = "**Comments**"
    """Stands before the comments of a post."""


_META = "Score: {score_before} · Author: {author}"
_POST = "\n\n{body}\n\nScore: {score_after}\n\n{comments}"
TEMPLATES: Mapping[str, Template] = {
    "headings": Template(
        question=f"# {{title}}\n\n{_META} · Tags: {{tags}}{_POST}",
        answer=f"## Answer\n\n{_META}{_POST}",
        accepted=f"## Accepted answer\n\n{_META}{_POST}",
    ),
    "labels": Template(
        question=(
            "**Question:** {title}\n\nAsked by {author} · score {score_before} · filed under {tags}\n\n"
            "{body}\n\nscore {score_after}\n\n{comments}"
        ),
        answer="**Answer** · score {score_before} · by {author}\n\n{body}\n\nscore {score_after}\n\n{comments}",
        accepted=(
            "**Accepted answer** · score {score_before} · by {author}\n\n"
            "{body}\n\nscore {score_after}\n\n{comments}"
        ),
    ),
    "rules": Template(
        question=(
            "{tags}\n\n# {title}\n\n{author} · rated {score_before}\n\n{body}\n\nrated {score_after}\n\n{comments}"
        ),
        answer="---\n\n{author} · rated {score_before}\n\n{body}\n\nrated {score_after}\n\n{comments}",
        accepted=(
            "---\n\n*solution* · {author} · rated {score_before}\n\n{body}\n\nrated {score_after}\n\n{comments}"
        ),
    ),
    "dialogue": Template(
        question=(
            "**Q:** {title}\n\nvotes: {score_before} · {author}\n\n{body}\n\nvotes: {score_after} · {tags}\n\n{comments}"
        ),
        answer="**A:**\n\nvotes: {score_before} · {author}\n\n{body}\n\nvotes: {score_after}\n\n{comments}",
        accepted="**A:** (accepted)\n\nvotes: {score_before} · {author}\n\n{body}\n\nvotes: {score_after}\n\n{comments}",
    ),
}
"""The templates that ``--template`` knows by name. The first is the default."""


def draw(seed: int, purpose: str, key: str, choices: int) -> int:
    """Return a number below ``choices``, uniform over keys; the same for the same arguments, anywhere."""
    salt = struct.pack("<Q", seed % 2**64)
    digest = hashlib.blake2b(
        f"{purpose}\0{key}".encode("utf-8", "surrogatepass"), digest_size=8, salt=salt
    ).digest()
    return int.from_bytes(digest, "little") % choices


def load_template(name: str, *, authors: bool) -> str | dict[str, str]:
    """Return what ``--template`` means: a name of ours as it is, or the texts in a file.

    Raises:
      SpecError: neither a name nor a file, the file is no template, or it shows authors and ``authors`` are not shown.
    """
    if name in TEMPLATES or name == "shuffle":
        return name
    if not name.endswith((".yaml", ".yml")):
        names = ", ".join(TEMPLATES)
        raise SpecError(
            "no such template",
            field="--template",
            value=name,
            remedy=f"There are {names}, shuffle, and .yaml files",
        )
    texts = parse_template(read_yaml(name).content, name)
    if not authors and any("{author}" in text for text in texts.values()):
        raise SpecError(
            "the template shows authors", file=name, field="{author}", remedy="Add --authors=keep"
        )
    return texts


def parse_template(content: object, file: str) -> dict[str, str]:
    """Check a template from a file and return its texts.

    Raises:
      SpecError: an unknown key, a text that is missing, an unknown placeholder, or one in a place where it cannot stand.
    """
    fields = Template.__dataclass_fields__
    if not isinstance(content, Mapping):
        raise SpecError("a template is a mapping", file=file, remedy=f"Its keys are {', '.join(fields)}")
    for key, text in content.items():
        if key not in fields:
            raise SpecError("no such key", file=file, field=str(key), remedy=f"Keys are {', '.join(fields)}")
        if not isinstance(text, str) or len(text) > MAX_TEMPLATE:
            raise SpecError(f"must be a text of at most {MAX_TEMPLATE:,} characters", file=file, field=key)
    for key in ("question", "answer"):
        if key not in content:
            raise SpecError("is missing", file=file, field=key, remedy="A template has question and answer")
    texts = {"accepted": content["answer"], **content}
    for name, text in texts.items():
        if name == "comments":
            continue
        key = name if name in content else "answer"
        allowed = COMMENT_FIELDS if key == "comment" else POST_FIELDS
        try:
            lines = parse_lines(text)
        except ValueError as error:
            raise SpecError(
                f"{error}", file=file, field=key, remedy="Write {{ and }} for braces that are text"
            ) from None
        placeholders = [one for line in lines for segment in line for _, one in segment if one is not None]
        for placeholder in placeholders:
            if placeholder not in allowed:
                known = ", ".join(f"{{{one}}}" for one in allowed)
                raise SpecError(
                    "no such placeholder",
                    file=file,
                    field=key,
                    value=f"{{{placeholder}}}",
                    remedy=f"There are {known}",
                )
        needed = "text" if key == "comment" else "body"
        if placeholders.count(needed) != 1:
            raise SpecError(f"must have {{{needed}}} once", file=file, field=key, value=text)
        for line in lines:
            if any(name in BLOCKS for segment in line for _, name in segment) and not _is_block(line):
                raise SpecError("{body} and {comments} must stand alone on their line", file=file, field=key)
    return texts


def parse_lines(text: str) -> list[Line]:
    """Take a text with placeholders apart.

    Raises:
      ValueError: a lone brace, or a placeholder that is more than a name.
    """
    lines: list[Line] = []
    for line in text.strip("\n").split("\n"):
        segments = []
        for segment in line.rstrip().split(SEPARATOR):
            parts = []
            for literal, name, form, conversion in string.Formatter().parse(segment):
                if form or conversion or (name is not None and not name.isidentifier()):
                    raise ValueError(f"a placeholder is a name in braces, not {{{name}{form or conversion}}}")
                parts.append((literal, name))
            segments.append(tuple(parts))
        lines.append(tuple(segments))
    return lines


def _is_block(line: Line) -> bool:
    return len(line) == 1 and len(line[0]) == 1 and line[0][0][0] == ""


def fill(lines: Sequence[Line], values: Mapping[str, str]) -> str:
    """Return the text with ``values`` in place of the placeholders; what is empty leaves no trace."""
    filled: list[str] = []
    for line in lines:
        if line == ((),):
            if filled and filled[-1]:
                filled.append("")
            continue
        shown = []
        for segment in line:
            names = [name for _, name in segment if name is not None]
            if not names or any(values.get(name) for name in names):
                shown.append("".join(literal + values.get(name or "", "") for literal, name in segment))
        if any(shown):
            text = SEPARATOR.join(shown)
            # What a value brings to the beginning of a line is text; what the template has there is meant.
            filled.append(escape_line_start(text) if line[0][0][0] == "" and not _is_block(line) else text)
    return "\n".join(filled).strip("\n")


class Layout:
    """A template ready to be filled."""

    depth: int
    """Level of the lowest heading that the template writes, 0 where it writes none."""

    def __init__(self, template: Template) -> None:
        texts = (template.question, template.answer, template.accepted)
        self.depth = max(
            len(match[1]) for text in texts for match in re.finditer(r"^(#{0,6})", text, re.MULTILINE)
        )
        self._question = parse_lines(template.question)
        self._answer = parse_lines(template.answer)
        self._accepted = parse_lines(template.accepted)
        self._comment = parse_lines(template.comment)
        self._comments = template.comments.strip()

    def question(self, values: Mapping[str, str]) -> str:
        """Return the text of a question."""
        return fill(self._question, values)

    def answer(self, values: Mapping[str, str], *, accepted: bool) -> str:
        """Return the text of an answer."""
        return fill(self._accepted if accepted else self._answer, values)

    def comments(self, comments: Sequence[Mapping[str, str]]) -> str:
        """Return the comments of one post, empty where there are none."""
        lines = "\n".join(text for values in comments if (text := fill(self._comment, values)))
        return "\n\n".join(part for part in (self._comments, lines) if part) if lines else ""
