"""Figures of frequency estimation: undoing GKRR on a million items, and reading a million reports.

The inverse: k = 1e6 items in 1,000 clusters of 1,000, r = 0.05, alpha0 = 4.4; the time is that of one estimate from the
counts of all reports, with the channel already made (making it is printed beside it).

The reports: texts as the client writes them, of 100 items each, k = 1,000 (20 clusters of 50), from the randomiser
itself: 50,000 people's draws, each sent by 20 people with ids of their own, a million reports in all. The time is that
of the server from the texts to the counts, with every check; writing the texts is not in it.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from barrow.local.report import Report
from barrow.local.server import Server
from barrow.mechanisms import TreeChannel
from barrow.noise.source import SeededSource
from barrow.randomisers.randomiser import TOTAL
from barrow.spaces import Clustered
from barrow.study import Study
from benchmarks._timing import median_seconds

_CLUSTERS, _INSIDE, _R, _ALPHA0 = 1000, 1000, 0.05, 4.4
_ITEMS, _DRAWN, _COPIES = 100, 50_000, 20


def gkrr_channel(clusters: int, inside: int, r: float, alpha0: float) -> TreeChannel:
    """GKRR as a linear map, straight from the paper's constants, without the exact randomiser around it."""
    k = clusters * inside
    e, near = math.exp(alpha0), math.exp((1 - r) * alpha0)
    z = e + (inside - 1) * near + (clusters - 1) * inside
    root, cluster = int(k / z * TOTAL), int(inside * (near - 1) / z * TOTAL)
    every, middle = np.arange(k), np.arange(clusters)
    return TreeChannel(
        np.concatenate([[0], middle * inside, every]),
        np.concatenate([[k], (middle + 1) * inside, every + 1]),
        np.concatenate([[-1], np.zeros(clusters, dtype=np.int64), 1 + every // inside]),
        np.concatenate([[root], np.full(clusters, cluster), np.full(k, TOTAL - root - cluster)]),
    )


def inverse() -> dict[str, float]:
    """Seconds for one unbiased estimate of a million frequencies."""
    start = time.perf_counter()
    channel = gkrr_channel(_CLUSTERS, _INSIDE, _R, _ALPHA0)
    built = time.perf_counter() - start
    law = np.random.default_rng(1).dirichlet(np.ones(channel.items))
    reports = channel.forward(law)
    seconds = median_seconds(lambda: channel.inverse(reports), repeats=9)
    wrong = float(np.abs(channel.inverse(reports) - law).max() / law.max())
    print(f"GKRR on {channel.items:,} items undone in {seconds:.4f} s (made in {built:.2f} s; off by {wrong:.1e})")
    if wrong > 1e-9:
        raise RuntimeError("the inverse is wrong")
    return {"gkrr_inverse_1e6_seconds": round(seconds, 5)}


def aggregation() -> dict[str, float]:
    """Reports that a server reads, checks and counts in a second; one pass over a million of them."""
    question = {"kind": "frequency", "items": _ITEMS}
    study = Study(Clustered.grid(20, 50, r=_R), alpha=400, delta="1e-9", model="local", questions=[question])
    server, seconds = Server(study), 0.0
    randomiser, source = server.survey.plan.itemwise.randomiser, SeededSource(3)  # type: ignore[attr-defined]
    held = np.random.default_rng(2).integers(0, randomiser.space.items, _DRAWN * _ITEMS)
    sample = np.sort(randomiser.from_items(held, source=source).reshape(_DRAWN, _ITEMS), axis=1)
    texts = [Report(server.survey.digest, "f" * 32, tuple(row)).to_text() + "\n" for row in sample.tolist()]
    for copy in range(_COPIES):
        sent = [text.replace("f" * 32, f"{copy * _DRAWN + i:032x}", 1) for i, text in enumerate(texts)]
        start = time.perf_counter()
        server.add_all(sent)
        seconds += time.perf_counter() - start
    expected = np.bincount(sample.ravel(), minlength=randomiser.reports) * _COPIES
    start = time.perf_counter()
    result = server.result()
    estimated = time.perf_counter() - start
    counted: Any = result.details["reports"]
    if server.n != _DRAWN * _COPIES or list(counted.values()) != expected.tolist():
        raise RuntimeError("reports were lost")
    rate = server.n / seconds
    print(
        f"aggregation: {server.n:,} reports of {_ITEMS} items in {seconds:.2f} s ({rate:,.0f} per second); estimated, "
        f"decoded ({result.details['decode']}) and priced in {estimated:.2f} s"
    )
    return {"aggregate_reports_per_second": round(rate)}


def figures() -> dict[str, float]:
    """All figures of this file."""
    return {**inverse(), **aggregation()}
