"""What several rows measure by: exact audits of shipped code, exact divergences, seeded draws, fitted exponents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from barrow.audit.itemwise import mixed_reports
from barrow.audit.pairs import User, allowed_by, compare, known_distances, products, small_users
from barrow.audit.verdict import Finding, Tally
from barrow.noise.source import SeededSource
from barrow.promises import Guarantee
from barrow.randomisers import TOTAL, Randomiser
from barrow.spaces.space import Floats
from lab.paper.registry import HOLDS, UNSAFE, Measured, Number

__all__ = [
    "clone_pair",
    "exact_items",
    "exponent",
    "histograms",
    "hockey_stick",
    "said_of",
    "shuffled_counts",
    "sized",
    "small_users",
    "uniforms",
]


def sized(value: float, digits: int = 4) -> str:
    """A number for people: few digits, plain where that is short."""
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:.{digits}g}"


def exact_items(made: Randomiser, promised: Guarantee, users: Sequence[User], samples: int = 0) -> Finding:
    """Every ordered pair of ``users`` under reports on all their items, from the integer weights that are drawn from.

    ``samples`` is how many items are drawn from each user, with replacement; 0 for all of them.
    """
    tally = Tally(made.kind, "local")
    rows = [{y: Fraction(int(x), TOTAL) for y, x in enumerate(row) if x} for row in made.weight_rows() or []]
    distributions = [
        products([mixed_reports(rows, user)], (0,) * samples) if samples else products(rows, user) for user in users
    ]
    compare(tally, list(users), distributions, known_distances(made.space, tuple(users)), allowed_by(promised))
    return tally.finding()


def said_of(found: Finding | Sequence[Finding], what: str) -> Measured:
    """Exact comparisons in words; ``barrow audit --all`` makes many more of them."""
    each = [found] if isinstance(found, Finding) else list(found)
    pairs, wrong, used = sum(f.pairs for f in each), sum(f.wrong for f in each), max(f.used for f in each)
    numbers: dict[str, Number] = {"pairs": pairs, "violations": wrong, "largest_share_used": round(used, 6)}
    text = (
        f"{what}: {pairs:,} ordered pairs of small users compared exactly, {wrong} violations; the worst pair uses "
        f"{100 * used:.1f} % of what is promised."
    )
    return Measured(text, HOLDS if wrong == 0 else UNSAFE, numbers)


def hockey_stick(p: Floats, q: Floats, epsilon: float) -> float:
    """``def:hockey`` for finite distributions: sum of (p - e^epsilon q) where it is positive."""
    return math.fsum(np.maximum(p - math.exp(epsilon) * q, 0.0).tolist())


def clone_pair(reports: int, clones: float, distance: float, alpha0: float) -> tuple[Floats, Floats]:
    """The pair of ``lem:shuffle-metric-part`` as two arrays over (#0, #1), summed term by term (a second route)."""
    from scipy.special import gammaln, xlogy

    flip = 1.0 / (1.0 + math.exp(alpha0 * distance))
    p, q = np.zeros((reports + 1, reports + 1)), np.zeros((reports + 1, reports + 1))
    for c in range(reports):
        a = np.arange(c + 1)
        log = gammaln(reports) - gammaln(c + 1) - gammaln(reports - c) + xlogy(c, clones)
        log += xlogy(reports - 1 - c, 1.0 - clones) - c * math.log(2.0)
        mass = np.exp(log + gammaln(c + 1) - gammaln(a + 1) - gammaln(c - a + 1))
        for zero, share in ((1, 1.0 - flip), (0, flip)):
            p[a + zero, c - a + 1 - zero] += share * mass
            q[a + 1 - zero, c - a + zero] += share * mass
    return p, q


def shuffled_counts(channel: Sequence[Sequence[float]], items: Sequence[int]) -> dict[tuple[int, ...], float]:
    """The distribution of how often each report occurs when each of ``items`` is reported through ``channel``."""
    result = {(0,) * len(channel[0]): 1.0}
    for item in items:
        longer: dict[tuple[int, ...], float] = {}
        for counts, chance in result.items():
            for report, more in enumerate(channel[item]):
                key = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                longer[key] = longer.get(key, 0.0) + chance * more
        result = longer
    return result


def uniforms(seed: int, count: int) -> Floats:
    """Numbers in (0, 1) from a fixed seed: for simulations only."""
    return np.asarray((SeededSource(seed).words(count).astype(np.float64) + 0.5) * 2.0**-64)


def histograms(seed: int, rows: int, items: int) -> Floats:
    """Random histograms (flat Dirichlet) from a fixed seed, one a row."""
    sample = -np.log(uniforms(seed, rows * items)).reshape(rows, items)
    return np.asarray(sample / sample.sum(axis=1, keepdims=True))


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of ln y against ln x by least squares."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
