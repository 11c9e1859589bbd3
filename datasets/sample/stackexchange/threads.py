"""The source form of a thread and its parser.

A source file is a sequence of posts, each opened by a line that starts with ``@``::

    @question reverse-list tags=python,list 2011-02-03 14 by=Ines_Falk
    How do I reverse a list without copying it?

    I am trying to …

    @answer 22 accepted by=Olav
    Use `list.reverse` …

    @comment 3
    Thanks, that works.

After the kind come, in any order: a key (questions), a date, a score, ``name=value`` settings and bare flags. The line
after ``@question`` is the title. A comment belongs to the post before it. Bodies are in the markup of ``markup.py``.
Code fences marked ``run`` are executed by the build, and the empty ``output`` fence after them receives what they
print, so that no answer shows an output that its code does not give.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

KINDS = ("question", "answer", "comment", "orphan", "excerpt", "wiki", "nomination", "placeholder")
OPENING = re.compile(rf"^@({'|'.join(KINDS)})\b(.*)$")
FLAGS = {"accepted", "closed", "community", "nolicense", "notags", "anonymous", "edited", "old"}


@dataclass
class Post:
    """One post or comment of the sources, before ids, authors and times are settled."""

    kind: str
    """One of ``KINDS``."""
    key: str = ""
    """The name by which links refer to a question; the tag of an excerpt or wiki."""
    title: str = ""
    """Questions only."""
    body: str = ""
    """Markup; for comments the text as stored."""
    score: int = 0
    """Net votes."""
    when: date | None = None
    """Day of creation; chosen by the build where it is not given."""
    tags: list[str] = field(default_factory=list)
    """Questions only."""
    settings: dict[str, str] = field(default_factory=dict)
    """``by`` (author), ``deleted`` (display name of an author whose account is gone), ``ask`` (parent id)."""
    flags: set[str] = field(default_factory=set)
    """Members of ``FLAGS``."""
    comments: list[Post] = field(default_factory=list)
    """Comments on this post, in order."""


@dataclass
class Thread:
    """A question with its answers; or, where ``question`` is of another kind, a post that stands alone."""

    question: Post
    answers: list[Post] = field(default_factory=list)
    origin: str = "written"
    """``written`` by hand or ``computed`` by a question family."""


def parse(text: str, name: str = "<source>") -> list[Thread]:
    """Parse source text into threads; raises ``ValueError`` naming the file and line of a fault."""
    threads: list[Thread] = []
    post: Post | None = None
    buffer: list[str] = []

    def close() -> None:
        if post is None:
            return
        lines = buffer[:]
        if post.kind == "question":
            post.title = lines.pop(0).strip() if lines else ""
        post.body = "\n".join(lines).strip("\n")

    for number, line in enumerate(text.split("\n"), start=1):
        match = OPENING.match(line)
        if not match:
            if post is not None:
                buffer.append(line)
            elif line.strip() and not line.startswith("//"):
                raise ValueError(f"{name}:{number}: text before the first @question: {line!r}")
            continue
        close()
        buffer.clear()
        post = _opening(match, f"{name}:{number}")
        if post.kind == "comment":
            owner = threads[-1].answers[-1] if threads[-1].answers else threads[-1].question
            owner.comments.append(post)
        elif post.kind == "answer":
            threads[-1].answers.append(post)
        else:
            threads.append(Thread(post))
    close()
    return threads


def _opening(match: re.Match[str], where: str) -> Post:
    post = Post(kind=match[1])
    for word in match[2].split():
        if "=" in word:
            key, value = word.split("=", 1)
            if key == "tags":
                post.tags = value.split(",")
            else:
                post.settings[key] = value.replace("_", " ")
        elif word in FLAGS:
            post.flags.add(word)
        elif re.fullmatch(r"\d{4}-\d\d-\d\d", word):
            post.when = date.fromisoformat(word)
        elif re.fullmatch(r"[+-]?\d+", word):
            post.score = int(word)
        elif not post.key:
            post.key = word
        else:
            raise ValueError(f"{where}: cannot read {word!r}; known flags are {', '.join(sorted(FLAGS))}")
    return post


def read_sources(folder: Path) -> list[Thread]:
    """All threads of ``folder/*.txt``, files in name order."""
    return [
        thread
        for path in sorted(folder.glob("*.txt"))
        for thread in parse(path.read_text(encoding="utf-8"), path.name)
    ]
