"""``MarkdownConverter``: what subclasses in the wild do with hooks still works, over this engine."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin

import pytest
from bs4 import BeautifulSoup, NavigableString, Tag

from tootsie.curate.markdownify import (
    ATX,
    BACKSLASH,
    Limits,
    MarkdownConverter,
    abstract_inline_conversion,
    markdownify,
)
from tootsie.datasets.errors import InputError, SpecError


def test_without_hooks_it_is_the_engine_in_the_package_s_form() -> None:
    html = "<h1>A</h1><ul><li>b<ul><li>c</ul></ul><p>x<sub>2</sub> <math alttext='y_1'></math>"
    assert MarkdownConverter().convert(html) == "A\n=\n\n* b\n  + c\n\nx2 $y_1$"
    form = {"heading_style": "underlined", "bullets": "*+-", "sub": "", "strip_document": "strip"}
    assert MarkdownConverter().convert(html) == markdownify(html, **form)


def test_images_as_blocks() -> None:
    class Images(MarkdownConverter):
        def convert_img(self, el: Any, text: str, parent_tags: Any) -> str:
            return super().convert_img(el, text, parent_tags) + "\n\n"

    converter = Images()
    assert converter.convert("<p>a <img src=i alt='b c' title=t> d</p>") == 'a\n\n![b c](i "t")\n\nd'
    assert converter.convert("<a href=u><img src=i></a>") == "[![](i)](u)"
    assert converter.convert("<h3>a <img src=i alt=b></h3>") == "### a b"


def test_links_made_absolute_by_changing_the_attribute() -> None:
    class Absolute(MarkdownConverter):
        def convert_a(self, el: Any, text: str, parent_tags: Any) -> str:
            el["href"] = urljoin(self.options["base"], el.get("href", ""))
            return super().convert_a(el, text, parent_tags)

    html = "<p>see <a href='/u' title='t'>the <b>page</b></a>.</p>"
    assert Absolute(base="https://h.x/").convert(html) == 'see [the **page**](https://h.x/u "t").'


def test_links_as_text_but_in_one_class() -> None:
    class Chosen(MarkdownConverter):
        def convert_a(self, el: Any, text: str, parent_tags: Any) -> str:
            return super().convert_a(el, text, parent_tags) if "keep" in el.get("class", []) else text

    assert Chosen().convert("<a href=u class='keep x'>a</a> <a href=v>b</a>") == "[a](u) b"


def test_the_language_of_code_from_the_element_inside() -> None:
    class Code(MarkdownConverter):
        def convert_pre(self, el: Any, text: str, parent_tags: Any) -> str:
            code = el.find("code")
            names = (code.get("class") if code else None) or [""]
            return f"\n```{names[0].removeprefix('hl-')}\n{text.strip()}\n```\n"

        def convert_code(self, el: Any, text: str, parent_tags: Any) -> str:
            return text if el.parent.name == "pre" else super().convert_code(el, text, parent_tags)

    html = "<p>z<code> x`y*</code></p><pre><code class=hl-js>a *\n  b</code></pre>c"
    assert Code().convert(html) == "z ``x`y*``\n\n```js\na *\n  b\n```\n\nc"


def test_a_rule_of_the_base_keeps_what_is_hard() -> None:
    class Same(MarkdownConverter):
        def convert_pre(self, el: Any, text: str, parent_tags: Any) -> str:
            return super().convert_pre(el, text, parent_tags)

        def convert_code(self, el: Any, text: str, parent_tags: Any) -> str:
            return super().convert_code(el, text, parent_tags)

    html = "<pre class='language-sh'>```\na</pre><code>`b`</code>"
    assert Same().convert(html) == "````sh\n```\na\n````\n\n`` `b` ``"


def test_task_lists() -> None:
    class Tasks(MarkdownConverter):
        def convert_li(self, el: Any, text: str, parent_tags: Any) -> str:
            mark = "[x] " if "done" in el.get("class", []) else "[ ] "
            return super().convert_li(el, mark + text, parent_tags)

    html = "<p>p</p><ul>\n<li class=done>a</li>\n<li>b<ul><li>c</li></ul></li></ul><p>q</p><ol start=3><li>x<li>y</ol>"
    assert Tasks().convert(html) == "p\n\n* [x] a\n* [ ] b\n  + [ ] c\n\nq\n\n3. [ ] x\n4. [ ] y"


def test_check_boxes() -> None:
    class Boxes(MarkdownConverter):
        def convert_input(self, el: Any, text: str, parent_tags: Any) -> str:
            return "[x] " if el.has_attr("checked") else "[ ] "

    assert (
        Boxes(bullets="-").convert("<ul><li><input type=checkbox checked>a<li><input>b</ul>")
        == "- [x] a\n- [ ] b"
    )


def test_cells() -> None:
    class Cells(MarkdownConverter):
        def convert_td(self, el: Any, text: str, parent_tags: Any) -> str:
            return super().convert_td(el, text.upper(), parent_tags)

    html = "a<table>\n<tr><th>h</th><th>i</th></tr>\n<tr> <td>x|y</td> <td colspan=2>z</td> </tr></table>b"
    assert Cells().convert(html) == "a\n\n| h | i |\n| --- | --- |\n| X\\|Y | Z |  |\n\nb"


def test_tables_of_which_some_stay_html() -> None:
    class Tables(MarkdownConverter):
        def convert_table(self, el: Any, text: str, parent_tags: Any) -> str:
            if el.find_all(rowspan=True):
                return f"\n\n{el}\n\n"
            return super().convert_table(el, text, parent_tags)

    plain = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    spanned = '<table><tbody><tr><td rowspan="2">1</td><td>2</td></tr></tbody></table>'
    assert Tables().convert(plain + spanned) == f"| a | b |\n| --- | --- |\n| 1 | 2 |\n\n{spanned}"


def test_headings_a_level_down() -> None:
    class Lower(MarkdownConverter):
        def convert_hN(self, n: int, el: Any, text: str, parent_tags: Any) -> str:  # noqa: N802
            return super().convert_hN(n + 1, el, text, parent_tags)

    assert Lower(heading_style=ATX).convert("<h1>a</h1>b<h6>c</h6>") == "## a\n\nb\n\n###### c"


def test_one_level_of_headings() -> None:
    class Rst(MarkdownConverter):
        def convert_h1(self, el: Any, text: str, parent_tags: Any) -> str:
            return f"\n\n{text}\n{'*' * len(text)}\n\n"

    assert Rst().convert("<h1>a b</h1><h2>c</h2>") == "a b\n***\n\nc\n-"


def test_hooks_of_older_versions() -> None:
    class Old(MarkdownConverter):
        def convert_hn(self, n: int, el: Any, text: str, convert_as_inline: bool) -> str:
            return "\n" + super().convert_hn(n, el, text, convert_as_inline)

        def convert_b(self, el: Any, text: str, convert_as_inline: bool) -> str:
            return f"{'in' if convert_as_inline else 'out'}:{super().convert_b(el, text, convert_as_inline)}"

        def convert_i(self, el: Any, text: str) -> str:
            return f"/{text}/"

        def convert_u(self, el: Any, text: str, *args: Any, **options: Any) -> str:
            return f"<u>{text}</u>"

        @staticmethod
        def convert_mark(el: Any, text: str, parent_tags: Any) -> str:
            return f"=={text}=="

    html = "<h3>a <b>b</b></h3><p><b>c</b> <i>d</i> <u>e</u> <mark>f</mark></p>"
    assert Old().convert(html) == "### a in:**b**\n\nout:**c** /d/ <u>e</u> ==f=="


def test_elements_that_html_does_not_know() -> None:
    class Macros(MarkdownConverter):
        def convert_ac_structured_macro(self, el: Any, text: str, parent_tags: Any) -> str:
            body = el.find("ac:rich-text-body")
            return f"\n\n> {el.get('ac:name').upper()}: {self.convert(str(body))}\n\n"

        def convert_custom_tag(self, el: Any, text: str, parent_tags: Any) -> str:
            return f"<<{text}>>"

    html = (
        "x<ac:structured-macro ac:name='note'><ac:rich-text-body>a <b>b</b></ac:rich-text-body></ac:structured-macro>"
        "y <custom-tag>z</custom-tag>"
    )
    assert Macros().convert(html) == "x\n\n> NOTE: a **b**\n\ny <<z>>"


def test_spans_by_class_and_style() -> None:
    class Marks(MarkdownConverter):
        def convert_span(self, el: Any, text: str, parent_tags: Any) -> str:
            if "hl" in el.get("class", []):
                return f"=={text}=="
            return f'<span style="{el["style"]}">{text}</span>' if el.get("style") else text

        def convert_sup(self, el: Any, text: str, parent_tags: Any) -> str:
            return f"^{text}^"

    html = (
        "<p>a<sup>2</sup> <span class='hl x'>b *c*</span> <span>d</span><span style='color: red'>e</span></p>"
    )
    assert Marks().convert(html) == 'a^2^ ==b \\*c\\*== d<span style="color: red">e</span>'


def test_what_stands_around_a_hook_sees_what_it_returned() -> None:
    class Links(MarkdownConverter):
        def convert_a(self, el: Any, text: str, parent_tags: Any) -> str:
            return super().convert_a(el, text, parent_tags)

        def convert_br(self, el: Any, text: str, parent_tags: Any) -> str:
            return super().convert_br(el, text, parent_tags)

        def convert_u(self, el: Any, text: str, parent_tags: Any) -> str:
            return f" {text.upper()} "

    def same(html: str) -> bool:
        return Links().convert(html) == MarkdownConverter().convert(html)

    assert same("<p>可以指<b><a href=u>喵</a></b>。</p>")
    assert same("<p>a<b><a href=u>b</a></b>c<i><a href=v>d</a> e</i></p>")
    assert same("<a href=u>t]</a><a href=u>[1]</a>")
    assert same("<ul><li><a href=u>a </a></li></ul><p>b<a href=v> c</a></p>")
    assert same("zu<a href=u>&nbsp;a</a> <a href=v>&nbsp;</a>")
    assert same("<a href='javascript:x()'>a</a>")
    assert same("<table role=presentation><tr><td><a href=u><img src=i alt=a></a><td>b</table>")
    assert same("<p>a<br>b</p><ul><li>c<br>d<br></ul>")
    assert Links().convert("a<b><u>b</u></b>c <u>d</u>") == "a **B** c D"


def test_elements_left_out() -> None:
    class Clean(MarkdownConverter):
        def convert_div(self, el: Any, text: str, parent_tags: Any) -> str:
            return "" if "ad" in el.get("class", []) else super().convert_div(el, text, parent_tags)

        def convert_nav(self, el: Any, text: str, parent_tags: Any) -> str | None:
            return None

    assert Clean().convert("<nav>x</nav><div class=ad>y</div><div>a<div>b</div></div>c") == "a\n\nb\n\nc"


def test_formulas_by_a_hook() -> None:
    class Math(MarkdownConverter):
        def convert_math(self, el: Any, text: str, parent_tags: Any) -> str:
            return f"\\({text.strip('$')}\\)"

    assert Math().convert("<p>a <math alttext='x_1 * y'></math></p>") == "a \\(x_1 * y\\)"


def test_text_unescaped() -> None:
    class Raw(MarkdownConverter):
        def escape(self, text: str, parent_tags: Any = None) -> str:
            return text

    class Dots(MarkdownConverter):
        def escape(self, text: str) -> str:
            return text.replace(".", "\\.")

    assert Raw().convert("<p># a_b_ *c*<br>1. d</p>") == "# a_b_ *c*  \n1. d"
    assert Dots().convert("<p>a. b</p>") == "a\\. b"


def test_other_marks_for_emphasis() -> None:
    class Marks(MarkdownConverter):
        convert_i = abstract_inline_conversion(lambda self: "__")
        convert_b = abstract_inline_conversion(lambda self: "<mark>")

    assert Marks().convert("a<i> b</i> <b>c</b>") == "a __b__ <mark>c</mark>"


def test_defaults_of_a_subclass() -> None:
    class Mine(MarkdownConverter):
        class Options(MarkdownConverter.DefaultOptions):
            heading_style = ATX
            bullets = "-"
            newline_style = BACKSLASH

    assert Mine().convert("<h1>a</h1><ul><li>b<br>c</ul>") == "# a\n\n- b\\\n  c"
    assert Mine(heading_style="underlined").convert("<h1>a</h1>") == "a\n="


def test_soup_is_taken_whole_in_part_and_changed() -> None:
    class Changed(MarkdownConverter):
        def convert_soup(self, soup: Any) -> str:
            for nav in soup.find_all("nav"):
                nav.decompose()
            return re.sub("b+", "b", super().convert_soup(soup))

    soup = BeautifulSoup("<p>a</p><div><b>b</b> <i>c</i></div>", "html.parser")
    assert MarkdownConverter().convert_soup(soup) == "a\n\n**b** *c*"
    assert MarkdownConverter().convert_soup(soup.div) == "**b** *c*"
    assert Changed().convert("<nav>x</nav><p>abbb</p>") == "ab"


def test_hooks_that_convert_a_child_themselves() -> None:
    class Figures(MarkdownConverter):
        def convert_figure(self, el: Any, text: str, parent_tags: Any) -> str:
            caption = el.find("figcaption")
            return f"\n\n{self.process_tag(el.img, parent_tags)} ({self.process_tag(caption).strip()})\n\n"

    html = "<figure><img src=i alt=a><figcaption>a <b>b</b></figcaption></figure>"
    assert Figures().convert(html) == "![a](i) (a **b**)"


def test_what_a_hook_returns_is_markdown_and_stays_as_it_is() -> None:
    class Callouts(MarkdownConverter):
        def convert_aside(self, el: Any, text: str, parent_tags: Any) -> str:
            return f"# *{text}* [x]\n- y\n"

        def convert_mark(self, el: Any, text: str, parent_tags: Any) -> str:
            return f"# {text}"

    assert Callouts().convert("<p>p</p><aside>a_b_</aside>q") == "p\n\n# *a_b\\_* [x]\n- y\n\nq"
    assert Callouts().convert("<p><mark>a</mark> b</p>") == "# a b"


def test_hooks_know_where_they_are() -> None:
    seen: list[tuple[str, set[str]]] = []

    class Watching(MarkdownConverter):
        def convert_b(self, el: Any, text: str, parent_tags: set[str]) -> str:
            seen.append((text, parent_tags))
            return text

    Watching().convert("<h2><b>a</b></h2><ul><li><p><b>b</b></ul><table><tr><th>x<td><b>c</b></table>")
    assert [text for text, _ in seen] == ["a", "b", "c"]
    assert {"h2", "_inline", "[document]"} <= seen[0][1]
    assert {"ul", "li", "p"} <= seen[1][1]
    assert "_inline" not in seen[1][1]
    assert {"table", "td", "_inline"} <= seen[2][1]


def test_the_document_in_its_last_form() -> None:
    class Framed(MarkdownConverter):
        def convert__document_(self, el: Any, text: str, parent_tags: Any) -> str:
            return (
                f"---\ntitle: {el.title.string}\n---\n{super().convert__document_(el, text, parent_tags)}\n"
            )

    assert Framed().convert("<title>t</title><p>a</p>") == "---\ntitle: t\n---\na\n"


def test_profiles_and_policies_go_together_with_hooks() -> None:
    class Bold(MarkdownConverter):
        def convert_b(self, el: Any, text: str, parent_tags: Any) -> str:
            return f"!{text}!"

    html = "<p>a<sup class='reference'><a href='#cite_note-1'>[1]</a></sup> <b>b</b> <a href=u>c</a></p>"
    assert Bold(profile="wikipedia", links="keep").convert(html) == "a !b! [c](u)"


def test_options_leave_hooks_out() -> None:
    class Bold(MarkdownConverter):
        def convert_b(self, el: Any, text: str, parent_tags: Any) -> str:
            return f"!{text}!"

    assert Bold(strip=["b"]).convert("<b>a</b>") == "a"
    assert Bold(convert=["b"]).convert("<i>c</i><b>a</b>") == "c!a!"


def test_elements_are_beautiful_soup_s_to_isinstance() -> None:
    kinds: list[tuple[bool, bool]] = []

    class Kinds(MarkdownConverter):
        def convert_div(self, el: Any, text: str, parent_tags: Any) -> str:
            kinds.extend(
                (isinstance(child, Tag), isinstance(child, NavigableString)) for child in el.children
            )
            return text

    Kinds().convert("<div>a<b>b</b></div>")
    assert kinds == [(False, True), (True, False)]


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        (lambda: MarkdownConverter(heading_stile="atx"), "Did you mean heading_style?"),
        (lambda: MarkdownConverter(strip=["a"], convert=["b"]), "exclude one another"),
        (lambda: MarkdownConverter(newline_style="x"), "spaces, backslash"),
        (lambda: type("T", (MarkdownConverter,), {"process_tag": str})(), "never calls"),
        (lambda: type("T", (MarkdownConverter,), {"should_convert_tag": str})(), "never calls"),
        (lambda: _hook(lambda el: el.decompose()), "cannot be changed"),
    ],
)
def test_what_cannot_work_is_refused(convert: Any, message: str) -> None:
    with pytest.raises(SpecError) as error:
        convert()
    assert message in str(error.value)


def _hook(action: Any) -> str:
    class Hooked(MarkdownConverter):
        def convert_p(self, el: Any, text: str, parent_tags: Any) -> str:
            action(el)
            return text

    return Hooked().convert("<p>a</p>")


def test_hostile_pages_stay_cheap_with_hooks() -> None:
    class All(MarkdownConverter):
        def convert_li(self, el: Any, text: str, parent_tags: Any) -> str:
            return super().convert_li(el, text, parent_tags)

        def convert_div(self, el: Any, text: str, parent_tags: Any) -> str:
            return super().convert_div(el, text, parent_tags)

        def convert_b(self, el: Any, text: str, parent_tags: Any) -> str:
            return super().convert_b(el, text, parent_tags)

    for tag in ("<div>", "<b>", "<ul><li>", "<blockquote>", "<x-y>"):
        converted = All().convert(tag * 20_000 + "inside" + "</p>after")
        assert "inside" in converted
        assert "after" in converted
        assert len(converted) < 200_000
    assert All().convert("<ol>" + "<li>a" * 20_000).endswith("\n20000. a")
    with pytest.raises(InputError):
        All(limits=Limits(max_bytes=10)).convert("more than ten bytes")


@pytest.mark.parametrize(
    "html", ["<h1>t<ul><li>a <b>x</b></li></ul>c</h1>", "<h1>t<ul>a <b>x</b></ul>c</h1>"]
)
def test_what_a_hook_returns_stands_in_a_list_that_is_a_line(html: str) -> None:
    class Bold(MarkdownConverter):
        def convert_b(self, el: Any, text: str, parent_tags: Any) -> str:
            return f"<{text}>"

    assert Bold(heading_style="atx").convert(html) == "# t a <x> c"
