"""Presentation MathML to TeX, for pages that carry no TeX at all; iterative.

Source: MathML Core; only the presentation elements, in the spelling that LaTeX with amsmath reads.
"""

from __future__ import annotations

from typing import Any

_OPERATORS = {
    "−": "-", "×": r"\times ", "⋅": r"\cdot ", "·": r"\cdot ", "±": r"\pm ", "∓": r"\mp ", "≤": r"\leq ", "≥": r"\geq ",
    "≠": r"\neq ", "≈": r"\approx ", "≡": r"\equiv ", "∼": r"\sim ", "∝": r"\propto ", "∞": r"\infty ", "∂": r"\partial ",
    "∇": r"\nabla ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "∮": r"\oint ", "√": r"\surd ", "∈": r"\in ",
    "∉": r"\notin ", "⊂": r"\subset ", "⊆": r"\subseteq ", "⊃": r"\supset ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ",
    "∀": r"\forall ", "∃": r"\exists ", "¬": r"\neg ", "∧": r"\wedge ", "∨": r"\vee ", "→": r"\to ", "←": r"\leftarrow ",
    "↔": r"\leftrightarrow ", "⇒": r"\Rightarrow ", "⇐": r"\Leftarrow ", "⇔": r"\Leftrightarrow ", "↦": r"\mapsto ",
    "…": r"\ldots ", "⋯": r"\cdots ", "⋮": r"\vdots ", "⋱": r"\ddots ", "′": "'", "″": "''", "∗": "*", "∘": r"\circ ",
    "⟨": r"\langle ", "⟩": r"\rangle ", "‖": r"\Vert ", "∣": r"\mid ", "{": r"\{", "}": r"\}", "%": r"\%", "#": r"\#",
    "&": r"\&", "$": r"\$", "_": r"\_", "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ", "ε": r"\varepsilon ",
    "ϵ": r"\epsilon ", "ζ": r"\zeta ", "η": r"\eta ", "θ": r"\theta ", "ι": r"\iota ", "κ": r"\kappa ", "λ": r"\lambda ",
    "μ": r"\mu ", "ν": r"\nu ", "ξ": r"\xi ", "π": r"\pi ", "ρ": r"\rho ", "σ": r"\sigma ", "τ": r"\tau ", "υ": r"\upsilon ",
    "φ": r"\varphi ", "ϕ": r"\phi ", "χ": r"\chi ", "ψ": r"\psi ", "ω": r"\omega ", "Γ": r"\Gamma ", "Δ": r"\Delta ",
    "Θ": r"\Theta ", "Λ": r"\Lambda ", "Ξ": r"\Xi ", "Π": r"\Pi ", "Σ": r"\Sigma ", "Φ": r"\Phi ", "Ψ": r"\Psi ",
    "Ω": r"\Omega ", "ℝ": r"\mathbb{R}", "ℕ": r"\mathbb{N}", "ℤ": r"\mathbb{Z}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}",
    "ℏ": r"\hbar ", "ℓ": r"\ell ", "\u2061": "", "\u2062": "", "\u2063": "", "\u2064": "", "\u00a0": "~",
}  # fmt: skip
_ACCENTS = {
    "^": "hat", "ˆ": "hat", "~": "tilde", "˜": "tilde", "¯": "bar", "‾": "overline", "→": "vec", "⇀": "vec", "˙": "dot",
    "¨": "ddot", "ˇ": "check", "˘": "breve", "´": "acute", "`": "grave", "⏞": "overbrace", "_": "underline", "⏟": "underbrace",
}  # fmt: skip
_FUNCTIONS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "arcsin",
        "arccos",
        "arctan",
        "sinh",
        "cosh",
        "tanh",
        "log",
        "ln",
        "exp",
        "lim",
        "max",
        "min",
        "sup",
        "inf",
        "det",
        "dim",
        "ker",
        "gcd",
        "deg",
        "arg",
        "Pr",
        "hom",
        "limsup",
        "liminf",
    ]
)
_SKIP = frozenset(
    ("annotation", "annotation-xml", "mphantom", "maligngroup", "malignmark", "mprescripts", "none")
)


