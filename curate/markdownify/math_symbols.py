"""Characters of formulas and the TeX that writes them.

Source: the Unicode characters of MathML Core's operator dictionary, with the names of LaTeX, amsmath and amssymb.
"""

from __future__ import annotations

import unicodedata


def _table(text: str) -> dict[str, str]:
    words = text.split()
    return {key: f"\\{name} " for key, name in zip(words[::2], words[1::2], strict=True)}


SYMBOLS: dict[str, str] = {
    **_table(
        "× times ⋅ cdot · cdot ÷ div ± pm ∓ mp ∗ ast ⋆ star ∘ circ ∙ bullet • bullet ⊕ oplus ⊖ ominus ⊗ otimes ⊘ oslash"
        " ⊙ odot ∩ cap ∪ cup ⊎ uplus ⊓ sqcap ⊔ sqcup ∧ wedge ∨ vee ∖ setminus ≀ wr ⨿ amalg † dagger ‡ ddagger ⋄ diamond"
        " ⋊ rtimes ⋉ ltimes ⊞ boxplus ⊟ boxminus ⊠ boxtimes ⊡ boxdot ⋓ Cup ⋒ Cap ⊼ barwedge ⊻ veebar"
    ),
    **_table(
        "≤ leq ≥ geq ≪ ll ≫ gg ≠ neq ≈ approx ≡ equiv ∼ sim ≃ simeq ≅ cong ≐ doteq ∝ propto ≍ asymp ≺ prec ≻ succ"
        " ⪯ preceq ⪰ succeq ≼ preccurlyeq ≽ succcurlyeq ⩽ leqslant ⩾ geqslant ≦ leqq ≧ geqq ≲ lesssim ≳ gtrsim ⋘ lll ⋙ ggg"
        " ⊂ subset ⊃ supset ⊆ subseteq ⊇ supseteq ⊊ subsetneq ⊋ supsetneq ⊏ sqsubset ⊐ sqsupset ⊑ sqsubseteq ⊒ sqsupseteq"
        " ∈ in ∋ ni ∉ notin ⊢ vdash ⊣ dashv ⊨ models ⊩ Vdash ⊥ perp ∥ parallel ∦ nparallel ∣ mid ∤ nmid ⋈ bowtie ⌣ smile"
        " ⌢ frown ≜ triangleq ≙ triangleq ≢ not\\equiv ≁ nsim ≇ ncong ≮ nless ≯ ngtr ≰ nleq ≱ ngeq ⊈ nsubseteq ⊉ nsupseteq"
        " ⊄ not\\subset ≉ not\\approx ⊲ vartriangleleft ⊳ vartriangleright ⊴ trianglelefteq ⊵ trianglerighteq ≒ fallingdotseq"
        " ∽ backsim ⪅ lessapprox ⪆ gtrapprox ≶ lessgtr ≷ gtrless ⊧ models ⊭ nvDash ⊬ nvdash"
    ),
    **_table(
        "→ to ← leftarrow ↔ leftrightarrow ⇒ Rightarrow ⇐ Leftarrow ⇔ Leftrightarrow ↑ uparrow ↓ downarrow ↕ updownarrow"
        " ⇑ Uparrow ⇓ Downarrow ⇕ Updownarrow ↦ mapsto ↗ nearrow ↘ searrow ↙ swarrow ↖ nwarrow ↪ hookrightarrow"
        " ↩ hookleftarrow ⇀ rightharpoonup ⇁ rightharpoondown ↼ leftharpoonup ↽ leftharpoondown ⇌ rightleftharpoons"
        " ⟶ longrightarrow ⟵ longleftarrow ⟷ longleftrightarrow ⟹ Longrightarrow ⟸ Longleftarrow ⟺ Longleftrightarrow"
        " ⟼ longmapsto ↠ twoheadrightarrow ↣ rightarrowtail ⇝ rightsquigarrow ↝ leadsto ⇉ rightrightarrows ⇄ rightleftarrows"
        " ↛ nrightarrow ↚ nleftarrow ⇏ nRightarrow ↺ circlearrowleft ↻ circlearrowright ⇆ leftrightarrows ↾ upharpoonright"
    ),
    **_table(
        "∞ infty ∂ partial ∇ nabla ∅ emptyset ⌀ varnothing ∀ forall ∃ exists ∄ nexists ¬ neg ⊤ top ∠ angle ∡ measuredangle"
        " △ triangle □ square ◻ square ■ blacksquare ▪ blacksquare ∎ blacksquare ◊ lozenge ★ bigstar ℏ hbar ℓ ell ℘ wp ℜ Re ℑ Im"
        " ℵ aleph ℶ beth ı imath ȷ jmath ∴ therefore ∵ because ♭ flat ♮ natural ♯ sharp ♠ spadesuit ♣ clubsuit ♡ heartsuit"
        " ♢ diamondsuit ð eth § S ¶ P © copyright £ pounds ✓ checkmark ℧ mho Å AA ∁ complement ′ prime ⧸ not"
    ),
    **_table(
        "∑ sum ∏ prod ∐ coprod ∫ int ∬ iint ∭ iiint ∮ oint ⋃ bigcup ⋂ bigcap ⋁ bigvee ⋀ bigwedge ⨁ bigoplus ⨂ bigotimes"
        " ⨀ bigodot ⨄ biguplus ⨆ bigsqcup √ surd"
    ),
    **_table(
        "α alpha β beta γ gamma δ delta ε varepsilon ϵ epsilon ζ zeta η eta θ theta ϑ vartheta ι iota κ kappa ϰ varkappa"
        " λ lambda μ mu µ mu ν nu ξ xi π pi ϖ varpi ρ rho ϱ varrho σ sigma ς varsigma τ tau υ upsilon φ varphi ϕ phi χ chi"
        " ψ psi ω omega Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega ϝ digamma ∆ Delta"
    ),
    **_table(
        "… ldots ⋯ cdots ⋮ vdots ⋱ ddots ⟨ langle ⟩ rangle 〈 langle 〉 rangle ⌈ lceil ⌉ rceil ⌊ lfloor ⌋ rfloor ‖ Vert"
        " ⟮ lgroup ⟯ rgroup ⎰ lmoustache ⎱ rmoustache ⌜ ulcorner ⌝ urcorner ⌞ llcorner ⌟ lrcorner"
    ),
    "−": "-", "‐": "-", "∶": ":", "≔": ":=", "″": "''", "‴": "'''", "∕": "/", "⁄": "/", "{": "\\{", "}": "\\}",
    "%": "\\%", "#": "\\#", "&": "\\&", "$": "\\$", "_": "\\_", "\\": "\\backslash ", "^": "\\hat{}", "~": "\\sim ",
    "\u2061": "", "\u2062": "", "\u2063": "", "\u2064": "", "\u200b": "", "\u200e": "", "\u200f": "", "\ufe00": "",
    "\u00a0": "~", "\u2003": "\\quad ", "\u2002": "\\enspace ", "\u2009": "\\,", "\u2006": "\\,", "\u200a": "\\,",
    "\u2005": "\\:", "\u2004": "\\;", "⟦": "[\\![", "⟧": "]\\!]", "½": "\\tfrac{1}{2}", "°": "^{\\circ}",
}  # fmt: skip
"""Each character that TeX writes as a command; the space behind a command ends its name."""

