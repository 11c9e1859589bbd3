from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tootsie.datasets import beam_runner
from tootsie.datasets.errors import ArtefactError, SpecError, UserError
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.exchange.exporting import export_tokens
from tootsie.tokenize.exchange.importing import ImportSettings, import_tokens
from tootsie.tokenize.exchange.token_file import Format

PEERS = Path(__file__).with_name("peers.py")
READERS = {
    Format.MEGATRON: "megatron",
    Format.PARQUET: "datasets",
    Format.OLMO: "numpy",
    Format.LEVANTER: "levanter",
}
NAMELESS = (Format.MEGATRON, Format.LEVANTER)
"""Formats that have no place for the ids of documents."""


def settings(form: Format, **options: Any) -> ImportSettings:
    return ImportSettings(**{"format": form, "tokenizer": "tootsie-16k", **options})


@pytest.mark.parametrize("form", list(Format))
@pytest.mark.parametrize("shards", [1, 4])
def test_what_is_exported_comes_back(
    form: Format, shards: int, small_cache: TokenCache, tmp_path: Path, listed: Any
) -> None:
    record = export_tokens(small_cache, str(tmp_path / "out"), form)
    assert (record.documents, record.tokens) == (5, small_cache.tokens)
    cache = import_tokens([str(tmp_path / "out")], str(tmp_path / "in"), settings(form, shards=shards))
    cache.verify()
    assert listed(cache) == listed(small_cache)
    assert cache.ledger.bytes == small_cache.ledger.bytes
    # One of the five documents is longer than a fourth of all: three shards, none of them empty. Of one file, which has
    # all of them, documents count as equally heavy.
    assert len(cache.ledger.shards) == {1: 1, 4: 4 if form is Format.LEVANTER else 3}[shards]
    assert all(entry.documents for entry in cache.ledger.shards)
    assert cache.ledger.tokenizer == small_cache.ledger.tokenizer
    if form not in NAMELESS:
        assert [d.document_id for d in cache.iterate()] == [d.document_id for d in small_cache.iterate()]
    listed_files = [file.documents for file in cache.ledger.sources[0].files if file.documents]
    assert listed_files == ([5] if form is Format.LEVANTER else [2, 3])


@pytest.mark.parametrize("form", list(Format))
def test_the_bytes_depend_on_the_cache_alone(form: Format, small_cache: TokenCache, tmp_path: Path) -> None:
    records = [export_tokens(small_cache, str(tmp_path / name), form) for name in ("a", "b", "b")]
    assert records[0] == records[1] == records[2]


def test_two_workers_write_what_one_writes(small_cache: TokenCache, tmp_path: Path) -> None:
    export_tokens(small_cache, str(tmp_path / "out"), Format.MEGATRON)
    options = beam_runner.pipeline_options(
        ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]
    )
    chosen = settings(Format.MEGATRON, shards=3, name="x")
    one = import_tokens([str(tmp_path / "out")], str(tmp_path / "one"), chosen)
    two = import_tokens([str(tmp_path / "out")], str(tmp_path / "two"), chosen, options)
    assert one.ledger_sha256 == two.ledger_sha256


@pytest.mark.parametrize("form", [Format.PARQUET, Format.LEVANTER])
def test_loss_goes_there_and_back(form: Format, supervised_cache: TokenCache, tmp_path: Path) -> None:
    export_tokens(supervised_cache, str(tmp_path / "out"), form)
    cache = import_tokens([str(tmp_path / "out")], str(tmp_path / "in"), settings(form))
    masks = [found.window(0, found.tokens).loss_mask.tolist() for found in (supervised_cache, cache)]
    assert masks[0] == masks[1] == [False, True, True, False, False, False, True, False, True]


