"""In which language a document is written, told by its text.

The identifier is py3langid (naive Bayes over byte n-grams, 139 languages), whose model is in its wheel: nothing is fetched.
Source: Lui and Baldwin, langid.py: An Off-the-shelf Language Identification Tool, ACL 2012.
"""

from __future__ import annotations

import functools
import importlib.metadata
import re
from collections.abc import Sequence
from typing import Any

from tootsie.datasets.errors import SpecError

SAMPLE_CHARACTERS = 2_000
"""How much of a text is looked at, from its beginning."""
CONFIDENCE = 0.9
"""A less certain answer is ``und``."""
UNDETERMINED = "und"
"""ISO 639-2 for: cannot be told."""
_NO_LANGUAGE = re.compile(
    r"\$\$[^$]*\$\$|\$[^$\n]*\$|```.*?```|`[^`\n]*`|https?://\S+|[\d|#*_\\-]+", re.DOTALL
)


def identifier_version(option: str = "--languages") -> str:
    """Return name and version of the identifier.

    Args:
      option: what needs it.

    Raises:
      SpecError: the package is not installed.
    """
    try:
        return f"py3langid {importlib.metadata.version('py3langid')}"
    except importlib.metadata.PackageNotFoundError:
        raise SpecError(
            "the language of these documents has to be identified, which needs another package",
            field=option,
            remedy="pip install 'tootsie[language]'"
            + (", or --no-identify-language" if "identify" in option else "")
            + (", or set it to false" if option == "check.language" else ""),
        ) from None


@functools.cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def known_languages() -> frozenset[str]:
    """Return the ISO 639 codes that the identifier tells apart."""
    return frozenset(map(str, _identifier().nb_classes))


def _sample(text: str) -> str:
    """Return what is looked at of a text."""
    words = _NO_LANGUAGE.sub(" ", text[: 10 * SAMPLE_CHARACTERS])
    return " ".join(words.split())[:SAMPLE_CHARACTERS]


def identify(text: str) -> str:
    """Return the ISO 639 code of the language of a Markdown text; ``und`` where it cannot be told.

    Formulas, code and figures are left out: they are in no language.
    """
    sample = _sample(text)
    if not sample:
        return UNDETERMINED
    language, confidence = _identifier().classify(sample)
    return str(language) if confidence >= CONFIDENCE else UNDETERMINED


def ranked(text: str) -> dict[str, float]:
    """Return how probable each known language is for a Markdown text; nothing where there is nothing to tell it by."""
    sample = _sample(text)
    return {str(code): float(value) for code, value in _identifier().rank(sample)} if sample else {}


def probabilities(text: str, codes: Sequence[str]) -> dict[str, float]:
    """Return how probable each of some languages is for a Markdown text; 0 where there is nothing to tell it by."""
    found = ranked(text)
    return {code: round(found.get(code, 0.0), 6) for code in codes}
