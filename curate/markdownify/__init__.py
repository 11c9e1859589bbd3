"""HTML to Markdown at full fidelity: formulas byte for byte, tables on their grid, code verbatim, notes as notes.

>>> from tootsie.curate.markdownify import markdownify
>>> markdownify("<p>Let <math alttext='x^{2}'></math> be &lt;large&gt;.</p>")
'Let $x^{2}$ be \\\\<large>.\\n'
"""

from tootsie.curate.markdownify.conversion import Conversion, convert, markdownify
from tootsie.curate.markdownify.converter import MarkdownConverter
from tootsie.curate.markdownify.element_rules import abstract_inline_conversion, chomp
from tootsie.curate.markdownify.options import Dollars, Images, Limits, Links, Options, Profile, References
from tootsie.curate.markdownify.style import (
    ASTERISK,
    ATX,
    ATX_CLOSED,
    BACKSLASH,
    LSTRIP,
    RSTRIP,
    SETEXT,
    SPACES,
    STRIP,
    STRIP_ONE,
    UNDERLINED,
    UNDERSCORE,
    Style,
)
from tootsie.curate.markdownify.trace import dropped_text

__all__ = [
    "ASTERISK",
    "ATX",
    "ATX_CLOSED",
    "BACKSLASH",
    "LSTRIP",
    "RSTRIP",
    "SETEXT",
    "SPACES",
    "STRIP",
    "STRIP_ONE",
    "UNDERLINED",
    "UNDERSCORE",
    "Conversion",
    "Dollars",
    "Images",
    "Limits",
    "Links",
    "MarkdownConverter",
    "Options",
    "Profile",
    "References",
    "Style",
    "abstract_inline_conversion",
    "chomp",
    "convert",
    "dropped_text",
    "markdownify",
]
