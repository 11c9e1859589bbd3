from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.runners.portability import local_job_service

from tootsie.datasets import beam_runner
from tootsie.datasets.beam_handler import Handler
from tootsie.datasets.errors import ArtefactError, InputError, SpecError, UserError


def refuse(element: object) -> None:
    raise InputError("cut short", file="a/b.zip", field="member 3", value="x'y", remedy="Fetch it again")


def break_down(element: object) -> None:
    raise ZeroDivisionError("our own mistake")


def test_paths_and_beam_options_are_told_apart() -> None:
    tokens = [
        "in/*.zip",
        "--runner",
        "FlinkRunner",
        "--streaming",
        "out",
        "--flink_master=host:1",
        "--",
        "--parallelism",
        "4",
    ]
    assert beam_runner.split_arguments(tokens) == (
        ["in/*.zip", "out"],
        ["--runner", "FlinkRunner", "--streaming", "--flink_master=host:1", "--parallelism", "4"],
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--direct_num_wokers=2"], r"--direct_num_wokers: neither .* Did you mean --direct_num_workers\?"),
        (["--zzz", "3"], "--zzz: neither this command nor Beam has such an option"),
        (["--direct_running_mode=sideways"], "Beam does not accept these options"),
    ],
)
def test_a_mistyped_option_is_an_error(arguments: list[str], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        beam_runner.pipeline_options(arguments)


def test_options_of_other_runners_pass_untouched() -> None:
    options = beam_runner.pipeline_options(
        ["--runner=PortableRunner", "--job_endpoint=localhost:1", "--some_job_server_option=7"]
    )
    assert not beam_runner.is_in_process(options)
    found = options.get_all_options(retain_unknown_options=True)
    assert found["job_endpoint"] == "localhost:1"
    assert found["some_job_server_option"] == "7"


def test_workers_mean_processes_on_this_machine() -> None:
    options = beam_runner.pipeline_options([], workers=3)
    assert beam_runner.worker_count(options) == 3
    assert options.get_all_options()["direct_running_mode"] == "multi_processing"
    assert beam_runner.worker_count(beam_runner.pipeline_options([], workers=0)) == os.cpu_count()
    with pytest.raises(SpecError, match="--workers"):
        beam_runner.pipeline_options(["--runner=FlinkRunner"], workers=2)
    with pytest.raises(SpecError, match="--workers"):
        beam_runner.pipeline_options([], workers=-1)


@pytest.mark.parametrize("name", ["DirectRunner", "", "apache_beam.runners.direct.DirectRunner"])
def test_the_direct_runner_is_the_one_in_process(name: str) -> None:
    options = beam_runner.pipeline_options([f"--runner={name}"] if name else [])
    assert type(beam_runner.make_pipeline(options).runner).__name__ == "FnApiRunner"


def test_user_errors_of_this_process_arrive_whole(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError) as caught:
        beam_runner.run(
            lambda pipeline: pipeline | beam.Create([1]) | beam.Map(refuse), beam_runner.pipeline_options([])
        )
    assert caught.value.file == "a/b.zip"
    assert str(caught.value) == 'a/b.zip: member 3: cut short (found "x\'y"). Fetch it again'
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_user_errors_of_worker_processes_keep_kind_and_message(capfd: pytest.CaptureFixture[str]) -> None:
    options = beam_runner.pipeline_options(
        ["--direct_running_mode=multi_processing", "--direct_num_workers=2"]
    )
    with pytest.raises(InputError) as caught:
        beam_runner.run(lambda pipeline: pipeline | beam.Create([1, 2]) | beam.Map(refuse), options)
    assert str(caught.value) == 'a/b.zip: member 3: cut short (found "x\'y"). Fetch it again'
    assert capfd.readouterr().err == ""


def test_other_faults_stay_faults() -> None:
    with pytest.raises(ZeroDivisionError, match="our own mistake"):
        beam_runner.run(
            lambda pipeline: pipeline | beam.Create([1]) | beam.Map(break_down),
            beam_runner.pipeline_options([]),
        )


def test_a_full_disk_is_told_from_a_fault() -> None:
    text = "builtins.RuntimeError: OSError: [Errno 28] No space left on device [while running 'SplitUnits']"
    assert beam_runner.system_error_in(text) is not None
    text = "builtins.RuntimeError: Traceback\n  …\nRuntimeError: OSError: [Errno 28] No space left on device [while running 'SplitUnits']"
    found = beam_runner.system_error_in(text)
    assert found is not None
    assert (found.errno, found.strerror, found.filename) == (28, "No space left on device", None)
    text = (
        "PermissionError: [Errno 13] Permission denied: '/a/b c.zip' [while running 'x']\n\nDuring handling …"
    )
    found = beam_runner.system_error_in(text)
    assert isinstance(found, PermissionError)
    assert found.filename == "/a/b c.zip"
    found = beam_runner.system_error_in(
        "RuntimeError: OSError: [Errno 27] File too large [while running 'x']"
    )
    assert found is not None
    assert found.errno == 27
    assert beam_runner.system_error_in("OSError: [Errno 9] Bad file descriptor") is None
    assert beam_runner.system_error_in("ValueError: OSError: [Errno 28] quoted") is None


def test_error_text_of_any_runner() -> None:
    text = "RuntimeError: Pipeline failed:\nTraceback …\ntootsie.datasets.errors.ArtefactError: f: gone [while running 'Read-ptransform-3']\n"
    found = beam_runner.user_error_in(text)
    assert type(found) is ArtefactError
    assert str(found) == "f: gone"
    assert beam_runner.user_error_in("tootsie.datasets.errors.shorten: no kind of error") is None


class Note(beam.DoFn):
    """Leaves a file named by the process that worked, once two did."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def process(self, element: Any) -> None:
        Path(self._folder, str(os.getpid())).touch()


@pytest.fixture
def a_runner_that_looks_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner gets no time between the end of its orders and that of the worker's process, as on a machine in full use."""
    start = Handler.start_worker

    def start_worker(handler: Any) -> None:
        start(handler)
        close = handler.control_conn.close

        def close_late() -> None:
            close()
            handler.worker_thread.join()

        monkeypatch.setattr(handler.control_conn, "close", close_late)

    monkeypatch.setattr(Handler, "start_worker", start_worker)


@pytest.mark.slow
@pytest.mark.usefixtures("a_runner_that_looks_away")
def test_two_workers_share_the_work(tmp_path: Path) -> None:
    def build(pipeline: beam.Pipeline) -> Any:
        return (
            pipeline
            | beam.Create([(n, n) for n in range(8)])
            | beam.GroupByKey()
            | beam.ParDo(Note(str(tmp_path)))
        )

    beam_runner.run(build, beam_runner.pipeline_options([], workers=2))
    workers = {int(path.name) for path in tmp_path.iterdir()}
    assert len(workers) == 2
    assert os.getpid() not in workers


def test_dataflow_names_what_it_needs() -> None:
    with pytest.raises(SpecError, match="Missing required option: project"):
        beam_runner.run(
            lambda pipeline: None,
            beam_runner.pipeline_options(["--runner=DataflowRunner", "--region=europe-west1"]),
        )


def create(pipeline: beam.Pipeline) -> Any:
    return pipeline | beam.Create([1])


def test_a_worker_that_dies_before_it_connects_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_job_service.SubprocessSdkWorker, "__init__", dies_at_once)
    with pytest.raises(UserError, match="--workers: a worker process was ended before its work was done"):
        beam_runner.run(create, beam_runner.pipeline_options([], workers=2))


def dies_at_once(worker: Any, command: bytes, address: str, provision: Any, number: str) -> None:
    worker._worker_command_line, worker._control_address = "kill -9 $$", address
    worker._provision_info, worker._worker_id = provision, number


def test_a_worker_that_cannot_be_started_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(worker: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(local_job_service.SubprocessSdkWorker, "run", refuse)
    with pytest.raises(OSError, match="Too many open files"):
        beam_runner.run(create, beam_runner.pipeline_options([], workers=2))
