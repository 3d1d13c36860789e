"""Every kind of figure, from the public example numbers of the documentation."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_FILE = Path(__file__).parents[3] / "scripts" / "build_pictures.py"
_spec = importlib.util.spec_from_file_location("build_pictures", _FILE)
pictures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pictures)
PICTURES = pictures.PICTURES


def narrow(name: str, width: int = 360):
    """One of the pictures, drawn for a phone."""
    wide = pictures.fig

    class Narrow:
        def __getattr__(self, attribute):
            result = getattr(wide, attribute)
            if callable(result) and attribute in NARROWED:
                return lambda *a, **k: result(*a, **{**k, "width": width})
            return result

    pictures.fig = Narrow()
    try:
        return PICTURES[name]()
    finally:
        pictures.fig = wide


NARROWED = {"bars", "belief", "growth", "histogram", "icicle", "map_figure", "matrix", "ring", "timeline", "tradeoff",
            "points", "network", "intervals"}  # fmt: skip
