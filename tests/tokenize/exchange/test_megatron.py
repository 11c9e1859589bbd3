from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest

from tootsie.datasets.errors import InputError, UserError
from tootsie.tokenize.exchange.megatron import MegatronFile, MegatronWriter, find_megatron

DOCUMENTS = [[1, 2, 3], [4], [5, 6]]


def batch(documents: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, documents)])
    return np.array([token for ids in documents for token in ids], np.uint32), offsets


def write(folder: Path) -> str:
    prefix = str(folder / "set")
    MegatronWriter(prefix, 100).write(iter([batch(DOCUMENTS[:2]), batch(DOCUMENTS[2:])]))
    return prefix


def test_the_index_is_laid_out_as_documented(tmp_path: Path) -> None:
    content = Path(write(tmp_path) + ".idx").read_bytes()
    assert content[:34] == b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 3, 4)
    assert np.frombuffer(content[34:46], "<i4").tolist() == [3, 1, 2]
    assert np.frombuffer(content[46:70], "<i8").tolist() == [0, 6, 8]
    assert np.frombuffer(content[70:], "<i8").tolist() == [0, 1, 2, 3]
    assert np.fromfile(tmp_path / "set.bin", "<u2").tolist() == [1, 2, 3, 4, 5, 6]


def test_any_of_its_names_finds_it(tmp_path: Path) -> None:
    prefix = write(tmp_path)
    for name in (prefix, prefix + ".bin", prefix + ".idx", str(tmp_path), str(tmp_path / "*.idx")):
        (file,) = find_megatron([name])
        assert [document.ids.tolist() for document in file.documents()] == DOCUMENTS
        assert [document.ids.tolist() for document in file.documents(1, 2)] == DOCUMENTS[1:2]


def test_a_document_of_several_sequences_in_any_order(tmp_path: Path) -> None:
    np.array([1, 2, 3, 4, 5, 6], "<i4").tofile(tmp_path / "set.bin")
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 4, 3, 3)
    arrays = [np.array([2, 1, 3], "<i4"), np.array([12, 20, 0], "<i8"), np.array([0, 2, 3], "<i8")]
    (tmp_path / "set.idx").write_bytes(head + b"".join(array.tobytes() for array in arrays))
    file = MegatronFile(str(tmp_path / "set"))
    assert [document.ids.tolist() for document in file.documents()] == [[4, 5, 6], [1, 2, 3]]


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, b"X", "not an index of Megatron's"),
        (9, b"\2", "an index of version 1 with a dtype of integers is needed (found (2, 8))"),
        (17, b"\7", "an index of version 1 with a dtype of integers is needed"),
        (18, b"\x09", "do not fit its"),
        (34, b"\xff\xff\xff\xff", "sequence 0: a sequence lies outside the .bin"),
        (54, b"\xff", "sequence 1: a sequence lies outside the .bin"),
        (70, b"\1", "the document indices do not run from 0 to 3"),
        (78, b"\3", "the document indices do not run from 0 to 3"),
    ],
)
def test_a_damaged_index_is_named(tmp_path: Path, at: int, value: bytes, message: str) -> None:
    prefix = write(tmp_path)
    content = bytearray(Path(prefix + ".idx").read_bytes())
    content[at : at + len(value)] = value
    Path(prefix + ".idx").write_bytes(content)
    with pytest.raises(InputError) as caught:
        MegatronFile(prefix)
    assert message in str(caught.value)
    assert "set.idx" in str(caught.value)


def test_no_damage_is_anything_but_a_user_error(tmp_path: Path) -> None:
    prefix = write(tmp_path)
    good = Path(prefix + ".idx").read_bytes()
    choose = random.Random(3)
    for _ in range(400):
        content = bytearray(good)
        for _ in range(choose.randint(1, 3)):
            content[choose.randrange(len(content))] = choose.randrange(256)
        Path(prefix + ".idx").write_bytes(
            content[: choose.choice([len(content), choose.randrange(len(content))])]
        )
        try:
            for document in MegatronFile(prefix).documents():
                assert len(document.ids) <= 12
        except UserError:
            continue


def test_an_index_that_does_not_cover_the_ids_is_refused(tmp_path: Path) -> None:
    prefix = write(tmp_path)
    with open(prefix + ".bin", "ab") as stream:
        stream.write(b"\1\0")
    with pytest.raises(InputError, match=r"\.bin: the index ends after \d+ of its \d+ bytes"):
        MegatronFile(prefix)


def test_a_missing_half_is_named(tmp_path: Path) -> None:
    prefix = write(tmp_path)
    Path(prefix + ".bin").unlink()
    with pytest.raises(InputError, match=r"set\.bin: no such file\. A dataset of Megatron's is"):
        find_megatron([prefix + ".idx"])
