"""One page, explained: the source, the Markdown and what each rule did, side by side in one HTML file.

The file loads nothing and runs no script but its own: a policy in it names that script by its hash, and the page under
inspection stands in a frame without scripts, rebuilt from listed elements only.
"""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.resources
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tootsie.curate.markdownify.conversion import DEFAULT_LIMITS
from tootsie.curate.markdownify.decoding import decode
from tootsie.curate.markdownify.explain import source_view
from tootsie.curate.markdownify.explain.rendering import render
from tootsie.curate.markdownify.options import Limits, Profile
from tootsie.curate.markdownify.rules import Effect, Rule, rules_of
from tootsie.curate.markdownify.trace import Trace, TraceLimits, trace

_KINDS = {
    Effect.KEPT: "kept",
    Effect.REWRITTEN: "rewritten",
    Effect.ASIDE: "aside",
    Effect.DROPPED: "dropped",
}


@dataclass(frozen=True)
class PageLimits:
    """Bounds of the file; where something is cut, it says so."""

    max_events: int = 20_000
    """Applications of rules."""
    max_view: int = 4_000_000
    """Characters of each view of the source."""
    max_markdown: int = 1_000_000
    """Characters of the Markdown."""
    max_text: int = 1_000
    """Characters of one dropped text."""


def explain(
    page: str | bytes,
    *,
    name: str = "page",
    profile: str | Profile = Profile.WEB,
    limits: Limits = DEFAULT_LIMITS,
    page_limits: PageLimits | None = None,
    charset: str | None = None,
    **options: Any,
) -> str:
    """Return an HTML file that shows what the conversion of ``page`` does.

    Args:
      page: text or bytes, as for :func:`.convert`; so are the other arguments and the errors.
      name: what the page is called in the file.
      page_limits: bounds of the file.
    """
    bounds = page_limits or PageLimits()
    traced = trace(
        page,
        profile=profile,
        limits=limits,
        trace_limits=TraceLimits(max_events=bounds.max_events, max_text=bounds.max_text),
        charset=charset,
        **options,
    )
    marks = source_view.Marks(traced)
    looks = source_view.rendered(traced, decode(page, charset).text, marks, bounds.max_view)
    code = source_view.as_text(traced, marks, bounds.max_view)
    markdown = traced.conversion.markdown[: bounds.max_markdown]
    output = render(markdown, bounds.max_markdown)
    cut = [
        what
        for what, whole in (
            ("the page", looks.whole),
            ("its HTML", code.whole),
            ("the Markdown", len(markdown) == len(traced.conversion.markdown)),
            ("the rendered Markdown", output.whole),
            ("the list of events", not traced.omitted),
        )
        if not whole
    ]
    facts = [
        f"profile {Profile(profile)}",
        f"{len(traced.conversion.counters)} rules, {len(traced.events):,} events",
        f"{len(traced.conversion.markdown):,} characters of Markdown",
        f"{output.formulas:,} formulas" + (f", {output.not_set:,} shown as TeX" if output.not_set else ""),
    ]
    if cut:
        facts.append("cut: " + ", ".join(cut))
    chosen = _chosen(traced, rules_of(profile))
    return _file(
        title=f"{name} explained",
        heading=f"<h1>{html.escape(name)}</h1>"
        + "".join(f"<span>{html.escape(fact)}</span>" for fact in facts),
        rules=_rule_list(traced, chosen),
        frame=f'<!doctype html><meta charset="utf-8"><style>{_resource("view.css")}</style><body>{looks.html}',
        code=code.html,
        output=output.html,
        markdown=markdown,
        data={"listed": 500, "events": _events(traced, chosen, markdown)},
    )


def _chosen(traced: Trace, known: dict[str, Rule]) -> list[Rule]:
    """Return the rules of the profile, those that applied first, and before them what applied without being one."""
    strange = {event.rule: event.effect for event in traced.events if event.rule not in known}
    return [
        *(Rule(name, effect, "No rule of this profile.", frozenset()) for name, effect in strange.items()),
        *sorted(known.values(), key=lambda rule: rule.name not in traced.conversion.counters),
    ]


def _rule_list(traced: Trace, rules: list[Rule]) -> str:
    counts = Counter(event.rule for event in traced.events)
    items = []
    for index, rule in enumerate(rules):
        count = max(traced.conversion.counters.get(rule.name, 0), counts[rule.name])
        kind = _KINDS[rule.effect] + ("" if count else " none")
        items.append(
            f'<details class="{kind}" id="{rule.name}" data-rule="{index}"><summary><b>{rule.name}</b><span>{count:,}</span>'
            f"<small>{html.escape(rule.description)}</small></summary><ol></ol></details>"
        )
    return "".join(items)


def _events(traced: Trace, rules: list[Rule], markdown: str) -> list[list[object]]:
    """Return the events as the script reads them; its offsets count UTF-16 units."""
    number = {rule.name: index for index, rule in enumerate(rules)}
    units = _utf16_offsets(markdown)
    found: list[list[object]] = []
    for event in traced.events:
        start, end = (units(min(offset, len(markdown))) for offset in event.span)
        index = number.get(event.rule, -1)
        found.append([index, event.element, event.path, event.excerpt, event.dropped, start, end])
    return found


def _utf16_offsets(text: str) -> Any:
    """Return a function from an index into ``text`` to the number of UTF-16 units before it."""
    if not text or max(text) <= "\uffff":
        return lambda index: index
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + 1 + (character > "\uffff"))
    return offsets.__getitem__


def _resource(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text()


def _file(
    title: str, heading: str, rules: str, frame: str, code: str, output: str, markdown: str, data: object
) -> str:
    script = _resource("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"
    values = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        values = values.replace(character, f"\\u{ord(character):04x}")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{html.escape(title)}</title><style>{_resource("page.css")}
#output {{ {_resource("view.css")} }}</style></head><body>
<header>{heading}</header>
<section><h2>Rules</h2><nav class="scroll">{rules}</nav></section>
<section><h2>Source <button class="on" data-view="page">as it looks</button> <button data-view="html">HTML</button></h2>
<iframe id="page" sandbox="allow-same-origin" srcdoc="{html.escape(frame)}"></iframe>
<div id="html" class="scroll text" hidden>{code}</div></section>
<section><h2>Markdown, rendered</h2><div id="output" class="scroll">{output}</div></section>
<section><h2>Markdown</h2><div id="raw" class="scroll text">{html.escape(markdown, quote=False)}</div></section>
<script type="application/json" id="data">{values}</script>
<script>{script}</script>
</body></html>
"""
