"""The options of the ``markdownify`` package: each with its meaning, beside this converter's own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tootsie.curate.markdownify import (
    ATX,
    ATX_CLOSED,
    BACKSLASH,
    LSTRIP,
    RSTRIP,
    SETEXT,
    STRIP,
    STRIP_ONE,
    UNDERLINED,
    UNDERSCORE,
    markdownify,
)
from tootsie.datasets.errors import SpecError

ROWS = "<table><tr><td>a<td>b<tr><td>1<td>2</table>"
IMAGE = "<h3>A <img src=a.png alt='T'> B</h3>"


@pytest.mark.parametrize(
    ("options", "html", "markdown"),
    [
        ({"heading_style": ATX}, "<h1>A</h1>", "# A\n"),
        ({"heading_style": ATX_CLOSED}, "<h2>A</h2>", "## A ##\n"),
        ({"heading_style": UNDERLINED}, "<h1>Abc</h1><h2>D</h2><h3>E</h3>", "Abc\n===\n\nD\n-\n\n### E\n"),
        ({"heading_style": "SETEXT"}, "<h1>1. A</h1>", "1\\. A\n====\n"),
        ({"heading_style": SETEXT}, "<ul><li><h1>A</h1></ul>", "- A\n  =\n"),
        ({"heading_style": ATX_CLOSED}, "<blockquote><h2>A</h2></blockquote>", "> ## A ##\n"),
        ({"heading_style": UNDERLINED}, "<p># A</p>", "\\# A\n"),
        ({"newline_style": BACKSLASH}, "a<br>b", "a\\\nb\n"),
        ({"strong_em_symbol": UNDERSCORE}, "<b>a</b> <i>b</i>", "__a__ _b_\n"),
        ({"strong_em_symbol": UNDERSCORE}, "a<b>b</b> <i>c</i>d", "a**b** *c*d\n"),
        ({"autolinks": False}, "<a href=http://x.y>http://x.y</a>", "[http://x.y](http://x.y)\n"),
        ({"default_title": True}, "<a href=/u>a</a>", '[a](/u "/u")\n'),
        ({"default_title": True}, "<a href=/u title=t>a</a>", '[a](/u "t")\n'),
        ({"bullets": "*+"}, "<ul><li>a<ul><li>b<ul><li>c</ul></ul></ul>", "* a\n  + b\n    * c\n"),
        ({"bullets": ["*", "-"]}, "<ul><li>a<ul><li>b</ul></ul>", "* a\n  - b\n"),
        ({"code_language": "sh"}, "<pre>a</pre>", "```sh\na\n```\n"),
        ({"code_language_callback": lambda el: el["data-l"]}, "<pre data-l=x>a</pre>", "```x\na\n```\n"),
        (
            {"code_language_callback": lambda el: None, "code_language": "sh"},
            "<pre class=lang-js>a</pre><pre>b</pre>",
            "```js\na\n```\n\n```sh\nb\n```\n",
        ),
        ({"strip_pre": STRIP}, "<pre>\n\n\n  a\n\n</pre>", "```\n  a\n```\n"),
        ({"strip_pre": STRIP_ONE}, "<pre>\n\n\n  a\n\n</pre>", "```\n\n  a\n\n```\n"),
        ({"strip_pre": None}, "<pre>\n\n\n  a\n\n</pre>", "```\n\n\n  a\n\n\n```\n"),
        ({"strip_document": STRIP}, "<p>a</p>", "a"),
        ({"strip_document": LSTRIP}, "<p>a</p>", "a\n\n"),
        ({"strip_document": RSTRIP}, "<p>a</p>", "\n\na"),
        ({"strip_document": None}, "<p>a</p><ul><li>b</ul>", "\n\na\n\n- b\n"),
        ({"strip_document": None}, "a <b>b</b>", "a **b**"),
        ({"sub_symbol": "~", "sup_symbol": ""}, "x<sub>1</sub><sup>2</sup>", "x~1~2\n"),
        ({"sup_symbol": "<sup>"}, "x<sup>2</sup>", "x<sup>2</sup>\n"),
        ({"table_infer_header": True}, ROWS, "| a | b |\n| --- | --- |\n| 1 | 2 |\n"),
        ({"table_infer_header": False}, ROWS, "|  |  |\n| --- | --- |\n| a | b |\n| 1 | 2 |\n"),
        ({"keep_inline_images_in": []}, IMAGE, "### A T B\n"),
        ({"keep_inline_images_in": ["h3"]}, IMAGE, "### A ![T](a.png) B\n"),
        ({}, IMAGE, "### A ![T](a.png) B\n"),
        ({"keep_inline_images_in": []}, "<p><img src=a.png alt=T></p>", "![T](a.png)\n"),
        ({"strip": ["a", "h1"]}, "<h1>a</h1><p>b <a href=u>c</a><b>d</b>", "a\n\nb c**d**\n"),
        ({"strip": ["p", "img"]}, "<p>a<p>b<img src=i alt=x>", "a\n\nb\n"),
        ({"strip": ["br"]}, "a<br>b", "a b\n"),
        ({"strip": ["script"]}, "a<script>x</script>", "a\n"),
        ({"strip": []}, "<b>a</b>", "**a**\n"),
        ({"convert": ["b"]}, "<h1>a</h1><p>b <a href=u>c</a><b>d</b>", "a\n\nb c**d**\n"),
        ({"convert": []}, "<b>a</b> <math alttext='x'></math>", "a $x$\n"),
        ({"bs4_options": "lxml"}, "<b>a</b>", "**a**\n"),
        ({"bs4_options": {"features": "html5lib"}}, "<b>a</b>", "**a**\n"),
        (
            {"profile": "arxiv", "heading_style": UNDERLINED, "links": "keep", "bullets": "*"},
            "<h1>A</h1><ul><li><a href=u>b</a></ul>",
            "A\n=\n\n* [b](u)\n",
        ),
        (
            {"profile": "wikipedia", "heading_style": ATX_CLOSED},
            "<html><head><title>T - Wikipedia</title></head><body><p>a</p><h2>Empty</h2><h2>B</h2><p>c</p>",
            "# T #\n\na\n\n## B ##\n\nc\n",
        ),
    ],
)
def test_an_option_has_its_meaning(options: dict[str, Any], html: str, markdown: str) -> None:
    assert markdownify(html, **options) == markdown


@pytest.mark.parametrize(
    ("options", "html", "markdown"),
    [
        ({"escape_asterisks": True}, "2 * 3 *a*", "2 \\* 3 \\*a\\*\n"),
        ({"escape_asterisks": False}, "*a* _b_", "*a* \\_b\\_\n"),
        ({}, "2 * 3 *a* snake_case", "2 * 3 \\*a\\* snake_case\n"),
        ({"escape_underscores": True}, "snake_case", "snake\\_case\n"),
        ({"escape_underscores": False}, "_a_", "_a_\n"),
        ({"escape_misc": True}, "a - b #c # d [e] f|g ~ 1. h", "a \\- b #c \\# d \\[e\\] f\\|g \\~ 1\\. h\n"),
        ({"escape_misc": False}, "# a [b](c) *d*", "# a [b](c) \\*d\\*\n"),
        ({"escape_misc": False, "escape_asterisks": False}, "<p>* a</p>", "* a\n"),
        ({"escape_misc": True}, "<a href=u>[x]</a>", "[\\[x\\]](u)\n"),
    ],
)
def test_escapes_always_never_or_where_they_act(options: dict[str, Any], html: str, markdown: str) -> None:
    assert markdownify(html, **options) == markdown


@pytest.mark.parametrize(
    ("html", "width", "markdown"),
    [
        ("<p>one two three four</p>", 9, "one two\nthree\nfour\n"),
        ("<p>one\ntwo\nthree</p>", 80, "one two three\n"),
        ("<p>one two<br>three four</p>", 7, "one two  \nthree\nfour\n"),
        ("<p>incomprehensibilities a</p>", 5, "incomprehensibilities\na\n"),
        ("<p>a <math alttext='x + y + z'></math> b</p>", 5, "a\n$x + y + z$\nb\n"),
        ("<p>a <code>b c d e f</code> g</p>", 5, "a\n`b c d e f`\ng\n"),
        ("<p>some <a href='u' title='long title'>link text</a></p>", 8, '[link\ntext](u "long title")\n'),
        ("<p>a b - c # d 1. e</p>", 3, "a b -\nc #\nd 1.\ne\n"),
        ("<h1>a b c d e f</h1>", 3, "# a b c d e f\n"),
        ("<p>one two</p>", None, "one two\n"),
    ],
)
def test_wrapping(html: str, width: int | None, markdown: str) -> None:
    assert markdownify(html, wrap=True, wrap_width=width).endswith(markdown)


@pytest.mark.parametrize("piece", ["`", "` ", "$", "$ ", "<", '](x "', "word [x](y ", "\\", "]("])
def test_wrapping_takes_hostile_paragraphs(piece: str) -> None:
    html = "<p>" + (piece * 50_000).replace("<", "&lt;")
    markdown = markdownify(html, wrap=True, wrap_width=20, escape_misc=False)
    assert "".join(markdown.split()) == "".join((piece * 50_000).split())


WORDS = st.lists(
    st.sampled_from(["a", "bb", "-", "#", "1.", "*", "`", "$", "<", ">", "[x]", "http://a.b", "wörter"])
)


@given(WORDS, st.integers(1, 20))
@settings(max_examples=300)
def test_wrapping_changes_no_text(words: list[str], width: int) -> None:
    def text(markdown: str) -> list[str]:
        return MarkdownIt("commonmark").render(markdown).split()

    html = "<p>a " + " ".join(words).replace("<", "&lt;") + "</p>"
    assert text(markdownify(html, wrap=True, wrap_width=width)) == text(markdownify(html))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heading_stlye": "atx"}, "Did you mean heading_style?"),
        ({"sub_symbl": ""}, "Did you mean sub_symbol?"),
        ({"heading_style": "round"}, "atx, atx_closed, underlined"),
        ({"newline_style": "crlf"}, "spaces, backslash"),
        ({"strong_em_symbol": "+"}, "found '+'"),
        ({"strip_document": "both"}, "strip, lstrip, rstrip"),
        ({"strip": "a"}, "a list of element names"),
        ({"strip": ["a"], "convert": ["b"]}, "exclude one another"),
        ({"wrap_width": 0}, "a number of characters"),
        ({"code_language_callback": "python"}, "a function"),
        ({"autolinks": "no"}, "true or false"),
        ({"bullets": ""}, "names no marker"),
        ({"sub": "~", "sub_symbol": "^"}, "another name of sub"),
    ],
)
def test_an_unusable_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as error:
        markdownify("a", **options)
    assert message in str(error.value)
