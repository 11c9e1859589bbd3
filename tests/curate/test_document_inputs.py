"""Documents have numbers across all inputs, and what is no document is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tootsie.curate.document_inputs import Unreadable, find_corpora, read_numbered
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError, InputError, SpecError


def line(name: str) -> str:
    return json.dumps({"id": name, "text": "x", "source": "s"})


def test_numbers_go_on_from_file_to_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f"{line('a')}\n{line('b')}\n")
    (tmp_path / "b.jsonl").write_text("")
    (tmp_path / "c.jsonl").write_text(f"{line('c')}\nno document\n")
    (corpus,) = find_corpora([str(tmp_path / "*.jsonl")], "mine")
    assert (corpus.source, corpus.documents, corpus.manifest_sha256) == ("mine", 4, None)
    found = [pair for file in corpus.files for pair in read_numbered(file)]
    assert [number for number, _ in found] == [0, 1, 2, 3]
    assert [one.id for _, one in found if isinstance(one, Document)] == ["a", "b", "c"]
    last = found[-1][1]
    assert isinstance(last, Unreadable)
    assert last.line == b"no document"
    assert "record 1" in last.problem


def test_a_file_that_changed_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{line('a')}\n")
    (corpus,) = find_corpora([str(path)])
    for content in ("", f"{line('a')}\n{line('b')}\n"):
        path.write_text(content)
        with pytest.raises(InputError, match="when the run began"):
            list(read_numbered(corpus.files[0]))


def test_what_is_no_input_is_refused(curate, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ArtefactError, match="not a finished corpus"):
        find_corpora([str(tmp_path / "folder")])
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(InputError, match="not a document file by its name"):
        find_corpora([str(tmp_path / "a.txt")])
    (tmp_path / "a.jsonl").write_text(f"{line('a')}\n")
    done = curate("dedup", tmp_path / "a.jsonl", "--name=one", out="one")
    with pytest.raises(SpecError, match="2 of the inputs have this name"):
        find_corpora([str(done.folder), str(done.folder)])
    (tmp_path / "empty.jsonl").write_text("")
    nothing = curate("dedup", tmp_path / "empty.jsonl", out="nothing")
    assert nothing.code == 2
    assert "no documents in the inputs" in nothing.stderr
    bad_name = curate("dedup", tmp_path / "a.jsonl", "--name=../up", out="bad")
    assert bad_name.code == 2
    assert "../up" in bad_name.stderr
    inside = curate("dedup", done.folder, out="one/inner")
    assert "must not lie inside an input" in inside.stderr
