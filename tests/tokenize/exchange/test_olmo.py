from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.datasets.errors import InputError
from tootsie.tokenize.exchange import olmo
from tootsie.tokenize.exchange.importing import ImportSettings, import_tokens
from tootsie.tokenize.exchange.olmo import OlmoWriter, find_olmo
from tootsie.tokenize.exchange.token_file import Format

EOS = 16383
IDS = [1, 2, EOS, 3, EOS]


def write(folder: Path, table: str | None, ids: list[int] = IDS, dtype: str = "<u2") -> str:
    np.array(ids, dtype).tofile(folder / "part.npy")
    if table is not None:
        with gzip.open(folder / "part.csv.gz", "wt", newline="") as file:
            file.write(table)
    return str(folder / "part.npy")


def test_lines_are_as_dolma_writes_them(tmp_path: Path) -> None:
    writer = OlmoWriter(str(tmp_path / "part"), 16384, None, "corpus")
    ids, offsets = np.array(IDS, np.uint16), np.array([0, 3, 5])
    writer.write(iter([(["a", 'b,"c"'], ids, offsets), (["d"], ids[:3], np.array([0, 3]))]))
    with gzip.open(tmp_path / "part.csv.gz", "rt", newline="") as file:
        assert file.read() == '0,3,a,corpus,0\n3,5,"b,""c""",corpus,1\n5,8,d,corpus,2\n'
    assert np.fromfile(tmp_path / "part.npy", "<u2").tolist() == IDS + IDS[:3]


def test_documents_from_any_on(tmp_path: Path) -> None:
    (file,) = find_olmo([write(tmp_path, "0,3,a,x,0\n3,5,,x,1\n")], "uint16", None)
    assert [(d.id, d.ids.tolist()) for d in file.documents()] == [("a", [1, 2, EOS]), (None, [3, EOS])]
    assert [d.ids.tolist() for d in file.documents(1, 2)] == [[3, EOS]]
    assert [d.ids.tolist() for d in file.documents(0, 1)] == [[1, 2, EOS]]


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_without_a_table_eos_ends_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(olmo, "CHUNK", chunk)
    (file,) = find_olmo([write(tmp_path, None, [*IDS, EOS, 7])], "uint16", EOS)
    expected = [[1, 2, EOS], [3, EOS], [EOS], [7]]
    assert [d.ids.tolist() for d in file.documents()] == expected
    for first in range(4):
        for stop in range(first + 1, 5):
            assert [d.ids.tolist() for d in file.documents(first, stop)] == expected[first:stop]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "0,3\n4,5\n",
            "part.csv.gz: row 1: documents must follow one another within 5 tokens (the last ended at 3)",
        ),
        ("0,3\n3,6\n", "part.csv.gz: row 1: documents must follow one another"),
        ("0,3\n3,2\n", "part.csv.gz: row 1: documents must follow one another"),
        ("0,3\n", "part.csv.gz: row 0: the documents end at token 3, the file has 5 of uint16"),
        ("start,end\n0,5\n", "part.csv.gz: row 0: not a line of start, end and id"),
        ("0\n", "part.csv.gz: row 0: not a line of start, end and id"),
        (
            None,
            "part.csv.gz: no table of documents beside it. Copy it too, or say that EOS ends the documents: --split-at-eos",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_named(tmp_path: Path, table: str | None, message: str) -> None:
    source = write(tmp_path, table)
    with pytest.raises(InputError) as caught:
        import_tokens([source], str(tmp_path / "out"), ImportSettings(Format.OLMO, "tootsie-16k"))
    assert message in str(caught.value)


def test_the_wrong_width_is_found_out(tmp_path: Path) -> None:
    source = write(tmp_path, "0,3\n3,5\n")
    with pytest.raises(InputError, match=r"--dtype: its 10 bytes are no whole number of uint32 ids"):
        import_tokens(
            [source], str(tmp_path / "out"), ImportSettings(Format.OLMO, "tootsie-16k", dtype="uint32")
        )
    wide = write(tmp_path, "0,3\n3,6\n", [*IDS, EOS], "<u4")
    with pytest.raises(InputError, match=r"row 1: the documents end at token 6, the file has 12 of uint16"):
        import_tokens([wide], str(tmp_path / "out"), ImportSettings(Format.OLMO, "tootsie-16k"))


def test_a_numpy_header_is_told(tmp_path: Path) -> None:
    np.save(tmp_path / "part.npy", np.array(IDS))
    with pytest.raises(InputError, match="a NumPy file with a header"):
        find_olmo([str(tmp_path / "part.npy")], "uint16", EOS)


def test_a_damaged_table_is_a_user_error(tmp_path: Path, listed: Any) -> None:
    source = write(tmp_path, "0,3\n3,5\n")
    path = tmp_path / "part.csv.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"part\.csv\.gz"):
        import_tokens([source], str(tmp_path / "out"), ImportSettings(Format.OLMO, "tootsie-16k"))
