"""Wikitext inside a paragraph, list item or cell, expanded to Parsoid's HTML.

Covers what the sample's sources use: emphasis, links, files, references, formulas, code, entities,
comments, simple tags and templates.
"""

from __future__ import annotations

import hashlib
import html
import re

from wikibuild import code, texmath
from wikibuild.page import Page, Reference, data_mw

SPECIAL = re.compile(
    r"'{2,5}|\[\[|\{\{|\[(?=https?://)|<!--|</?([a-zA-Z0-9]+)((?:\s[^<>]*?)?)(/?)>|&(#?\w+);"
)
LITERAL = re.compile(r"<(math|nowiki|syntaxhighlight)\b[^<>]*?(?<!/)>.*?</\1>", re.S)
ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
PLAIN_TAGS = {"sub", "sup", "small", "s", "u", "kbd", "var", "abbr", "span", "ruby", "rb", "rt", "rp", "bdi", "big",
              "del", "ins", "cite", "div", "center", "br"}  # fmt: skip


def closing(text: str, start: int, opener: str, closer: str) -> int:
    """Index behind the closer that matches the opener at ``start``; formulas in between are skipped."""
    depth, position = 0, start
    while position < len(text):
        literal = LITERAL.match(text, position)
        if literal:
            position = literal.end()
        elif text.startswith(opener, position):
            depth, position = depth + 1, position + len(opener)
        elif text.startswith(closer, position):
            depth, position = depth - 1, position + len(closer)
            if depth == 0:
                return position
        else:
            position += 1
    raise ValueError(f"no {closer} for {text[start : start + 60]!r}")


def split_arguments(text: str) -> list[str]:
    """Split at the ``|`` that stand outside links, templates and formulas."""
    parts, current, position = [], 0, 0
    while position < len(text):
        literal = LITERAL.match(text, position)
        if literal:
            position = literal.end()
        elif text.startswith("{{", position):
            position = closing(text, position, "{{", "}}")
        elif text.startswith("[[", position):
            position = closing(text, position, "[[", "]]")
        elif text[position] == "|":
            parts.append(text[current:position])
            position += 1
            current = position
        else:
            position += 1
    parts.append(text[current:])
    return parts


def attributes(text: str) -> dict[str, str]:
    """The attributes of a tag or of a table cell."""
    return {m[1]: m[2] or m[3] or m[4] or "" for m in ATTRIBUTE.finditer(text)}


def expand(page: Page, text: str, *, with_ids: bool = True) -> str:
    """Expand inline wikitext. ``with_ids`` is false inside transclusions, where Parsoid sets no ids."""
    out: list[str] = []
    open_marks: list[str] = []
    position = 0

    def identity() -> str:
        return f' id="{page.element_id()}"' if with_ids else ""

    def toggle(mark: str) -> None:
        if open_marks and open_marks[-1] == mark:
            out.append(f"</{open_marks.pop()}>")
        elif mark in open_marks:
            raise ValueError(f"crossed emphasis in {text[:80]!r} of {page.title!r}")
        else:
            open_marks.append(mark)
            out.append(f"<{mark}{identity()}>")

    while match := SPECIAL.search(text, position):
        out.append(html.escape(text[position : match.start()], quote=False))
        start, token, position = match.start(), match[0], match.end()
        if token.startswith("''"):
            if len(token) == 4:
                raise ValueError(f"four quotes in {page.title!r}: {text[start : start + 40]!r}")
            marks = {2: ["i"], 3: ["b"], 5: ["b", "i"]}[len(token)]
            if len(marks) == 2 and open_marks[-1:] == ["i"]:
                marks.reverse()
            for mark in marks:
                toggle(mark)
        elif token == "[[":
            position = closing(text, start, "[[", "]]")
            trail = re.match(r"[a-z]*", text[position:])
            tail = trail[0] if trail else ""
            body = text[start + 2 : position - 2]
            if not body.startswith(("File:", page.site.category + ":", "Category:")):
                position += len(tail)
            else:
                tail = ""
            out.append(_link(page, body, tail, with_ids))
        elif token == "{{":
            from wikibuild import templates  # the two modules expand each other's content

            position = closing(text, start, "{{", "}}")
            out.append(templates.expand(page, text[start:position]))
        elif token == "[":
            end = text.index("]", start)
            address, _, label = text[start + 1 : end].partition(" ")
            position = end + 1
            shown = expand(page, label, with_ids=with_ids) if label else "[1]"
            out.append(
                f'<a rel="mw:ExtLink nofollow" href="{html.escape(address)}" class="external text"{identity()}>{shown}</a>'
            )
        elif token == "<!--":
            position = text.index("-->", start) + 3
            out.append(text[start:position])
        elif match[4]:
            out.append(
                f'<span typeof="mw:Entity"{identity()}>{html.escape(html.unescape(token), quote=False)}</span>'
            )
        else:
            position = _tag(page, text, match, out, with_ids)
    out.append(html.escape(text[position:], quote=False))
    if open_marks:
        raise ValueError(f"emphasis left open in {page.title!r}: {text[:80]!r}")
    return "".join(out)


