"""A server that answers like a model which knows the rules by heart, and can be told to misbehave; corpora for it to grade."""

from __future__ import annotations

import json
import random
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

SCIENCE = [
    "cell",
    "membrane",
    "protein",
    "enzyme",
    "glucose",
    "mitochondrion",
    "photosynthesis",
    "chlorophyll",
    "electron",
    "proton",
    "neutron",
    "orbit",
    "gravity",
    "velocity",
    "momentum",
    "energy",
    "entropy",
    "catalyst",
    "reaction",
    "molecule",
    "isotope",
    "acid",
    "base",
    "ion",
    "solution",
    "genome",
    "chromosome",
    "mutation",
    "selection",
    "species",
    "habitat",
    "bacteria",
    "virus",
    "antibody",
    "neuron",
    "synapse",
    "hormone",
    "plasma",
    "quark",
    "photon",
    "wavelength",
    "frequency",
    "diffraction",
    "refraction",
    "lattice",
    "crystal",
    "magma",
    "tectonic",
    "erosion",
    "sediment",
    "fossil",
    "stratum",
    "atmosphere",
    "ozone",
    "nitrogen",
    "carbon",
    "oxygen",
    "hydrogen",
    "helium",
    "telescope",
    "galaxy",
    "nebula",
    "supernova",
]
WEB = [
    "discount",
    "shipping",
    "cart",
    "checkout",
    "coupon",
    "subscribe",
    "newsletter",
    "celebrity",
    "gossip",
    "fashion",
    "handbag",
    "shoes",
    "football",
    "league",
    "transfer",
    "coach",
    "recipe",
    "oven",
    "butter",
    "vacation",
    "hotel",
    "booking",
    "flight",
    "luggage",
    "mortgage",
    "loan",
    "insurance",
    "dealer",
    "truck",
    "engine",
    "warranty",
    "garden",
    "lawn",
    "sofa",
    "curtain",
    "wedding",
    "dress",
    "makeup",
    "horoscope",
    "lottery",
    "casino",
    "poker",
    "streaming",
    "series",
    "actor",
    "trailer",
    "playlist",
    "concert",
    "ticket",
    "festival",
    "parking",
    "downtown",
]
PLAIN = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "that",
    "for",
    "with",
    "as",
    "on",
    "by",
    "this",
    "from",
    "are",
    "an",
    "it",
    "at",
    "which",
    "can",
    "be",
    "will",
    "has",
    "more",
    "its",
    "when",
    "other",
    "than",
    "into",
]

Fault = Callable[[int, dict[str, Any]], str | None]
"""Says of a request, by its number and body, how it is to be treated; ``None``: well."""


