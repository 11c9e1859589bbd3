"""53 pages that converters get wrong, each read back by GitHub's own renderer: what a reader sees is what was there."""

from __future__ import annotations

import re

import pytest

from tootsie.curate.markdownify import markdownify

from .canonical import canonical
from .test_commonmark import render_gfm

HEAD = "<thead><tr><th>h<th>i</thead>"
SAME = None
CASES: dict[str, tuple[str, str | None]] = {
    # tables: GFM says spans by empty cells, lines in cells by <br>; other blocks in cells make an HTML table
    "table: basic": (f"<table>{HEAD}<tbody><tr><td>1<td>2</table>", SAME),
    "table: pipe in text": (f"<table>{HEAD}<tbody><tr><td>a|b<td>2</table>", SAME),
    "table: pipe in code": (f"<table>{HEAD}<tbody><tr><td><code>a|b</code><td>2</table>", SAME),
    "table: colspan in the middle": (
        "<table><thead><tr><th>a<th>b<th>c<th>d</thead><tr><td>1<td colspan=2>2<td>3<tr><td>4<td>5<td>6<td>7</table>",
        "<table><thead><tr><th>a<th>b<th>c<th>d</thead><tbody><tr><td>1<td>2<td><td>3<tr><td>4<td>5<td>6<td>7</table>",
    ),
    "table: rowspan": (
        f"<table>{HEAD}<tr><td rowspan=2>1<td>2<tr><td>3</table>",
        f"<table>{HEAD}<tbody><tr><td>1<td>2<tr><td><td>3</table>",
    ),
    "table: rowspan and colspan in the head": (
        "<table><thead><tr><th rowspan=2>a<th colspan=2>b<tr><th>c<th>d</thead><tr><td>1<td>2<td>3</table>",
        "<table><thead><tr><th>a<th>b<th></thead><tbody><tr><td><td>c<td>d<tr><td>1<td>2<td>3</table>",
    ),
    "table: no head": (
        "<table><tr><td>1<td>2<tr><td>3<td>4</table>",
        "<table><thead><tr><th><th></thead><tbody><tr><td>1<td>2<tr><td>3<td>4</table>",
    ),
    "table: body wider than its head": (
        f"<table>{HEAD}<tr><td>1<td>2<td>3</table>",
        "<table><thead><tr><th>h<th>i<th></thead><tbody><tr><td>1<td>2<td>3</table>",
    ),
    "table: head cells of rows": (
        f"<table>{HEAD}<tr><th>1<td>2</table>",
        f"<table>{HEAD}<tbody><tr><td>1<td>2</table>",
    ),
    "table: two paragraphs in a cell": (
        f"<table>{HEAD}<tr><td><p>1<p>2<td>3</table>",
        f"<table>{HEAD}<tbody><tr><td>1<br>2<td>3</table>",
    ),
    "table: list in a cell": (
        f"<table>{HEAD}<tr><td><ul><li>1<li>2</ul><td>3</table>",
        f"<table>{HEAD}<tbody><tr><td>- 1<br>- 2<td>3</table>",
    ),
    "table: br in a cell": (f"<table>{HEAD}<tbody><tr><td>1<br>2<td>3</table>", SAME),
    "table: pre in a cell": (
        f"<table>{HEAD}<tr><td><pre>a\nb</pre><td>3</table>",
        "<table><tr><th>h<th>i<tr><td><pre><code>a\nb\n</code></pre><td>3</table>",
    ),
    "table: nested table": (
        f"<table>{HEAD}<tr><td>1<table><tr><td>x<td>y<tr><td>z<td>w</table><td>2</table>",
        "<table><tr><th>h<th>i<tr><td><p>1</p><table><thead><tr><th><th></thead><tbody><tr><td>x<td>y<tr><td>z<td>w</table>"
        "<td>2</table>",
    ),
    "table: alignment": (
        "<table><thead><tr><th align=left>a<th align=center>b<th style='text-align:right'>c</thead>"
        "<tbody><tr><td align=left>1<td align=center>2<td style='text-align:right'>3</table>",
        SAME,
    ),
    "table: caption outside": (
        f"<table><caption>C</caption>{HEAD}<tr><td>1<td>2</table>",
        f"<p>C<table>{HEAD}<tbody><tr><td>1<td>2</table>",
    ),
    # code
    "code: fence inside": ("<pre><code>```\nx\n```\n</code></pre>", SAME),
    "code: highlighted by spans": (
        "<pre><code><span class=k>if</span> <span class=n>x</span>:\n    <span>y</span>\n</code></pre>",
        "<pre><code>if x:\n    y\n</code></pre>",
    ),
    "code: pre without code": ("<pre>a\nb\n</pre>", "<pre><code>a\nb\n</code></pre>"),
    "code: indentation of the first line": ("<pre><code>    a\n  b\n</code></pre>", SAME),
    "code: blank lines": ("<pre><code>a\n\n\nb\n</code></pre>", SAME),
    "code: tabs": ("<pre><code>\ta\tb\n</code></pre>", SAME),
    "code: in an item": ("<ol><li>a<pre><code>x\n\n  y\n</code></pre></li><li>b</li></ol>", SAME),
    "code: in a quotation": ("<blockquote><pre><code>x\n\n  y\n</code></pre></blockquote>", SAME),
    "code: br in pre": ("<pre>a<br>b</pre>", "<pre><code>a\nb\n</code></pre>"),
    "code: entities": ("<pre><code>&lt;a&gt; &amp;amp; &amp;lt;\n</code></pre>", SAME),
    "language: language-py": ('<pre><code class="language-py">x\n</code></pre>', SAME),
    "language: lang-py prettyprint": (
        '<pre class="lang-py prettyprint"><code>x\n</code></pre>',
        '<pre><code class="language-py">x\n</code></pre>',
    ),
    "language: highlight-source of GitHub": (
        '<div class="highlight highlight-source-rust"><pre>x</pre></div>',
        '<pre><code class="language-rust">x\n</code></pre>',
    ),
    "language: highlight-python3 of Sphinx": (
        '<div class="highlight-python3 notranslate"><div class="highlight"><pre>x</pre></div></div>',
        '<pre><code class="language-python">x\n</code></pre>',
    ),
    "language: mw-highlight-lang of MediaWiki": (
        '<div class="mw-highlight mw-highlight-lang-lua mw-content-ltr"><pre>x</pre></div>',
        '<pre><code class="language-lua">x\n</code></pre>',
    ),
    "code span: backtick": ("<p><code>a`b</code></p>", SAME),
    "code span: two backticks at an edge": ("<p><code>``a</code></p>", SAME),
    "code span: em inside": ("<p><code>a<em>b</em></code></p>", "<p><code>ab</code></p>"),
    "code span: stars and underscores": ("<p><code>*a* _b_ __c__</code></p>", SAME),
    # lines
    "link: parenthesis in its address": ('<p><a href="/a_(b)_c)">t</a></p>', SAME),
    "link: space in its address": ('<p><a href="/a b">t</a></p>', '<p><a href="/a%20b">t</a></p>'),
    "emphasis: within a word": ("<p>a<em>b</em>c</p>", SAME),
    "emphasis: adjacent strong": ("<p><strong>a</strong><strong>b</strong></p>", SAME),
    "emphasis: space at its end": ("<p><em>a </em>b</p>", "<p><em>a</em> b</p>"),
    "text: starts like an item": ("<p>1. a</p>", SAME),
    "text: starts like a heading": ("<p># a</p>", SAME),
    "text: tag": ("<p>&lt;b&gt;a&lt;/b&gt;</p>", SAME),
    "text: entity": ("<p>&amp;lt; &amp;amp;</p>", SAME),
    "text: link": ("<p>[a](b)</p>", SAME),
    "text: no-break space": ("<p>a&nbsp;b</p>", SAME),
    "text: hard break": ("<p>a<br>b</p>", SAME),
    "text: sub- and superscripts": ("<p>H<sub>2</sub>O, x<sup>2</sup></p>", SAME),
    # blocks
    "definition list: no code": (
        "<dl><dt>t<dd><p>a</p><p>b</p></dl>",
        "<p><strong>t</strong></p><p>a</p><p>b</p>",
    ),
    "list: starts at 7": ("<ol start=7><li>a</li><li>b</li></ol>", SAME),
    "list: paragraphs in an item": ("<ul><li><p>a</p><p>b</p></li><li><p>c</p></li></ul>", SAME),
    "list: list directly in a list": (
        "<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>",
        "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>",
    ),
    "footnote": (
        '<p>a<sup><a href="#fn1">1</a></sup></p><div class=footnotes><ol><li id=fn1><p>n <a href="#r">↩</a></ol></div>',
        '<p>a<sup><a href="#1">1</a></sup></p><section><ol><li><p>n <a href="#1">↩</a></p></li></ol></section>',
    ),
}


def without_identity(html: str) -> str:
    """Leave out the names that footnotes get, which no reader sees."""
    html = re.sub(r' (?:id|class|aria-label|data-[\w-]+)(?:="[^"]*")?', "", html)
    return re.sub(r'href="#[^"]*"', 'href="#1"', html)


def test_there_are_53_cases() -> None:
    assert len(CASES) == 53


@pytest.mark.parametrize("name", CASES)
def test_a_reader_sees_what_was_there(name: str) -> None:
    html, wanted = CASES[name]
    rendered = render_gfm(markdownify(html))
    if name == "footnote":
        rendered = without_identity(rendered)
    assert canonical(rendered) == canonical(html if wanted is SAME else wanted)
