"""The gate: what is drawn must be cleared by a report of the evaluation sets that the spec names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tootsie.datasets.contamination import DecontaminationReport, SearchedCorpus, SearchedEvaluation
from tootsie.datasets.errors import SpecError
from tootsie.mixtures.compilation import Compiled
from tootsie.mixtures.compiler import compile_spec
from tootsie.mixtures.preflight.check import Severity, preflight
from tootsie.mixtures.preflight.checks import CHECKS
from tootsie.mixtures.spec_file import parse_spec
from tootsie.tokenize.ledger import Source, SourceFile

SPEC = """\
name: run
seed: 1
sequence_length: 100
datasets: {web: {cache: web}}
mixtures: {base: {groups: {all: {datasets: [web]}}}}
phases: [{name: one, mixture: base, for: 10 steps, batch_size: 10, learning_rate: 1e-3}]
decontamination: {evaluations: [gsm8k], reports: [clean]}
"""


def report(
    folder: Path,
    *,
    evaluation: str = "gsm8k",
    read: str,
    wrote: str | None,
    contaminated: int = 0,
    undecidable: int = 0,
) -> None:
    found = DecontaminationReport(
        run="r",
        code_version="v",
        settings={},
        evaluations=[
            SearchedEvaluation(
                name=evaluation, sha256="e", items=1, parts=2, too_short=0, undecidable=undecidable
            )
        ],
        corpora=[
            SearchedCorpus(
                source="web",
                input_manifest_sha256=read,
                manifest_sha256=wrote,
                documents=9,
                contaminated=contaminated,
                inherited=0,
            )
        ],
        matrix={},
        leaked_items={},
    )
    (folder / "clean").mkdir(exist_ok=True)
    (folder / "clean" / "decontamination.json").write_text(found.sealed().model_dump_json())


@pytest.fixture
def problems(tmp_path: Path, measured):
    def problems(*manifests: str | None, text: str = SPEC) -> list[tuple[str, Severity]]:
        spec, source = parse_spec(text, str(tmp_path / "spec.yaml"))
        files = (SourceFile(path="a", sha256="f", documents=1),)
        sources = tuple(
            Source(manifest_sha256=one, source=f"s{n}", files=files) for n, one in enumerate(manifests)
        )
        caches = {"web": measured("web", 1_000_000, sources=sources)}
        compiled = Compiled(compile_spec(spec, source, caches), spec, source, caches)
        findings = preflight(compiled, CHECKS)
        return [(one.subject, one.severity) for one in findings if one.check == "decontamination"]

    return problems


def test_a_run_that_asks_for_no_search_is_told(problems) -> None:
    assert problems("any", text=SPEC.partition("decontamination")[0]) == [("run", Severity.WARNING)]


def test_a_stale_cache_of_a_corpus_that_was_cleaned_since_is_refused(tmp_path: Path, problems) -> None:
    """The filter was mended and the corpus made again; the cache is still that of the one before, in which questions were found."""
    report(tmp_path, read="mended", wrote=None)
    assert problems("mended") == []
    assert problems("leaky") == [("web", Severity.ERROR)]


def test_a_corpus_that_a_search_wrote_passes(tmp_path: Path, problems) -> None:
    report(tmp_path, read="dirty", wrote="clean", contaminated=3)
    assert problems("clean") == []
    assert problems("dirty") == [("web", Severity.ERROR)]
    assert problems("clean", "other") == [("web", Severity.ERROR)]
    assert problems(None) == [("web", Severity.ERROR)]


def test_a_corpus_in_which_nothing_was_found_passes(tmp_path: Path, problems) -> None:
    report(tmp_path, read="read", wrote=None)
    assert problems("read") == []
    report(tmp_path, read="read", wrote=None, contaminated=1)
    assert problems("read") == [("web", Severity.ERROR)]


def test_questions_whose_leak_a_search_would_not_see_are_told(tmp_path: Path, problems) -> None:
    report(tmp_path, read="dirty", wrote="clean", undecidable=1)
    assert problems("clean") == [("run", Severity.WARNING)]


def test_a_search_for_something_else_clears_nothing(tmp_path: Path, problems) -> None:
    report(tmp_path, evaluation="mmlu", read="read", wrote="clean")
    assert problems("clean") == [("web", Severity.ERROR)]


def test_a_report_that_is_missing_or_edited_is_refused_with_its_line(tmp_path: Path, problems) -> None:
    with pytest.raises(SpecError, match=r"spec\.yaml:7.*no such report"):
        problems("clean")
    report(tmp_path, read="dirty", wrote="clean")
    path = tmp_path / "clean" / "decontamination.json"
    path.write_text(path.read_text().replace('"dirty"', '"clean"'))
    with pytest.raises(SpecError, match="changed after it was written"):
        problems("clean")
