"""The stage ``rephrase``: passages of the kept documents become questions and answers, as the model writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tootsie.curate.datashop import prompts
from tootsie.curate.datashop.answers import rephrase_form
from tootsie.curate.datashop.asking import ask_rows, write_lots
from tootsie.curate.datashop.client import Dialogue
from tootsie.curate.datashop.endpoint import Question
from tootsie.curate.datashop.passages import divide, divide_prose
from tootsie.curate.datashop.run import Run, Stage
from tootsie.curate.datashop.sampling import draw
from tootsie.curate.datashop.scoring import SCORE
from tootsie.curate.datashop.spec import Checks, Division, Protocol, Rephrase, Style
from tootsie.curate.datashop.two_step import TwoSteps, title_of
from tootsie.curate.decontamination.taint import LINEAGE
from tootsie.curate.document_inputs import Unreadable, find_corpora, read_numbered
from tootsie.datasets.document import CLUSTER, Document
from tootsie.datasets.errors import InputError

ATTRIBUTION = (
    "url",
    "canonical",
    "doi",
    "version",
    "revision",
    "license",
    "license_url",
    "title",
    "authors",
    "author",
    "posts",  # of a thread: author, profile and licence of each
    "comments",
    "language",
    "site",
    "project",
    "categories",
    CLUSTER,
)
"""Fields of a document's metadata that what is made from it carries on."""


@dataclass(frozen=True)
class AskRephrase:
    """Makes the question of a row."""

    settings: Rephrase
    checks: Checks
    seed: int
    reasks: int

    def __call__(self, row: Document) -> Question | Dialogue:
        """Return the question, or the dialogue of two steps."""
        if self.settings.protocol is Protocol.TWO_STEP:
            return TwoSteps(
                row.text, self.settings, self.checks, self.seed, self.reasks + 1, title_of(row.metadata)
            )
        style = Style(row.metadata["style"])
        form = rephrase_form(style, self.settings)
        messages = prompts.rephrase(row.text, style, self.settings.items, form)
        return Question(
            messages,
            form,
            self.settings.max_tokens,
            self.seed,
            self.settings.temperature,
            self.settings.frequency_penalty,
        )


def filtered(run: Run) -> Iterator[tuple[str, Document]]:
    """Yield the kept documents in order, each with the name of its corpus."""
    folders = [run.path(name) if name else run.folder for name in run.books(Stage.FILTER)["corpora"]]
    for corpus in find_corpora(folders):
        for file in corpus.files:
            for _, document in read_numbered(file):
                if isinstance(document, Unreadable):
                    raise AssertionError(f"{file.url}: {document.problem}")
                yield corpus.source, document


def styles_of(settings: Rephrase, seed: int, name: str) -> list[Style]:
    """Return the styles that a passage is rephrased in: all, or one, drawn by a hash of its name."""
    styles = list(dict.fromkeys(settings.styles))
    return styles if settings.every_style else [styles[draw(seed, "style", name) % len(styles)]]


def rephrase(run: Run) -> dict[str, Any]:
    """Write ``rephrase/rows-….jsonl.zst``: a row for each passage and style. Return the books.

    Raises:
      InputError: no document was kept.
    """
    settings = run.spec.rephrase
    divided = divide_prose if settings.division is Division.PROSE else divide
    counts: Counter[str] = Counter(
        {"documents": 0, "passages": 0, "passages over the limit": 0, "characters": 0}
    )
    styles: Counter[str] = Counter()

    def rows() -> Iterator[Document]:
        for source, document in filtered(run):
            counts["documents"] += 1
            passages = [
                passage
                for passage in divided(document.text, settings.passage_characters)
                if document.text[passage.start : passage.stop].strip()
            ]
            used = passages[: settings.passages]
            counts["passages"] += len(passages)
            counts["passages over the limit"] += len(passages) - len(used)
            for number, passage in enumerate(used):
                text = document.text[passage.start : passage.stop]
                counts["characters"] += len(text)
                name = f"{source}/{document.id}#{number}"
                for style in styles_of(settings, run.spec.seed, name):
                    styles[style.value] += 1
                    yield Document(
                        id=f"{name}-{style.value}",
                        text=text,
                        source=run.spec.name,
                        created=document.created,
                        metadata={
                            **{
                                key: document.metadata[key] for key in ATTRIBUTION if key in document.metadata
                            },
                            LINEAGE: [f"{source}/{document.id}"],
                            "passage": {"start": passage.start, "stop": passage.stop},
                            "style": style.value,
                            SCORE: document.metadata.get(SCORE),
                        },
                    )

    lots = write_lots(run.folder, Stage.REPHRASE.value, rows())
    if not lots:
        raise InputError(
            "the filter kept no document, so there is nothing to rephrase",
            file=run.path(Stage.FILTER.value),
            field="filter",
            remedy="Lower the threshold, or give a share to keep",
        )
    asked = ask_rows(
        run.folder,
        Stage.REPHRASE.value,
        lots,
        AskRephrase(settings, run.spec.check, run.model.seed, run.model.reasks),
        run.model,
        run.options,
        max_failures=run.spec.max_failures,
        first_wait=run.first_wait,
    )
    return {
        "counts": dict(counts),
        "styles": dict(sorted(styles.items())),
        "rows": asked.accounting.model_dump(),
        "model": asked.counters,
        "files": list(asked.urls),
    }
