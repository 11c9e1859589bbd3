"""A corpus with planted duplicates and planted look-alikes, and what is right for each document.

Invented words in the proportions of a language (Zipf), so that nothing is like anything unless it is planted. Duplicates are
copies that hold nothing their original does not: verbatim, reflowed, reformatted, cut short, in the frame of another site, or
with paragraphs added. Look-alikes each say something of their own: paraphrases, one number, sign, name or negation changed,
forms filled in differently, dialogues of one template, articles that quote the same passage, records that differ in a line
which many records have.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


@dataclass(frozen=True)
class Planted:
    """One document."""

    id: str
    text: str
    kind: str
    """How it was made."""
    content: str
    """Documents with the same value hold the same; one of them is to stay."""
    url: str

    def record(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "text": self.text,
            "source": "planted",
            "metadata": {"url": self.url, "kind": self.kind, "content": self.content},
        }


class Writer:
    """Writes invented prose."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        words = {"".join(self.random.choices(SYLLABLES, k=self.random.randint(1, 4))) for _ in range(9000)}
        self.words = sorted(words)
        self.random.shuffle(self.words)
        self.weights = [1 / (rank + 8) for rank in range(len(self.words))]

    def some(self, count: int) -> list[str]:
        return self.random.choices(self.words, self.weights, k=count)

    def sentence(self) -> str:
        words = self.some(self.random.randint(8, 22))
        return " ".join(words).capitalize() + "."

    def paragraph(self) -> str:
        return " ".join(self.sentence() for _ in range(self.random.randint(3, 7)))

    def article(self, paragraphs: int | None = None) -> list[str]:
        return [self.paragraph() for _ in range(paragraphs or self.random.randint(4, 9))]


def planted_corpus(size: int = 100, seed: int = 0) -> list[Planted]:
    """Return the documents, shuffled.

    Args:
      size: originals of each kind.
      seed: another seed is another corpus.
    """
    writer = Writer(seed)
    found: list[Planted] = []
    sites = ["north.example", "south.example", "east.example"]
    frames = {
        site: ([" ".join(writer.some(9)), " ".join(writer.some(7))], [" ".join(writer.some(12))])
        for site in sites
    }

    def add(kind: str, text: str, content: str, site: str = "plain.example") -> None:
        number = len(found)
        found.append(Planted(f"d{number}", text, kind, content, f"https://{site}/{number}"))

    def framed(paragraphs: list[str], site: str) -> str:
        top, bottom = frames[site]
        return "\n".join([*top, "", "\n\n".join(paragraphs), "", *bottom])

    for number in range(size):
        for kind in COPIES:
            paragraphs = writer.article()
            content = f"{kind}-{number}"
            add("original", "\n\n".join(paragraphs), content)
            # Two documents with different additions would each hold something of their own.
            for _ in range(1 if kind == "extended" else writer.random.choice((1, 1, 1, 2, 3))):
                add(kind, COPIES[kind](writer, paragraphs), content)
        paragraphs = writer.article()
        for site in writer.random.sample(sites, 2):
            add("framed", framed(paragraphs, site), f"framed-{number}", site)
        add("framed page", framed(writer.article(), sites[number % 3]), f"page-{number}", sites[number % 3])
        for kind, change in LOOKALIKES.items():
            paragraphs = _with_facts(writer)
            text = "\n\n".join(paragraphs)
            add("original", text, f"{kind}-{number}")
            add(kind, change(writer, text), f"{kind}-{number}-changed")
        passage = writer.article(3)
        for one in range(2):
            own = writer.article(3)
            add(
                "quotes",
                "\n\n".join([own[0], "\n".join(f"> {part}" for part in passage), *own[1:]]),
                f"quotes-{number}-{one}",
            )
    _forms(writer, add, size)
    _dialogues(writer, add, size)
    _records(writer, add, size)
    writer.random.shuffle(found)
    return found


def _verbatim(writer: Writer, paragraphs: list[str]) -> str:
    return "\n\n".join(paragraphs)


def _reflowed(writer: Writer, paragraphs: list[str]) -> str:
    width = writer.random.choice((40, 72, 10_000))
    lines: list[str] = []
    for paragraph in paragraphs:
        line = ""
        for word in paragraph.split():
            if len(line) + len(word) > width:
                lines.append(line)
                line = word
            else:
                line = f"{line}{writer.random.choice((' ', '  ', chr(160)))}{word}" if line else word
        lines += [line, ""]
    return "\n".join(lines)


