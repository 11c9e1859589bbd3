"""The templates of the sample's wikis and the HTML that Parsoid gives for them.

Every expansion carries ``typeof="mw:Transclusion"``, its ``about`` number and the call itself in
``data-mw``, as in the real pages; further top-level elements of the same call carry ``about`` only.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass

from wikibuild import inline
from wikibuild.page import Page, data_mw


@dataclass(frozen=True)
class Call:
    """One use of a template."""

    name: str
    positional: list[str]
    named: dict[str, str]
    about: str
    namespace: str = "Template"
    """Word for the template namespace."""

    @property
    def title(self) -> str:
        """Name of the template's page: the first letter is always a capital."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def mark(self) -> str:
        """Attributes of the first element of the expansion."""
        parameters = {str(i): {"wt": v} for i, v in enumerate(self.positional, 1)}
        parameters |= {key: {"wt": value} for key, value in self.named.items()}
        target = {"wt": self.name, "href": f"./{self.namespace}:{self.title.replace(' ', '_')}"}
        mw = data_mw({"parts": [{"template": {"target": target, "params": parameters, "i": 0}}]})
        return f' about="{self.about}" typeof="mw:Transclusion" data-mw=\'{mw}\''

    @property
    def more(self) -> str:
        """Attributes of the further elements."""
        return f' about="{self.about}"'

    def get(self, index: int, default: str = "") -> str:
        """A positional argument, counted from 1 as in wikitext."""
        return self.positional[index - 1] if len(self.positional) >= index else default


Template = Callable[[Page, Call], str]


def parse(page: Page, text: str) -> Call:
    """Read ``{{name|argument|key=value}}``."""
    parts = inline.split_arguments(text[2:-2])
    name = parts[0].strip()
    positional, named = [], {}
    for part in parts[1:]:
        match = re.match(r"\s*([\w -]+?)\s*=(.*)", part, re.S)
        if match and match[1].isdigit():
            # ``1=…`` is how wikitext gives a positional argument that holds an equals sign.
            positional.append(match[2].strip())
        elif match:
            named[match[1]] = match[2].strip()
        else:
            positional.append(part.strip() if "\n" in part else part)
    return Call(name, positional, named, page.about(), page.site.template)


def expand(page: Page, text: str) -> str:
    """Expand one template call."""
    call = parse(page, text)
    if call.title not in page.templates:
        page.templates.append(call.title)
    function = _find(call.name)
    if function is None:
        raise ValueError(f"template {call.name!r} is not known ({page.title!r})")
    return function(page, call)


def _find(name: str) -> Template | None:
    from wikibuild import boxes, inline_templates

    lowered = name.lower()
    if lowered.startswith("infobox"):
        return boxes.infobox
    if lowered.startswith("navbox"):
        return boxes.navbox
    return boxes.BLOCK.get(lowered) or inline_templates.INLINE.get(lowered)


def is_block(line: str) -> bool:
    """True when a line begins with a template that stands for a block."""
    from wikibuild import boxes

    name = re.split(r"[|}]", line[2:])[0].strip().lower()
    return name in boxes.BLOCK or name.startswith(("infobox", "navbox"))


def text(page: Page, value: str) -> str:
    """Inline content of a template argument; elements inside a transclusion get no ids."""
    return inline.expand(page, value, with_ids=False)


def reference_list(page: Page, group: str, mark: str = "") -> str:
    """The list of the notes given so far in a group; it empties the group."""
    notes = page.references.pop(group, [])
    mw = data_mw({"name": "references", "attrs": {"group": group, "responsive": "1"}, "body": {"html": ""}})
    about = mark or f' about="{page.about()}"'
    title = html.escape(page.title.replace(" ", "_"))
    out = [
        f'<div class="mw-references-wrap" typeof="mw:Extension/references"{about} data-mw=\'{mw}\' '
        f'id="{page.element_id()}"><ol class="mw-references references" id="{page.element_id()}">'
    ]
    for note in notes:
        anchor = inline.note_anchor(note, group)
        backs = [f"{note.key}_{note.number}-{i}" for i in range(note.uses)] if note.key else [anchor]
        marks = [str(i) for i in range(1, note.uses + 1)] if note.uses > 1 else ["↑"]
        links = "".join(
            f'<a href="./{title}#cite_ref-{back}" id="{page.element_id()}"><span class="mw-linkback-text" '
            f'id="{page.element_id()}">{shown} </span></a>'
            for back, shown in zip(backs, marks, strict=True)
        )
        if note.uses > 1:
            links = f'<span rel="mw:referencedBy" id="{page.element_id()}">{links}</span>'
        else:
            links = links.replace("<a ", '<a rel="mw:referencedBy" ', 1)
        out.append(
            f'<li about="#cite_note-{anchor}" id="cite_note-{anchor}">{links} '
            f'<span id="mw-reference-text-cite_note-{anchor}" class="mw-reference-text">{note.html}</span></li>\n'
        )
    return "".join(out) + "</ol></div>"
