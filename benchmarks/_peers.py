"""Peers that conflict with our environment live in environments of their own, outside the repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_HOME = Path.home() / ".cache" / "barrow-bench"


def peer_python(name: str, *packages: str) -> str:
    """The Python of the environment ``name`` with ``packages``, made on first use."""
    home = _HOME / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        print(f"Installing {', '.join(packages)} into {home} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        (home / "ready").touch()
    return str(python)
