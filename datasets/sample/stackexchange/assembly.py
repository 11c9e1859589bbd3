"""Settles what the sources leave open (ids, times, authors, votes) and makes the rows of a dump.

Every choice is drawn from a generator seeded by the thread's own title, so that a new thread does not stir the
others; ids alone are site-wide, in the order of creation, as on the real site.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from markup import render
from outputs import fill
from threads import Post, Thread

Row = dict[str, object]

TYPE_IDS = {
    "question": 1,
    "answer": 2,
    "orphan": 2,
    "excerpt": 4,
    "wiki": 5,
    "nomination": 6,
    "placeholder": 7,
}
FIRST_DAY, LAST_DAY = date(2010, 9, 1), date(2024, 3, 1)
DUMP_DAY = datetime(2024, 4, 1)
MODERN_SINCE = datetime(2020, 6, 3)
"""The day the site changed its Markdown renderer."""
LICENCES = [
    (date(2011, 4, 8), "CC BY-SA 2.5"),
    (date(2018, 5, 2), "CC BY-SA 3.0"),
    (date.max, "CC BY-SA 4.0"),
]
"""The licence of a contribution by the day it was made: (first day that it no longer applies, name)."""
MISSING_PARENT = 900001
"""The id of a question that the dump does not contain."""


@dataclass
class User:
    """An author."""

    id: int
    name: str
    location: str
    about: str


@dataclass
class Site:
    """The rows of one dump, per file."""

    name: str
    posts: list[Row] = field(default_factory=list)
    comments: list[Row] = field(default_factory=list)
    users: list[Row] = field(default_factory=list)
    tags: list[Row] = field(default_factory=list)
    votes: list[Row] = field(default_factory=list)


@dataclass
class _Settled:
    """A post with its time and author; ``id`` follows when all times are known."""

    post: Post
    thread: Thread
    at: datetime
    user: User | None
    rng: random.Random
    comments: list[tuple[Post, datetime, User]]
    id: int = 0


def read_users(text: str) -> list[User]:
    """Parse ``users.dat``: a name, a place and a sentence per line, separated by ``|``; the line decides the id."""
    users = []
    for number, line in enumerate(filter(None, text.split("\n"))):
        name, location, about = (part.strip() for part in (line + "||").split("|")[:3])
        users.append(User(id=2 + number * 7 % 400 + number * 3, name=name, location=location, about=about))
    return users


def licence(day: date) -> str:
    """The Creative Commons licence of a contribution made on ``day``."""
    return next(name for end, name in LICENCES if day < end)


def stamp(at: datetime) -> str:
    """A time as dumps write it: milliseconds, no zone."""
    return at.isoformat(timespec="milliseconds")


def assemble(name: str, threads: list[Thread], users: list[User], tag_style: str) -> Site:
    """Make the rows of the site ``name``; ``tag_style`` is ``angle`` (``<a><b>``) or ``pipe`` (``|a|b|``)."""
    settled = [one for thread in threads for one in _settle(thread, users)]
    settled.sort(key=lambda one: (one.at, one.post.title, one.post.body))
    for position, one in enumerate(settled):
        one.id = 1 + position + position // 9  # gaps: the posts that were deleted
    site = Site(name)
    by_thread: dict[int, list[_Settled]] = {}
    for one in settled:
        by_thread.setdefault(id(one.thread), []).append(one)
    addresses = {
        o.post.key: f"https://{name}/q/{o.id}" for o in settled if o.post.kind == "question" and o.post.key
    }

    def resolve(target: str) -> str:
        if target.startswith("q:"):
            if target[2:] not in addresses:
                raise ValueError(
                    f"sample source: a link names the question {target[2:]!r}, which does not exist"
                )
            return addresses[target[2:]]
        return target

    for one in settled:
        site.posts.append(_post_row(one, by_thread[id(one.thread)], resolve, tag_style))
    _add_comments(site, settled)
    _add_votes(site, settled)
    _add_tags(site, settled)
    _add_users(site, settled, users)
    return site


def _settle(thread: Thread, users: list[User]) -> list[_Settled]:
    first = thread.question
    rng = random.Random(f"{first.kind}:{first.key}:{first.title}")
    span = (LAST_DAY - FIRST_DAY).days
    day = first.when or FIRST_DAY + timedelta(days=rng.randrange(span))
    at = datetime.combine(day, time()) + timedelta(milliseconds=rng.randrange(6 * 3600_000, 23 * 3600_000))
    out: list[_Settled] = []
    taken: list[User] = []
    for post in [first, *thread.answers]:
        if post is not first:
            if post.when:
                at = datetime.combine(post.when, time(9)) + timedelta(milliseconds=rng.randrange(36_000_000))
            else:
                wait = rng.choice([rng.randrange(8, 90), rng.randrange(60, 900), rng.randrange(900, 20_000)])
                at += timedelta(minutes=wait, milliseconds=rng.randrange(60_000))
        user = _author(post, users, rng, taken)
        if user:
            taken.append(user)
        comments, spoken = [], at
        for comment in post.comments:
            spoken += timedelta(minutes=rng.randrange(3, 400), milliseconds=rng.randrange(60_000))
            comments.append((comment, spoken, _author(comment, users, rng, []) or users[0]))
        out.append(_Settled(post, thread, at, user, rng, comments))
    return out


def _author(post: Post, users: list[User], rng: random.Random, taken: list[User]) -> User | None:
    if "deleted" in post.settings or "anonymous" in post.flags:
        return None
    if wanted := post.settings.get("by"):
        found = [user for user in users if user.name.replace("_", " ") == wanted]
        if not found:
            raise ValueError(f"sample source: the author {wanted!r} is not in users.dat")
        return found[0]
    weights = [1 / (3 + i) for i in range(len(users) - 1)]
    while True:  # a few write much, most write little; users[0] is the robot
        user = rng.choices(users[1:], weights)[0]
        if user not in taken:
            return user


def _post_row(one: _Settled, mates: list[_Settled], resolve: Callable[[str], str], tag_style: str) -> Row:
    post, question = one.post, one.thread.question
    modern = one.at >= MODERN_SINCE and "old" not in post.flags
    body = render(fill(post.body), modern=modern, resolve=resolve)
    if post.kind == "excerpt":
        body = post.body
    answers = [mate for mate in mates if mate.post.kind == "answer"]
    accepted = next((mate.id for mate in answers if "accepted" in mate.post.flags), None)
    row: Row = {"Id": one.id, "PostTypeId": TYPE_IDS[post.kind]}
    if post.kind == "question" and accepted:
        row["AcceptedAnswerId"] = accepted
    if post.kind == "answer":
        row["ParentId"] = next(mate.id for mate in mates if mate.post is question)
    if post.kind == "orphan":
        row["ParentId"] = MISSING_PARENT
    row |= {"CreationDate": stamp(one.at), "Score": post.score}
    if post.kind == "question":
        age = (DUMP_DAY - one.at).days
        row["ViewCount"] = 12 + one.rng.randrange(20, 90) * max(1, post.score) + age // 7
    row["Body"] = body
    if one.user:
        row["OwnerUserId"] = one.user.id
    elif "deleted" in post.settings:
        row["OwnerDisplayName"] = post.settings["deleted"]
    activity = max([one.at, *(mate.at for mate in answers)]) if post.kind == "question" else one.at
    if "edited" in post.flags or (post.kind in {"excerpt", "wiki"}):
        edited = one.at + timedelta(minutes=one.rng.randrange(30, 60_000))
        editor = next((mate.user for mate in reversed(mates) if mate.user), None)
        if editor:
            row["LastEditorUserId"] = editor.id
        row["LastEditDate"] = stamp(edited)
        activity = max(activity, edited)
    row["LastActivityDate"] = stamp(activity)
    if post.kind == "question":
        row["Title"] = post.title
        if "notags" not in post.flags:
            row["Tags"] = _tags_text(post.tags, tag_style)
        row["AnswerCount"] = len(answers)
    row["CommentCount"] = len(post.comments)
    if "closed" in post.flags:
        row["ClosedDate"] = stamp(one.at + timedelta(hours=one.rng.randrange(2, 60)))
    if "community" in post.flags:
        row["CommunityOwnedDate"] = stamp(one.at)
    if "nolicense" not in post.flags:
        row["ContentLicense"] = licence(one.at.date())
    return row


def _tags_text(tags: list[str], style: str) -> str:
    return "".join(f"<{tag}>" for tag in tags) if style == "angle" else "|" + "|".join(tags) + "|"


def _add_comments(site: Site, settled: list[_Settled]) -> None:
    said = [(at, one.id, comment, user) for one in settled for comment, at, user in one.comments]
    for number, (at, post_id, comment, user) in enumerate(sorted(said, key=lambda item: item[0]), start=1):
        text = re.sub(r"\s*\n\s*", " ", comment.body.strip())
        row: Row = {
            "Id": number + number // 6,
            "PostId": post_id,
            "Score": max(0, comment.score),
            "Text": text,
        }
        row["CreationDate"] = stamp(at)
        if "deleted" in comment.settings:
            row["UserDisplayName"] = comment.settings["deleted"]
        else:
            row["UserId"] = user.id
        site.comments.append(row | {"ContentLicense": licence(at.date())})


def _add_votes(site: Site, settled: list[_Settled]) -> None:
    """Up and down votes whose balance is the score, and the acceptance; days only, as in the dumps."""
    cast: list[tuple[datetime, int, int]] = []
    for one in settled:
        if one.post.kind not in {"question", "answer", "orphan"}:
            continue
        down = one.rng.choice([0, 0, 0, 1, 2]) + max(0, -one.post.score)
        for kind, count in ((2, one.post.score + down), (3, down), (1, int("accepted" in one.post.flags))):
            for _ in range(count):
                day = one.at + timedelta(days=int(one.rng.expovariate(1 / 150)) if kind != 1 else 1)
                cast.append((min(day, DUMP_DAY - timedelta(days=1)), one.id, kind))
    for number, (day, post_id, kind) in enumerate(sorted(cast), start=1):
        when = stamp(datetime.combine(day.date(), time()))
        site.votes.append({"Id": number, "PostId": post_id, "VoteTypeId": kind, "CreationDate": when})


def _add_tags(site: Site, settled: list[_Settled]) -> None:
    counts: Counter[str] = Counter()
    for one in settled:
        if "notags" not in one.post.flags:
            counts.update(one.post.tags)
    pages = {(one.post.kind, one.post.key): one.id for one in settled if one.post.kind in {"excerpt", "wiki"}}
    for number, (tag, count) in enumerate(sorted(counts.items()), start=1):
        row: Row = {"Id": number, "TagName": tag, "Count": count}
        if ("excerpt", tag) in pages:
            row |= {"ExcerptPostId": pages["excerpt", tag], "WikiPostId": pages["wiki", tag]}
        site.tags.append(row)


def _add_users(site: Site, settled: list[_Settled], users: list[User]) -> None:
    seen: dict[int, datetime] = {}
    reputation: Counter[int] = Counter()
    for one in settled:
        if one.user:
            seen[one.user.id] = min(one.at, seen.get(one.user.id, DUMP_DAY))
            reputation[one.user.id] += max(0, one.post.score) * 10 + 15 * ("accepted" in one.post.flags)
        for _, at, user in one.comments:
            seen[user.id] = min(at, seen.get(user.id, DUMP_DAY))
    for user in sorted(users, key=lambda user: user.id):
        rng = random.Random(user.name)
        joined = seen.get(user.id, datetime(2010, 8, 30, 18)) - timedelta(minutes=rng.randrange(1, 500))
        row: Row = {"Id": user.id, "Reputation": 1 + reputation[user.id], "CreationDate": stamp(joined)}
        row |= {
            "DisplayName": user.name,
            "LastAccessDate": stamp(DUMP_DAY - timedelta(minutes=rng.randrange(9**6))),
        }
        if user.location:
            row["Location"] = user.location
        if user.about:
            row["AboutMe"] = f"<p>{user.about}</p>\n"
        row |= {"Views": rng.randrange(300), "UpVotes": rng.randrange(200), "DownVotes": rng.randrange(12)}
        site.users.append(row | {"AccountId": -1 if user.id < 0 else 100_000 + user.id})
