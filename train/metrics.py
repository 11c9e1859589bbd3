"""What a run records: ``metrics.jsonl`` and its fellows, and TensorBoard.

``metrics.jsonl`` and ``samples.jsonl`` hold only what the plan and the seed decide. A checkpoint stores their lengths and
checksums, and a resumed run cuts them back to that: the finished files are those of an uninterrupted run. Wall-clock figures
live apart, in ``timings.jsonl``.
"""

from __future__ import annotations

import json
import os
from typing import Any

import fsspec
import xxhash

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.train.checkpoint import FileDigest

FILES = ("metrics.jsonl", "samples.jsonl", "timings.jsonl")
"""The line files of a run, in its folder."""


class LineFile:
    """A file of JSON lines that only grows, cut to a known length when it is opened.

    On a local disk lines are appended. Object stores cannot append: there the whole file is written at each
    :meth:`sync`.
    """

    def __init__(self, url: str, kept: FileDigest | None = None) -> None:
        """Open ``url`` for appending after the part that ``kept`` describes, which is checked; ``None`` keeps nothing.

        Raises:
          ArtefactError: the file is shorter than that, or differs.
        """
        self._url = url
        self._path = storage.local_path(url)
        self._length = 0 if kept is None else kept.size
        content = storage.read_bytes(url)[: self._length] if kept is not None and storage.exists(url) else b""
        self._digest = xxhash.xxh3_128(content)
        remedy = "Restore the file, or resume from an older checkpoint by moving the newer ones away"
        if len(content) < self._length:
            raise ArtefactError(
                f"the file has {len(content):,} bytes, the checkpoint was written when it had {self._length:,}",
                file=url,
                remedy=remedy,
            )
        if kept is not None and self._digest.hexdigest() != kept.xxh3_128:
            raise ArtefactError(
                "the file was changed since the checkpoint was written", file=url, remedy=remedy
            )
        self._content = b""
        if self._path is None:
            self._content = content
        else:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = self._path.open("ab")
            self._stream.truncate(self._length)

    @property
    def written(self) -> FileDigest:
        """Size and checksum of all lines so far."""
        return FileDigest(size=self._length, xxh3_128=self._digest.hexdigest())

    def append(self, record: dict[str, Any]) -> None:
        """Add one object as a line; keys keep their order.

        Raises:
          ValueError: a number is not finite.
        """
        line = (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode()
        self._length += len(line)
        self._digest.update(line)
        if self._path is None:
            self._content += line
        else:
            self._stream.write(line)
            self._stream.flush()

    def sync(self) -> None:
        """Make sure that all lines are on disk."""
        if self._path is None:
            storage.write_bytes(self._url, self._content)
        else:
            os.fsync(self._stream.fileno())

    def close(self) -> None:
        """Sync and close."""
        self.sync()
        if self._path is not None:
            self._stream.close()


class Recorder:
    """The records of a run: three line files and, on a local disk, TensorBoard events."""

    def __init__(self, out: str, kept: dict[str, FileDigest], step: int) -> None:
        """Open all files, cut to what was ``kept`` of each; TensorBoard drops events after ``step``."""
        self._files = {name: LineFile(storage.join(out, name), kept.get(name)) for name in FILES}
        self._board: Any = None
        folder = storage.local_path(storage.join(out, "tensorboard"))
        if folder is not None:
            from tensorboardX import SummaryWriter

            self._board = SummaryWriter(str(folder), purge_step=step + 1)

    @property
    def written(self) -> dict[str, FileDigest]:
        """Size and checksum of each file, for the checkpoint."""
        return {name: file.written for name, file in self._files.items()}

    def train(self, record: dict[str, Any]) -> None:
        """Record one training step."""
        self._files["metrics.jsonl"].append({"kind": "train", **record})
        for name in ("loss", "z_loss", "learning_rate", "batch_size", "grad_norm", "param_norm"):
            self._scalar(f"train/{name}", record[name], record["step"])
        for name, count in record["consumed"].items():
            self._scalar(f"data/{name}", count, record["step"])

    def evaluation(self, record: dict[str, Any]) -> None:
        """Record one held-out set."""
        self._files["metrics.jsonl"].append({"kind": "evaluation", **record})
        prefix = "eval" if record["weights"] == "hot" else "eval/ema"
        for name in ("loss", "bits_per_byte"):
            self._scalar(f"{prefix}/{record['dataset']}/{name}", record[name], record["step"])

    def sample(self, record: dict[str, Any]) -> None:
        """Record one piece of sample text."""
        self._files["samples.jsonl"].append(record)
        if self._board is not None:
            self._board.add_text("samples", f"{record['prompt']}**{record['text']}**", record["step"])

    def timing(self, record: dict[str, Any]) -> None:
        """Record wall-clock figures."""
        self._files["timings.jsonl"].append(record)
        if "tokens_per_second" in record:
            self._scalar("throughput/tokens_per_second", record["tokens_per_second"], record["step"])

    def sync(self) -> None:
        """Make sure that everything recorded is on disk."""
        for file in self._files.values():
            file.sync()
        if self._board is not None:
            self._board.flush()

    def close(self) -> None:
        """Sync and close all files."""
        for file in self._files.values():
            file.close()
        if self._board is not None:
            self._board.close()

    def _scalar(self, name: str, value: float, step: int) -> None:
        if self._board is not None:
            self._board.add_scalar(name, value, step)


def read_lines(url: str) -> list[dict[str, Any]]:
    """Return the records of a line file; a last line that was cut off is left out."""
    with fsspec.open(url, "rb") as stream:
        content = stream.read()
    return [json.loads(line) for line in content.split(b"\n")[:-1] if line]
