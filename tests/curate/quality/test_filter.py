from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tootsie.curate.corpus import Dropped, Kept
from tootsie.curate.quality.attributes import attribute_line
from tootsie.curate.quality.filter_settings import DATATROVE, DatatroveFilter, parse_filters
from tootsie.curate.quality.judge import FilterJudge
from tootsie.datasets.document import Document
from tootsie.datasets.errors import SpecError

pytest.importorskip("spacy", reason="the filters' packages are not installed: pip install 'tootsie[filters]'")
repetition = pytest.importorskip("tootsie.curate.quality.repetition")
PROSE = "The quick brown fox jumps over the lazy dog, and nobody that we know of minds at all. "
WORDS = [
    "the",
    "of",
    "and",
    "to",
    "that",
    "with",
    "have",
    "be",
    "house",
    "river",
    "stone",
    "letter",
    "garden",
    "winter",
    "paper",
    "number",
]


def made_up() -> list[str]:
    """Texts around the thresholds of every rule."""
    draw = random.Random(5)

    def sentence(length: int) -> str:
        return " ".join(draw.choice(WORDS) for _ in range(length)).capitalize() + "."

    def prose(sentences: int) -> str:
        return " ".join(sentence(draw.randint(6, 14)) for _ in range(sentences))

    texts = ["", " ", "\n\n", ".", "…", "#", "{}", "a", "\u200b", "x" * 2000, PROSE, PROSE * 3, PROSE * 40]
    texts += ["\n".join(prose(1) for _ in range(count)) for count in (1, 3, 5, 8, 30)]
    texts += ["\n\n".join(prose(6) for _ in range(count)) for count in (1, 2, 3, 4)]
    for share in (2, 5, 9, 10, 11):
        lines = [sentence(9) for _ in range(40)]
        texts += [
            "\n".join(lines[: 40 - share] + lines[:share]),
            "\n".join(f"- {line}" if number % 10 < share else line for number, line in enumerate(lines)),
            "\n".join(
                line.rstrip(".") + ("..." if number % 10 < share else "") for number, line in enumerate(lines)
            ),
            " ".join(lines).replace("the", "# the", share * 4),
            " ".join(lines) + " … " * share * 4,
            " ".join(lines) + " 123" * share * 10,
            " ".join(line.replace(" the ", " ") for line in lines),
            "\n".join(line[:share] for line in lines),
        ]
    texts += [f"{prose(8)}\n{line}\n{prose(8)}" for line in ("Lorem ipsum dolor sit amet and more.", "We use cookies, see our privacy policy.", "Please enable Javascript to go on here.", "A { bracket in it, as code has it.", "One [12] citation needed[citation needed] here.", "w" * 1200 + " ends here now.")]  # fmt: skip
    texts += [
        "Ünïcödé wörds ünd Zeichen, die es nicht gibt. " * 20,
        "这是一个句子。" * 60,
        "Съешь ещё этих мягких булок. " * 20,
    ]
    return texts


@settings(max_examples=200)
@given(st.lists(st.sampled_from(["a", "b", "ab", "aa", "ba", "the", "."]), max_size=60), st.integers(2, 10))
def test_n_grams_count_as_datatrove_counts_them(words: list[str], length: int) -> None:
    from datatrove.pipeline.filters import gopher_repetition_filter as theirs

    assert repetition.n_grams(words, length, " ") == theirs.get_n_grams(words, length)
    grams = repetition.n_grams(words, length, "")
    assert repetition.duplicate_characters(grams, length) == theirs.find_all_duplicate(words, length)
    if words[length - 1 :]:
        assert repetition.top_characters(repetition.n_grams(words, length, " ")) == theirs.find_top_duplicate(
            theirs.get_n_grams(words, length)
        )


def urls() -> list[str]:
    return [
        "https://example.org/a",
        "https://sub.blocked.example/x",
        "https://blocked.example/",
        "http://example.org/page/exact",
        "https://example.org/one-banned-word",
        "https://example.org/soft-words/other",
        "https://subwordinside.example.org/",
        "https://bbc.co.uk/news",
        "not a url",
        "",
    ]


def outcomes(filters: str, texts: list[str], metadata: list[dict[str, Any]] | None = None) -> list[Any]:
    judge = FilterJudge(parse_filters(filters))
    found = []
    for number, text in enumerate(texts):
        data = metadata[number] if metadata else {}
        outcome = judge(number, Document(id=str(number), text=text, source="x", metadata=data))
        found.append(
            (outcome.reason, None) if isinstance(outcome, Dropped) else (None, outcome.document.text)
        )
    return found


