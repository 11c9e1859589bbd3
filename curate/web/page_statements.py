"""What a page says of itself in its markup: title, language, licence, and what robots may do with it.

Sources: the robots meta tag, https://html.spec.whatwg.org/multipage/links.html#link-type-nofollow and
https://www.rfc-editor.org/rfc/rfc9309 (its directives are those of search engines' documentation); rel=license,
https://html.spec.whatwg.org/multipage/links.html#link-type-license.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser

MAX_VALUE = 500
"""Characters of one statement that are kept."""
_AGENT = re.compile(r"[a-z0-9_-]+(?:bot|crawler|spider)?", re.IGNORECASE)
_VALUED = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")


def page_statements(page: str) -> dict[str, str]:
    """Return ``title``, ``language``, ``license_url``, ``canonical``, ``robots`` and ``nofollow_links``, those there are.

    Args:
      page: HTML.
    """
    tree = LexborHTMLParser(page)
    found: dict[str, str] = {}
    title = tree.css_first("title")
    if title is not None:
        found["title"] = " ".join(title.text().split())
    root = tree.root
    if root is not None and root.attributes.get("lang"):
        found["language"] = str(root.attributes["lang"]).strip()
    licence = tree.css_first('a[rel~="license"][href], link[rel~="license"][href]')
    if licence is not None:
        found["license_url"] = (licence.attributes.get("href") or "").strip()
    canonical = tree.css_first('link[rel~="canonical"][href]')
    if canonical is not None:
        found["canonical"] = (canonical.attributes.get("href") or "").strip()
    contents = [
        one.attributes.get("content") or ""
        for one in tree.css("meta[name]")
        if (one.attributes.get("name") or "").strip().lower() == "robots"
    ]
    directives = robots_directives(contents)
    if directives:
        found["robots"] = ",".join(directives)
    unfollowed = len(tree.css('a[rel~="nofollow"]'))
    if unfollowed:
        found["nofollow_links"] = str(unfollowed)
    return {name: value[:MAX_VALUE] for name, value in found.items() if value}


def robots_directives(statements: list[str]) -> list[str]:
    """Return the directives for all robots in meta tags or ``X-Robots-Tag`` headers, in lower case, sorted, each once.

    ``none`` is ``noindex`` and ``nofollow``. What is said to one robot by name is left out.
    """
    found: set[str] = set()
    for statement in statements:
        for part in statement[:MAX_VALUE].lower().split(","):
            directive = part.strip()
            name, colon, _ = directive.partition(":")
            if colon and name.strip() not in _VALUED and _AGENT.fullmatch(name.strip()):
                break  # "somebot: noindex, nofollow": all that follows is for it
            if directive == "none":
                found |= {"noindex", "nofollow"}
            elif directive:
                found.add(directive)
    return sorted(found)