OVER = {
    "^": ("hat", "widehat"), "ˆ": ("hat", "widehat"), "̂": ("hat", "widehat"), "~": ("tilde", "widetilde"),
    "˜": ("tilde", "widetilde"), "∼": ("tilde", "widetilde"), "̃": ("tilde", "widetilde"), "¯": ("bar", "overline"),
    "‾": ("bar", "overline"), "―": ("overline", "overline"),
    "–": ("overline", "overline"), "_": ("overline", "overline"), "̅": ("overline", "overline"),
    "̄": ("bar", "overline"), "ˉ": ("bar", "overline"), "→": ("vec", "overrightarrow"), "⃗": ("vec", "overrightarrow"),
    "⇀": ("vec", "overrightarrow"), "←": ("overleftarrow", "overleftarrow"), "↔": ("overleftrightarrow", "overleftrightarrow"),
    "˙": ("dot", "dot"), "̇": ("dot", "dot"), ".": ("dot", "dot"), "¨": ("ddot", "ddot"), "̈": ("ddot", "ddot"),
    "⃛": ("dddot", "dddot"), "…": ("dddot", "dddot"), "ˇ": ("check", "widecheck"), "̌": ("check", "widecheck"),
    "˘": ("breve", "breve"), "̆": ("breve", "breve"), "´": ("acute", "acute"), "́": ("acute", "acute"), "`": ("grave", "grave"),
    "̀": ("grave", "grave"), "˚": ("mathring", "mathring"), "⏞": ("overbrace", "overbrace"), "︷": ("overbrace", "overbrace"),
}  # fmt: skip
"""Marks above: the accent of one letter and of more."""
UNDER = {
    "_": "underline", "̲": "underline", "¯": "underline", "‾": "underline", "―": "underline", "⏟": "underbrace",
    "︸": "underbrace", "→": "underrightarrow", "←": "underleftarrow", "↔": "underleftrightarrow",
}  # fmt: skip
"""Marks below."""
ARROWS = {
    "→": "xrightarrow", "⟶": "xrightarrow", "←": "xleftarrow", "⟵": "xleftarrow", "↦": "xmapsto", "⇒": "xRightarrow",
    "⇐": "xLeftarrow", "↔": "xleftrightarrow", "↪": "xhookrightarrow", "↩": "xhookleftarrow", "⇌": "xrightleftharpoons",
}  # fmt: skip
"""Arrows that stretch under what stands above them."""
LIMITS = frozenset("∑∏∐⋃⋂⋁⋀⨁⨂⨀⨄⨆")
INTEGRALS = frozenset("∫∬∭∮")
LIMIT_FUNCTIONS = frozenset(("det", "gcd", "inf", "lim", "liminf", "limsup", "max", "min", "Pr", "sup"))
FUNCTIONS = LIMIT_FUNCTIONS | frozenset(
    ("arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "coth", "csc", "deg", "dim", "exp", "hom", "ker", "lg", "ln",
     "log", "sec", "sin", "sinh", "tan", "tanh")
)  # fmt: skip
VARIANTS = {
    "bold": "mathbf", "italic": "mathit", "bold-italic": "boldsymbol", "double-struck": "mathbb", "script": "mathcal",
    "bold-script": "boldsymbol mathcal", "fraktur": "mathfrak", "bold-fraktur": "boldsymbol mathfrak", "sans-serif": "mathsf",
    "bold-sans-serif": "boldsymbol mathsf", "sans-serif-italic": "mathsf", "sans-serif-bold-italic": "boldsymbol mathsf",
    "monospace": "mathtt", "normal": "mathrm", "-tex-calligraphic": "mathcal", "-tex-bold-calligraphic": "boldsymbol mathcal",
}  # fmt: skip
"""Commands for the values of ``mathvariant``."""
_STYLES = (
    ("DOUBLE-STRUCK", "double-struck"), ("BOLD SCRIPT", "bold-script"), ("SCRIPT", "script"), ("BOLD FRAKTUR", "bold-fraktur"),
    ("FRAKTUR", "fraktur"), ("BLACK-LETTER", "fraktur"), ("SANS-SERIF BOLD ITALIC", "sans-serif-bold-italic"),
    ("SANS-SERIF BOLD", "bold-sans-serif"), ("SANS-SERIF ITALIC", "sans-serif-italic"), ("SANS-SERIF", "sans-serif"),
    ("MONOSPACE", "monospace"), ("BOLD ITALIC", "bold-italic"), ("BOLD", "bold"), ("ITALIC", "italic"),
)  # fmt: skip


def plain(character: str) -> tuple[str, str]:
    """Return a mathematical alphanumeric as its plain character and the ``mathvariant`` it stands for (𝐱: ``x``, ``bold``)."""
    if not ("\u2102" <= character <= "\u2138" or "\U0001d400" <= character <= "\U0001d7ff"):
        return character, ""
    name = unicodedata.name(character, "").removeprefix("MATHEMATICAL ")
    base = unicodedata.normalize("NFKC", character)
    for words, variant in _STYLES:
        if name.startswith(words + " ") and len(base) == 1:
            return base, variant
    return character, ""


def styled(tex: str, variant: str) -> str:
    """Return ``tex`` in the font of a ``mathvariant``."""
    for command in reversed(VARIANTS.get(variant, "").split()):
        tex = f"\\{command}{{{tex.strip(' ')}}}"
    return tex
