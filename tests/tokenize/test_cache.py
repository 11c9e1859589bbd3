from __future__ import annotations

import pickle
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize import cache as cache_module
from tootsie.tokenize import rows as rows_module
from tootsie.tokenize import shard_reader, shard_writer
from tootsie.tokenize.cache import Rows, TokenCache

Layout = list[list[tuple[str, list[int], int, list[tuple[int, int]] | None]]]


@st.composite
def layouts(draw: st.DrawFn, *, spans: bool) -> Layout:
    """Shards of documents of 1 to 12 tokens; some shards are empty."""
    number = 0
    shards: Layout = []
    for _ in range(draw(st.integers(1, 4))):
        rows = []
        for _ in range(draw(st.integers(0, 6))):
            ids = draw(st.lists(st.integers(1, 99), min_size=0, max_size=11))
            loss = None
            if spans and draw(st.booleans()):
                cuts = sorted(draw(st.lists(st.integers(0, len(ids) + 1), max_size=4, unique=True)))
                loss = list(zip(cuts[::2], cuts[1::2], strict=False))
            rows.append((f"d{number}", [*ids, 0], len(ids), loss))
            number += 1
        shards.append(rows)
    if not any(shards):
        shards[-1].append(("d", [0], 0, None))
    return shards


def oracle(layout: Layout) -> tuple[list[int], list[tuple[str, int, int]], list[bool], list[tuple[int, int]]]:
    """Token by token: id, (document, its begin, its end), loss, (shard, row)."""
    ids: list[int] = []
    owner: list[tuple[str, int, int]] = []
    loss: list[bool] = []
    places: list[tuple[int, int]] = []
    for number, rows in enumerate(layout):
        for row, (name, tokens, _, spans) in enumerate(rows):
            begin = len(ids)
            for at, token in enumerate(tokens):
                ids.append(token)
                owner.append((name, begin, begin + len(tokens)))
                loss.append(spans is None or any(low <= at < high for low, high in spans))
                places.append((number, row))
    return ids, owner, loss, places


@given(st.booleans().flatmap(lambda spans: st.tuples(st.just(spans), layouts(spans=spans))), st.data())
@settings(max_examples=80)
def test_windows_reads_and_spans_are_those_of_a_brute_force_oracle(
    make_cache: Callable[..., str],
    make_identity: Callable[..., Any],
    case: tuple[bool, Layout],
    data: st.DataObject,
) -> None:
    spans, layout = case
    wide = data.draw(st.booleans())
    if wide:  # ids that 16 bits don't hold
        layout = [
            [(name, [1999 * i for i in ids], size, loss) for name, ids, size, loss in rows] for rows in layout
        ]
    ids, owner, loss, places = oracle(layout)
    folder = tempfile.mkdtemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_writer, "BATCH_TOKENS", data.draw(st.integers(1, 30)))
        patch.setattr(shard_writer, "BATCH_DOCUMENTS", data.draw(st.integers(1, 4)))
        patch.setattr(cache_module, "OPEN_SHARDS", data.draw(st.integers(1, 3)))
        patch.setattr(shard_reader, "MARK", data.draw(st.integers(1, 20)))
        patch.setattr(rows_module, "MARK", shard_reader.MARK)
        make_cache(folder, layout, make_identity(200_000 if wide else 100), loss_spans=spans)
        cache = TokenCache.open(folder)
        try:
            assert (cache.tokens, cache.documents) == (len(ids), sum(map(len, layout)))
            length = data.draw(st.integers(1, len(ids)))
            for index in range(cache.windows(length)):
                low, high = index * length, (index + 1) * length
                window = cache.window(index, length)
                assert window.tokens.dtype == window.segment_ids.dtype == np.int32
                assert window.loss_mask.dtype == bool
                assert window.tokens.tolist() == ids[low:high]
                names = list(dict.fromkeys(owner[low:high]))
                assert window.segment_ids.tolist() == [names.index(item) + 1 for item in owner[low:high]]
                assert window.loss_mask.tolist() == loss[low:high]
            order = np.array(data.draw(st.permutations(range(cache.windows(length)))), np.int64)
            together = Rows(len(order), length)
            cache.gather(order, together, np.arange(len(order)))
            for row, index in enumerate(order.tolist()):
                window = cache.window(index, length)
                assert np.array_equal(together.tokens[row], window.tokens)
                assert np.array_equal(together.segment_ids()[row], window.segment_ids)
                assert np.array_equal(together.loss_mask[row], window.loss_mask)
            start = data.draw(st.integers(0, len(ids)))
            stop = data.draw(st.integers(start, len(ids)))
            assert cache.read(start, stop).tolist() == ids[start:stop]
            found = [
                (s.shard, s.row, s.document_id, s.start, s.stop) for s in cache.documents_in(start, stop)
            ]
            assert found == list(
                dict.fromkeys(
                    (*place, *span) for place, span in zip(places[start:stop], owner[start:stop], strict=True)
                )
            )
            documents = [(d.document_id, d.input_ids.tolist(), d.byte_length) for d in cache.iterate()]
            assert documents == [
                (name, tokens, length) for rows in layout for name, tokens, length, _ in rows
            ]
            for shard, rows in enumerate(layout):
                for row in range(len(rows)):
                    assert cache.document(shard, row).document_id == rows[row][0]
            assert cache.verify().tokens == len(ids)
        finally:
            shutil.rmtree(folder)


