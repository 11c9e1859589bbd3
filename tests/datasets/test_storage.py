"""Files anywhere, whole or not at all."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from pathlib import Path

import fsspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError, SpecError


def test_brace_ranges_keep_leading_zeros_and_nest_side_by_side() -> None:
    assert storage.expand_braces("cc_{0000..0002,0240}.{json,gz}") == [
        f"cc_{number}.{suffix}" for number in ("0000", "0001", "0002", "0240") for suffix in ("json", "gz")
    ]
    assert storage.expand_braces("plain") == ["plain"]


@pytest.mark.parametrize("pattern", ["{9..1}", "{0..99999999}", "{0..9999}{0..9999}"])
def test_hopeless_brace_ranges_are_refused(pattern: str) -> None:
    with pytest.raises(SpecError, match=r"range runs backwards|too long|too many"):
        storage.expand_braces(pattern)


def test_expand_sorts_globs_and_names_what_is_missing(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text("x")
    assert storage.expand([f"{tmp_path}/*.txt", f"{tmp_path}/a.txt"]) == [
        f"{tmp_path}/a.txt",
        f"{tmp_path}/b.txt",
    ]
    with pytest.raises(InputError, match=r"c\.txt"):
        storage.expand([f"{tmp_path}/c.txt"])
    with pytest.raises(InputError, match="glob"):
        storage.expand([f"{tmp_path}/*.nothing"])


def test_a_file_named_like_a_pattern_is_found_by_its_name(tmp_path: Path) -> None:
    for name in ("a[1].txt", "b{1..3}.txt", "c*.txt", "a1.txt"):
        (tmp_path / name).write_text("x")
        assert storage.expand([f"{tmp_path}/{name}"]) == [f"{tmp_path}/{name}"]


def test_expand_keeps_the_protocol_of_other_file_systems() -> None:
    storage.write_bytes("memory://folder/part-0.txt", b"x")
    assert storage.expand(["memory://folder/part-*.txt"]) == ["memory:///folder/part-0.txt"]
    assert storage.read_bytes("memory:///folder/part-0.txt") == b"x"


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "sub" / "file"
    with pytest.raises(RuntimeError), storage.atomic_write(str(target)) as stream:
        stream.write(b"half")
        raise RuntimeError
    assert list((tmp_path / "sub").iterdir()) == []
    storage.write_bytes(str(target), b"whole")
    assert target.read_bytes() == b"whole"


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    (tmp_path / "x.tmp-0123").write_text("")
    (tmp_path / "x").write_text("")
    assert storage.remove_temporary(str(tmp_path)) == 1
    assert storage.list_files(str(tmp_path)) == ["x"]


@given(
    st.lists(st.binary(max_size=200).map(lambda b: b.replace(b"\n", b"").replace(b"\r", b"")), max_size=20)
)
def test_zstd_round_trip(lines: list[bytes]) -> None:
    url = "memory://lines.zst"
    with storage.atomic_zstd(url) as writer:
        for line in lines:
            writer.write(line + b"\n")
    assert list(storage.read_lines(url)) == [line for line in lines if line.strip()]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_every_truncation_is_an_error_never_an_early_end(tmp_path: Path, suffix: str) -> None:
    content = b"".join(b"line %d\n" % (i * 7919 % 1000) for i in range(400))
    packed = (
        gzip.compress(content)
        if suffix == ".gz"
        else zstandard.ZstdCompressor(write_checksum=True).compress(content)
    )
    path = tmp_path / f"file.txt{suffix}"
    for length in range(1, len(packed), 13):
        path.write_bytes(packed[:length])
        with pytest.raises(InputError, match="truncated or damaged"):
            list(storage.read_lines(str(path)))


def test_bit_flips_in_zstd_never_give_other_content(tmp_path: Path) -> None:
    content = b"".join(b"line %d\n" % (i * 7919 % 1000) for i in range(400))
    path = tmp_path / "file.zst"
    with storage.atomic_zstd(str(path)) as writer:
        writer.write(content)
    packed = path.read_bytes()
    for bit in range(0, 8 * len(packed), 61):
        damaged = bytearray(packed)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            with storage.open_decompressed(str(path)) as stream:
                found = stream.read()
        except InputError:
            continue
        assert found == content


def test_concatenated_zstd_frames_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "two.zst"
    path.write_bytes(zstandard.compress(b"a\n") + zstandard.compress(b"b\n"))
    assert list(storage.read_lines(str(path))) == [b"a", b"b"]


def test_a_line_without_end_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(b"short\n" + b"x" * 2000)
    with pytest.raises(InputError, match=r"long\.txt:2"):
        list(storage.read_lines(str(path), max_line_bytes=1000))


def test_a_zstd_bomb_is_read_in_bounded_memory(tmp_path: Path) -> None:
    size = 2**28
    bomb = tmp_path / "bomb.zst"
    compressor = zstandard.ZstdCompressor().compressobj()
    pieces = [compressor.compress(bytes(2**20)) for _ in range(size // 2**20)]
    bomb.write_bytes(b"".join([*pieces, compressor.flush()]))
    tracemalloc.start()
    try:
        with storage.open_decompressed(str(bomb)) as stream:
            assert sum(len(chunk) for chunk in iter(lambda: stream.read(2**16), b"")) == size
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()


def test_a_pipe_is_no_input(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.zip")
    with pytest.raises(InputError, match=r"a\.zip: neither a file nor a folder"):
        storage.expand([str(tmp_path / "*.zip")])


def test_a_link_that_leads_nowhere_is_no_gap_in_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "0.zip").write_text("x")
    (tmp_path / "1.zip").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match=r"1\.zip: the link leads nowhere"):
        storage.expand([str(tmp_path / "*.zip")])


def test_a_file_written_anew_has_another_state(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    before = storage.state(str(tmp_path / "a"))
    assert storage.state(str(tmp_path / "link")) == before == storage.state(f"file://{tmp_path}/a")
    (tmp_path / "b").write_text("y")  # as long
    os.replace(tmp_path / "b", tmp_path / "a")
    assert storage.state(str(tmp_path / "link")) != before


def test_files_below_a_folder(tmp_path: Path) -> None:
    for name in ("b/c/2.html", "a.html", "elsewhere/3.html"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text("x")
    (tmp_path / "in" / "elsewhere").rename(tmp_path / "elsewhere")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "in" / "b" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "nowhere.html").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "in" / "pipe.html")
    found = storage.find_files(str(tmp_path / "in"))
    assert [name.removeprefix(f"{tmp_path}/in/") for name in found] == [
        "a.html",
        "b/c/2.html",
        "link/3.html",
        "nowhere.html",
    ]
    assert storage.list_files(str(tmp_path / "in")) == ["a.html", "nowhere.html"]


def test_a_folder_that_cannot_be_read_is_no_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError):
        storage.find_files(str(tmp_path))


class Unreachable(fsspec.AbstractFileSystem):
    """A remote file system whose client library cannot connect."""

    protocol = "unreachable"

    def open(self, *arguments: object, **options: object) -> None:
        raise RuntimeError("[Errno -2]\n Name or service not known")


def test_what_a_remote_file_system_raises_is_told_in_one_line() -> None:
    fsspec.register_implementation("unreachable", Unreachable, clobber=True)
    with pytest.raises(
        InputError, match=r"unreachable://a/b: the remote file system did not open it .found .RuntimeError: "
    ):
        storage.open_binary("unreachable://a/b")
