"""The page that explains a conversion: what it says, that it is harmless and bounded, and that a browser shows it."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tootsie.curate.markdownify import Limits, convert
from tootsie.curate.markdownify.explain import PageLimits, explain
from tootsie.curate.markdownify.explain.rendering import MAX_FORMULA, render
from tootsie.datasets.errors import InputError

ATTACK = """<html><head><title>t</title><base href="https://example.org/"><meta http-equiv="refresh" content="0;url=https://example.org/">
<link rel=stylesheet href="https://example.org/a.css"><style>@import url(https://example.org/b.css); p{background:url(https://example.org/c.png)}</style>
</head><body onload="document.title='ran'"><h1>Title</h1>
<script>document.title = 'ran'; parent.document.title = 'ran'; parent.document.documentElement.dataset.ran = 'yes'</script>
<img src="https://example.org/d.png" onerror="parent.document.title='ran'"><svg onload="document.title='ran'"><script>1</script></svg>
<a href="javascript:parent.document.title='ran'">link</a><iframe srcdoc="<script>parent.parent.document.title='ran'</script>"></iframe>
<form action="https://example.org/"><button autofocus onfocus="parent.document.title='ran'">Save</button></form>
<p style="position:fixed" title='"><script>document.title="ran"</script>'>"&gt;&lt;/script&gt;&lt;script&gt;document.title='ran'&lt;/script&gt; &amp;quot;</p>
<p>x ]]&gt; --&gt; &lt;/textarea&gt; &lt;/title&gt; &lt;/iframe&gt; \u2028 &lt;!-- \\u003c/script\\u003e</p>
<pre>&lt;script&gt;document.title='ran'&lt;/script&gt;</pre>
<math alttext="\\frac{a}{b}"><mi>x</mi></math> <math><annotation encoding="application/x-tex">\\href{javascript:1}{x}</annotation></math>
<p>The end.</p></body></html>"""


class Tags(HTMLParser):
    """Collects the tags of a file and the files in its frames."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        for name, value in attrs:
            if name == "srcdoc":
                self.feed_frame(value or "")

    def feed_frame(self, content: str) -> None:
        inner = Tags()
        inner.feed(content)
        self.tags += [(f"frame {tag}", attributes) for tag, attributes in inner.tags]


def tags_of(page: str) -> list[tuple[str, dict[str, str | None]]]:
    reader = Tags()
    reader.feed(page)
    return reader.tags


def data_of(page: str) -> Any:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    return json.loads(match.group(1))


def test_the_file_holds_the_rules_the_events_and_both_sides() -> None:
    page = explain("<h1>Title</h1><p>one <b>two</b> <button>Save</button></p>", name="a.html")
    rules = re.findall(r'<details class="(\w+)" id="(\w+)"[^>]*>.*?<span>(\d+)</span>', page)
    assert rules == [("kept", "headings", "1"), ("kept", "emphasis", "1"), ("dropped", "forms_dropped", "1")]
    assert [(event[2], event[4]) for event in data_of(page)["events"]] == [
        ("html > body > h1", ""),
        ("html > body > p > b", ""),
        ("html > body > p > button", "Save"),
    ]
    assert "<h1>a.html</h1>" in page
    assert "# Title\n\none **two**" in page
    assert '<p data-lines="2-3">one <strong>two</strong></p>' in page
    frame = next(attributes["srcdoc"] for tag, attributes in tags_of(page) if tag == "iframe")
    assert re.search(r'<span class="dropped" data-n="\d+" title="forms_dropped">Save</span>', frame or "")


