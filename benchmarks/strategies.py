"""Noise shaped for a workload against the best noise without: root mean square errors at the same promises.

Without strategies an answer can be had by additive noise on the answers themselves (Laplace, 2-norm, maximum norm,
Gaussian), or from a histogram with noise along the edges of a tree or of the space's graph. All of these are among the
strategies, so that the ratio of errors, which is printed as it is, is never below 1. Two more tables: larger spaces,
and hierarchies and products with Laplace noise, whose weights a general solver finds for the very workload.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from barrow.mechanisms import linear_candidates
from barrow.mechanisms.edge_histogram import edge_histogram, reach_upper
from barrow.mechanisms.strategies import factorisations, strategies_for
from barrow.noise.source import SeededSource
from barrow.planning.terms import Terms
from barrow.promises import Promise
from barrow.queries import Query, density, function, histogram, mean, table_floats
from barrow.spaces import Embedding, Euclidean, Line
from barrow.spaces.space import Floats
from benchmarks._hierarchies import families, least_rms
from benchmarks._timing import finish

USERS = 10_000
PROMISE = Promise("all", "0.02", "0.5")


def _uniforms(seed: int, count: int) -> Floats:
    return np.asarray((SeededSource(seed).words(count).astype(np.float64) + 0.5) * 2.0**-64)


def rectangles(side: int = 20) -> Query:
    """Twenty random rectangles of a square of 20 x 20 cells."""
    ends = np.sort((_uniforms(1, 80) * (side + 1)).astype(int).reshape(20, 2, 2), axis=2)
    masks = np.zeros((20, side, side))
    for mask, ((a, b), (c, d)) in zip(masks, ends.tolist(), strict=True):
        mask[a : b + 1, c : d + 1] = 1.0
    return function(Euclidean([0, 0], [1, 1], step=1 / side), masks.reshape(20, -1).T)


def cuts() -> Query:
    """Twelve cuts of a distribution function on 240 cells."""
    places = np.arange(240.0)
    return function(Line(0, 240, step=1, cells=True), (places[:, None] < 20.0 * np.arange(1, 13) - 10.0) * 1.0)


def cells() -> Query:
    """A density of overlapping cells on a square of 20 x 20 places."""
    return density(Euclidean([0, 0], [1, 1], step=1 / 20), bandwidth="0.1")


def prefixes() -> Query:
    """All prefix sums of 256 cells."""
    return function(Line(0, 256, step=1, cells=True), np.triu(np.ones((256, 255))))


def ranges() -> Query:
    """All 2,016 ranges of 64 cells but those of one end."""
    edges = [(a, b) for a in range(64) for b in range(a + 1, 64)]
    place = np.arange(64)
    return function(Line(0, 64, step=1, cells=True), np.array([(place >= a) & (place < b) for a, b in edges]).T * 1.0)


def square() -> Query:
    """Every cell of 16 x 16."""
    return histogram(Euclidean([0, 0], [1, 1], step=1 / 16))


def quadrants() -> Query:
    """All 256 prefix rectangles of 16 x 16, from which every rectangle is a sum of four."""
    below = np.triu(np.ones((16, 16)))
    return function(Euclidean([0, 0], [1, 1], step=1 / 16), np.kron(below, below)[:, :-1])


def words() -> Query:
    """The mean of 50 coordinates of 300 words; the first coordinates vary more than the last."""
    from scipy.special import ndtri

    vectors = ndtri(_uniforms(2, 300 * 50)).reshape(300, 50) * np.linspace(1.0, 0.05, 50)
    return mean(Embedding([f"w{i}" for i in range(300)], vectors))


WORKLOADS: dict[str, Callable[[], Query]] = {
    "20 rectangles of 20 x 20": rectangles,
    "12 cuts of 240": cuts,
    "density on 400 places": cells,
    "prefix sums of 256": prefixes,
    "ranges of 64": ranges,
    "cells of 16 x 16": square,
    "prefix rectangles of 16 x 16": quadrants,
    "50 coordinates of words": words,
}

HIERARCHIES: dict[str, tuple[Callable[[], Query], int, bool]] = {
    "ranges of 64": (ranges, 64, False),
    "prefix rectangles of 16 x 16": (quadrants, 16, True),
    "cells of 16 x 16": (square, 16, True),
    "20 rectangles of 16 x 16": (lambda: rectangles(16), 16, True),
}


@dataclass(frozen=True)
class Setting:
    """How much of the promise one release has: all of it, or as much as one of several whose sum is in quadrature."""

    name: str
    delta: str
    releases: int = 1

    def terms(self, query: Query) -> Terms:
        """What pure noise may use: the promise divided by the number of releases."""
        return Terms(query.space, USERS, (PROMISE,), delta=Fraction(self.delta), fraction=Fraction(1, self.releases))

    def mu_for(self, query: Query) -> Callable[[Fraction], Fraction]:
        """What Gaussian noise may use: the mu of the promise divided by the root of the number of releases."""
        whole = replace(self.terms(query), fraction=Fraction(1))
        root = Fraction(math.isqrt(self.releases))
        return lambda ratio: whole.mu_for(ratio) / root


SETTINGS = (Setting("pure", "0"), Setting("delta 1e-9", "1e-9"), Setting("1 of 16", "1e-9", 16))


def today(query: Query, setting: Setting) -> tuple[str, float]:
    """The least root mean square error without strategies, and whose it is."""
    result: dict[str, float] = {}
    terms, mu_for = setting.terms(query), setting.mu_for(query)
    for kind in ["laplace", "l2", "linf", *(["gaussian"] if terms.delta else [])]:
        order = {"laplace": "1", "linf": "inf"}.get(kind, "2")
        alpha = terms.alpha_for(query.range_ratio(order))
        built = linear_candidates(query, alpha, terms.delta, noise=kind, users=USERS, mu_for=mu_for)[0]
        result[built.name] = built.deviation
    values = table_floats(query).T
    for blocks in ("faces", "edges"):
        along = edge_histogram(query.space, 1, users=USERS, blocks=blocks)
        rate = float(terms.alpha_for(Fraction(reach_upper(query.space, along.graph))))
        wide = np.zeros((len(values), along.graph.nodes))
        wide[:, : values.shape[1]] = values
        result[f"along {blocks}"] = math.sqrt(float(((wide @ along.covariance) * wide).sum()) / len(values)) / rate
    for each in strategies_for(query, terms.alpha_for, users=USERS):
        if each.factors.name == "tree":
            result["along a tree"] = each.rms
    best = min(result, key=lambda name: result[name])
    return best, result[best]


def hierarchies() -> dict[str, float]:
    """Laplace noise on hierarchies and products, their weights optimised, over the best pure strategy."""
    figures: dict[str, float] = {}
    print(f"\n{'workload':29} {'pure strategy':>22} {'hierarchy or product':>22} {'its error over it':>18}")
    for name, (make, side, flat) in HIERARCHIES.items():
        query = make()
        best = strategies_for(query, 1, users=USERS)[0]
        text = repr(best)[9:-1].rpartition(",")[0]
        for family, rows in families(side, flat).items():
            ratio = least_rms(query, rows, USERS) / best.rms
            print(f"{name:29} {text:>22} {family:>22} {ratio:18.3f}", flush=True)
            figures[f"{name} by {family}".replace(" ", "_")] = round(ratio, 3)
    return {**figures, "least_hierarchy": min(figures.values())}


def large() -> dict[str, float]:
    """Twenty random rectangles on larger squares."""
    figures: dict[str, float] = {}
    print(f"\n{'20 rectangles on cells':>23} {'over plain':>10} {'of bound':>9} {'pure over plain':>16} {'CPU s':>6}")
    for side in (40, 64, 100):
        query, start = rectangles(side), time.process_time()
        factorisations(query)
        seconds = time.process_time() - start
        gaussian, pure = (strategies_for(query, 1, delta, users=USERS, noise=kind)
                          for delta, kind in (("1e-9", "gaussian"), (0, "auto")))  # fmt: skip
        gains = [next(e.rms for e in one if e.factors.name == "plain") / one[0].rms for one in (gaussian, pure)]
        gap = gaussian[0].rms / (gaussian[0].rms_lower or math.nan)
        print(f"{side * side:>23,} {gains[0]:>10.3f} {gap:>9.4f} {gains[1]:>16.3f} {seconds:>6.1f}", flush=True)
        figures[f"rectangles_of_{side}_gap"] = round(gap, 4)
        figures[f"rectangles_of_{side}_gain"] = round(gains[0], 3)
        figures[f"rectangles_of_{side}_seconds"] = round(seconds, 2)
    return {**figures, "large_gap": max(value for key, value in figures.items() if key.endswith("_gap"))}


def main() -> None:
    """Each workload in each setting."""
    figures: dict[str, float] = {}
    head = ("workload", "setting", "today", "rms", "shaped", "rms", "ratio", "of bound", "CPU s")
    print("{:29} {:>10} {:>13} {:>9} {:>20} {:>9} {:>6} {:>8} {:>5}".format(*head))
    worst_gap = 1.0
    for name, make in WORKLOADS.items():
        query, key = make(), name.replace(" ", "_")
        start = time.process_time()
        factorisations(query)
        seconds = time.process_time() - start
        bound = strategies_for(query, 1, "1e-9", users=USERS, noise="gaussian")[0]
        gap = bound.rms / (bound.rms_lower or math.nan)
        worst_gap = max(worst_gap, gap)
        for setting in SETTINGS:
            plain, error = today(query, setting)
            terms = setting.terms(query)
            result = strategies_for(query, terms.alpha_for, terms.delta, users=USERS, mu_for=setting.mu_for(query))[0]
            ratio = error / result.rms  # all of today's noises are among the strategies
            text = repr(result)[9:-1].rpartition(",")[0]
            print(
                f"{name:29} {setting.name:>10} {plain:>13} {error:9.3g} {text:>20} {result.rms:9.3g} {ratio:6.2f} "
                f"{gap:8.4f} {seconds:5.1f}",
                flush=True,
            )
            figures[f"{key}_{setting.name.replace(' ', '_')}_ratio"] = round(ratio, 3)
        figures[f"{key}_seconds"] = round(seconds, 2)
    figures["least_ratio"] = min(value for key, value in figures.items() if key.endswith("_ratio"))
    figures["worst_gap"] = round(worst_gap, 4)
    finish({**figures, **large(), **hierarchies()})


if __name__ == "__main__":
    main()
