from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tootsie.datasets import beam_runner
from tootsie.datasets.errors import ArtefactError, InputError, SpecError
from tootsie.tokenize.cache import TokenCache
from tootsie.tokenize.chat.build import ChatSettings, build_chat_caches, plan_chat_jobs
from tootsie.tokenize.chat.shard import Overlong, build_chat_shard
from tootsie.tokenize.hold_out import is_held_out
from tootsie.tokenize.job import prepare
from tootsie.tokenize.tokenizers import load_tokenizer
from tootsie.tokenize.verification import verify_sample

EOS = 16383
ROW = 128


def chats(count: int) -> list[dict[str, Any]]:
    """Conversations of a few to about 150 tokens, some longer than a row."""
    choose = random.Random(7)
    words = [
        "the",
        "of",
        "and",
        "to",
        "in",
        "is",
        "that",
        "for",
        "it",
        "as",
        "was",
        "with",
        "be",
        "by",
        "on",
        "not",
        "he",
        "this",
        "are",
        "or",
    ]
    return [
        {
            "id": f"chat-{number}",
            "messages": [
                message
                for _ in range(choose.randint(1, 3))
                for message in (
                    {"role": "user", "content": " ".join(choose.choices(words, k=choose.randint(1, 20)))},
                    {
                        "role": "assistant",
                        "content": " ".join(choose.choices(words, k=choose.randint(1, 40))),
                    },
                )
            ],
        }
        for number in range(count)
    ]


def write(path: Path, records: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*.*"))
        if path.is_file()
    }


@pytest.fixture
def source(tmp_path: Path) -> str:
    return write(tmp_path / "chats.jsonl", chats(200))


def build(source: str, out: Path, **settings: Any) -> TokenCache:
    return build_chat_caches(
        [source], str(out), ChatSettings(**{"row_tokens": ROW, "template": "tulu", **settings})
    )[0]


def test_a_row_is_a_window_of_whole_conversations(source: str, tmp_path: Path) -> None:
    cache = build(source, tmp_path / "out", shards=3)
    cache.verify()
    assert cache.tokens % ROW == 0
    assert all(shard.tokens % ROW == 0 for shard in cache.ledger.shards)
    tokenizer = load_tokenizer("tootsie-16k")
    answers = {
        record["id"]: [m["content"] for m in record["messages"] if m["role"] == "assistant"]
        for record in chats(200)
    }
    seen = set()
    for index in range(cache.windows(ROW)):
        window = cache.window(index, ROW)
        spans = cache.documents_in(index * ROW, (index + 1) * ROW)
        assert spans[0].start == index * ROW
        assert spans[-1].stop == (index + 1) * ROW
        assert window.segment_ids.max() == len(spans)
        for number, span in enumerate(spans, start=1):
            inside = window.segment_ids == number
            assert inside.sum() == span.stop - span.start
            scored = window.tokens[inside & window.loss_mask]
            said = tokenizer.decode(scored.tolist()).split("<|end_of_text|>")
            assert said == [*answers[span.document_id], ""]
            seen.add(span.document_id)
    dropped = cache.ledger.accounting.dropped
    assert set(dropped) == {"longer_than_row"}
    assert len(seen) == cache.documents == 200 - dropped["longer_than_row"]
    counters = cache.ledger.counters
    masks = [cache.window(index, ROW).loss_mask.sum() for index in range(cache.windows(ROW))]
    assert counters["loss_tokens"] == sum(masks)
    assert 0 < counters["padding_tokens"] < 0.2 * cache.tokens


