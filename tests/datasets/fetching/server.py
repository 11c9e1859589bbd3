"""A real HTTP server on this machine whose faults a test chooses."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass
class Served:
    """One file, and how it is served."""

    content: bytes
    etag: str | None = '"1"'
    ranges: bool = True
    drops: list[int] = field(default_factory=list)
    """Each answer in turn ends after so many bytes of its body."""
    shorts: list[int] = field(default_factory=list)
    """Each answer in turn has so many bytes, and says so."""
    statuses: list[int] = field(default_factory=list)
    """Each answer in turn is this error."""
    length: int | None = None
    """Stated length, where it is not the true one."""
    chunked: bool = False
    lengthless: bool = False
    halfway: Callable[[], object] | None = None
    """Called when half of the body is out."""


class Server:
    """The files of a server, and what was asked of it."""

    def __init__(self) -> None:
        self.files: dict[str, Served] = {}
        self.requests: list[tuple[str, str | None]] = []
        """Path and range of each."""
        self.url = ""

    def ranges(self, path: str) -> list[str | None]:
        return [found for asked, found in self.requests if asked == path]


def _handler(server: Server) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            server.requests.append((self.path, asked))
            file = server.files.get(self.path)
            if file is None or file.statuses:
                self.send_error(404 if file is None else file.statuses.pop(0))
                return
            start, stop = 0, len(file.content)
            condition = self.headers.get("If-Range")
            if asked and file.ranges and (condition is None or condition == file.etag):
                first, _, last = asked.removeprefix("bytes=").partition("-")
                start = int(first)
                stop = min(int(last) + 1, len(file.content)) if last else len(file.content)
                if start >= len(file.content):
                    self.send_error(416)
                    return
            body = file.content[start:stop]
            if file.shorts:
                body = body[: file.shorts.pop(0)]
            part = start > 0 or stop < len(file.content)
            self.send_response(206 if part else 200)
            if file.etag:
                self.send_header("ETag", file.etag)
            if file.ranges:
                self.send_header("Accept-Ranges", "bytes")
            if part:
                self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(file.content)}")
            if file.chunked:
                self.send_header("Transfer-Encoding", "chunked")
            elif not file.lengthless:
                self.send_header("Content-Length", str(len(body) if file.length is None else file.length))
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            keep = file.drops.pop(0) if file.drops else len(body)
            whole = keep >= len(body)
            body = body[:keep]
            half = len(body) // 2
            for number, part in enumerate((body[:half], body[half:])):
                if number and file.halfway:
                    self.wfile.flush()
                    file.halfway()
                if file.chunked and part:
                    part = b"%x\r\n%s\r\n" % (len(part), part)
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(part)
            if file.chunked and whole:
                self.wfile.write(b"0\r\n\r\n")

    return Handler


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """Serve files on a free port until the block ends."""
    server = Server()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(server)) as running:
        running.daemon_threads = True
        thread = threading.Thread(target=lambda: running.serve_forever(poll_interval=0.01), daemon=True)
        thread.start()
        server.url = f"http://127.0.0.1:{running.server_address[1]}"
        try:
            yield server
        finally:
            running.shutdown()
            thread.join()
