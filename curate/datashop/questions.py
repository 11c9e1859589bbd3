"""Questions and answers as Markdown, and what an item must be like to be kept."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tootsie.curate.datashop.english import root
from tootsie.curate.datashop.languages import fault_of_language
from tootsie.curate.datashop.spec import Checks, Style
from tootsie.curate.ngrams import exact_words, plain_words

LETTERS = "ABCD"
GAP = "____"
SHORT = 9
"""Words from which a question may have one twice."""
PICKED = "picked"
"""Key of an item that is asked for in two steps with a quoted answer: the sentence that the model picks for its question."""
_MARKER = re.compile(
    r"<[|｜][^\n|｜]{0,60}[|｜]>|</?s>|<(?:bos|eos|pad|unk)>|\[/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS)\]"
    r"|<</?SYS>>|<(?:start|end)_of_turn>|BOUNDARY [0-9a-f]{24}",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_FUNCTION_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "may",
        "might",
        "more",
        "most",
        "no",
        "not",
        "of",
        "on",
        "one",
        "or",
        "our",
        "she",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "too",
        "two",
        "up",
        "us",
        "use",
        "used",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "why",
        "will",
        "with",
        "would",
        "yes",
        "you",
        "your",
    ]
)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_CHATTER = re.compile(
    r"\b(?:as an ai|language model|i cannot|i can't|the (?:given|provided|above) (?:text|passage|json))\b",
    re.IGNORECASE,
)


def items_of(style: Style, answer: dict[str, Any]) -> list[dict[str, str]]:
    """Return the items of a model's answer as ``question``, ``answer`` and, for multiple choice, ``options`` as lines.

    An item whose number or gap makes no sense has an ``error``.
    """
    found = []
    for item in answer["items"]:
        if style is Style.CHOICE:
            options = [" ".join(option.split()) for option in item["options"]]
            lines = "\n".join(
                f"- {letter}. {option}" for letter, option in zip(LETTERS, options, strict=True)
            )
            one = {
                "question": item["question"],
                "answer": options[item["right"]],
                "options": lines,
                "letter": LETTERS[item["right"]],
            }
            if len({option.casefold() for option in options}) < len(options):
                one["error"] = "equal options"
        elif style is Style.CLOZE:
            one = {"question": item["sentence"], "answer": item["replaced"]}
            if item["sentence"].count(GAP) != 1:
                one["error"] = "not one gap"
        else:
            one = {name: item[name] for name in ("question", "answer", PICKED) if name in item}
        found.append({name: value if name == "options" else value.strip() for name, value in one.items()})
    return found


def fault(item: dict[str, str], style: Style, passage: str, checks: Checks) -> str | None:
    """Return why an item is left out, or ``None``."""
    question, answer = item["question"], item["answer"]
    if "error" in item:
        return item["error"]
    written = "\n".join((question, answer, item.get("options", "")))
    if _MARKER.search(written) or _CONTROL.search(written):
        return "template marker or control character"
    if _CHATTER.search(written):
        return "speaks of itself or of the prompt"
    if not checks.min_question_characters <= len(question) <= checks.max_question_characters:
        return "length of the question"
    if not checks.min_answer_characters <= len(answer) <= checks.max_answer_characters:
        return "length of the answer"
    if style in (Style.QA, Style.EXPLAIN, Style.CHOICE) and question.endswith((".", "!", ":")):
        return "no question"
    texts = [question, answer, *([item["options"]] if "options" in item else [])]
    if checks.language and (found := fault_of_language(texts, passage)):
        return found
    if style is Style.CLOZE:
        if _plain(answer) not in _plain(passage):
            return "answer not in the passage"
    elif support(answer, passage, question) < checks.answer_support:
        return "answer not in the passage"
    if style is not Style.CLOZE and _plain(question) == _plain(answer):
        return "the answer is the question"
    if copied_run(question, passage) > checks.copied_words:
        return "copied from the passage"
    return None


def _plain(text: str) -> str:
    return f" {' '.join(plain_words(text))} "


def support(answer: str, passage: str, question: str) -> float:
    """Return the share of an answer's content words that the passage has; 0 where one of its numbers is in neither text.

    An answer of function words alone (yes, no) has all; one of no words at all none.
    """
    known = set(plain_words(passage))
    numbers = set(_NUMBER.findall(passage)) | set(_NUMBER.findall(question))
    if any(number not in numbers for number in _NUMBER.findall(answer)):
        return 0.0
    words = plain_words(answer)
    content = {word for word in words if word not in _FUNCTION_WORDS}
    if not content:
        return 1.0 if words or exact_words(answer) else 0.0
    stems = {word[:5] for word in known}
    return sum(word in known or (len(word) > 6 and word[:5] in stems) for word in content) / len(content)


def known_share(question: str, text: str) -> float:
    """Return the share of a question's content words that a text has in some form; 1 where there are none."""
    known = {root(word) for word in plain_words(text)}
    content = set(plain_words(question)) - _FUNCTION_WORDS
    return sum(root(word) in known for word in content) / len(content) if content else 1.0


