"""Write the generated papers of the sample arXiv dump.

A paper is a topic, its parameters and a seed; the numbers in it are computed, the phrases chosen at random. The same
version of this program writes the same bytes everywhere. Only the standard library is used.

    python datasets/sample/arxiv/generate.py                  # rewrites sources/2404.1*.tex
    python datasets/sample/arxiv/generate.py --target DIR --only 2404.10001 2404.10002
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from pathlib import Path

from topics.bloom import bloom
from topics.coverage import coverage
from topics.descent import descent
from topics.distances import distances
from topics.drift import drift
from topics.epidemic import epidemic
from topics.exercises import exercises
from topics.kepler import kepler
from topics.markov import markov
from topics.paper import Paper, latex
from topics.pell import pell
from topics.primes import primes
from topics.quicksort import quicksort
from topics.steps import steps

SOURCES = Path(__file__).resolve().parent / "sources"
CATALOGUE: list[tuple[Callable[..., Paper], tuple[object, ...]]] = [
    (primes, (4, 100_000)),
    (pell, (13,)),
    (steps, ("logistic", 8)),
    (kepler, ("Mercury",)),
    (coverage, ("proportion", 20)),
    (markov, ("weather",)),
    (epidemic, (2.5, 0.2)),
    (drift, (20, 0.3)),
    (descent, (25,)),
    (bloom, (10_000, 10)),
    (quicksort, (3,)),
    (distances, (0.3, 70)),
    (primes, (3, 60_000)),
    (pell, (46,)),
    (steps, ("forced", 12)),
    (kepler, ("comet Halley",)),
    (coverage, ("mean", 8)),
    (markov, ("umbrellas",)),
    (epidemic, (1.4, 0.5)),
    (drift, (50, 0.1)),
    (descent, (100,)),
    (bloom, (4_000, 6)),
    (quicksort, (1,)),
    (distances, (0.25, 65)),
    (primes, (8, 150_000)),
    (pell, (29,)),
    (steps, ("riccati", 16)),
    (kepler, ("Mars",)),
    (coverage, ("rate", 12)),
    (markov, ("board",)),
    (epidemic, (4.0, 0.1)),
    (drift, (10, 0.5)),
    (descent, (400,)),
    (bloom, (20_000, 14)),
    (distances, (1.0, 72)),
    (primes, (5, 80_000)),
    (pell, (94,)),
    (steps, ("gompertz", 10)),
    (kepler, ("Pluto",)),
    (epidemic, (1.8, 0.25)),
    (distances, (0.315, 67.4)),
    (kepler, ("comet Encke",)),
    (pell, (31,)),
    (drift, (100, 0.02)),
    (primes, (7, 120_000)),
    (kepler, ("Earth",)),
    (distances, (0.2, 75)),
    (pell, (61,)),
]


def identifiers() -> list[str]:
    """The paper ids, in the order of the catalogue."""
    return [f"2404.{10001 + number}" for number in range(len(CATALOGUE))]


def write(identifier: str, target: Path) -> Path:
    """Write one paper into the folder ``target``."""
    topic, parameters = CATALOGUE[identifiers().index(identifier)]
    rng = random.Random(f"sample arxiv {identifier}")
    path = target / f"{identifier}.tex"
    paper = topic(rng, *parameters)
    paper.body.append(exercises(rng, topic.__name__))
    text = latex(paper, rng)
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # keeps the time of unchanged files
        path.write_text(text, encoding="utf-8", newline="\n")
    return path


def main(argv: list[str] | None = None) -> None:
    """Read the command line and write the papers asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", type=Path, default=SOURCES, help="folder for the .tex files")
    parser.add_argument(
        "--only", nargs="+", choices=identifiers(), metavar="ID", help="write these papers only"
    )
    arguments = parser.parse_args(argv)
    for identifier in arguments.only or identifiers():
        print(write(identifier, arguments.target).name)


if __name__ == "__main__":
    main()
