"""A figure: SVG text with a title and a description, saved as SVG, HTML, PNG or PDF, shown by notebooks; its colours.

Colours by day and by night are CSS variables; ``figures.css`` has the rules that use them. Shades of one class ladder
grow monotonously in contrast with the ground. The colours of curves differ in lightness as well as in hue and come with
their own dashes, so that nobody has to tell colours to tell curves.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from html import escape as escape_html
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from barrow.errors import ParameterError, optional_library
from barrow.render.figures.data import FigureData
from barrow.render.figures.svg import KEY, clean, element, hatch, lawful

Theme = Literal["auto", "light", "dark"]
LIGHT = {
    "ground": "#ffffff", "card": "#f6f7f9", "ink": "#1b1f24", "dim": "#555e69", "rule": "#c9cfd6", "grid": "#e8ebee",
    "accent": "#b23a0e", "focus": "#0b6e99", "sea": "#e9f0f5", "land": "#faf9f5", "coast": "#7d8893",
    "hatch": "#bcc5cd", "q1": "#c9dff0", "q2": "#8bbfdd", "q3": "#4a97c9", "q4": "#1c68ac", "q5": "#08306b",
    "c0": "#b23a0e", "c1": "#0b6e99", "c2": "#2f1a66", "c3": "#6b727a", "g0": "#a9cfe6", "g1": "#f2c99c",
    "g2": "#b9dcab", "g3": "#d9c4e4", "g4": "#f1bcbc", "g5": "#d3d3d0", "dot": "#1b1f24",
    "o1": "#14181c", "o2": "#14181c", "o3": "#14181c", "o4": "#ffffff", "o5": "#ffffff",
}  # fmt: skip
DARK = {
    "ground": "#14171a", "card": "#1d2126", "ink": "#e8eaed", "dim": "#a8b0b9", "rule": "#48515b", "grid": "#2a3037",
    "accent": "#ff9a73", "focus": "#6cc3e8", "sea": "#182027", "land": "#23292f", "coast": "#77828d",
    "hatch": "#4a535c", "q1": "#1f4666", "q2": "#2c6899", "q3": "#4a92cb", "q4": "#8bc2ea", "q5": "#dcf0fd",
    "c0": "#ff9a73", "c1": "#5cb3e6", "c2": "#eadcff", "c3": "#9aa2ab", "g0": "#2b5c77", "g1": "#775023",
    "g2": "#3b6733", "g3": "#5d446e", "g4": "#773a3a", "g5": "#4c4c4a", "dot": "#e8eaed",
    "o1": "#ffffff", "o2": "#ffffff", "o3": "#0c0e10", "o4": "#0c0e10", "o5": "#0c0e10",
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A drawn figure.

    ``svg`` is for pages that bring :func:`stylesheet` (and, if they like, :func:`script`): it has no style of its own,
    so a strict content policy lets it through. :meth:`standalone` is for everything else.

    Args:
        svg: One ``<svg>`` element.
        title: What the figure is, in a few words.
        description: What it shows, in sentences.
        width: In pixels.
        height: In pixels.
        data: What it shows as numbers, of those kinds that can be drawn into axes of matplotlib.

    >>> from barrow.render.figures import bars
    >>> figure = bars(["Paris", "Rome"], [0.6, 0.4], title="Where people go")
    >>> print(figure)
    Where people go. The largest value is Paris: 60 %.
    >>> figure.standalone().startswith("<svg")
    True
    """

    svg: str
    title: str
    description: str
    width: int
    height: int
    data: FigureData | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        """Title and description: what remains of a figure in a terminal."""
        return f"{self.title}. {self.description}"

    def standalone(self, theme: Theme = "auto") -> str:
        """The SVG with its own ground and colours; "auto" is light, and dark where the viewer asks for it.

        >>> from barrow.render.figures import bars
        >>> "<style>" in bars(["a"], [1], unit="km").standalone("dark")
        True
        """
        head, _, body = self.svg.partition(">")
        ground = element("rect", width=self.width, height=self.height, class_="back")
        return f"{head}><style>{plain_rules(theme)}</style>{ground}{body}"

    def html(self, theme: Theme = "auto") -> str:
        """A page with the figure alone: it asks no server for anything and reads itself out.

        >>> from barrow.render.figures import bars
        >>> "default-src 'none'" in bars(["a"], [1], unit="km").html()
        True
        """
        body = f"<main><figure>{self.svg}<figcaption>{escape_html(self.description)}</figcaption></figure></main>"
        css = stylesheet(theme) + (
            "body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}"
            f"main{{max-width:{self.width}px;margin:24px auto;padding:0 16px}}"
            "figure{margin:0}figcaption{color:var(--dim)}"
        )
        return document(self.title, body, css=css, js=script())

    def png(self, theme: Theme = "light", *, scale: float = 2.0) -> bytes:
        """The figure as PNG (extra ``png``)."""
        resvg_py = optional_library("resvg_py", extra="png", purpose="PNG files")
        return _written(
            self.standalone("light" if theme == "auto" else theme),
            lambda svg: bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale, sans_serif_family="DejaVu Sans")),
        )

    def pdf(self, theme: Theme = "light") -> bytes:
        """The figure as PDF of one page, with shapes and fonts that can be enlarged (extra ``pdf``)."""
        vl_convert = optional_library("vl_convert", extra="pdf", purpose="PDF files")
        sides = 'width="{}" height="{}"'
        # A pixel is 1/96 inch, a point 1/72: the library writes one as the other.
        points = sides.format(0.75 * self.width, 0.75 * self.height)
        svg = self.standalone("light" if theme == "auto" else theme)
        svg = svg.replace(sides.format(self.width, self.height), points, 1)
        return _written(svg, lambda text: bytes(vl_convert.svg_to_pdf(text)))

    def save(self, path: str | PathLike[str], *, theme: Theme = "auto") -> Path:
        """Write the figure; the name's ending says how: ``.svg``, ``.html``, ``.png`` or ``.pdf``.

        >>> import tempfile
        >>> from barrow.render.figures import bars
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bars(["a"], [1], unit="km").save(f"{folder}/a.svg").name
        'a.svg'
        """
        target = Path(path)
        kind = target.suffix.lower()
        if kind in (".png", ".pdf"):
            target.write_bytes(self.png(theme) if kind == ".png" else self.pdf(theme))
        elif kind in (".svg", ".html"):
            text = self.standalone(theme) + "\n" if kind == ".svg" else self.html(theme)
            target.write_text(text, encoding="utf-8", newline="\n")
        else:
            allowed = ".svg, .html, .png, .pdf"
            raise ParameterError(f"The file is called {target.name!r}.", allowed=allowed, fix="figure.svg")
        return target

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """For notebooks: an image, which keeps ids and styles apart and passes where inline SVG is stripped."""
        data = base64.b64encode(self.standalone().encode()).decode()
        image = f'<img alt="{escape_html(str(self))}" width="{self.width}" src="data:image/svg+xml;base64,{data}">'
        return {"text/plain": str(self), "text/html": image}


