"""A figure: SVG text with a title and a description, saved as SVG, HTML or PNG, shown by notebooks."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from html import escape as escape_html
from os import PathLike
from pathlib import Path
from typing import Any

from barrow.errors import MissingExtraError, ParameterError
from barrow.figures.palette import Theme, plain_rules, script, stylesheet
from barrow.figures.svg import KEY, clean, element, hatch, lawful


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

    >>> from barrow.figures import bars
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

    def __str__(self) -> str:
        """Title and description: what remains of a figure in a terminal."""
        return f"{self.title}. {self.description}"

    def standalone(self, theme: Theme = "auto") -> str:
        """The SVG with its own ground and colours; "auto" is light, and dark where the viewer asks for it.

        >>> from barrow.figures import bars
        >>> "<style>" in bars(["a"], [1], unit="km").standalone("dark")
        True
        """
        head, _, body = self.svg.partition(">")
        ground = element("rect", width=self.width, height=self.height, class_="back")
        return f"{head}><style>{plain_rules(theme)}</style>{ground}{body}"

    def html(self, theme: Theme = "auto") -> str:
        """A page with the figure alone: it asks no server for anything and reads itself out.

        >>> from barrow.figures import bars
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
        return _png(self.standalone("light" if theme == "auto" else theme), scale)

    def save(self, path: str | PathLike[str], *, theme: Theme = "auto") -> Path:
        """Write the figure; the name's ending says how: ``.svg``, ``.html`` or ``.png``.

        >>> import tempfile
        >>> from barrow.figures import bars
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bars(["a"], [1], unit="km").save(f"{folder}/a.svg").name
        'a.svg'
        """
        target = Path(path)
        kind = target.suffix.lower()
        if kind == ".png":
            target.write_bytes(self.png(theme))
        elif kind in (".svg", ".html"):
            text = self.standalone(theme) + "\n" if kind == ".svg" else self.html(theme)
            target.write_text(text, encoding="utf-8", newline="\n")
        else:
            raise ParameterError(f"The file is called {target.name!r}.", allowed=".svg, .html, .png", fix="figure.svg")
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


def drawn(
    *body: str, title: str, description: str, width: float, height: float, kind: str, reach: int = 60, other: str = ""
) -> Figure:
    """The figure that some elements make; its ids come from its content, so that pages can hold many figures.

    ``reach`` is how many pixels from a mark a pointer still reads it, ``other`` what is read out where no mark is near.
    """
    heading, said = clean(title), lawful(description)
    inner = (element("defs", hatch()) if f"#{KEY}-hatch" in "".join(body) else "") + "".join(body)
    key = f"{kind}-{hashlib.sha256(f'{heading}{said}{inner}'.encode()).hexdigest()[:10]}"
    whole = (round(width), round(height))
    svg = element(
        "svg",
        element("title", text=heading, id=f"{key}-title"),
        element("desc", text=said, id=f"{key}-about"),
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
    return Figure(svg, heading, said, *whole)


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


def _png(svg: str, scale: float) -> bytes:
    try:
        import resvg_py
    except ImportError:
        raise MissingExtraError.for_extra("resvg_py", extra="png", purpose="PNG files") from None

    def render(text: str, zoom: float) -> bytes:
        return bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=zoom, sans_serif_family="DejaVu Sans"))

    # Without any font the renderer leaves all text out and says nothing.
    empty = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
    word = '<text x="2" y="15" font-family="sans-serif" font-size="12">X</text>'
    if render(empty.format(word), 1) == render(empty.format(""), 1):
        raise ParameterError(
            "This machine has no font to write the figure's texts with.",
            allowed="PNG where a sans-serif font such as DejaVu Sans is installed",
            fix="save the figure as .svg or .html",
        )
    return render(svg, scale)
