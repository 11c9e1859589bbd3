from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.curate.zip_archive import DamagedMemberError, list_members, read_member
from tootsie.datasets.errors import InputError

from .conftest import write_zip


def test_members_read_by_position_are_what_zipfile_reads(tmp_path: Path) -> None:
    contents = {f"d/{n}.html": bytes([n]) * (n * 1000) for n in range(20)}
    path = write_zip(tmp_path / "a.zip", contents)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("stored.html", b"as it is")
    with path.open("rb") as stream:
        found = {member.name: read_member(stream, member, 10**6) for member in list_members(str(path))}
    assert found == contents | {"stored.html": b"as it is"}


def test_limit_bounds_what_is_decompressed(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"a.html": b"x" * 5000})
    (member,) = list_members(str(path))
    with path.open("rb") as stream, pytest.raises(DamagedMemberError, match="more than the 100 bytes"):
        read_member(stream, member, 100)


@pytest.mark.parametrize("keep", [0, 10, 500])
def test_not_an_archive(tmp_path: Path, keep: int) -> None:
    path = write_zip(tmp_path / "a.zip", {"a.html": b"x" * 5000, "b.html": b"y"})
    path.write_bytes(path.read_bytes()[:keep] if keep < 500 else b"\xff" * keep)
    with pytest.raises(InputError, match="not a whole ZIP archive"):
        list(list_members(str(path)))


@given(position=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_a_flipped_bit_never_goes_unnoticed(
    tmp_path_factory: pytest.TempPathFactory, position: int, bit: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "flip.zip"
    write_zip(path, {"a.html": b"some text, repeated. " * 50, "b.html": b"other"})
    good = {member.name: member.size for member in list_members(str(path))}
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= 1 << bit
    path.write_bytes(content)
    try:
        members = list(list_members(str(path)))
    except InputError:
        return
    with path.open("rb") as stream:
        for member in members:
            if member.fault is None:
                try:
                    data = read_member(stream, member, 10**6)
                except DamagedMemberError:
                    continue
                assert data in (b"some text, repeated. " * 50, b"other")
    assert len(members) <= len(good)
