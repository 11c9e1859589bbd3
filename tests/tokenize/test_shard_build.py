from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tootsie.datasets import storage
from tootsie.datasets.errors import ArtefactError, InputError
from tootsie.tokenize.build import BuildSettings, plan_jobs
from tootsie.tokenize.receipt import read_receipt, receipt_url
from tootsie.tokenize.shard_build import ShardTask, build_shard


@pytest.fixture
def task(corpus: str, tmp_path: Path) -> ShardTask:
    (job,) = plan_jobs([corpus], str(tmp_path / "out"), BuildSettings(shards=2))
    return job.tasks[0]


def test_a_receipt_tells_what_the_shard_holds(task: ShardTask) -> None:
    assert read_receipt(task) is None
    assert build_shard(task) == "shards/00000-of-00002.arrow"
    receipt = read_receipt(task)
    assert receipt is not None
    assert receipt.accounting.read == receipt.entry.documents == sum(receipt.first_tokens.values())
    assert receipt.last_tokens == {16_383: receipt.entry.documents}


def test_only_a_whole_shard_of_the_same_build_counts_as_done(task: ShardTask) -> None:
    build_shard(task)
    assert read_receipt(dataclasses.replace(task, build="another")) is None
    storage.write_bytes(receipt_url(task.folder, task.path), b"{")
    assert read_receipt(task) is None
    build_shard(task)
    assert read_receipt(task) is not None
    content = storage.read_bytes(receipt_url(task.folder, task.path))
    edited = json.loads(content)
    edited["entry"]["tokens"] += 1
    storage.write_bytes(receipt_url(task.folder, task.path), json.dumps(edited).encode())
    assert read_receipt(task) is None
    storage.write_bytes(receipt_url(task.folder, task.path), content)
    assert read_receipt(task) is not None
    storage.remove(storage.join(task.folder, task.path))
    assert read_receipt(task) is None


def test_a_worker_with_another_tokenizer_writes_nothing(task: ShardTask) -> None:
    foreign = task.identity.model_copy(update={"fingerprint": "0" * 64})
    with pytest.raises(ArtefactError, match="made by another tokenizer"):
        build_shard(dataclasses.replace(task, identity=foreign))
    assert storage.list_files(storage.join(task.folder, "shards")) == []


def test_a_source_that_changed_meanwhile_leaves_no_receipt(task: ShardTask) -> None:
    path = Path(task.slices[0].url)
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)  # Who says that what was read before was the same?
    with pytest.raises(InputError, match=r"changed while it was tokenized"):
        build_shard(task)
    assert read_receipt(task) is None
