"""One page of the sample as a record of the Enterprise dumps: the HTML document and the fields around it."""

from __future__ import annotations

import hashlib
import html
import re
import uuid
import zlib
from dataclasses import dataclass
from typing import Any

from wikibuild import blocks
from wikibuild.page import Page, Site

SPACE = uuid.UUID("6f0c3a52-0f4e-5c1f-9b0a-2f1d7c9be0aa")
LICENSE = {
    "name": "Creative Commons Zero v1.0 Universal",
    "identifier": "CC0-1.0",
    "url": "https://creativecommons.org/publicdomain/zero/1.0/",
}


@dataclass(frozen=True)
class Source:
    """One page in its source form: a few header lines, an empty line, then wikitext."""

    title: str
    wikitext: str
    redirects: tuple[str, ...] = ()
    namespace: int = 0
    revision: str = ""
    """Empty for the current revision; a word for an older one, which stands ``before`` or ``after`` it in the dump."""
    bare: bool = False
    """True for a record that has the required fields only, as many old pages do."""

    @classmethod
    def parse(cls, text: str, name: str) -> Source:
        """Read a ``.wiki`` file."""
        head, _, body = text.partition("\n\n")
        given = dict(line.split(": ", 1) for line in head.split("\n"))
        unknown = set(given) - {"title", "redirects", "namespace", "revision", "bare"}
        if unknown or "title" not in given:
            raise ValueError(
                f"{name}: header lines {sorted(given)}; expected title and, if needed, redirects, namespace, revision, bare"
            )
        redirects = tuple(item.strip() for item in given.get("redirects", "").split(";") if item.strip())
        return cls(
            given["title"],
            body.strip(),
            redirects,
            int(given.get("namespace", 0)),
            given.get("revision", ""),
            "bare" in given,
        )


def _number(text: str, low: int, high: int) -> int:
    return low + zlib.crc32(text.encode()) % (high - low)


