"""Handlers of the elements that hold formulas: MathML, MathJax 2 to 4, KaTeX, Temml, images, delimiters in marked elements."""

from __future__ import annotations

import re
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from tootsie.curate.markdownify import formulas
from tootsie.curate.markdownify.mathjax import tex_of_rendering
from tootsie.curate.markdownify.nesting import shallow
from tootsie.curate.markdownify.serializer import HTML_SPACE, PASS, SKIP, Handler, Node, Serializer

_DELIMITERS = (("$$", "$$", True), ("\\[", "\\]", True), ("\\(", "\\)", False), ("$", "$", False))
_ENVIRONMENT = re.compile(r"\\begin\{([A-Za-z]+\*?)\}.*\\end\{\1\}", re.DOTALL)


def add_formula(serializer: Serializer, tex: str, origin: str, display: bool) -> None:
    """Add a formula and count where its TeX came from (``alttext``, ``annotation``, ``mathml`` …)."""
    serializer.counters[f"formulas_from_{origin}" if tex else "formulas_empty"] += 1
    serializer.formula(tex, display)


def _math(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<math>``: its TeX, opaque."""
    tex, origin = formulas.tex_of_math(node, attributes)
    add_formula(serializer, tex, origin, formulas.is_display(attributes))
    return SKIP


def _script(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """Scripts go, but MathJax 2 keeps its formulas in ``<script type="math/tex">`` or ``math/mml``."""
    kind = (attributes.get("type") or "").lower()
    source = node.text(deep=True) or ""
    if kind.startswith("math/tex"):
        add_formula(serializer, formulas.normalise(source), "script", "mode=display" in kind.replace(" ", ""))
    elif kind.startswith("math/mml"):
        _add_mathml(serializer, source, False)
    else:
        serializer.counters["scripts_dropped"] += 1
    return SKIP


def _add_mathml(serializer: Serializer, source: str, display: bool) -> None:
    page = shallow(f"<body>{source}", serializer.limits.max_depth)
    element = LexborHTMLParser(page).css_first("math")
    if element is None:
        serializer.counters["formulas_empty"] += 1
        return
    tex, origin = formulas.tex_of_math(element, element.attributes)
    add_formula(serializer, tex, origin, display or formulas.is_display(element.attributes))


def _katex(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """KaTeX: the annotation inside its hidden MathML; without MathML, what it shows."""
    if node.parent is not None and "katex" in (node.parent.attributes.get("class") or "").split():
        return None  # looked at already
    element = node.css_first("math")
    if element is None:
        serializer.counters["formulas_without_source"] += 1
        return None
    tex, origin = formulas.tex_of_math(element, element.attributes)
    parent = node.parent
    display = parent is not None and "katex-display" in (parent.attributes.get("class") or "")
    add_formula(serializer, tex, origin, display or formulas.is_display(element.attributes))
    return SKIP


def _katex_html(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """The visible half of KaTeX's output, beside MathML or alone."""
    beside = node.prev
    while beside is not None and beside.tag == "-text" and not (beside.text_content or "").strip(HTML_SPACE):
        beside = beside.prev
    if beside is None or "katex-mathml" not in (beside.attributes.get("class") or ""):
        return None
    serializer.counters["rendered_formulas_dropped"] += 1
    return SKIP


def _entry(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """Temml's copyable source: ``<span class="hurmet-tex" data-entry>``."""
    entry = attributes.get("data-entry")
    if not entry:
        return None
    element = node.css_first("math")
    display = element is not None and formulas.is_display(element.attributes)
    add_formula(serializer, formulas.normalise(entry), "entry", display)
    return SKIP


def _script_follows(node: Node) -> bool:
    """Return whether the source stands behind a rendering: preview, rendering and script follow one another."""
    following = node.next
    for _ in range(6):
        if following is None:
            return False
        if following.tag == "script":
            return (following.attributes.get("type") or "").startswith("math/")
        if following.tag == "-text":
            if (following.text_content or "").strip(HTML_SPACE):
                return False
        elif "MathJax" not in (following.attributes.get("class") or ""):
            return False
        following = following.next
    return False


def _mathjax_2(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """MathJax 2's rendering: the script that follows has the source, else ``data-mathml`` or the assistive MathML."""
    if node.tag == "mjx-container":  # MathJax 3 uses the same class
        return PASS
    if _script_follows(node):
        serializer.counters["rendered_formulas_dropped"] += 1
        return SKIP
    if node.parent is not None and "MathJax" in (node.parent.attributes.get("class") or ""):
        return None  # what the outer element holds has been looked at
    names = (attributes.get("class") or "").split()
    if "MathJax_Preview" in names:
        return None
    display = any(name.endswith("Display") for name in names)
    holder = node if attributes.get("data-mathml") else node.css_first("[data-mathml]")
    if holder is not None:
        _add_mathml(serializer, holder.attributes.get("data-mathml") or "", display)
        return SKIP
    element = node.css_first("math")
    if element is not None:
        tex, origin = formulas.tex_of_math(element, element.attributes)
        add_formula(serializer, tex, origin, display or formulas.is_display(element.attributes))
        return SKIP
    serializer.counters["formulas_without_source"] += 1
    return None


def _mathjax_3(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<mjx-container>``: its TeX (MathJax 4) or assistive MathML, else what the rendering's elements tell."""
    display = attributes.get("display") == "true"
    source = node.css_first("mjx-math[data-latex], g[data-mml-node=math][data-latex]")
    element = node.css_first("math")
    if source is not None:
        tex, origin = formulas.normalise(source.attributes.get("data-latex") or ""), "annotation"
    elif element is not None:
        tex, origin = formulas.tex_of_math(element, element.attributes)
    else:
        tex, origin = formulas.normalise(tex_of_rendering(node)), "rendering"
    if tex:
        add_formula(serializer, tex, origin, display)
        return SKIP
    serializer.counters["formulas_without_source"] += 1
    return None


def delimited(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    r"""An element marked as a formula whose whole text is one between delimiters: ``<span class=math>\(x\)</span>``."""
    if node.tag == "img":
        return _image(serializer, node, attributes)
    if node.parent is not None and "math" in (node.parent.attributes.get("class") or "").split():
        return PASS  # looked at already
    text = (node.text(deep=True) or "").strip()
    for opening, closing, display in _DELIMITERS:
        if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening) + len(closing):
            tex = formulas.normalise(text[len(opening) : -len(closing)])
            add_formula(serializer, tex, "container", display)
            return SKIP
    if _ENVIRONMENT.fullmatch(text) is not None:
        add_formula(serializer, formulas.normalise(text), "container", True)
        return SKIP
    return PASS


def _image(serializer: Serializer, node: Node, attributes: dict[str, Any]) -> Any:
    """``<img class="tex | latex | math" alt>``: MediaWiki before MathML, WordPress, Sphinx."""
    alt = attributes.get("alt") or ""
    if node.tag != "img" or not alt.strip():
        return PASS
    parent = node.parent
    while parent is not None and parent.tag in ("p", "a"):
        parent = parent.parent
    display = (
        parent is not None
        and parent.tag == "div"
        and "math" in (parent.attributes.get("class") or "").split()
    )
    add_formula(serializer, formulas.unwrap_display_style(formulas.normalise(alt)), "image", display)
    return SKIP


MATH_TAGS: dict[str, Handler] = {
    "math": _math,
    "script": _script,
    "mjx-container": _mathjax_3,
    "math-renderer": delimited,
}
MATH_CLASSES: dict[str, Handler] = {
    "katex": _katex,
    "katex-mathml": _katex,
    "katex-html": _katex_html,
    "hurmet-tex": _entry,
    **dict.fromkeys(
        (
            "MathJax_Preview",
            "MathJax",
            "MathJax_Display",
            "MathJax_SVG",
            "MathJax_SVG_Display",
            "MathJax_CHTML",
        ),
        _mathjax_2,
    ),
    "math": delimited,
    "math-container": delimited,
    "arithmatex": delimited,
    "tex": _image,
    "latex": _image,
}
"""Rules by class, for all pages but LaTeXML's own."""
