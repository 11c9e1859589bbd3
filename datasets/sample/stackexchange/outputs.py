"""Runs the fences marked ``run`` and fills the ``output`` fences after them.

Python fences share one namespace per post and SQL fences one in-memory SQLite database, so an answer may define a table
in its first fence and query it in the next. What is run is this folder's own source text.
"""

from __future__ import annotations

import contextlib
import io
import re
import sqlite3
from typing import Any

RUN = re.compile(r"^```(py|sql) run\n(.*?)\n```\n(?:\n*^```output\n```$)?", re.DOTALL | re.MULTILINE)


def fill(body: str) -> str:
    """Return ``body`` with every ``run`` fence executed, its marker removed and its output fence filled."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    database = sqlite3.connect(":memory:")
    try:

        def replace(match: re.Match[str]) -> str:
            language, code = match[1], match[2]
            shown = run_python(code, namespace) if language == "py" else run_sql(code, database)
            text = f"```{language}\n{code}\n```\n"
            if "```output" in match[0]:
                shown = shown.rstrip("\n")
                ticks = "`" * max(3, 1 + max(map(len, re.findall("`+", shown)), default=0))
                text += f"\n{ticks}none\n{shown}\n{ticks}"
            return text

        return RUN.sub(replace, body)
    finally:
        database.close()


def run_python(code: str, namespace: dict[str, Any]) -> str:
    """Execute ``code`` and return what it printed; an exception is shown by its last line, as in a terminal."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        try:
            exec(compile(code, "<answer>", "exec"), namespace)
        except (NameError, SyntaxError):
            raise  # a slip in the sources, not something that a question shows
        except Exception as problem:
            print(f"{type(problem).__name__}: {problem}")
    return stream.getvalue()


def run_sql(code: str, database: sqlite3.Connection) -> str:
    """Execute the statements and return the rows of the last query as a text table."""
    shown = ""
    for statement in code.split(";\n"):
        if not statement.strip():
            continue
        cursor = database.execute(statement.rstrip(";"))
        if cursor.description:
            shown = text_table([name for name, *_ in cursor.description], cursor.fetchall())
    return shown


def text_table(header: list[str], rows: list[tuple[Any, ...]]) -> str:
    """A table as the ``sqlite3`` shell prints it in column mode; numbers stand right, NULL is written out."""
    cells = [["NULL" if value is None else str(value) for value in row] for row in rows]
    widths = [max(len(line[i]) for line in [header, *cells]) for i in range(len(header))]
    numeric = [
        bool(rows) and all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(header))
    ]

    def line(values: list[str]) -> str:
        padded = [v.rjust(w) if n else v.ljust(w) for v, w, n in zip(values, widths, numeric, strict=True)]
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), "  ".join("-" * w for w in widths), *(line(c) for c in cells)])