def _plain(markup: str) -> str:
    markup = re.sub(r"<(style|sup|math)\b.*?</\1>", "", markup, flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", markup))).strip()


def _document(site: Site, source: Source, page: Page, body: str, facts: dict[str, Any]) -> str:
    title = html.escape(source.title)
    revision = facts["revision"]
    head = (
        f'<meta charset="utf-8"/><meta property="mw:pageId" content="{facts["page"]}"/>'
        f'<meta property="mw:pageNamespace" content="{source.namespace}"/>'
        f'<link rel="dc:replaces" resource="mwr:revision/{facts["previous"]}"/>'
        f'<meta property="mw:revisionSHA1" content="{hashlib.sha1(source.wikitext.encode(), usedforsecurity=False).hexdigest()}"/>'
        f'<meta property="dc:modified" content="{facts["modified"][:-1]}.000Z"/>'
        f'<meta property="mw:htmlVersion" content="2.8.0"/><meta property="mw:html:version" content="2.8.0"/>'
        f'<link rel="dc:isVersionOf" href="//{site.host}/wiki/{title.replace(" ", "_")}"/>'
        f'<base href="//{site.host}/wiki/"/><title>{title}</title>'
        f'<meta property="mw:moduleStyles" content="ext.math.styles|ext.cite.parsoid.styles|ext.pygments"/>'
        f'<link rel="stylesheet" href="/w/load.php?lang={site.language}&amp;modules=mediawiki.skinning.content.parsoid&amp;only=styles&amp;skin=vector"/>'
        f'<meta http-equiv="content-language" content="{site.language}"/><meta http-equiv="vary" content="Accept"/>'
    )
    return (
        f'<!DOCTYPE html>\n<html prefix="dc: http://purl.org/dc/terms/ mw: http://mediawiki.org/rdf/" '
        f'about="https://{site.host}/wiki/Special:Redirect/revision/{revision}">'
        f'<head prefix="mwr: https://{site.host}/wiki/Special:Redirect/">{head}</head>'
        f'<body id="mwAA" lang="{site.language}" class="mw-content-ltr sitedir-ltr ltr mw-body-content parsoid-body mediawiki mw-parser-output" '
        f'dir="ltr">{body}</body></html>'
    )


def _body(page: Page, source: Source) -> str:
    redirect = re.match(r"#REDIRECT \[\[(.*?)\]\]", source.wikitext)
    if redirect:
        target = html.escape(redirect[1].replace(" ", "_"))
        section, link = page.element_id(), page.element_id()
        rest = blocks.expand(page, source.wikitext[redirect.end() :].strip())
        return (
            f'<section data-mw-section-id="0" id="{section}"><link rel="mw:PageProp/redirect" href="./{target}" '
            f'id="{link}"/>{rest}</section>'
        )
    return blocks.sections(page, source.wikitext)


def record(site: Site, source: Source) -> dict[str, Any]:
    """The record of one page.

    Raises ``ValueError`` for markup that the sample's expander does not know.
    """
    page = Page(source.title, site, ids=1)
    body = _body(page, source)
    if page.references:
        raise ValueError(f"{source.title!r} has notes but no list for the groups {sorted(page.references)}")
    number = _number(source.title, 100_000, 9_000_000)
    age = 1 if source.revision else 0
    revision = _number(source.title + "#", 1_190_000_000, 1_220_000_000) - age * 31_415_927
    stamp = _number(source.title + "@", 0, 28 * 86_400)
    month = "2023-11" if age else "2024-04"
    modified = (
        f"{month}-{stamp // 86_400 + 1:02d}T{stamp // 3600 % 24:02d}:{stamp // 60 % 60:02d}:{stamp % 60:02d}Z"
    )
    facts = {"page": number, "revision": revision, "previous": revision - 48_611, "modified": modified}
    document = _document(site, source, page, body, facts)
    entity = f"Q{number + 900_000_000}"
    paragraphs = (_plain(found) for found in re.findall(r"<p [^>]*>(.*?)</p>", body, re.S))
    size = len(source.wikitext.encode())
    out: dict[str, Any] = {
        "name": source.title,
        "identifier": number,
        "abstract": next((p for p in paragraphs if p), "")[:500],
        "date_created": f"20{_number(source.title, 4, 20):02d}-06-{stamp % 28 + 1:02d}T09:30:00Z",
        "date_modified": modified,
        "date_previously_modified": f"2023-08-{stamp // 86_400 + 1:02d}T07:15:00Z",
        "version": {
            "identifier": revision,
            "comment": "older wording" if age else "/* History */ wording",
            "is_minor_edit": stamp % 3 == 0,
            "editor": {
                "identifier": 1000 + stamp % 17,
                "name": f"Editor {stamp % 17}",
                "edit_count": 50 + stamp % 999,
            },
            "number_of_characters": len(source.wikitext),
            "size": {"value": size, "unit_text": "B"},
        },
        "previous_version": {
            "identifier": revision - 48_611,
            "number_of_characters": max(0, len(source.wikitext) - stamp % 90),
        },
        "url": site.url(source.title),
        "namespace": {"identifier": source.namespace},
        "in_language": {"identifier": site.language},
        "main_entity": {"identifier": entity, "url": f"https://data.samplewiki.example/entity/{entity}"},
        "additional_entities": [
            {
                "identifier": entity,
                "url": f"https://data.samplewiki.example/entity/{entity}",
                "aspects": ["S", "T"],
            }
        ],
        "categories": [
            {"name": f"{site.category}:{c}", "url": site.url(f"{site.category}:{c}")} for c in page.categories
        ],
        "templates": [
            {"name": f"{site.template}:{t}", "url": site.url(f"{site.template}:{t}")} for t in page.templates
        ],
        "redirects": [{"name": r, "url": site.url(r)} for r in source.redirects],
        "is_part_of": {"identifier": site.identifier, "url": f"https://{site.host}"},
        "article_body": {"html": document, "wikitext": source.wikitext},
        "license": [LICENSE],
        "event": {
            "identifier": str(uuid.uuid5(SPACE, f"{source.title}{revision}")),
            "type": "update",
            "date_created": "2024-05-01T02:10:00.000000Z",
        },
    }
    if page.images:
        out["image"] = {
            "content_url": f"https://upload.{site.host}/{page.images[0]}",
            "width": 880,
            "height": 660,
        }
    if source.bare:
        for name in (
            "abstract",
            "date_created",
            "date_previously_modified",
            "previous_version",
            "main_entity",
            "additional_entities",
            "redirects",
            "event",
        ):
            del out[name]
    return {key: value for key, value in out.items() if value != []}
