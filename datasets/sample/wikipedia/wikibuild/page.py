"""The state of one page while its wikitext is expanded: counters, references, links, categories.

Parsoid numbers its elements (``id="mwAg"``) and its transclusions (``about="#mwt3"``) in the order it
meets them; `Page` hands those numbers out, so that the same source always gives the same bytes.
"""

from __future__ import annotations

import base64
import html
import json
import urllib.parse
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Site:
    """What differs between the wikis that the sample imitates."""

    identifier: str
    """Name of the wiki as the dump gives it, e.g. ``samplewiki``."""
    language: str
    """BCP 47 code of the content language."""
    host: str
    """Host name of the invented site; a reserved ``.example`` name."""
    category: str
    """Word for the category namespace in this language."""
    template: str
    """Word for the template namespace in this language."""
    wrapped_headings: bool
    """True for the newer markup, ``<div class="mw-heading"><h2>``."""

    def url(self, title: str) -> str:
        """Address of a page of this wiki."""
        return f"https://{self.host}/wiki/{title.replace(' ', '_')}"


@dataclass
class Reference:
    """One entry of a reference list."""

    key: str
    """Name of the reference, or its number for an unnamed one."""
    number: int
    """Position in its group, from 1."""
    html: str
    """Expanded text of the note."""
    uses: int
    """How often the text points here."""


@dataclass
class Page:
    """One page being expanded."""

    title: str
    site: Site
    ids: int = 0
    abouts: int = 0
    sections: int = 0
    references: dict[str, list[Reference]] = field(default_factory=dict)
    """Open reference lists by group; the default group is ``""``."""
    categories: list[str] = field(default_factory=list)
    templates: list[str] = field(default_factory=list)
    styles: set[str] = field(default_factory=set)
    """Style sheets already given on this page: the later ones are only links."""
    images: list[str] = field(default_factory=list)

    def element_id(self) -> str:
        """The next ``id="mw…"``: Parsoid writes the counter in URL-safe base 64."""
        number, self.ids = self.ids, self.ids + 1
        data = number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")
        return "mw" + base64.urlsafe_b64encode(data).decode().rstrip("=")

    def about(self) -> str:
        """The next ``about="#mwt…"``."""
        self.abouts += 1
        return f"#mwt{self.abouts}"

    def link(self, target: str, label_html: str, *, with_id: bool = True, css: str = "") -> str:
        """A wiki link as Parsoid writes it."""
        name = target.split("#")[0] or self.title
        href = "./" + urllib.parse.quote(
            (name + target[len(target.split("#")[0]) :]).replace(" ", "_"), safe="/:,()'!*~@#;-_."
        )
        element = f' id="{self.element_id()}"' if with_id else ""
        style = f' class="{css}"' if css else ""
        title = html.escape(name)
        return f'<a rel="mw:WikiLink" href="{html.escape(href)}" title="{title}"{style}{element}>{label_html}</a>'

    def category_link(self, name: str, about: str | None = None) -> str:
        """The ``<link>`` that stands for a category, which is also noted for the record."""
        if name not in self.categories:
            self.categories.append(name)
        place = f' about="{about}"' if about else f' id="{self.element_id()}"'
        target = html.escape(name.replace(" ", "_"))
        return f'<link rel="mw:PageProp/Category" href="./{self.site.category}:{target}"{place}/>'

    def style_sheet(self, name: str, css: str, attributes: str) -> str:
        """A template's style sheet: in full where it is first used, a link to it afterwards."""
        revision = f"TemplateStyles:r{1000000000 + sum(map(ord, name)) * 9973}"
        if name in self.styles:
            return f'<link rel="mw-deduplicated-inline-style" href="mw-data:{revision}"{attributes}/>'
        self.styles.add(name)
        return f'<style data-mw-deduplicate="{revision}"{attributes}>{css}</style>'


def data_mw(value: object) -> str:
    """A value for a single-quoted ``data-mw`` attribute."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "&amp;").replace("'", "&apos;").replace("<", "&lt;")
