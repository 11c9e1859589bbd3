"""The converters that the benchmarks set beside ours, each as a function from a page to its Markdown and its CPU seconds.

A peer that is not installed is left out. ``make bench-peers`` installs all of them.
"""

from __future__ import annotations

import contextlib
import html
import importlib
import json
import os
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Converter = Callable[[str], tuple[str, float]]
"""From a page to its Markdown (empty for a parser) and the CPU seconds that it took."""
HERE = Path(__file__).resolve().parent
NODE_MODULES = HERE.parent / ".build" / "peers" / "node_modules"
RIVAL = "math first, html-to-markdown"
SLOW = ("pandoc",)
"""Peers that start a process for each page: they see a few of the pages, once."""


def installed(profile: str) -> dict[str, Converter]:
    """Return the converters that are installed; ``tootsie`` first."""
    from tootsie.curate.markdownify import markdownify

    table: dict[str, Converter] = {"tootsie": _timed(lambda page: markdownify(page, profile=profile))}

    def add(name: str, module: str, make: Callable[[Any], Callable[[str], str | None]]) -> None:
        with contextlib.suppress(ImportError):
            table[name] = _timed(make(importlib.import_module(module)))

    add("markdownify", "markdownify", lambda m: lambda page: m.markdownify(page, heading_style="ATX"))
    add("html2text", "html2text", lambda m: lambda page: m.html2text(page, bodywidth=0))
    add(
        "trafilatura",
        "trafilatura",
        lambda m: (
            lambda page: m.extract(page, output_format="markdown", favor_recall=True, include_formatting=True)
        ),
    )
    add("markitdown", "markitdown", _markitdown)
    if shutil.which("node") and (NODE_MODULES / "turndown").is_dir():
        table["turndown"] = _turndown()
    if shutil.which("pandoc"):
        table["pandoc"] = _pandoc
    add("markdownify-rs", "markdownify_rs", lambda m: lambda page: m.markdownify(page, heading_style="atx"))
    add("html-to-markdown", "html_to_markdown", lambda m: lambda page: m.convert(page).content)
    add(RIVAL, "html_to_markdown", lambda m: _math_first(m, profile))
    return table


def parsers() -> dict[str, Converter]:
    """Return the parsers that are installed."""
    table: dict[str, Converter] = {}
    with contextlib.suppress(ImportError):
        from lxml import etree

        def lxml(page: str) -> str:
            etree.HTML(page.encode("utf-8", "replace"), etree.HTMLParser(encoding="utf-8"))
            return ""

        table["lxml, parse only"] = _timed(lxml)
    from selectolax.lexbor import LexborHTMLParser

    from tootsie.curate.markdownify.equations import cut_mathml

    def lexbor(page: str) -> str:
        LexborHTMLParser(page)
        return ""

    def visit(page: str) -> str:
        """Parse what is needed of the page and read each tag, text and attribute once: no tree walk in Python is faster."""
        for node in LexborHTMLParser(cut_mathml(page)).root.traverse(include_text=True):
            if node.tag == "-text":
                node.text_content  # noqa: B018
            else:
                node.attributes  # noqa: B018
        return ""

    table["Lexbor, parse only"] = _timed(lexbor)
    table["Lexbor, parse and visit"] = _timed(visit)
    return table


def _timed(convert: Callable[[str], str | None]) -> Converter:
    def run(page: str) -> tuple[str, float]:
        start = time.process_time()
        try:
            markdown = convert(page)
        except (RecursionError, ValueError):  # what the page costs is known, what it gives is nothing
            markdown = ""
        return markdown or "", time.process_time() - start

    return run


def _markitdown(module: Any) -> Callable[[str], str]:
    converter = importlib.import_module(
        "markitdown.converters"
    ).HtmlConverter()  # without the guessing of file types
    return lambda page: converter.convert_string(page).markdown


def _turndown() -> Converter:
    process = subprocess.Popen(
        ["node", str(HERE / "turndown.js")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "NODE_PATH": str(NODE_MODULES)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    source, sink = process.stdin, process.stdout

    def run(page: str) -> tuple[str, float]:
        source.write(json.dumps(page).encode() + b"\n")
        source.flush()
        markdown, seconds = json.loads(sink.readline())
        return markdown, seconds

    return run


def _pandoc(page: str) -> tuple[str, float]:
    command = ["pandoc", "--from=html+tex_math_dollars", "--to=gfm+tex_math_dollars", "--wrap=none"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, input=page.encode("utf-8", "replace"), capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return done.stdout.decode("utf-8", "replace"), seconds


# -- the rival: formulas are replaced by marks before html-to-markdown sees the page, and put back behind it

_MATH = re.compile(r"<math\b([^>]*)>(.*?)</math>", re.DOTALL)
_ALTTEXT = re.compile(r'\balttext="([^"]*)"')
_ANNOTATION = re.compile(r'<annotation[^>]*encoding="application/x-tex"[^>]*>(.*?)</annotation>', re.DOTALL)
_STYLED = re.compile(r"^\{\\displaystyle\s*(.*)\}$", re.DOTALL)
_BODY_MATH = re.compile(r"\$\$.+?\$\$|\$[^$\n]+?\$", re.DOTALL)
_FALLBACK = re.compile(r"<img[^>]*mwe-math-fallback-image[^>]*>")
_MARK = re.compile("\ue000([0-9]+)\ue001")


def _math_first(module: Any, profile: str) -> Callable[[str], str]:
    options = module.ConversionOptions(hidden_content="all", expand_abbreviations=False)

    def convert(page: str) -> str:
        formulas: list[str] = []

        def mark(tex: str) -> str:
            formulas.append(tex)
            return f"\ue000{len(formulas) - 1}\ue001"

        def element(match: re.Match[str]) -> str:
            found = _ALTTEXT.search(match.group(1)) or _ANNOTATION.search(match.group(2))
            if found is None:
                return match.group(0)
            tex = _STYLED.sub(r"\1", html.unescape(found.group(1)).strip())
            dollars = "$$" if 'display="block"' in match.group(1) else "$"
            return mark(f"{dollars}{tex}{dollars}")

        if "<math" in page:
            page = _FALLBACK.sub("", _MATH.sub(element, page))
        elif profile == "stackexchange" and "$" in page:
            page = _BODY_MATH.sub(lambda match: mark(html.unescape(match.group(0))), page)
        markdown = module.convert(page, options).content or ""
        return _MARK.sub(lambda match: formulas[int(match.group(1))], markdown)

    return convert
