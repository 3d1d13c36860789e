"""What values ask of ``barrow.render``, which draws them and which nothing below it imports.

``barrow/__init__.py`` knows every folder and runs before any of them: there it is said where the renderer is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Renderer(Protocol):
    """How values are shown to people."""

    def bundle(self, thing: object) -> dict[str, str]:
        """What a notebook shows of a value, by media type."""

    def release_files(self, statement: Any, tables: Mapping[str, Any], plan: Any) -> dict[str, bytes]:
        """What every release writes beside its values and its statement."""


_load: list[Callable[[], Renderer]] = []


def install(load: Callable[[], Renderer]) -> None:
    """Says how the renderer is loaded when it is asked for first."""
    _load[:] = [load]


def renderer() -> Renderer:
    """The renderer.

    >>> renderer().__name__
    'barrow.render'
    """
    return _load[0]()


class Displayed:
    """A value that a notebook shows as text and figure."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return renderer().bundle(self)
