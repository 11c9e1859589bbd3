"""JSON that people read: indented, with lists of numbers on one line. And parsing that says ValueError whatever the fault."""

from __future__ import annotations

import json
import re
from typing import Any

_NUMBER = r"-?[0-9][0-9.eE+-]*"
# A string never holds a raw line break, so a match is always a list.
_NUMBERS = re.compile(rf"\[\n *{_NUMBER}(?:,\n *{_NUMBER})*\n *\]")


def readable_json(value: Any) -> bytes:
    """Return ``value`` as indented UTF-8 JSON with a final line break; equal values give equal bytes.

    >>> print(readable_json({"ids": [1, 2], "names": ["a"]}).decode(), end="")
    {
     "ids": [1, 2],
     "names": [
      "a"
     ]
    }
    """
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    return _NUMBERS.sub(_one_line, text).encode()


def _one_line(match: re.Match[str]) -> str:
    return "[" + ", ".join(re.findall(_NUMBER, match[0])) + "]"


def parse_json(content: bytes) -> Any:
    """Parse UTF-8 JSON from a file that may hold anything.

    Raises:
      ValueError: it is not JSON, not UTF-8, or nested too deep.
    """
    try:
        return json.loads(content.decode())
    except RecursionError:
        raise ValueError("nested too deep") from None
