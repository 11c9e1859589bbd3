"""The stage ``annotate``: the model grades a uniform sample of the corpora, each document for each subject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tootsie.curate.datashop import prompts
from tootsie.curate.datashop.answers import grade_form, grade_of
from tootsie.curate.datashop.asking import ask_rows, result_of, write_lots
from tootsie.curate.datashop.description import read_descriptions
from tootsie.curate.datashop.endpoint import Question
from tootsie.curate.datashop.passages import excerpt
from tootsie.curate.datashop.run import Run, Stage
from tootsie.curate.datashop.sampling import sample
from tootsie.curate.datashop.spec import Annotation, Rubric, Subject
from tootsie.datasets.document import CLUSTER, Document
from tootsie.datasets.errors import InputError


@dataclass(frozen=True)
class AskGrade:
    """Makes the question of a row."""

    subjects: dict[str, Subject]
    descriptions: dict[str, str]
    settings: Annotation
    seed: int

    def __call__(self, row: Document) -> Question:
        """Return the question."""
        name = row.metadata["subject"]
        form = grade_form(self.settings)
        if self.settings.rubric is Rubric.LIKELIHOOD:
            asked = prompts.likelihood(row.text, self.subjects[name], self.descriptions[name])
            return Question(asked, form, 1, self.seed, likelihood=True)
        messages = prompts.annotate(
            row.text,
            self.subjects[name],
            self.descriptions[name],
            self.settings.rubric,
            form,
            row.metadata["whole"],
        )
        return Question(messages, form, self.settings.max_tokens, self.seed)


def annotate(run: Run) -> dict[str, Any]:
    """Write ``annotate/rows-….jsonl.zst``: a row with a grade for each sampled document and subject. Return the books.

    Raises:
      InputError: no document has a text.
    """
    settings = run.spec.annotate
    found, books = sample(run.corpora, run.folder, run.spec.seed, settings.sample, run.options)
    if not found:
        raise InputError(
            f"no document with a text among the {books['read']:,} of the inputs, so there is nothing to grade",
            file=run.corpora[0].files[0].url if run.corpora and run.corpora[0].files else None,
            field="inputs",
            value=run.spec.inputs,
            remedy="Name corpora or document files that have some",
        )
    shown = Counter({"in full": 0, "in part": 0})

    def rows() -> Iterator[Document]:
        for source, document in found:
            text = excerpt(document.text, settings.excerpt_characters)
            whole = len(text) == len(document.text)
            shown["in full" if whole else "in part"] += 1
            for subject in run.spec.subjects:
                yield Document(
                    id=f"{source}/{document.id}#{subject.name}",
                    text=text,
                    source=source,
                    metadata={
                        "document": document.id,
                        "subject": subject.name,
                        "whole": whole,
                        "characters": len(document.text),
                        CLUSTER: document.metadata.get(CLUSTER),
                    },
                )

    lots = write_lots(run.folder, Stage.ANNOTATE.value, rows())
    asked = ask_rows(
        run.folder,
        Stage.ANNOTATE.value,
        lots,
        AskGrade(
            {subject.name: subject for subject in run.spec.subjects},
            read_descriptions(run),
            settings,
            run.model.seed,
        ),
        run.model,
        run.options,
        max_failures=run.spec.max_failures,
        first_wait=run.first_wait,
    )
    grades: Counter[str] = Counter()
    for row in asked.rows():
        if result_of(row)["state"] == "done":
            grade = grade_of(result_of(row)["answer"])
            shown_grade = f"{grade:.1f}" if settings.rubric is Rubric.LIKELIHOOD else f"{grade:g}"
            grades[f"{row.metadata['subject']}: {shown_grade}"] += 1
    return {
        "documents": books,
        "shown": dict(shown),
        "rows": asked.accounting.model_dump(),
        "grades": dict(sorted(grades.items())),
        "model": asked.counters,
        "files": list(asked.urls),
    }
