"""arXiv's own record of each paper: version, licence, categories, authors.

Read from Kaggle's snapshot, one JSON object a line with ``id``, ``authors_parsed``, ``categories``, ``license``, ``versions`` …
Source: https://www.kaggle.com/datasets/Cornell-University/arxiv and https://info.arxiv.org/help/license/index.html
"""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Iterator
from typing import Any

from tootsie.curate.corpus import EXCERPT, Record
from tootsie.curate.enterprise_dump import read_dump

SUFFIXES = tuple(
    f".{kind}{packing}" for kind in ("json", "jsonl", "ndjson") for packing in ("", ".gz", ".zst")
)
"""How files of metadata are called."""
MAX_LINE_BYTES = 2**24
"""A longer row is damaged: the longest lists of authors have less than a tenth of it."""
UNKNOWN_LICENCE = "unknown"
_CREATIVE_COMMONS = re.compile(r"creativecommons\.org/licenses/([a-z-]+)/(\d+\.\d+)", re.IGNORECASE)
_ARXIV = re.compile(r"arxiv\.org/licenses/([a-z0-9-]+)(?:/(\d+\.\d+))?", re.IGNORECASE)


def licence_name(url: str | None) -> str:
    """Return a short name for a licence's URL: SPDX's where there is one (``CC-BY-4.0``), ``arxiv-…`` for arXiv's own.

    >>> licence_name("http://arxiv.org/licenses/nonexclusive-distrib/1.0/")
    'arxiv-nonexclusive-distrib-1.0'
    """
    if not url:
        return UNKNOWN_LICENCE
    if match := _CREATIVE_COMMONS.search(url):
        return f"CC-{match[1].upper()}-{match[2]}"
    if "creativecommons.org/publicdomain/zero/" in url.lower():
        return "CC0-1.0"
    if "creativecommons.org/licenses/publicdomain" in url.lower():
        return "CC-PDDC"
    if match := _ARXIV.search(url):
        return "-".join(part for part in ("arxiv", match[1].lower(), match[2]) if part)
    return url


def metadata_records(url: str) -> Iterator[Record]:
    """Yield a record for each row of a snapshot, keyed by the paper's identifier.

    Raises:
      InputError: the file is truncated or damaged.
    """
    for line in read_dump(url, MAX_LINE_BYTES):
        try:
            if line.content is None:
                raise ValueError(f"a row of {line.size:,} bytes")
            row = json.loads(line.content)
            if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not row["id"]:
                raise ValueError("no object with the text field id")
        except (ValueError, RecursionError) as error:
            excerpt = (line.content or b"")[: 4 * EXCERPT]
            detail = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            yield Record(line.where, {"id": line.where, "damaged": detail}, excerpt, counted=False)
            continue
        yield Record(row["id"], {"id": row["id"], "row": _fields(row)}, counted=False)


def _fields(row: dict[str, Any]) -> dict[str, Any]:
    versions = row.get("versions")
    versions = [one for one in versions if isinstance(one, dict)] if isinstance(versions, list) else []
    categories = row.get("categories")
    fields = {
        "title": _line(row.get("title")),
        "authors": _authors(row),
        "categories": categories.split() if isinstance(categories, str) else None,
        "license": licence_name(_line(row.get("license"))),
        "license_url": _line(row.get("license")),
        "doi": _line(row.get("doi")),
        "versions": len(versions) or None,
        "created": _date(versions[0].get("created")) if versions else None,
        "updated": _line(row.get("update_date")),
    }
    return {name: value for name, value in fields.items() if value}


def _line(value: Any) -> str | None:
    return " ".join(value.split()) or None if isinstance(value, str) else None


def _authors(row: dict[str, Any]) -> list[str]:
    parsed = row.get("authors_parsed")
    names = []
    for author in parsed if isinstance(parsed, list) else []:
        if isinstance(author, list) and author and all(isinstance(part, str) for part in author[:3]):
            last, first, suffix = [*author[:3], "", ""][:3]
            names.append(" ".join(f"{first} {last} {suffix}".split()))
    authors = _line(row.get("authors"))
    return [name for name in names if name] or ([authors] if authors else [])


def _date(value: Any) -> str | None:
    """Return the ISO 8601 date of one as in e-mail, which is what arXiv writes."""
    try:
        return email.utils.parsedate_to_datetime(value).date().isoformat()
    except (TypeError, ValueError, IndexError):
        return None


def order(row: dict[str, Any]) -> tuple[int, str]:
    """Return what orders several rows of one paper: how many versions they know of, then when they were updated."""
    return int(row.get("versions", 0)), str(row.get("updated", ""))
