"""What the converter's process does with a page of a crawl: find its main content, convert that, note what it says of itself."""

from __future__ import annotations

import dataclasses
from typing import Any

from tootsie.curate import markdownify
from tootsie.curate.markdownify.decoding import decode
from tootsie.curate.page_conversion import Converted, Request
from tootsie.curate.web.main_content import Preset, main_content, plain_text
from tootsie.curate.web.page_statements import page_statements

NO_CONTENT = "no_main_content"
"""Counter: the page has none."""
EXTRACT = "main_content_of_extractor"
"""Counter: the extract was not found in the page and stands for it, as where the text is in a script."""
IN_PAGE = "main_content_in_page"
"""Counter: the extract was found in the page."""
PLAIN = "main_content_as_plain_text"
"""Counter: the extract is written as it is."""
OPTIONS: dict[str, Any] = {"profile": "web", "links": "text", "images": "drop", "nbsp": " ", "exact": False}
"""Of the converter."""


def convert_request(request: Request) -> Converted:
    """Convert the pages of a document; see :func:`tootsie.curate.page_conversion.convert_request`.

    Args:
      request: its options are ``preset``, ``charset`` (that of the HTTP header, or none) and ``plain`` (whether trafilatura's
        text is wanted as it is).
    """
    preset, charset, plain = (request.options[name] for name in ("preset", "charset", "plain"))
    return Converted([_convert(page, Preset(preset), charset, plain) for page in request.pages], [])


def _convert(
    page: str | bytes, preset: Preset, charset: str | None, plain: bool = False
) -> markdownify.Conversion:
    decoded = decode(page, charset)
    statements = page_statements(decoded.text)
    if plain:
        text = plain_text(decoded.text, preset)
        title, counter = statements.get("title"), PLAIN if text else NO_CONTENT
        return markdownify.Conversion(
            text, title, {counter: 1}, metadata=statements, encoding=decoded.encoding
        )
    content = main_content(decoded.text, preset)
    if content is None:
        return markdownify.Conversion("", statements.get("title"), {NO_CONTENT: 1}, metadata=statements)
    conversion = markdownify.convert(content.html, **OPTIONS)
    counters = {
        **conversion.counters,
        (IN_PAGE if content.in_page else EXTRACT): 1,
        **({"bytes_replaced": decoded.invalid} if decoded.invalid else {}),
    }
    return dataclasses.replace(
        conversion,
        counters=dict(sorted(counters.items())),
        metadata=statements,
        encoding=decoded.encoding,
    )
