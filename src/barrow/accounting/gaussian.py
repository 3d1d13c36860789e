"""Gaussian and K-norm noise on a query: what they promise, with the worst case.

Proofs: docs/proofs/gaussian.md and docs/proofs/worst-case.md.

Gaussian noise is mu w-GDP at EMD w, and w = 1 is the worst case for (alpha w, delta) (theory B1), so one equation
prices it. K-norm (Laplace) noise is (alpha w, 0). Both change by at most B/ell of their Lipschitz constant, whatever
the data, which is the worst case in user-level terms (D1).
"""

from __future__ import annotations

from fractions import Fraction

from barrow.accounting.inputs import alpha_down, open_delta
from barrow.errors import ParameterError
from barrow.numerics import Exact, float_up, gdp_mu_lower
from barrow.numerics.gdp import gdp_epsilon_upper
from barrow.privacy import Emd, GaussianNoise, Guarantee, KNormNoise, UserLevel
from barrow.privacy.definitions import positive

_LEAST = 1e-12
"""An epsilon of 0 is not a definition; a release that costs less than this is charged this much."""


def gaussian_mu_lower(alpha: Exact, delta: Exact) -> float:
    """The largest mu, rounded down, for which noise sigma = ell/(n mu) is (alpha, delta)-EMD-DP.

    >>> round(gaussian_mu_lower(25, "1e-12"), 9)
    2.990999468
    """
    return gdp_mu_lower(alpha_down(alpha), open_delta(delta, "Gaussian noise"))


def gaussian_alpha_upper(mu: Exact, delta: Exact) -> float:
    """The smallest alpha, rounded up, at which Gaussian noise of this mu is (alpha, delta)-EMD-DP.

    >>> round(gaussian_alpha_upper(3, "1e-12"), 4)
    25.0896
    """
    number = float_up(positive(mu, "mu"))
    if not number < 1e150:
        raise ParameterError(f"mu is {number:g}.", allowed="a number below 1e150", fix="mu=3")
    return max(_LEAST, gdp_epsilon_upper(number, open_delta(delta, "Gaussian noise")))


def price_gaussian(event: GaussianNoise) -> Guarantee:
    """The guarantee of Gaussian noise at its delta, unbounded, with its worst case.

    >>> guarantee = price_gaussian(GaussianNoise(mu=3, delta="1e-12", model="central", range_ratio="0.1"))
    >>> print(guarantee.definition, "|", guarantee.worst_case)
    (α=25.0896, δ=1e-12)-unbounded EMD-DP (central) | (ε=2.01836, δ=1e-12)-unbounded user-level DP (central)
    """
    alpha = gaussian_alpha_upper(event.mu, event.delta)
    worst = None
    if event.range_ratio is not None:
        epsilon = gaussian_alpha_upper(event.mu * event.range_ratio, event.delta)
        worst = UserLevel(Fraction(epsilon), event.delta, model=event.model)
    return Guarantee(Emd(Fraction(alpha), event.delta, model=event.model), "gaussian", "docs/proofs/gaussian.md", worst)


def price_knorm(event: KNormNoise) -> Guarantee:
    """The guarantee of K-norm or Laplace noise: (alpha, 0), unbounded, with worst case alpha B/ell."""
    worst = None
    if event.range_ratio is not None:
        worst = UserLevel(event.alpha * event.range_ratio, 0, model=event.model)
    return Guarantee(Emd(event.alpha, 0, model=event.model), "knorm", "lemma:lin", worst)
