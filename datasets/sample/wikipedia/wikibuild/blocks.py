"""Wikitext of a whole page, expanded block by block: sections, paragraphs, lists, tables, galleries."""

from __future__ import annotations

import html
import re

from wikibuild import code, inline, templates, texmath
from wikibuild.page import Page, data_mw

HEADING = re.compile(r"^(={2,5})\s*(.*?)\s*\1\s*$")
LIST_TAGS = {"*": ("ul", "li"), "#": ("ol", "li"), ":": ("dl", "dd"), ";": ("dl", "dt")}
BLOCK_TAG = re.compile(r"<(gallery|syntaxhighlight|blockquote|math|references|poem|pre)\b([^<>]*?)(/?)>")


def sections(page: Page, text: str) -> str:
    """The body of a page: nested ``section`` elements, as Parsoid sets them."""
    out: list[str] = []
    open_levels: list[int] = []
    for level, title, content in _split_sections(text):
        while open_levels and open_levels[-1] >= level:
            out.append("</section>")
            open_levels.pop()
        out.append(f'<section data-mw-section-id="{page.sections}" id="{page.element_id()}">')
        page.sections += 1
        open_levels.append(level)
        if title:
            out.append(_heading(page, level, title))
        out.append(expand(page, content))
        if level == 0:
            out.append("</section>")
            open_levels.pop()
    out.extend("</section>" for _ in open_levels)
    return "".join(out)


def _split_sections(text: str) -> list[tuple[int, str, str]]:
    found: list[tuple[int, str, list[str]]] = [(0, "", [])]
    verbatim = False
    for line in text.split("\n"):
        verbatim = (verbatim or "<syntaxhighlight" in line) and "</syntaxhighlight>" not in line
        match = None if verbatim else HEADING.match(line)
        if match:
            found.append((len(match[1]), match[2], []))
        else:
            found[-1][2].append(line)
    return [(level, title, "\n".join(lines)) for level, title, lines in found]


def _heading(page: Page, level: int, title: str) -> str:
    shown = inline.expand(page, title)
    anchor = html.escape(re.sub(r"<[^>]*>", "", html.unescape(shown)).replace(" ", "_"))
    heading = f'<h{level} id="{anchor}">{shown}</h{level}>'
    if page.site.wrapped_headings:
        return f'<div class="mw-heading mw-heading{level}" id="{page.element_id()}">{heading}</div>\n'
    return heading + "\n"


def expand(page: Page, text: str) -> str:
    """Expand the blocks of one section or one cell."""
    out: list[str] = []
    paragraph: list[str] = []
    position = 0

    def flush() -> None:
        if paragraph:
            out.append(f'<p id="{page.element_id()}">{inline.expand(page, chr(10).join(paragraph))}</p>\n')
            paragraph.clear()

    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line = text[position:end]
        block = _block_at(page, text, position, line)
        if block is not None:
            flush()
            # A block is expanded only now, after the paragraph before it: numbers follow the text.
            content, position = block()
            out.append(content + "\n")
            if text[position : position + 1] == "\n":
                position += 1
            continue
        if line.strip():
            # Templates and references may run over several lines of a paragraph.
            while line.count("{{") > line.count("}}") and end < len(text):
                following = text.find("\n", end + 1)
                following = len(text) if following < 0 else following
                line += text[end:following]
                end = following
            paragraph.append(line)
        else:
            flush()
        position = end + 1
    flush()
    return "".join(out)


def _block_at(page: Page, text: str, start: int, line: str):  # type: ignore[no-untyped-def]  # a thunk or None
    """What begins at a line: a function that expands it and says where it ends; None for a paragraph."""
    if line.startswith("{|"):
        end = inline.closing(text, start, "{|", "\n|}")
        return lambda: (_table(page, text[start:end]), end)
    if line.startswith("{{") and templates.is_block(line):
        end = inline.closing(text, start, "{{", "}}")
        return lambda: (templates.expand(page, text[start:end]), end)
    if line.startswith("[[File:"):
        end = inline.closing(text, start, "[[", "]]")
        return lambda: (inline.image(page, text[start + 2 : end - 2]), end)
    if line.startswith("----"):
        return lambda: (f'<hr id="{page.element_id()}"/>', start + len(line))
    if line.startswith("[[" + page.site.category + ":"):
        return lambda: (inline.expand(page, line), start + len(line))
    if line == "__NOTOC__":
        return lambda: (f'<meta property="mw:PageProp/notoc" id="{page.element_id()}"/>', start + len(line))
    if line[:1] in LIST_TAGS:
        end = start
        while end < len(text) and text[end] in LIST_TAGS:
            end = (text.find("\n", end) + 1) or len(text) + 1
        return lambda: (lists(page, text[start : end - 1].split("\n")), end - 1)
    match = BLOCK_TAG.match(line)
    if match and not (match[1] == "math" and "block" not in match[2]):
        close = f"</{match[1]}>"
        end = start + match.end() if match[3] else text.index(close, start) + len(close)
        body = "" if match[3] else text[start + match.end() : end - len(close)]
        return lambda: (_block_tag(page, match[1], inline.attributes(match[2]), body), end)
    return None


