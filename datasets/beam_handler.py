"""How the in-process runner starts and ends its worker processes: Beam 2.77's handler, with three faults mended.

1. A worker that cannot be started, or dies before it has connected, is waited for without end: what starts it raises in a thread
   that nobody asks. Here the runner gets that fault as the answer to all it asked the worker for.
2. A worker that connects after the runner has closed its connection waits forever. So it is when one worker fails while
   another is still starting: the runner tells only connected workers that there is no more work, then waits for all to end.
3. The runner closes the connection for data after that for orders. A worker whose orders end is gone within milliseconds;
   where the runner comes to the other connection later, on a machine in full use, its reading thread dies of the break.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability import local_job_service
from apache_beam.runners.portability.fn_api_runner import worker_handlers

from tootsie.datasets.errors import UserError

LOST_WORKER = "Channel closed prematurely"
"""What Beam says where a worker is lost while data is read from it."""


def lost_worker() -> UserError:
    """Return what to say of a worker that was killed."""
    return UserError(
        "a worker process was ended before its work was done",
        field="--workers",
        remedy="Run the same command again; with fewer workers, if the system ended one for want of memory",
    )


def _until_it_breaks(read: Callable[..., None]) -> Callable[..., None]:
    """Return what reads a connection in a thread, silent where the worker is gone: its end is told elsewhere."""

    def quietly(*arguments: Any) -> None:
        with contextlib.suppress(worker_handlers.grpc.RpcError):
            read(*arguments)

    return quietly


class Handler(worker_handlers.SubprocessSdkWorkerHandler):
    """Starts one worker process and ends with it."""

    _fault: str | None = None
    """Of the worker, as a worker's traceback would end."""

    def start_worker(self) -> None:
        """Start the worker in a thread that waits for its end."""
        arguments = (self._worker_command_line, self.control_address, self.provision_info, self.worker_id)
        self.worker = local_job_service.SubprocessSdkWorker(*arguments)
        self._push = self.control_conn.push
        control: Any = self.control_conn
        data: Any = self.data_conn
        control.push = self._ask
        read = _until_it_breaks(control._read)
        control._read_thread = threading.Thread(name="beam_control_read", target=read)
        data._read_inputs = _until_it_breaks(data._read_inputs)
        self.worker_thread = threading.Thread(name="run_worker", target=self._work)
        self.worker_thread.start()

    def _work(self) -> None:
        try:
            self.worker.run()
        except OSError as fault:
            self._answer(fault)
        except RuntimeError:  # it has exited with another code than 0
            self._answer(lost_worker())

    def _answer(self, fault: Exception) -> None:
        self._fault = f"worker {self.worker_id}\n{type(fault).__module__}.{type(fault).__name__}: {fault}"
        for future in list(self.control_conn._futures_by_id.values()):
            self._refuse(future)

    def _ask(self, request: Any) -> Any:
        future = self._push(request)
        if future is not None and self._fault is not None:  # whichever came first, both see the other
            self._refuse(future)
        return future

    def _refuse(self, future: Any) -> None:
        # As an answer of the worker: whoever waits for its data looks for one, not for what ControlFuture.abort() leaves.
        error = beam_fn_api_pb2.InstructionResponse(instruction_id=future.instruction_id, error=self._fault)
        future.set(error)

    def close(self) -> None:
        """Close both connections, that for data first, and wait for the worker's end."""
        try:
            self.data_conn.close()
        finally:
            self.control_conn.push(worker_handlers.BeamFnControlServicer._DONE_MARKER)
            super().close()
