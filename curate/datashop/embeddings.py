"""Vectors of texts from a transformer encoder behind ``/v1/embeddings``: asked for once, filed, averaged over a text's pieces.

What a server answers is filed piece by piece, under a hash of encoder and text, as a vector of length 1 in float16 (a relative
error of 0.05 %). A text's vector is read from there, never from an answer: a run that was killed has the vectors of one that was
not.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tootsie.curate.datashop.connection import FIRST_WAIT, Connection, cancelled
from tootsie.curate.datashop.endpoint import MALFORMED, Hitch, Refusal, check_status, count_of, without_key
from tootsie.curate.datashop.passages import divide
from tootsie.curate.datashop.response_cache import ResponseCache
from tootsie.curate.datashop.spec import EncoderSpec
from tootsie.datasets.errors import UserError, shorten
from tootsie.datasets.provenance import fingerprint

FIELD = "scorer.encoder"
"""Where a spec has the encoder."""
SHORTEST_HALVED = 100
"""Characters of the shortest piece that is halved where a server finds it too long."""
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Encoder:
    """Which encoder, and how texts are cut for it: what vectors must have in common to be compared."""

    name: str
    revision: str | None
    prefix: str
    piece_characters: int
    pieces: int
    served_model: str | None = None
    """As the server calls it; ``None`` before there is an answer."""
    dimension: int | None = None
    """Numbers of a vector, likewise."""

    @classmethod
    def of(cls, spec: EncoderSpec) -> Encoder:
        """Return what a spec says of its encoder."""
        return cls(spec.name, spec.revision, spec.prefix, spec.piece_characters, spec.pieces)

    def as_specified(self) -> dict[str, Any]:
        """Return what the spec says of it, as JSON values."""
        return {key: value for key, value in asdict(self).items() if key not in ("served_model", "dimension")}

    def divided(self, text: str) -> tuple[list[str], bool]:
        """Return the pieces of a text that are embedded, none of them blank, and whether that is all of it."""
        whole = text.encode("utf-8", "replace").decode()
        found = [whole[one.start : one.stop] for one in divide(whole, self.piece_characters)]
        found = [piece for piece in found if piece.strip()]
        return found[: self.pieces], len(found) <= self.pieces

    def key(self, piece: str) -> str:
        """Return what a piece's vector is filed under: 64 hex digits."""
        return fingerprint({"encoder": self.name, "revision": self.revision, "text": self.prefix + piece})


@dataclass(frozen=True)
class Vectors:
    """What a server answered."""

    rows: Floats
    """[n, dimension], each of length 1, in the order of what was sent."""
    model: str
    prompt_tokens: int
    completion_tokens: int = 0


def request_body(encoder: Encoder, pieces: list[str]) -> bytes:
    """Return the JSON of a request for the vectors of some pieces."""
    texts = [encoder.prefix + piece for piece in pieces]
    return json.dumps({"model": encoder.name, "input": texts, "encoding_format": "float"}).encode()


def read_vectors(status: int, headers: dict[str, str], body: bytes, key: str, *, count: int) -> Vectors:
    """Return the vectors in a response, each in the place that its ``index`` says.

    Args:
      status: of HTTP.
      headers: names in lower case.
      body: of the answer.
      key: the API key, which is taken out of what the server says.
      count: vectors that were asked for.

    Raises:
      Hitch: another try may succeed; so where vectors are too few or too many, their indices are not 0 to n - 1, or they differ
        in length, are zero, or have something that is no finite number.
      Refusal: it will not.
    """
    text = without_key(body.decode("utf-8", "replace"), key) if status != 200 else ""
    if status == 500 and "too large to process" in text:  # how llama.cpp says 413
        status = 413
    check_status(status, headers, text)
    try:
        value = json.loads(body)
        data = value["data"]
        order = [item["index"] for item in data]
        if any(type(index) is not int for index in order) or sorted(order) != list(range(count)):
            raise ValueError(
                f"{count} vectors were asked for, and the indices of the answer are {shorten(str(order), 100)}"
            )
        found = np.asarray([item["embedding"] for item in data])
        if found.ndim != 2 or found.dtype.kind not in "fi" or not found.shape[1]:
            raise ValueError("the embeddings are no lists of equally many numbers")
        rows = np.empty(found.shape)
        rows[order] = found
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or not norms.all():
            raise ValueError("an embedding is zero, or has a number that is not finite")
        model = without_key(str(value.get("model", "")), key)
        tokens = count_of(value.get("usage"), "prompt_tokens")
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise Hitch(MALFORMED, shorten(without_key(f"{type(error).__name__}: {error}", key), 300)) from None
    return Vectors((rows / norms).astype(np.float32), model, tokens)