@pytest.mark.parametrize(
    "arguments", [["--direct_num_workers=2", "--direct_running_mode=multi_processing"], []]
)
def test_bytes_depend_on_the_input_alone(source: str, tmp_path: Path, arguments: list[str]) -> None:
    settings = ChatSettings(row_tokens=ROW, template="tulu", shards=4, name="chats")
    build_chat_caches([source], str(tmp_path / "a"), settings, beam_runner.pipeline_options(arguments))
    jobs = plan_chat_jobs([source], str(tmp_path / "b"), settings)
    prepare(jobs[0])
    for task in reversed(jobs[0].tasks[1:3]):
        build_chat_shard(task)  # as an attempt that was killed leaves it
    build_chat_caches([source], str(tmp_path / "b"), settings)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_parquet_gives_what_jsonl_gives(source: str, tmp_path: Path) -> None:
    table = pa.Table.from_pylist(chats(200))
    pyarrow.parquet.write_table(table, tmp_path / "chats.parquet", row_group_size=50)
    one, two = (
        build(source, tmp_path / "a", shards=1),
        build(str(tmp_path / "chats.parquet"), tmp_path / "b", shards=1),
    )
    assert np.array_equal(one.read(0, one.tokens), two.read(0, two.tokens))


@pytest.mark.parametrize("policy", [Overlong.CUT, Overlong.SPLIT])
def test_a_conversation_longer_than_a_row(source: str, tmp_path: Path, policy: Overlong) -> None:
    whole = build(source, tmp_path / "whole", row_tokens=4096, shards=1)
    long = {d.document_id: n for d in whole.iterate() if (n := len(d.input_ids)) > ROW}
    cache = build(source, tmp_path / "out", overlong=policy)
    cache.verify()
    assert cache.documents == 200
    assert cache.ledger.counters["overlong_conversations"] > 10
    for document in cache.iterate():
        if document.document_id not in long:
            continue
        assert document.input_ids[-1] == EOS
        if policy is Overlong.CUT:
            assert len(document.input_ids) == ROW
        else:
            assert len(document.input_ids) % ROW == 0
    starts = [
        span.start % ROW
        for n in range(cache.windows(ROW))
        for span in cache.documents_in(n * ROW, n * ROW + 1)
    ]
    assert not any(starts)


def test_longer_than_a_row_can_be_an_error(source: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"chats\.jsonl: row \d+: the conversation has 1\d\d tokens, a row 128"
    ):
        build(source, tmp_path / "out", overlong=Overlong.REFUSE)


def test_nobody_answers(tmp_path: Path) -> None:
    records = chats(3) + [
        {"id": "q", "messages": [{"role": "user", "content": "?"}]},
        {"id": "e", "messages": []},
    ]
    cache = build(write(tmp_path / "c.jsonl", records), tmp_path / "out", row_tokens=512)
    assert cache.ledger.accounting.dropped == {"no_loss": 2}


def test_the_held_out_ones_are_the_same_for_every_number_of_shards(source: str, tmp_path: Path) -> None:
    settings = {"row_tokens": 512, "template": "tulu", "validation_fraction": 0.3}
    held_out = []
    for shards in (1, 5):
        caches = build_chat_caches(
            [source], str(tmp_path / str(shards)), ChatSettings(**settings, shards=shards)
        )
        held_out.append({document.document_id for document in caches[1].iterate()})
        assert sum(cache.documents for cache in caches) == 200
    assert held_out[0] == held_out[1]


def test_near_duplicates_are_held_out_together(tmp_path: Path) -> None:
    records = chats(40)
    for number, record in enumerate(records):
        if number % 10:  # The tenth has no cluster, like the one whose cluster is no text.
            record["metadata"] = {"duplicate_cluster": 3 if number == 1 else f"cluster-{number // 10}"}
    source = write(tmp_path / "c.jsonl", records)
    settings = ChatSettings(row_tokens=512, template="tulu", validation_fraction=0.4)
    train, validation = (
        {document.document_id for document in cache.iterate()}
        for cache in build_chat_caches([source], str(tmp_path / "out"), settings)
    )
    wanted = {
        record["id"]
        for number, record in enumerate(records)
        if is_held_out(f"cluster-{number // 10}" if number % 10 and number != 1 else record["id"], 0.4)
    }
    assert validation == wanted
    assert train == {record["id"] for record in records} - wanted
    clusters = [{f"chat-{10 * tens + ones}" for ones in range(2, 10)} for tens in range(4)]
    assert all(cluster <= train or cluster <= validation for cluster in clusters)
    assert any(cluster <= validation for cluster in clusters)


