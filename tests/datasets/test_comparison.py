"""A copy that is not what the list says: each fault is found and named for what it is."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pyarrow
import pyarrow.ipc
import pytest
import typer.main
import xxhash

from tootsie.datasets import storage
from tootsie.datasets.command import app
from tootsie.datasets.command_line import run_command
from tootsie.datasets.comparison import Problem
from tootsie.datasets.verification import verify_copy

SHARDS = 12


def shard(number: int) -> bytes:
    # Every shard has the same size: only the content tells them apart.
    lines = "".join(json.dumps({"text": f"document {number:02}-{row}"}) + "\n" for row in range(5))
    return gzip.compress(lines.encode(), compresslevel=0, mtime=0)


def name(number: int) -> str:
    return f"data/shard-{number:02}-of-{SHARDS}.jsonl.gz"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    (folder / "data").mkdir(parents=True)
    for number in range(SHARDS):
        (folder / name(number)).write_bytes(shard(number))
    return folder


@pytest.fixture(params=["sha256", "md5", "xxh3", "xxh3_64", "tree", "siblings"])
def listing(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    entries: list[dict[str, object]] = []
    for number in range(SHARDS):
        content = shard(number)
        entry: dict[str, object] = {"path": name(number), "size": len(content), "rows": 5}
        if request.param == "sha256":
            entry["sha256"] = hashlib.sha256(content).hexdigest()
        elif request.param == "md5":
            entry["md5"] = hashlib.md5(content).hexdigest().upper()
        elif request.param == "xxh3":
            entry["xxh3"] = xxhash.xxh3_128(content).hexdigest()
        elif request.param == "xxh3_64":
            entry["xxh3"] = xxhash.xxh3_64(content).hexdigest()
        elif number % 2:
            git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            entry = {"path": name(number), "size": len(content), "type": "file", "oid": git}
        else:
            pointer = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
            entry = {
                "path": name(number),
                "size": len(content),
                "type": "file",
                "oid": "0" * 40,
                "lfs": pointer,
            }
        entries.append(entry)
    path = tmp_path / "list"
    if request.param == "tree":
        path.write_text(
            json.dumps([{"type": "directory", "oid": "0" * 40, "size": 0, "path": "data"}, *entries])
        )
    elif request.param == "siblings":
        siblings = [
            {"rfilename": entry["path"], "size": entry["size"]}
            | ({"lfs": {"sha256": entry["lfs"]["oid"], "size": entry["size"]}} if "lfs" in entry else {"blobId": entry["oid"]})  # type: ignore[index]
            for entry in entries
        ]  # fmt: skip
        path.write_text(json.dumps({"id": "who/what", "sha": "0" * 40, "siblings": siblings}))
    else:
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return str(path)


def faults(folder: Path, listing: str | None = None) -> dict[str, tuple[Problem, str]]:
    found = verify_copy(str(folder), listing).faults
    assert len({fault.path for fault in found}) == len(found)
    return {fault.path: (fault.kind, fault.problem) for fault in found}


def test_a_whole_copy(copy: Path, listing: str) -> None:
    assert faults(copy, listing) == {}


def test_one_third_of_the_files(copy: Path, listing: str) -> None:
    for number in range(SHARDS):
        if number % 3:
            (copy / name(number)).unlink()
    found = faults(copy, listing)
    assert {path: kind for path, (kind, _) in found.items()} == {
        name(number): Problem.MISSING for number in range(SHARDS) if number % 3
    }


def test_a_truncated_shard(copy: Path, listing: str) -> None:
    size = len(shard(4))
    (copy / name(4)).write_bytes(shard(4)[:-7])
    assert faults(copy, listing) == {
        name(4): (Problem.SHORT, f"the file has {size - 7:,} bytes, the manifest says {size:,}: 7 fewer")
    }


def test_two_swapped_shards(copy: Path, listing: str) -> None:
    (copy / name(3)).write_bytes(shard(8))
    (copy / name(8)).write_bytes(shard(3))
    found = faults(copy, listing)
    assert found == {
        name(3): (Problem.SWAPPED, f"swapped with {name(8)}: each has the content of the other"),
        name(8): (Problem.SWAPPED, f"swapped with {name(3)}: each has the content of the other"),
    }


@pytest.mark.parametrize("bit", [0, 83, 700])
def test_one_flipped_bit(copy: Path, listing: str, bit: int) -> None:
    content = bytearray(shard(11))
    content[bit // 8] ^= 1 << bit % 8
    (copy / name(11)).write_bytes(content)
    ((path, (kind, problem)),) = faults(copy, listing).items()
    assert (path, kind) == (name(11), Problem.ALTERED)
    assert "checksum differs" in problem


def test_one_content_under_two_names(copy: Path, listing: str) -> None:
    (copy / name(5)).write_bytes(shard(6))
    ((path, (kind, problem)),) = faults(copy, listing).items()
    assert (path, kind) == (name(5), Problem.DUPLICATED)
    assert problem == f"it has the content of {name(6)}; its own is nowhere"


def test_a_rotation_of_three(copy: Path, listing: str) -> None:
    for to, of in ((0, 1), (1, 2), (2, 0)):
        (copy / name(to)).write_bytes(shard(of))
    found = faults(copy, listing)
    assert found[name(0)] == (
        Problem.DUPLICATED,
        f"it has the content of {name(1)}; its own is in {name(2)}",
    )
    assert set(found) == {name(0), name(1), name(2)}


def test_extra_renamed_and_copied_files(copy: Path, listing: str) -> None:
    (copy / "notes.txt").write_text("mine")
    (copy / "data" / "copy.jsonl.gz").write_bytes(shard(1))
    (copy / name(2)).rename(copy / "data" / "moved.jsonl.gz")
    found = faults(copy, listing)
    assert found["notes.txt"] == (Problem.EXTRA, "not in the manifest")
    assert found["data/copy.jsonl.gz"] == (
        Problem.DUPLICATED,
        f"not in the manifest: it has the content of {name(1)}",
    )
    assert found[name(2)] == (
        Problem.MISSING,
        "the manifest lists a file that is missing; its content is there as data/moved.jsonl.gz",
    )
    assert set(found) == {"notes.txt", "data/copy.jsonl.gz", "data/moved.jsonl.gz", name(2)}


def test_counts_without_checksums(copy: Path, tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text(
        json.dumps({"path": name(0), "rows": 6}) + "\n" + json.dumps({"path": name(1), "rows": 5})
    )
    (copy / name(2)).write_bytes(b"")
    found = faults(copy, str(path))
    assert found[name(0)] == (Problem.MISCOUNTED, "5 rows, the manifest says 6")
    assert name(1) not in found
    assert verify_copy(str(copy), str(path)).unchecked == 2


def test_a_remote_copy(copy: Path, listing: str) -> None:
    base = f"memory://comparison-{hashlib.md5(listing.encode()).hexdigest()}"
    for number in range(SHARDS):
        if number != 7:
            storage.write_bytes(f"{base}/{name(number)}", (copy / name(number)).read_bytes())
    (fault,) = verify_copy(base, listing).faults
    assert (fault.path, fault.kind) == (name(7), Problem.MISSING)


def test_a_token_cache(tmp_path: Path) -> None:
    entries = []
    (tmp_path / "shards").mkdir()
    for number in range(2):
        table = pyarrow.table(
            {"input_ids": pyarrow.array([[1, 2, 3], [number]], pyarrow.large_list(pyarrow.uint16()))}
        )
        path = tmp_path / "shards" / f"0000{number}-of-00002.arrow"
        with pyarrow.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
        content = path.read_bytes()
        checksum = xxhash.xxh3_128(content).hexdigest()
        entries.append(
            {"path": f"shards/{path.name}", "documents": 2, "tokens": 4, "bytes": 9, "size": len(content), "xxh3_128": checksum}
        )  # fmt: skip
    ledger = {"format": "tootsie-tokens/1", "documents": 4, "tokens": 8, "shards": entries}
    (tmp_path / "ledger.json").write_text(json.dumps(ledger))
    assert faults(tmp_path) == {}
    entries[1]["tokens"] = 5
    (tmp_path / "ledger.json").write_text(json.dumps(ledger))
    assert faults(tmp_path) == {
        "shards/00001-of-00002.arrow": (Problem.MISCOUNTED, "4 tokens, the manifest says 5")
    }
    first, second = (tmp_path / str(entry["path"]) for entry in entries)
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    assert {kind for kind, _ in faults(tmp_path).values()} == {Problem.SWAPPED}


def test_the_command(copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "list.jsonl"
    lines = [
        {"path": name(n), "size": len(shard(n)), "sha256": hashlib.sha256(shard(n)).hexdigest()}
        for n in range(SHARDS)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = typer.main.get_command(app)
    assert run_command(command, ["verify", str(copy), "--manifest", str(path)]) == 0
    total = sum(len(shard(n)) for n in range(SHARDS))
    assert capsys.readouterr().out == f"{copy}: whole, 12 files, {total:,} bytes\n"
    (copy / name(0)).unlink()
    (copy / name(1)).write_bytes(b"")
    assert run_command(command, ["verify", str(copy), "--manifest", str(path), "--json"]) == 2
    printed = capsys.readouterr()
    assert [fault["kind"] for fault in json.loads(printed.out)["faults"]] == ["missing", "short"]
    assert "2 faults in 12 files: 1 missing, 1 short" in printed.err
