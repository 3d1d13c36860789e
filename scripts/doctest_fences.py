"""Doctests of docstrings as blocks of code on the site: without a fence Markdown takes ``>>>`` for quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"((?:^ *>>> .*\n?)(?:^ *\S.*\n?)*)", re.MULTILINE)


def fenced(text: str) -> str:
    """Each doctest, up to the next empty line, inside a fence."""
    return _DOCTEST.sub(lambda result: f"```python\n{result[1].rstrip()}\n```\n", text)


class DoctestFences(griffe.Extension):
    """Fences the doctests of everything that is loaded."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """One module, class, function or attribute."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
