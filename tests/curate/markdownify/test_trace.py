"""What each rule did: the trace converts as ``convert`` does, names what it drops, and is bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tootsie.curate.markdownify import convert
from tootsie.curate.markdownify.trace import TraceLimits, dropped_text, trace
from tootsie.curate.markdownify.tracer import UNNAMED

FOLDERS = [("ar5iv", "arxiv"), ("wikipedia", "wikipedia"), ("web", "web")]


@pytest.mark.parametrize(
    ("html", "options", "expected"),
    [
        ("<p>Kept</p>", {}, []),
        ("<p>Save <button>Now</button></p>", {}, [("forms_dropped", "Now")]),
        ("<p hidden>Not shown</p><p>Shown", {}, [("hidden_dropped", "Not shown")]),
        ("<p>a<noscript>Turn it on</noscript>", {}, [("noscript_dropped", "Turn it on")]),
        ("<script>let a</script><style>p{}</style><title>T</title>", {}, []),
        (
            '<p>A<sup class="mw-ref"><a href="#cite_note-1">[1]</a></sup></p>',
            {"profile": "wikipedia"},
            [("citations_dropped", "[1]")],
        ),
        (
            '<div class="ltx_authors"><span class="ltx_personname">A. Uthor</span></div>',
            {"profile": "arxiv"},
            [("authors_set_aside", "A. Uthor")],
        ),
        # Text that is read and goes later on, with the list, section or cell it stands in.
        (
            '<p>A</p><ol class="references"><li><span class="mw-reference-text">Never mentioned</span> stray</li></ol>',
            {"profile": "wikipedia"},
            [("references_dropped", "stray"), ("references_dropped", "Never mentioned")],
        ),
        (
            "<p>Kept</p><h2>Nothing follows</h2>",
            {"profile": "wikipedia"},
            [("empty_sections_dropped", "Nothing follows")],
        ),
        (
            "<table><tr><th>A<th hidden>Not shown<tr><td>1<td>2</table>",
            {},
            [("hidden_dropped", "Not shown")],
        ),
        # Markup inside a word, moved notes and repeated words are no losses.
        ("<p>un<b>believ</b>able <code>a</code>s H<sub>2</sub>O a a a b", {}, []),
        (
            "<p>snake_case *star* [1] <a href='/long/path'>x</a>y 5 &lt; 6</p><pre>&lt;p&gt; a[1] `x`</pre>",
            {},
            [],
        ),
        ("<p>漢字<b>かな</b>まじり文</p>", {}, []),
    ],
)
def test_dropped_text_is_given_with_the_rule_that_dropped_it(
    html: str, options: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert dropped_text(html, **options) == expected


def test_an_event_says_which_rule_did_what_where() -> None:
    traced = trace(
        '<div class="a b c"><h2>Head</h2><p>one <code>x = 1</code></p><select><option>Pick</select></div>'
    )
    assert [
        (event.rule, event.effect, event.path, event.excerpt, event.dropped) for event in traced.events
    ] == [
        ("headings", "kept", "html > body > div.a.b > h2", "Head", ""),
        ("code_spans", "kept", "body > div.a.b > p > code", "x = 1", ""),
        ("forms_dropped", "dropped", "html > body > div.a.b > select", "Pick", "Pick"),
    ]
    assert traced.events[0].element < traced.events[1].element


@pytest.mark.parametrize(("folder", "profile"), FOLDERS)
def test_real_pages_convert_as_without_a_trace_and_drop_nothing_without_a_name(
    folder: str, profile: str, shared_data: Path
) -> None:
    for path in sorted((shared_data / folder).rglob("*.html")):
        page = path.read_bytes()
        traced = trace(page, profile=profile)
        assert traced.conversion == convert(page, profile=profile), path
        assert [event for event in traced.events if event.rule == UNNAMED] == [], path


def test_what_is_found_in_text_belongs_to_the_element_around_it() -> None:
    traced = trace("<div><p>a <i>b</i> $x$</p> $y$</div>", dollars="all")
    assert [(event.rule, event.path) for event in traced.events] == [
        ("formulas_inline", "html > body > div"),
        ("formulas_inline", "html > body > div > p"),
        ("emphasis", "body > div > p > i"),
    ]


@pytest.mark.parametrize(
    ("html", "element", "markdown"),
    [
        ("<p>one two</p><p>one <b>two</b></p>", "p > b", "two"),
        ("<p>a</p><p>see <a href='/u'>the link</a></p>", "p > a", "the link"),
        ("<p>let <math alttext='x^{2}'></math> be</p>", "p > math", "x^{2"),
        ("<ul><li>x<li>y</ul>", "html > body > ul", "x\n- y"),
    ],
)
def test_an_event_tells_what_the_element_became(html: str, element: str, markdown: str) -> None:
    traced = trace(html)
    [event] = {event.span for event in traced.events if event.path.endswith(element)}
    assert traced.conversion.markdown[slice(*event)] == markdown


def test_what_was_left_out_has_an_empty_span_where_it_would_have_stood() -> None:
    traced = trace("<p>before <button>Save</button>after</p>")
    [event] = traced.events
    assert traced.conversion.markdown[: event.span[0]] == "before"
    assert event.span[0] == event.span[1]


def test_a_page_too_long_to_align_still_names_whole_elements() -> None:
    traced = trace("<h1>Title</h1><button>Save</button>", trace_limits=TraceLimits(max_characters=5))
    assert traced.dropped == [("forms_dropped", "Save")]
    assert {event.span for event in traced.events} == {(0, 0)}


def test_a_trace_is_bounded() -> None:
    traced = trace("<button>" + "long " * 50 + "</button><hr><hr><hr>", trace_limits=TraceLimits(2, 20, 10))
    assert [(event.rule, event.excerpt, event.dropped) for event in traced.events] == [
        ("forms_dropped", "long long…", "long long long long…"),
        ("rules", "", ""),
    ]
    assert traced.omitted == 2
    assert traced.conversion.counters == {"forms_dropped": 1, "rules": 3}
