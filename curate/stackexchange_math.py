r"""Which dollars of a post are formulas: it depends on the site.

Sites with MathJax read ``$…$``; those on which dollars are more often money or programs read ``\$…\$``. Both read ``$$…$$``. On
sites about programs and systems a dollar is a dollar. Where it is not known, what looks like a formula by Pandoc's rule is one.

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
_NONE = """
    android apple askubuntu civicrm craftcms dba devops drupal elementaryos emacs expressionengine joomla magento
    salesforce serverfault sharepoint sitecore sqa stackapps stackoverflow superuser tex tridion unix vi webapps webmasters
    wordpress
    """
PLAIN = frozenset([*_PLAIN.split(), SAMPLE])
"""Sites that write ``$…$``."""
ESCAPED = frozenset(_ESCAPED.split())
r"""Sites that write ``\$…\$``."""
NONE = frozenset(_NONE.split())
"""Sites without MathJax on which dollars are variables of shells and templates."""

_CODE = re.compile(r"(</?(?:pre|code)\b)")
_SPAN = re.compile(r"(`[^`]*`)")
_FORMULA = re.compile(r"\\\$([^$<]*[^$<\\])\\\$")


class Delimiters(StrEnum):
    """How formulas stand in the text of a site."""

    PLAIN = "plain"
    """``$…$``, always."""
    ESCAPED = "escaped"
    r"""``\$…\$``."""
    NONE = "none"
    """Not at all."""
    DOUBTFUL = "doubtful"
    """Not known: where it looks like one."""

    @property
    def dollars(self) -> str:
        """The converter's option ``dollars`` for such a site; see :func:`with_plain_delimiters`."""
        return {"plain": "all", "none": "none"}.get(self.value, "strict")


def delimiters_of(host: str) -> Delimiters:
    """Return how formulas are written on a site or its meta site."""
    labels = host.split(".")
    name = labels[1] if labels[0] == "meta" and host != "meta.stackexchange.com" else labels[0]
    for names, delimiters in (
        (PLAIN, Delimiters.PLAIN),
        (ESCAPED, Delimiters.ESCAPED),
        (NONE, Delimiters.NONE),
    ):
        if name in names:
            return delimiters
    return Delimiters.DOUBTFUL


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