def bundle(text: str, figure: Figure | None = None, html: str = "") -> dict[str, str]:
    """What a notebook shows of a value: its text, and above a table or sentences the figure as an image.

    >>> bundle("a < b")
    {'text/plain': 'a < b', 'text/html': '<pre>a &lt; b</pre>'}
    """
    image = "" if figure is None else figure._repr_mimebundle_()["text/html"]
    return {"text/plain": text, "text/html": image + (html or f"<pre>{escape_html(text)}</pre>")}


def build_figure(
    *body: str, title: str, description: str, width: float, height: float, kind: str, reach: int = 60, other: str = ""
) -> Figure:
    """The figure that some elements make; its ids come from its content, so that pages can hold many figures.

    ``reach`` is how many pixels from a mark a pointer still reads it, ``other`` what is read out where no mark is near.
    """
    heading, text = clean(title), lawful(description)
    inner = (element("defs", hatch()) if f"#{KEY}-hatch" in "".join(body) else "") + "".join(body)
    key = f"{kind}-{hashlib.sha256(f'{heading}{text}{inner}'.encode()).hexdigest()[:10]}"
    whole = (round(width), round(height))
    svg = element(
        "svg",
        element("title", text=heading, id=f"{key}-title"),
        element("desc", text=text, id=f"{key}-about"),
        inner.replace(KEY, key),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {whole[0]} {whole[1]}",
        width=whole[0],
        height=whole[1],
        role="img",
        aria_labelledby=f"{key}-title {key}-about",
        class_=f"bw {kind}",
        data_reach=reach,
        data_else=other or None,
    )
    return Figure(svg, heading, text, *whole)


