"""The converter's rules, one behaviour each; what matters is checked on the rendered Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tootsie.curate.markdownify import Limits, convert, markdownify
from tootsie.datasets.errors import InputError, SpecError


def render(html: str, **options: object) -> str:
    """Convert, render with a CommonMark processor, return the HTML without line breaks between tags."""
    markdown = markdownify(html, **options)
    rendered = MarkdownIt("commonmark").enable("table").enable("strikethrough").render(markdown)
    return rendered.replace(">\n<", "><").strip()


def table(*rows: str, head: str = "") -> str:
    return f"<table>{head}<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h1>A</h1><p>b</p>", "# A\n\nb\n"),
        ("<h3>a\n b</h3>", "### a b\n"),
        ("<h2>C#</h2>", "## C#\n"),
        ("<h2>a #</h2>", "## a \\#\n"),
        ("<p>a</p>\n\n<p>b</p>", "a\n\nb\n"),
        ("a<div>b</div>c", "a\n\nb\n\nc\n"),
        ("<p>a<br>b</p>", "a  \nb\n"),
        ("<p>a<br><br><br>b</p>", "a\n\nb\n"),
        ("<p>a<br></p>", "a\n"),
        ("<p>a\\ <br>b</p>", "a\\\\  \nb\n"),
        ("<hr>", "---\n"),
        ("", ""),
        ("<p> \n </p>", ""),
        ("a<script>x</script><style>y</style><template>z</template>b", "ab\n"),
        ("<p>a\u00a0b</p>", "a\u00a0b\n"),
        ("<p>中文\n字</p>", "中文字\n"),
        ("<p>שלום <b>עולם</b></p>", "שלום **עולם**\n"),
        ("<q>a</q>", "“a”\n"),
        ("x<sub>i</sub><sup>2</sup>", "x<sub>i</sub><sup>2</sup>\n"),
        ("<del>a</del>", "~~a~~\n"),
        ("<p hidden>a</p><p style='display: none'>b</p>c", "c\n"),
        ("<details><summary>S</summary>t</details>", "**S**\n\nt\n"),
        ("<dl><dt>T</dt><dd>D</dd></dl>", "**T**\n\nD\n"),
        ("<dl><dt><b>T</b></dt></dl>", "**T**\n"),
        ("<dl><dt><b>T</b> (a)</dt></dl>", "**T** (a)\n"),
        ("<dl><dt><i>T</i> (a)</dt></dl>", "__*T* (a)__\n"),
        (table("<th>a<th>b", "<td><h3>c <b>d</b></h3><td>e"), "| a | b |\n| --- | --- |\n| c **d** | e |\n"),
        ("<figure><img src=a.png alt=b><figcaption>C</figcaption></figure>", "![b](a.png)\n\nC\n"),
    ],
)
def test_blocks_and_lines(html: str, markdown: str) -> None:
    assert markdownify(html) == markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<b>a</b>", "**a**\n"),
        ("<b> a </b>b", "**a** b\n"),
        ("a<em>b</em>c", "a*b*c\n"),
        ("<b>a:</b>b", "<strong>a:</strong>b\n"),
        ("<b>a:</b> b", "**a:** b\n"),
        ("<b>a</b><b>b</b>", "**a**__b__\n"),
        ("<b><b>a</b></b>", "**__a__**\n"),
        ("<b></b>a", "a\n"),
        ("<i><b>a</b></i>", "***a***\n"),
        ("<b>a<p>b</p>c</b>", "**a**\n\n**b**\n\n**c**\n"),
        ("<a href=u>t</a>", "[t](u)\n"),
        ("<a href='a b(c'>t</a>", "[t](<a b(c>)\n"),
        ("<a href=u title='x \"y\"'>t</a>", '[t](u "x \\"y\\"")\n'),
        ("<a href=http://x.y/>http://x.y/</a>", "<http://x.y/>\n"),
        ("<a href='javascript:x'>t</a>", "t\n"),
        ("<a href=u></a>a", "[](u)a\n"),
        ("<img src=i alt='^1'>", "![\\^1](i)\n"),
        ("[a\\]<span>(b)</span>", "[a\\\\\\](b)\n"),
        ("[a]<span>(b)</span>", "[a\\](b)\n"),
        ("a&amp;<span>amp;</span>", "a\\&amp;\n"),
        ("a&lt;<span>b</span>&amp; <span>c</span>", "a\\<b& c\n"),
        ("<a href=u>[x]</a>", "[\\[x\\]](u)\n"),
        ("wow!<a href=u>t</a>", "wow\\![t](u)\n"),
        ("wow!<a href='http://a.b/'>http://a.b/</a>", "wow!<http://a.b/>\n"),
        ("<a href=u><img src=i alt=a></a>", "[![a](i)](u)\n"),
        ("<img src='data:x' alt=a>", "a\n"),
        ("<code>a`b</code>", "``a`b``\n"),
        ("<code>`</code>", "`` ` ``\n"),
        ("<code>a<em>b</em>*</code>", "`ab*`\n"),
        ("<code></code>a", "a\n"),
        ("<code>a<br>b</code>", "`a b`\n"),
        ("<ruby>砥石<rp>（</rp><rt>といし</rt><rp>）</rp></ruby>を", "砥石(といし)を\n"),
        ("<ruby>漢<rt>かん<rt>字<rt></ruby>a", "漢(かん)(字)a\n"),
    ],
)
def test_inline(html: str, markdown: str) -> None:
    assert markdownify(html) == markdown


@pytest.mark.parametrize(
    ("html", "exact", "plain"),
    [
        ("<b>a</b><b>b</b>", "**a**__b__\n", "**ab**\n"),
        ("<b>a<i>b<b>c</b></i></b>", "**a<em>b<strong>c</strong></em>**\n", "**a<em>bc</em>**\n"),
        ("<b><b>a</b></b>", "**__a__**\n", "**a**\n"),
        ("<a href=u></a>a", "[](u)a\n", "a\n"),
        ("<h2></h2>a", "##\n\na\n", "a\n"),
        ("<ol><li>a<li><li>b</ol>", "1. a\n2.\n3. b\n", "1. a\n3. b\n"),
        ("<blockquote> </blockquote>a", ">\n\na\n", "a\n"),
        ("<pre></pre>a", "```\n```\n\na\n", "a\n"),
        ("<pre>a\n\n \n</pre>", "```\na\n\n \n```\n", "```\na\n```\n"),
        ("<code> a</code>", "` a`\n", "`a`\n"),
        ("b<code> a</code>", "b `a`\n", "b `a`\n"),
    ],
)
def test_what_a_reader_does_not_see_is_kept_where_all_is(html: str, exact: str, plain: str) -> None:
    assert markdownify(html) == exact
    assert markdownify(html, exact=False) == plain


@pytest.mark.parametrize(
    "text",
    [
        "# a", "- a", "+ a", "* a", "> a", "1. a", "2) a", "---", "***", "===", "~~~", "a * b * c", "*a*", "_a_", "__init__", "snake_case",
        "`a`", "[a](b)", "[a]: b", "![a](b)", "<b>", "a < b", "&amp;", "&#65;", "\\*", "\\", "a\\", "~~a~~", "$a$ and $b$", "[^1]", "- [ ] x",
        "http://a.b/c_d_e", "a_b_c_", "****", "a|b", "!a", "1.", "12345678901. a", "[x] (y)", "+", "-", "#", "a*b*c",
    ],
)  # fmt: skip
def test_text_that_looks_like_markdown_stays_text(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert render(f"<p>{escaped}</p>") == f"<p>{escaped}</p>"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"]), max_size=60))
@settings(max_examples=400)
def test_any_text_survives(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    rendered = render(f"<p>a {escaped} b</p>", nbsp="\u00a0")
    back = rendered.removeprefix("<p>").removesuffix("</p>")
    back = back.replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert back.split() == f"a {text.replace(chr(0xFEFF), '')} b".split()


# -- lists and quotations


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<ul><li>a<li>b</ul>", "- a\n- b\n"),
        ("<ol start=7><li>a<li>b</ol>", "7. a\n8. b\n"),
        ("<ol start=-1><li>a<li>b</ol>", "1. a\n2. b\n"),
        ("<ol><li value=3>a<li>b</ol>", "3. a\n4. b\n"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c\n"),
        ("<ul><li>a</li><ul><li>b</ul></ul>", "- a\n  - b\n"),
        ("<ul><li><p>a<li><p>b</ul>", "- a\n\n- b\n"),
        ("<ul><li>a<p>b</ul>", "- a\n\n  b\n"),
        ("<ul><li>a</ul><ul><li>b</ul>", "- a\n\n* b\n"),
        ("<ul><li>a<pre>x\n\ny</pre></ul>", "- a\n  ```\n  x\n\n  y\n  ```\n"),
        ("<li>a", "- a\n"),
        ("<blockquote><p>a<p>b</blockquote>", "> a\n>\n> b\n"),
        ("<blockquote><ul><li>a</ul></blockquote>", "> - a\n"),
    ],
)
def test_lists_and_quotations(html: str, markdown: str) -> None:
    assert markdownify(html) == markdown


def test_a_table_in_an_item_stays_a_table() -> None:
    assert "<table>" in render("<ul><li>a" + table("<th>x<th>y", "<td>1<td>2") + "</ul>")


# -- code


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<pre>a\n  b\n</pre>", "```\na\n  b\n```\n"),
        ("<pre><code class='language-rust'>a</code></pre>", "```rust\na\n```\n"),
        ("<pre class='lang-py prettyprint-override'><code>a</code></pre>", "```py\na\n```\n"),
        ("<div class='highlight-source-shell'><pre>a</pre></div>", "```shell\na\n```\n"),
        (
            "<div class='highlight-python3 notranslate'><div class=highlight><pre>a</pre></div></div>",
            "```python\na\n```\n",
        ),
        ("<div class='mw-highlight mw-highlight-lang-lua'><pre>a</pre></div>", "```lua\na\n```\n"),
        ("<pre>a<br>b</pre>", "```\na\nb\n```\n"),
        ("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````\n"),
        ("<pre><span class=k>if</span> x:\n<span>  y</span></pre>", "```\nif x:\n  y\n```\n"),
        ("<pre><span class=lineno>1</span>a</pre>", "```\na\n```\n"),
        ("<pre>&lt;a&gt; *b* $c$</pre>", "```\n<a> *b* $c$\n```\n"),
        ("<pre>\t x</pre>", "```\n\t x\n```\n"),
        ("<pre></pre>a", "```\n```\n\na\n"),
    ],
)
def test_code(html: str, markdown: str) -> None:
    assert markdownify(html) == markdown


# -- tables


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        (table("<th>a<th>b", "<td>1<td>2"), "| a | b |\n| --- | --- |\n| 1 | 2 |\n"),
        (table("<td>1<td>2", "<td>3<td>4"), "|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n"),
        (
            table("<th>a<th>b", "<td rowspan=2>1<td>2", "<td>3"),
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n|  | 3 |\n",
        ),
        (
            table("<th>a<th>b<th>c", "<td colspan=2>1<td>2", "<td>3<td>4<td>5"),
            "| a | b | c |\n| --- | --- | --- |\n| 1 |  | 2 |\n| 3 | 4 | 5 |\n",
        ),
        (
            table("<th>a|b<th>c", "<td><code>x|y</code><td>z"),
            "| a\\|b | c |\n| --- | --- |\n| `x\\|y` | z |\n",
        ),
        (
            table("<th>a<th>b", "<td>1<td rowspan=2>2", "<td>3"),
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |\n",
        ),
        (table("<th>a<th>b", "<td>1<br>2<td><p>3<p>4"), "| a | b |\n| --- | --- |\n| 1<br>2 | 3<br>4 |\n"),
        (
            table("<th>a<th>b", "<td><ul><li>x<li>y</ul><td>z"),
            "| a | b |\n| --- | --- |\n| - x<br>- y | z |\n",
        ),
        (table("<th align=right>a<th>b", "<td align=right>1<td>2"), "| a | b |\n| ---: | --- |\n| 1 | 2 |\n"),
        (table("<td>1<td>2", head="<caption>C</caption>"), "C\n\n|  |  |\n| --- | --- |\n| 1 | 2 |\n"),
        (table("<th>a<td>1", "<th>b<td>2"), "|  |  |\n| --- | --- |\n| a | 1 |\n| b | 2 |\n"),
        ("<table role=presentation><tr><td><p>a<td>b</table>", "a\n\nb\n"),
        ("<table><tr><td><p>a</p><p>b</p></table>", "a\n\nb\n"),
    ],
)
def test_tables(html: str, markdown: str) -> None:
    assert markdownify(html) == markdown


def test_one_wide_row_does_not_widen_the_others_without_bound() -> None:
    html = table("".join("<td>x" for _ in range(500)), *("<td>y" for _ in range(500)))
    assert len(markdownify(html)) < 5 * len(html)


def test_a_nested_table_becomes_clean_html_and_is_counted() -> None:
    html = table("<th>a<th class=x>b", "<td colspan=2 style=y>1<table><tr><td>2<td>3</table>")
    conversion = convert(html)
    assert conversion.counters["tables_html"] == 1
    assert conversion.markdown == (
        '<table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td colspan="2">\n\n1\n\n|  |  |\n| --- | --- |\n'
        "| 2 | 3 |\n\n</td></tr>\n</table>\n"
    )


def test_code_in_an_html_table_keeps_its_lines() -> None:
    html = table("<th>a<td>b<td><table><tr><td><pre>x\n\n  y</pre><td>z</table>")
    assert "<td>\n\n```\nx\n\n  y\n```\n\n</td><td>z</td>" in markdownify(html)


def test_a_formula_in_a_cell_keeps_its_row_whole() -> None:
    cell = '<math alttext="\\|x|" class="ltx_Math"></math>'
    assert markdownify(table("<th>a<th>b", f"<td>{cell}<td>c")).endswith(
        "<td>\n\n$\\|x|$\n\n</td><td>c</td></tr>\n</table>\n"
    )


# -- formulas


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ('<math alttext="x_{i}*y" class="ltx_Math"><mi>x</mi></math>', "$x_{i}*y$\n"),
        ('<math alttext="a&lt;b" class="ltx_Math" display="block"></math>', "$$a<b$$\n"),
        ('<p>a <math alttext="b" class="ltx_Math" display="block"></math> c</p>', "a\n\n$$b$$\n\nc\n"),
        ('<math alttext="a%\nb" class="ltx_Math"></math>', "$ab$\n"),
        ('<math alttext="50\\%\nb" class="ltx_Math"></math>', "$50\\% b$\n"),
        ('<math alttext="a\\ " class="ltx_Math"></math>', "$a\\ $\n"),
        ('<math alttext="a" class="ltx_Math"></math><math alttext="b" class="ltx_Math"></math>', "$a$ $b$\n"),
        (
            "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>{\\displaystyle x}</annotation></semantics></math>",
            "$x$\n",
        ),
        ("<math><mfrac><mn>1</mn><msup><mi>x</mi><mn>2</mn></msup></mfrac></math>", "$\\frac{1}{x^{2}}$\n"),
        (
            "<script type='math/tex'>a_b</script><script type='math/tex; mode=display'>c</script>",
            "$a_b$\n\n$$c$$\n",
        ),
        ("<p>costs $5 or $6</p>", "costs \\$5 or \\$6\n"),
    ],
)
def test_formulas(html: str, markdown: str) -> None:
    assert markdownify(html) == markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("let $x_i*y_i$ be", "let $x_i*y_i$ be\n"),
        ("$$a_b$$", "$$a_b$$\n"),
        ("\\(a_b\\) and \\[c_d\\]", "$a_b$ and\n\n$$c_d$$\n"),
        ("\\begin{align}a&amp;=b\\\\c&amp;=d\\end{align}", "$$\\begin{align}a&=b\\\\c&=d\\end{align}$$\n"),
        ("$\\text{if $x$}$", "$\\text{if $x$}$\n"),
        ("a \\$5 b", "a \\$5 b\n"),
        ("<code>$a$</code>", "`$a$`\n"),
        ("<span class=math-container>$a_b$</span>", "$a_b$\n"),
        ("a lone $ sign", "a lone \\$ sign\n"),
    ],
)
def test_mathjax_in_posts(html: str, markdown: str) -> None:
    assert markdownify(f"<p>{html}</p>", profile="stackexchange") == markdown


def test_strict_dollars_leave_money_alone() -> None:
    html = "<p>It costs $5 and $10, where $x^2$ is free.</p>"
    assert markdownify(html, dollars="strict") == "It costs \\$5 and \\$10, where $x^2$ is free.\n"


TEX = st.text(
    alphabet=st.sampled_from(list("abxy01+-*/_^{}[]()<>|&~`#!'\"= ,.;:\\%\n")), min_size=1, max_size=40
)


@given(TEX.filter(lambda tex: tex.strip() and "%" not in tex and "\\|" not in tex))
@settings(max_examples=400)
def test_formulas_come_through_byte_for_byte(tex: str) -> None:
    attribute = tex.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    wanted = " ".join(tex.split())
    odd = (len(wanted) - len(wanted.rstrip("\\"))) % 2
    for html in (
        f'<p>see <math class="ltx_Math" alttext="{attribute}"><mi>x</mi></math></p>',
        f'<p>see <math><semantics><mi>x</mi><annotation encoding="application/x-tex">{attribute}</annotation></semantics></math></p>',
    ):
        assert markdownify(html, profile="arxiv") == f"see ${wanted}{' ' * odd}$\n"


# -- interface


def test_the_result_tells_title_counters_and_language() -> None:
    conversion = convert(
        "<html lang=fr><head><title>A  b</title></head><body><h1>x</h1><p><b>y</b></p></body></html>"
    )
    assert conversion.title == "A b"
    assert conversion.metadata == {"language": "fr"}
    assert conversion.counters == {"emphasis": 1, "headings": 1, "page_titles_set_aside": 1}
    assert convert("x").counters == {}


@pytest.mark.parametrize(
    ("content", "text", "encoding"),
    [
        ("<p>é".encode(), "é\n", "utf-8"),
        ("<p>é".encode("cp1252"), "é\n", "cp1252"),
        ("<meta charset=iso-8859-1><p>é€".encode("cp1252"), "é€\n", "cp1252"),
        ("<meta charset=windows-1251><p>Привет".encode("cp1251"), "Привет\n", "cp1251"),
        (b"\xef\xbb\xbf<p>" + "é".encode(), "é\n", "utf-8"),
        (b"\xff\xfe" + "<p>é".encode("utf-16-le"), "é\n", "utf-16-le"),
        (b"<meta charset=no-such><p>a", "a\n", "utf-8"),
        (b"<meta charset=utf-16><p>a", "a\n", "utf-8"),
    ],
)
def test_bytes_are_decoded(content: bytes, text: str, encoding: str) -> None:
    conversion = convert(content)
    assert (conversion.markdown, conversion.encoding) == (text, encoding)


def test_invalid_utf8_is_counted() -> None:
    conversion = convert("<meta charset=utf-8><p>é".encode() + b"\xff\xfe x")
    assert conversion.markdown == "é\ufffd\ufffd x\n"
    assert conversion.counters["invalid_characters_replaced"] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "arxive"}, "profile"),
        ({"link": "keep"}, "Did you mean links?"),
        ({"links": "all"}, "Use one of keep, text"),
    ],
)
def test_unknown_options_are_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(SpecError, match=r"option|value") as caught:
        convert("a", **options)
    assert message in str(caught.value)


def test_long_pages_are_refused() -> None:
    with pytest.raises(InputError, match="longer than 10 characters"):
        convert("x" * 11, limits=Limits(max_bytes=10))


@pytest.mark.parametrize("profile", ["arxiv", "wikipedia", "stackexchange"])
def test_soft_hyphens_go_from_the_text_of_corpora_but_not_from_code(profile: str) -> None:
    html = "<p>Nieder&shy;kirch\u00adner <b>&shy;</b>a&shy;</p><pre>a\u00adb</pre>"
    result = convert(html, profile=profile)
    assert result.markdown == "Niederkirchner a\n\n```\na\u00adb\n```\n"
    assert result.counters["soft_hyphens_removed"] == 4
    assert "\u00ad" in convert(html, profile="web").markdown.split("```")[0]


def test_no_space_is_left_where_an_image_was_dropped() -> None:
    assert markdownify("<p>in (2022 <img src=x>) and <img src=y> b</p>", images="drop") == "in (2022) and b\n"


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("| a | b |<br>| --- | :-: |<br>| c | d |", "| a | b |  \n\\| --- | :-: |  \n| c | d |"),
        ("a | b<br>--- | ---", "a | b  \n\\--- | ---"),
        ("a<br>:--", "a  \n\\:--"),
        ("a<br>| - b |<br>:-)<br>|", "a  \n| - b |  \n:-)  \n|"),
    ],
)
def test_lines_of_text_are_no_table(html: str, markdown: str) -> None:
    assert convert(f"<p>{html}</p>").markdown == f"{markdown}\n"


@pytest.mark.parametrize("address", ["java\nscript:a", "\tj\tavascript:a", "vb\r\nscript:a", "d\nata:a"])
def test_schemes_that_run_are_known_in_pieces(address: str) -> None:
    assert convert(f'<p><a href="{address}">b</a><img src="{address}" alt="c"></p>').markdown == "bc\n"
