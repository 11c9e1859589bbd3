from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tootsie.datasets.errors import ArtefactError
from tootsie.tokenize.ledger import load_ledger, save_ledger

ROWS = [[("a", [1, 2, 0], 5, None)], [("b", [3, 0], 2, None), ("c", [4, 0], 1, None)]]


@pytest.fixture
def cache(tmp_path: Path, make_cache: Callable[..., str]) -> Path:
    return Path(make_cache(str(tmp_path / "cache"), ROWS))


def edit(cache: Path, change: Callable[[dict[str, object]], None]) -> None:
    content = json.loads((cache / "ledger.json").read_text())
    change(content)
    (cache / "ledger.json").write_text(json.dumps(content))


def test_it_comes_back_as_it_was_and_has_stable_bytes(cache: Path) -> None:
    before = (cache / "ledger.json").read_bytes()
    ledger, digest = load_ledger(str(cache))
    assert (ledger.documents, ledger.tokens, ledger.bytes) == (3, 7, 8)
    save_ledger(str(cache), ledger)
    assert b'"golden_ids": [' in before
    assert b'"golden_ids": [\n' not in before
    assert (cache / "ledger.json").read_bytes() == before
    assert load_ledger(str(cache)) == (ledger, digest)


def test_no_ledger_means_not_finished(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"ledger.json: no ledger, so this is not a finished token cache"):
        load_ledger(str(tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(tokns=c.pop("tokens")), r"ledger.json: tok\w+: "),
        (lambda c: c.update(documnts=3), r"documnts: .*Did you mean documents\?"),
        (lambda c: c.update(tokens=8), "tokens is 8 but the shards have 7"),
        (lambda c: c["shards"][0].update(documents=-1), r"shards.0.documents"),
        (lambda c: c["shards"][1].update(path=c["shards"][0]["path"]), "a path stands there twice"),
        (lambda c: c["accounting"].update(read=4), "read is not written"),
        (lambda c: c.update(format="tootsie-tokens/9"), "another ledger version"),
        (lambda c: c.pop("format"), "another ledger version"),
        (lambda c: c["tokenizer"].update(dtype="uint32"), "stored as uint16, not uint32"),
        (lambda c: c.update(name="renamed"), "changed after it was written"),
        (lambda c: c.update(settings={"seed": 1}), "changed after it was written"),
    ],
)
def test_a_changed_ledger_is_refused(
    cache: Path, change: Callable[[dict[str, object]], None], message: str
) -> None:
    edit(cache, change)
    with pytest.raises(ArtefactError, match=message):
        load_ledger(str(cache))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not a valid ledger"),
        ("7", "not a valid ledger"),
        ('{"shards": []}', "another ledger version"),
        ("{", "the ledger is not JSON"),
    ],
)
def test_another_kind_of_file_is_no_ledger(cache: Path, content: str, message: str) -> None:
    (cache / "ledger.json").write_text(content)
    with pytest.raises(ArtefactError, match=rf"ledger.json.*: {message}"):
        load_ledger(str(cache))


def test_a_cut_ledger_is_refused(cache: Path) -> None:
    (cache / "ledger.json").write_bytes((cache / "ledger.json").read_bytes()[:-30])
    with pytest.raises(ArtefactError, match="not JSON"):
        load_ledger(str(cache))


def test_the_identity_is_what_a_ledger_says_not_how_it_is_spelled(cache: Path) -> None:
    _, digest = load_ledger(str(cache))
    content = json.loads((cache / "ledger.json").read_text())
    reordered = dict(sorted(content.items(), reverse=True))
    (cache / "ledger.json").write_text(json.dumps(reordered, indent=4) + "\n")
    assert load_ledger(str(cache))[1] == digest == content["hash"]
    (cache / "ledger.json").write_text(json.dumps(content))
    with pytest.raises(ArtefactError, match="the ledger is cut: its last line has no end"):
        load_ledger(str(cache))