def document(title: str, body: str, *, css: str, js: str = "", language: str = "en") -> str:
    """One HTML file whose own policy forbids every request; style and script are allowed by their digests.

    >>> page = document("A & B", "<main>x</main>", css="main{}")
    >>> "<title>A &amp; B</title>" in page, "script-src" in page
    (True, False)
    """
    allowed = f"default-src 'none'; style-src {_digest(css)}; img-src data:; base-uri 'none'; form-action 'none'"
    scripts = ""
    if js:
        allowed += f"; script-src {_digest(js)}"
        scripts = f"<script>{js}</script>"
    return (
        f'<!doctype html>\n<html lang="{escape_html(language)}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f'<link rel="icon" href="data:,"><title>{escape_html(clean(title))}</title><style>{css}</style></head>'
        f"<body>{body}{scripts}</body></html>\n"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _written(svg: str, render: Callable[[str], bytes]) -> bytes:
    """What a renderer makes of a figure. Without any font it would leave all text out and say nothing."""
    empty = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
    word = '<text x="2" y="15" font-family="sans-serif" font-size="12">X</text>'
    if render(empty.format(word)) == render(empty.format("")):
        raise ParameterError(
            "This machine has no font to write the figure's texts with.",
            allowed="PNG and PDF where a sans-serif font such as DejaVu Sans is installed",
            fix="save the figure as .svg or .html",
        )
    return render(svg)


@cache
def _resource(name: str) -> str:
    return files("barrow.render.figures").joinpath(name).read_text(encoding="utf-8")


def script() -> str:
    """The script that reads figures out: pointer, arrow keys and a choice of layers. Figures are complete without it.

    >>> "data-at" in script()
    True
    """
    return _resource("figures.js")


@cache
def stylesheet(theme: Theme = "auto") -> str:
    """The rules for figures in a page; "auto" follows the reader's choice of light or dark."""
    by_day, by_night = (":root{" + _variables(colours) + "}" for colours in (LIGHT, DARK))
    if theme == "auto":
        # Paper is white, whatever the reader's screen is.
        head = f":root{{color-scheme:light dark}}{by_day}@media screen and (prefers-color-scheme:dark){{{by_night}}}"
    else:
        head = _of_theme(theme, by_day, by_night)
    return head + _resource("figures.css")


@cache
def plain_rules(theme: Theme = "auto") -> str:
    """The same rules without variables: for programs that know no more CSS than colours."""
    rules = _resource("figures.css").split("/* pages */")[0]
    by_day, by_night = (_resolved(rules, colours) for colours in (LIGHT, DARK))
    if theme == "auto":
        return f"{by_day}@media (prefers-color-scheme:dark){{{_coloured(by_night)}}}"
    return _of_theme(theme, by_day, by_night)


def _of_theme(theme: str, light: str, dark: str) -> str:
    if theme not in ("light", "dark"):
        raise ParameterError(f"theme is {theme!r}.", allowed="auto, light, dark", fix="theme='light'")
    return light if theme == "light" else dark


def _variables(colours: dict[str, str]) -> str:
    return ";".join([f"--{name}:{colour}" for name, colour in colours.items()])


def _resolved(rules: str, colours: dict[str, str]) -> str:
    return re.sub(r"var\(--([a-z0-9]+)\)", lambda result: colours[result[1]], rules)


def _coloured(rules: str) -> str:
    """Only the rules that set a colour: by night nothing else changes."""
    return "".join(rule for rule in re.findall(r"[^{}]+\{[^{}]*\}", rules) if "#" in rule.split("{")[1])
