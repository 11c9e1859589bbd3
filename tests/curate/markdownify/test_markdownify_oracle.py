"""The ``markdownify`` package as an oracle, on pages without any of the traps in which it is wrong."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import markdownify as package
import pytest
import typer.main
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tootsie.curate.markdownify import MarkdownConverter, markdownify
from tootsie.curate.markdownify.command import app
from tootsie.datasets.command_line import run_command

from .canonical import canonical

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
WORDS = st.lists(
    st.sampled_from(["a", "be", "sea", "Dée", "42", "x.", "(y)", "z,"]), min_size=1, max_size=4
).map(" ".join)
INLINE = st.one_of(
    WORDS,
    st.builds("<em>{}</em>".format, st.sampled_from(["a", "be", "sea", "a b"])),
    st.builds("<strong>{}</strong>".format, st.sampled_from(["a", "be", "sea", "a b"])),
    st.builds("<del>{}</del>".format, st.sampled_from(["a", "a b"])),
    st.builds("<code>{}</code>".format, st.sampled_from(["a", "a * b", "x_y_z"])),
    st.builds(
        '<a href="{}">{}</a>'.format,
        st.sampled_from(["http://h.x/a", "/u?v=w"]),
        st.sampled_from(["a", "a b"]),
    ),
    st.builds('<img src="{}" alt="{}">'.format, st.sampled_from(["i.png"]), st.sampled_from(["a", "a b"])),
)
LINE = st.lists(INLINE, min_size=1, max_size=4).map(" ".join)
PARAGRAPH = st.builds("<p>{}</p>".format, LINE)
HEADING = st.builds("<h{0}>{1}</h{0}>".format, st.integers(1, 6), WORDS)
ITEM = st.builds("<li>{}</li>".format, LINE)
ITEMS = st.lists(ITEM, min_size=1, max_size=3).map("".join)
LIST = st.builds("<{0}>{1}</{0}>".format, st.sampled_from(["ul", "ol"]), ITEMS)
NESTED = st.builds("<ul><li>{}{}</li>{}</ul>".format, LINE, LIST, ITEMS)
TABLE = st.builds(
    lambda head, rows: (
        "<table><tr>"
        + "".join(f"<th>{cell}</th>" for cell in head)
        + "</tr>"
        + "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        + "</table>"
    ),
    st.lists(WORDS, min_size=2, max_size=2),
    st.lists(st.lists(WORDS, min_size=2, max_size=2), min_size=1, max_size=3),
)
QUOTE = st.builds(
    "<blockquote>{}</blockquote>".format, st.lists(PARAGRAPH, min_size=1, max_size=2).map("".join)
)
CODE = st.builds("<pre><code>{}</code></pre>".format, st.sampled_from(["a", "a\n  b", "*x* # y"]))
SIMPLE = st.lists(st.one_of(PARAGRAPH, HEADING, CODE, TABLE), min_size=1, max_size=4).map("".join)


@st.composite
def pages(draw: st.DrawFn) -> str:
    """Blocks with a paragraph after each list, since two lists in a row are one to the package."""
    blocks = draw(
        st.lists(st.one_of(PARAGRAPH, HEADING, LIST, NESTED, QUOTE, CODE, TABLE), min_size=1, max_size=5)
    )
    return "".join(
        block + "<p>then</p>" if "<li>" in block or "<blockquote>" in block else block for block in blocks
    )


def theirs(html: str, **options: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(package.markdownify(html, heading_style="ATX", bullets="-", **options))


@given(SIMPLE)
@settings(max_examples=150)
def test_simple_blocks_are_written_alike(html: str) -> None:
    assert markdownify(html) == theirs(html) + "\n"


@given(pages())
@settings(max_examples=150)
def test_pages_read_alike(html: str) -> None:
    ours = canonical(READER.render(markdownify(html)), loose=True)
    assert ours == canonical(READER.render(theirs(html)), loose=True)
    assert ours == canonical(html, loose=True)


@given(pages())
@settings(max_examples=150)
def test_a_hook_for_every_element_gives_what_the_package_s_do(html: str) -> None:
    def hooked(base: Any) -> Any:
        def passing_on(name: str) -> Any:
            def method(self: Any, el: Any, text: str, parent_tags: Any) -> Any:
                return getattr(base, name)(self, el, text, parent_tags)

            return method

        tags = [
            "p",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "ul",
            "ol",
            "li",
            "blockquote",
            "pre",
            "table",
            "tr",
            "td",
            "th",
            "em",
            "strong",
            "del",
            "code",
            "a",
            "img",
        ]
        methods = {
            f"convert_{tag}": passing_on(f"convert_{tag}") for tag in tags if hasattr(base, f"convert_{tag}")
        }
        return type("Hooked", (base,), methods)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = hooked(package.MarkdownConverter)(heading_style="ATX").convert(html)
    converted = hooked(MarkdownConverter)(heading_style="ATX").convert(html)
    assert canonical(READER.render(converted), loose=True) == canonical(READER.render(expected), loose=True)


def run(*arguments: object) -> int:
    return run_command(typer.main.get_command(app), [str(argument) for argument in arguments], "markdownify")


def test_the_package_as_engine_takes_the_same_inputs_and_style(tmp_path: Path) -> None:
    pages_in = tmp_path / "in"
    pages_in.mkdir()
    (pages_in / "a.html").write_text("<h1>A</h1><p>b <b>c</b> <a href=u>d</a></p>")
    (pages_in / "b.html").write_text("<p>http://only.a/link</p>")
    style = ("--heading-style", "underlined", "--strip", "a,img", "--strong-em-symbol", "_")
    for engine in ("tootsie", "markdownify"):
        assert run(pages_in, "-o", tmp_path / engine, "--engine", engine, *style) == 0
        assert run(f"{pages_in}/*.html", "-o", tmp_path / f"{engine}-glob", "--engine", engine, *style) == 0
        for folder in (tmp_path / engine, tmp_path / f"{engine}-glob"):
            assert (folder / "a.md").read_text() == "A\n=\n\nb __c__ d\n"
            assert (folder / "b.md").read_text() == "http://only.a/link\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--engine", "markdownify", "--links", "text"),
            "--links: the markdownify package knows no profiles",
        ),
        (
            ("--engine", "markdownify", "--profile", "arxiv"),
            "--profile: the markdownify package knows no profiles",
        ),
        (("--engine", "markdownify", "--heading-style", "round"), "atx, atx_closed, underlined"),
        (("--newline-style", "crlf"), "spaces, backslash"),
        (("--strip", "a", "--convert", "b"), "exclude one another"),
    ],
)
def test_options_that_cannot_be_are_refused_before_a_page_is_read(
    arguments: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.html").write_text("a")
    assert run(tmp_path / "a.html", "-o", tmp_path / "a.md", *arguments) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "a.md").exists()
