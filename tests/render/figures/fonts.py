"""The fonts that figures must leave room for, and which of them this machine has."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

FONTS = ("DejaVu Sans", "Noto Sans", "Liberation Sans")


@cache
def installed() -> tuple[str, ...]:
    """Those of them that a browser on this machine finds, in this order."""
    tool = shutil.which("fc-list")
    if tool is None:
        return ()
    text = subprocess.run([tool, ":", "family"], capture_output=True, text=True, check=True).stdout
    names = {name.strip() for line in text.splitlines() for name in line.split(",")}
    return tuple(font for font in FONTS if font in names)
