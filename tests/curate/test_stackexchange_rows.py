from __future__ import annotations

import gc
import io
import itertools
import random
import time
import tracemalloc
from collections.abc import Iterator
from xml.parsers import expat

import pytest

from tootsie.curate import stackexchange_rows
from tootsie.curate.stackexchange_rows import Damage, read_rows
from tootsie.datasets.errors import InputError


def read(content: bytes, **options: int) -> list:
    return list(read_rows(io.BytesIO(content), "Posts.xml", **options))


def table(*rows: bytes) -> bytes:
    return b"<posts>\n" + b"\n".join(rows) + b"\n</posts>\n"


@pytest.mark.parametrize(
    "prolog",
    [
        '﻿<?xml version="1.0" encoding="utf-8"?>\r\n<posts>',
        "<posts>",
        "<?xml version='1.0'?><!DOCTYPE posts SYSTEM 'posts.dtd'><posts>",
        "<xml>",
        "<rows>",
        "<!-- a > b --><!DOCTYPE posts [<!ELEMENT posts (row*)>]>\n<posts version='1'>",
        '<?xml version="1.0" encoding="utf-16"?><posts>',
    ],
)
def test_prologs_of_real_dumps(prolog: str) -> None:
    root = prolog.rpartition("<")[2].split()[0].rstrip(">") + ">"
    content = f'{prolog}<row Body="a &lt;b&gt; &#xA; é" Id="1" /><other/>\r\n</{root}\r\n'
    assert read(content.encode()) == [{"Id": "1", "Body": "a <b> \n é"}]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "windows-1252"])
def test_other_encodings(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<posts><row Id="1" Body="é €"/></posts>'
    assert read(text.encode(encoding)) == [{"Id": "1", "Body": "é €"}]


def test_an_unknown_encoding_is_named() -> None:
    with pytest.raises(InputError, match=r"encoding.*'klingon'"):
        read(b'<?xml version="1.0" encoding="klingon"?><posts><row Id="1"/></posts>')


def test_damage_within_utf16_stays_in_its_row() -> None:
    text = '<posts><row Id="1"/><row Id="2" Body="QQ"/><row Id="3" Body="\U0001d4b3"/></posts>'
    rows = read(text.encode("utf-16").replace("QQ".encode("utf-16-le"), b"\x00\xd8\x41\x00"))
    assert [row if isinstance(row, dict) else row.identity for row in rows] == [
        {"Id": "1"},
        "2",
        {"Id": "3", "Body": "\U0001d4b3"},
    ]


DAMAGED = [
    b'<row Id="2" Body="a &#x1F; b" />',
    b'<row Id="2" Body="a &#0; b" />',
    b'<row Id="2" Body="a \x0b b" />',
    b'<row Id="2" Body="a \x00 b" />',
    b'<row Id="2" Body="a & b" />',
    b'<row Id="2" Body="a &nbsp; b" />',
    b'<row Id="2" Body="a < b" />',
    b'<row Id="2" Body="a <p> b" />',
    b'<row Id="2" Body="\xff\xfe" />',
    b'<row Id="2" Body="cut \xe2\x82" />',
    b'<row Id="2" Body="surrogate \xed\xa0\x80" />',
    b'<row Id="2" Body="no end />',
    b'<row Id="2" Body=naked />',
    b'<row Id="2" Id="3" />',
    b'<row Id="2" Body="x"',
    b'<row Id="2" Body="x">',
    b'<row Id="2" Body="x" /></posts><posts>',
    b'<row Id="2" Body="x" /><!-- ',
]


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_row_costs_itself_only(damaged: bytes) -> None:
    first, damage, last = read(table(b'<row Id="1" />', damaged, b'<row Id="3" />'))
    assert (first, last) == ({"Id": "1"}, {"Id": "3"})
    assert isinstance(damage, Damage)
    assert damage.identity == "2"
    assert damage.excerpt.startswith(damaged)
    position = int(damage.detail.removeprefix("byte ").partition(":")[0])
    assert 0 <= position - len(b'<posts>\n<row Id="1" />\n') <= len(damaged) + 1
    assert not damage.truncated


def test_only_the_damaged_rows_of_many_are_lost_wherever_chunks_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stackexchange_rows, "CHUNK", 64)
    drawn = random.Random(4)
    rows, expected = [], []
    for number in range(300):
        broken = drawn.random() < 0.2
        body = "é&lt;p&gt;&#xA;" * drawn.randrange(20) + ("&#2;" if broken else "")
        rows.append(f'<row Id="{number}" Body="{body}" />'.encode())
        expected.append((str(number), broken))
    found = [
        (row.identity, True) if isinstance(row, Damage) else (row["Id"], False) for row in read(table(*rows))
    ]
    assert found == expected


