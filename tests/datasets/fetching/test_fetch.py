"""What is fetched is what the source has, however often it drops, changes, lies or is killed."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import typer.main

from tootsie.datasets import storage
from tootsie.datasets.command import app
from tootsie.datasets.command_line import run_command
from tootsie.datasets.errors import ArtefactError, UserError
from tootsie.datasets.fetching.fetch import Outcome, fetch
from tootsie.datasets.fetching.transfer import Patience
from tootsie.datasets.verification import verify_copy

from .server import Served, Server

CONTENT = random.Random(3).randbytes(1_000_000)


def bring(
    source: str, folder: Path, manifest: Path | None = None, waits: list[float] | None = None
) -> Outcome:
    patience = Patience(wait=(waits if waits is not None else []).append)
    return fetch(
        source, str(folder), manifest=str(manifest) if manifest else None, workers=3, patience=patience
    )


def listed(folder: Path, files: dict[str, bytes], **changes: object) -> Path:
    path = folder / "list.jsonl"
    lines = [
        {"path": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()} | changes
        for name, content in files.items()
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_file(server: Server, tmp_path: Path) -> None:
    server.files["/data/a.bin"] = Served(CONTENT)
    assert bring(f"{server.url}/data/a.bin", tmp_path / "d") == Outcome(1, len(CONTENT), 1, len(CONTENT))
    assert (tmp_path / "d" / "a.bin").read_bytes() == CONTENT
    assert names(tmp_path / "d") == ["_fetched.jsonl", "a.bin"]
    (entry,) = map(json.loads, (tmp_path / "d" / "_fetched.jsonl").read_text().splitlines())
    assert entry["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    assert verify_copy(str(tmp_path / "d")).faults == ()
    assert bring(f"{server.url}/data/a.bin", tmp_path / "d") == Outcome(1, len(CONTENT), 0, 0)
    assert len(server.requests) == 1


@pytest.mark.parametrize("chunked", [False, True])
def test_dropped_connections_are_taken_up_where_they_dropped(
    server: Server, tmp_path: Path, chunked: bool
) -> None:
    server.files["/a"] = Served(CONTENT, drops=[300_000, 200_000, 0, 100_000], chunked=chunked)
    waits: list[float] = []
    assert bring(f"{server.url}/a", tmp_path / "d", waits=waits).received == len(CONTENT)
    assert (tmp_path / "d" / "a").read_bytes() == CONTENT
    ranges = server.ranges("/a")
    assert ranges == [None, "bytes=300000-", "bytes=500000-", "bytes=500000-", "bytes=600000-"]
    assert waits == [1, 1, 2, 1]


def test_a_server_without_ranges_is_read_from_the_beginning(server: Server, tmp_path: Path) -> None:
    server.files["/a"] = Served(CONTENT, drops=[300_000], ranges=False)
    bring(f"{server.url}/a", tmp_path / "d")
    assert (tmp_path / "d" / "a").read_bytes() == CONTENT


def test_trying_again_has_an_end(server: Server, tmp_path: Path) -> None:
    server.files["/a"] = Served(CONTENT, drops=[300_000, *[0] * 50])
    with pytest.raises(
        ArtefactError, match="could not be fetched in 5 attempts: the connection dropped after 300,000"
    ):
        bring(f"{server.url}/a", tmp_path / "d")
    assert len(server.requests) == 6
    server.files["/a"] = Served(CONTENT, drops=[300_000] * 50, ranges=False)
    with pytest.raises(ArtefactError, match="could not be fetched"):
        bring(f"{server.url}/a", tmp_path / "e")
    assert len(server.requests) == 6 + 6


def test_errors_of_the_server(server: Server, tmp_path: Path) -> None:
    server.files["/a"] = Served(CONTENT, statuses=[500, 503, 429])
    bring(f"{server.url}/a", tmp_path / "d")
    assert (tmp_path / "d" / "a").read_bytes() == CONTENT
    server.requests.clear()
    with pytest.raises(ArtefactError, match="the server answers 404"):
        bring(f"{server.url}/b", tmp_path / "d")
    assert len(server.requests) == 1, "what is not there is not asked for again"


@pytest.mark.parametrize("length", [len(CONTENT) + 5, 2 * len(CONTENT)])
def test_a_length_that_is_too_long(server: Server, tmp_path: Path, length: int) -> None:
    server.files["/a"] = Served(CONTENT, length=length, ranges=False)
    with pytest.raises(ArtefactError, match="the connection dropped after 1,000,000"):
        bring(f"{server.url}/a", tmp_path / "d")
    assert not (tmp_path / "d" / "a").exists()


def test_a_length_that_is_too_short_is_found_by_the_list(server: Server, tmp_path: Path) -> None:
    server.files["/a"] = Served(CONTENT, length=1000)
    with pytest.raises(ArtefactError, match="the source has 1,000 bytes, the list says 1,000,000"):
        bring(server.url, tmp_path / "d", listed(tmp_path, {"a": CONTENT}))
    assert not (tmp_path / "d" / "a").exists()


def test_without_a_length_the_end_is_not_guessed(server: Server, tmp_path: Path) -> None:
    server.files["/a"] = Served(CONTENT, lengthless=True)
    with pytest.raises(ArtefactError, match="its end cannot be told from a dropped connection"):
        bring(f"{server.url}/a", tmp_path / "d")
    bring(server.url, tmp_path / "e", listed(tmp_path, {"a": CONTENT}))
    assert (tmp_path / "e" / "a").read_bytes() == CONTENT


def test_a_file_that_changes_between_resumes_is_never_mixed(server: Server, tmp_path: Path) -> None:
    server.files["/a"] = Served(CONTENT, drops=[300_000, *[0] * 10])
    with pytest.raises(ArtefactError):
        bring(f"{server.url}/a", tmp_path / "d")
    assert (tmp_path / "d" / "a.partial").stat().st_size == 300_000
    other = random.Random(4).randbytes(len(CONTENT))
    server.files["/a"] = Served(other, etag='"2"')
    bring(f"{server.url}/a", tmp_path / "d")
    assert (tmp_path / "d" / "a").read_bytes() == other


def test_a_server_that_ignores_the_condition_is_found_out(server: Server, tmp_path: Path) -> None:
    server.files["/a"] = Served(CONTENT, drops=[300_000, *[0] * 10])
    with pytest.raises(ArtefactError):
        bring(f"{server.url}/a", tmp_path / "d")
    other = random.Random(4).randbytes(len(CONTENT))
    state = tmp_path / "d" / "a.partial.json"
    # A weak ETag may stand in no condition: the server then answers with the range.
    state.write_text(json.dumps(json.loads(state.read_text()) | {"identity": 'W/"1"'}))
    server.files["/a"] = Served(other, etag='"2"')
    bring(f"{server.url}/a", tmp_path / "d")
    assert (tmp_path / "d" / "a").read_bytes() == other


def test_without_etag_only_a_checksum_allows_to_go_on(server: Server, tmp_path: Path) -> None:
    server.files["/a"] = Served(CONTENT, etag=None, drops=[300_000])
    bring(f"{server.url}/a", tmp_path / "d")
    server.files["/a"].drops = [300_000]
    bring(server.url, tmp_path / "e", listed(tmp_path, {"a": CONTENT}))
    assert server.ranges("/a") == [None, None, None, "bytes=300000-"]
    assert (tmp_path / "d" / "a").read_bytes() == (tmp_path / "e" / "a").read_bytes() == CONTENT


def test_what_is_not_what_the_list_says_never_gets_its_name(server: Server, tmp_path: Path) -> None:
    damaged = bytearray(CONTENT)
    damaged[77] ^= 1
    server.files |= {"/a": Served(bytes(damaged)), "/b": Served(CONTENT)}
    with pytest.raises(ArtefactError, match=r"1 of 2 files are not there.*its sha256 is"):
        bring(server.url, tmp_path / "d", listed(tmp_path, {"a": CONTENT, "b": CONTENT}))
    assert names(tmp_path / "d") == ["_fetched.partial.jsonl", "b"]
    assert server.ranges("/a") == [None, None], "the same wrong content is not asked for a third time"
    with pytest.raises(ArtefactError, match="has not been finished"):
        verify_copy(str(tmp_path / "d"))
    server.files["/a"] = Served(CONTENT)
    assert bring(server.url, tmp_path / "d", tmp_path / "list.jsonl").fetched == 1
    assert verify_copy(str(tmp_path / "d"), str(tmp_path / "list.jsonl")).files == 2


def test_brace_ranges_keep_their_folders(server: Server, tmp_path: Path) -> None:
    for name in ("x/0.bin", "x/1.bin", "y/0.bin", "y/1.bin"):
        server.files[f"/data/{name}"] = Served(name.encode())
    bring(f"{server.url}/data/{{x,y}}/{{0..1}}.bin", tmp_path / "d")
    assert names(tmp_path / "d") == ["_fetched.jsonl", "x/0.bin", "x/1.bin", "y/0.bin", "y/1.bin"]


def test_an_empty_file(server: Server, tmp_path: Path) -> None:
    server.files["/a"] = Served(b"")
    assert bring(f"{server.url}/a", tmp_path / "d").bytes == 0
    assert (tmp_path / "d" / "a").read_bytes() == b""


def test_local_and_other_file_systems(tmp_path: Path) -> None:
    for base in (str(tmp_path / "source"), "memory://fetched/source"):
        for name in ("sub/a", "b"):
            storage.write_bytes(storage.join(base, name), CONTENT)
        target = tmp_path / base.split(":")[0].replace("/", "_")
        assert bring(base, target).files == 2
        assert names(target) == ["_fetched.jsonl", "b", "sub/a"]
        assert (target / "sub" / "a").read_bytes() == CONTENT


def test_a_changed_local_file_is_fetched_again(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_bytes(CONTENT)
    bring(str(source), tmp_path / "d")
    (source / "a").write_bytes(CONTENT[::-1])
    os.utime(source / "a", (1, 1))
    assert bring(str(source), tmp_path / "d").fetched == 1
    assert (tmp_path / "d" / "a").read_bytes() == CONTENT[::-1]


def test_what_was_there_before_is_not_overwritten(server: Server, tmp_path: Path) -> None:
    server.files["/a"] = Served(CONTENT)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a").write_bytes(CONTENT)
    with pytest.raises(ArtefactError, match="no checksum to tell"):
        bring(f"{server.url}/a", tmp_path / "d")
    bring(server.url, tmp_path / "d", listed(tmp_path, {"a": CONTENT}))
    assert server.requests == []
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "a").write_bytes(b"mine")
    with pytest.raises(ArtefactError, match="it is not this file"):
        bring(server.url, tmp_path / "e", tmp_path / "list.jsonl")
    assert (tmp_path / "e" / "a").read_bytes() == b"mine"


def test_links_in_the_destination_lead_nowhere(server: Server, tmp_path: Path) -> None:
    server.files["/sub/a"] = Served(CONTENT)
    (tmp_path / "outside").mkdir()
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "sub").symlink_to(tmp_path / "outside")
    manifest = listed(tmp_path, {"sub/a": CONTENT})
    with pytest.raises(UserError, match="a link leads out of the destination"):
        bring(server.url, tmp_path / "d", manifest)
    assert names(tmp_path / "outside") == []
    (tmp_path / "e" / "sub").mkdir(parents=True)
    (tmp_path / "e" / "sub" / "a.partial").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic"):
        bring(server.url, tmp_path / "e", manifest)
    assert not (tmp_path / "victim").exists()


def test_a_disk_that_is_too_small_is_found_before(server: Server, tmp_path: Path) -> None:
    manifest = listed(tmp_path, {"a": CONTENT}, size=2**60)
    with pytest.raises(UserError, match="are needed"):
        bring(server.url, tmp_path / "d", manifest)
    assert server.requests == []


@pytest.mark.parametrize("seed", range(25))
def test_whatever_the_server_does_the_bytes_are_those_of_one_state_of_the_source(
    server: Server, tmp_path: Path, seed: int
) -> None:
    generator = random.Random(seed)
    states = [generator.randbytes(generator.choice([40_000, 60_000])) for _ in range(6)]
    for version, content in enumerate(states):
        etag = generator.choice([f'"{version}"', f'"{version}"', f'W/"{version}"', None])
        served = Served(content, etag, ranges=generator.random() < 0.8, chunked=generator.random() < 0.3)
        served.drops = [generator.randrange(50_000) for _ in range(generator.randrange(9))]
        served.statuses = generator.choices([500, 502, 503], k=generator.randrange(3))
        server.files["/a"] = served
        try:
            fetch(f"{server.url}/a", str(tmp_path / "d"), patience=Patience(attempts=2, wait=lambda _: None))
        except ArtefactError:
            assert not (tmp_path / "d" / "a").exists()
            continue
        assert (tmp_path / "d" / "a").read_bytes() == content
        return
    server.files["/a"] = Served(states[0])
    bring(f"{server.url}/a", tmp_path / "d")
    assert (tmp_path / "d" / "a").read_bytes() == states[0]


def test_killed_in_the_middle_and_run_again(server: Server, tmp_path: Path) -> None:
    half, release = threading.Event(), threading.Event()

    def wait() -> None:
        half.set()
        release.wait(60)

    server.files |= {"/a": Served(CONTENT), "/b": Served(CONTENT[::-1], halfway=wait)}
    source, target = f"{server.url}/{{a,b}}", tmp_path / "d"
    command = [sys.executable, "-m", "tootsie.data", "fetch", source, str(target), "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            assert half.wait(60)
            partial = target / "b.partial"
            for _ in range(2000):
                if partial.exists() and partial.stat().st_size >= 100_000:
                    break
                release.wait(0.01)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    release.set()
    assert names(target) == ["_fetched.partial.jsonl", "a", "b.partial", "b.partial.json"]
    server.requests.clear()
    server.files["/b"].halfway = None
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == (
        f"{target}: whole, 2 files, 2,000,000 bytes; 1 of them fetched now\n"
    )
    ((path, asked),) = server.requests
    assert path == "/b"
    assert asked is not None
    assert 100_000 <= int(asked.removeprefix("bytes=").removesuffix("-")) <= len(CONTENT) // 2
    assert (target / "a").read_bytes() == CONTENT
    assert (target / "b").read_bytes() == CONTENT[::-1]
    assert names(target) == ["_fetched.jsonl", "a", "b"]


def test_killed_between_the_list_and_the_name(server: Server, tmp_path: Path) -> None:
    server.files["/a"] = Served(CONTENT)
    target = tmp_path / "d"
    bring(f"{server.url}/a", target)
    (target / "a").rename(target / "a.partial")
    state = {"url": f"{server.url}/a", "size": len(CONTENT), "identity": '"1"'}
    (target / "a.partial.json").write_text(json.dumps(state))
    (target / "_fetched.jsonl").rename(target / "_fetched.partial.jsonl")
    with (target / "_fetched.partial.jsonl").open("a") as journal:
        journal.write('{"path": "b", "si')
    assert bring(f"{server.url}/a", target).received == 0
    assert names(target) == ["_fetched.jsonl", "a"]


def test_two_at_once_are_refused(server: Server, tmp_path: Path) -> None:
    from tootsie.datasets.sole_writer import sole_writer

    server.files["/a"] = Served(CONTENT)
    with sole_writer(str(tmp_path / "d")), pytest.raises(UserError, match="another process writes"):
        bring(f"{server.url}/a", tmp_path / "d")


def test_the_command(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = typer.main.get_command(app)
    assert run_command(command, ["fetch", f"{server.url}/none", str(tmp_path / "d")]) == 2
    assert "the server answers 404" in capsys.readouterr().err
    assert run_command(command, ["fetch", f"{server.url}/*.zip", str(tmp_path / "d")]) == 2
    assert "HTTP has no listing of folders" in capsys.readouterr().err
    assert run_command(command, ["fetch", f"{server.url}/a", "memory://d"]) == 2
    assert "must be a local folder" in capsys.readouterr().err
