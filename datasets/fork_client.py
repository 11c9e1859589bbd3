"""Ask :mod:`tootsie.datasets.fork_server` for a worker and last as long as it does: ``python fork_client.py NAME``.

A script of the standard library alone, so that it starts within milliseconds. Where no server answers, it becomes a worker that
starts from nothing.
"""

import json
import os
import socket
import struct
import sys

_CREDENTIALS = struct.Struct("iII")  # Linux: process, user, group


def user_of(connection: socket.socket) -> int:
    """Return the user whose process made the other end of a connection."""
    content = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(content)[1])


def main(address: str) -> None:
    """Exit with 0 when the worker ended well, with 1 when it did not."""
    content = json.dumps(dict(os.environ)).encode()
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"\0{address}")
            if user_of(connection) == os.getuid():
                connection.sendall(len(content).to_bytes(4, "big") + content)
                answer = connection.recv(1)
                if answer == b"F":
                    sys.exit(connection.recv(1) != b"0")
    except OSError:
        pass
    os.execv(sys.executable, [sys.executable, "-m", "tootsie.datasets.beam_worker"])


if __name__ == "__main__":
    main(sys.argv[1])
