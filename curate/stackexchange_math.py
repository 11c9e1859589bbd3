r"""Which dollars of a post are formulas: it depends on the site.

Sites with MathJax read ``$…$``; those on which dollars are more often money or programs read ``\$…\$``. Both read ``$$…$$``. On
all other sites a dollar is a dollar; what looks like a formula all the same (by Pandoc's rule) is taken for one.

Source: the ``markdown_extensions`` of sites in the Stack Exchange API; https://codegolf.meta.stackexchange.com for ``\$``.
"""

from __future__ import annotations

import re
from enum import StrEnum

from tootsie.curate.stackexchange_sites import SAMPLE

_PLAIN = """
    ai astronomy biology bioinformatics chemistry computergraphics cs cseducators cstheory crypto datascience dsp
    earthscience economics engineering hsm linguistics math matheducators mathematica mathoverflow mattermodeling or
    philosophy physics proofassistants psychology puzzling quant quantumcomputing robotics scicomp space stats
    """
_ESCAPED = "codegolf codereview electronics rpg"
PLAIN = frozenset([*_PLAIN.split(), SAMPLE])
"""Sites that write ``$…$``."""
ESCAPED = frozenset(_ESCAPED.split())
r"""Sites that write ``\$…\$``."""

_CODE = re.compile(r"(</?(?:pre|code)\b)")
_SPAN = re.compile(r"(`[^`]*`)")
_FORMULA = re.compile(r"\\\$([^$<]*[^$<\\])\\\$")


class Delimiters(StrEnum):
    """How formulas stand in the text of a site."""

    PLAIN = "plain"
    """``$…$``, always."""
    ESCAPED = "escaped"
    r"""``\$…\$``."""
    DOUBTFUL = "doubtful"
    """Where it looks like one."""


def delimiters_of(host: str) -> Delimiters:
    """Return how formulas are written on a site or its meta site."""
    name = host.split(".")[1 if host.startswith("meta.") and not host.startswith("meta.stack") else 0]
    if name in PLAIN:
        return Delimiters.PLAIN
    return Delimiters.ESCAPED if name in ESCAPED else Delimiters.DOUBTFUL


def with_plain_delimiters(text: str, *, html: bool) -> str:
    r"""Return a text in which ``\$…\$`` are formulas with delimiters that mean nothing else; code stays as it is.

    Args:
      text: HTML, in which they become ``\(…\)``, or the Markdown of titles and comments, in which they become ``$…$``.
      html: which of them.
    """
    if "\\$" not in text:
        return text
    pieces = (_CODE if html else _SPAN).split(text)
    depth = 0
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            if not depth:
                pieces[index] = _FORMULA.sub(r"\\(\1\\)" if html else r"$\1$", piece)
        elif html:
            depth = max(depth + (-1 if piece.startswith("</") else 1), 0)
    return "".join(pieces)
