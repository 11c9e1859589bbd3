from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tootsie.curate import shuffle_file
from tootsie.curate.corpus import Record
from tootsie.curate.shuffle_file import ShardRecords, ShuffleWriter, shard_of
from tootsie.datasets.errors import ArtefactError


def write(path: Path, records: list[Record], shards: int) -> dict[int, list[tuple[int, int]]]:
    with path.open("wb") as stream:
        writer = ShuffleWriter(stream, shards, seed=3)
        for record in records:
            writer.add(record)
        writer.finish()
    return writer.frames


RECORDS = st.tuples(
    st.text(), st.dictionaries(st.text(), st.integers() | st.text(), max_size=3), st.binary()
).map(lambda parts: Record(*parts))


@given(
    records=st.lists(RECORDS, max_size=30),
    shards=st.integers(1, 9),
    frame=st.sampled_from([1, 200, 10**6]),
)
def test_what_goes_in_comes_out_by_shard_in_order(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], shards: int, frame: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "records.bin"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shuffle_file, "FRAME_BYTES", frame)
        patch.setattr(shuffle_file, "BUFFER_BYTES", 500)
        frames = write(path, records, shards)
    for shard in range(shards):
        parts = ((str(path), tuple(frames[shard])),) if shard in frames else ()
        expected = [record for record in records if shard_of(record.key, shards, 3) == shard]
        found = ShardRecords(parts)
        assert list(found) == expected
        assert list(found) == expected, "can be read again"


def test_shards_are_even_and_depend_on_the_seed() -> None:
    counts = [0] * 8
    for number in range(8000):
        counts[shard_of(f"enwiki:{number}", 8, 0)] += 1
    assert max(counts) < 1150
    assert min(counts) > 850
    assert [shard_of(str(n), 8, 0) for n in range(50)] != [shard_of(str(n), 8, 1) for n in range(50)]
    assert [shard_of(key, 1000, 0) for key in ("a", "b", "é\ud800")] == [928, 668, 771]


def test_damage_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "records.bin"
    frames = write(path, [Record("a", {}, b"body " * 100)], 1)
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(content)
    with pytest.raises(ArtefactError, match="intermediate file is damaged"):
        list(ShardRecords(((str(path), tuple(frames[0])),)))
