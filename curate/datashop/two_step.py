"""Questions and answers in two steps: a question on a passage, then its answer, as turns of one dialogue.

Models too small to write both at once, in the form that is asked for, can do each. Several questions are tried where the first
does not hold. Where answers are quoted, they are what the passage says: the model only picks the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tootsie.curate.datashop import prompts
from tootsie.curate.datashop.answers import answer_form, question_form
from tootsie.curate.datashop.client import Answered, Client, Failed, Result
from tootsie.curate.datashop.endpoint import Question
from tootsie.curate.datashop.passages import sentences
from tootsie.curate.datashop.questions import fault, support
from tootsie.curate.datashop.spec import Answers, Checks, Rephrase, Style

_PASSING = ("wrong form", "cut off")
"""Reasons of failures after which another question may succeed."""


def fault_in_two_steps(item: dict[str, str], passage: str, rephrase: Rephrase, checks: Checks) -> str | None:
    """Return why an item is left out, or ``None``: as for others, and where its two halves do not go together."""
    found = fault(item, Style.QA, passage, checks)
    if found is not None:
        return found
    question, answer = item["question"], item["answer"]
    if support(question, passage, "") < checks.question_support:
        return "question of something else"
    if rephrase.answers is Answers.QUOTED:
        shares = [support(question, sentence, "") for sentence in sentences(passage)]
        if support(question, answer, "") < max(shares):
            return "another sentence has more of the question"
    return None


@dataclass(frozen=True)
class TwoSteps:
    """Asks for the items of a passage, one after the other."""

    passage: str
    settings: Rephrase
    checks: Checks
    seed: int
    seeds_apart: int
    """So that what is asked again for its form does not use the seed of the next question."""

    async def put_to(self, client: Client) -> Result:
        """Return what was written, with the items that do not hold: the stage ``check`` counts them.

        Raises:
          UserError: see :meth:`Client.ask`.
        """
        settings = self.settings
        first = prompts.first_step(self.passage, settings.answers, settings.shots)
        quoted = sentences(self.passage) if settings.answers is Answers.QUOTED else []
        room = max(settings.max_tokens, 20 + max(map(len, quoted), default=0) // 2)
        items: list[dict[str, str]] = []
        steps: list[dict[str, Any]] = []
        holding: set[str] = set()
        last: Result | None = None
        provenance: dict[str, Any] = {}
        for number in range(settings.items * settings.tries):
            seed = self.seed + number * self.seeds_apart
            last = await client.ask(
                self._question(first, question_form(self.checks), settings.max_tokens, seed)
            )
            if isinstance(last, Answered):
                question, asked = last.answer["question"].strip(), last.provenance
                if any(question == item["question"] for item in items):
                    continue
                second = prompts.second_step(first, question)
                last = await client.ask(self._question(second, answer_form(quoted), room, seed))
            if isinstance(last, Failed):
                if last.reason in _PASSING:
                    continue
                return last
            provenance = last.provenance
            item = {"question": question, "answer": last.answer["answer"].strip()}
            items.append(item)
            steps.append({name: [asked[name], provenance[name]] for name in ("prompt_sha256", "sampling")})
            if fault_in_two_steps(item, self.passage, settings, self.checks) is None:
                holding.add(question)
                if len(holding) == settings.items:
                    break
        if not items:
            assert last is not None
            return last
        return Answered({"items": items}, {**provenance, "steps": steps})

    def _question(self, messages: prompts.Messages, form: Any, room: int, seed: int) -> Question:
        settings = self.settings
        return Question(messages, form, room, seed, settings.temperature, settings.frequency_penalty)
