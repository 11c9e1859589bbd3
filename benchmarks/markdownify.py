"""Documents and megabytes a second of HTML-to-Markdown converters on the same pages, CPU time of one core, and what arrives.

    python benchmarks/markdownify.py [--data ../shared/data] [--sphinx FOLDER] [--rounds 3] [--only arxiv] [--memory]

Each converter sees the same documents; a round takes each in turn, so that a busy machine slows all of them alike; the
table shows the median of the rounds and the ratio to the ``markdownify`` package. Peers that are not installed are left
out (``make bench-peers`` installs them). ``pandoc`` is started for each page and sees every tenth; its ratio is that on these.
Formulas, tables and text are the recall that ``curate.fidelity`` measures: of those on the page, how many stand in the
Markdown, delimited and cell by cell. The last rows are what no converter in Python can undercut: the parsers alone, and
Lexbor with one visit to every node. ``--memory`` adds the peak memory of a page of 2.5 and one of 25 MB.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pages  # this folder's
import peers

# This file bears the name of one of the peers: from here on its own folder must not come first on the path.
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

MEGABYTES = 1.5
SHARE_OF_SLOW = 10
KINDS = ("formulas", "tables", "text")


@dataclass
class Result:
    """What one converter did on one set of pages."""

    rounds: list[dict[int, float]] = field(default_factory=list)
    """CPU seconds by document, for each round."""
    kept: dict[str, float | None] = field(default_factory=dict)
    """Recall by kind; None where the pages have none."""

    def seconds(self, documents: list[int]) -> float:
        """Return the median over rounds of the CPU seconds that ``documents`` took."""
        return statistics.median(sum(taken[index] for index in documents) for taken in self.rounds)


def page_sets(data: Path, sphinx: Path) -> dict[str, tuple[str, list[str]]]:
    """Return the profile and the documents of each set."""
    papers = sorted(pages.arxiv(data), key=len)
    small = [paper for paper in papers[:-4] if len(paper) > 500]
    sets = {
        "arxiv": ("arxiv", pages.spread(small, MEGABYTES)),
        "arxiv, large pages": ("arxiv", papers[-4:]),
        "wikipedia": ("wikipedia", pages.spread(pages.wikipedia(data), 2 * MEGABYTES)),
        "sphinx": ("web", pages.spread(pages.sphinx(sphinx), MEGABYTES)),
        "stackexchange": ("stackexchange", pages.spread(pages.stackexchange(data), MEGABYTES)),
        "web": ("web", pages.spread(pages.web(data), MEGABYTES)),
    }
    for name, (_, documents) in sets.items():
        if not documents:
            print(f"{name}: no pages (see --data, --sphinx)")
    return {name: found for name, found in sets.items() if found[1]}


def measure(profile: str, documents: list[str], rounds: int) -> dict[str, Result]:
    """Run all that is installed on ``documents``, interleaved."""
    converters = {**peers.installed(profile), **peers.parsers()}
    results = {name: Result() for name in converters}
    first: dict[str, dict[int, str]] = {}
    for convert in converters.values():  # what is made once, at the first page, is not the page's cost
        convert(documents[0])
    for number in range(rounds):
        for name, convert in converters.items():
            step = SHARE_OF_SLOW if name in peers.SLOW and len(documents) > SHARE_OF_SLOW else 1
            if name in peers.SLOW and number:
                continue
            gc.collect()
            taken: dict[int, float] = {}
            for index in range(0, len(documents), step):
                markdown, taken[index] = convert(documents[index])
                if not number:
                    first.setdefault(name, {})[index] = markdown
            results[name].rounds.append(taken)
    for name, markdowns in first.items():
        if any(markdowns.values()):
            results[name].kept = recall(
                profile, {documents[index]: text for index, text in markdowns.items()}
            )
    return results


def recall(profile: str, markdowns: dict[str, str]) -> dict[str, float | None]:
    """Return the share of formulas, tables and words of the pages (keys) that stand in their Markdown (values)."""
    from tootsie.curate.fidelity.reading import read_markdown
    from tootsie.curate.fidelity.scores import Score, compare
    from tootsie.curate.fidelity.source import read_source
    from tootsie.curate.markdownify.options import Options

    total = {kind: Score() for kind in KINDS}
    for page, markdown in markdowns.items():
        scores = compare(read_source(page, Options.of(profile)), read_markdown(markdown))
        for kind in KINDS:
            total[kind].add(scores[kind])
    return {kind: score.recall if score.expected else None for kind, score in total.items()}


def show(name: str, documents: list[str], results: dict[str, Result], rounds: int) -> None:
    """Print the table of one set."""
    sizes = [len(document.encode("utf-8", "replace")) / 1e6 for document in documents]
    print(f"\n{name}: {len(documents):,} documents, {sum(sizes):.2f} MB, median of {rounds} rounds")
    print(
        f"  {'':30} {'documents/s':>11} {'MB/s':>7} {'× markdownify':>13} "
        + " ".join(f"{kind + ' %':>10}" for kind in KINDS)
    )
    reference = results.get("markdownify")
    for converter, result in results.items():
        seen = sorted(result.rounds[0])
        seconds = result.seconds(seen)
        ratio = f"{reference.seconds(seen) / seconds:.1f}" if reference else "-"
        shares = [result.kept.get(kind) for kind in KINDS]
        print(
            f"  {converter:30} {len(seen) / seconds:11,.0f} {sum(sizes[index] for index in seen) / seconds:7.2f} {ratio:>13} "
            + " ".join(f"{'-' if share is None else f'{100 * share:.1f}':>10}" for share in shares)
        )


def show_together(measured: list[dict[str, Result]]) -> None:
    """Print the ratios of the LaTeXML sets taken as one: the time of all their pages."""
    total = {
        name: sum(results[name].seconds(sorted(results["markdownify"].rounds[0])) for results in measured)
        for name in measured[0]
        if name not in peers.SLOW and all("markdownify" in results for results in measured)
    }
    print("\narxiv, both sets together, × markdownify:")
    for name, seconds in total.items():
        print(f"  {name:30} {total['markdownify'] / seconds:5.1f}")


_MEMORY = """
import sys
page = open(sys.argv[1]).read()
{setup}
def peak():  # getrusage() would tell the peak of the process that started this one, where that was higher
    return next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