@pytest.mark.parametrize("profile", ["web", "arxiv", "wikipedia", "stackexchange"])
def test_nothing_of_a_hostile_page_can_run_or_load(profile: str) -> None:
    page = explain(ATTACK, profile=profile, name="<script>x</script>")
    tags = tags_of(page)
    assert [tag for tag, _ in tags if tag.endswith("script")] == ["script", "script"]  # the data and our own
    assert [
        tag
        for tag, _ in tags
        if tag.split()[-1] in ("link", "base", "iframe", "img", "object", "form", "svg")
    ] == ["iframe"]
    assert [attributes["sandbox"] for tag, attributes in tags if tag == "iframe"] == ["allow-same-origin"]
    for _, attributes in tags:
        assert not [
            name for name in attributes if name.startswith("on") or name in ("href", "src", "action", "style")
        ]
    [policy] = [attributes["content"] or "" for tag, attributes in tags if attributes.get("http-equiv")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "The end." in page


def test_astral_characters_do_not_shift_the_places() -> None:
    page = explain("<p>\U0001d4d0\U0001d4d1 <b>bold</b></p>")
    [event] = data_of(page)["events"]
    units = convert("<p>\U0001d4d0\U0001d4d1 <b>bold</b></p>").markdown.encode("utf-16-le")
    assert units[2 * event[5] : 2 * event[6]].decode("utf-16-le") == "bold"


def test_long_pages_are_cut_and_the_file_says_so() -> None:
    page = explain("<p>long <b>text</b></p>" * 5_000, page_limits=PageLimits(1_000, 20_000, 10_000, 100))
    assert len(page) < 600_000
    assert "cut: the page, its HTML, the Markdown, the list of events" in page
    with pytest.raises(InputError, match="longer than"):
        explain("x" * 100, limits=Limits(max_bytes=10))


PAGES: dict[str, Callable[[], str]] = {
    "deep": lambda: "<div>" * 50_000 + "x" + "<b>y",
    "spans": lambda: "<span title=a>" * 20_000 + "x",
    "formulas": lambda: (
        "<math alttext='" + "\\frac{" * 3_000 + "'></math>" + "<math alttext='x'></math>" * 8_000
    ),
    "dollars": lambda: "<p>" + "$" * 50_000,
    "unclosed formulas": lambda: "<pre>" + "x\n" * 10 + "</pre><p>" + "<i>$</i>a {" * 20_000,
    "brackets": lambda: "<p>" + "[^a]: " * 5_000 + "](" * 5_000,
    "words": lambda: "<p>" + "a b " * 20_000 + "<button>" + "b a " * 20_000,
    "attributes": lambda: "<p " + " ".join(f"a{i}=1" for i in range(5_000)) + ">x",
    "no body": lambda: "<frameset><frame src=x></frameset>",
    "nothing": lambda: "",
    "instruction": lambda: "<svg><?php x ?><text>y</text></svg><p>z",
}


@pytest.mark.parametrize("name", PAGES)
def test_hostile_pages_are_explained(name: str) -> None:
    page = PAGES[name]()
    assert "</html>" in explain(page, profile="arxiv" if name == "formulas" else "web")


def test_rendering_of_formulas_notes_and_tables() -> None:
    page = render(
        "a $x_{1}$, \\$5[^1] <b onclick=x>b</b>\n\n$$\\begin{aligned}a&=b\\end{aligned}$$\n\n[^1]: the $n$ote\n",
        1_000,
    )
    assert "<msub><mi>x</mi>" in page.html
    assert "$5<sup>1</sup> <b>b</b>" in page.html
    assert '<div data-lines="2-3"><math display="block"><mrow><mtable' in page.html
    assert '<div data-lines="4-5"><sup>1</sup><p data-lines="4-5">the <math' in page.html
    assert (page.formulas, page.not_set, page.whole) == (3, 0, True)


@pytest.mark.parametrize(
    "tex", ["\\foo{x}", "{" * 2_000 + "}" * 2_000, "x" * (MAX_FORMULA + 1), "\\mbox{if $x$}"]
)
def test_formulas_beyond_the_library_are_shown_as_they_are(tex: str) -> None:
    page = render(f"${tex}$", 100_000)
    assert page.html == f'<p data-lines="0-1"><code>{html.escape(tex)}</code></p>\n'
    assert (page.formulas, page.not_set) == (1, 1)


# -- in a browser


def shown(page: str, folder: Path, fragment: str = "") -> dict[str, str]:
    """Open the file in Chromium and return what its script notes about itself, and the title."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here: what a browser shows is not checked")
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}",
            "--window-size=1600,1200", "--virtual-time-budget=20000", "--dump-dom", f"{file.as_uri()}{fragment}",
        ],
        capture_output=True,
        timeout=180,
        check=False,
    )  # fmt: skip
    dom = done.stdout.decode("utf-8", "replace")
    assert "</html>" in dom, done.stderr.decode("utf-8", "replace")[-2000:]
    [(_, attributes)] = [entry for entry in tags_of(dom)[:1] if entry[0] == "html"]
    found = {name.removeprefix("data-"): value or "" for name, value in attributes.items()}
    title = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    return found | {"title": title.group(1) if title else ""}


def test_a_browser_shows_rules_formulas_and_places(tmp_path: Path) -> None:
    page = explain(
        "<h1>Title</h1><p>Let <math alttext='x^{2}'><mi>x</mi></math> and <math alttext='\\frac{a}{b}'></math> be <b>so</b>."
        "<button>Save</button></p><table><tr><th>a<th>b<tr><td>1<td>2</table>" + "<p>long text</p>" * 10_000,
        profile="arxiv",
    )
    found = shown(page, tmp_path, "#tables_gfm")
    assert found["ready"] == "yes"
    assert (found["rules"], found["formulas"], found["dropped"]) == ("6", "2", "1")
    assert (found["shown"], found["placed"]) == ("1", "1")


def test_the_policy_of_the_file_stops_what_would_slip_through(tmp_path: Path) -> None:
    page = explain("<p>x</p>")
    evil = "<script>parent.document.documentElement.dataset.ran = 'yes'</script><img src=x onerror=\"parent.document.title='ran'\">"
    page = page.replace("<body>", f"<body>{evil}", 1).replace('srcdoc="', f'srcdoc="{html.escape(evil)}', 1)
    found = shown(page, tmp_path)
    assert found["ready"] == "yes"
    assert "ran" not in found
    assert found["title"] == "page explained"


def test_no_script_of_the_page_runs_in_a_browser(tmp_path: Path) -> None:
    found = shown(explain(ATTACK, name="attack"), tmp_path)
    assert found["title"] == "attack explained"
    assert found["ready"] == "yes"
    assert "ran" not in found


@pytest.mark.parametrize(
    ("pattern", "profile"),
    [("ar5iv/*/emcee.html", "arxiv"), ("wikipedia/parsoid/en/*oset.html", "wikipedia")],
)
def test_a_browser_shows_real_pages(pattern: str, profile: str, shared_data: Path, tmp_path: Path) -> None:
    page = sorted(shared_data.glob(pattern))[0].read_bytes()
    conversion = convert(page, profile=profile)
    found = shown(explain(page, profile=profile), tmp_path)
    # Rules may have been found by the trace that have no counter of their own in the conversion.
    assert int(found["rules"]) >= len(conversion.counters)
    formulas = conversion.counters.get("formulas_inline", 0) + conversion.counters.get("formulas_display", 0)
    assert formulas * 0.97 <= int(found["formulas"]) <= formulas
    assert int(found["dropped"]) > 0
