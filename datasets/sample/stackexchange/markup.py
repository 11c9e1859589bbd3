"""The small Markdown of ``sources/`` and the HTML that StackExchange stores for it.

StackExchange keeps the *rendered* body of a post. Until the summer of 2020 its renderer separated blocks by an empty
line and indented quotations; since then blocks follow one another and code carries ``lang-…`` classes. ``render``
writes either dialect. Mathematics (``$…$``, ``$$…$$``, ``\\begin{…}…\\end{…}``) is left alone but for ``<``, ``>``, ``&``,
as the site leaves it to the browser. ``\\$`` is a dollar sign that is money.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

CODE_CLASSES = {"py": "lang-py", "c": "lang-c", "sql": "lang-sql", "sh": "lang-bash", "js": "lang-js", "md": "lang-md",
                "none": "lang-none"}  # fmt: skip

FENCE = re.compile(r"^(`{3,})([a-z]*)(?: (run))?\s*$")
LIST_ITEM = re.compile(r"^([-*]|\d+\.) +")
RAW_BLOCK = re.compile(r"^</?(p|div|blockquote|ul|ol|table|pre|h[1-6]|hr|img|br|center|sub|dl)\b")
INLINE = re.compile(
    r"(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<money>\\\$)"
    r"|(?P<display>\$\$.+?\$\$)"
    r"|(?P<environment>\\begin\{(?P<name>\w+\*?)\}.+?\\end\{(?P=name)\})"
    r"|(?P<math>\$(?!\s)[^$\n]+?(?<!\s)\$)"
    r"|(?P<image>!\[(?P<alt>[^\]]*)\]\((?P<source>[^)\s]+)\))"
    r"|(?P<link>\[(?P<label>!\[[^\]]*\]\([^)\s]+\)|[^\]]+)\]\((?P<target>[^)\s]+)\))"
    r"|(?P<tag></?(?:a|b|br|code|del|em|i|img|kbd|p|s|strike|strong|sub|sup|u)(?: [a-z]+=\"[^\"]*\")*\s*/?>)"
    r"|(?P<entity>&(?:[a-zA-Z]+|#\d+|#x[0-9a-fA-F]+);)"
    r"|(?P<strong>\*\*(?P<bold>.+?)\*\*)"
    r"|(?P<emphasis>(?<![\w*])\*(?P<italic>[^*\s](?:[^*]*[^*\s])?)\*(?![\w*]))",
    re.DOTALL,
)


def escape(text: str) -> str:
    """Escape as the site does: ``&``, ``<``, ``>``, while quotation marks stay as they are."""
    return html.escape(text, quote=False)


def inline(text: str, resolve: Callable[[str], str]) -> str:
    """Render the inline part of the markup; ``resolve`` turns a link target into an address."""
    pieces, position = [], 0
    for match in INLINE.finditer(text):
        pieces.append(escape(text[position : match.start()]))
        pieces.append(_inline_piece(match, resolve))
        position = match.end()
    pieces.append(escape(text[position:]))
    return "".join(pieces)


def _inline_piece(match: re.Match[str], resolve: Callable[[str], str]) -> str:
    whole = match.group()
    if match["code"]:
        ticks = len(whole) - len(whole.lstrip("`"))
        content = whole[ticks:-ticks]
        if ticks > 1:
            content = content.strip(" ")
        return f"<code>{escape(content)}</code>"
    if match["money"]:
        return "$"
    if match["image"]:
        return f'<img src="{match["source"]}" alt="{html.escape(match["alt"])}" />'
    if match["link"]:
        target = resolve(match["target"])
        follow = "" if "sampleoverflow" in target else ' rel="nofollow noreferrer"'
        return f'<a href="{html.escape(target)}"{follow}>{inline(match["label"], resolve)}</a>'
    if match["tag"] or match["entity"]:
        return whole
    if match["strong"]:
        return f"<strong>{inline(match['bold'], resolve)}</strong>"
    if match["emphasis"]:
        return f"<em>{inline(match['italic'], resolve)}</em>"
    assert match["display"] or match["environment"] or match["math"]
    return escape(whole)


def render(source: str, *, modern: bool, resolve: Callable[[str], str] = str) -> str:
    """Render a post body to the site's HTML, ``modern`` for the dialect in use since 2020; ends with a newline."""
    blocks = _blocks(source.strip("\n").split("\n"), modern, resolve)
    return ("\n" if modern else "\n\n").join(blocks) + "\n" if blocks else ""


def _blocks(lines: list[str], modern: bool, resolve: Callable[[str], str]) -> list[str]:
    out: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        if not line.strip():
            index += 1
            continue
        taken, block = _block(lines[index:], modern, resolve)
        out.append(block)
        index += taken
    return out