def _block_tag(page: Page, name: str, given: dict[str, str], body: str) -> str:
    if name == "syntaxhighlight":
        return code.block(page, given.get("lang", "text"), body)
    if name == "math":
        return texmath.formula(page, body, display=True)
    if name == "references":
        return templates.reference_list(page, given.get("group", ""))
    if name == "gallery":
        return _gallery(page, given, body)
    if name == "pre":
        return f'<pre id="{page.element_id()}">{html.escape(body.strip(chr(10)), quote=False)}</pre>'
    if name == "poem":
        lines = "<br/>\n".join(inline.expand(page, line) for line in body.strip().split("\n"))
        mw = data_mw({"name": "poem", "attrs": {}, "body": {"extsrc": body}})
        return f'<div class="poem" typeof="mw:Extension/poem" about="{page.about()}" data-mw=\'{mw}\'><p>{lines}</p></div>'
    return f'<blockquote id="{page.element_id()}">{expand(page, body.strip())}</blockquote>'


def lists(page: Page, lines: list[str]) -> str:
    """List lines with their markers, nested by the length of the marker."""
    out: list[str] = []
    index = 0
    current = ""
    while index < len(lines):
        line = lines[index]
        tag, item = LIST_TAGS[line[0]]
        if tag != current:
            if current:
                out.append(f"</{current}>")
            out.append(f'<{tag} id="{page.element_id()}">')
            current = tag
        content = line[1:]
        index += 1
        deeper: list[str] = []
        if content[:1] in LIST_TAGS and line[0] != ";":
            deeper, content = [content], ""
        while (
            index < len(lines)
            and lines[index][0] == line[0]
            and lines[index][1:2] in LIST_TAGS
            and line[0] != ";"
        ):
            deeper.append(lines[index][1:])
            index += 1
        if line[0] == ";" and ": " in content:
            term, _, content = content.partition(": ")
            out.append(f'<dt id="{page.element_id()}">{inline.expand(page, term.strip())}</dt>')
            item = "dd"
        inner = inline.expand(page, content.strip())
        nested = lists(page, deeper) if deeper else ""
        out.append(f'<{item} id="{page.element_id()}">{inner}{nested}</{item}>\n')
    out.append(f"</{current}>")
    return "".join(out)


def _gallery(page: Page, given: dict[str, str], body: str) -> str:
    mw = data_mw({"name": "gallery", "attrs": given, "body": {"extsrc": body}})
    out = [
        f'<ul class="gallery mw-gallery-traditional" typeof="mw:Extension/gallery" about="{page.about()}" '
        f"data-mw='{mw}' id=\"{page.element_id()}\">"
    ]
    if "caption" in given:
        out.append(
            f'<li class="gallerycaption" id="{page.element_id()}">{inline.expand(page, given["caption"])}</li>'
        )
    for line in body.strip().split("\n"):
        name, _, caption = line.partition("|")
        picture = inline.image(page, f"{name}|120px")
        out.append(
            f'<li class="gallerybox" style="width: 155px;" id="{page.element_id()}"><div class="thumb" '
            f'style="width: 150px; height: 150px;">{picture}</div><div class="gallerytext">'
            f"{inline.expand(page, caption)}</div></li>\n"
        )
    return "".join(out) + "</ul>"


def _table(page: Page, text: str) -> str:
    """A table in wikitext; cells may span rows and columns and hold blocks or tables."""
    lines = text[2:-2].rstrip("\n").split("\n")
    shown = "".join(f' {key}="{html.escape(value)}"' for key, value in inline.attributes(lines[0]).items())
    out = [f'<table{shown} id="{page.element_id()}">']
    caption, rows = _table_rows(lines[1:])
    if caption:
        out.append(f'<caption id="{page.element_id()}">{inline.expand(page, caption)}</caption>')
    out.append(f'<tbody id="{page.element_id()}">')
    for row_attributes, cells in rows:
        given = "".join(f' {k}="{html.escape(v)}"' for k, v in inline.attributes(row_attributes).items())
        out.append(f'<tr{given} id="{page.element_id()}">')
        for tag, raw in cells:
            out.append(_cell(page, tag, raw))
        out.append("</tr>\n")
    out.append("</tbody></table>")
    return "".join(out)


def _table_rows(lines: list[str]) -> tuple[str, list[tuple[str, list[tuple[str, str]]]]]:
    caption = ""
    rows: list[tuple[str, list[tuple[str, str]]]] = []
    depth = 0
    for line in lines:
        inside = depth > 0
        depth += line.startswith("{|")
        depth -= line.startswith("|}")
        if inside or depth > 0:
            tag, raw = rows[-1][1][-1]
            rows[-1][1][-1] = (tag, raw + "\n" + line)
        elif line.startswith("|+"):
            caption = line[2:].strip()
        elif line.startswith("|-"):
            rows.append((line[2:], []))
        elif line[:1] in ("|", "!"):
            if not rows:
                rows.append(("", []))
            tag = "th" if line[0] == "!" else "td"
            parts = re.split(r"\|\||!!" if tag == "th" else r"\|\|", line[1:])
            rows[-1][1].extend((tag, part) for part in parts)
        else:
            tag, raw = rows[-1][1][-1]
            rows[-1][1][-1] = (tag, raw + "\n" + line)
    return caption, [row for row in rows if row[1]]


def _cell(page: Page, tag: str, raw: str) -> str:
    # Only what stands before the first "|" of the cell's first line can be attributes.
    parts = inline.split_arguments(raw.split("\n")[0]) if not raw.lstrip().startswith("{|") else [raw]
    given = ""
    if len(parts) > 1 and inline.attributes(parts[0]) and "[" not in parts[0] and "{" not in parts[0]:
        given = "".join(f' {k}="{html.escape(v)}"' for k, v in inline.attributes(parts[0]).items())
        raw = raw[len(parts[0]) + 1 :]
    identity = page.element_id()
    inner = expand(page, raw.strip(" ")) if "\n" in raw.strip() else inline.expand(page, raw.strip())
    return f'<{tag}{given} id="{identity}">{inner}</{tag}>'