def expected(name: str, texts: list[str]) -> list[Any]:
    """What datatrove's own pipeline step does, run as datatrove runs it."""
    from datatrove.data import Document as Element
    from datatrove.pipeline import filters

    class Rejects:
        """Its writer of what is dropped."""

        def __init__(self) -> None:
            self.reasons: dict[str, str] = {}

        def __enter__(self) -> Rejects:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def write(self, element: Any, rank: int) -> None:
            self.reasons[element.id] = element.metadata.get("filter_reason", "dropped")

    rejects = Rejects()
    step = getattr(filters, DATATROVE[name])(exclusion_writer=rejects)
    found: list[Any] = []
    for number, text in enumerate(texts):
        try:
            kept = list(step.run([Element(text=text, id=str(number))]))
        except Exception:
            found.append(("filter failed", None))
            continue
        found.append((None, kept[0].text) if kept else (f"{name}: {rejects.reasons[str(number)]}", None))
    return found


@pytest.mark.parametrize("name", sorted(set(DATATROVE) - {"url", "c4_badwords"}))
def test_verdicts_are_those_of_datatrove(name: str) -> None:
    texts = made_up()
    ours = outcomes(name, texts)
    assert ours == expected(name, texts)
    assert len({reason for reason, _ in ours}) > 1
    assert any(reason is None for reason, _ in ours)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(DATATROVE) - {"url", "c4_badwords"}))
def test_verdicts_on_real_texts_are_those_of_datatrove(name: str, shared_data: Path) -> None:
    texts = []
    for path in sorted((shared_data / "corpora").rglob("*.jsonl")):
        texts += [json.loads(line)["text"][:20_000] for line in path.read_text().splitlines()[:8]]
    assert len(texts) > 50
    assert outcomes(name, texts) == expected(name, texts)


def test_url_verdicts_are_those_of_datatrove() -> None:
    from datatrove.data import Document as Element
    from datatrove.pipeline.filters import URLFilter
    from tldextract import TLDExtract

    parameters = {
        "extra_domains": ["blocked.example", "bbc.co.uk"],
        "extra_urls": ["http://example.org/page/exact"],
        "banned_words": ["banned"],
        "banned_subwords": ["subword"],
        "soft_banned_words": ["soft", "other"],
        "use_integrated_lists": False,
    }
    theirs = URLFilter(**parameters)
    theirs.tldextractor = TLDExtract(suffix_list_urls=(), cache_dir=None)
    judge = FilterJudge([DatatroveFilter("url", parameters)])
    reasons = set()
    for url in urls():
        outcome = judge(0, Document(id="a", text="x", source="s", metadata={"url": url} if url else {}))
        if not url:
            assert isinstance(outcome, Dropped)
            assert outcome.failure
            assert "url" in outcome.detail
            continue
        answer = theirs.filter(Element(text="x", id="a", metadata={"url": url}))
        assert isinstance(outcome, Kept) == (answer is True)
        if isinstance(outcome, Dropped):
            assert outcome.reason == f"url: {answer[1]}"
            reasons.add(answer[1])
    assert reasons == {"domain", "url", "hard_blacklisted", "soft_blacklisted", "blacklisted_subword"}


def test_the_lists_that_datatrove_brings_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datatrove.pipeline.filters import url_filter

    monkeypatch.setattr(url_filter, "cached_assets_path", lambda **place: str(tmp_path))
    banned = (Path(url_filter.ASSETS_PATH) / "banned_words.txt").read_text().splitlines()
    word = next(line for line in banned if line.isalpha())
    judge = FilterJudge(parse_filters("url"))
    url = f"https://example.org/{word}"
    outcome = judge(0, Document(id="a", text="x", source="s", metadata={"url": url}))
    assert isinstance(outcome, Dropped)
    assert outcome.reason == "url: hard_blacklisted"
    assert isinstance(
        judge(0, Document(id="a", text="x", source="s", metadata={"url": "https://example.org/"})), Kept
    )


def bad_words(folder: Path) -> str:
    lists = {"en": "frobnicate\nblast it\na.b\n\nsm\n", "ja": "ばか\nsm\n", "de": "mist\n"}
    (folder / "lists").mkdir()
    for language, words in lists.items():
        (folder / "lists" / language).write_text(words, encoding="utf-8")
    (folder / "f.yaml").write_text("filters:\n- c4_badwords: {lists: lists, keep_fraction: 0.0}\n")
    return str(folder / "f.yaml")


