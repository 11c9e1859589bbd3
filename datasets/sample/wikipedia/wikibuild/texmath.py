"""TeX to the MathML that MediaWiki's math extension writes: enough of TeX for the sample's formulas.

    formula   = { atom [ "_" atom ] [ "^" atom ] }
    atom      = symbol | number | letter | group | command

An unknown command is an error, so that no formula of the sample can be wrong unnoticed.
"""

from __future__ import annotations

import hashlib
import html
import re

from wikibuild.page import Page, data_mw

TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[{}^_&]|\d+(?:\.\d+)?|\s+|.", re.S)
GREEK = dict(
    zip(
        [
            "alpha",
            "beta",
            "gamma",
            "delta",
            "epsilon",
            "varepsilon",
            "zeta",
            "eta",
            "theta",
            "iota",
            "kappa",
            "lambda",
            "mu",
            "nu",
            "xi",
            "pi",
            "rho",
            "sigma",
            "tau",
            "upsilon",
            "phi",
            "varphi",
            "chi",
            "psi",
            "omega",
            "Gamma",
            "Delta",
            "Theta",
            "Lambda",
            "Xi",
            "Pi",
            "Sigma",
            "Phi",
            "Psi",
            "Omega",
        ],
        [
            "α",
            "β",
            "γ",
            "δ",
            "ϵ",
            "ε",
            "ζ",
            "η",
            "θ",
            "ι",
            "κ",
            "λ",
            "μ",
            "ν",
            "ξ",
            "π",
            "ρ",
            "σ",
            "τ",
            "υ",
            "ϕ",
            "φ",
            "χ",
            "ψ",
            "ω",
            "Γ",
            "Δ",
            "Θ",
            "Λ",
            "Ξ",
            "Π",
            "Σ",
            "Φ",
            "Ψ",
            "Ω",
        ],
        strict=True,
    )
)
LETTERS = GREEK | {
    "infty": "∞",
    "ell": "ℓ",
    "hbar": "ℏ",
    "emptyset": "∅",
    "partial": "∂",
    "nabla": "∇",
    "angle": "∠",
}
OPERATORS = {
    "cdot": "⋅", "times": "×", "div": "÷", "pm": "±", "mp": "∓", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥",
    "neq": "≠", "ne": "≠", "approx": "≈", "equiv": "≡", "sim": "∼", "propto": "∝", "to": "→", "rightarrow": "→",
    "Rightarrow": "⇒", "iff": "⟺", "mapsto": "↦", "in": "∈", "notin": "∉", "subset": "⊂", "cup": "∪", "cap": "∩",
    "mid": "∣", "nmid": "∤", "ldots": "…", "cdots": "⋯", "vdots": "⋮", "forall": "∀", "exists": "∃", "circ": "∘",
    "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "sum": "∑", "prod": "∏", "int": "∫", "langle": "⟨",
    "rangle": "⟩", "perp": "⊥", "parallel": "∥", "rightleftharpoons": "⇌", "{": "{", "}": "}", "|": "‖", "%": "%",
}  # fmt: skip
BIG = {"sum", "prod"}
FUNCTIONS = {
    "sin",
    "cos",
    "tan",
    "cot",
    "log",
    "ln",
    "exp",
    "lim",
    "max",
    "min",
    "gcd",
    "deg",
    "arcsin",
    "arctan",
}
SPACES = {
    ",": "thinmathspace",
    ";": "thickmathspace",
    "quad": "1em",
    "qquad": "2em",
    ":": "mediummathspace",
    " ": "0.25em",
}
STYLES = {
    "mathrm": "normal",
    "mathbf": "bold",
    "mathbb": "double-struck",
    "mathcal": "script",
    "operatorname": "normal",
}
TABLES = {"matrix": ("", ""), "pmatrix": ("(", ")"), "aligned": ("", ""), "cases": ("{", "")}


class _Reader:
    """A cursor over the tokens of one formula."""

    def __init__(self, tex: str) -> None:
        self.tex = tex
        self.tokens = TOKEN.findall(tex)
        self.position = 0

    def peek(self) -> str:
        while self.position < len(self.tokens) and self.tokens[self.position].isspace():
            self.position += 1
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        if not token:
            raise ValueError(f"formula ends too early: {self.tex!r}")
        self.position += 1
        return token

    def braced_text(self) -> str:
        """The raw text of a group, for ``\\text`` and ``\\begin``."""
        if self.take() != "{":
            raise ValueError(f"expected a group in {self.tex!r}")
        start = self.position
        while self.take() != "}":
            pass
        return "".join(self.tokens[start : self.position - 1])


def _row(reader: _Reader, stops: frozenset[str]) -> str:
    """Atoms with their scripts, up to a stop token (left unread) or the end."""
    out = []
    while reader.peek() and reader.peek() not in stops:
        big = reader.peek()[1:] in BIG or reader.peek() == r"\lim"
        base = _atom(reader)
        lower = upper = ""
        while reader.peek() in ("_", "^"):
            mark = reader.take()
            script = _atom(reader)
            lower, upper = (script, upper) if mark == "_" else (lower, script)
        kinds = ("munder", "mover", "munderover") if big else ("msub", "msup", "msubsup")
        if lower and upper:
            base = f"<{kinds[2]}>{base}{lower}{upper}</{kinds[2]}>"
        elif lower or upper:
            kind = kinds[0] if lower else kinds[1]
            base = f"<{kind}>{base}{lower or upper}</{kind}>"
        out.append(base)
    return "".join(out)


