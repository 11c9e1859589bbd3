"""A file elsewhere, and how to read it from any byte on: over HTTP with ranges, or through an fsspec file system."""

from __future__ import annotations

import contextlib
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from tootsie.datasets import storage
from tootsie.datasets.errors import InputError, SpecError
from tootsie.datasets.inventory import Checksum

TIMEOUT = 60
"""Seconds without a byte after which a connection is given up."""
_PERMANENT = {400, 401, 403, 404, 405, 410, 451}
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)\Z")


class TroubleError(Exception):
    """Reading failed in a way that trying again may mend."""


@dataclass(frozen=True)
class RemoteFile:
    """One file to fetch."""

    url: str
    """Where it lies."""
    path: str
    """Where it goes, relative to the destination."""
    size: int | None = None
    """Bytes, as the list or the file system says."""
    checksum: Checksum | None = None
    """Of its content, as the list says."""
    identity: str | None = None
    """Changes when the content does: an ETag, a modification time."""


class Opened(NamedTuple):
    """A file that is being read."""

    stream: Any
    """Has ``read(bytes)``."""
    start: int
    """Byte of the file that the stream begins at: the one asked for, or 0 where the file changed or has no ranges."""
    size: int | None
    """Bytes of the whole file, where it is known."""
    identity: str | None
    """See :class:`RemoteFile`."""
    ends_by_itself: bool
    """The end of the stream can be told from a connection that dropped, also where the size is not known."""


class Opener(Protocol):
    """Opens a file from a byte on."""

    def __call__(
        self, file: RemoteFile, offset: int, identity: str | None
    ) -> contextlib.AbstractContextManager[Opened]:
        """Open ``file`` from byte ``offset`` on, if it is still the one with ``identity``; else from its beginning.

        Raises:
          TroubleError: it may help to try again.
          UserError: it will not.
        """


def open_remote(
    file: RemoteFile, offset: int, identity: str | None
) -> contextlib.AbstractContextManager[Opened]:
    """Open a file of any kind of URL. See :class:`Opener`."""
    if file.url.startswith(("http://", "https://")):
        return open_http(file, offset, identity)
    return open_filesystem(file, offset, identity)


@contextlib.contextmanager
def open_http(file: RemoteFile, offset: int, identity: str | None) -> Iterator[Opened]:
    """Open a file over HTTP (RFC 9110): a range from ``offset`` on, on condition that it has not changed (``If-Range``).

    fsspec's file system has no conditional ranges, so this is the standard library's client.
    """
    headers = {"Accept-Encoding": "identity", "User-Agent": "tootsie"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
        if identity and not identity.startswith("W/"):
            headers["If-Range"] = identity
    try:
        response = urllib.request.urlopen(urllib.request.Request(file.url, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in _PERMANENT:
            raise InputError(
                f"the server answers {error.code} {error.reason}",
                file=file.url,
                remedy="Check the URL" if error.code in (404, 410) else "Check whether it is public",
            ) from None
        if error.code == 416:  # the file is shorter than what is there of it
            raise TroubleError("the server has no such range") from None
        raise TroubleError(f"the server answers {error.code} {error.reason}") from None
    except (http.client.InvalidURL, ValueError) as error:
        raise SpecError("not a URL that can be asked for", file=file.url, value=str(error)) from None
    except (OSError, http.client.HTTPException) as error:
        raise TroubleError(f"no connection: {getattr(error, 'reason', error)}") from None
    with response:
        yield _answered(response, offset)


def _answered(response: Any, offset: int) -> Opened:
    length = response.headers.get("Content-Length")
    size = int(length) if length and length.isdigit() else None
    # Files of one weak ETag may differ in bytes: the time of the last change says more.
    tags = response.headers.get("ETag"), response.headers.get("Last-Modified")
    identity = next((tag for tag in tags if tag and not tag.startswith("W/")), None)
    chunked = (response.headers.get("Transfer-Encoding") or "").lower() == "chunked"
    if response.status != 206:
        return Opened(_Body(response), 0, size, identity, chunked or size is not None)
    match = _RANGE.match(response.headers.get("Content-Range") or "")
    if match is None or int(match[1]) != offset:
        raise TroubleError(f"asked for bytes from {offset:,} on, got {response.headers.get('Content-Range')}")
    total = int(match[3]) if match[3] != "*" else None
    return Opened(_Body(response), offset, total, identity, chunked or size is not None)


class _Body:
    """The body of an answer."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def read(self, count: int) -> bytes:
        try:
            return self._response.read1(count)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise TroubleError(f"the connection dropped: {error or type(error).__name__}") from None


@contextlib.contextmanager
def open_filesystem(file: RemoteFile, offset: int, identity: str | None) -> Iterator[Opened]:
    """Open a file through fsspec from ``offset`` on."""
    filesystem, path = storage.url_to_fs(file.url)
    try:
        details = filesystem.info(path)
        stream = filesystem.open(path, "rb")
    except FileNotFoundError:
        raise InputError("no such file", file=file.url, remedy="Was it removed? List it again") from None
    except (PermissionError, ImportError) as error:
        raise SpecError("no permission", file=file.url, value=str(error)) from None
    except Exception as error:  # each file system has errors of its own
        raise TroubleError(f"{type(error).__name__}: {error}") from None
    with stream:
        # A listing and a question about one file may tell different things of it: the listing's are compared.
        now = file.identity or identity_of(details)
        start = offset if now is not None and identity == now else 0
        try:
            if start:
                stream.seek(start)
        except Exception as error:
            raise TroubleError(f"{type(error).__name__}: {error}") from None
        yield Opened(_FilesystemBody(stream), start, details.get("size"), now, True)


class _FilesystemBody:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, count: int) -> bytes:
        try:
            return self._stream.read(count)
        except Exception as error:
            raise TroubleError(f"{type(error).__name__}: {error}") from None


def identity_of(details: Mapping[str, Any]) -> str | None:
    """Return what changes when a file does, from what fsspec says of it; ``None`` where it says nothing of use."""
    keys = (
        "ETag",
        "etag",
        "generation",
        "md5Hash",
        "mtime",
        "ino",
        "LastModified",
        "last_modified",
        "updated",
    )
    found = [f"{key}={details[key]}" for key in keys if details.get(key) is not None]
    if not found and details.get("created") is not None:  # on this machine a change of permissions changes it
        found = [f"created={details['created']}"]
    return " ".join([*found, f"size={details.get('size')}"]) if found else None
