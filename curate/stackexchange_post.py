"""What can be said of a single StackExchange post: its score, tags, attribution."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from tootsie.curate.corpus import Record
from tootsie.curate.licences import post_licence
from tootsie.curate.markdownify.escaping import escape_line_start, escape_text
from tootsie.curate.stackexchange_math import Delimiters, delimiters_of, with_plain_delimiters

_FORMULA = r"\$\$.+?\$\$|\$[^$\s](?:[^$]*[^$\s])?\$"
_FORMULAS = re.compile(f"({_FORMULA})")
_CODE_AND_FORMULAS = re.compile(f"(`[^`]+`|{_FORMULA})")
_CLOSING = re.compile(r"(?<=\s)#+$")
"""At the end of a heading they would be taken for its end."""
_RELATIVE = re.compile(r'(<(?:a|img)\s[^<>]*?(?:href|src)=")(//?)(?=[^"/])')
_HEADING = re.compile(r"(</?h)([1-6])(?=[\s>])")


def parse_tags(text: str) -> list[str]:
    """Return the tags of a question, from either format: ``<a><b>`` (until 2023) or ``|a|b|``."""
    return [tag for tag in re.split(r"[<>|]+", text) if tag]


def score_of(post: Record) -> int:
    """Return the score of a post, 0 where the dump has none."""
    try:
        return int(post.head.get("Score", "0"))
    except ValueError:
        return 0


def typed(text: str, site: str) -> str:
    """Return a title or comment with its formulas between ``$``, whatever its site has."""
    return with_plain_delimiters(text, html=False) if delimiters_of(site) is Delimiters.ESCAPED else text


def inline(text: str, *, formulas: bool = True) -> str:
    """Return plain text as inline Markdown on one line; ``formulas`` stay as they are written."""
    flat = " ".join(text.split())
    pieces = _FORMULAS.split(flat) if formulas else [flat]
    line = "".join(piece if index % 2 else escape_text(piece) for index, piece in enumerate(pieces))
    return _CLOSING.sub(r"\\\g<0>", line)


def comment_line(text: str) -> str:
    """Return a comment on one line; dumps hold comments as they were typed: links, emphasis and code in Markdown, no HTML."""
    pieces = _CODE_AND_FORMULAS.split(" ".join(text.split()))
    line = "".join(
        piece if index % 2 else re.sub(r"<(?=[A-Za-z/!?])", r"\\<", piece)
        for index, piece in enumerate(pieces)
    )
    return escape_line_start(line)


def page_of(post: Record, site: str, depth: int) -> tuple[str, Counter[str]]:
    """Return the HTML of a post as a part of a thread, and how often which rule changed it.

    Args:
      post: a question or answer.
      site: its host; links that count on being read there name it.
      depth: level of the headings that stand above the text; those inside are lowered by it.
    """
    counters: Counter[str] = Counter()
    page = post.body.decode()
    if delimiters_of(site) is Delimiters.ESCAPED:
        page = with_plain_delimiters(page, html=True)
    page, counters["links made absolute"] = _RELATIVE.subn(
        lambda match: f"{match[1]}https:{'//' if match[2] == '//' else f'//{site}/'}", page
    )
    if depth:
        page, ends = _HEADING.subn(lambda match: f"{match[1]}{min(int(match[2]) + depth, 6)}", page)
        counters["headings lowered"] = ends // 2
    return page, counters


def attribution(post: Record, site: str) -> dict[str, Any]:
    """Return what a reader needs to attribute one post: author, profile, licence, date; fields the dump lacks are absent."""
    head = post.head
    fields = {
        "id": head["Id"],
        "author": head.get("author"),
        "author_url": profile_url(head.get("OwnerUserId"), site),
        "license": post_licence(head.get("CreationDate"), head.get("ContentLicense")),
        "created": head.get("CreationDate"),
        "edited": head.get("LastEditDate"),
        "score": score_of(post),
    }
    return {key: value for key, value in fields.items() if value is not None}


def comment_attribution(comment: dict[str, Any], site: str) -> dict[str, Any]:
    """Return what a reader needs to attribute one comment; fields the dump lacks are absent."""
    fields = {
        "id": comment["Id"],
        "post": comment["comment"],
        "author": comment.get("author"),
        "author_url": profile_url(comment.get("user"), site),
        "license": post_licence(comment.get("created"), comment.get("license")),
        "created": comment.get("created"),
    }
    return {key: value for key, value in fields.items() if value is not None}


def profile_url(user: str | None, site: str) -> str | None:
    """Return the address of a user's profile; deleted users and the system itself have none."""
    return f"https://{site}/users/{user}" if user and user.isdecimal() else None


def values_of_post(
    post: Record, question: Record, *, authors: bool, tags: bool, scores: str
) -> dict[str, str]:
    """Return what a template may say of a post, as inline Markdown, but for its body and comments.

    Args:
      post: the question or one of its answers.
      question: of the thread.
      authors: whether authors are shown.
      tags: whether tags are shown.
      scores: ``before``, ``after`` or empty.
    """
    site, identity, title = post.head["site"], post.head["Id"], question.head.get("Title", "")
    formulas = delimiters_of(site) is not Delimiters.NONE
    return {
        "title": inline(typed(title, site), formulas=formulas) or f"Question {question.head['Id']}",
        "score_before": str(score_of(post)) if scores == "before" else "",
        "score_after": str(score_of(post)) if scores == "after" else "",
        "author": inline(post.head.get("author") or "") if authors else "",
        "tags": ", ".join(inline(tag) for tag in parse_tags(question.head.get("Tags", ""))) if tags else "",
        "date": post.head.get("CreationDate", "")[:10],
        "site": site,
        "url": f"https://{site}/{'questions' if post is question else 'a'}/{identity}",
        "license": post_licence(post.head.get("CreationDate"), post.head.get("ContentLicense")),
    }


def values_of_comment(comment: dict[str, Any], *, authors: bool, scores: bool) -> dict[str, str]:
    """Return what a template may say of a comment, as inline Markdown."""
    return {
        "text": comment_line(typed(comment["text"], comment["site"])),
        "author": inline(comment.get("author") or "") if authors else "",
        "score": (comment.get("score") or "") if scores else "",
        "date": (comment.get("created") or "")[:10],
    }