def prose(words: list[str], seed: int, sentences: int = 12) -> str:
    """Return sentences in which every third word or so is one of ``words``."""
    source = random.Random(seed)
    found = []
    for _ in range(sentences):
        line = [source.choice(words) if source.random() < 0.3 else source.choice(PLAIN) for _ in range(14)]
        found.append(" ".join(line).capitalize() + ".")
    return " ".join(found[: sentences // 2]) + "\n\n" + " ".join(found[sentences // 2 :])


def given_text(body: dict[str, Any]) -> str:
    """Return the text that a request is about, read as a model would have to: the one field between the boundaries, or the last
    one of a dialogue.
    """
    turns = [json.loads(one["content"]) for one in body["messages"] if one["content"].startswith('{"')]
    if turns:
        given = [turn for turn in turns if "text" in turn or "sentence" in turn][-1]
        return str(given.get("text") or given["sentence"])
    found = re.search(
        r"^BOUNDARY ([0-9a-f]{24})\n(.*)\nBOUNDARY \1$", body["messages"][-1]["content"], re.MULTILINE
    )
    assert found is not None
    return str(json.loads(found[2])["text"])


def right_answer(body: dict[str, Any]) -> Any:
    """Return the answer of the rules: grades by the share of science words, questions from the sentences."""
    schema = body["response_format"]["json_schema"] if "response_format" in body else {"name": "grade"}
    text, kind = given_text(body), schema["name"]
    sentences = [one.strip() for one in re.split(r"(?<=\.)\s+", text) if len(one.split()) > 3] or [
        text.strip()
    ]
    if kind == "question":
        return {
            "question": f"What is said of {sentences[-1].split()[0].lower()} and {sentences[-1].split()[1]}?"
        }
    if kind == "answer":
        asked = json.loads(body["messages"][-1]["content"])["question"]
        first, second = asked.removeprefix("What is said of ").removesuffix("?").split(" and ")
        begin = f"{first.capitalize()} {second}"
        return {"answer": next((one for one in sentences if one.startswith(begin)), sentences[0])}
    if kind == "description":
        return {"description": f"Text that explains science, told from {len(text)} characters."}
    if kind == "grade":
        words = re.findall(r"[a-z]+", text.lower())
        share = sum(word in SCIENCE for word in words) / max(1, len(words))
        return {"rationale": "by the rules", "score": min(5, int(share * 25))}
    if kind == "cloze":
        word = sentences[0].split()[2]
        return {"items": [{"sentence": sentences[0].replace(word, "____", 1), "replaced": word}]}
    if kind == "choice":
        options = [" ".join(sentences[0].split()[i : i + 3]) for i in range(4)]
        return {"items": [{"question": "Which of these does it begin with?", "options": options, "right": 0}]}
    items = [
        {
            "question": f"What is said of {one.split()[0].lower()}, number {number}?",
            "answer": " ".join(one.split()[:9]),
        }
        for number, one in enumerate(sentences[:2])
    ]
    return (
        {"explanation": "It is about how things hang together.", "items": items}
        if kind == "explain"
        else {"items": items}
    )


def vectors(body: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of an encoder: shares of science and web words, and numbers that only make vectors differ."""
    data = []
    for index, text in enumerate(body["input"]):
        words = re.findall(r"[a-z]+", text.lower())
        shares = [
            sum(word in known for word in words) / max(1, len(words)) for known in map(set, (SCIENCE, WEB))
        ]
        noise = random.Random(text)
        data.append({"index": index, "embedding": [*shares, *(noise.gauss(0, 0.2) for _ in range(6))]})
    return {"model": "encoder-1", "data": data, "usage": {"prompt_tokens": 5 * len(data)}}


class Oracle:
    """The server. ``url`` is what a spec names; ``asked`` counts requests by their content, ``seen`` holds their bodies."""

    def __init__(
        self, answer: Callable[[dict[str, Any]], Any] = right_answer, fault: Fault | None = None
    ) -> None:
        self.answer = answer
        self.fault = fault
        self.vectors = vectors
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.seen: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.under_way = self.most_under_way = 0
        self._lock = threading.Lock()
        self._release = threading.Event()
        oracle = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                oracle._handle(self, body)

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: object) -> None:
                pass  # clients that are killed

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handle(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        key = json.dumps(body, sort_keys=True)
        with self._lock:
            number = len(self.seen)
            self.seen.append(body)
            self.headers.append(dict(request.headers))
            self.asked[key] += 1
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            kind = self.fault(number, body) if self.fault else None
        try:
            self._respond(request, body, kind, key)
        finally:
            with self._lock:
                self.under_way -= 1

    def _respond(
        self, request: BaseHTTPRequestHandler, body: dict[str, Any], kind: str | None, key: str
    ) -> None:
        text, finish, status, headers = "", "stop", 200, {}
        embeds = request.path.endswith("/embeddings")
        if kind == "slow":
            self._release.wait(20)
            return
        if kind == "drop":
            request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            request.connection.close()
            request.close_connection = True
            return
        if kind == "wrong form":
            text = '{"colour": "blue"}'
        elif kind == "prose":
            text = "Certainly! The score is 4."
        elif kind == "cut off":
            text, finish = json.dumps(self.answer(body))[:9], "length"
        elif not embeds and (kind is None or kind in ("half", "malformed")):
            text = json.dumps(self.answer(body))
        content = json.dumps(
            {
                "model": "oracle-1",
                "system_fingerprint": "rules",
                "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5},
            }
        ).encode()
        if embeds:
            content = json.dumps(self.vectors(body)).encode()
        if kind == "429":
            status, content, headers = 429, b'{"error": "slow down"}', {"Retry-After": "0"}
        elif kind is not None and kind.isdigit():
            status, content = int(kind), b'{"error": "no luck"}'
        elif kind == "no schema" and "response_format" in body:
            status, content = 400, b'{"error": {"message": "response_format is not supported"}}'
        elif kind == "malformed":
            content = content[: len(content) // 2]
        elif kind == "no choices":
            content = b'{"choices": []}'
        if status == 200 and kind is None:
            with self._lock:
                self.answered[key] += 1
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content[: len(content) // 2] if kind == "half" else content)
        if kind == "half":
            request.close_connection = True


@pytest.fixture
def oracle() -> Iterator[Oracle]:
    server = Oracle()
    yield server
    server.close()


@pytest.fixture
def planted(tmp_path: Path) -> Callable[..., tuple[str, set[str]]]:
    """Writes a corpus of web text with science hidden in it; returns its file and the ids of the science."""

    def write(documents: int = 200, share: float = 0.2, name: str = "web.jsonl") -> tuple[str, set[str]]:
        path = tmp_path / name
        wanted = set()
        with path.open("w") as stream:
            for number in range(documents):
                science = random.Random(number).random() < share
                wanted |= {f"d{number}"} if science else set()
                row = {
                    "id": f"d{number}",
                    "text": prose(SCIENCE if science else WEB, number),
                    "source": "web",
                    "metadata": {
                        "url": f"https://example.org/{number}",
                        "license": "CC-BY-4.0",
                        "posts": [{"author": f"author {number}"}],
                        "score": number,
                    },
                }
                stream.write(json.dumps(row) + "\n")
        return str(path), wanted

    return write


@pytest.fixture
def write_spec(tmp_path: Path) -> Callable[..., str]:
    """Writes a spec; keys given replace those of a small run."""

    def write(inputs: str, url: str | None, **keys: Any) -> str:
        model = {
            "url": url,
            "name": "oracle",
            "concurrency": 8,
            "timeout": 20,
            "attempts": 8,
            **keys.pop("model", {}),
        }
        content = {
            "name": "science-qa",
            "inputs": [inputs],
            "subjects": [{"name": "science", "description": "Texts that explain natural science."}],
            "model": model,
            "annotate": {"sample": 100},
            "filter": {"keep": 0.2},
            **keys,
        }
        path = tmp_path / "spec.yaml"
        path.write_text(json.dumps(content))  # JSON is YAML
        return str(path)

    return write


@pytest.fixture
def hostile_prose() -> Callable[[int], str]:
    """Sentences of science for every third number, of the web for the others."""
    return lambda number: prose(WEB if number % 3 else SCIENCE, number)