ROWS: list[list[tuple[str, Sequence[int], int, Any]]] = [
    [("a", [1, 2, 0], 5, None)],
    [],
    [("b", [3, 0], 2, None), ("c", [4, 0], 1, None)],
]


@pytest.fixture
def folder(tmp_path: Path, make_cache: Callable[..., str]) -> Path:
    return Path(make_cache(str(tmp_path / "cache"), ROWS))


def test_the_segments_of_a_row_that_begins_within_a_document(folder: Path) -> None:
    window = TokenCache.open(str(folder)).window(1, 2)
    assert window.tokens.tolist() == [0, 3]
    assert window.segment_ids.tolist() == [1, 2]
    assert window.loss_mask.all()


@pytest.mark.parametrize(("index", "length"), [(-1, 2), (3, 2), (0, 8)])
def test_rows_outside_the_cache_are_refused(folder: Path, index: int, length: int) -> None:
    with pytest.raises(IndexError, match=r"not within \[0, 7\)"):
        TokenCache.open(str(folder)).window(index, length)
    with pytest.raises(IndexError, match="no row 1 in shard 0"):
        TokenCache.open(str(folder)).document(0, 1)
    with pytest.raises(IndexError, match="no shard 3"):
        TokenCache.open(str(folder)).document(3, 0)


def test_open_misses_no_missing_or_cut_shard(folder: Path) -> None:
    shard = folder / "shards" / "00000-of-00003.arrow"
    content = shard.read_bytes()
    shard.write_bytes(content[:-1])
    with pytest.raises(
        ArtefactError, match=r"00000-of-00003.arrow: the shard has [\d,]+ bytes, the ledger says"
    ):
        TokenCache.open(str(folder))
    shard.unlink()
    with pytest.raises(
        ArtefactError, match=r"00000-of-00003.arrow: the ledger lists a shard that is missing"
    ):
        TokenCache.open(str(folder))
    shutil.rmtree(folder / "shards")
    with pytest.raises(ArtefactError, match="missing"):
        TokenCache.open(str(folder))


def test_swapped_shards_are_noticed_on_first_use(tmp_path: Path, make_cache: Callable[..., str]) -> None:
    folder = Path(make_cache(str(tmp_path), [[("a", [1, 0], 1, None)], [("b", [2, 0], 1, None)]]))
    one, two = sorted((folder / "shards").iterdir())
    one.rename(folder / "x")
    two.rename(one)
    (folder / "x").rename(two)
    with pytest.raises(ArtefactError, match=r"00000-of-00002.arrow: shard: another shard lies here"):
        TokenCache.open(str(folder)).window(0, 2)


def test_a_shard_of_another_tokenizer_is_noticed_on_first_use(
    tmp_path: Path, make_cache: Callable[..., str], make_identity: Callable[..., Any]
) -> None:
    rows = [[("a", [1, 0], 1, None)]]
    mine = Path(make_cache(str(tmp_path / "mine"), rows))
    other = make_identity().model_copy(update={"fingerprint": "cd" * 32})
    theirs = Path(make_cache(str(tmp_path / "theirs"), rows, other))
    shutil.copy(theirs / "shards" / "00000-of-00001.arrow", mine / "shards" / "00000-of-00001.arrow")
    with pytest.raises(ArtefactError, match="tokenizer_fingerprint: made by another tokenizer"):
        TokenCache.open(str(mine)).read(0, 1)


def test_a_cache_of_nothing_is_refused(tmp_path: Path, make_cache: Callable[..., str]) -> None:
    make_cache(str(tmp_path), [[]])
    with pytest.raises(ArtefactError, match="the cache holds no document"):
        TokenCache.open(str(tmp_path))


def test_a_cache_travels_to_another_process(folder: Path) -> None:
    cache = TokenCache.open(str(folder))
    cache.read(0, 7)
    assert pickle.loads(pickle.dumps(cache)).read(0, 7).tolist() == cache.read(0, 7).tolist()


def test_few_shards_stay_open(
    tmp_path: Path, make_cache: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "OPEN_SHARDS", 2)
    make_cache(str(tmp_path), [[(str(n), [n + 1, 0], 1, None)] for n in range(9)])
    cache = TokenCache.open(str(tmp_path))
    assert cache.read(0, 18).tolist()[::2] == list(range(1, 10))
    assert len(cache._open) == 2


def test_a_cache_on_another_file_system(folder: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/remote-cache", recursive=True)
    try:
        cache = TokenCache.open("memory://remote-cache")
        assert cache.window(0, 7).tokens.tolist() == [1, 2, 0, 3, 0, 4, 0]
        assert cache.verify().documents == 3
    finally:
        memory.rm("/remote-cache", recursive=True)
