from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tootsie.curate.quality import attributes_command, scorers
from tootsie.datasets.errors import SpecError
from tootsie.datasets.storage import read_lines

pytest.importorskip("spacy", reason="the filters' packages are not installed: pip install 'tootsie[filters]'")
pytest.importorskip(
    "py3langid", reason="the identifier of languages is not installed: pip install 'tootsie[language]'"
)
ENGLISH = "The quick brown fox jumps over the lazy dog, and nobody that we know of minds it at all. "
GERMAN = (
    "Der schnelle braune Fuchs springt über den faulen Hund, und niemand, den wir kennen, hat etwas dagegen. "
)
TEXTS = [ENGLISH * 12, GERMAN * 12, "", "$x$", ENGLISH]
SCORERS = "language:en,de; gopher_quality"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Three files of documents, one compressed, of which one line is broken."""
    folder = tmp_path / "documents"
    folder.mkdir()
    rows = [json.dumps({"id": f"d{n}", "text": text, "source": "x"}) for n, text in enumerate(TEXTS)]
    (folder / "a.jsonl").write_text("".join(row + "\n" for row in rows[:3]))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress((rows[3] + "\n").encode()))
    (folder / "c.jsonl").write_text(rows[4] + "\n")
    return folder


def attributes(folder: Path) -> dict[str, dict[str, float]]:
    found = {}
    for path in sorted(folder.glob("*.jsonl*")):
        for line in read_lines(str(path)):
            row = json.loads(line)
            found[row["id"]] = {key: spans[0][2] for key, spans in row["attributes"].items()}
    return found


def test_scores_are_written_and_filtered_by(curate, documents: Path, tmp_path: Path) -> None:
    inputs = documents / "*.jsonl*"
    result = curate("attributes", inputs, f"--scorers={SCORERS}", out="q")
    assert result.code == 0, result.stderr
    found = attributes(result.folder)
    assert list(found) == [f"d{n}" for n in range(5)]
    english, german, kept = "q__language__en", "q__language__de", "q__gopher_quality__keep"
    assert all(list(scores) == [english, german, kept] for scores in found.values())
    assert found["d0"][english] > 0.9 > found["d1"][english]
    assert found["d1"][german] > 0.9
    assert found["d2"] == found["d3"] == {english: 0.0, german: 0.0, kept: 0.0}
    assert [found[f"d{n}"][kept] for n in (0, 4)] == [1.0, 0.0]
    report = json.loads((result.folder / "attributes.json").read_text())
    assert report["keys"] == [english, german, kept]
    assert not (result.folder / "_work").exists()
    assert "nothing to do" in curate("attributes", inputs, f"--scorers={SCORERS}", out="q").stdout
    other = curate("attributes", inputs, "--scorers=language:en", out="q")
    assert other.code == 2
    assert "--overwrite" in other.stderr
    (tmp_path / "f.yaml").write_text(
        f"filters: [attribute: {{folder: {result.folder}, key: {english}, min: 0.5}}]\n"
    )
    filtered = curate("filter", inputs, f"--filters={tmp_path}/f.yaml", out="good")
    assert filtered.code == 0, filtered.stderr
    assert sorted(filtered.documents) == ["d0", "d4"]
    (result.folder / "b.jsonl.gz").unlink()
    assert curate("filter", inputs, f"--filters={tmp_path}/f.yaml", out="less").code == 2


def test_the_same_bytes_whatever_the_workers_and_after_a_stop(
    curate, documents: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def bytes_of(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(folder.glob("*")) if path.is_file()}

    inputs, command = documents / "*.jsonl*", f"--scorers={SCORERS}"
    one = curate("attributes", inputs, command, out="one/q")
    two = curate("attributes", inputs, command, "--workers=2", out="two/q")
    assert one.code == two.code == 0, two.stderr
    assert bytes_of(one.folder) == bytes_of(two.folder)
    write = attributes_command.AttributeWriter.__call__

    def stop(self: object, task: tuple[int, object]) -> None:
        if task[0] == 1:
            raise KeyboardInterrupt
        write(self, task)

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="KeyboardInterrupt"):
        patch.setattr(attributes_command.AttributeWriter, "__call__", stop)
        curate("attributes", inputs, command, out="three/q")
    stopped = one.folder.parent.parent / "three" / "q"
    assert not (stopped / "attributes.json").exists()
    (stopped / "a.jsonl.tmp-0").touch()  # as a killed run leaves it
    assert curate("attributes", inputs, command, out="three/q").code == 0
    assert bytes_of(stopped) == bytes_of(one.folder)


def test_a_document_without_a_score_is_a_failure_and_never_kept(
    curate, documents: Path, tmp_path: Path
) -> None:
    (documents / "c.jsonl").write_text('{"id": "e", "text": "no address", "source": "x"}\nno json\n')
    inputs = documents / "c.jsonl"
    strict = curate("attributes", inputs, "--scorers=url", out="strict")
    assert strict.code == 2
    assert "2 of 2 documents could not be scored" in strict.stderr
    result = curate("attributes", inputs, "--scorers=url", "--max-failures=1", out="q")
    assert result.code == 0, result.stderr
    assert [json.loads(line)["attributes"] for line in read_lines(str(result.folder / "c.jsonl"))] == [{}, {}]
    (tmp_path / "f.yaml").write_text(
        f"filters: [attribute: {{folder: {result.folder}, key: q__url__keep, min: 0.5}}]\n"
    )
    filtered = curate("filter", inputs, f"--filters={tmp_path}/f.yaml", "--max-failures=1", out="good")
    assert filtered.code == 2
    assert "no such attribute" in filtered.stderr


def test_a_model_scores_each_document_as_it_does_alone(curate, documents: Path, tmp_path: Path) -> None:
    from tootsie.curate.datashop.scorer import ScorerModel

    weights = np.random.default_rng(0).normal(size=1 << 12).astype(np.float32)
    model = ScorerModel(weights, 0.25, 12)
    model.save(str(tmp_path / "taste.npz"))
    result = curate("attributes", documents / "*.jsonl*", f"--scorers=model:{tmp_path}/taste.npz", out="q")
    assert result.code == 0, result.stderr
    found = [scores["q__taste__score"] for scores in attributes(result.folder).values()]
    expected = model.probabilities([text.encode() for text in TEXTS]).tolist()
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "language:xx",
        "language:",
        "model:none.npz",
        "model:",
        "gopher",
        "url; url",
        "language:en; language:de",
    ],
)
def test_mistakes_in_scorers_are_named(text: str) -> None:
    with pytest.raises(SpecError):
        scorers.parse_scorers(text)


def test_the_name_of_the_folder_is_part_of_the_keys() -> None:
    with pytest.raises(SpecError, match="OUT"):
        scorers.check_experiment("a__b")
    assert scorers.check_experiment("a_b-1.2") == "a_b-1.2"
