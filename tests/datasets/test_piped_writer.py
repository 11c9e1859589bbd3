from __future__ import annotations

import threading

import pytest

from tootsie.datasets import piped_writer
from tootsie.datasets.piped_writer import PIECE, PipedWriter, piped


def test_what_is_written_is_read() -> None:
    content = bytes(range(256)) * 10_000

    def produce(pipe: PipedWriter) -> None:
        for start in range(0, len(content), 700_001):
            assert pipe.write(content[start : start + 700_001]) > 0

    with piped(produce) as stream:
        assert stream.read() == content


def test_a_fault_of_the_producer_is_met_where_the_bytes_end() -> None:
    def produce(pipe: PipedWriter) -> None:
        pipe.write(b"beginning")
        raise EOFError("cut off")

    with piped(produce) as stream:
        assert stream.read(9) == b"beginning"
        with pytest.raises(EOFError, match="cut off"):
            stream.read(1)


def test_a_producer_whose_reader_leaves_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def produce(pipe: PipedWriter) -> None:
        try:
            while True:
                pipe.write(b"x" * PIECE)
        finally:
            ended.set()

    before = threading.active_count()
    with piped(produce) as stream:
        assert stream.read(1) == b"x"
    assert ended.is_set()
    assert threading.active_count() == before


def test_a_producer_is_never_far_ahead() -> None:
    written = []
    first = threading.Event()

    def produce(pipe: PipedWriter) -> None:
        for _ in range(1000):
            pipe.write(b"x" * PIECE)
            written.append(1)
            first.set()

    with piped(produce) as stream:
        first.wait()
        for _ in range(100):
            assert len(stream.read(PIECE)) == PIECE
            assert len(written) <= 1000
        assert len(written) <= 100 + piped_writer.AHEAD + 2
