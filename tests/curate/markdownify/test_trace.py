"""What each rule did: the trace converts as ``convert`` does, names what it drops, and is bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tootsie.curate.markdownify import convert
from tootsie.curate.markdownify.trace import UNNAMED, TraceLimits, dropped_text, trace

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


def test_a_trace_is_bounded() -> None:
    traced = trace("<button>" + "long " * 50 + "</button><hr><hr><hr>", trace_limits=TraceLimits(2, 20, 10))
    assert [(event.rule, event.excerpt, event.dropped) for event in traced.events] == [
        ("forms_dropped", "long long…", "long long long long…"),
        ("rules", "", ""),
    ]
    assert traced.omitted == 2
    assert traced.conversion.counters == {"forms_dropped": 1, "rules": 3}