def _block(lines: list[str], modern: bool, resolve: Callable[[str], str]) -> tuple[int, str]:
    """Render the block that starts at ``lines[0]``; return the lines it took and its HTML."""
    first = lines[0]
    if match := FENCE.match(first):
        return _fence(lines, match, modern)
    if heading := re.match(r"^(#{1,6}) +(.*)$", first):
        level = len(heading[1])
        return 1, f"<h{level}>{inline(heading[2], resolve)}</h{level}>"
    if first == "---":
        return 1, "<hr />"
    if first.startswith(">"):
        return _quotation(lines, modern, resolve)
    if first.startswith("|"):
        taken = _run(lines, lambda line: line.startswith("|"))
        return taken, _table(lines[:taken], resolve)
    if LIST_ITEM.match(first):
        return _list(lines, modern, resolve)
    if RAW_BLOCK.match(first):
        taken = _run(lines, lambda line: bool(line.strip()))
        return taken, "\n".join(lines[:taken])
    taken = _run(lines, lambda line: bool(line.strip()) and not FENCE.match(line))
    return taken, f"<p>{inline(_paragraph(lines[:taken]), resolve)}</p>"


def _run(lines: list[str], belongs: Callable[[str], bool]) -> int:
    taken = 1
    while taken < len(lines) and belongs(lines[taken]):
        taken += 1
    return taken


def _paragraph(lines: list[str]) -> str:
    """Join wrapped lines by blanks; displayed mathematics keeps its lines, and a final backslash is a line break."""
    text = "\n".join(lines)
    if "$$" in text or "\\begin{" in text:
        return text
    text = re.sub(r"\\\n", "<br />\0", text)
    return text.replace("\n", " ").replace("\0", "\n")


def _fence(lines: list[str], match: re.Match[str], modern: bool) -> tuple[int, str]:
    end = next((i for i in range(1, len(lines)) if lines[i].rstrip() == match[1]), None)
    if end is None:
        raise ValueError(f"sample source: the code fence {lines[0]!r} is never closed")
    code = "\n".join(lines[1:end])
    language = CODE_CLASSES.get(match[2], "")
    if modern and language:
        opening = f'<pre class="{language} prettyprint-override"><code>'
    elif language == "lang-py" and len(code) % 3 == 0:  # some old posts carry the hint, most do not
        opening = '<pre class="lang-py prettyprint-override"><code>'
    else:
        opening = "<pre><code>"
    return end + 1, f"{opening}{escape(code)}\n</code></pre>"


def _quotation(lines: list[str], modern: bool, resolve: Callable[[str], str]) -> tuple[int, str]:
    taken = _run(lines, lambda line: line.startswith(">"))
    spoiler = lines[0].startswith(">!")
    inner = [re.sub(r"^>!? ?", "", line) for line in lines[:taken]]
    opening = '<blockquote class="spoiler">' if spoiler else "<blockquote>"
    body = _blocks(inner, modern, resolve)
    if modern:
        return taken, "\n".join([opening, *body, "</blockquote>"])
    return taken, opening + "\n  " + "\n  \n  ".join(body) + "\n</blockquote>"


def _list(lines: list[str], modern: bool, resolve: Callable[[str], str]) -> tuple[int, str]:
    """A list whose items continue on lines indented by two blanks (by three where numbered).

    An empty line within the list makes it loose: every item then holds paragraphs.
    """
    ordered = lines[0][0].isdigit()
    items: list[list[str]] = []
    index, loose = 0, False
    while index < len(lines):
        line = lines[index]
        marker = LIST_ITEM.match(line)
        if marker and line[0].isdigit() == ordered:
            items.append([line[marker.end() :]])
        elif line.startswith("   ") or (line.startswith("  ") and not ordered):
            items[-1].append(line[3 if ordered else 2 :])
        elif (
            not line.strip()
            and index + 1 < len(lines)
            and re.match(r"^(  +|([-*]|\d+\.) )", lines[index + 1])
        ):
            loose = True
            items[-1].append("")
        else:
            break
        index += 1
    name = "ol" if ordered else "ul"
    rendered = []
    for item in items:
        blocks = _blocks(item, modern, resolve)
        if not loose and blocks and blocks[0].startswith("<p>"):
            blocks[0] = blocks[0].removeprefix("<p>").removesuffix("</p>")
        rendered.append("<li>" + "\n".join(blocks) + "</li>")
    return index, f"<{name}>\n" + "\n".join(rendered) + f"\n</{name}>"


def _table(lines: list[str], resolve: Callable[[str], str]) -> str:
    """A pipe table; the second line gives the alignments (``:--``, ``:-:``, ``--:``)."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    styles = []
    for mark in rows[1]:
        side = {(True, True): "center", (False, True): "right", (True, False): "left"}.get(
            (mark.startswith(":"), mark.endswith(":"))
        )
        styles.append(f' style="text-align: {side};"' if side else "")

    def row(cells: list[str], name: str) -> list[str]:
        padded = cells + [""] * (len(styles) - len(cells))
        content = [inline(cell.replace("¦", "|"), resolve) for cell in padded]
        return ["<tr>", *(f"<{name}{s}>{c}</{name}>" for s, c in zip(styles, content, strict=True)), "</tr>"]

    body = [line for cells in rows[2:] for line in row(cells, "td")]
    return "\n".join(
        ['<div class="s-table-container">', '<table class="s-table">', "<thead>", *row(rows[0], "th"), "</thead>",
         "<tbody>", *body, "</tbody>", "</table>", "</div>"]
    )  # fmt: skip
