"""What a formula says, on one line: read from TeX and from MathML by readers that share nothing with the converter.

The subset of TeX that the documentation uses, and no more: what is unknown is an error.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

_TEXT = """
alpha α beta β gamma γ delta δ varepsilon ε zeta ζ eta η theta θ kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ
sigma σ tau τ phi ϕ varphi φ chi χ psi ψ omega ω ell ℓ Gamma Γ Delta Δ Lambda Λ Phi Φ Omega Ω le ≤ ge ≥ ne ≠
lvert | rvert | lVert ∥ rVert ∥ Vert ∥ cdot ⋅ ast * dots … infty ∞ in ∈ to → lbrace { rbrace } { { } } sim ~
lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ langle ⟨ rangle ⟩ times × mid ∣ pm ± wedge ∧ circ ∘ prime ′ partial ∂ gets ←
blacksquare ∎ Rightarrow ⇒ cup ∪ otimes ⊗ ll ≪ setminus ⧵ int ∫ iint ∬ sum ∑ prod ∏
"""
_TABLE = _TEXT.split()
_SIGNS = dict(zip(_TABLE[::2], _TABLE[1::2], strict=True))
_SPACES = {",", ";", " ", "quad", "qquad", "\\", "Big", "big", "left", "right"}
_NAMES = {"min", "max", "ln", "exp", "cos", "sin", "log", "tanh", "deg", "sinh", "arcsin", "cosh", "sup", "inf", "tan"}
_ACCENTS = {"hat": "^", "tilde": "~", "bar": "¯"}
_DOUBLE = {"E": "𝔼", "R": "ℝ", "P": "ℙ", "Z": "ℤ", "N": "ℕ"}
_MATHML = "{http://www.w3.org/1998/Math/MathML}"
_ALIKE = str.maketrans({"-": "−", "–": "−", "″": "′′", "‴": "′′′", "ϵ": "ε", "‖": "∥", "·": "⋅", "∗": "*", "∼": "~"})


class _Reader:
    """One formula, read from left to right."""

    def __init__(self, tex: str) -> None:
        self.tokens = re.findall(r"\\[a-zA-Z]+|\\.|\S", tex)[::-1]

    def row(self, end: str = "") -> str:
        parts = []
        while self.tokens and self.tokens[-1] != end:
            parts.append(self._with_scripts())
        return "".join(parts)

    def _with_scripts(self) -> str:
        base, scripts, primes = self._argument(), {"_": "", "^": ""}, ""
        while self.tokens and self.tokens[-1] in ("_", "^", "'"):
            kind = self.tokens.pop()
            if kind == "'":
                primes += "′"
            else:
                assert not scripts[kind], "two indices"
                scripts[kind] = self._argument()
        if scripts["^"]:  # primes stand in the exponent, before the rest of it
            primes, scripts["^"] = "", primes + scripts["^"]
        return base + primes + "".join(f"{kind}⟦{text}⟧" for kind, text in scripts.items() if text)

    def _argument(self) -> str:
        if self.tokens[-1] != "{":
            return self._atom()
        self.tokens.pop()
        inside = self.row("}")
        self.tokens.pop()
        return inside

    def _letters(self) -> str:
        inside = ""
        assert self.tokens.pop() == "{"
        while (token := self.tokens.pop()) != "}":
            inside += token.removeprefix("\\")
        return inside

    def _atom(self) -> str:
        token = self.tokens.pop()
        name = token[1:]
        if token[0] != "\\":
            return "" if token == "&" else token
        if name in _SPACES:
            return ""
        if name in ("begin", "end"):
            return self._letters()[:0]
        if name in ("mathrm", "text", "operatorname"):
            return self._letters()
        if name == "mathbb":
            return _DOUBLE[self._letters()]
        if name in ("frac", "tfrac", "binom"):
            above, below = self._argument(), self._argument()
            return f"(choose⟦{above}⟧⟦{below}⟧)" if name == "binom" else f"over⟦{above}⟧⟦{below}⟧"
        if name == "sqrt":
            return f"√⟦{self._argument()}⟧"
        if name in _ACCENTS:
            return f"{_ACCENTS[name]}⟦{self._argument()}⟧"
        if name == "bmod":
            return "mod"
        return name if name in _NAMES else _SIGNS[name]


def read_tex(tex: str) -> str:
    """What a formula in TeX says."""
    return _Reader(tex).row().translate(_ALIKE)


def read_mathml(node: Element) -> str:
    """What a formula in MathML says."""
    return _read(node).translate(_ALIKE)


def _read(node: Element) -> str:
    kind, children = node.tag.removeprefix(_MATHML), [_read(child) for child in node]
    if kind in ("mi", "mo", "mn", "mtext", "mspace"):
        return re.sub(r"\s", "", node.text or "")
    if kind == "mover" and children[1] in tuple("^~¯"):
        return f"{children[1]}⟦{children[0]}⟧"
    if kind in ("msub", "munder"):
        return f"{children[0]}_⟦{children[1]}⟧"
    if kind in ("msup", "mover"):
        return f"{children[0]}^⟦{children[1]}⟧"
    if kind in ("msubsup", "munderover"):
        return f"{children[0]}_⟦{children[1]}⟧^⟦{children[2]}⟧"
    if kind == "mfrac":
        name = "choose" if node.get("linethickness") == "0" else "over"
        return f"{name}⟦{children[0]}⟧⟦{children[1]}⟧"
    if kind == "msqrt":
        return f"√⟦{''.join(children)}⟧"
    assert kind in ("math", "mrow", "mstyle", "mtable", "mtr", "mtd"), kind
    return "".join(children)