def to_tex(root: Any) -> str:
    """Return TeX for the ``math`` element ``root``; unknown elements give their content."""
    # Post-order walk: each open element collects the TeX of its children.
    children: list[list[str]] = [[]]
    node = root.first_child
    if node is None:
        return ""
    while True:
        tag = node.tag
        if tag == "-text":
            children[-1].append(node.text_content or "")
        elif node.is_element_node and tag not in _SKIP:
            inner = node.first_child
            if inner is not None:
                children.append([])
                node = inner
                continue
            children[-1].append(_element(tag, [], node))
        while node.next is None:
            node = node.parent
            if len(children) == 1:
                return "".join(children[0])
            done = children.pop()
            children[-1].append(_element(node.tag, done, node))
        node = node.next


def _element(tag: str, parts: list[str], node: Any) -> str:
    if tag in ("mi", "mn", "mo", "ms", "mtext"):
        return _token(tag, "".join(parts), node)
    if tag == "mspace":
        return " "
    parts = [part for part in parts if part.strip() or part == ""]
    if tag == "mfrac" and len(parts) == 2:
        return f"\\frac{{{parts[0].strip()}}}{{{parts[1].strip()}}}"
    if tag == "msqrt":
        return f"\\sqrt{{{''.join(parts).strip()}}}"
    if tag == "mroot" and len(parts) == 2:
        return f"\\sqrt[{parts[1].strip()}]{{{parts[0].strip()}}}"
    if tag in ("msub", "munder") and len(parts) == 2:
        return _accent(parts, "under") if tag == "munder" else f"{_base(parts[0])}_{{{parts[1].strip()}}}"
    if tag in ("msup", "mover") and len(parts) == 2:
        return _accent(parts, "over") if tag == "mover" else f"{_base(parts[0])}^{{{parts[1].strip()}}}"
    if tag in ("msubsup", "munderover") and len(parts) == 3:
        return f"{_base(parts[0])}_{{{parts[1].strip()}}}^{{{parts[2].strip()}}}"
    if tag == "mtd":
        return "".join(parts).strip()
    if tag in ("mtr", "mlabeledtr"):
        return " & ".join(parts)
    if tag == "mtable":
        return "\\begin{matrix}" + " \\\\ ".join(parts) + "\\end{matrix}"
    if tag == "mfenced":
        attributes = node.attributes
        inside = (attributes.get("separators") or ",")[:1].join(parts)
        return f"{attributes.get('open') or '('}{inside}{attributes.get('close') or ')'}"
    return "".join(parts)


def _token(tag: str, text: str, node: Any) -> str:
    text = " ".join(text.split(" \n\t")).strip(" \n\t\r")
    if tag in ("mtext", "ms"):
        return f"\\text{{{text}}}" if text.strip("\u00a0") else " "
    if tag == "mi" and len(text) > 1 and text.isascii() and text.isalpha():
        return f"\\{text} " if text in _FUNCTIONS else f"\\mathrm{{{text}}}"
    return "".join(_OPERATORS.get(character, character) for character in text)


def _base(tex: str) -> str:
    tex = tex.strip()
    return tex if len(tex) <= 1 or (tex.startswith("\\") and tex[1:].isalpha()) else f"{{{tex}}}"


def _accent(parts: list[str], side: str) -> str:
    base, mark = parts[0].strip(), parts[1].strip()
    plain = {value.strip(): key for key, value in _OPERATORS.items() if value.strip()}.get(mark, mark)
    if plain in _ACCENTS:
        return f"\\{_ACCENTS[plain]}{{{base}}}"
    if base in ("\\sum", "\\prod", "\\lim", "\\max", "\\min", "\\sup", "\\inf", "\\int"):
        return f"{base}{'_' if side == 'under' else '^'}{{{mark}}}"
    return f"\\{'under' if side == 'under' else 'over'}set{{{mark}}}{{{base}}}"
