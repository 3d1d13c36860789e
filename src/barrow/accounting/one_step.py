"""The exact divergence of one changed report: a second route for the flow accountant.

With T = 1 + Bin(N-1, rho) and z the mean of T fair signs the clone pair has

    D_{e^eps} = nu (1 + e^eps) e(tanh(eps/2)/nu),     e(c) = E[(z - c)_+],     nu = tanh(alpha0 d/2),

exactly. e is decreasing in T, so T may be rounded down to the ends of a few hundred blocks; a small shuffle is summed
term by term. Proofs: docs/proofs/shuffle-flow.md, section 2.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from barrow.accounting.flow import _clones
from barrow.accounting.inputs import alpha0_up
from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, float_down, float_up, whole
from barrow.numerics.binomial import binomial_cdf, binomial_log_pmf, fair_tail, tail_error
from barrow.promises.definitions import share

Floats = NDArray[np.float64]

_BLOCKS = 400


def sign_excess_upper(c: float, signs: Floats) -> Floats:
    """E[(z - c)_+] for z the mean of ``signs`` fair signs, with the bound on its rounding added."""
    threshold = np.ceil(signs * (1.0 + c) / 2.0)
    pmf = np.exp(binomial_log_pmf(threshold - 1.0, signs - 1.0, 0.5))
    tail = fair_tail(threshold, signs - 1.0)
    value = pmf * (1.0 - c) / 2.0 - c * tail
    return np.maximum(value, 0.0) + tail_error(signs) * (pmf * (1.0 - c) / 2.0 + c * tail)


def _nodes(others: float, rho: float, no_clone: float, depth: float) -> Floats:
    """Increasing clone counts from 0 on; between two of them T is rounded down to the left one."""
    if others <= 3 * _BLOCKS:
        return np.arange(0.0, others + 1.0)
    mean = others * rho
    deviation = math.sqrt(max(mean * no_clone, 1.0))
    # Thresholds deep in the tail favour few clones: the tilted mean lies depth^2/2 (1 - rho) lower.
    low = max(0.0, math.floor(mean - 14.0 * deviation - depth * depth * no_clone))
    high = min(others, math.ceil(mean + 9.0 * deviation))
    count = int(min(high - low + 1.0, _BLOCKS))
    body = np.floor(np.linspace(low, high, count))
    ladder = np.unique(np.floor(np.geomspace(1.0, low, 60))) if low > 1.0 else np.array([])
    return np.unique(np.concatenate([[0.0], ladder, body]))


def mean_excess_upper(c: float, alpha0: float, reports: int, strength: float = 0.0) -> float:
    """e(c) from above; clones appear with probability (1 + strength) e^-alpha0.

    ``strength`` is 0 for standard clones and tanh(alpha0 d/2) for stronger ones.
    """
    if c >= 1.0:
        return 0.0
    others = float_down(Fraction(reports - 1))
    rho = min(1.0, (1.0 + strength) * math.exp(-alpha0))
    # 1 - (1 + t)e^-a = (1 - e^-a) - t e^-a, which cancels to about one digit at worst for t = tanh(a/2).
    no_clone = max(0.0, -math.expm1(-alpha0) - strength * math.exp(-alpha0))
    if others < 1.0:
        return float(sign_excess_upper(c, np.array([1.0]))[0])
    if no_clone <= 0.0:
        return float(sign_excess_upper(c, np.array([others + 1.0]))[0])
    clones = _nodes(others, rho, no_clone, c * math.sqrt(others * rho))
    excess = sign_excess_upper(c, clones + 1.0)
    # Abel summation: every term is positive, and the cdf is taken where it is small.
    below = binomial_cdf(clones[1:] - 1.0, others, rho, no_clone)
    total = float(excess[-1]) + float(np.sum(np.maximum(excess[:-1] - excess[1:], 0.0) * below))
    return total * (1.0 + 1e-11 + float(tail_error(others)))


def one_step_delta_upper(
    alpha0: Exact, *, reports: int, epsilon: Exact, distance: Exact = 1, clones: str = "strong"
) -> float:
    """The delta, rounded up, at ``epsilon`` when one of ``reports`` shuffled reports changes by ``distance``.

    >>> round(one_step_delta_upper(1, reports=60, epsilon="0.9", clones="standard") * 1e7, 2)
    4.33
    """
    n, a0, kind = whole(reports, "reports"), alpha0_up(alpha0), _clones(clones)
    eps = float_down(exact(epsilon, "epsilon"))
    if eps < 0:
        raise ParameterError(f"epsilon is {epsilon}.", allowed="a number, 0 or more", fix="epsilon=1")
    nu = math.tanh(a0 * float_up(share(distance, "distance")) / 2.0)
    c = math.tanh(eps / 2.0) / nu * (1.0 - 4e-16)
    if c >= 1.0:
        return 0.0
    excess = mean_excess_upper(c, a0, n, nu if kind == "strong" else 0.0)
    return min(1.0, nu * (1.0 + math.exp(eps)) * excess * (1.0 + 1e-14))
