"""Second routes that several tests of accountants compare with; the package itself needs none of them."""

from __future__ import annotations

import math
from fractions import Fraction

from barrow.accounting.one_step import mean_excess_upper
from barrow.accounting.sampling import _loss_upper
from barrow.numerics import gdp_delta_upper


def flow_delta_upper(profile, w, epsilon):
    """The delta of a profile at distance ``w`` and ``epsilon``: its GDP, and tests of extreme level."""
    if epsilon >= profile.alpha0 * profile.items * w * (1 + 1e-12):
        return 0.0
    return min(1.0, max(gdp_delta_upper(profile.mu_upper(w), epsilon), profile.head_upper) + profile.floor_upper)


def uniform_chain_delta_upper(alpha0, *, reports, items, distance, epsilon):
    """The delta when ``items`` reports each change by ``distance``: the paper's chain of equal epsilons, exactly."""
    nu = math.tanh(float(alpha0) * float(distance) / 2)
    c = math.tanh(float(epsilon) / (2 * items)) / nu * (1 - 4e-16)
    if c >= 1.0:
        return 0.0
    if c <= 0.0 or epsilon > 700:
        return 1.0
    return min(1.0, mean_excess_upper(c, float(alpha0), reports) / c * math.expm1(float(epsilon)) * (1 + 1e-14))


def sampling_ratio_upper(epsilon, distance):
    """R(eps, w): how much likelier one item's draw can make an outcome when the data move by w."""
    return math.nextafter(math.exp(_loss_upper(Fraction(epsilon), Fraction(distance))) * (1 + 2.0**-50), math.inf)


def laplace_pair_delta(epsilon, at):
    """delta(at) = 1 - e^-(epsilon - at)/2 of the Laplace pair that dominates every K-norm release of ``epsilon``."""
    return max(0.0, -math.expm1(-(epsilon - at) / 2))