class EncoderClient(Connection):
    """An open connection to an encoder. ``async with`` it, :meth:`fetch` what is wanted, then read :meth:`vector`."""

    max_body = 64 * 2**20

    def __init__(
        self, spec: EncoderSpec, encoder: Encoder, cache: ResponseCache, *, first_wait: float = FIRST_WAIT
    ) -> None:
        """Prepare a connection.

        Args:
          spec: the endpoint; its ``url`` must be set.
          encoder: whose vectors are wanted; where it has a dimension, those of another are refused.
          cache: of vectors.
          first_wait: seconds before the first retry.

        Raises:
          SpecError: the key is missing.
        """
        super().__init__(spec, "/embeddings", FIELD, first_wait)
        self._inputs = spec.inputs
        self._concurrency = spec.concurrency
        self._cache = cache
        self.encoder = encoder
        """With the server's name for it and the dimension, once a vector is there."""
        self._failed: dict[str, tuple[str, str]] = {}

    async def fetch(self, texts: Iterable[str]) -> None:
        """Ask for the vectors of texts that are not filed: many pieces in a request, many requests at once, none twice.

        Raises:
          UserError: the token budget is spent, the server is gone, rejects the key, or has another encoder; what was answered is
            filed.
        """
        asked: set[str] = set()
        held: list[str] = []
        waiting: set[asyncio.Task[None]] = set()
        try:
            for text in texts:
                for piece in self.encoder.divided(text)[0]:
                    key = self.encoder.key(piece)
                    if key in self._cache or key in asked:
                        self.counters["answers from the cache"] += 1
                        continue
                    asked.add(key)
                    held.append(piece)
                    if len(held) == self._inputs:
                        waiting.add(asyncio.create_task(self._batch(held)))
                        held = []
                        waiting = await _below(waiting, 2 * self._concurrency)
                if waiting:
                    await asyncio.sleep(0)
            if held:
                waiting.add(asyncio.create_task(self._batch(held)))
            await _below(waiting, 1)
        except UserError:
            await self.ended_early(waiting)
            raise
        finally:
            await cancelled(waiting)

    async def _batch(self, pieces: list[str]) -> None:
        """File the vectors of pieces, or why there are none. A piece that a server cannot do takes no other along."""
        booked = sum(map(len, pieces)) // 4
        try:
            read = functools.partial(read_vectors, count=len(pieces))
            found = await self.post(request_body(self.encoder, pieces), booked, read)
        except (Hitch, Refusal) as fault:
            of_input = (
                fault.status in (400, 413, 422)
                if isinstance(fault, Refusal)
                else fault.reason in (MALFORMED, "status 500")
            )
            if of_input and len(pieces) > 1:
                middle = len(pieces) // 2
                await self._batch(pieces[:middle])
                await self._batch(pieces[middle:])
            elif of_input and isinstance(fault, Refusal) and len(pieces[0]) > SHORTEST_HALVED:
                await self._halved(pieces[0], fault)
            else:
                reason = f"refused with status {fault.status}" if isinstance(fault, Refusal) else fault.reason
                self._failed |= {self.encoder.key(piece): (reason, fault.detail) for piece in pieces}
            return
        self._same(found.model, found.rows.shape[1])
        for piece, row in zip(pieces, found.rows, strict=True):
            self._file(piece, row, found.model)

    async def _halved(self, piece: str, fault: Refusal) -> None:
        """File the mean of the two halves of a piece that is too long for the server."""
        self.counters["pieces halved"] += 1
        middle = divide(piece, -(-len(piece) // 2))[0].stop
        halves = [half for half in (piece[:middle], piece[middle:]) if half.strip()]
        await self._batch(halves)
        if missing := [found for half in halves if (found := self._failed.get(self.encoder.key(half)))]:
            self._failed[self.encoder.key(piece)] = missing[0]
        else:
            self._file(piece, self._mean(halves), self.encoder.served_model or "")

    def _file(self, piece: str, row: Floats, model: str) -> None:
        content = base64.b64encode(row.astype("<f2").tobytes()).decode()
        self._cache.put(self.encoder.key(piece), {"float16": content, "model": model})

    def _same(self, model: str, dimension: int) -> None:
        known = self.encoder
        if known.dimension is None:
            self.encoder = Encoder(**{**asdict(known), "served_model": model, "dimension": dimension})
        elif (known.served_model, known.dimension) != (model, dimension):
            raise UserError(
                f"vectors of another encoder: {dimension} numbers from {model!r}, where the others have {known.dimension} from "
                f"{known.served_model!r}",
                file=self._url,
                field=f"{FIELD}.name",
                value=known.name,
                remedy="Serve that encoder again, or give this one another 'name' or 'revision', and run train-scorer again",
            )

    def vector(self, text: str) -> Floats | tuple[str, str] | None:
        """Return the vector of a fetched text, reason and detail where it has none, or ``None`` for a blank text.

        Raises:
          UserError: what is filed is of another encoder.
        """
        pieces, _ = self.encoder.divided(text)
        for piece in pieces:
            if failed := self._failed.get(self.encoder.key(piece)):
                return failed
        return self._mean(pieces) if pieces else None

    def _mean(self, pieces: list[str]) -> Floats:
        """Return the mean of the filed vectors of pieces, weighted by their lengths, scaled to length 1."""
        rows = []
        for piece in pieces:
            filed = self._cache.get(self.encoder.key(piece))
            assert filed is not None
            rows.append(np.frombuffer(base64.b64decode(filed["float16"]), "<f2").astype(np.float64))
            self._same(filed["model"], len(rows[-1]))
        mean = np.average(rows, axis=0, weights=[len(piece) for piece in pieces])
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), np.float32)


async def _below(waiting: set[asyncio.Task[None]], limit: int) -> set[asyncio.Task[None]]:
    """Wait until fewer than ``limit`` tasks are under way, and return those.

    Raises:
      UserError: of a task.
    """
    while len(waiting) >= limit:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    return waiting
