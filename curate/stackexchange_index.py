"""What must be known of a whole site while its tables are read: names of users, and the thread of each post.

The largest site has twenty million users and sixty million posts, so this is no dictionary but a SQLite database without a
name: it lies in memory up to a limit, beyond it in a temporary file that the system takes back however the process ends.
"""

from __future__ import annotations

import sqlite3
from types import TracebackType

CACHE_KIB = 64 * 1024
"""Memory that SQLite may use."""
BATCH = 10_000
"""Rows written at a time."""
MAX_DIGITS = 18
"""Of an id; SQLite has integers of 64 bits."""


def number_of(identity: str | None) -> int | None:
    """Return an id of a dump as a number, ``None`` for anything else; users and posts of the system have negative ones."""
    digits = (identity or "").removeprefix("-")
    return (
        int(identity or "") if digits.isdecimal() and digits.isascii() and len(digits) <= MAX_DIGITS else None
    )


class SiteIndex:
    """Maps of one site; used with ``with``."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for pragma in (
            f"cache_size=-{CACHE_KIB}",
            "journal_mode=OFF",
            "synchronous=OFF",
            "temp_store=FILE",
            "locking_mode=EXCLUSIVE",
        ):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.execute("CREATE TABLE name (id INTEGER PRIMARY KEY, value TEXT)")
        self._database.execute("CREATE TABLE thread (id INTEGER PRIMARY KEY, value INTEGER)")
        self._names: list[tuple[int, str]] = []
        self._threads: list[tuple[int, int]] = []

    def __enter__(self) -> SiteIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add_name(self, user: int, name: str) -> None:
        """Remember the name of a user; the first of a user counts."""
        self._names.append((user, name))
        if len(self._names) >= BATCH:
            self._flush()

    def name(self, user: str | None) -> str | None:
        """Return the name of a user, ``None`` where the dump has none."""
        self._flush()
        number = number_of(user)
        return None if number is None else self._read("name", number)

    def add_post(self, post: int, thread: int) -> None:
        """Remember to which thread a post belongs; the first row of a post counts."""
        self._threads.append((post, thread))
        if len(self._threads) >= BATCH:
            self._flush()

    def thread(self, post: str | None) -> str | None:
        """Return the thread of a post, ``None`` where there is no such post."""
        self._flush()
        number = number_of(post)
        found = None if number is None else self._read("thread", number)
        return None if found is None else str(found)

    def _flush(self) -> None:
        for table, batch in (("name", self._names), ("thread", self._threads)):
            if batch:
                self._database.execute("BEGIN")
                self._database.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", batch)
                self._database.execute("COMMIT")
                batch.clear()

    def _read(self, table: str, number: int) -> str | None:
        row = self._database.execute(f"SELECT value FROM {table} WHERE id = ?", (number,)).fetchone()
        return None if row is None else row[0]