@pytest.mark.parametrize("form", [Format.MEGATRON, Format.OLMO])
def test_loss_is_not_lost_silently(form: Format, supervised_cache: TokenCache, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=f"for which {form.value} has no place.*--drop-loss"):
        export_tokens(supervised_cache, str(tmp_path / "out"), form)
    export_tokens(supervised_cache, str(tmp_path / "out"), form, drop_loss=True)


def test_a_folder_that_holds_something_else_is_left_alone(small_cache: TokenCache, tmp_path: Path) -> None:
    export_tokens(small_cache, str(tmp_path / "out"), Format.OLMO)
    with pytest.raises(ArtefactError, match="holds an export of toy as olmo"):
        export_tokens(small_cache, str(tmp_path / "out"), Format.PARQUET)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(SpecError, match=r"the folder is not empty \(found 'notes\.txt'\)"):
        export_tokens(small_cache, str(tmp_path / "other"), Format.PARQUET)


def test_ids_that_do_not_fit_the_width_are_refused(
    tmp_path: Path, make_cache: Any, make_identity: Any
) -> None:
    identity = make_identity(70_000)
    wide = make_cache(str(tmp_path / "wide"), [[("a", [69_999, 0], 1, None)]], identity)
    with pytest.raises(
        SpecError, match=r"--dtype: ids of a vocabulary of 70,000 do not fit \(found 'uint16'\)"
    ):
        export_tokens(TokenCache.open(wide), str(tmp_path / "out"), Format.OLMO, dtype="uint16")
    record = export_tokens(TokenCache.open(wide), str(tmp_path / "out"), Format.OLMO)
    assert record.dtype == "uint32"
    assert np.fromfile(tmp_path / "out" / "00000-of-00001.npy", "<u4").tolist() == [69_999, 0]
    assert export_tokens(TokenCache.open(wide), str(tmp_path / "m"), Format.MEGATRON).dtype == "int32"


@pytest.mark.parametrize("form", list(Format))
def test_a_changed_file_is_not_the_one_that_was_exported(
    form: Format, small_cache: TokenCache, tmp_path: Path
) -> None:
    record = export_tokens(small_cache, str(tmp_path / "out"), form)
    path = tmp_path / "out" / record.files[-1].path
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        import_tokens([str(tmp_path / "out")], str(tmp_path / "in"), settings(form))
    # The layout of an index, and a ledger, are checked first.
    assert "the file is not the one that was exported" in str(caught.value) or form in NAMELESS


@pytest.mark.parametrize("form", list(Format))
def test_other_trainers_read_what_was_exported(
    form: Format, small_cache: TokenCache, tmp_path: Path, listed: Any, peers_python: str
) -> None:
    export_tokens(small_cache, str(tmp_path / "out"), form)
    run = subprocess.run(
        [peers_python, str(PEERS), "read", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found = {line["reader"]: line["documents"] for line in map(json.loads, run.stdout.splitlines())}
    if READERS[form] not in found:
        pytest.skip(f"{READERS[form]} is not installed for {peers_python}")
    assert found[READERS[form]] == listed(small_cache)


def test_what_other_trainers_write_is_read(tmp_path: Path, listed: Any, peers_python: str) -> None:
    run = subprocess.run(
        [peers_python, str(PEERS), "write", str(tmp_path / "peers")],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    written = run.stdout.split()
    if not written:
        pytest.skip(f"neither megatron-core, datasets nor levanter is installed for {peers_python}")
    expected = [[5, 6, 7, 16383], [16383], [0, 1, 16000, 2, 16383], [*range(300), 16383]]
    for name in written:
        form = {
            "megatron": Format.MEGATRON,
            "levanter": Format.LEVANTER,
            "levanter-sharded": Format.LEVANTER,
        }.get(name, Format.PARQUET)
        cache = import_tokens([str(tmp_path / "peers" / name)], str(tmp_path / name), settings(form))
        assert listed(cache) == expected
        if form is Format.PARQUET:
            assert [document.document_id for document in cache.iterate()] == ["a", "b", "c", "d"]
