"""What asking costs: the client beside a bare one, on the same server, turn and turn about; and how fast documents are scored.

The server answers each request after a fixed time, as one does whose model is slower than its network, and takes as many at
once as it is asked to: what it can give is ``concurrency / latency``, the floor of the time. The bare client posts the same
bodies with as many coroutines, and does nothing with the answers; ours retries, checks, files each answer on disk and knows
the rest of what it does.

    python benchmarks/datashop.py [--requests 320] [--concurrency 16] [--latency 0.5] [--rounds 5]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import statistics
import tempfile
import time
from multiprocessing.connection import Connection
from typing import Any

import aiohttp
import numpy as np
from aiohttp import web

from tootsie.curate.datashop import prompts
from tootsie.curate.datashop.answers import DESCRIPTION
from tootsie.curate.datashop.client import Answered, Client, ask_all
from tootsie.curate.datashop.endpoint import Question
from tootsie.curate.datashop.response_cache import ResponseCache
from tootsie.curate.datashop.scorer import ScorerModel
from tootsie.curate.datashop.scoring import score_documents
from tootsie.curate.datashop.spec import ModelSpec, Structured, Subject
from tootsie.datasets.document import Document

ANSWER = {
    "model": "fixed",
    "choices": [
        {"message": {"content": json.dumps({"description": "word " * 100})}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 500, "completion_tokens": 100},
}


def serve(pipe: Connection, latency: float) -> None:
    async def answer(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(latency)
        return web.json_response(ANSWER)

    async def main() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        pipe.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(main())


def questions(count: int, turn: int) -> list[Question]:
    subject = Subject(name="science", description="d")
    return [
        Question(
            prompts.describe([f"{turn} {number} " + "some text " * 200], subject, DESCRIPTION),
            DESCRIPTION,
            200,
            0,
        )
        for number in range(count)
    ]


async def bare(model: ModelSpec, asked: list[Question]) -> float:
    bodies = iter([question.body(model, Structured.JSON_SCHEMA) for question in asked])
    start = time.perf_counter()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), headers={"Content-Type": "application/json"}
    ) as session:

        async def work() -> None:
            for body in bodies:
                async with session.post(f"{model.url}/chat/completions", data=body) as response:
                    await response.read()

        await asyncio.gather(*(work() for _ in range(model.concurrency)))
    return time.perf_counter() - start


async def ours(model: ModelSpec, asked: list[Question]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        cache = ResponseCache(folder)
        start = time.perf_counter()
        async with Client(model, cache) as client:
            rows = ((str(number), question) for number, question in enumerate(asked))
            done = [result async for _, result in ask_all(client, rows, model.concurrency)]
        seconds = time.perf_counter() - start
        assert len(done) == len(asked)
        assert all(isinstance(result, Answered) for result in done)
        cache.close()
    return seconds


def scoring(megabytes: int) -> list[float]:
    source = random.Random(0)
    words = [
        "".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randint(2, 10))) for _ in range(20_000)
    ]
    documents = []
    size = 0
    while size < megabytes * 1_000_000:
        text = " ".join(source.choices(words, k=500))
        size += len(text)
        documents.append(Document(id=str(len(documents)), text=text, source="benchmark"))
    model = ScorerModel(np.random.default_rng(0).normal(size=1 << 18).astype(np.float32), 0.0, 18)
    list(score_documents(model, documents[:500]))
    rates = []
    for _ in range(5):
        start = time.process_time()
        scored: Any = sum(len(block) for block in score_documents(model, documents))
        rates.append(size / 1e6 / (time.process_time() - start))
        assert scored == len(documents)
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=320)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=20)
    arguments = parser.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=serve, args=(there, arguments.latency), daemon=True
    )
    server.start()
    model = ModelSpec(
        url=f"http://127.0.0.1:{here.recv()}/v1", name="fixed", concurrency=arguments.concurrency
    )
    times: dict[str, list[float]] = {"bare": [], "ours": []}
    try:
        for turn in range(arguments.rounds):
            asked = questions(arguments.requests, turn)
            for name in ("bare", "ours") if turn % 2 == 0 else ("ours", "bare"):
                times[name].append(asyncio.run({"bare": bare, "ours": ours}[name](model, asked)))
    finally:
        server.terminate()
        server.join()
    floor = arguments.requests / arguments.concurrency * arguments.latency
    print(
        f"{arguments.requests} requests, {arguments.concurrency} at once, {arguments.latency} s each: floor {floor:.2f} s"
    )
    for name, found in times.items():
        median = statistics.median(found)
        print(
            f"{name}\t{median:.2f} s (median of {len(found)})\t{floor / median:.1%} of what the server can give"
        )
    ratios = sorted(one / other for one, other in zip(times["bare"], times["ours"], strict=True))
    print(
        f"ours / bare\t{statistics.median(ratios):.1%} of the bare client's throughput (median of {len(ratios)} rounds, "
        f"{ratios[0]:.1%} to {ratios[-1]:.1%})"
    )
    rates = scoring(arguments.megabytes)
    print(
        f"scoring\t{statistics.median(rates):.1f} MB/s of text for each core (median of {len(rates)}, CPU time)"
    )


if __name__ == "__main__":
    main()
