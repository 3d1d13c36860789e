"""One changed report in a shuffle of N, as a Gaussian rate: closed forms, no loop over N.

Let T be one plus the number of clones, z the mean of T fair signs and e(c) = E[(z - c)_+]. The power of any test that
tells two inputs at distance d apart makes one implicit-midpoint step of size 2 nu in V(s) = min_c [c s + e(c)], with
nu = tanh(alpha0 d/2). This module bounds V by (kappa/2) phi(Phi^-1(s)) on all levels s in [Phi(-L), 1 - Phi(-L)], for
every d at once, and bounds how far a midpoint step can outrun the flow. docs/proofs/shuffle-flow.md has the proofs:

* lemma G: E[(z - c)_+] <= exp(-C c^4/24) g_c(C), g_c(v) = E[(Z/sqrt v - c)_+], for C = T - 1 >= 1 clones;
* the right side is completely monotone in C, so its mean over C ~ Bin(N-1, rho) is a moment generating function
  times a second-order Taylor bound; by thinning it scales: e at rho omega is at most e_bar(c sqrt omega)/sqrt omega;
* inflation: a step of size h moves Phi^-1 by at most t, where (2/L) tanh(L t/2) e^(-t^2/8) = h.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.numerics.gdp import SQRT_TWO_PI, mills

Floats = NDArray[np.float64]

LARGEST_LEVEL = 300.0
"""Levels below Phi(-300) are refused: exponents of that size still carry 10 digits, which _SLACK covers."""

_SLACK = 1.0 + 1e-9
"""Bounds the rounding in a rate: exponents reach 5e4, so they are good to 2e-11, and each factor to a few units."""


def _scaled_call_upper(x: Floats) -> Floats:
    """sqrt(2 pi) e^(x^2/2) E[(Z - x)_+] = 1 - x R(x), from above; x >= 0."""
    return np.minimum((1.0 - x * mills(x)) + 4e-16 * (1.0 + x * x), 1.0 / (1.0 + x * x))


def log_mean_excess_upper(c: Floats, alpha0: float, reports: float, omega: float) -> Floats:
    """Ln of e_bar(c): an upper bound on sqrt(omega') E[(z - c/sqrt omega')_+] for every omega' in [1, omega].

    Args:
        c: Thresholds in [0, 1].
        alpha0: Parameter of the randomiser; clones appear with probability omega' e^-alpha0.
        reports: N, at least 2.
        omega: 1 for standard clones, 1 + tanh(alpha0/2) for stronger ones.
    """
    others = reports - 1.0
    rho, no_clone = math.exp(-alpha0), -math.expm1(-alpha0)
    tilt = c * c / 2.0 + c**4 / (24.0 * omega)
    log_mgf = others * np.log1p(rho * np.expm1(-tilt))
    whole = no_clone + rho * np.exp(-tilt)
    tilted, spread = rho * np.exp(-tilt) / whole, no_clone / whole
    mean = others * tilted

    def slowly(v: Floats) -> Floats:
        # r(v) = e^(c^2 v/2) g_c(v), which decays between v^-1/2 and v^-3/2.
        return _scaled_call_upper(c * np.sqrt(v)) / (SQRT_TWO_PI * np.sqrt(v))

    # Below (1 - theta) times the mean a Chernoff bound, above it Taylor with the largest second derivative there.
    theta = np.minimum(0.5, np.sqrt(2.0 * (16.0 + 1.5 * np.log(np.maximum(mean, 1.0))) / mean))
    edge = mean * (1.0 - theta)
    second = np.minimum(3.75 * slowly(edge) / edge**2, 0.75 * edge**-2.5 / SQRT_TWO_PI)
    total = slowly(mean) + 0.5 * second * mean * spread + 0.4 * np.exp(-mean * theta * theta / 2.0)
    alone = others * math.log(no_clone) if no_clone > 0.0 else -math.inf
    return np.asarray(np.logaddexp(log_mgf + np.log(total), alone + math.log(0.85)))


def _largest_threshold(alpha0: float, reports: float, level: float) -> float:
    """A threshold c whose standardised value is a little above ``level``, or 1."""
    rho, no_clone = math.exp(-alpha0), -math.expm1(-alpha0)

    def standardised(c: float) -> float:
        falling = rho * math.exp(-c * c / 2.0)
        return c * math.sqrt((reports - 1.0) * falling / (no_clone + falling))

    if standardised(1.0) <= level + 0.02:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if standardised(middle) > level + 0.02 else (middle, high)
    return high


def rate_upper(alpha0: float, reports: float, level: float, omega: float) -> float:
    """kappa: V(s) <= (kappa/2) phi(Phi^-1(s)) for Phi(-level) <= s <= 1 - Phi(-level), rounded up.

    For stronger clones at distance d the same holds with kappa/sqrt(1 + nu). Its Gaussian limit is
    2/sqrt(N e^-alpha0), which is not an upper bound. Infinite where nothing can be said.
    """
    if reports < 2.0 or not 0.0 < level <= LARGEST_LEVEL or (reports - 1.0) * math.exp(-alpha0) < 1.0:
        return math.inf
    lines = int(min(20_000, max(1500, 150 * level)))
    c = np.linspace(0.0, _largest_threshold(alpha0, reports, level), lines)
    log_e = log_mean_excess_upper(c, alpha0, reports, omega)
    return rate_from_lines(c, log_e, level)


def rate_from_lines(c: Floats, log_e: Floats, level: float) -> float:
    """The smallest kappa, rounded up, for which the lines c_j s + e_j show V(s) <= (kappa/2) phi(Phi^-1(s)).

    Args:
        c: Increasing, equally spaced slopes from 0 on.
        log_e: ln of upper bounds on e(c).
        level: The bound holds for Phi(-level) <= s <= 1/2.
    """
    # Any increasing edges in [0, level] are valid: line j is used between edge j and j + 1. Good ones are where
    # neighbouring lines cross.
    drop = -np.expm1(np.minimum(np.diff(log_e), -1e-300))
    log_s = np.minimum(log_e[:-1] + np.log(drop) - math.log(c[1]), -1e-9)
    crossing = np.clip(np.maximum.accumulate(-heavy.special.ndtri_exp(log_s)), 0.0, level)
    edges = np.concatenate([[0.0], crossing, [level]])
    used = edges[1:] > edges[:-1]
    # A line against a concave function: it is enough to compare at both ends of the cell.
    largest = 0.0
    for x in (edges[:-1], edges[1:]):
        ratio = c * mills(x) + np.exp(np.minimum(log_e + x * x / 2.0, 700.0)) * SQRT_TWO_PI
        largest = max(largest, float(np.max(ratio[used])))
    return 2.0 * largest * _SLACK if largest < 1e300 else math.inf


def inflation_upper(step: float, level: float) -> float:
    """1 + eta: a midpoint step of size ``step`` inside |x| <= level moves Phi^-1 by at most step (1 + eta).

    Infinite where the step is too large for the bound (then nothing can be said).
    """
    if step <= 0.0:
        return 1.0

    def reach(t: float) -> float:
        return 2.0 / level * math.tanh(level * t / 2.0) * math.exp(-t * t / 8.0)

    # reach increases up to some t; the argument needs the root on that branch, where it increases.
    high = step
    while reach(high) < step * (1.0 + 1e-12):
        if high > 2.0 or reach(high * 1.05) <= reach(high):
            return math.inf
        high *= 1.05
    low = step
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reach(middle) >= step * (1.0 + 1e-12) else (middle, high)
    return high / step
