"""What a run records: ``metrics.jsonl`` and its fellows.

``metrics.jsonl`` and ``samples.jsonl`` hold only what the plan and the seed decide. A checkpoint stores their lengths and
checksums, and a resumed run cuts them back to that: the finished files are those of an uninterrupted run. Wall-clock figures
live apart, in ``timings.jsonl``.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from typing import Any, ClassVar

import fsspec
import xxhash

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.train.checkpoint import FileDigest
from tootsie.train.norms import KINDS
from tootsie.train.trackers import WandbSettings, trackers_of

FILES = ("metrics.jsonl", "samples.jsonl", "timings.jsonl", "alarms.jsonl")
"""The line files of a run, in its folder."""
REPLAYED = ("metrics.jsonl", "alarms.jsonl")
"""Those that a resumed run reads again, to take up its alarms where they were."""


class LineFile:
    """A file of JSON lines that only grows, cut to a known length when it is opened.

    On a local disk lines are appended. Object stores cannot append: there the whole file is written at each
    :meth:`sync`.

    Attributes:
      kept: what it held when it was opened, where it was asked to ``keep`` that.
    """

    def __init__(self, url: str, kept: FileDigest | None = None, *, keep: bool = False) -> None:
        """Open ``url`` for appending after the part that ``kept`` describes, which is checked; ``None`` keeps nothing.

        Raises:
          ArtefactError: the file is shorter than that, or differs.
        """
        self._url = url
        self._path = storage.local_path(url)
        self._length = 0 if kept is None else kept.size
        content = storage.read_bytes(url)[: self._length] if kept is not None and storage.exists(url) else b""
        self._digest = xxhash.xxh3_128(content)
        self.kept = content if keep else b""
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
    """The records of a run: four line files, and the trackers that show them."""

    def __init__(
        self, out: str, kept: dict[str, FileDigest], step: int, wandb: WandbSettings | None = None
    ) -> None:
        """Open all files, cut to what was ``kept`` of each; trackers drop what they have of later than ``step``."""
        self._files = {
            name: LineFile(storage.join(out, name), kept.get(name), keep=name in REPLAYED) for name in FILES
        }
        self._trackers = trackers_of(out, step, wandb)

    @property
    def written(self) -> dict[str, FileDigest]:
        """Size and checksum of each file, for the checkpoint."""
        return {name: file.written for name, file in self._files.items()}

    def kept(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the records that a file held when it was opened; once, for they are let go of."""
        content, self._files[name].kept = self._files[name].kept, b""
        for line in io.BytesIO(content):
            yield json.loads(line)

    def record(self, kind: str, entry: dict[str, Any]) -> None:
        """Record one object.

        Args:
          kind: ``sample``, ``timing`` or ``alarm``; any other (``train``, ``norms``, …) is a line of ``metrics.jsonl``.
          entry: its fields.
        """
        name = _FILE_OF.get(kind, "metrics.jsonl")
        self._files[name].append({"kind": kind, **entry} if name == "metrics.jsonl" else entry)
        if not self._trackers:
            return
        if kind in ("sample", "alarm"):
            text = (
                f"{entry['prompt']}**{entry['text']}**"
                if kind == "sample"
                else f"{entry['id']}: {entry['message']}"
            )
            for tracker in self._trackers:
                tracker.text(f"{kind}s", text, entry["step"])
        shown = scalars(kind, entry)
        for tracker in self._trackers:
            tracker.numbers(shown, entry["step"])

    def sync(self) -> None:
        """Make sure that everything recorded is on disk."""
        for file in self._files.values():
            file.sync()
        for tracker in self._trackers:
            tracker.flush()

    def close(self) -> None:
        """Sync and close all files."""
        for file in self._files.values():
            file.close()
        for tracker in self._trackers:
            tracker.close()


class Unrecorded:
    """In place of a :class:`Recorder` where another process records the run."""

    written: ClassVar[dict[str, FileDigest]] = {}

    def kept(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield nothing."""
        return iter(())

    def record(self, kind: str, entry: dict[str, Any]) -> None:
        """Nothing to do."""

    def sync(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""


_FILE_OF = {"sample": "samples.jsonl", "timing": "timings.jsonl", "alarm": "alarms.jsonl"}


def scalars(kind: str, entry: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of a record under the names that trackers show them by."""
    if kind == "train":
        names = ("loss", "z_loss", "log_z", "learning_rate", "batch_size", "grad_norm", "param_norm")
        drawn = {f"data/{name}": count for name, count in entry["consumed"].items()}
        return {f"train/{name}": entry[name] for name in names} | drawn
    if kind == "norms":
        return {f"norms/{of}/{group}": value for of in KINDS for group, value in entry[of].items()}
    if kind == "evaluation":
        prefix = "eval" if entry["weights"] == "hot" else "eval/ema"
        return {f"{prefix}/{entry['dataset']}/{name}": entry[name] for name in ("loss", "bits_per_byte")}
    if kind == "average":
        prefix = "average" if entry["weights"] == "hot" else "average/ema"
        means = ("macro_loss", "micro_loss", "macro_bits_per_byte", "micro_bits_per_byte")
        return {f"{prefix}/{entry['tag']}/{name}": entry[name] for name in means}
    if kind == "timing" and "tokens_per_second" in entry:
        return {"throughput/tokens_per_second": entry["tokens_per_second"]}
    return {}


def read_lines(url: str) -> list[dict[str, Any]]:
    """Return the records of a line file; a last line that was cut off is left out."""
    with fsspec.open(url, "rb") as stream:
        content = stream.read()
    return [json.loads(line) for line in content.split(b"\n")[:-1] if line]
