"""The account of a promise in which releases add up in quadrature, beside the one in which epsilons add.

A budget with a delta may keep a share s of every epsilon, and of delta, for releases that are Gaussian-DP on the pairs
of a promise: together they are mu-GDP with mu^2 the sum of the squares of theirs, however they were chosen, and
(s epsilon, s delta) holds up to the mu of these two numbers. What the other account holds adds to it
(docs/proofs/adaptive.md, claim 3). The split is fixed when the ledger is made, the account of a release when it is
paid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from barrow import accounting
from barrow.accounting.adaptive import has_square
from barrow.errors import ParameterError, plain_table
from barrow.numerics import Exact, exact, exact_text, float_down, float_up, gdp_mu_lower
from barrow.numerics.gdp import gdp_epsilon_upper
from barrow.promises import Event, Exposure, GaussianNoise
from barrow.promises.definitions import share as share_of

_GRID = 10**36
_ROUNDED = 1 + Fraction(1, 10**12)


@dataclass(frozen=True)
class Quadrature:
    """How much of every promise is kept for releases that add up in quadrature.

    Args:
        share: s, the part of every epsilon and of delta, in (0, 1].
        delta: s delta.
        mus: For each promise the mu up to which (s epsilon, s delta) holds, rounded down.

    >>> subset = Quadrature.of([Fraction(1, 2)], Fraction(1, 10**9))
    >>> round(float(subset.mus[0]), 4), subset.share
    (0.0937, Fraction(1, 1))
    """

    share: Fraction
    delta: Fraction
    mus: tuple[Fraction, ...]

    @classmethod
    def of(cls, epsilons: Sequence[Fraction], delta: Fraction, share: Exact = 1) -> Quadrature:
        """The account that holds a share of these epsilons and of delta."""
        part = share_of(share, "the share in quadrature")
        if delta <= 0:
            raise ParameterError(
                "Releases add up in quadrature at a delta above 0, and delta is 0.",
                allowed="delta above 0",
                fix="delta = 1e-9, or --composition additive",
            )
        subset = float_down(part * delta)
        mus = tuple(Fraction(gdp_mu_lower(float_down(part * epsilon), subset)) for epsilon in epsilons)
        return cls(part, part * delta, mus)

    def follows_from(self, epsilons: Sequence[Fraction], delta: Fraction) -> bool:
        """Whether it is the account of these promises: an account that holds more would not keep them.

        Another processor may have rounded its mus elsewhere in the last digits.

        >>> delta = Fraction(1, 10**9)
        >>> account = Quadrature.of([Fraction(1, 2)], delta)
        >>> account.follows_from([Fraction(1, 2)], delta), account.follows_from([Fraction(1, 4)], delta)
        (True, False)
        """
        if self.delta != self.share * delta or len(self.mus) != len(epsilons):
            return False
        known = Quadrature.of(epsilons, delta, self.share).mus
        return all(0 <= mu <= most * _ROUNDED for mu, most in zip(self.mus, known, strict=True))

    def epsilon_upper(self, number: int, square: Fraction, epsilon: Fraction) -> Fraction:
        """What releases whose squares add up to ``square`` cost at a promise of ``epsilon``, rounded up."""
        if square <= 0:
            return Fraction(0)
        value = Fraction(gdp_epsilon_upper(root_up(square), float_down(self.delta)))
        return min(value, self.share * epsilon) if square <= self.mus[number] ** 2 else value

    def to_json(self) -> dict[str, object]:
        """Plain data with exact numbers."""
        return {
            "share": exact_text(self.share),
            "delta": exact_text(self.delta),
            "mus": [exact_text(mu) for mu in self.mus],
        }


def quadrature_from_json(data: object) -> Quadrature | None:
    """The account that :meth:`Quadrature.to_json` wrote.

    >>> subset = Quadrature.of([Fraction(1, 2)], Fraction(1, 10**9), "9/10")
    >>> quadrature_from_json(subset.to_json()) == subset
    True
    """
    if data is None:
        return None
    table = plain_table(data, "The account in quadrature")
    mus = tuple(exact(mu, "mu") for mu in table["mus"])
    return Quadrature(share_of(table["share"], "share"), exact(table["delta"], "delta"), mus)


def square_of(event: Event, seen: Exposure) -> Fraction | None:
    """The square of the mu of a release on the pairs of a promise, rounded up; None where nobody knows one.

    >>> noise = GaussianNoise(3, delta="1e-9", model="central")
    >>> square_of(noise, Exposure(Fraction(1, 30), Fraction(1), {}))
    Fraction(1, 100)
    """
    if isinstance(event, GaussianNoise):
        return _short(event.mu_at(seen.share, seen.reach) ** 2)
    if not has_square(event):
        return None
    return _short(
        Fraction(accounting.pure_mu_upper(float_up(event.epsilon_at(seen.share, seen.reach, Fraction(0))))) ** 2
    )


def root_up(square: Fraction) -> float:
    """The square root, rounded up.

    >>> root_up(Fraction(1, 4))
    0.5000000000000001
    """
    return math.nextafter(math.sqrt(float_up(square)), math.inf)


def _short(square: Fraction) -> Fraction:
    return square if square.denominator.bit_length() <= 40 else Fraction(math.ceil(square * _GRID), _GRID)
