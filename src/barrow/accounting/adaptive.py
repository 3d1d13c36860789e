"""Composition when what is released next may depend on what was released before (docs/proofs/adaptive.md).

The numeric composition of :func:`barrow.accounting.compose` is proved for releases whose parameters are fixed
beforehand. Gaussian differential privacy composes in quadrature even if every parameter is chosen from earlier outputs,
and a pure release is Gaussian-DP with mu = 2  probit(1/(1 + e^-eps)), so this bound may steer a ledger.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from barrow import heavy
from barrow.accounting.inputs import SMALLEST_DELTA
from barrow.accounting.releases import largest_rate
from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, float_down
from barrow.promises import Event, GaussianNoise
from barrow.promises.pairs import Pair

_SLOPE = math.sqrt(math.pi / 2.0) * (1.0 + 1e-13)


def pure_mu_upper(epsilon: float) -> float:
    """The smallest mu, rounded up, for which every epsilon-DP pair is mu-GDP: 2 probit(1/(1 + e^-eps)).

    >>> round(pure_mu_upper(1.0), 6), pure_mu_upper(0.0)
    (1.232035, 0.0)
    """
    if epsilon <= 0.0:
        return 0.0
    log_tail = -epsilon - math.log1p(math.exp(-epsilon))
    # The probit loses its digits near 1/2, where the slope at 0 is a bound as good.
    return min(-2.0 * float(heavy.special.ndtri_exp(log_tail)) * (1.0 + 1e-12) + 1e-15, _SLOPE * epsilon)


def pure_epsilon_lower(mu: float) -> float:
    """The largest epsilon, rounded down, for which every epsilon-DP pair is mu-GDP: log(Phi(mu/2)/Phi(-mu/2)).

    >>> round(pure_epsilon_lower(1.232035), 5), pure_epsilon_lower(0.0)
    (1.0, 0.0)
    """
    if mu <= 0.0:
        return 0.0
    near = mu / _SLOPE * (1.0 - 1e-12)  # by the slope at 0: always enough, and all there is where mu is small
    result = float(heavy.special.log_ndtr(mu / 2.0) - heavy.special.log_ndtr(-mu / 2.0)) * (1.0 - 1e-12)
    for epsilon in (result, result * (1.0 - 1e-9)):
        if pure_mu_upper(epsilon) <= mu:
            return max(epsilon, near)
    return near


def has_square(event: Event) -> bool:
    """Whether a release adds up in quadrature: Gaussian noise and pure guarantees do; shuffled and sampled ones add.

    The one rule of ledgers of promises and of alpha alike.

    >>> has_square(GaussianNoise(3, delta="1e-9", model="central"))
    True
    """
    return isinstance(event, GaussianNoise) or event.pure or (event.whole_user and event.delta == 0)


def adaptive_alpha_upper(events: Sequence[Event], delta: Exact) -> Fraction:
    """The smallest certified alpha of all ``events`` together at a total ``delta``, however they were chosen.

    Only additive noise and other pure releases; it may be more than the sum of the alphas.

    >>> from barrow.promises import KNormNoise
    >>> many = [KNormNoise("0.2", model="central")] * 100
    >>> adaptive_alpha_upper(many, "1e-6") < 15 < sum(e.alpha for e in many)
    True
    """
    total = exact(delta, "delta")
    if total < SMALLEST_DELTA:
        raise ParameterError(
            f"delta is {float(total):g}, but composition in quadrature needs some.",
            allowed=f"at least {float(SMALLEST_DELTA):g}",
            fix="delta=1e-9, or add alphas",
        )
    parts = [replace(_gaussian(event), times=times) for event, times in Counter(events).items()]
    return Fraction(largest_rate(parts, float_down(total), math.inf)) if parts else Fraction(0)


def _gaussian(event: Event) -> Pair:
    if event.whole_user or not has_square(event):
        raise ParameterError(
            f"A {type(event).__name__} is not known to compose in quadrature when releases are chosen adaptively.",
            allowed="GaussianNoise, KNormNoise, PureRelease",
            fix="a ledger that adds alphas",
        )
    part = event.pair(Fraction(0), Fraction(0))
    if part.kind == "gaussian":
        return part
    return replace(part, kind="gaussian", at=_mu_of(part.at), slope=part.slope * _SLOPE)


def _mu_of(epsilon_at: Callable[[float], float]) -> Callable[[float], float]:
    return lambda w: pure_mu_upper(epsilon_at(w))
