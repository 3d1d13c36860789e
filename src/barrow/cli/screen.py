"""Tables on the terminal: their styles are rich's, their texts are clean (:mod:`barrow.cli.terminal`)."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from barrow.errors import clean


class Screen(Console):
    """A console for tables, whose own styles pass and whose texts are clean and nothing but texts.

    Brackets are no styles, colons no pictures, and numbers have no colours: names, units and labels are strangers'.
    """

    def __init__(self, *, width: int | None = None, soft_wrap: bool = False) -> None:
        super().__init__(width=width, soft_wrap=soft_wrap, markup=False, emoji=False, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a text, each of them clean."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else clean(text), style, control)
