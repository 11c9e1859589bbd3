"""The parts every generated paper is made of: phrases with alternatives, tables, authors and the LaTeX frame.

``say`` expands a template of running text. ``[[one||another]]`` stands for one of its alternatives (they nest), and
``<<name>>`` for a value. All choices come from the ``random.Random`` that is passed in, so a seed fixes a paper.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

GIVEN = [
    "Amara",
    "Bjørn",
    "Chiara",
    "Dmitri",
    "Elif",
    "Farid",
    "Greta",
    "Hiroko",
    "Inés",
    "Joaquín",
    "Kwame",
    "Leïla",
    "Mirek",
    "Noémie",
    "Oksana",
    "Paweł",
    "Rosalind",
    "Søren",
    "Tarek",
    "Ursula",
    "Viktória",
    "Yara",
]
FAMILY = [
    "Abernathy",
    "Böhm",
    "Castellanos",
    "Dlamini",
    "Eriksson",
    "Fontaine",
    "Grünwald",
    "Haruki",
    "Ionescu",
    "Jankowski",
    "Kapoor",
    "Lefèvre",
    "Mbeki",
    "Novák",
    "Oyelaran",
    "Pettersson",
    "Quispe",
    "Rossi",
    "Şahin",
    "Thorne",
    "Uzun",
    "Vasquez",
    "Wójcik",
    "Ylönen",
]
PLACES = [
    "Institute of Worked Examples",
    "Department of Reproducible Arithmetic",
    "Centre for Small Computations",
    "Invented University",
    "Laboratory of Plain Models",
    "School of Patient Calculation",
]
THANKS = [
    "We thank the anonymous readers of an earlier draft for catching two sign errors.",
    "The computations took less than a minute on an old laptop; no animals and no supercomputers were harmed.",
    "This note grew out of an exercise class, and we are grateful to the students who refused to accept our first proof.",
    "The authors declare no competing interests beyond a preference for closed formulas.",
    "No funding was asked for and none was received.",
    "Part of this work was done while the first author was waiting for a train.",
]
CODE = [
    "All numbers in the tables were computed by a short program with fixed random seeds and can be reproduced exactly.",
    "Every entry of the tables was computed for this text; none is quoted from the literature.",
    "The program that produced the tables is about fifty lines long and uses no libraries.",
    "Readers who distrust a number in a table are invited to recompute it; nothing more than a pocket calculator or a few lines of code is needed.",
]


@dataclass
class Paper:
    """A paper before it is LaTeX. ``body`` is a list of finished LaTeX blocks."""

    title: str
    abstract: str
    body: list[str]
    references: dict[str, str]  # key to formatted entry
    packages: Sequence[str] = ("amsmath", "amssymb", "amsthm", "booktabs")
    macros: Sequence[str] = field(default_factory=tuple)


def say(rng: random.Random, template: str, **values: object) -> str:
    """Expand alternatives and values in ``template``; line breaks and indents of the template do not matter."""
    innermost = re.compile(r"\[\[((?:(?!\[\[|\]\]).)*)\]\]", re.DOTALL)
    text = template
    while match := innermost.search(text):
        text = text[: match.start()] + rng.choice(match.group(1).split("||")) + text[match.end() :]
    text = re.sub(r"<<(\w+)>>", lambda found: str(values[found.group(1)]), text)
    return "\n\n".join(re.sub(r"[ \t]*\n[ \t]*", "\n", part.strip()) for part in re.split(r"\n\s*\n", text))


def some(rng: random.Random, count: int, *paragraphs: str) -> list[str]:
    """Return ``count`` of the paragraphs in random order, for remarks that do not build on one another."""
    chosen = list(paragraphs)
    rng.shuffle(chosen)
    return chosen[:count]


def table(label: str, caption: str, columns: str, head: str, rows: Sequence[Sequence[object]]) -> str:
    """A booktabs table; ``head`` is LaTeX (one or more lines), ``rows`` are cells."""
    lines = " \\\\\n".join(" & ".join(str(cell) for cell in row) for row in rows)
    return (
        f"\\begin{{table}}[ht]\n\\centering\n\\caption{{{caption}}}\\label{{{label}}}\n\\begin{{tabular}}{{{columns}}}\n"
        f"\\toprule\n{head} \\\\\n\\midrule\n{lines} \\\\\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}"
    )


def sci(value: float, digits: int = 2) -> str:
    """Scientific notation in math mode: ``$1.23\\times10^{-4}$``."""
    if value == 0:
        return "$0$"
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"${mantissa}\\times10^{{{int(exponent)}}}$"


def thousands(value: int) -> str:
    """An integer with thin spaces between groups of three digits."""
    return f"{value:,}".replace(",", "\\,")


def section(title: str, *blocks: str) -> str:
    """A section of blocks, separated by empty lines."""
    return "\n\n".join([f"\\section{{{title}}}", *blocks])


def people(rng: random.Random) -> str:
    """One to three invented authors; some carry an affiliation."""
    count = rng.randint(1, 3)
    given, family = rng.sample(GIVEN, count), rng.sample(FAMILY, count)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=False)]
    style = rng.randrange(3)
    if style == 0:
        return " \\and ".join(f"{name}\\\\ {rng.choice(PLACES)}" for name in names)
    if style == 1:
        return (
            names[0] + f"\\thanks{{{rng.choice(PLACES)}.}}" + "".join(f" \\and {name}" for name in names[1:])
        )
    return " \\and ".join(names)


def latex(paper: Paper, rng: random.Random) -> str:
    """The whole document."""
    packages = "".join(f"\\usepackage{{{name}}}\n" for name in ("inputenc", *paper.packages)).replace(
        "\\usepackage{inputenc}", "\\usepackage[utf8]{inputenc}"
    )
    theorems = "".join(
        f"\\newtheorem{{{name}}}{{{name.capitalize()}}}[section]\n"
        for name in ("theorem", "lemma", "proposition", "remark")
    )
    entries = "".join(f"\\bibitem{{{key}}} {entry}\n" for key, entry in paper.references.items())
    closing = f"\\section*{{{rng.choice(['Acknowledgements', 'Notes', 'Remarks on the computation'])}}}\n"
    closing += " ".join(rng.sample([rng.choice(THANKS), rng.choice(CODE)], 2))
    return "\n".join(
        [
            "\\documentclass{article}",
            packages
            + theorems
            + "".join(f"{macro}\n" for macro in paper.macros)
            + f"\\title{{{paper.title}}}",
            f"\\author{{{people(rng)}}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle",
            f"\\begin{{abstract}}\n{paper.abstract}\n\\end{{abstract}}\n",
            "\n\n".join(paper.body),
            "\n" + closing,
            f"\n\\begin{{thebibliography}}{{9}}\n{entries}\\end{{thebibliography}}\n\\end{{document}}\n",
        ]
    )
