"""Documents that take too long or too much memory, or crash the converter, are dropped alone; no process outlives its run."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from tootsie.curate.corpus import ConversionFault, Dropped, Kept, MemoryLimitFault, Pending, TimeLimitFault
from tootsie.curate.limited_conversion import (
    BATCH_DOCUMENTS,
    ConversionLimits,
    LimitedConverter,
    convert_here,
    convert_pending,
)
from tootsie.curate.page_conversion import Request
from tootsie.datasets.document import Document

from .conftest import page, write_zip

MOODY = '''
import ctypes, os
from tootsie.curate.page_conversion import convert_request

held = []

def convert(request):
    """Does what the page says."""
    pages = request.pages
    text = pages[0] if isinstance(pages[0], str) else pages[0].decode()
    if "only when traced" in text and not request.trace:
        return convert_request(request)
    if "LOOP" in text:
        while True:
            pass
    if "STUCK" in text:
        os.read(os.pipe()[0], 1)
    if "EAT" in text:
        return bytearray(2**30)
    if "HOARD" in text:
        held.append(bytearray(40 * 2**20))
    if "CRASH" in text:
        ctypes.string_at(0)
    if "RAISE" in text:
        raise RecursionError("too deep")
    if "PRINT" in text:
        print("noise")
    return convert_request(request)
'''


@pytest.fixture
def moody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A converter that does what a page says, for the converter's process."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "moody_converter.py").write_text(MOODY)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return "moody_converter:convert"


def requests(*texts: str, trace: bool = False) -> list[Request]:
    return [Request([f"<p>{text}</p>"], {"profile": "web"}, trace) for text in texts]


def outcome(result: object) -> str:
    return (
        f"{type(result).__name__}: {result}"
        if isinstance(result, ConversionFault)
        else result.conversions[0].markdown
    )  # type: ignore[attr-defined]


def test_results_are_those_without_limits() -> None:
    pages = [
        Request([page("A").encode(), "<p>b"], {"profile": "arxiv"}),
        Request(["<i>c</i><button>d</button>"], {"profile": "web"}, trace=True),
    ]
    with LimitedConverter(ConversionLimits()) as convert:
        assert convert(pages) == convert_here(pages)
        assert convert(pages) == convert_here(pages)


def test_a_document_over_a_limit_is_dropped_alone(moody: str) -> None:
    with LimitedConverter(ConversionLimits(seconds=0.5, memory=256 * 2**20), moody) as convert:
        results = convert(requests("a", "LOOP", "b", "EAT", "c", "CRASH", "RAISE", "PRINT", "d"))
    assert [outcome(result) for result in results] == [
        "a\n",
        "TimeLimitFault: more than 0.5 s of CPU time (--time-limit)",
        "b\n",
        "MemoryLimitFault: more than 256 MiB (--memory-limit)",
        "c\n",
        "ConversionFault: the converter crashed (SIGSEGV)",
        "ConversionFault: RecursionError: too deep",
        "PRINT\n",
        "d\n",
    ]


def test_no_document_pays_for_the_memory_of_others(moody: str) -> None:
    with LimitedConverter(ConversionLimits(memory=128 * 2**20), moody) as convert:
        results = convert(requests(*["HOARD"] * 12))
        assert [outcome(result) for result in results] == ["HOARD\n"] * 12


def test_a_converter_that_waits_without_working_is_given_up(
    moody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tootsie.curate.limited_conversion.PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr("tootsie.curate.limited_conversion.PATIENCE_FACTOR", 1)
    with LimitedConverter(ConversionLimits(seconds=0.5), moody) as convert:
        (stuck, fine) = convert(requests("STUCK", "fine"))
    assert isinstance(stuck, TimeLimitFault)
    assert outcome(fine) == "fine\n"


def test_memory_of_real_pages() -> None:
    large = ("<p><b>x</b><i>y</i> word</p>" * 100_000).encode()
    with LimitedConverter(ConversionLimits(memory=64 * 2**20)) as convert:
        results = convert([Request([large], {"profile": "web"}), *requests("small")])
    assert isinstance(results[0], MemoryLimitFault)
    assert outcome(results[1]) == "small\n"


def test_telling_what_was_left_out_costs_no_document(moody: str) -> None:
    with LimitedConverter(ConversionLimits(seconds=0.5), moody) as convert:
        results = convert(requests("fine", "LOOP only when traced", trace=True))
    assert [outcome(result) for result in results] == ["fine\n", "LOOP only when traced\n"]


def test_no_process_is_left(moody: str) -> None:
    with LimitedConverter(ConversionLimits(), moody) as convert:
        convert(requests("a"))
        process = convert._process
        assert process is not None
        os.kill(process.pid, 0)
    assert process.returncode is not None
    assert convert._process is None


def test_the_converter_ends_with_whoever_asks_it(moody: str) -> None:
    convert = LimitedConverter(ConversionLimits(), moody)
    convert(requests("a"))
    process = convert._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()  # as the system does for a parent that is killed
    assert process.wait(30) == 0
    convert.close()


def test_outcomes_keep_their_order_and_failures_their_records() -> None:
    def document(identity: str) -> Pending:
        def finish(conversions: object) -> list[Kept]:
            if identity == "7":
                raise KeyError("lost")
            return [Kept(Document(id=identity, text="x", source="s"), {}, 1)]

        return Pending(identity, ["<p>x"], {"profile": "web"}, finish, {"url": "u"}, records=3)

    items = [
        Dropped("early", "0"),
        *(document(str(number)) for number in range(1, 2 * BATCH_DOCUMENTS)),
        Dropped("late", "last"),
    ]
    outcomes = list(convert_pending(items, convert_here))
    names = [one.document.id if isinstance(one, Kept) else one.id for one in outcomes]
    assert names == ["0", *map(str, range(1, 2 * BATCH_DOCUMENTS)), "last"]
    failure = outcomes[7]
    assert isinstance(failure, Dropped)
    assert (failure.reason, failure.records, failure.failure) == ("conversion failed", 3, True)
    assert failure.detail == "KeyError: 'lost'"
    assert failure.metadata == {"url": "u"}


def test_what_waits_for_a_conversion_is_bounded() -> None:
    pending = Pending("1", ["<p>x"], {"profile": "web"}, lambda conversions: [Dropped("short", "1")])
    endless = itertools.chain([pending], itertools.repeat(Dropped("no question", "0")))
    first = next(convert_pending(endless, convert_here))
    assert isinstance(first, Dropped)
    assert first.reason == "short"


def test_limits_in_a_run(curate, tmp_path: Path, moody: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tootsie.curate.limited_conversion.CONVERTER", moody)
    names = ["LOOP", "EAT", "CRASH", "RAISE", *(f"Paper {n}" for n in range(20))]
    dump = write_zip(tmp_path / "a.zip", {f"e/2404.{n:05d}.html": page(name) for n, name in enumerate(names)})
    result = curate("arxiv", dump, "--time-limit=0.5", "--memory-limit=256", "--max-failures=0.5")
    assert result.code == 0
    assert result.dropped == {"conversion failed": 2, "memory limit": 1, "time limit": 1}
    assert len(result.documents) == 20
    reasons = {reject.id: reject.metadata["reason"] for reject in result.rejects}
    assert reasons["2404.00000"] == "time limit"
    assert reasons["2404.00001"] == "memory limit"
    assert any("time limit" in note for note in result.manifest.notes)
