"""Recall on planted leaks, and false positives on texts that leak nothing."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

from .conftest import SPEC, rows_of


def test_recall_by_dress(curate, planted, write, evaluations) -> None:
    leaks = planted.leaking_documents(planted.problems(40), planted.around)
    chance = random.Random(1)
    clean = [{"id": f"clean-{n}", "text": planted.around(chance), "source": "s"} for n in range(60)]
    # Other problems over the same templates leak nothing.
    alike = [
        {"id": f"alike-{n}", "text": f"{item.question}\n{item.answer}", "source": "s"}
        for n, item in enumerate(planted.problems(60, seed=9))
    ]
    path = write("train.jsonl", [*(leak.record() for leak in leaks), *clean, *alike])
    result = curate("decontaminate", path, f"--evaluations={evaluations}")
    assert result.code == 0, result.stderr
    gone = {row.id for row in result.rejects}
    found = Counter(leak.dress for leak in leaks if leak.id in gone)
    assert dict(found) == dict.fromkeys(planted.DRESSES, 40)
    assert gone == {leak.id for leak in leaks}
    evidence = rows_of(result.folder / "evidence" / "leaks.jsonl.zst")
    item_of = {f"files/{leak.id}": leak.item for leak in leaks}
    assert all(row["item"] == item_of[row["document"]] for row in evidence)


def test_common_texts_are_not_flagged(curate, planted, write, shared_data: Path) -> None:
    """Real texts of 13 kinds, beside questions half of which quote a sentence's worth of them."""
    rows = []
    for path in sorted((shared_data / "corpora").glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            rows.append({"id": f"{path.stem}-{number}", "text": json.loads(line)["text"], "source": "s"})
    chance = random.Random(3)
    items = [item.record() for item in planted.problems(200)]
    for item in items[::2]:
        words = chance.choice(rows)["text"].split()
        start = chance.randrange(max(1, len(words) - 18))
        item["question"] = f"Read this: {' '.join(words[start : start + 18])}. {item['question']}"
    write("items.jsonl", items)
    evaluations = write("evaluations.yaml", SPEC)
    result = curate(
        "decontaminate", write("train.jsonl", rows), f"--evaluations={evaluations}", "--report-only"
    )
    assert result.code == 0, result.stderr
    report = json.loads((result.folder / "decontamination.json").read_text())
    assert report["corpora"][0]["documents"] == len(rows) > 1000
    assert report["corpora"][0]["contaminated"] < 0.001 * len(rows)
