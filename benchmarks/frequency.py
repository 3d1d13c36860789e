"""Frequency estimation and the reduction to bounded data: what they cost against scans, peers and the paper."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import _frequency, _reduction
from benchmarks._timing import finish

_FOLDER = Path(tempfile.gettempdir()) / "barrow-bench"


def main() -> None:
    """Measure, print tables and one JSON line."""
    parser = argparse.ArgumentParser(prog="scripts/bench frequency", description=__doc__)
    parser.add_argument("--rows", type=float, default=1e8, help="rows of the files to sample from (1e8 by default)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true", help="leave DuckDB's and Polars' own sampling out")
    options = parser.parse_args()
    result: dict[str, Any] = dict(_frequency.figures())
    result |= _reduction.figures(int(options.rows), _FOLDER, repeats=options.repeats, peers=not options.no_peers)
    finish(result)


if __name__ == "__main__":
    main()
