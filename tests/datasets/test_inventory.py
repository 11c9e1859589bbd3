"""Lists of files: read as they come, refused where they cannot be trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.inventory import Algorithm, find_inventory, path_fault, read_inventory


@pytest.mark.parametrize(
    "path",
    ["", "/a", "../a", "a/../b", "a//b", "./a", "a/", "a\\b", "c:/a", "a\0b", "a\nb", "x" * 300, None, 7],
)
def test_paths_that_leave_the_folder(path: object, tmp_path: Path) -> None:
    assert path_fault(path)
    (tmp_path / "list.json").write_text(json.dumps([{"path": path, "size": 1}]))
    with pytest.raises(ArtefactError, match="entry 0, path"):
        read_inventory(str(tmp_path / "list.json"))


@pytest.mark.parametrize("path", ["a", "a/b.jsonl.zst", "quality=high/x y.parquet", "ü/ß", "a/..b", "..."])
def test_paths_that_do_not(path: str) -> None:
    assert path_fault(path) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "names no files"),
        ("[]", "names no files"),
        ('{"path": "a"}\n{"path": ', "list.json:2: neither JSON nor lines of JSON"),
        ('[{"path": "a"}, 7]', "entry 1: an entry is no object"),
        ('[{"path": "a"}, {"path": "a"}]', "entry 1, path: a path stands there twice"),
        ('[{"path": "a"}, {"path": "a/b"}]', "a path is a file and a folder"),
        ('[{"path": "a", "size": "7"}]', "entry 0, size: a whole number is needed"),
        ('[{"path": "a", "size": -1}]', "entry 0, size: a whole number is needed"),
        ('[{"path": "a", "rows": 1.5}]', "entry 0, rows: a whole number is needed"),
        ('[{"path": "a", "sha256": "abc"}]', "entry 0, sha256: 64 hex digits are needed"),
        ('[{"path": "a", "md5": 7}]', "entry 0, md5: 32 hex digits are needed"),
        ("7", "no list of files"),
    ],
)
def test_lists_that_cannot_be_used(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "list.json").write_text(content)
    with pytest.raises(ArtefactError) as caught:
        read_inventory(str(tmp_path / "list.json"))
    assert message in str(caught.value)


def test_the_best_checksum_of_an_entry_is_taken(tmp_path: Path) -> None:
    entry = {"path": "a", "md5": "0" * 32, "sha256": "1" * 64, "oid": "2" * 40}
    (tmp_path / "list.jsonl").write_text(json.dumps(entry))
    (found,) = read_inventory(str(tmp_path / "list.jsonl")).entries
    assert found.checksum is not None
    assert found.checksum.algorithm is Algorithm.SHA256


def test_a_folder_without_a_list_is_not_finished(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="not finished"):
        find_inventory(str(tmp_path))
    (tmp_path / "_fetched.partial.jsonl").write_text("")
    with pytest.raises(ArtefactError, match="fetching it has not been finished"):
        find_inventory(str(tmp_path))
    with pytest.raises(ArtefactError, match="no such list"):
        find_inventory(str(tmp_path), str(tmp_path / "none.jsonl"))