def _tag(page: Page, text: str, match: re.Match[str], out: list[str], with_ids: bool) -> int:
    """Expand one tag; returns where the text goes on."""
    name, given, single = match[1], attributes(match[2]), match[3]
    opened = not match[0].startswith("</")
    if name in ("math", "ref", "nowiki", "code", "syntaxhighlight") and opened and not single:
        end = text.index(f"</{name}>", match.end())
        body, after = text[match.end() : end], end + len(name) + 3
        if name == "math":
            out.append(texmath.formula(page, body, display=given.get("display") == "block"))
        elif name == "ref":
            out.append(reference(page, given, body))
        elif name == "nowiki":
            out.append(f'<span typeof="mw:Nowiki">{html.escape(body, quote=False)}</span>')
        elif name == "syntaxhighlight":
            out.append(code.inline(page, given.get("lang", "text"), body))
        else:
            out.append(f'<code id="{page.element_id()}">{expand(page, body, with_ids=with_ids)}</code>')
        return after
    if name == "ref":
        out.append(reference(page, given, ""))
    elif name in PLAIN_TAGS:
        if opened:
            shown = "".join(f' {key}="{html.escape(value)}"' for key, value in given.items())
            identity = f' id="{page.element_id()}"' if with_ids else ""
            out.append(f"<{name}{shown}{identity}{'/' if name == 'br' else ''}>")
        elif name != "br":
            out.append(f"</{name}>")
    else:
        raise ValueError(f"tag <{name}> is not known ({page.title!r})")
    return match.end()


def _link(page: Page, body: str, tail: str, with_ids: bool) -> str:
    """A wiki link, a category or an image, by its target."""
    parts = split_arguments(body)
    target = parts[0].strip()
    if target.startswith("File:"):
        return image(page, body)
    if target.startswith((page.site.category + ":", "Category:")):
        return page.category_link(target.split(":", 1)[1])
    label = parts[1] if len(parts) > 1 else target
    target = target.removeprefix(":")
    label = label.removeprefix(":")
    css = "mw-disambig" if target.endswith("(disambiguation)") else ""
    return page.link(target, expand(page, label, with_ids=with_ids) + tail, with_id=with_ids, css=css)


def image(page: Page, body: str) -> str:
    """A file: a ``figure`` for a thumbnail, a ``span`` in running text."""
    parts = split_arguments(body)
    name = parts[0].split(":", 1)[1].strip().replace(" ", "_")
    options = [part.strip() for part in parts[1:]]
    alt = next((option[4:] for option in options if option.startswith("alt=")), "")
    sizes = [int(option[:-2]) for option in options if re.fullmatch(r"\d+px", option)]
    sides = [option for option in options if option in ("left", "right", "center", "none")]
    used = {"thumb", "frameless", "upright", "left", "right", "center", "none"}
    captions = [
        o for o in options if o not in used and not o.startswith("alt=") and not re.fullmatch(r"\d+px", o)
    ]
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    width = sizes[0] if sizes else 220
    height = width * (60 + int(digest[:2], 16) % 60) // 100
    folder = f"//upload.{page.site.host}/{digest[0]}/{digest[:2]}/{name}"
    page.images.append(name)
    picture = (
        f'<a href="./File:{html.escape(name)}" class="mw-file-description" id="{page.element_id()}">'
        f'<img{" alt=" + chr(34) + html.escape(alt) + chr(34) if alt else ""} resource="./File:{html.escape(name)}" '
        f'src="{folder}/{width}px-{html.escape(name)}" decoding="async" data-file-width="{width * 4}" '
        f'data-file-height="{height * 4}" data-file-type="drawing" height="{height}" width="{width}" '
        f'srcset="{folder}/{width * 3 // 2}px-{html.escape(name)} 1.5x, {folder}/{width * 2}px-{html.escape(name)} 2x" '
        f'class="mw-file-element" id="{page.element_id()}"/></a>'
    )
    if "thumb" not in options:
        return f'<span typeof="mw:File" id="{page.element_id()}">{picture}</span>'
    caption = expand(page, captions[-1]) if captions else ""
    css = f' class="mw-default-size mw-halign-{sides[0]}"' if sides else ' class="mw-default-size"'
    return (
        f'<figure{css} typeof="mw:File/Thumb" id="{page.element_id()}">{picture}'
        f'<figcaption id="{page.element_id()}">{caption}</figcaption></figure>'
    )


def reference(page: Page, given: dict[str, str], body: str) -> str:
    """A footnote mark; the note itself waits for the reference list."""
    group, name = given.get("group", ""), given.get("name", "")
    notes = page.references.setdefault(group, [])
    found = next((note for note in notes if name and note.key == name), None)
    about = page.about()
    if found is None:
        if not body:
            raise ValueError(f"reference {name!r} of {page.title!r} is used before it is given")
        # Notes may hold notes of their own, so the place is taken before the body is expanded.
        found = Reference(name, len(notes) + 1, "", 0)
        notes.append(found)
        found.html = expand(page, body, with_ids=False)
    found.uses += 1
    anchor = note_anchor(found, group)
    shown = {k: v for k, v in given.items() if k in ("name", "group")}
    mw: dict[str, object] = {"name": "ref", "attrs": shown}
    if body:
        mw["body"] = {"id": f"mw-reference-text-cite_note-{anchor}"}
    label = f"{group} {found.number}" if group else str(found.number)
    title = html.escape(page.title.replace(" ", "_"))
    counter = f" data-mw-group={chr(34)}{group}{chr(34)}" if group else ""
    back = f"{found.key}_{found.number}-{found.uses - 1}" if found.key else anchor
    return (
        f'<sup about="{about}" class="mw-ref reference" id="cite_ref-{back}" rel="dc:references" '
        f"typeof=\"mw:Extension/ref\" data-mw='{data_mw(mw)}'>"
        f'<a href="./{title}#cite_note-{anchor}"{counter} style="counter-reset: mw-Ref {found.number};" '
        f'id="{page.element_id()}"><span class="mw-reflink-text" id="{page.element_id()}">[{label}]</span></a></sup>'
    )


def note_anchor(note: Reference, group: str) -> str:
    """The part of a note's id that follows ``cite_note-``."""
    prefix = f"{group}-" if group else ""
    return f"{note.key}-{note.number}" if note.key else f"{prefix}{note.number}"
