from __future__ import annotations

import pytest

from tootsie.curate.stackexchange_math import (
    ESCAPED,
    NONE,
    PLAIN,
    Delimiters,
    delimiters_of,
    with_plain_delimiters,
)
from tootsie.curate.stackexchange_sites import OWN_HOSTS, SAMPLE, SITES


@pytest.mark.parametrize(
    ("host", "delimiters"),
    [
        ("math.stackexchange.com", Delimiters.PLAIN),
        ("math.meta.stackexchange.com", Delimiters.PLAIN),
        ("mathoverflow.net", Delimiters.PLAIN),
        ("meta.mathoverflow.net", Delimiters.PLAIN),
        ("electronics.stackexchange.com", Delimiters.ESCAPED),
        ("stackoverflow.com", Delimiters.NONE),
        ("meta.stackoverflow.com", Delimiters.NONE),
        ("meta.stackexchange.com", Delimiters.DOUBTFUL),
        ("unix.meta.stackexchange.com", Delimiters.NONE),
        ("ru.stackoverflow.com", Delimiters.DOUBTFUL),
        ("brandnew.stackexchange.com", Delimiters.DOUBTFUL),
    ],
)
def test_delimiters_of(host: str, delimiters: Delimiters) -> None:
    assert delimiters_of(host) is delimiters


def test_the_tables_name_sites() -> None:
    assert {SAMPLE} | SITES | OWN_HOSTS.keys() >= PLAIN | ESCAPED | NONE
    assert len(PLAIN | ESCAPED | NONE) == len(PLAIN) + len(ESCAPED) + len(NONE)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"<p>\$V_{in} = 3\$ costs $5 and $$x$$</p>", r"<p>\(V_{in} = 3\) costs $5 and $$x$$</p>"),
        (r"<p><code>\$a\$</code> \$c\$</p>", r"<p><code>\$a\$</code> \(c\)</p>"),
        (
            r"<pre class='x'><code>\$a</code>\$ b</pre>\$c\$",
            r"<pre class='x'><code>\$a</code>\$ b</pre>\(c\)",
        ),
        (r"<p>alone \$</p><p>\$x\$</p>", r"<p>alone \$</p><p>\(x\)</p>"),
        (r"\$x$y\$", r"\$x$y\$"),
        ("<p>`$a`</p>", "<p>`$a`</p>"),
    ],
)
def test_html_with_plain_delimiters(text: str, plain: str) -> None:
    assert with_plain_delimiters(text, html=True) == plain


def test_comments_with_plain_delimiters() -> None:
    text = r"\$x\$, $5, `\$a\$` and <code> \$c\$"
    assert with_plain_delimiters(text, html=False) == r"$x$, $5, `\$a\$` and <code> $c$"