def _reformatted(writer: Writer, paragraphs: list[str]) -> str:
    changed = []
    for paragraph in paragraphs:
        words = [f"**{word}**" if writer.random.random() < 0.05 else word for word in paragraph.split()]
        text = " ".join(words)
        style = writer.random.randrange(4)
        changed.append(
            [f"- {text}", f"> {text}", text.upper(), text.replace(". ", "; ").replace("a", "\u200ba", 1)][
                style
            ]
        )
    return "\n\n".join(changed)


def _cut(writer: Writer, paragraphs: list[str]) -> str:
    return "\n\n".join(paragraphs[: max(3, int(len(paragraphs) * writer.random.uniform(0.7, 0.95)))])


def _extended(writer: Writer, paragraphs: list[str]) -> str:
    longer = list(paragraphs)
    longer.insert(writer.random.randint(0, len(longer)), writer.sentence())
    return "\n\n".join(longer)


COPIES = {
    "verbatim": _verbatim,
    "reflowed": _reflowed,
    "reformatted": _reformatted,
    "cut": _cut,
    "extended": _extended,
}


def _with_facts(writer: Writer) -> list[str]:
    paragraphs = writer.article()
    name = writer.some(1)[0].capitalize()
    year, units, cold = (writer.random.randint(*bounds) for bounds in ((1200, 2020), (2, 99), (2, 40)))
    fact = f"In {year} {name} counted {units}.5 units at -{cold} degrees, which was not a + b at all."
    paragraphs.insert(writer.random.randint(0, len(paragraphs)), fact)
    return paragraphs


def _paraphrased(writer: Writer, text: str) -> str:
    return "\n\n".join(
        " ".join(writer.some(1)[0] if writer.random.random() < 0.25 else word for word in paragraph.split())
        for paragraph in text.split("\n\n")
    )


LOOKALIKES = {
    "paraphrase": _paraphrased,
    "another number": lambda writer, text: text.replace("counted ", "counted 1", 1),
    "another point": lambda writer, text: text.replace(".5 units", "5 units", 1),
    "another sign": lambda writer, text: text.replace("at -", "at ", 1),
    "another operator": lambda writer, text: text.replace("a + b", "a / b", 1),
    "a negation less": lambda writer, text: text.replace("was not a", "was a", 1),
    "another name": lambda writer, text: text.replace(" counted", "x counted", 1),
}


def _forms(writer: Writer, add: Any, size: int) -> None:
    form = writer.article(6)
    for number in range(2 * size):
        filled = [f"{part} {writer.some(1)[0]} {number * 7919 % 100_003}." for part in form]
        add("form", "\n\n".join(filled), f"form-{number}")


def _dialogues(writer: Writer, add: Any, size: int) -> None:
    opening, closing = writer.article(4), writer.article(3)
    for number in range(2 * size):
        add(
            "dialogue",
            "\n\n".join([*opening, writer.sentence(), writer.sentence(), *closing]),
            f"dialogue-{number}",
        )


def _records(writer: Writer, add: Any, size: int) -> None:
    """Pairs of records that differ in a whole line, which nearly half of the records have."""
    lines = [
        "The committee voted in favour of the motion.",
        "The committee voted against the motion of today.",
    ]
    for number in range(size):
        paragraphs = writer.article()
        for one in range(2):
            add("record", "\n\n".join([*paragraphs, lines[one]]), f"record-{number}-{one}", "records.example")
    for number in range(size // 2):
        add("record", "\n\n".join(writer.article()), f"record-{number}-none", "records.example")


@dataclass(frozen=True)
class Score:
    """How right a set of removals is."""

    removed: int
    right: int
    removable: int

    @property
    def precision(self) -> float:
        return self.right / max(1, self.removed)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.removable)


def score(corpus: Iterable[Planted], removals: Iterable[tuple[str, str]]) -> Score:
    """Score removals, given as (id of the removed document, id of the one it went for): right where both hold the same."""
    content = {document.id: document.content for document in corpus}
    sizes: dict[str, int] = defaultdict(int)
    for name in content.values():
        sizes[name] += 1
    pairs = list(removals)
    right = sum(content[removed] == content[kept] for removed, kept in pairs)
    return Score(len(pairs), right, sum(size - 1 for size in sizes.values()))


def score_kept(corpus: Iterable[Planted], kept: Iterable[str]) -> Score:
    """Score by what is left: of documents that hold the same, all but one may go; whoever takes the last is wrong once."""
    left = set(kept)
    groups: dict[str, list[str]] = defaultdict(list)
    for document in corpus:
        groups[document.content].append(document.id)
    removed = right = removable = 0
    for names in groups.values():
        gone = len(names) - len(left.intersection(names))
        removed += gone
        right += min(gone, len(names) - 1)
        removable += len(names) - 1
    return Score(removed, right, removable)
