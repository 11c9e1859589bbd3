"""Untrusted text for a terminal: ids, URLs, paths and texts of documents may hold characters that steer it."""

from __future__ import annotations

import re

# C0, DEL and C1; lone surrogates, which cannot be written; marks that turn the direction of what follows.
_STEERING = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = re.compile("[\t\n\u2028\u2029]")


def printable(text: str) -> str:
    """Return a text in which characters that steer a terminal are shown as pictures; tabs and line ends are kept.

    >>> printable("a\\x1b[2Jb")
    'a␛[2Jb'
    """
    return _STEERING.sub(lambda match: _picture(match[0]), text)


def printable_line(text: str) -> str:
    """Return :func:`printable` text that is one line: tabs and line ends are shown as pictures too."""
    return _BREAKS.sub(lambda match: _picture(match[0]), printable(text))


def _picture(character: str) -> str:
    return chr(0x2400 + ord(character)) if ord(character) < 32 else "\ufffd"