@pytest.mark.parametrize(("first", "then", "was"), [(0.0, 0.2, "without"), (0.2, 0.0, "with")])
def test_a_hold_out_added_or_dropped_is_refused(
    source: str, tmp_path: Path, first: float, then: float, was: str
) -> None:
    settings = {"row_tokens": ROW, "template": "tulu"}
    out = str(tmp_path / "out")
    build_chat_caches([source], out, ChatSettings(validation_fraction=first, **settings))
    with pytest.raises(SpecError, match=f"begun {was} a hold-out"):
        plan_chat_jobs([source], out, ChatSettings(validation_fraction=then, **settings))


def test_another_template_is_another_build(source: str, tmp_path: Path) -> None:
    build(source, tmp_path / "out")
    own = tmp_path / "tulu.jinja"
    own.write_text("{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}")
    with pytest.raises(SpecError, match=r"settings\.template\.name 'tulu', now it is 'tulu\.jinja'"):
        build(source, tmp_path / "out", template=str(own))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"messages": [{"role": "user", "content": "x"}, {"role": "bot", "content": "x"}]}',
            "row 1, messages.1.role",
        ),
        (
            '{"id": "z", "messages": [{"role": "assistant", "content": null, "tool_calls": [1]}]}',
            "row 1: the chat template",
        ),
        ('{"messages": ', "c.jsonl"),
    ],
)
def test_a_bad_record_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(chats(1)[0]) + "\n" + line + "\n")
    with pytest.raises(InputError) as caught:
        build(str(path), tmp_path / "out")
    assert message in str(caught.value)
    assert "c.jsonl" in str(caught.value)
    assert not list(tmp_path.rglob("ledger.json"))


@pytest.mark.parametrize("policy", [Overlong.DROP, Overlong.CUT, Overlong.SPLIT])
def test_a_sample_encodes_again(source: str, tmp_path: Path, policy: Overlong) -> None:
    cache = build(source, tmp_path / "out", overlong=policy)
    assert verify_sample(cache, 200) == cache.documents


@pytest.mark.parametrize("spans", [[(0, 5)], [(2, 2)], [(-1, 1)], [(2, 3), (1, 2)], [(0, 2), (1, 3)]])
def test_spans_outside_their_document_are_found(
    tmp_path: Path, make_cache: Any, spans: list[tuple[int, int]]
) -> None:
    rows = [("a", [5, 0], 1, [(0, 2)]), ("b", [5, 6, 7, 0], 3, spans), ("c", [5, 0], 1, None)]
    folder = make_cache(str(tmp_path / "cache"), [rows], loss_spans=True)
    with pytest.raises(ArtefactError, match=r"row 1: the loss span -?\d to \d is not one of its tokens"):
        TokenCache.open(folder).verify()


def test_files_of_one_name_stay_apart(tmp_path: Path) -> None:
    records = [{key: value for key, value in chat.items() if key != "id"} for chat in chats(2)]
    for folder, found in (("a", records[:1]), ("b", []), ("c", records[1:])):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "x.jsonl", found)
    settings = ChatSettings(row_tokens=4096, template="tulu", limit=5)
    (cache,) = build_chat_caches([str(tmp_path / "*" / "x.jsonl")], str(tmp_path / "out"), settings)
    assert [document.document_id for document in cache.iterate()] == ["a/x.jsonl:0", "c/x.jsonl:0"]
    origins = [batch.origin(row) for batch in cache.open_shard(0).batches for row in range(batch.documents)]
    assert origins == [(0, 0), (2, 0)]
    assert [file.path for file in cache.ledger.sources[0].files] == ["a/x.jsonl", "b/x.jsonl", "c/x.jsonl"]
