"""The compiled steps of a run: one program for each shape of batch, the later ones compiled while the earlier ones train."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding

from tootsie.train.sharding import ROWS
from tootsie.train.step import Rows


class BatchShape(NamedTuple):
    """What a program is compiled for."""

    rows: int  # B, of the whole batch.
    length: int  # T.


class StepPrograms:
    """Takes training steps as the function it is made from does, and compiles ahead.

    The program of the first shape is compiled when it is called for. From then on a thread compiles the others, in the order
    in which they will be called for; a program that is not finished by then is waited for. What a step computes is the same
    with and without the thread: the programs are.
    """

    def __init__(
        self,
        update: Any,
        state: Any,
        mesh: Mesh | None,
        shapes: Sequence[BatchShape],
        tell: Callable[[str], None],
        ahead: bool = True,
    ) -> None:
        """Prepare to take steps.

        Args:
          update: the jitted function of state, rows and settings.
          state: shapes, dtypes and shardings of the state.
          mesh: devices that batches are spread over.
          shapes: of the batches to come, in their order; each as often as it is needed, or once.
          tell: takes one line.
          ahead: whether to compile in a thread; otherwise each program is compiled when it is called for.
        """
        self._update, self._state, self._mesh, self._tell = update, state, mesh, tell
        self._coming = list(dict.fromkeys(shapes))
        self._programs: dict[BatchShape, Any] = {}
        self._seconds: dict[BatchShape, float] = {}
        self._faults: dict[BatchShape, BaseException] = {}
        self._ahead, self._ended = ahead, False
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._settings: Any = None
        self._used: BatchShape | None = None

    def __call__(self, state: Any, rows: Rows, settings: Any) -> tuple[Any, Any]:
        """Take a step; the first of a shape may wait for its program."""
        shape = BatchShape(*rows.tokens.shape)
        if shape != self._used:
            self._settings = settings
            self._take(shape)
            self._used = shape
        return self._programs[shape](state, rows, settings)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Compile no more; wait for the program being compiled, for an interpreter must not end in the midst of that."""
        self._ended = True
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _take(self, shape: BatchShape) -> None:
        """Have the program of ``shape``, and let the thread go on with those after it."""
        began, named = time.perf_counter(), f"{shape.rows:,} × {shape.length:,} tokens"
        with self._changed:
            if self._thread is not None and shape in self._coming:
                ready = shape in self._programs
                self._changed.wait_for(lambda: shape in self._programs or shape in self._faults)
                if shape in self._faults:
                    raise self._faults[shape]
                waited = "" if ready else f", {time.perf_counter() - began:.1f} of them waited for"
                if (seconds := self._seconds.pop(shape, None)) is not None:  # told once
                    self._tell(f"the step for {named} was compiled ahead in {seconds:.1f} s{waited}")
        if shape not in self._programs:
            self._programs[shape] = self._compile(shape)
            self._tell(f"compiled the step for {named} in {time.perf_counter() - began:.1f} s")
        if self._ahead and self._thread is None and set(self._coming) - self._programs.keys():
            self._thread = threading.Thread(target=self._work, name="compile-ahead")
            self._thread.start()

    def _work(self) -> None:
        for shape in self._coming:
            if shape in self._programs:
                continue
            if self._ended or not threading.main_thread().is_alive():  # or the run ended by an error
                return
            began = time.perf_counter()
            try:
                program = self._compile(shape)
            except BaseException as fault:  # raised where the program is called for, in the thread of the run
                with self._changed:
                    self._faults[shape] = fault
                    self._changed.notify_all()
                continue
            with self._changed:
                self._seconds[shape] = time.perf_counter() - began
                self._programs[shape] = program
                self._changed.notify_all()

    def _compile(self, shape: BatchShape) -> Any:
        sharding = None if self._mesh is None else NamedSharding(self._mesh, ROWS)
        rows = Rows(
            *(
                jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)
                for dtype in (jnp.int32, jnp.int32, jnp.bool_)
            )
        )
        return self._update.lower(self._state, rows, self._settings).compile()


def keep_programs(folder: str) -> None:
    """Keep programs that take more than a second to compile in ``folder``, for the next start of the run."""
    from jax.experimental.compilation_cache import compilation_cache

    jax.config.update("jax_compilation_cache_dir", folder)
    compilation_cache.reset_cache()  # or it stays with the folder of the first program
