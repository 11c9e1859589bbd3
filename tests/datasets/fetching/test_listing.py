"""A listing that lacks something is refused; paths that leave the folder are too."""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tootsie.datasets.card import load_card
from tootsie.datasets.errors import ArtefactError, InputError, SpecError, UserError
from tootsie.datasets.fetching.hub import list_hub, parse_hub_url
from tootsie.datasets.fetching.listing import list_source
from tootsie.datasets.inventory import Algorithm

from .server import Served, Server


def make(folder: Path, *paths: str) -> Path:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    return folder


def paths(source: str | Path, manifest: Path | None = None) -> list[str]:
    return [file.path for file in list_source(str(source), str(manifest) if manifest else None).files]


def test_folders_globs_braces_and_files(tmp_path: Path) -> None:
    folder = make(tmp_path / "s", "a/0.bin", "a/1.bin", "b/0.bin", "c.txt", "_fetched.jsonl.other")
    assert paths(folder) == ["_fetched.jsonl.other", "a/0.bin", "a/1.bin", "b/0.bin", "c.txt"]
    assert paths(folder / "**/*.bin") == ["a/0.bin", "a/1.bin", "b/0.bin"]
    assert paths(folder / "{a,b}/0.bin") == ["a/0.bin", "b/0.bin"]
    assert paths(folder / "a/1.bin") == ["1.bin"]
    for gone in ("{a,b}/1.bin", "d", "*.zip"):
        with pytest.raises(InputError, match="no such file"):
            paths(folder / gone)


def test_what_says_that_a_folder_is_finished_comes_last(tmp_path: Path) -> None:
    folder = make(tmp_path / "s", "_manifest.jso", "a", "z/ledger.json", "zz")
    assert paths(folder)[-1] == "z/ledger.json"


@pytest.mark.parametrize("first", [0, 1])
def test_shards_that_say_how_many_they_are(tmp_path: Path, first: int) -> None:
    names = [f"train-{n:05}-of-00010.parquet" for n in range(first, first + 10)]
    folder = make(tmp_path / "s", *names, "other-00001-of-00002.txt", "other-00002-of-00002.txt")
    assert len(paths(folder)) == 12
    (folder / names[4]).unlink()
    with pytest.raises(ArtefactError, match=rf"9 of 10 shards.*{names[4]}"):
        paths(folder)
    assert len(paths(folder / "*-0000[0-3]-*.parquet")) == 4 - first, "who asks for some gets some"


def test_folders_that_say_how_many_they_are(tmp_path: Path) -> None:
    folders = [f"global-shard_{g:02}_of_10/local-shard_{n}_of_3" for g in range(1, 11) for n in range(3)]
    folder = make(tmp_path / "s", *(f"{name}/shard_0.jsonl" for name in folders))
    assert len(paths(folder)) == 30
    (folder / folders[7] / "shard_0.jsonl").unlink()
    with pytest.raises(ArtefactError, match=r"2 of 3 shards.*global-shard_03_of_10/local-shard_1_of_3"):
        paths(folder)


def test_a_list_in_the_folder_must_be_all_there(tmp_path: Path) -> None:
    folder = make(tmp_path / "s", "a", "b")
    lines = [{"path": name, "size": 1, "sha256": hashlib.sha256(name.encode()).hexdigest()} for name in "ab"]
    (folder / "_fetched.jsonl").write_text("\n".join(map(json.dumps, lines)))
    listing = list_source(str(folder))
    assert [file.path for file in listing.files] == ["a", "b"]
    assert all(file.checksum for file in listing.files)
    (folder / "b").unlink()
    with pytest.raises(ArtefactError, match="the source lacks 1 of the 2 files"):
        list_source(str(folder))


