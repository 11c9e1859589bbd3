"""The stage ``describe``: what ideal text for each subject is like, in the spec's words or the model's.

Examples are shown in batches, each in full, and the descriptions of the batches are merged two by two: none is left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tootsie.curate.datashop import prompts
from tootsie.curate.datashop.answers import DESCRIPTION
from tootsie.curate.datashop.asking import ask_rows, result_of, write_lots
from tootsie.curate.datashop.endpoint import Question
from tootsie.curate.datashop.run import Run, Stage
from tootsie.curate.datashop.spec import Subject
from tootsie.datasets import storage
from tootsie.datasets.document import Document
from tootsie.datasets.errors import SpecError

BATCH_CHARACTERS = 6000
"""Of the examples that are shown at once."""
MAX_TOKENS = 400
RESULT_NAME = "descriptions.json"


@dataclass(frozen=True)
class AskDescription:
    """Makes the question of a row: a batch of examples, or two descriptions to merge."""

    subjects: dict[str, Subject]
    seed: int

    def __call__(self, row: Document) -> Question:
        """Return the question."""
        subject = self.subjects[row.metadata["subject"]]
        parts = row.metadata["parts"]
        if row.metadata["merge"]:
            messages = prompts.merge(parts[0], parts[1], subject, DESCRIPTION)
        else:
            messages = prompts.describe(parts, subject, DESCRIPTION)
        return Question(messages, DESCRIPTION, MAX_TOKENS, self.seed)


def batches(subject: Subject) -> list[list[str]]:
    """Return a subject's examples in batches that can be shown.

    Raises:
      SpecError: an example is too long to be shown.
    """
    found: list[list[str]] = []
    size = BATCH_CHARACTERS + 1
    for example in subject.examples:
        if len(example) > BATCH_CHARACTERS:
            raise SpecError(
                f"an example of more than {BATCH_CHARACTERS:,} characters",
                field=f"subjects: {subject.name}",
                value=len(example),
                remedy="Give the part of it that shows what is wanted",
            )
        if size + len(example) > BATCH_CHARACTERS:
            found.append([])
            size = 0
        found[-1].append(example)
        size += len(example)
    return found


def describe(run: Run) -> dict[str, Any]:
    """Write ``describe/descriptions.json``: subject → description. Return the books."""
    subjects = {subject.name: subject for subject in run.spec.subjects}
    level: dict[str, list[str]] = {}
    waiting = {name: batches(subject) for name, subject in subjects.items() if subject.description is None}
    books: dict[str, Any] = {"subjects": len(subjects), "examples": 0, "asked": 0, "rounds": 0}
    books["examples"] = sum(len(batch) for found in waiting.values() for batch in found)
    merge = False
    while any(len(parts) for parts in waiting.values()):
        rows = [
            Document(
                id=f"{name}#{number}",
                text="",
                source="describe",
                metadata={"subject": name, "merge": merge, "parts": parts},
            )
            for name, groups in waiting.items()
            for number, parts in enumerate(groups)
        ]
        stage = f"{Stage.DESCRIBE.value}/round-{books['rounds']}"
        lots = write_lots(run.folder, stage, rows)
        asked = ask_rows(
            run.folder,
            stage,
            lots,
            AskDescription(subjects, run.model.seed),
            run.model,
            run.options,
            max_failures=0.0,
            tolerated=0,  # a subject without its description cannot be graded
            first_wait=run.first_wait,
        )
        answers: dict[str, list[str]] = {}
        for row in asked.rows():
            found = result_of(row)["answer"]["description"]
            answers.setdefault(row.metadata["subject"], []).append(found)
        books["asked"] += len(rows)
        books["rounds"] += 1
        merge = True
        waiting = {}
        for name, told in answers.items():
            told = level.pop(name, []) + told
            if len(told) > 1:
                waiting[name] = [list(pair) for pair in zip(told[::2], told[1::2], strict=False)]
                level[name] = told[len(told) // 2 * 2 :]
            else:
                level[name] = told
    texts = {
        name: subject.description if subject.description is not None else level[name][0]
        for name, subject in subjects.items()
    }
    storage.write_bytes(
        run.path(Stage.DESCRIBE.value, RESULT_NAME),
        (json.dumps(texts, indent=1, ensure_ascii=False) + "\n").encode(),
    )
    return books


def read_descriptions(run: Run) -> dict[str, str]:
    """Return the description of each subject."""
    found: dict[str, str] = json.loads(storage.read_bytes(run.path(Stage.DESCRIBE.value, RESULT_NAME)))
    return found
