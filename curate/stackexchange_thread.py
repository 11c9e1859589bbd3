"""One thread: its posts come together, answers are put in order and chosen, and what is said of them besides their text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tootsie.curate.corpus import EXCERPT, Dropped, Record
from tootsie.curate.stackexchange_index import number_of
from tootsie.curate.stackexchange_post import attribution, comment_attribution, parse_tags, score_of

QUESTION, ANSWER = "1", "2"
MAX_POSTS = 50_000
"""Posts, or comments, of a thread. The longest real ones have some hundreds; what has many more does not fit into memory."""
MAX_DUPLICATES = 100
"""Questions that one may be a duplicate of; further ones are not named."""
WIKI_TYPES = ("3", "4", "5", "7", "8")
"""Post types of tag wikis, their excerpts, and other pages that are neither question nor answer."""


@dataclass
class Thread:
    """Rows of one thread, as they arrive."""

    question: Record | None = None
    answers: dict[str, Record] = field(default_factory=dict)
    comments: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    duplicates: list[str] = field(default_factory=list)
    """Questions that this one was closed as a duplicate of."""
    rows: int = 0
    """Questions and answers so far."""
    remarks: int = 0
    """Comments so far."""
    size: int = 0
    """Bytes of their bodies, and of the comments."""
    excess: str = ""
    """Why the thread is too large, if it is; its rows are then only counted."""

    def add(self, record: Record, limit: int) -> Dropped | None:
        """Take a question or answer, or say why not.

        Args:
          record: of this thread.
          limit: bytes that the thread may have.
        """
        identity = record.head["Id"]
        question = record.head["PostTypeId"] == QUESTION
        if self.question is not None if question else identity in self.answers:
            return Dropped("duplicate id", f"{record.head['site']}/{identity}", excerpt_of(record))
        self.rows += 1
        self._grow(len(record.body), limit)
        if self.excess:
            return None
        if question:
            self.question = record
        else:
            self.answers[identity] = record
        return None

    def add_comment(self, head: dict[str, Any], limit: int) -> None:
        """Take a comment."""
        self.remarks += 1
        self._grow(len(head["text"]), limit)
        if not self.excess:
            self.comments.setdefault(head["comment"], []).append(head)

    def add_duplicate(self, question: str) -> None:
        """Take a link to the question that this one duplicates."""
        if len(self.duplicates) < MAX_DUPLICATES:
            self.duplicates.append(question)

    def _grow(self, size: int, limit: int) -> None:
        self.size += size
        if max(self.rows, self.remarks) > MAX_POSTS:
            self.excess = (
                f"more than {MAX_POSTS:,} {'posts' if self.rows > MAX_POSTS else 'comments'} in one thread"
            )
        elif self.size > limit:
            self.excess = (
                f"a thread of {self.size:,} bytes and more, the limit is {limit:,} (--max-document-bytes)"
            )
        if self.excess:
            self.question = None
            self.answers.clear()
            self.comments.clear()


@dataclass(frozen=True)
class Choice:
    """Which threads and answers are kept; everything, unless told otherwise."""

    unanswered: bool = True
    min_question_score: int | None = None
    min_answer_score: int | None = None
    max_answers: int | None = None

    def problem(self, question: Record) -> str | None:
        """Return why a question is dropped, with its answers."""
        least = self.min_question_score
        if least is not None and score_of(question) < least:
            return f"score {score_of(question)}, --min-question-score is {least}"
        return None

    def answers(self, thread: Thread) -> tuple[list[Record], list[Dropped]]:
        """Return the answers in order (the accepted one, then by score, then by date), and those that are left out."""
        assert thread.question is not None
        accepted = thread.question.head.get("AcceptedAnswerId")
        kept: list[Record] = []
        dropped: list[Dropped] = []
        for answer in in_order(thread.answers.values(), accepted):
            identity = f"{answer.head['site']}/{answer.head['Id']}"
            least, score = self.min_answer_score, score_of(answer)
            if least is not None and score < least and answer.head["Id"] != accepted:
                detail = f"score {score}, --min-answer-score is {least}"
                dropped.append(Dropped("answer with a low score", identity, excerpt_of(answer), detail))
            elif self.max_answers is not None and len(kept) >= self.max_answers:
                detail = f"--max-answers is {self.max_answers}"
                dropped.append(Dropped("answer beyond --max-answers", identity, excerpt_of(answer), detail))
            else:
                kept.append(answer)
        return kept, dropped


def in_order(answers: Any, accepted: str | None) -> list[Record]:
    """Return answers in the order of the text: no two of them compare equal."""
    return sorted(
        answers,
        key=lambda one: (
            one.head["Id"] != accepted,
            -score_of(one),
            one.head.get("CreationDate", ""),
            int(one.head["Id"]),
        ),
    )


def orphans(thread: Thread) -> Iterator[Dropped]:
    """Yield the answers of a thread without question."""
    for answer in thread.answers.values():
        yield Dropped(
            "orphan answer",
            f"{answer.head['site']}/{answer.head['Id']}",
            excerpt_of(answer),
            f"its question {answer.head.get('ParentId')} is not in the dump",
        )


def metadata_of(thread: Thread, answers: Sequence[Record], *, comments: bool) -> dict[str, Any]:
    """Return what is said of a thread besides its text: where it is, whose it is, under which licences."""
    question = thread.question
    assert question is not None
    head = question.head
    site = head["site"]
    posts = [attribution(post, site) for post in (question, *answers)]
    remarks = [comment_attribution(one, site) for one in comments_of(thread, question, *answers)]
    licences = sorted({one["license"] for one in (*posts, *remarks)})
    fields: dict[str, Any] = {
        "url": f"https://{site}/questions/{head['Id']}",
        "license": licences[0] if len(licences) == 1 else " AND ".join(licences),
        "title": head.get("Title"),
        "site": site,
        "tags": parse_tags(head.get("Tags", "")),
        "score": score_of(question),
        "accepted_answer": head.get("AcceptedAnswerId"),
        "answers": len(answers),
        "closed": head.get("ClosedDate"),
        "duplicate_of": sorted(set(thread.duplicates), key=lambda one: (number_of(one) or 0, one)) or None,
        "community_wiki": head.get("CommunityOwnedDate"),
        "posts": posts,
    }
    if comments and remarks:
        fields["comment_authors"] = sorted({one["author"] for one in remarks if one.get("author")})
        fields["comments"] = remarks
    return {key: value for key, value in fields.items() if value is not None}


def comments_of(thread: Thread, *posts: Record) -> list[dict[str, Any]]:
    """Return the comments of posts, post after post, each by date."""
    return [
        one
        for post in posts
        for one in sorted(
            thread.comments.get(post.head["Id"], ()),
            key=lambda one: (one.get("created") or "", number_of(one["Id"]) or 0, one["Id"]),
        )
    ]


def excerpt_of(record: Record) -> str:
    """Return the beginning of a post, for the rejects."""
    return record.body[: 4 * EXCERPT].decode("utf-8", "replace")
