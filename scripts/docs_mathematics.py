"""Formulas of the documentation become MathML while the site is built: the browser fetches and runs nothing."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_MATHML = "{http://www.w3.org/1998/Math/MathML}"
_RELATIONS = "=<>\u2264\u2265\u2260\u2248\u2192\u2190\u2208\u223c\u226a"
_OPENS, _CLOSES = "([{\u27e8\u230a\u2308", ")]}\u27e9\u230b\u2309"
_SIGNS = "+\u2212-"
_WORDS = (_MATHML + "mi", _MATHML + "mo")
_WITH_INDEX = tuple(_MATHML + kind for kind in ("msub", "msup", "msubsup", "munder"))
_LONG = 24
"""Characters of a formula that fit into a line of a telephone."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The font of formulas lies beside the pages: few devices bring one that knows where an index stands."""
    from mkdocs.structure.files import File

    folder = Path(__file__).parent / "docs_fonts"
    for path in folder.iterdir():
        files.append(File.generated(config, f"assets/{folder.name}/{path.name}", content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A formula between $` and `$, which GitHub reads before it reads Markdown, is one between dollars."""
    return re.sub(r"\$`([^`\n]+)`\$", r"\\(\1\\)", markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas of a page, written as TeX between dollars, become MathML: browsers typeset it without any script."""

    def displayed(found: re.Match[str]) -> str:
        math = mathematics(html.unescape(found["tex"]), page.file.src_path, display=True)
        return f'<div class="formula" tabindex="0">{_written(math)}</div>'

    def inline(found: re.Match[str]) -> str:
        parts = breakable(mathematics(html.unescape(found["tex"]), page.file.src_path))
        first, last = found["before"], found["after"]
        written = [_part(part, first * (not i), last * (i == len(parts) - 1)) for i, part in enumerate(parts)]
        return "<wbr>".join(written)

    content = re.sub(r'<div class="arithmatex">(?P<tex>.*?)</div>', displayed, content, flags=re.DOTALL)
    around = r"(?P<before>[(\[]*)", r"(?P<after>[\])]*(?:'s\b)?[,.;:!?)]*)"
    found = r'<span class="arithmatex">(?P<tex>.*?)</span>'.join(around)
    return re.sub(found, inline, content, flags=re.DOTALL)


def mathematics(tex: str, where: str, display: bool = False) -> Element:
    r"""A formula between \(…\) or \[…\] as MathML.

    Raises:
        ValueError: If it holds TeX that cannot be typeset.
    """
    from latex2mathml.converter import convert  # type: ignore[import-untyped]

    known = tex[2:-2].strip().replace("{aligned}", "{align*}")  # the same to readers, and known to the converter
    result = ElementTree.fromstring(  # noqa: S314 (our own text)
        convert(known, display="block" if display else "inline")
    )
    if unknown := re.search(r"\\[a-zA-Z]+", "".join(result.itertext())):
        raise ValueError(f"{where}: {unknown[0]} is not TeX that can be typeset: {tex}")
    _tidied(result)
    return result


def _tidied(node: Element) -> None:
    """Bars and strokes without the space of a relation, primes at the height that their glyph has, ln x apart."""
    for child in node:
        _tidied(child)
    kind, children = node.tag.removeprefix(_MATHML), list(node)
    before = "("
    for child, after in zip(children, [*children, None][1:], strict=True):
        text = (child.text or "").strip()
        if text in ("|", "\u2016", "/") and child.tag == _MATHML + "mo":
            child.attrib |= {"lspace": "0", "rspace": "0"} | ({} if text == "/" else {"stretchy": "false"})
        if text and text in _SIGNS and before in _OPENS + _RELATIONS + ",/":
            child.attrib |= {"form": "prefix", "lspace": "0", "rspace": "0"}
        if text == "~" and child.tag == _MATHML + "mi":  # a relation, not an accent
            child.tag, child.text, text = _MATHML + "mo", "\u223c", "\u223c"
        if text == "\u221e":
            child.tag = _MATHML + "mi"
        first, before = before in _OPENS + _RELATIONS + ",", text or "x"
        name = child[0] if child.tag in _WITH_INDEX else child
        if re.fullmatch("[a-z]\\w+", (name.text or "").strip()) and name.tag in _WORDS and kind == "mrow":
            name.tag = _MATHML + "mo"  # a name with the space of an operator, and none before a bracket
            bracket = after is not None and (after.text or "").strip() in ("(", "[")
            name.attrib |= {"lspace": "0" if first else "0.167em", "rspace": "0" if bracket else "0.167em"}
    if kind in ("msup", "msubsup") and set(children[-1].text or " ") <= {"\u2032", "\u2033", "\u2034"}:
        prime = Element(_MATHML + "mo", {"lspace": "0", "rspace": "0"})
        prime.text = children[-1].text
        node.remove(children[-1])
        base = Element(_MATHML + "mrow")
        base.extend([children[0], prime])
        node.tag, node[0:1] = _MATHML + ("mrow" if kind == "msup" else "msub"), [base]


def breakable(math: Element) -> list[Element]:
    """A formula in pieces, between which a line may end: before relations, and before signs where they are long."""
    pieces = [math]
    for signs in (_RELATIONS, _SIGNS):
        pieces = [part for piece in pieces for part in (_split(piece, signs) if _length(piece) > _LONG else [piece])]
    return pieces


def _split(math: Element, signs: str) -> list[Element]:
    row = math[0] if len(math) == 1 and math[0].tag == _MATHML + "mrow" else math
    parts: list[list[Element]] = [[]]
    depth = 0
    for child in row:
        text = (child.text or "").strip() if child.tag in (_MATHML + "mo", _MATHML + "mi") else ""
        depth += (text != "" and text in _OPENS) - (text != "" and text in _CLOSES)
        if text and text in signs and depth <= 0 and parts[-1] and child.get("form") != "prefix":
            child.attrib["form"] = "infix"
            parts.append([])
        parts[-1].append(child)
    results = []
    for part in parts:
        piece = Element(math.tag, dict(math.attrib))
        inner = Element(_MATHML + "mrow")
        inner.extend(part)
        piece.append(inner)
        results.append(piece)
    return results


def _length(math: Element) -> int:
    return len("".join(math.itertext()))


def _part(math: Element, before: str, after: str) -> str:
    """A piece with the bracket before it and the comma after it, which no line end parts from it."""
    written = _written(math)
    if _length(math) > _LONG:  # on a telephone it is scrolled by itself
        written = f'<span class="formula-part" tabindex="0">{written}</span>'
    return f'<span class="keep">{before}{written}{after}</span>' if before or after else written


def _written(math: Element) -> str:
    ElementTree.register_namespace("", _MATHML.strip("{}"))
    return ElementTree.tostring(math, encoding="unicode")
