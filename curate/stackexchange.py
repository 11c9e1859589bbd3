"""StackExchange threads: a question with its answers, accepted first, then by score.

The books count rows of ``Posts.xml``: a thread is one document and accounts for its question; its answers are counted as
``answer joined to its question``. Rows of other tables are counted where they have a part in a document.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tootsie.curate.corpus import Corpus, Dropped, Kept, Outcome, Pending, Record, Unit
from tootsie.curate.stackexchange_index import number_of
from tootsie.curate.stackexchange_layout import TEMPLATES, Layout, Template, draw
from tootsie.curate.stackexchange_math import delimiters_of
from tootsie.curate.stackexchange_post import page_of, values_of_comment, values_of_post
from tootsie.curate.stackexchange_records import SiteReader
from tootsie.curate.stackexchange_thread import (
    ANSWER,
    QUESTION,
    WIKI_TYPES,
    Choice,
    Thread,
    comments_of,
    excerpt_of,
    metadata_of,
    orphans,
)
from tootsie.curate.stackexchange_units import site_units
from tootsie.datasets.document import Document

if TYPE_CHECKING:
    from tootsie.curate.markdownify import Conversion

SCORES = ("keep", "after", "shuffle", "drop")
"""Where scores stand: before the body, after it, either by a draw for each thread, nowhere."""


@dataclass(frozen=True)
class StackExchange(Corpus):
    """Data dumps of StackExchange sites."""

    name: ClassVar[str] = "stackexchange"

    unanswered: bool = True
    """Keep questions without answers."""
    comments: bool = False
    """Put comments into the text."""
    scores: str = "keep"
    """Where scores stand in the text: one of :data:`SCORES`."""
    tags: bool = True
    """Put tags into the text."""
    authors: bool = False
    """Put authors into the text."""
    template: str | Mapping[str, str] = "headings"
    """Name of a template, ``shuffle`` for a draw among them for each thread, or the texts of the user's own."""
    layout_seed: int = 0
    """Of the draws of ``scores`` and ``template``."""
    min_question_score: int | None = None
    """Lowest score of a question that is kept."""
    min_answer_score: int | None = None
    """Lowest score of an answer that is kept; the accepted one always is."""
    max_answers: int | None = None
    """Most answers of a thread."""
    truncated: bool = False
    """Keep the rows of a table that ends before its last tag; else that is an error."""
    site: str | None = None
    """Host name of the site, where file names do not tell."""

    def units(self, inputs: Sequence[str]) -> list[Unit]:
        """Return a unit for each site."""
        return site_units(inputs, self.site)

    def split(self, unit: Unit, limit: int | None) -> Iterator[Record]:
        """Yield posts, links to duplicates (and comments, if they are wanted), each with the thread it belongs to."""
        reader = SiteReader(unit.options["site"], self.comments, self.truncated, self.max_document_bytes)
        yield from reader.records(unit, limit)

    def documents(self, records: Iterable[Record]) -> Iterator[Outcome | Pending]:
        """Join questions, answers and comments of a shard into threads; convert them, by site and question."""
        threads: dict[str, Thread] = {}
        for record in records:
            if (
                record.head.get("PostTypeId") in (QUESTION, ANSWER)
                and number_of(record.head.get("Id")) is not None
            ):
                thread = threads.setdefault(record.key, Thread())
                if dropped := thread.add(record, self.max_document_bytes):
                    yield dropped
            elif "comment" in record.head:
                threads.setdefault(record.key, Thread()).add_comment(record.head, self.max_document_bytes)
                yield Dropped("comment", record.key, show=False)
            elif "duplicate" in record.head:
                threads.setdefault(record.key, Thread()).add_duplicate(record.head["duplicate"])
                yield Dropped("link to a duplicate", record.key, show=False)
            else:
                yield _no_post(record)
        layouts = {name: Layout(template) for name, template in self._templates().items()}
        for key in sorted(threads, key=_thread_order):
            yield from self._thread(key, threads.pop(key), layouts)

    def _templates(self) -> dict[str, Template]:
        if isinstance(self.template, Mapping):
            return {"own": Template(**self.template)}
        return dict(TEMPLATES) if self.template == "shuffle" else {self.template: TEMPLATES[self.template]}

    def _thread(self, key: str, thread: Thread, layouts: Mapping[str, Layout]) -> Iterator[Outcome | Pending]:
        question = thread.question
        if thread.excess:
            yield Dropped("too large", key, detail=thread.excess, records=thread.rows)
            return
        if question is None:
            yield from orphans(thread)
            return
        choice = Choice(self.unanswered, self.min_question_score, self.min_answer_score, self.max_answers)
        if problem := choice.problem(question):
            metadata = metadata_of(thread, [], comments=False)
            yield Dropped("question with a low score", key, excerpt_of(question), problem, metadata)
            if thread.answers:
                yield Dropped("answer of a dropped question", key, records=len(thread.answers), show=False)
            return
        answers, left_out = choice.answers(thread)
        yield from left_out
        metadata = metadata_of(thread, answers, comments=self.comments)
        if not answers and not self.unanswered:
            yield Dropped("no answers", key, excerpt_of(question), metadata=metadata)
            return

        counters: Counter[str] = Counter(
            {
                "answers": len(answers),
                "threads without answers": not answers,
                "closed questions": "closed" in metadata,
                "duplicate questions": "duplicate_of" in metadata,
            }
        )
        name = list(layouts)[draw(self.layout_seed, "template", key, len(layouts))]
        if len(layouts) > 1:
            counters[f"threads in template {name}"] += 1
        scores = self._scores_of(key, counters)
        posts, pages = (question, *answers), []
        for post in posts:
            page, changes = page_of(post, post.head["site"], layouts[name].depth)
            pages.append(page)
            counters.update(changes)

        def finish(conversions: list[Conversion]) -> Iterator[Outcome]:
            for conversion in conversions:
                counters.update(conversion.counters)
            bodies = [conversion.markdown.strip() for conversion in conversions]
            text = self._text(thread, posts, bodies, layouts[name], scores)
            if answers:
                yield Dropped("answer joined to its question", key, records=len(answers), show=False)
            document = Document(
                id=key,
                text=text,
                source=self.name,
                added=self.added,
                created=question.head.get("CreationDate"),
                metadata=metadata,
            )
            source = sum(len(post.body) for post in posts)
            yield Kept(document, {name: count for name, count in counters.items() if count}, source)

        options = {"profile": "stackexchange", "dollars": delimiters_of(question.head["site"]).dollars}
        yield Pending(key, pages, options, finish, metadata, records=len(posts))

    def _scores_of(self, key: str, counters: Counter[str]) -> str:
        """Return where the scores of a thread stand: ``before``, ``after``, or nowhere."""
        if self.scores != "shuffle":
            return {"keep": "before", "after": "after", "drop": ""}[self.scores]
        scores = ("before", "after")[draw(self.layout_seed, "scores", key, 2)]
        counters[f"threads with scores {scores} the text"] += 1
        return scores

    def _text(
        self, thread: Thread, posts: Sequence[Record], bodies: Sequence[str], layout: Layout, scores: str
    ) -> str:
        question = posts[0]
        parts = []
        for post, body in zip(posts, bodies, strict=True):
            remarks = [
                values_of_comment(one, authors=self.authors, scores=bool(scores))
                for one in (comments_of(thread, post) if self.comments else ())
            ]
            values = values_of_post(post, question, authors=self.authors, tags=self.tags, scores=scores)
            values |= {"body": body, "comments": layout.comments(remarks)}
            if post is question:
                parts.append(layout.question(values))
            else:
                accepted = post.head["Id"] == question.head.get("AcceptedAnswerId")
                parts.append(layout.answer(values, accepted=accepted))
        return "\n\n".join(parts) + "\n"


def _no_post(record: Record) -> Dropped:
    """Return what becomes of a row that is neither question nor answer, or cannot be read."""
    head = record.head
    identity, text = f"{head['site']}/{head.get('Id', '')}", excerpt_of(record)
    if "damaged" in head:
        return Dropped("damaged record", identity, text, head["damaged"], failure=True)
    if "truncated" in head:
        return Dropped("end of a truncated file", identity, text, head["truncated"])
    if "too_large" in head:
        return Dropped("too large", identity, text, head["too_large"])
    if number_of(head.get("Id")) is None:
        return Dropped("damaged record", identity, text, "the row has no Id", failure=True)
    kind = head.get("PostTypeId", "none")
    reason = "wiki post" if kind in WIKI_TYPES else "other post type"
    return Dropped(reason, identity, text, f"PostTypeId {kind}")


def _thread_order(key: str) -> tuple[str, int, str]:
    site, _, number = key.rpartition("/")
    return site, int(number) if number.isdigit() else -1, json.dumps(number)