def test_bad_words_are_those_of_datatrove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datatrove.data import Document as Element
    from datatrove.pipeline.filters import C4BadWordsFilter, c4_filters

    filters = bad_words(tmp_path)
    (tmp_path / "lists" / "en").write_text(
        "frobnicate\nblast it\na.b\nsm\n"
    )  # an empty line would match everything
    places = lambda url, **place: str(tmp_path / "lists" / url.rsplit("/", 1)[-1])  # noqa: E731
    monkeypatch.setattr(c4_filters, "cached_asset_path_or_download", places)
    theirs = C4BadWordsFilter()
    words = [
        "",
        "frobnicate",
        "Frobnicate!",
        "frobnicated",
        "blast it",
        "a.b",
        "axb",
        "sm",
        "ばか",
        "xばかx",
        "mist",
        "_mist",
    ]
    languages = ["en", "ja", "de", None]
    judge = FilterJudge(parse_filters(filters))
    dropped = 0
    for text in [one for word in words for one in (word, f"So {word} it is", f"So{word}")]:
        for language in languages:
            metadata = {"language": language} if language else {}
            outcome = judge(0, Document(id="a", text=text, source="s", metadata=metadata))
            answer = theirs.filter(Element(text=text, id="a", metadata={**metadata}))
            assert isinstance(outcome, Kept) == (answer is True), (text, language)
            if isinstance(outcome, Dropped):
                dropped += 1
                assert outcome.reason == f"c4_badwords: {answer[1]}"
    assert dropped > 20


