from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tootsie.tokenize.document_files import DocumentFile
from tootsie.tokenize.sharding import SHARD_TOKENS, cut, limited, shard_count

FILES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 1000)), min_size=1, max_size=8).map(
    lambda sizes: [DocumentFile(f"f{n}", documents, weight) for n, (documents, weight) in enumerate(sizes)]
)


@given(FILES, st.integers(1, 12))
@example([DocumentFile("empty", 0, 500), DocumentFile("light", 3, 0)], 2)
@example([DocumentFile("f", 1, 3), DocumentFile("light", 3, 0), DocumentFile("g", 1, 3)], 12)
def test_every_document_is_in_exactly_one_shard_in_order(files: list[DocumentFile], count: int) -> None:
    runs = cut(files, count)
    assert len(runs) <= count
    assert all(part.stop > part.first for run in runs for part in run)
    assert all(runs)
    found = [(part.url, row) for run in runs for part in run for row in range(part.first, part.stop)]
    assert found == [(file.url, row) for file in files for row in range(file.documents)]


@given(st.integers(1, 5), st.integers(1, 12))
def test_shards_are_balanced(files: int, count: int) -> None:
    runs = cut([DocumentFile(str(n), 1000, 12_345) for n in range(files)], count)
    sizes = [sum(part.stop - part.first for part in run) for run in runs]
    assert max(sizes) - min(sizes) <= files + 1


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 10**6))
def test_no_shard_is_empty_where_documents_suffice(count: int, each: int, odd: int) -> None:
    (file,) = [DocumentFile("f", count * each, count * each * 50_000_000 + odd)]
    sizes = [sum(part.stop - part.first for part in run) for run in cut([file], count)]
    assert sizes == [each] * count


def test_a_document_as_heavy_as_several_shards_leaves_none_of_them_empty() -> None:
    files = [DocumentFile("book", 1, 50_000_000), DocumentFile("notes", 39, 8_000)]
    runs = cut(files, 40)
    assert [[(part.url, part.first, part.stop) for part in run] for run in runs] == [
        [("book", 0, 1)],
        [("notes", 0, 39)],
    ]


def test_shard_counts() -> None:
    assert shard_count(100, 10) == 1
    assert shard_count(10 * 2**20, 1000) == 5
    assert shard_count(100 * 2**20, 1000) == 8
    assert shard_count(SHARD_TOKENS * 4 * 20, 10**6) == 20
    assert shard_count(SHARD_TOKENS * 4 * 20, 3) == 3
    assert shard_count(10**9, 10**6, shards=7) == 7
    assert shard_count(4000, 10**6, shard_tokens=100) == 10
    assert shard_count(4000, 10**6, shard_tokens=100, share=0.05) == 1


@given(FILES, st.integers(1, 60))
def test_limits_keep_the_first_documents(files: list[DocumentFile], limit: int) -> None:
    kept = limited(files, limit)
    assert sum(file.documents for file in kept) == min(limit, sum(file.documents for file in files))
    assert limited(files, None) == files
