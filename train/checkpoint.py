"""Checkpoints that can be trusted: Orbax arrays, then a record with the checksum of every file, written last.

    checkpoints/<step>/state/…        Orbax: weights, optimizer state, averaged weights
    checkpoints/<step>/record.json    position, plan, consumption, settings, checksums; no record = not finished
    checkpoints/pins/<step>.json      kept for good (:mod:`tootsie.train.pins`)

The newest is the one of the highest step, never of the latest timestamp. One that fails verification is set aside as
``damaged-<step>`` and the one before it is used; if none is good the run stops. It never starts over by itself.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import xxhash
from fsspec.core import url_to_fs
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError
from tootsie.datasets.provenance import fingerprint
from tootsie.datasets.sealed import Sealed
from tootsie.train import hosts

FORMAT = "tootsie-checkpoint/1"
RECORD_NAME = "record.json"
REPLACING = "replacing"
"""Folder in which a checkpoint waits that takes the place of another one of its step."""


class FileDigest(BaseModel):
    """Size and checksum of one file of a checkpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int
    """Bytes."""
    xxh3_128: str
    """Of its bytes."""


class CheckpointRecord(Sealed):
    """Everything about a checkpoint that is not an array."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = FORMAT
    """Version of this layout."""
    step: int
    """Updates done."""
    position: int
    """Sequences drawn."""
    tokens: int
    """Tokens drawn."""
    phase: str
    """Phase of the last step."""
    consumed: dict[str, int]
    """Sequences drawn of each dataset."""
    binding: dict[str, Any]
    """What a resumed run must share: plan hash, architecture, precision, seed."""
    config: dict[str, Any]
    """The resolved configuration of the run, as in ``config.json``."""
    lines: dict[str, FileDigest]
    """Size and checksum of each line file of the run when this was written."""
    temporary: bool = False
    """Whether the next checkpoint may replace it."""
    averaged: bool | None = None
    """Whether the state holds averaged weights; ``None`` in records of before: where any phase keeps an average."""
    lineage: tuple[dict[str, Any], ...] = ()
    """Where the state comes from, in order: plans followed, branches taken, operations; see :mod:`tootsie.train.lineage`."""
    spike_window: tuple[tuple[float, float], ...] = ()
    """Loss and gradient norm of the last steps, where spikes are skipped; see :mod:`tootsie.train.spikes`."""
    files: dict[str, FileDigest] = Field(default_factory=dict)
    """Every file below the checkpoint, by relative path; filled in by :func:`save`."""
    hash: str = ""
    """SHA-256 of the canonical JSON of all of the above; filled in by :func:`save`."""

    @property
    def has_average(self) -> bool:
        """Whether the state holds averaged weights."""
        if self.averaged is not None:
            return self.averaged
        return any(phase["settings"]["ema_beta"] is not None for phase in self.config.get("phases", ()))


def steps_in(folder: str) -> list[int]:
    """Return the steps of the finished checkpoints in ``folder``, newest first."""
    filesystem, path = url_to_fs(folder)
    if not filesystem.exists(path):
        return []
    names = [entry.rstrip("/").rsplit("/", 1)[-1] for entry in filesystem.ls(path, detail=False)]
    finished = [
        int(name) for name in names if name.isdecimal() and filesystem.exists(f"{path}/{name}/{RECORD_NAME}")
    ]
    return sorted(finished, reverse=True)


def save(folder: str, state: Any, record: CheckpointRecord) -> CheckpointRecord:
    """Write a checkpoint; return its record with the checksums. It is finished when this returns, and not before."""
    return begin(folder, state, record)()


def begin(folder: str, state: Any, record: CheckpointRecord) -> Callable[[], CheckpointRecord]:
    """Begin to write a checkpoint; return the function that waits for it, checks what is on disk and writes the record.

    That function may be called in another thread. The arrays are needed only until this returns, except on a CPU, where
    the host's view of an array is the array itself. On several hosts each process calls both: each writes the parts of arrays
    that its devices hold, the first checks the files and writes the record.
    """
    url = storage.join(folder, str(record.step))
    filesystem, path = url_to_fs(url)
    if hosts.is_first() and filesystem.exists(path):  # unfinished, or older than the one it replaces
        storage.remove(storage.join(url, RECORD_NAME))
        filesystem.rm(path, recursive=True)
    checkpointer = _checkpointer(f"save {url}")
    checkpointer.save(_orbax_path(storage.join(url, "state")), state)  # all wait here for the first

    def complete() -> CheckpointRecord:
        with checkpointer:
            checkpointer.wait_until_finished()
        finished = finish() if hosts.is_first() else record
        hosts.from_first(f"written {url}", lambda: finished.hash)  # the others wait for the record
        return finished

    def finish() -> CheckpointRecord:
        finished = record.model_copy(update={"files": _digests(url)})
        finished = finished.sealed()
        content = json.dumps(finished.model_dump(), indent=1, ensure_ascii=False) + "\n"
        storage.write_bytes(storage.join(url, RECORD_NAME), content.encode())
        return finished

    return complete


def replace(folder: str, state: Any, record: CheckpointRecord, before: CheckpointRecord) -> CheckpointRecord:
    """Put another checkpoint of the same step in the place of ``before``, which is kept as ``replaced-<step>-<hash>``.

    Interrupted at any point, the step has the one or the other: :func:`newest_good` ends what was begun.
    """
    waiting = storage.join(folder, REPLACING)
    filesystem, path = url_to_fs(waiting)
    if filesystem.exists(path):
        filesystem.rm(path, recursive=True)
    written = save(waiting, state, record)
    _move(folder, str(record.step), f"replaced-{record.step}-{before.hash[:12]}")
    _move(folder, f"{REPLACING}/{record.step}", str(record.step))
    filesystem.rm(path, recursive=True)
    return written


def end_replacing(folder: str) -> None:
    """End a replacement that was interrupted between its two moves; one that was interrupted before them is undone."""
    waiting = storage.join(folder, REPLACING)
    filesystem, path = url_to_fs(waiting)
    present = steps_in(folder)
    for step in steps_in(waiting):
        if step not in present:
            _move(folder, f"{REPLACING}/{step}", str(step))
    if filesystem.exists(path):
        filesystem.rm(path, recursive=True)


def remove(folder: str, step: int) -> None:
    """Delete the checkpoint of one step, its record first; one that is pinned stays."""
    if is_pinned(folder, step):
        return
    filesystem, path = url_to_fs(storage.join(folder, str(step)))
    storage.remove(storage.join(folder, str(step), RECORD_NAME))
    filesystem.rm(path, recursive=True)


def pin_url(folder: str, step: int) -> str:
    """Return the URL of the file that pins the checkpoint of ``step``."""
    return storage.join(folder, "pins", f"{step}.json")


def is_pinned(folder: str, step: int) -> bool:
    """Return whether the checkpoint of ``step`` is kept for good."""
    return storage.exists(pin_url(folder, step))


def remove_replaced(folder: str, newest: int) -> list[int]:
    """Delete temporary checkpoints older than ``newest``, which an interrupted run did not come to delete."""
    replaced = []
    for step in steps_in(folder):
        with contextlib.suppress(ArtefactError):  # an old one that is damaged is not needed now
            if step < newest and read_record(folder, step).temporary and not is_pinned(folder, step):
                replaced.append(step)
    for step in replaced:
        remove(folder, step)
    return replaced


def read_record(folder: str, step: int) -> CheckpointRecord:
    """Return the record of a finished checkpoint.

    Raises:
      ArtefactError: it is not valid, or of another version, or was changed since it was written.
    """
    url = storage.join(folder, str(step), RECORD_NAME)
    content = storage.read_bytes(url)
    try:
        record = CheckpointRecord.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise ArtefactError(f"not a valid checkpoint record: {first['msg']}", file=url, field=field) from None
    stored = json.loads(content)
    # Over the fields of the file, not of the class: a record of before has fewer.
    if stored.pop("hash", "") != fingerprint(stored):
        raise ArtefactError("the checkpoint's record is damaged", file=url, field="hash", value=record.hash)
    return record


def verify(folder: str, step: int) -> CheckpointRecord:
    """Compare every file of a checkpoint with its record.

    Raises:
      ArtefactError: a file is missing, added or differs, or the record is not valid.
    """
    record = read_record(folder, step)
    url = storage.join(folder, str(step))
    if record.format != FORMAT or record.step != step:
        raise ArtefactError(
            "the record is of another checkpoint", file=url, value=f"{record.format}, step {record.step}"
        )
    found = _digests(url)
    for name in sorted(record.files.keys() | found.keys()):
        if name not in found:
            raise ArtefactError("a file of the checkpoint is missing", file=storage.join(url, name))
        if name not in record.files:
            raise ArtefactError("a file that is not in the record", file=storage.join(url, name))
        if found[name] != record.files[name]:
            raise ArtefactError("a file of the checkpoint is damaged", file=storage.join(url, name))
    return record


def newest_good(folder: str, tell: Callable[[str], None]) -> CheckpointRecord | None:
    """Return the record of the newest checkpoint that verifies; ``None`` when none was ever finished.

    Damaged ones are told and set aside.

    Raises:
      ArtefactError: checkpoints exist and none is good.
    """
    end_replacing(folder)
    steps = steps_in(folder)
    first_fault: ArtefactError | None = None
    for step in steps:
        try:
            record = verify(folder, step)
        except ArtefactError as fault:
            first_fault = first_fault or fault
            tell(f"checkpoint {step} is not usable: {fault}")
            continue
        for damaged in steps[: steps.index(step)]:
            tell(f"checkpoint {damaged} is set aside as damaged-{damaged}; falling back to step {step}")
            _set_aside(folder, damaged)
        return record
    if first_fault is not None:
        raise ArtefactError(
            f"none of {len(steps)} checkpoints is good; the newest: {first_fault}",
            file=folder,
            remedy="Restore one from a copy, or choose another 'out' to start from scratch",
        )
    return None


def check_binding(expected: dict[str, Any], record: CheckpointRecord, folder: str) -> None:
    """Refuse a checkpoint of another plan, model, precision or seed.

    Raises:
      ArtefactError: names the first setting that differs, with both values.
    """
    difference = first_difference(record.binding, expected)
    if difference is not None:
        field, before, now = difference
        raise ArtefactError(
            f"the checkpoint was made with {before!r}, this run has {now!r}",
            file=storage.join(folder, str(record.step)),
            field=field,
            remedy="Undo the change, or choose another 'out' to start from scratch",
        )


def first_difference(before: Any, now: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """Return the path and both values of the first place where two JSON-like values differ, in sorted key order."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            found = first_difference(before.get(key), now.get(key), f"{path}.{key}" if path else str(key))
            if found is not None:
                return found
        return None
    return None if before == now else (path, before, now)


