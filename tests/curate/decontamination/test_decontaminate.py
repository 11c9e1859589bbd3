"""What is a leak and what is not, the report, the taint, the books."""

from __future__ import annotations

import json

import pytest

from tootsie.curate import cleaning_run
from tootsie.curate.decontamination import pipeline
from tootsie.datasets.contamination import load_report
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.manifest import manifest_sha256

from .conftest import SPEC, rows_of


def record(name: str, text: str, **metadata: object) -> dict[str, object]:
    return {"id": name, "text": text, "source": "s", "metadata": metadata}


def test_the_report(curate, planted, write, evaluations) -> None:
    items = planted.problems(40)
    train = write(
        "train.jsonl", [record("a", items[3].question), record("b", items[3].answer), record("c", "Clean.")]
    )
    result = curate("decontaminate", train, f"--evaluations={evaluations}")
    report = load_report(str(result.folder))
    assert report.matrix == {"files": {"school": {"documents": 2, "items": 1}}}
    assert report.leaked_items == {"school": ["problem-3"]}
    assert report.corpora[0].manifest_sha256 == manifest_sha256(str(result.folder))
    assert report.clears(manifest_sha256(str(result.folder)))
    assert not report.clears("0" * 64)
    assert result.dropped == {"contaminated": 2}
    assert result.manifest.accounting.read == 3
    assert "files\tschool\t2\t1\t40" in result.stdout
    evidence = rows_of(result.folder / "evidence" / "leaks.jsonl.zst")
    assert [(row["document"], row["item"], row["part"]) for row in evidence] == [
        ("files/a", "problem-3", "question"),
        ("files/b", "problem-3", "answer"),
    ]
    assert "nothing to do" in curate("decontaminate", train, f"--evaluations={evaluations}").stdout


def test_an_edited_report_is_refused(curate, write, evaluations) -> None:
    result = curate(
        "decontaminate", write("train.jsonl", [record("a", "Clean.")]), f"--evaluations={evaluations}"
    )
    path = result.folder / "decontamination.json"
    path.write_text(path.read_text().replace('"contaminated": 0', '"contaminated": 1'))
    with pytest.raises(ArtefactError, match="changed after it was written"):
        load_report(str(result.folder))


def test_a_corpus_that_was_only_searched_passes_where_nothing_was_found(
    curate, planted, write, evaluations
) -> None:
    clean = curate(
        "decontaminate",
        write("a.jsonl", [record("a", "Clean.")]),
        f"--evaluations={evaluations}",
        out="clean",
    )
    searched = curate(
        "decontaminate", clean.folder, f"--evaluations={evaluations}", "--report-only", out="searched"
    )
    assert searched.code == 0, searched.stderr
    assert sorted(path.name for path in searched.folder.iterdir()) == [
        "decontamination.json",
        "evidence",
        "tainted.jsonl.zst",
    ]
    assert load_report(str(searched.folder)).clears(manifest_sha256(str(clean.folder)))


def test_what_everybody_quotes_is_no_leak(curate, planted, write) -> None:
    proverb = (
        "he who would learn to fly one day must first learn to stand and walk and run and climb and dance"
    )
    write("items.jsonl", [{"id": 1, "question": f"Who said: {proverb}?", "answer": "Nietzsche"}])
    spec = "sets: {quotes: {files: [items.jsonl], id: id, question: [question], answer: [answer]}}\n"
    train = write("train.jsonl", [record(str(n), f"{n} say {proverb} {n}") for n in range(8)])
    found = curate("decontaminate", train, f"--evaluations={write('e.yaml', spec)}", out="found")
    assert found.code == 0, found.stderr
    assert found.dropped == {"contaminated": 8}
    often = curate(
        "decontaminate", train, f"--evaluations={write('e.yaml', spec)}", "--common-documents=5", out="often"
    )
    assert often.dropped == {}
    # The question's own words at its begin are left, and no document has them.
    assert load_report(str(often.folder)).evaluations[0].undecidable == 0
    write("common.jsonl", [record("c", proverb)])
    known = curate(
        "decontaminate",
        train,
        f"--evaluations={write('k.yaml', spec + 'common: [common.jsonl]')}",
        out="known",
    )
    assert known.dropped == {}


def test_what_cannot_be_looked_for_is_counted(curate, write) -> None:
    write(
        "items.jsonl",
        [{"q": "What is 2 plus 2?", "a": ["4", "four"]}, {"q": "Same words in " * 8, "a": ["none"]}],
    )
    spec = "sets: {sums: {files: [items.jsonl], question: [q], answer: [a]}}\n"
    result = curate(
        "decontaminate", write("t.jsonl", [record("a", "Clean.")]), f"--evaluations={write('e.yaml', spec)}"
    )
    one = load_report(str(result.folder)).evaluations[0]
    assert (one.items, one.parts, one.too_short) == (2, 1, 3)
    assert "3 questions or answers are too short" in result.stdout


