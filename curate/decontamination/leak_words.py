"""The words by which a leak is found: letters and digits, whatever the layout."""

from __future__ import annotations

import re

from tootsie.curate.ngrams import plain_words

# "1. ", "(a) ", "B) " at the begin of a line, behind quote and list markers: the numbers of choices and steps come and go.
_ENUMERATOR = re.compile(r"^[ \t>*+#-]*+\(?(?:[0-9]{1,2}|[A-Za-z])[.)][ \t]++", re.MULTILINE)


def leak_words(text: str) -> list[str]:
    """Return the words of a text: see :func:`tootsie.curate.ngrams.plain_words`; without the numbering of lines."""
    return plain_words(_ENUMERATOR.sub("", text))
