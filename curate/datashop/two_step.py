"""Questions and answers in two steps, for models too small to write both at once in the form that is asked for.

Where answers are written: a question on a passage, then its answer, as turns of one dialogue. Where they are quoted, the answer
comes first: the model writes the question that a sentence of the passage answers, seeing that sentence alone; then it is shown
the passage and must pick that very sentence for its question (round-trip consistency: Alberti et al., 2019,
https://arxiv.org/abs/1906.05416). Several questions are tried where the first does not hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tootsie.curate.datashop import prompts
from tootsie.curate.datashop.answers import answer_form, question_form
from tootsie.curate.datashop.client import CUT_OFF, WRONG_FORM, Answered, Client, Failed, Result
from tootsie.curate.datashop.endpoint import Question
from tootsie.curate.datashop.english import asks_for_another_definition, asks_twice, ill_formed
from tootsie.curate.datashop.languages import same_script
from tootsie.curate.datashop.passages import sentences
from tootsie.curate.datashop.questions import PICKED, fault, known_share, repeats_itself, support
from tootsie.curate.datashop.spec import Answers, Checks, Rephrase, Style

_PASSING = (WRONG_FORM, CUT_OFF)
"""Reasons of failures after which another question may succeed."""
_LEANING = re.compile(
    r"(?:it|its|this|these|those|that|they|their|them|he|his|she|her|such|however|also|thus|therefore|hence|other|others|another|"
    r"some|but|and|or|so|both|here|there|then|instead|moreover|furthermore|in addition|for (?:example|instance)|as such|in this|"
    r"in these|in that|of these|of this|note|see|unlike|similarly|likewise|the (?:latter|former|other|same|second|third|last))\b",
    re.IGNORECASE,
)
_KNOWN_ALREADY = 0.75
"""Share of an answer's content words in its question from which it says nothing."""


def title_of(metadata: dict[str, Any]) -> str:
    """Return the title of a row's document; empty where it has none."""
    title = metadata.get("title")
    return " ".join(title.split())[:200] if isinstance(title, str) else ""


def stands_alone(sentence: str, checks: Checks) -> bool:
    """Return whether a sentence may be an answer: of the right length, whole, not begun with a word that points back."""
    return (
        checks.min_answer_characters <= len(sentence) <= checks.max_answer_characters
        and len(sentence.split()) > 3
        and sentence.rstrip('"”’)*_').endswith((".", "!", "。", "।", "۔"))
        and sentence.count("(") == sentence.count(")")
        and not _LEANING.match(sentence)
    )


def fault_in_two_steps(
    item: dict[str, str], passage: str, rephrase: Rephrase, checks: Checks, title: str = ""
) -> str | None:
    """Return why an item is left out, or ``None``: as for others, and where its two halves do not go together."""
    found = _fault_of_words(item, passage, rephrase, checks, title)
    if found is None and rephrase.answers is Answers.QUOTED and item.get(PICKED) != item["answer"]:
        return "the model picks another sentence"
    return found


def _fault_of_words(
    item: dict[str, str], passage: str, rephrase: Rephrase, checks: Checks, title: str
) -> str | None:
    found = fault({name: item[name] for name in ("question", "answer")}, Style.QA, passage, checks)
    if found is not None:
        return found
    question, answer = item["question"], item["answer"]
    if "?" not in question and same_script(question, "Latin"):
        return "no question"
    if question.count("?") > 1 or asks_twice(question) or repeats_itself(question):
        return "more than one question, or one that repeats itself"
    if wrong := ill_formed(question):
        return wrong
    if rephrase.answers is Answers.WRITTEN:
        return (
            "question of something else" if support(question, passage, "") < checks.question_support else None
        )
    if not stands_alone(answer, checks):
        return "the answer does not stand alone"
    if known_share(question, f"{answer} {title}") < checks.question_support:
        return "question of something else"
    if known_share(question, answer) < max(
        known_share(question, sentence) for sentence in sentences(passage)
    ):
        return "another sentence has more of the question"
    if known_share(answer, question) > _KNOWN_ALREADY:
        return "the question has the answer"
    if asks_for_another_definition(question, answer):
        return "the answer is no definition"
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
    title: str = ""
    """Of the document."""

    async def put_to(self, client: Client) -> Result:
        """Return what was written, with the items that do not hold: the stage ``check`` counts them.

        Raises:
          UserError: see :meth:`Client.ask`.
        """
        settings = self.settings
        quoted = settings.answers is Answers.QUOTED
        lines = sentences(self.passage) if quoted else []
        wanted = list(dict.fromkeys(line for line in lines if stands_alone(line, self.checks)))
        if quoted and not wanted:
            return Answered({"items": []}, {})
        room = max(settings.max_tokens, 20 + max(map(len, lines), default=0) // 2)
        items: list[dict[str, str]] = []
        steps: list[dict[str, Any]] = []
        holding: set[str] = set()
        last: Result | None = None
        provenance: dict[str, Any] = {}
        for number in range(settings.items * settings.tries):
            if quoted:
                sentence = wanted[number % len(wanted)]
                turn = number // len(wanted)
                first = prompts.question_for(sentence, self.title, settings.shots)
            else:
                sentence, turn = "", number
                first = prompts.first_step(self.passage, settings.shots)
            if sentence in {item["answer"] for item in items if item["question"] in holding}:
                continue  # has its question
            seed = self.seed + turn * self.seeds_apart
            last = await client.ask(
                self._question(first, question_form(self.checks), settings.max_tokens, seed)
            )
            if isinstance(last, Answered):
                question, asked = last.answer["question"].strip(), last.provenance
                if any(question == item["question"] for item in items):
                    continue
                item = {"question": question, "answer": sentence}
                if quoted and _fault_of_words(item, self.passage, settings, self.checks, self.title):
                    items.append(item)
                    provenance = asked
                    steps.append({name: [asked[name]] for name in _STEP})
                    continue
                second = (
                    prompts.pick(self.passage, self.title, question, settings.shots)
                    if quoted
                    else prompts.second_step(first, question)
                )
                last = await client.ask(self._question(second, answer_form(lines), room, seed))
            if isinstance(last, Failed):
                if last.reason in _PASSING:
                    continue
                return last
            provenance = last.provenance
            item[PICKED if quoted else "answer"] = last.answer["answer"].strip()
            items.append(item)
            steps.append({name: [asked[name], provenance[name]] for name in _STEP})
            if fault_in_two_steps(item, self.passage, settings, self.checks, self.title) is None:
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


_STEP = ("prompt_sha256", "sampling")
"""What is kept of each request."""
