"""Spaces and randomisers of every kind, small enough to be checked to the last pair."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np

from barrow.randomisers import (
    MatrixRandomiser,
    MixtureRandomiser,
    Randomiser,
    exponential,
    gkrr,
    mapped,
    matrix_randomiser,
    planar_laplace,
    randomised_response,
    tree_response,
)
from barrow.randomisers.randomiser import TOTAL
from barrow.spaces import Circle, Clustered, Discrete, Earth, Embedding, Euclidean, Line, Space, Tree

CLUSTERS = Clustered.grid(3, 4, r=0.25)
UNEVEN = Clustered({"a": ["1", "2", "3", "4", "5"], "b": ["6"], "c": ["7", "8"]}, r=0.1)
PLACES = Tree.nested(
    ["US/NY/JFK", "US/NY/LGA", "US/CA/LAX", "FR/75/CDG", "FR/75/ORY", "FR/13/MRS"], distances=[1, 0.5, 0.125]
)
CROOKED = Tree(
    [("a", "root", 0.1), ("b", "root", 0.3), ("in", "root", 0.2), ("c", "in", 2.0), ("d", "in", 1.0),
     ("e", "deep", 0.1), ("f", "deep", 0.2), ("deep", "in", 0.5)]
)  # fmt: skip
WORDS = Embedding(["cat", "dog", "car", "bus"], [[0, 1], [0, 2], [5, 0], [6, 1]])


def channels() -> dict[str, Randomiser]:
    """One of every kind that has a matrix."""
    return {
        "gkrr": gkrr(CLUSTERS, 2),
        "gkrr, weak": gkrr(CLUSTERS, "0.001"),
        "gkrr, strong": gkrr(CLUSTERS, 15),
        "gkrr, uneven": gkrr(UNEVEN, 3),
        "tree": tree_response(PLACES, 3),
        "tree, crooked": tree_response(CROOKED, 4),
        "tree, discrete": tree_response(Discrete(["a", "b", "c"]), 1),
        "response": randomised_response(Discrete(["a", "b", "c"]), "0.7"),
        "response, line": randomised_response(Line(0, 10, step=2, cells=True), 3),
        "exponential, line": exponential(Line(0, 10, step=1, cells=True), 4),
        "exponential, circle": exponential(Circle(24, unit="h", step=3), 6),
        "exponential, words": exponential(WORDS, 5),
        "planar, box": planar_laplace(Euclidean([0, 0], [3, 4], unit="km", step=1), 8),
        "planar, earth": planar_laplace(Earth(box=(40.0, -74.0, 41.0, -73.0), cell=30), 2000),
        "matrix": matrix_randomiser(Discrete(["a", "b"]), [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]], labels=["x", "y", "z"]),
        "mapped": mapped(gkrr(CLUSTERS, 2), lambda label: label.split("/")[0]),
    }


def exact_row(channel: Randomiser, item: int) -> list[Fraction]:
    """The exact probabilities of all reports on one item."""
    if isinstance(channel, MatrixRandomiser):
        return [Fraction(int(w), TOTAL) for w in channel.weights[item]]
    if isinstance(channel, MixtureRandomiser):
        return [channel.probability(item, y) for y in range(channel.space.items)]
    inner = exact_row(channel.inner, item)
    row = [Fraction(0)] * channel.reports
    for y, q in enumerate(inner):
        row[int(channel._answer[y])] += q
    return row


def tight_alpha0(rows: list[list[Fraction]], space: Space) -> mpmath.mpf:
    """The least alpha0 over all pairs and reports, at 50 digits: the second route."""
    with mpmath.workdps(50):
        best = mpmath.mpf(0)
        for x in range(space.items):
            for other in range(space.items):
                if x == other:
                    continue
                d = mpmath.mpf(float(space.distance(x, other)))
                ratio = max(Fraction(a, b) for a, b in zip(rows[x], rows[other], strict=True) if b)
                best = max(best, mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator) / d)
        return best


def chi_square(found: np.ndarray, expected: np.ndarray) -> float:
    from scipy import stats

    some = expected > 0
    assert found[~some].sum() == 0
    statistic = ((found[some] - expected[some]) ** 2 / expected[some]).sum()
    return float(stats.chi2.sf(statistic, int(some.sum()) - 1))


def paper_row(space: Clustered, alpha0: float) -> tuple[float, float, float]:
    """a + b + c, b + c and c of the paper's appendix."""
    s, t = space.equal_shape or (0, 0)
    inside = math.exp((1 - space.r) * alpha0)
    z = math.exp(alpha0) + (t - 1) * inside + (s - 1) * t
    return math.exp(alpha0) / z, inside / z, 1 / z