@pytest.mark.parametrize("stray", [b'xrow Id="2" Body="y" />', b'<rox Id="2" Body="y" />', b"some text"])
def test_data_outside_of_rows_is_not_lost_in_silence(stray: bytes) -> None:
    first, damage, last = read(table(b'<row Id="1" />', stray, b'<row Id="3" />'))
    assert (first, last) == ({"Id": "1"}, {"Id": "3"})
    assert damage.excerpt.strip().startswith(stray)
    assert damage.detail.endswith("data outside of a row")


SMALL = table(
    b'<row Id="1" Body="a /&gt; b" />', "<row Id='2' Body='é &#xA;'></row>".encode(), b'<row Id="3"/>'
)


def test_a_file_cut_anywhere_keeps_what_is_whole() -> None:
    whole = read(SMALL)
    assert [row["Id"] for row in whole] == ["1", "2", "3"]
    for cut in range(len(SMALL.rstrip())):
        *rows, end = read(SMALL[:cut])
        assert end.truncated
        assert rows == whole[: len(rows)]
        ends = (SMALL.index(b"/>") + 2, SMALL.index(b"</row>") + 6, SMALL.rindex(b"/>") + 2)
        assert len(rows) == sum(cut >= place for place in ends)


def test_no_byte_can_be_changed_so_that_rows_vanish_in_silence() -> None:
    whole = read(SMALL)
    for position in range(len(b"<posts>\n"), len(SMALL.rstrip()) - len(b"</posts>")):
        for byte in b"\0<>&\"' x\xff":
            changed = SMALL[:position] + bytes([byte]) + SMALL[position + 1 :]
            found = read(changed)
            rows = [row for row in found if not isinstance(row, Damage)]
            kept = sum(row in whole for row in rows)
            assert kept >= 1
            assert len(found) >= len(whole) or len(found) - len(rows) >= 1, changed


@pytest.mark.parametrize(
    ("content", "ids", "excerpt"),
    [
        (b'<posts><row Id="1" />', ["1"], b""),
        (b'<posts><row Id="1" />\n', ["1"], b""),
        (b'<posts><row Id="1" /></posts', ["1"], b"</posts"),
        (b'<posts><row Id="1"></row>', ["1"], b""),
        (b'<posts><row Id="1" /><row Id="2" Bo', ["1"], b'<row Id="2" Bo'),
        (b'<posts><row Id="1" /><row Id="2" Body="a />', ["1"], b'<row Id="2" Body="a />'),
        (b'<posts><row Id="1" /></posts>\0\0\0', ["1"], b"</posts>\0\0\0"),
        (b"<posts>", [], b"<posts>"),
        (b"", [], b""),
    ],
)
def test_a_truncated_file_keeps_its_rows_and_says_so(content: bytes, ids: list[str], excerpt: bytes) -> None:
    *rows, end = read(content)
    assert [row["Id"] for row in rows] == ids
    assert end.truncated
    assert end.excerpt == excerpt
    assert "without its last tag" in end.detail