def repeats_itself(text: str) -> bool:
    """Return whether a pair of words, one of them a content word, stands in a text twice, or a content word in a short one."""
    words = plain_words(text)
    content = [word for word in words if word not in _FUNCTION_WORDS]
    if len(words) < SHORT and len(set(content)) < len(content):
        return True
    pairs = Counter(pair for pair in itertools.pairwise(words) if not _FUNCTION_WORDS.issuperset(pair))
    return max(pairs.values(), default=0) > 1


def copied_run(text: str, passage: str) -> int:
    """Return the longest run of words that a text shares with the passage, by a suffix automaton: linear in both."""
    longest = length = state = 0
    links, lengths, steps = [-1], [0], [dict[str, int]()]
    last = 0
    for word in plain_words(passage):
        new = len(links)
        links.append(0)
        lengths.append(lengths[last] + 1)
        steps.append({})
        place = last
        while place >= 0 and word not in steps[place]:
            steps[place][word] = new
            place = links[place]
        if place >= 0:
            target = steps[place][word]
            if lengths[target] == lengths[place] + 1:
                links[new] = target
            else:
                clone = len(links)
                links.append(links[target])
                lengths.append(lengths[place] + 1)
                steps.append(dict(steps[target]))
                while place >= 0 and steps[place].get(word) == target:
                    steps[place][word] = clone
                    place = links[place]
                links[target] = links[new] = clone
        last = new
    for word in plain_words(text):
        while state and word not in steps[state]:
            state = links[state]
            length = lengths[state]
        if word in steps[state]:
            state = steps[state][word]
            length += 1
        longest = max(longest, length)
    return longest


def markdown(style: Style, answer: dict[str, Any], items: list[dict[str, str]]) -> str:
    """Return items as a Markdown document."""
    return "\n\n".join(_blocks(style, answer, items)) + "\n"


def _blocks(style: Style, answer: dict[str, Any], items: list[dict[str, str]]) -> Iterator[str]:
    if style is Style.EXPLAIN:
        yield answer["explanation"].strip()
    for item in items:
        if style is Style.CLOZE:
            yield f"**Complete:** {_inline(item['question'])}"
            yield f"**Answer:** {_inline(item['answer'])}"
            continue
        yield f"**Question:** {_block(item['question'])}"
        if style is Style.CHOICE:
            yield item["options"]
            yield f"**Answer:** {item['letter']}. {_inline(item['answer'])}"
        else:
            yield f"**Answer:** {_block(item['answer'])}"


def _inline(text: str) -> str:
    return " ".join(text.split())


def _block(text: str) -> str:
    """Return a text whose own lines cannot be taken for the labels of items."""
    return re.sub(r"^(\s*)\*\*(Question|Answer|Complete):\*\*", r"\1\2:", text.strip(), flags=re.MULTILINE)
