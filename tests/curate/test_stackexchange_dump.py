from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import py7zr
import pytest

from tootsie.curate.stackexchange_dump import TABLES, opened, table_of
from tootsie.datasets.errors import InputError


def test_table_of() -> None:
    assert [
        table_of(name)
        for name in (
            "Posts.xml",
            "posts.xml",
            "Users.xml",
            "Votes.xml",
            "stackoverflow.com-Comments.7z",
            "PostLinks.xml",
        )
    ] == [
        "posts",
        "posts",
        "users",
        None,
        "comments",
        "postlinks",
    ]


def archive(path: Path, members: dict[str, bytes], **options: object) -> Path:
    with py7zr.SevenZipFile(path, "w", **options) as packed:
        for name, content in members.items():
            packed.writestr(content, name)
    return path


def read(urls: list[Path], *wanted: str) -> dict[str, bytes]:
    with opened([str(url) for url in urls], wanted or TABLES) as tables:
        found = {}
        for name, table in tables.items():
            with table.open() as stream:
                found[name] = stream.read()
        return found


def test_only_wanted_tables_are_read(tmp_path: Path) -> None:
    members = {"Posts.xml": b"<posts/>", "Votes.xml": b"<votes/>", "Users.xml": b"<users/>"}
    path = archive(tmp_path / "a.stackexchange.com.7z", members)
    assert read([path]) == {"posts": b"<posts/>", "users": b"<users/>"}
    assert read([path], "posts") == {"posts": b"<posts/>"}


def test_tables_of_a_site_in_several_archives_and_files(tmp_path: Path) -> None:
    content = bytes(range(256)) * 20_000
    posts = archive(tmp_path / "stackoverflow.com-Posts.7z", {"Posts.xml": content})
    users = archive(tmp_path / "stackoverflow.com-Users.7z", {"anything.xml": b"<users/>"})
    links = tmp_path / "PostLinks.xml"
    links.write_bytes(b"<postlinks/>")
    assert read([posts, users, links]) == {
        "posts": content,
        "users": b"<users/>",
        "postlinks": b"<postlinks/>",
    }


def test_a_table_can_be_opened_again_and_left_early(tmp_path: Path) -> None:
    content = bytes(range(256)) * 20_000
    one = archive(tmp_path / "one.7z", {"Posts.xml": content})
    two = archive(tmp_path / "two.7z", {"Posts.xml": content, "Users.xml": b"<users/>"})
    for path in (one, two):
        with opened([str(path)]) as tables:
            for _ in range(2):
                with tables["posts"].open() as stream:
                    assert stream.read(10) == content[:10]
            with tables["posts"].open() as stream:
                assert stream.read() == content


def test_nothing_is_left_behind_even_by_a_killed_process(tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    path = archive(tmp_path / "a.7z", {"Posts.xml": b"<posts>" * 500_000, "Users.xml": b"<users/>"})
    code = (
        "import os, signal, sys\n"
        "from tootsie.curate.stackexchange_dump import opened\n"
        "with opened([sys.argv[1]]) as tables, tables['posts'].open() as stream:\n"
        "    assert stream.read(7) == b'<posts>'\n"
        "    print(os.listdir(os.environ['TMPDIR']), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env={**os.environ, "TMPDIR": str(place)},
        capture_output=True,
        text=True,
    )
    assert killed.returncode == -signal.SIGKILL
    assert killed.stdout == "[]\n"
    assert list(place.iterdir()) == []


MORE = [{}, {"Users.xml": b"<users/>"}]
"""With one table an archive is decompressed while it is read, with several before."""


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("keep", [0.2, 0.7, 0.99])
def test_truncated_archive(tmp_path: Path, keep: float, more: dict[str, bytes]) -> None:
    path = archive(tmp_path / "a.stackexchange.com.7z", {"Posts.xml": bytes(range(256)) * 50, **more})
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(InputError, match="truncated or damaged"):
        read([path])


@pytest.mark.parametrize("more", MORE)
def test_flipped_bit_in_archive(tmp_path: Path, more: dict[str, bytes]) -> None:
    import random

    text = "".join(random.Random(1).choices("abcdefgh ", k=20_000)).encode()
    path = archive(tmp_path / "a.stackexchange.com.7z", {"Posts.xml": text, **more})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="truncated or damaged"):
        read([path])


def test_encrypted_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.stackexchange.com.7z", {"Posts.xml": b"<posts/>"}, password="x")
    with pytest.raises(InputError, match=r"encrypted|truncated or damaged"):
        read([path])


def test_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.stackexchange.com.7z", {"Posts.xml": b" " * 2**27})
    with pytest.raises(InputError, match="no data dump"):
        read([path])


def test_archive_without_posts(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.stackexchange.com.7z", {"Votes.xml": b"<votes/>"})
    with pytest.raises(InputError, match=r"no Posts\.xml"):
        read([path])
