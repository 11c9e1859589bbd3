"""What can be said of a single StackExchange post: its score, tags, attribution."""

from __future__ import annotations

import re
from typing import Any

from tootsie.curate.corpus import Record
from tootsie.curate.licences import post_licence
from tootsie.curate.markdownify.escaping import escape_line_start


def parse_tags(text: str) -> list[str]:
    """Return the tags of a question, from either format: ``<a><b>`` (until 2023) or ``|a|b|``."""
    return [tag for tag in re.split(r"[<>|]+", text) if tag]


def score_of(post: Record) -> int:
    """Return the score of a post, 0 where the dump has none."""
    try:
        return int(post.head.get("Score", "0"))
    except ValueError:
        return 0


def inline(text: str) -> str:
    """Return plain text as inline Markdown on one line; formulas stay as they are written."""
    flat = " ".join(text.split())
    pieces = re.split(r"(\$\$.+?\$\$|\$[^$\s](?:[^$]*[^$\s])?\$)", flat)
    return "".join(
        piece if index % 2 else re.sub(r"([\\`*_\[\]<>])", r"\\\1", piece)
        for index, piece in enumerate(pieces)
    )


def comment_line(text: str) -> str:
    """Return a comment on one line; dumps hold comments as they were typed: links, emphasis and code in Markdown, no HTML."""
    pieces = re.split(r"(`[^`]+`|\$\$.+?\$\$|\$[^$\s](?:[^$]*[^$\s])?\$)", " ".join(text.split()))
    line = "".join(
        piece if index % 2 else re.sub(r"<(?=[A-Za-z/!?])", r"\\<", piece)
        for index, piece in enumerate(pieces)
    )
    return escape_line_start(line)


def attribution(post: Record, site: str) -> dict[str, Any]:
    """Return what a reader needs to attribute one post: author, profile, licence, date; fields the dump lacks are absent."""
    head = post.head
    user = head.get("OwnerUserId")
    fields = {
        "id": head["Id"],
        "author": head.get("author"),
        "author_url": f"https://{site}/users/{user}" if user and not user.startswith("-") else None,
        "license": post_licence(head.get("CreationDate"), head.get("ContentLicense")),
        "created": head.get("CreationDate"),
        "score": score_of(post),
    }
    return {key: value for key, value in fields.items() if value is not None}
