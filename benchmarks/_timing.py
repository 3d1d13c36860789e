"""Timing that several benchmarks share: candidates interleaved, medians of repeats, one JSON line at the end."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping


def median_seconds(call: Callable[[], object], repeats: int = 7, *, least: float = 0.01) -> float:
    """The median wall time of one call, over repeats that each last at least ``least`` seconds."""
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-9)
    loops = max(1, int(least / once))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(loops):
            call()
        times.append((time.perf_counter() - start) / loops)
    return statistics.median(times)


def interleaved(
    candidates: Mapping[str, Callable[[], object]], *, rounds: int = 5, least: float = 0.01
) -> dict[str, float]:
    """Median seconds of each candidate, measured in turns so that all see the same machine."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            times[name].append(median_seconds(call, repeats=1, least=least))
    return {name: statistics.median(values) for name, values in times.items()}


def finish(figures: Mapping[str, object]) -> None:
    """Print the figures as the last line, one JSON object."""
    print(json.dumps(figures))