def test_taint_follows_what_is_made_from_a_contaminated_document(curate, planted, write, evaluations) -> None:
    items = planted.problems(40)
    base = write("base.jsonl", [record("a", items[3].question), record("b", "Clean.")])
    first = curate("decontaminate", base, f"--evaluations={evaluations}", "--name=base", out="first")
    rows = [
        record("r1", "Put into other words.", derived_from="base/a"),
        record("r2", "Also.", derived_from=["base/b", "base/a"]),
        record("r3", "Fine.", derived_from="base/b"),
        record("r4", "By the name the document gives.", derived_from="s/a"),
    ]
    made = write("made.jsonl", rows)
    options = [f"--evaluations={evaluations}", f"--tainted={first.folder}", "--derived", "--name=made"]
    second = curate("decontaminate", made, *options, out="second")
    assert second.code == 0, second.stderr
    assert second.dropped == {"made from contaminated": 3}
    assert load_report(str(second.folder)).corpora[0].inherited == 3
    third = curate(
        "decontaminate",
        write("again.jsonl", [record("x", "From what was made.", derived_from="made/r1")]),
        f"--evaluations={evaluations}",
        f"--tainted={second.folder}",
        out="third",
    )
    assert third.dropped == {"made from contaminated": 1}
    silent = curate(
        "decontaminate", write("silent.jsonl", [record("x", "Says nothing.")]), *options, out="silent"
    )
    assert silent.code == 2
    assert "do not say what they were made from" in silent.stderr


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"id": 1, "question": "2 plus 2?", "answer": "4"}, "without which none is looked for"),
        ({"id": "\ud800", "question": "What? " * 9, "answer": "4"}, "an id is a string"),
    ],
)
def test_a_set_that_cannot_be_searched_for_is_an_error(curate, write, item, message) -> None:
    write("items.jsonl", [item])
    result = curate(
        "decontaminate", write("t.jsonl", [record("a", "Clean.")]), f"--evaluations={write('e.yaml', SPEC)}"
    )
    assert result.code == 2
    assert message in result.stderr


def test_a_document_that_cannot_be_searched_is_a_counted_drop(
    curate, write, evaluations, monkeypatch
) -> None:
    find = pipeline.EvaluationIndex.find

    def failing(self, text: str) -> list[int]:
        if text == "Odd.":
            raise ValueError("odd")
        return find(self, text)

    monkeypatch.setattr(pipeline.EvaluationIndex, "find", failing)
    rows = [record("a", "Clean."), record("b", "Odd."), record("c", "Odd.")]
    command = ("decontaminate", write("t.jsonl", rows), f"--evaluations={evaluations}")
    assert "2 of 3 records failed" in curate(*command, out="strict").stderr
    result = curate(*command, "--max-failures=1", out="lax")
    assert result.code == 0, result.stderr
    assert sorted(result.documents) == ["a"]
    assert result.dropped == {"stage failed": 2}
    searched = curate(*command, "--max-failures=1", "--report-only", out="searched")
    assert searched.code == 2
    assert "could not be searched: files/b (ValueError: odd)" in searched.stderr


def test_a_missing_field_is_an_error(curate, planted, write) -> None:
    write("items.jsonl", [{"id": 1, "question": "What?"}])
    result = curate(
        "decontaminate", write("t.jsonl", [record("a", "Clean.")]), f"--evaluations={write('e.yaml', SPEC)}"
    )
    assert result.code == 2
    assert "the record has no field 'answer'; it has: id, question" in result.stderr


def test_the_same_bytes_whatever_the_workers(curate, planted, write, evaluations) -> None:
    items = planted.problems(40)
    paths = [
        write(
            f"{n}.jsonl",
            [record(f"{n}-{item.id}", item.question if n % 2 else "Clean.") for item in items[n::4]],
        )
        for n in range(4)
    ]
    one = curate("decontaminate", *paths, f"--evaluations={evaluations}", out="one")
    two = curate("decontaminate", *paths, f"--evaluations={evaluations}", "--workers=2", out="two")
    assert one.code == two.code == 0
    assert one.bytes == two.bytes
    assert json.loads((one.folder / "decontamination.json").read_text())["corpora"][0]["contaminated"] == 20


def test_stopped_at_any_step_it_goes_on_to_the_same_bytes(
    curate, stopped_after, planted, write, evaluations
) -> None:
    items = planted.problems(40)
    paths = [
        write(
            f"{n}.jsonl", [record(f"{n}-{item.id}", item.question if n else "Clean.") for item in items[n::3]]
        )
        for n in range(3)
    ]
    command = ("decontaminate", *paths, f"--evaluations={evaluations}")
    whole = curate(*command, out="whole")
    assert whole.code == 0, whole.stderr
    for module, name in (
        (pipeline.EvaluationIndex, "save"),
        (pipeline, "run_tasks"),
        (pipeline, "_judge_file"),
        (cleaning_run, "run_tasks"),
        (cleaning_run, "write_card"),
        (cleaning_run, "write_manifest"),
    ):
        stopped = stopped_after(module, name, *command, out="stopped")
        assert not (stopped.folder / "decontamination.json").exists()
    for place in ("part-00000-of-00003.jsonl.zst", "rejects/x", "evidence/x"):  # as a killed run leaves them
        (stopped.folder / f"{place}.tmp-0").parent.mkdir(exist_ok=True)
        (stopped.folder / f"{place}.tmp-0").touch()
    again = curate(*command, out="stopped")
    assert again.code == 0
    assert again.bytes == whole.bytes
    assert not (again.folder / "_work").exists()
