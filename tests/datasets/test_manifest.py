"""Manifests: written last, checked first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tootsie.datasets import manifest as manifests
from tootsie.datasets import storage
from tootsie.datasets.accounting import Accounting, ConservationError
from tootsie.datasets.document import Document
from tootsie.datasets.errors import ArtefactError, InputError


def corpus(folder: Path, texts: list[str]) -> manifests.Manifest:
    url = str(folder / "part-00000-of-00001.jsonl.zst")
    with storage.atomic_zstd(url) as writer:
        for number, text in enumerate(texts):
            writer.write(Document(id=str(number), text=text, source="test").to_json().encode() + b"\n")
    entry = manifests.FileEntry(
        path="part-00000-of-00001.jsonl.zst",
        documents=len(texts),
        text_bytes=sum(len(t.encode()) for t in texts),
        size=storage.size(url),
        sha256=storage.sha256(url),
    )
    made = manifests.Manifest(
        source="test",
        code_version="1",
        settings={},
        inputs=[],
        files=[entry],
        accounting=Accounting(read=len(texts) + 1, written=len(texts), dropped={"empty": 1}),
    )
    manifests.write_manifest(str(folder), made)
    return made


def test_round_trip(tmp_path: Path) -> None:
    made = corpus(tmp_path, ["eins", "zwei €", "三"])
    assert manifests.read_manifest(str(tmp_path)) == made
    assert [d.text for d in manifests.read_documents(str(tmp_path))] == ["eins", "zwei €", "三"]


def test_no_manifest_means_not_finished(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="no such corpus"):
        manifests.read_manifest(str(tmp_path / "nowhere"))
    with pytest.raises(ArtefactError, match="not finished"):
        manifests.read_manifest(str(tmp_path))


def test_books_that_do_not_balance_are_refused() -> None:
    with pytest.raises(ConservationError, match="unaccounted"):
        Accounting(read=3, written=1, dropped={"short": 1}).check("curate")


def test_totals() -> None:
    parts = [
        Accounting(read=3, written=1, dropped={"b": 1, "a": 1}),
        Accounting(read=2, written=1, dropped={"a": 1}),
    ]
    assert Accounting.total(parts) == Accounting(read=5, written=2, dropped={"a": 2, "b": 1})


@pytest.mark.parametrize("damage", ["flip", "cut", "missing"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    made = corpus(tmp_path, ["text"] * 20)
    path = tmp_path / made.files[0].path
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(content[:-3])
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    with pytest.raises(ArtefactError, match="part-00000-of-00001"):
        list(manifests.read_documents(str(tmp_path)))


def test_a_manifest_of_another_version_or_with_a_typo_is_refused(tmp_path: Path) -> None:
    corpus(tmp_path, ["a"])
    path = tmp_path / manifests.MANIFEST_NAME
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"format": "tootsie-documents/9"}))
    with pytest.raises(ArtefactError, match="another manifest version"):
        manifests.read_manifest(str(tmp_path))
    path.write_text(json.dumps(content | {"sauce": 1}))
    with pytest.raises(ArtefactError, match="sauce"):
        manifests.read_manifest(str(tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw["files"][0].update(documents=10**18), "accounting: the books do not balance"),
        (lambda raw: raw["files"][0].update(documents=2), "accounting: the books do not balance"),
        (lambda raw: raw["files"].clear(), "accounting: the books do not balance"),
        (lambda raw: raw["accounting"].update(read=9), "accounting: the books do not balance"),
        (
            lambda raw: raw["files"][0].update(path="../other/part.jsonl.zst"),
            r"files\.0\.path: .*inside the folder",
        ),
        (
            lambda raw: raw["files"][0].update(path="/etc/part.jsonl.zst"),
            r"files\.0\.path: .*inside the folder",
        ),
        (lambda raw: raw["files"].append(raw["files"][0] | {"documents": 0}), r"files\.1\.path: .*each once"),
    ],
)
def test_an_edited_manifest_is_refused(tmp_path: Path, change: Any, message: str) -> None:
    corpus(tmp_path, ["a", "b", "c"])
    path = tmp_path / manifests.MANIFEST_NAME
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))
    with pytest.raises(ArtefactError, match=message):
        manifests.read_manifest(str(tmp_path))


def test_a_record_that_is_no_document_is_named() -> None:
    with pytest.raises(InputError, match=r"f\.jsonl: record 4, text"):
        Document.from_json('{"id": "1", "source": "s"}', file="f.jsonl", record=4)
    with pytest.raises(InputError, match="record 0"):
        Document.from_json("{", file="f.jsonl", record=0)
