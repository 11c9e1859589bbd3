from __future__ import annotations

import time
from pathlib import Path

import py7zr
import pytest

from tootsie.curate.stackexchange_dump import read_rows, site_of, table_of, unpacked
from tootsie.datasets.errors import InputError


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("beer.stackexchange.com.7z", "beer.stackexchange.com"),
        ("stackoverflow.com-Posts.7z", "stackoverflow.com"),
        ("mathoverflow.net.7z", "mathoverflow.net"),
        ("conlang.meta.stackexchange.com_2020", "conlang.meta.stackexchange.com"),
        ("meta.beer.stackexchange.com_2014", "beer.meta.stackexchange.com"),
        ("meta.stackexchange.com.7z", "meta.stackexchange.com"),
        ("meta.stackoverflow.com.7z", "meta.stackoverflow.com"),
        ("pt.stackoverflow.com.7z", "pt.stackoverflow.com"),
        ("stackoverflow_first_posts", "stackoverflow.com"),
        ("holiday", None),
    ],
)
def test_site_of(name: str, site: str | None) -> None:
    assert site_of(name) == site


def test_table_of() -> None:
    assert [
        table_of(name)
        for name in ("Posts.xml", "posts.xml", "Users.xml", "Votes.xml", "stackoverflow.com-Comments.7z")
    ] == [
        "posts",
        "posts",
        "users",
        None,
        "comments",
    ]


@pytest.mark.parametrize(
    "prolog",
    [
        '﻿<?xml version="1.0" encoding="utf-8"?>\r\n<posts>',
        "<posts>",
        "<?xml version='1.0'?><!DOCTYPE posts SYSTEM 'posts.dtd'><posts>",
        "<xml>",
    ],
)
def test_prologs_of_real_dumps(tmp_path: Path, prolog: str) -> None:
    root = "xml" if prolog.endswith("<xml>") else "posts"
    path = tmp_path / "Posts.xml"
    path.write_text(f'{prolog}<row Id="1" Body="a &lt;b&gt; &#xA; é" /><other/></{root}>', encoding="utf-8")
    assert list(read_rows(str(path))) == [{"Id": "1", "Body": "a <b> \n é"}]


def test_entity_bomb_is_refused_at_once(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    path = tmp_path / "Posts.xml"
    path.write_text(f'<!DOCTYPE posts [<!ENTITY l0 "lol">{levels}]><posts><row Id="1" Body="&l11;"/></posts>')
    start = time.process_time()
    with pytest.raises(InputError, match="declares XML entities"):
        list(read_rows(str(path)))
    assert time.process_time() - start < 30


def test_external_entities_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    path = tmp_path / "Posts.xml"
    path.write_text(
        f'<!DOCTYPE posts [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><posts><row Id="1"/>&x;</posts>'
    )
    with pytest.raises(InputError, match="declares XML entities"):
        list(read_rows(str(path)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<posts><row Id="1"/>', "truncated"),
        ('<posts><row Id="1" Bo', "truncated"),
        ("", "truncated"),
        ('<posts><row Id="1" Body="<"/></posts>', "not well-formed"),
        ('<posts><row Id="1"/></posts', "truncated"),
    ],
)
def test_damaged_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "Posts.xml"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        list(read_rows(str(path)))


def test_invalid_utf8_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "Posts.xml"
    path.write_bytes(b'<posts>\n<row Id="1"/>\n<row Id="\xff"/></posts>')
    with pytest.raises(InputError, match=r"Posts\.xml:3: not well-formed"):
        list(read_rows(str(path)))


def archive(path: Path, members: dict[str, bytes], **options: object) -> Path:
    with py7zr.SevenZipFile(path, "w", **options) as packed:
        for name, content in members.items():
            packed.writestr(content, name)
    return path


def test_only_known_tables_are_unpacked_and_the_folder_goes(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.stackexchange.com.7z", {"Posts.xml": b"<posts/>", "Votes.xml": b"<votes/>"})
    with unpacked((str(path),)) as tables:
        assert list(tables) == ["posts"]
        place = Path(tables["posts"])
        assert place.read_bytes() == b"<posts/>"
    assert not place.parent.exists()


@pytest.mark.parametrize("keep", [0.2, 0.7, 0.99])
def test_truncated_archive(tmp_path: Path, keep: float) -> None:
    path = archive(tmp_path / "a.stackexchange.com.7z", {"Posts.xml": bytes(range(256)) * 50})
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(InputError, match="truncated or damaged"), unpacked((str(path),)):
        pass


def test_flipped_bit_in_archive(tmp_path: Path) -> None:
    import random

    text = "".join(random.Random(1).choices("abcdefgh ", k=20_000)).encode()
    path = archive(tmp_path / "a.stackexchange.com.7z", {"Posts.xml": text})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="truncated or damaged"), unpacked((str(path),)):
        pass


def test_encrypted_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.stackexchange.com.7z", {"Posts.xml": b"<posts/>"}, password="x")
    with pytest.raises(InputError, match=r"encrypted|truncated or damaged"), unpacked((str(path),)):
        pass


def test_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.stackexchange.com.7z", {"Posts.xml": b" " * 2**27})
    with pytest.raises(InputError, match="no data dump"), unpacked((str(path),)):
        pass


def test_archive_without_posts(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.stackexchange.com.7z", {"Votes.xml": b"<votes/>"})
    with pytest.raises(InputError, match=r"no Posts\.xml"), unpacked((str(path),)):
        pass