def restore(folder: str, step: int, like: Any) -> Any:
    """Return the arrays of a checkpoint, in the structure of ``like``: a tree of shapes and dtypes, and of shardings where
    they do not all lie on one device. It need not have been saved on the same devices.

    Raises:
      ArtefactError: the stored tree has other leaves, shapes or dtypes.
    """
    sharding = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    target = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=leaf.sharding or sharding), like
    )
    url = storage.join(folder, str(step), "state")
    with _checkpointer(f"restore {url}") as checkpointer:
        stored = _leaves(checkpointer.metadata(_orbax_path(url)).item_metadata.tree)
        wanted = _leaves(target)
        for name in sorted(stored.keys() | wanted.keys()):
            if stored.get(name) != wanted.get(name):
                raise ArtefactError(
                    f"the stored array is {stored.get(name, 'missing')}, this model needs {wanted.get(name, 'none')}",
                    file=url,
                    field=name,
                )
        return checkpointer.restore(_orbax_path(url), target)


def _leaves(tree: Any) -> dict[str, str]:
    """Shape and dtype of each leaf by its path; named tuples, tuples and mappings are alike to Orbax."""
    paths, _ = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda node: hasattr(node, "dtype"))
    return {
        "/".join(str(getattr(key, "name", getattr(key, "key", getattr(key, "idx", key)))) for key in path): (
            f"{np.dtype(leaf.dtype).name}{list(leaf.shape)}"
        )
        for path, leaf in paths
        if hasattr(leaf, "dtype")
    }