@pytest.mark.parametrize("content", [b"<posts></posts>", b"<posts/>", b"<?xml version='1.0'?>\n<posts />\n"])
def test_a_table_without_rows(content: bytes) -> None:
    assert read(content) == []


def test_a_row_over_the_limit_is_skipped_in_bounded_memory() -> None:
    def long_file() -> Iterator[bytes]:
        yield b'<posts><row Id="1" /><row Id="2" Body="'
        yield from itertools.repeat(b"y" * 2**16, 1000)
        yield b'" /><row Id="3" /></posts>'

    class Stream(io.RawIOBase):
        def __init__(self) -> None:
            self._parts = long_file()

        def read(self, size: int = -1) -> bytes:
            return next(self._parts, b"")

    tracemalloc.start()
    try:
        first, damage, last = read_rows(Stream(), "Posts.xml", max_row_bytes=2**20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (first, last) == ({"Id": "1"}, {"Id": "3"})
    assert damage.too_long > 65_000_000
    assert damage.identity == "2"
    assert peak < 10 * 2**20


def test_a_row_over_the_limit_at_the_end_of_a_truncated_file() -> None:
    rows = read(b'<posts><row Id="1" /><row Id="2" Body="' + b"y" * 2**22, max_row_bytes=2**20)
    assert rows[0] == {"Id": "1"}
    assert (rows[1].too_long > 2**20, rows[1].truncated) == (True, False)
    assert rows[2].truncated


@pytest.mark.parametrize(
    "content",
    [
        b'<!DOCTYPE posts [<!ENTITY l0 "lol"><!ENTITY l1 "&l0;&l0;">]><posts><row Id="1" Body="&l1;"/></posts>',
        b'<!DOCTYPE posts [<!ENTITY x SYSTEM "file:///etc/hosts">]><posts><row Id="1"/>&x;</posts>',
        b'<!DOCTYPE posts [<!ENTITY % p "q">]><posts><row Id="1"/></posts>',
        b"<!DOCTYPE posts [<!ENTITY l0 \"<row Id='1'/>\">]><posts>&l0;</posts>",
    ],
)
def test_a_file_that_declares_entities_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="declares XML entities"):
        read(content)


def test_no_row_near_the_beginning_is_no_dump() -> None:
    with pytest.raises(InputError, match="no row in the first"):
        read(b"<posts>" + b" " * 2**23)


def test_memory_does_not_grow_with_the_file() -> None:
    def parsers_left(count: int) -> int:
        row = b'<row Id="1" Body="' + b"word &lt;p&gt; " * 1000 + b'" />\n'

        class Stream(io.RawIOBase):
            def __init__(self) -> None:
                self._parts = iter([b"<posts>\n", *itertools.repeat(row * 70, count), b"</posts>"])

            def read(self, size: int = -1) -> bytes:
                return next(self._parts, b"")

        gc.collect()
        gc.disable()  # what only the collector can free is not counted by it, as Expat's buffers are not
        alive = sum(isinstance(one, expat.XMLParserType) for one in gc.get_objects())
        try:
            assert sum(1 for _ in read_rows(Stream(), "Posts.xml")) == 70 * count
            return sum(isinstance(one, expat.XMLParserType) for one in gc.get_objects()) - alive
        finally:
            gc.enable()

    assert parsers_left(20) <= 1


@pytest.mark.parametrize(
    "unit",
    [
        b'<row Id="1" Body="&#1;" />',
        b'<row Id="1" Body="' + b"<rowx " * 20,
        b'<row Id="1" Body="x <row ',
        b"<row ",
    ],
)
def test_time_is_linear_in_damage(unit: bytes) -> None:
    def seconds(count: int) -> float:
        content = b"<posts>" + unit * count + b"</posts>"
        start = time.process_time()
        assert all(isinstance(row, Damage) for row in read(content))
        return time.process_time() - start

    seconds(100)
    assert seconds(40_000) < 12 * seconds(10_000) + 0.5