convert("<p>warm</p>")
before = peak()
convert(page)
print(peak() - before)
"""


def show_memory(page: str) -> None:
    """Print by how much the peak memory of a process grows when it converts ``page``, repeated to 2.5 and to 25 MB."""
    import tempfile

    setups = {
        "tootsie": "from tootsie.curate.markdownify import markdownify\nconvert = lambda p: markdownify(p, profile='wikipedia')",
        "markdownify": "import markdownify as m\nconvert = m.markdownify",
        "Lexbor, parse only": "from selectolax.lexbor import LexborHTMLParser as convert",
    }
    print(f"\n{'peak memory, MB':30} {'2.5 MB page':>12} {'25 MB page':>12}")
    body = page[page.find("<section") : page.rfind("</section>") + len("</section>")]
    for name, setup in setups.items():
        grown = []
        for megabytes in (2.5, 25):
            with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
                file.write(
                    f"<html><body>{body * max(1, round(megabytes * 1e6 / len(body.encode())))}</body></html>"
                )
                file.flush()
                command = [sys.executable, "-c", _MEMORY.format(setup=setup), file.name]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                grown.append(f"{float(done.stdout):,.0f}" if done.returncode == 0 else "fails")
        print(f"{name:30} {grown[0]:>12} {grown[1]:>12}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    pages.add_option(parser)
    parser.add_argument("--sphinx", type=Path, default=pages.SPHINX, help="folder of pages made by Sphinx")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="the sets whose names begin so")
    parser.add_argument("--memory", action="store_true", help="measure peak memory too")
    arguments = parser.parse_args()
    sets = page_sets(arguments.data, arguments.sphinx)
    papers = []
    for name, (profile, documents) in sets.items():
        if arguments.only and not name.startswith(arguments.only):
            continue
        results = measure(profile, documents, arguments.rounds)
        show(name, documents, results, arguments.rounds)
        papers += [results] if profile == "arxiv" else []
    if len(papers) > 1:
        show_together(papers)
    if arguments.memory:
        show_memory(max(pages.wikipedia(arguments.data), key=len))


if __name__ == "__main__":
    main()