def test_a_list_in_the_folder_says_what_is_whole_not_the_names(tmp_path: Path) -> None:
    # A corpus keeps rejects of those shards only that have any.
    folder = make(tmp_path / "s", "a", "rejects/part-00001-of-00002.jsonl.zst")
    with pytest.raises(ArtefactError, match="1 of 2 shards"):
        paths(folder)
    lines = [{"path": "a", "size": 1, "sha256": hashlib.sha256(b"a").hexdigest()}]
    (folder / "_fetched.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert paths(folder) == ["a", "rejects/part-00001-of-00002.jsonl.zst"]


def test_lists_of_paths(server: Server) -> None:
    names = [f"contrib/N/jsonl/quality={q}/part-{n}.jsonl.zstd" for q in ("high", "low") for n in range(2)]
    content = gzip.compress("\n".join(names).encode())
    server.files["/contrib/N/data.paths.gz"] = Served(content)
    listing = list_source(f"{server.url}/contrib/N/data.paths.gz")
    assert [file.path for file in listing.files] == [name.removeprefix("contrib/N/") for name in names]
    assert listing.files[0].url == f"{server.url}/contrib/N/jsonl/quality%3Dhigh/part-0.jsonl.zstd"
    server.files["/contrib/N/data.paths.gz"] = Served(content[:-9])
    with pytest.raises(InputError, match="truncated or damaged"):
        list_source(f"{server.url}/contrib/N/data.paths.gz")
    server.files["/contrib/N/data.paths.gz"] = Served(content, drops=[10])
    with pytest.raises(InputError, match="the connection dropped"):
        list_source(f"{server.url}/contrib/N/data.paths.gz")


def test_a_card_with_a_list_of_paths(server: Server, tmp_path: Path) -> None:
    card = load_card("nemotron_cc/hq_actual").model_dump(mode="json", exclude_none=True)
    card["location"] |= {"url": f"{server.url}/c/data.paths"}
    (tmp_path / "card.yaml").write_text(json.dumps(card))
    names = [
        f"c/j/quality={q}/kind=actual/x/{n}.jsonl.zstd" for q in ("high", "medium-high") for n in range(2)
    ]
    server.files["/c/data.paths"] = Served("\n".join(names).encode())
    assert paths(tmp_path / "card.yaml") == [name.removeprefix("c/") for name in names[:2]]


@pytest.mark.parametrize("path", ["../../etc/x", "a%2f..%2f..%2fx", "x/%2e%2e/%2e%2e/y", "a%5cb", "a%00b"])
def test_names_never_leave_the_destination(path: str) -> None:
    with pytest.raises(UserError):
        list_source(f"http://127.0.0.1:9/{{{path},b/c}}")


def test_a_file_may_not_be_a_folder_or_twice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two files for one path"):
        list_source("http://127.0.0.1:9/x/{a?1,a?2}")
    with pytest.raises(InputError, match="a file and a folder"):
        list_source("http://127.0.0.1:9/x/{a,a/b}")


@dataclass
class Pointer:
    sha256: str
    size: int


@dataclass
class Node:
    path: str
    size: int | None = None
    blob_id: str = "0" * 40
    lfs: Pointer | None = None


@dataclass
class Sibling:
    rfilename: str


@dataclass
class Info:
    sha: str
    siblings: list[Sibling]


@dataclass
class Hub:
    """Answers as ``huggingface_hub.HfApi`` does."""

    names: list[str]
    lost: set[str] = field(default_factory=set)
    """What the pages of the tree lack."""
    asked: list[str | None] = field(default_factory=list)

    def dataset_info(self, repository: str, revision: str | None = None) -> Info:
        self.asked.append(revision)
        if repository != "who/what":
            raise OSError("404 Client Error")
        return Info("c" * 40, [Sibling(name) for name in self.names])

    def list_repo_tree(
        self, repository: str, *, repo_type: str, revision: str, recursive: bool
    ) -> list[Node]:
        assert (repo_type, recursive) == ("dataset", True)
        self.asked.append(revision)
        return [Node("data")] + [
            Node(name, 130, lfs=Pointer("a" * 64, 10**9)) if name.endswith("parquet") else Node(name, 7)
            for name in self.names
            if name not in self.lost
        ]


def test_the_hub_is_listed_at_one_commit() -> None:
    hub = Hub(["README.md", "data/a.parquet", "data/b.parquet", "other/c.parquet"])
    url, files = list_hub("hf://datasets/who/what@abc1234", ["data/*.parquet"], hub)
    assert hub.asked == ["abc1234", "c" * 40]
    assert url == "hf://datasets/who/what@" + "c" * 40
    assert [(file.path, file.size) for file in files] == [
        ("data/a.parquet", 10**9),
        ("data/b.parquet", 10**9),
    ]
    assert files[0].url == f"{url}/data/a.parquet"
    assert files[0].checksum is not None
    assert files[0].checksum.algorithm is Algorithm.SHA256
    (readme,) = list_hub("hf://datasets/who/what", ["*.md"], hub)[1]
    assert readme.checksum is not None
    assert readme.checksum.algorithm is Algorithm.GIT_SHA1
    assert len(list_hub("hf://datasets/who/what", ["data"], hub)[1]) == 2


def test_a_lost_page_of_the_tree_is_noticed() -> None:
    hub = Hub(
        [f"data/{n}.parquet" for n in range(3000)], lost={f"data/{n}.parquet" for n in range(1000, 3000)}
    )
    with pytest.raises(ArtefactError, match="the tree has 1,000 files, the repository says 3,000"):
        list_hub("hf://datasets/who/what", ["data/1.parquet"], hub)


def test_faults_of_the_hub() -> None:
    with pytest.raises(InputError, match="404 Client Error"):
        list_hub("hf://datasets/who/else", ["**"], Hub([]))
    with pytest.raises(SpecError, match="not a dataset on the hub"):
        parse_hub_url("hf://who")
    assert parse_hub_url("hf://datasets/a/b@c/d/*.x") == ("hf://datasets/a/b@c", "d/*.x")
    assert parse_hub_url("hf://datasets/a/b") == ("hf://datasets/a/b", "")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(SpecError, match=r"tootsie\[huggingface\]"):
        list_source("dclm_baseline")
