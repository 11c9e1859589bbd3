"""What tells a good question from a bad one in English, by its words; questions in other languages pass all of it.

Small models ask "What is X?" of almost any sentence with an X in it. Most of these sentences do not say what X is.
"""

from __future__ import annotations

import re

from tootsie.curate.ngrams import plain_words

_ASKED = re.compile(
    r"(?:what|who)(?: (?P<verb>is|are|was|were)|'s)(?: the (?:definition|meaning) of)?(?: an?| the)? (?P<term>[^,;:?]{1,80})\?",
    re.IGNORECASE,
)
_LONGEST_TERM = 4
"""Words; a longer one, or one with a word of these, asks for a property, not for a definition:"""
_PROPERTY = frozenset(
    ("of", "in", "between", "for", "by", "from", "to", "with", "on", "at", "about", "as", "that", "which")
)
_COPULA = re.compile(r"\b(?:is|are|was|were|means|refers to)\b|(?<=\w):(?=\s)", re.IGNORECASE)
_AFTER = frozenset(("of", "or", "and", "in", "for", "from", "to", "as"))
_MANY = frozenset(("are", "were"))
_ADVERBS = r"(?:(?:not|also|often|once|now|still|just|then|always|sometimes|\w+ly),? )*"
_NO_NOUN = re.compile(
    _ADVERBS
    + r"(?:\w+ed|\w+ing|known|made|found|given|seen|born|built|kept|held|taken|shown|drawn|written|in|on|at|from|of|to|by|with|"
    r"as|so|very|too|more|less|able|similar|useful|important|common|popular|essential|necessary|famous|different|unique|among|"
    r"that|why|how|when|where|because|due)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(
    r"\b(?:a (?!one\b|eu|uni|use|us\b)[aeiou][a-z]|an (?!hour|hono|heir)[b-df-hj-np-tv-z][a-z])",
    re.IGNORECASE,
)
_ENDINGS = ("ically", "ings", "edly", "ing", "ies", "ied", "ed", "es", "ly", "s", "e", "y", "d")
_SECOND = re.compile(r"\band (?:how|what|why|when|where|who|which)\b", re.IGNORECASE)
_ASIDE = re.compile(
    r"(?:while|although|though|because|since|if|when|as|unless|until|where|whereas)\b", re.IGNORECASE
)
_POINTER = re.compile(r"\b(?:this|these|those|here|current|following|above|below)\b", re.IGNORECASE)
_NAME = re.compile(r"what (?:is|was) the name (?:of|for)\b", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:called|named|known as|dubbed|termed)\b", re.IGNORECASE)
_USED = re.compile(r"what (?:is|are|was|were) .{1,80}? used (?:for|in|as)\b", re.IGNORECASE)
_USE = re.compile(r"\b(?:us(?:e|es|ed|ing|age|eful)|employed|applied|applications?|serves?)\b", re.IGNORECASE)
_WHO_IS_NOBODY = re.compile(r"[Ww]ho (?:is|was|are|were) (?:an? |the )?[a-z]+\?")


def root(word: str) -> str:
    """Return a word without its ending, the same for its forms; what is left has three letters or more."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            return word[: -len(ending)]
    return word


def asks_twice(question: str) -> bool:
    """Return whether two questions are asked in one: *What is X and how does it …*."""
    return _SECOND.search(question) is not None


def ill_formed(question: str) -> str | None:
    """Return what is wrong with a question: an article (*a astronaut*), or that it points at a text nobody sees (*these*)."""
    if _ARTICLE.search(question):
        return "a wrong article"
    return "the question points at something" if _POINTER.search(question) else None


def _ends_a_phrase(term: list[str], subject: str) -> bool:
    """Return whether a term stands in a subject and what follows it, if anything, is a mark or a preposition: no longer noun."""
    tokens = re.findall(r"\w+|[^\w\s-]", subject.casefold())
    wanted = [root(word) for word in term]
    for start in range(len(tokens) - len(wanted) + 1):
        end = start + len(wanted)
        if [root(token) for token in tokens[start:end]] == wanted and (
            end == len(tokens) or not tokens[end].isalnum() or tokens[end] in _AFTER
        ):
            return True
    return False


def asks_for_another_definition(question: str, answer: str) -> bool:
    """Return whether a question asks what or who something is, its name or use, and the answer does not say that.

    The answer must have the term before its first copula (or colon), the number of both must agree, and no participle or
    preposition may follow: *X is a …*, *X are …*, *X: …*, but not *X is used …*.
    """
    if _WHO_IS_NOBODY.fullmatch(question):
        return True
    for asks, says in ((_NAME, _NAMED), (_USED, _USE)):
        if asks.match(question) and not says.search(answer):
            return True
    asked = _ASKED.fullmatch(question.strip())
    if asked is None:
        return False
    term = plain_words(asked["term"])
    if not term or len(term) > _LONGEST_TERM or _PROPERTY.intersection(term):
        return False
    copula = _COPULA.search(answer)
    if copula is None or _ASIDE.match(answer):
        return True
    subject = plain_words(answer[: copula.start()])
    if not _ends_a_phrase(term, answer[: copula.start()]):
        return True
    if copula[0] == ":" and len(subject) > len(term):
        return True
    many = copula[0].lower() in _MANY
    if copula[0] != ":" and set(term) <= set(subject) and many != ((asked["verb"] or "is").lower() in _MANY):
        return True
    return _NO_NOUN.match(answer[copula.end() :].lstrip()) is not None