def _group(content: str) -> str:
    return f'<mrow class="MJX-TeXAtom-ORD">{content}</mrow>'


def _fence(token: str) -> str:
    mark = OPERATORS.get(token[1:], token) if token.startswith("\\") else token
    return "" if mark == "." else f"<mo>{html.escape(mark)}</mo>"


def _atom(reader: _Reader) -> str:
    token = reader.take()
    if token == "{":
        content = _row(reader, frozenset("}"))
        reader.take()
        return _group(content)
    if token.startswith("\\"):
        return _command(reader, token[1:])
    if token[0].isdigit():
        return f"<mn>{token}</mn>"
    if token.isalpha():
        return f"<mi>{token}</mi>"
    if token == "'":
        return "<mo>′</mo>"
    stretch = ' stretchy="false"' if token in "()[]|" else ""
    return f"<mo{stretch}>{html.escape('−' if token == '-' else token)}</mo>"


def _command(reader: _Reader, name: str) -> str:
    if name in LETTERS:
        return f"<mi>{LETTERS[name]}</mi>"
    if name in OPERATORS:
        return f"<mo>{OPERATORS[name]}</mo>"
    if name in FUNCTIONS:
        return f"<mi>{name}</mi><mo>⁡</mo>" if name != "lim" else "<mi>lim</mi>"
    if name in SPACES:
        return f'<mspace width="{SPACES[name]}"></mspace>'
    if name in ("frac", "binom"):
        top, bottom = _atom(reader), _atom(reader)
        if name == "frac":
            return f"<mfrac>{top}{bottom}</mfrac>"
        return _group(f'<mo>(</mo><mfrac linethickness="0">{top}{bottom}</mfrac><mo>)</mo>')
    if name == "sqrt":
        if reader.peek() != "[":
            return f"<msqrt>{_atom(reader)}</msqrt>"
        reader.take()
        index = _row(reader, frozenset("]"))
        reader.take()
        return f"<mroot>{_atom(reader)}{_group(index)}</mroot>"
    if name in ("overline", "bar", "vec", "hat", "dot"):
        mark = {"overline": "¯", "bar": "¯", "vec": "→", "hat": "^", "dot": "˙"}[name]
        return f"<mover>{_atom(reader)}<mo>{mark}</mo></mover>"
    if name == "text":
        return f"<mtext>{html.escape(reader.braced_text())}</mtext>"
    if name in STYLES:
        return f'<mi mathvariant="{STYLES[name]}">{html.escape(reader.braced_text())}</mi>'
    if name == "left":
        left = _fence(reader.take())
        content = _row(reader, frozenset({r"\right"}))
        reader.take()
        return f"<mrow>{left}{content}{_fence(reader.take())}</mrow>"
    if name == "begin":
        return _table(reader)
    if name in ("pmod", "bmod"):
        return f"<mo>(</mo><mi>mod</mi>{_atom(reader)}<mo>)</mo>" if name == "pmod" else "<mi>mod</mi>"
    raise ValueError(f"unknown command \\{name} in formula {reader.tex!r}")


def _table(reader: _Reader) -> str:
    kind = reader.braced_text()
    if kind not in TABLES:
        raise ValueError(f"unknown environment {kind!r} in formula {reader.tex!r}")
    rows: list[list[str]] = [[]]
    while True:
        rows[-1].append(_row(reader, frozenset({"&", r"\\", r"\end"})))
        token = reader.take()
        if token == r"\end":
            reader.braced_text()
            break
        if token == r"\\":
            rows.append([])
    cells = "".join("<mtr>" + "".join(f"<mtd>{cell}</mtd>" for cell in row) + "</mtr>" for row in rows)
    left, right = TABLES[kind]
    fences = [f"<mo>{mark}</mo>" if mark else "" for mark in (left, right)]
    return f"<mrow>{fences[0]}<mtable>{cells}</mtable>{fences[1]}</mrow>"


def formula(page: Page, tex: str, *, display: bool) -> str:
    """One formula in Parsoid's markup: hidden MathML with the TeX as annotation, and a fallback image."""
    tex = tex.strip()
    content = _row(_Reader(tex), frozenset())
    shown = html.escape("{\\displaystyle " + tex + "}")
    tag, kind = ("div", "display") if display else ("span", "inline")
    attributes = {"display": "block"} if display else {}
    block = ' display="block"' if display else ""
    mw = data_mw({"name": "math", "attrs": attributes, "body": {"extsrc": tex}})
    image = hashlib.sha1(tex.encode(), usedforsecurity=False).hexdigest()
    return (
        f'<{tag} class="mwe-math-element" typeof="mw:Extension/math" about="{page.about()}" '
        f"data-mw='{mw}' id=\"{page.element_id()}\">"
        f'<{tag} class="mwe-math-mathml-{kind} mwe-math-mathml-a11y" style="display: none;">'
        f'<math xmlns="http://www.w3.org/1998/Math/MathML"{block} alttext="{shown}">\n  <semantics>\n'
        f'    <mrow class="MJX-TeXAtom-ORD"><mstyle displaystyle="true" scriptlevel="0">{content}</mstyle></mrow>\n'
        f'    <annotation encoding="application/x-tex">{shown}</annotation>\n  </semantics>\n</math></{tag}>'
        f'<img src="https://{page.site.host}/api/rest_v1/media/math/render/svg/{image}" '
        f'class="mwe-math-fallback-image-{kind}" aria-hidden="true" '
        f'style="vertical-align: -0.671ex; width:{2 + len(tex) * 0.55:.3f}ex; height:2.509ex;" alt="{shown}"/></{tag}>'
    )