def remove_unfinished(folder: str) -> list[str]:
    """Delete checkpoint folders without a record, which an interrupted run left; return their names."""
    filesystem, path = url_to_fs(folder)
    if not filesystem.exists(path):
        return []
    leftovers = []
    for entry in filesystem.ls(path, detail=False):
        name = entry.rstrip("/").rsplit("/", 1)[-1]
        if name.isdecimal() and not filesystem.exists(f"{path}/{name}/{RECORD_NAME}"):
            filesystem.rm(entry, recursive=True)
            leftovers.append(name)
    return leftovers


def _set_aside(folder: str, step: int) -> None:
    _move(folder, str(step), f"damaged-{step}")


def _move(folder: str, name: str, to: str) -> None:
    """Rename a folder below ``folder``; one that has the new name is removed."""
    filesystem, source = url_to_fs(storage.join(folder, name))
    target = url_to_fs(storage.join(folder, to))[1]
    if filesystem.exists(target):
        filesystem.rm(target, recursive=True)
    filesystem.mv(source, target, recursive=True)


def _digests(url: str) -> dict[str, FileDigest]:
    filesystem, path = url_to_fs(url)
    digests = {}
    for name in sorted(filesystem.find(path)):
        relative = name[len(path) :].lstrip("/")
        if relative == RECORD_NAME or relative.startswith(f"{RECORD_NAME}.tmp-"):
            continue
        digest, size = xxhash.xxh3_128(), 0
        with filesystem.open(name, "rb") as stream:
            while chunk := stream.read(2**22):
                digest.update(chunk)
                size += len(chunk)
        digests[relative] = FileDigest(size=size, xxh3_128=digest.hexdigest())
    return digests


def _orbax_path(url: str) -> str:
    """Orbax wants an absolute local path, or a URL."""
    local = storage.local_path(url)
    return url if local is None else str(local.absolute())


def _checkpointer(name: str) -> Any:
    """Return an Orbax checkpointer; its processes wait for each other under ``name``, outside of the computation."""
    import orbax.checkpoint

    logging.getLogger("absl").setLevel(logging.WARNING)
    if hosts.count() == 1:
        return orbax.checkpoint.StandardCheckpointer()
    options = orbax.checkpoint.options.MultiprocessingOptions(
        active_processes=set(range(hosts.count())), barrier_sync_key_prefix=name.replace("/", "_")
    )
    return orbax.checkpoint.StandardCheckpointer(multiprocessing_options=options)
