"""Decontamination on planted leaks: recall by dress of the leak, false positives on texts that leak nothing, speed.

    python benchmarks/decontamination.py [--items 300] [--texts FOLDER] [--folder /var/tmp]

Floor: recall 0.99 for verbatim and reformatted leaks, less than one false positive in 1,000 common texts. The evaluation set is
that of ``planted_leaks.py``, half of whose questions here quote 18 words of some text. Each item is leaked in each dress, between
other text. Texts that leak nothing: as many problems over the same templates, and the JSON lines in ``--texts`` (default:
``../shared/data/corpora``, left out where it is absent). Beside ours, in the same run, what is flagged when one 13-gram is enough
(``--overlap=0.000001``, as overlap jobs of that kind have it).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from planted_leaks import DRESSES, around, leaking_documents, problems

from tootsie.datasets.storage import read_lines

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ROOT.parent / "shared" / "data" / "corpora"
SPEC = "sets:\n  school: {files: [items.jsonl], id: id, question: [question], answer: [answer]}\n"


def read_texts(folder: Path) -> list[dict[str, Any]]:
    """Return the documents of all files, each with an id of its own."""
    return [
        {"id": f"text/{path.stem}/{number}", "text": json.loads(line)["text"], "source": "s"}
        for path in sorted(folder.glob("*.jsonl"))
        for number, line in enumerate(read_lines(str(path)))
    ]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def flagged(place: Path, output: str, *options: str) -> set[str]:
    """Run the command; return the ids of the documents that it found."""
    command = [
        sys.executable,
        "-m",
        "tootsie.curate",
        "decontaminate",
        str(place / "train.jsonl"),
        str(place / output),
    ]
    evaluations = f"--evaluations={place / 'evaluations.yaml'}"
    subprocess.run([*command, evaluations, "--report-only", *options], check=True, stdout=subprocess.DEVNULL)
    lines = read_lines(str(place / output / "evidence" / "leaks.jsonl.zst"))
    return {json.loads(line)["document"].split("/", 1)[1] for line in lines}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--texts", type=Path, default=TEXTS)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    chance = random.Random(7)
    items = problems(arguments.items)
    texts = read_texts(arguments.texts) if arguments.texts.is_dir() else []
    alike = [
        {"id": f"alike/{item.id}", "text": f"{item.question}\n{item.answer}", "source": "s"}
        for item in problems(arguments.items, seed=11)
    ]
    for number in range(0, len(items) if texts else 0, 2):
        words = chance.choice(texts)["text"].split()
        start = chance.randrange(max(1, len(words) - 18))
        quoted = f"Read this: {' '.join(words[start : start + 18])}. {items[number].question}"
        items[number] = dataclasses.replace(items[number], question=quoted)
    leaks = leaking_documents(items, around)
    records = [item.record() for item in items]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        place = Path(folder)
        write_lines(place / "items.jsonl", records)
        (place / "evaluations.yaml").write_text(SPEC)
        rows = [*(leak.record() for leak in leaks), *alike, *texts]
        write_lines(place / "train.jsonl", rows)
        size = sum(len(row["text"].encode()) for row in rows)
        ours = flagged(place, "ours")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = used.ru_utime + used.ru_stime
        one_hit = flagged(place, "one-hit", "--overlap=0.000001")
    failed = False
    speed = f"{seconds:.1f} CPU s ({size / 1e6 / seconds:.1f} MB a CPU s, with the start of the command)"
    print(f"{len(items):,} items; {len(rows):,} documents, {size / 1e6:.1f} MB, in {speed}")
    print(f"{'recall':24} {'leaks':>7} {'found':>8} {'one 13-gram':>12}")
    totals = Counter(leak.dress for leak in leaks)
    for dress in DRESSES:
        found, naive = (
            sum(leak.dress == dress and leak.id in names for leak in leaks) / totals[dress]
            for names in (ours, one_hit)
        )
        failed |= dress in ("verbatim", "reformatted", "whitespace") and found < 0.99
        print(f"{dress:24} {totals[dress]:7,} {found:8.4f} {naive:12.4f}")
    print(f"{'false positives':24} {'texts':>7} {'found':>8} {'one 13-gram':>12}")
    for name, prefix, count in (
        ("other problems", "alike/", len(alike)),
        ("common texts", "text/", len(texts)),
    ):
        if count:
            found, naive = (sum(one.startswith(prefix) for one in names) / count for names in (ours, one_hit))
            failed |= found >= 0.001
            print(f"{name:24} {count:7,} {found:8.4%} {naive:12.4%}")
        else:
            print(f"{name:24} left out: no files in {arguments.texts}")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
