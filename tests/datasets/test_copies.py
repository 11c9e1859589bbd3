"""A copy is held against its list where its files are read, whoever reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tootsie.datasets import storage
from tootsie.datasets.copies import check_listed
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.inventory import FETCHED_NAME, JOURNAL_NAME


def copy_of(folder: Path, *names: str) -> list[str]:
    """Make a fetched copy of so many files; return their URLs."""
    urls, lines = [], []
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}")
        urls.append(str(path))
        lines.append(
            json.dumps({"path": name, "size": path.stat().st_size, "sha256": storage.sha256(str(path))})
        )
    (folder / FETCHED_NAME).write_text("\n".join(lines))
    return urls


def digests(*urls: str) -> dict[str, str]:
    return {url: storage.sha256(url) for url in urls}


def test_files_as_listed_pass_at_any_depth(tmp_path: Path) -> None:
    urls = copy_of(tmp_path / "dclm", "a.jsonl", "global/shard/b.jsonl")
    other = tmp_path / "loose.jsonl"
    other.write_text("x")
    assert check_listed(digests(*urls, str(other))) == set(urls)


def test_a_flipped_bit_a_swap_and_an_early_end_are_refused(tmp_path: Path) -> None:
    first, second = (Path(url) for url in copy_of(tmp_path, "a.jsonl", "b.jsonl"))
    whole = first.read_bytes()
    for damage in (bytes([whole[0] ^ 1]) + whole[1:], second.read_bytes(), whole[:-1]):
        first.write_bytes(damage)
        with pytest.raises(ArtefactError, match=r"a\.jsonl.*not the file that its list knows.*data verify"):
            check_listed(digests(str(first), str(second)))


def test_a_copy_that_is_still_being_fetched_is_refused(tmp_path: Path) -> None:
    (url,) = copy_of(tmp_path, "sub/a.jsonl")
    (tmp_path / FETCHED_NAME).rename(tmp_path / JOURNAL_NAME)
    with pytest.raises(ArtefactError, match="has not been fetched to its end"):
        check_listed(digests(url))


def test_a_file_that_was_put_beside_the_copy_is_not_listed(tmp_path: Path) -> None:
    (url,) = copy_of(tmp_path, "a.jsonl")
    own = tmp_path / "own.jsonl"
    own.write_text("mine")
    assert check_listed(digests(url, str(own))) == {url}