def test_a_language_without_a_list_of_bad_words_is_a_failure(curate, corpus, tmp_path: Path) -> None:
    filters = bad_words(tmp_path)
    rows = [
        {"id": one, "text": "a text", "source": "x", "metadata": {"language": one}}
        for one in ("en", "fr", "xx")
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = curate("filter", tmp_path / "a.jsonl", f"--filters={filters}", "--max-failures=1")
    assert list(result.documents) == ["en"]
    assert result.dropped == {"filter failed": 2}
    assert "'fr'" in result.rejects[0].metadata["detail"]
    lists = json.loads((result.folder / "filters.json").read_text())["filters"][0]["lists"]
    assert sorted(lists) == ["de", "en", "ja"]
    (tmp_path / "lists" / "en").write_text("other\n")
    assert curate("filter", tmp_path / "a.jsonl", f"--filters={filters}", "--max-failures=1").code == 2


def test_a_share_of_bad_words_is_kept_whatever_came_before(tmp_path: Path) -> None:
    from tootsie.curate.quality.bad_words import ListedBadWords, pattern

    bad_words(tmp_path)
    assert pattern(set(), "en").search("") is None
    texts = [f"frobnicate {number}" for number in range(200)]

    def kept(order: list[str]) -> set[str]:
        from datatrove.data import Document as Element

        made = ListedBadWords(str(tmp_path / "lists"), seed=3, keep_fraction=0.3)
        return {text for text in order if made.filter(Element(text=text, id="a")) is True}

    assert kept(texts) == kept(texts[::-1])
    assert 35 < len(kept(texts)) < 85


@pytest.mark.parametrize("filters", ["c4_badwords", "none", "empty"])
def test_bad_words_need_lists(filters: str, tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(f"filters: [c4_badwords: {{lists: {filters}}}]")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SpecError, match="LDNOOBW"):
        parse_filters(filters if filters == "c4_badwords" else str(tmp_path / "f.yaml"))


def test_words_that_are_remembered_are_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    import spacy
    from datatrove.utils.word_tokenizers import SpaCyTokenizer, load_word_tokenizer

    from tootsie.curate.quality import word_memory

    fresh = SpaCyTokenizer("en")
    monkeypatch.setattr(word_memory, "MAX_WORDS", 1500)
    memory = word_memory.WordMemory({"en", "zh"})
    held = load_word_tokenizer("en")
    made = [held.tokenizer]
    assert isinstance(made[0], spacy.language.Language)
    runs = [unit * 300 for unit in ("%", ".", "(", "a.", "'s", "1+", "…")]
    long = [f"{run}x {begin}{run} {run}{begin}" for run in runs for begin in ("", "3km", ")..")]
    for text in made_up() + long + [f"{one}x,y {one}. (New-{one}) isn't it?" for one in range(400)]:
        memory.next_text()
        assert held.word_tokenize(text) == fresh.word_tokenize(text)
        assert held.span_tokenize(text) == fresh.span_tokenize(text)
        made += [held.tokenizer] if held.tokenizer is not made[-1] else []
    assert 2 <= len(made) < 20
    assert len(held.tokenizer.vocab) < 4000


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[..., Path]:
    def write(texts: list[str], name: str = "a.jsonl") -> Path:
        rows = [{"id": f"d{number}", "text": text, "source": "x"} for number, text in enumerate(texts)]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return tmp_path / name

    return write


def test_each_drop_is_counted_by_rule_and_kept_with_the_rejects(curate, corpus) -> None:
    texts = [
        *(f"{one} " + " ".join(made_up()[18 + one].split()) for one in range(3)),
        "Too short.",
        "w" * 500,
    ]
    result = curate("filter", corpus(texts), "--filters=gopher_quality,fineweb_quality")
    assert result.code == 0, result.stderr
    assert result.manifest.accounting.read == 5
    assert result.dropped["gopher_quality: gopher_short_doc"] == 2
    assert {reject.metadata["reason"] for reject in result.rejects} == set(result.dropped)
    report = json.loads((result.folder / "filters.json").read_text())
    assert report["filters"][0]["min_doc_words"] == 50
    assert report["sources"]["files"]["dropped"] == result.dropped
    assert curate("filter", corpus(texts), "--filters=gopher_quality,fineweb_quality").stdout.startswith(
        f"{result.folder}: already finished"
    )


def test_thresholds_of_a_file(curate, corpus, tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("filters:\n- gopher_quality: {min_doc_words: 2, min_stop_words: 1}\n")
    result = curate("filter", corpus(["Where is the house", "One"]), f"--filters={tmp_path}/f.yaml")
    assert result.dropped == {"gopher_quality: gopher_short_doc": 1}


def test_lines_that_c4_takes_out_are_not_written(curate, corpus) -> None:
    text = "\n".join([PROSE.strip()] * 6 + ["Menu"])
    (document,) = curate("filter", corpus([text]), "--filters=c4_quality").documents.values()
    assert document.text == "\n".join([PROSE.strip()] * 6)


def test_a_filter_that_fails_is_a_counted_drop(curate, corpus) -> None:
    texts = ["No document here has an address."] * 3
    result = curate("filter", corpus(texts), "--filters=url", "--max-failures=1")
    assert result.dropped == {"filter failed": 3}
    assert result.rejects[0].text.startswith("No document here")
    assert "url" in result.rejects[0].metadata["detail"]
    strict = curate("filter", corpus(texts), "--filters=url", out="strict")
    assert strict.code == 2
    assert "--max-failures" in strict.stderr


@pytest.mark.parametrize(
    ("filters", "field"),
    [("gopher", "--filters"), ("filters: [gopher_quality: {min_words: 3}]", "min_words"), ("filters: [url: {use_integrated_lists: true, use_integrated_lists: false}]", "use_integrated_lists"), ("filters: [attribute: {key: a, folder: b}]", "min"), ("filters: [attribute: {key: a, folder: b, min: .nan}]", "min"), ("filters: 3", ""), ("filters: [attribute: {key: a, folder: b, min: 1, reduce: best}]", "reduce"), ("{", "")],
)  # fmt: skip
def test_mistakes_are_named(filters: str, field: str, tmp_path: Path) -> None:
    if ":" in filters or filters == "{":
        (tmp_path / "f.yaml").write_text(filters)
        filters = str(tmp_path / "f.yaml")
    with pytest.raises(SpecError) as error:
        parse_filters(filters)
    assert field in str(error.value)


@pytest.mark.parametrize(
    "threshold",
    ["gopher_quality: {min_doc_words: many}", "gopher_quality: {min_doc_words: .nan}", "gopher_quality: {max_doc_words: true}", "gopher_quality: {stop_words: 5}", "gopher_quality: {language: xx}", "c4_quality: {split_paragraph: 1}", "c4_quality: {max_word_length: null}", "gopher_repetition: {top_n_grams: [2, 0.2]}", "url: {extra_domains: example.com}"],
)  # fmt: skip
def test_a_threshold_of_another_kind_is_named(threshold: str, tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(f"filters: [{threshold}]")
    key = re.split("[{:]", threshold)[2]
    with pytest.raises(SpecError, match=rf"filters\[0\].{key}: must be "):
        parse_filters(str(tmp_path / "f.yaml"))


def test_thresholds_of_every_kind(tmp_path: Path) -> None:
    text = """filters:
    - gopher_quality: {min_doc_words: null, min_avg_word_length: 3.5, stop_words: [the, be], language: deu}
    - gopher_repetition: {dup_line_frac: 0, top_n_grams: [[2, 0.2]]}
    - c4_quality: {split_paragraph: false}
    - c4_badwords: {lists: lists, seed: null}
    """
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "en").touch()
    (tmp_path / "f.yaml").write_text(text)
    names = ["gopher_quality", "gopher_repetition", "c4_quality", "c4_badwords"]
    assert [one.name for one in parse_filters(str(tmp_path / "f.yaml"))] == names


TEXTS = [letter * 30 for letter in "abc"]
"""Texts that have scores."""


def scored(tmp_path: Path, lines: list[bytes], minimum: float = 0.5, reduce: str = "whole") -> str:
    folder = tmp_path / "attributes"
    folder.mkdir(exist_ok=True)
    (folder / "a.jsonl").write_bytes(b"".join(lines))
    bound = f"{{folder: attributes, key: q__m__score, min: {minimum}, reduce: {reduce}}}"
    (tmp_path / "f.yaml").write_text(f"filters:\n- attribute: {bound}\n")
    return f"--filters={tmp_path}/f.yaml"


def line(number: int, *scores: float) -> bytes:
    spans = [(place * 10, place * 10 + 10, score) for place, score in enumerate(scores)]
    return attribute_line(f"d{number}", {"q__m__score": spans})


def test_scores_of_attribute_files(curate, corpus, tmp_path: Path) -> None:
    filters = scored(tmp_path, [line(0, 0.9), line(1, 0.1), line(2, 0.5)])
    result = curate("filter", corpus(TEXTS), filters)
    assert result.code == 0, result.stderr
    assert sorted(result.documents) == ["d0", "d2"]
    assert result.dropped == {"q__m__score: below minimum": 1}
    changed = curate("filter", corpus(TEXTS), scored(tmp_path, [line(n, 0.9) for n in range(3)]))
    assert changed.code == 2  # other attributes are another run


@pytest.mark.parametrize(("reduce", "kept"), [("min", False), ("max", True), ("mean", True)])
def test_scores_of_several_spans(curate, corpus, tmp_path: Path, reduce: str, kept: bool) -> None:
    result = curate(
        "filter", corpus(TEXTS[:2]), scored(tmp_path, [line(0, 0.2, 0.9), line(1, 1.0)], reduce=reduce)
    )
    assert ("d0" in result.documents) is kept


@pytest.mark.parametrize(
    "lines",
    [
        [line(0, 0.9)],
        [line(0, 0.9), line(2, 0.9)],
        [line(0, 0.9), line(1)],
        [line(0, 0.9), attribute_line("d1", {"other": [(0, 1, 0.9)]})],
        [line(0, 0.9), line(1, float("nan"))],
        [line(0, 0.9), line(1, 0.9, 0.9)],
        [line(0, 0.9), b"{}\n"],
        [line(0, 0.9), b"no json\n"],
        [line(0, 0.9), attribute_line("d1", {"q__m__score": [(0, 31, 0.9)]})],
    ],
    ids=["row", "other", "empty", "key", "nan", "several", "form", "json", "longer"],
)
def test_a_missing_attribute_is_an_error_and_never_keeps(
    curate, corpus, tmp_path: Path, lines: list[bytes]
) -> None:
    result = curate("filter", corpus(TEXTS[:2]), scored(tmp_path, lines))
    assert result.code == 2
    assert "row 1" in result.stderr
    assert not (result.folder / "_manifest.json").exists()


def test_a_missing_attribute_file_is_an_error(curate, corpus, tmp_path: Path) -> None:
    filters = scored(tmp_path, [line(0, 0.9)])
    assert curate("filter", corpus(["a"], "b.jsonl"), filters).code == 2


def test_beam_transform() -> None:
    import apache_beam as beam
    from apache_beam.testing.test_pipeline import TestPipeline
    from apache_beam.testing.util import assert_that, equal_to

    from tootsie.curate.quality.beam_filters import KEPT, REJECTED, QualityFilters

    good = " ".join(made_up()[18].split()) + " " + PROSE * 5
    documents = [Document(id="a", text=good, source="x"), Document(id="b", text="short", source="x")]
    with TestPipeline() as pipeline:
        found = pipeline | beam.Create(documents) | QualityFilters(parse_filters("gopher_quality"))
        assert_that(found[KEPT] | "Ids" >> beam.Map(lambda one: one.id), equal_to(["a"]), "kept")
        reasons = found[REJECTED] | "Reasons" >> beam.Map(lambda one: (one.id, one.reason))
        assert_that(reasons, equal_to([("b", "gopher_quality: gopher_short_doc")]), "rejected")
