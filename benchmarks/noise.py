"""Exactly rounded noise against OpenDP's exact samplers and numpy's inexact ones, in one run.

A section is one function that prints its table and returns its keys of the last line: add it to SECTIONS.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from barrow.noise import rounded_gaussian, rounded_knorm, rounded_laplace
from benchmarks import _lipschitz
from benchmarks._timing import finish, interleaved, median_seconds

_SIZE = 100_000
_SCALE = 1000
_PEER = Path(__file__).with_name("_opendp_noise.py")
_PEER_HOME = Path.home() / ".cache" / "barrow-bench" / "opendp"


def _opendp_python() -> str:
    """A Python that has OpenDP: this one, or one in an environment of its own outside the repository."""
    if importlib.util.find_spec("opendp") is not None:
        return sys.executable
    python = _PEER_HOME / "bin" / "python"
    if not (_PEER_HOME / "ready").exists():
        print(f"Installing OpenDP into {_PEER_HOME} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(_PEER_HOME)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "opendp", "numpy"], check=True)
        (_PEER_HOME / "ready").touch()
    return str(python)


def _opendp_seconds() -> dict[str, float]:
    done = subprocess.run(
        [_opendp_python(), str(_PEER), str(_SCALE), str(_SIZE), "3"],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def draws() -> dict[str, float]:
    """Draws per second: ours, numpy's (floats, no CSPRNG) and OpenDP's (exact, integers)."""
    rng = np.random.default_rng()
    zeros = np.zeros(_SIZE, dtype=np.int64)
    opendp = _opendp_seconds()
    seconds = interleaved(
        {
            "laplace": lambda: rounded_laplace(zeros, _SCALE),
            "numpy laplace": lambda: rng.laplace(scale=_SCALE, size=_SIZE),
            "gaussian": lambda: rounded_gaussian(zeros, _SCALE),
            "numpy gaussian": lambda: rng.normal(scale=_SCALE, size=_SIZE),
        },
        rounds=15,
    )
    print(f"{_SIZE:,} values, scale {_SCALE}, draws per second (median)")
    print(f"{'':10}{'barrow':>12}{'numpy':>12}{'OpenDP':>12}{'x OpenDP':>10}{'x slower than numpy':>21}")
    figures = {}
    for law in ("laplace", "gaussian"):
        ours, numpy = seconds[law], seconds[f"numpy {law}"]
        peer, plain = opendp[law] / ours, ours / numpy
        rates = "".join(f"{_SIZE / t:12.3g}" for t in (ours, numpy, opendp[law]))
        print(f"{law:10}{rates}{peer:10.0f}{plain:21.2f}")
        figures[f"{law}_vs_opendp"], figures[f"{law}_vs_numpy"] = round(peer, 1), round(plain, 3)
    return figures


def vectors() -> dict[str, float]:
    """K-norm noise, microseconds per vector."""
    print("\nK-norm noise, microseconds per vector")
    print(f"{'dimension':>10}{'p = 2':>10}{'p = inf':>10}{'p = 3':>10}")
    for size in (2, 10, 100, 1000):
        zeros = np.zeros(size, dtype=np.int64)
        row = f"{size:10}"
        powers: tuple[int | str, ...] = (2, "inf", 3)
        for p in powers:
            seconds = median_seconds(partial(rounded_knorm, zeros, 1, p), repeats=11)
            row += f"{seconds * 1e6:10.0f}"
        print(row)
    return {}


SECTIONS: tuple[Callable[[], dict[str, float]], ...] = (draws, vectors, _lipschitz.measure)


def main() -> None:
    """Prints every section, then all figures as one line of JSON."""
    figures: dict[str, float] = {}
    for section in SECTIONS:
        figures.update(section())
    finish(figures)


if __name__ == "__main__":
    main()
