"""The pipelines on Beam's other runners."""

from __future__ import annotations

import shlex
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.runners.portability.fn_api_runner.fn_runner import validate_pipeline_graph

from tootsie.curate import corpus_build
from tootsie.curate.arxiv import Arxiv
from tootsie.curate.corpus import Corpus
from tootsie.curate.corpus_build import BuildSettings
from tootsie.curate.stackexchange import StackExchange
from tootsie.curate.wikipedia import Wikipedia
from tootsie.datasets import beam_runner

from .conftest import files_in

CORPORA: list[tuple[Corpus, str]] = [(Arxiv(), "*.zip"), (Wikipedia(), "*.tar.gz"), (StackExchange(), "*.7z")]


@pytest.fixture(scope="module")
def job_service() -> Iterator[str]:
    """Beam's portable job service in a process of its own; its address."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    service = "apache_beam.runners.portability.local_job_service_main"
    process = subprocess.Popen(
        [sys.executable, "-m", service, "-p", str(port)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        while True:
            if process.poll() is not None:
                pytest.fail("the job service did not start")
            with socket.socket() as probe:
                if probe.connect_ex(("localhost", port)) == 0:
                    break
            subprocess.run([sys.executable, "-c", ""], check=True)  # gives the service its time
        yield f"localhost:{port}"
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


WORKER_PROCESS = (
    "--environment_type=beam:env:harness_subprocess_python:v1",
    f"--environment_config={shlex.quote(sys.executable)} -m tootsie.datasets.beam_worker",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("corpus", "pattern", "environment"),
    [
        *((corpus, pattern, WORKER_PROCESS) for corpus, pattern in CORPORA),
        (*CORPORA[0], ("--environment_type=LOOPBACK",)),
    ],
    ids=["arxiv", "wikipedia", "stackexchange", "arxiv-loopback"],
)
def test_portable_runner(
    tmp_path: Path,
    project_root: Path,
    job_service: str,
    corpus: Corpus,
    pattern: str,
    environment: tuple[str, ...],
) -> None:
    inputs = f"{project_root}/datasets/sample/{corpus.name}/{pattern}"
    job = corpus_build.make_job(corpus, [inputs], str(tmp_path / "direct"), BuildSettings(limit=6))
    corpus_build.build(job, beam_runner.pipeline_options([]))
    here = [
        sys.executable,
        "-m",
        "tootsie.curate",
        corpus.name,
        inputs,
        str(tmp_path / "portable"),
        "--limit=6",
    ]
    remote = [*here, "--runner=PortableRunner", f"--job_endpoint={job_service}", *environment]
    result = subprocess.run(remote, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr
    assert files_in(tmp_path / "portable") == files_in(tmp_path / "direct")


@pytest.mark.parametrize(("corpus", "pattern"), CORPORA, ids=lambda value: getattr(value, "name", ""))
def test_job_graph_for_dataflow(tmp_path: Path, project_root: Path, corpus: Corpus, pattern: str) -> None:
    arguments = [
        "--runner=DataflowRunner",
        "--project=some-project",
        "--region=europe-west1",
        "--temp_location=gs://some-bucket/temp",
    ]
    options = beam_runner.pipeline_options(arguments, job_name=f"tootsie curate {corpus.name}")
    job = corpus_build.make_job(
        corpus,
        [f"{project_root}/datasets/sample/{corpus.name}/{pattern}"],
        str(tmp_path / "out"),
        BuildSettings(),
    )
    pipeline = beam_runner.make_pipeline(options)
    assert type(pipeline.runner).__name__ == "DataflowRunner"
    corpus_build.add_to(pipeline, job, [0, 1, 2, 3])
    graph = pipeline.to_runner_api()
    validate_pipeline_graph(graph)
    names = {transform.unique_name for transform in graph.components.transforms.values()}
    assert {"Tasks", "SplitUnits", "JoinByShard", "WriteShards"} <= names
    # What a worker will be sent can be unpacked without the process that made it.
    again = beam.Pipeline.from_runner_api(graph, pipeline.runner, options)
    assert len(again.to_runner_api().components.transforms) == len(graph.components.transforms)


@pytest.mark.slow
def test_setup_file_makes_a_package_with_the_pipelines(tmp_path: Path, project_root: Path) -> None:
    # What Beam does for --setup_file, without the network that its isolated build asks for.
    command = [
        sys.executable,
        "setup.py",
        "-q",
        "egg_info",
        f"--egg-base={tmp_path}",
        "sdist",
        f"--dist-dir={tmp_path}",
    ]
    subprocess.run(command, check=True, capture_output=True, cwd=project_root)
    (package,) = tmp_path.glob("tootsie-*.tar.gz")
    with tarfile.open(package) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {
        "setup.py",
        "curate/corpus_steps.py",
        "curate/markdownify/conversion.py",
        "datasets/beam_worker.py",
    } <= names
