"""What a study grants one question: the space, who is trusted, how many people, and how much of every promise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from barrow.errors import ParameterError
from barrow.numerics import exact_text, float_down, gdp_mu_lower
from barrow.numerics.exact import at_most
from barrow.policy import Policy, Promise, RecordMap
from barrow.policy.policy import Kept
from barrow.privacy import GaussianNoise, Model
from barrow.spaces import Space

_LEAST, _MOST = Fraction(1, 10**9), Fraction(10**9)


@dataclass(frozen=True)
class Terms:
    """Public numbers only: what an answer must keep.

    Attributes:
        space: The public space.
        users: n.
        promises: The promises, or
        given: alpha itself.
        delta: The delta of this question alone.
        fraction: The share of every promise that this question may use.
        model: Who adds the noise.
        honest: The share of people whose messages are mixed as promised; the others may send anything, or tell.
        records: How records become items.

    >>> from barrow.spaces import Line
    >>> terms = Terms(Line(0, 100, unit="years", step=1), 1000, (Promise("all", "5 years", "0.5"),))
    >>> round(float(terms.alpha), 3), terms.epsilons
    (8.333, (Fraction(1, 2),))
    """

    space: Space
    users: int
    promises: tuple[Promise, ...] = ()
    given: Fraction | None = None
    delta: Fraction = Fraction(0)
    fraction: Fraction = Fraction(1)
    model: Model = Model.CENTRAL
    honest: Fraction = Fraction(1)
    records: RecordMap = RecordMap.CONTRACTION

    @property
    def hiding(self) -> int:
        """How many people hide each other, the person concerned included: n times ``honest``, rounded down."""
        return self.hiding_among(self.users)

    def hiding_among(self, people: int) -> int:
        """The same if ``people`` people take part; never below the person concerned."""
        return max(1, math.floor(people * self.honest))

    @cached_property
    def policy(self) -> Policy:
        """The promises as a policy."""
        return Policy(self.space, self.promises, delta=self.delta, records=self.records)

    def policy_of(self, promises: Sequence[Promise]) -> Policy | None:
        """Other promises about the same records; None if there are none."""
        return Policy(self.space, promises, delta=self.delta, records=self.records) if promises else None

    @property
    def kept(self) -> tuple[Kept, ...]:
        """Each promise with what it costs on this space; nothing where alpha is given."""
        return tuple(self.policy.kept) if self.promises else ()

    @property
    def epsilons(self) -> tuple[Fraction, ...]:
        """What each promise leaves to this question."""
        return tuple(promise.epsilon * self.fraction for promise in self.promises)

    @property
    def alpha(self) -> Fraction:
        """The alpha that keeps the terms whatever the answer can show."""
        return self.alpha_for(Fraction(1))

    def alpha_for(self, ratio: Fraction) -> Fraction:
        """The alpha that keeps them if no change of an item moves the answer by more than ``ratio`` times ell.

        A promise about a share tau moved by q costs alpha tau min(q + 2 rho, B/ell) (docs/proofs/promises.md), and more
        where records may jump or are filtered.
        """
        if not self.promises:
            if self.given is None:
                raise ParameterError(
                    "Neither promises nor alpha are given.",
                    allowed='promises such as "1 of 30, 10 km, 0.5", or alpha',
                    fix='promises=["all, 300 m, 0.5"]',
                )
            return _within(self.given * self.fraction)
        return _within(
            min(
                epsilon / (kept.share * min(kept.reach, ratio))
                for epsilon, kept in zip(self.epsilons, self.policy.kept, strict=True)
            )
        )

    def mu_for(self, ratio: Fraction) -> Fraction:
        """The mu of Gaussian noise that keeps them if no change of an item moves the answer by more than that.

        The largest whose own price keeps every promise: a promise about a share tau moved by q has the mu
        mu tau min(q + 2 rho, B/ell), which must be that of (epsilon, delta) or less (docs/proofs/promises.md). An alpha
        that is given is a promise about all data and the largest distance.

        >>> from barrow.spaces import Line
        >>> promises = (Promise("1 of 30", "anywhere", "0.5"),)
        >>> terms = Terms(Line(0, 100, step=1), 1000, promises, delta=Fraction(1, 10**9))
        >>> round(float(terms.mu_for(Fraction(1))), 4)
        2.8106
        """
        alpha, seen = self.alpha_for(ratio), ratio  # which refuses what is beyond floats
        limits = [(paid, row.share, row.reach) for paid, row in zip(self.epsilons, self.kept, strict=True)]
        if not limits:
            seen, limits = Fraction(1), [(alpha, Fraction(1), Fraction(1))]
        mu = min(
            Fraction(gdp_mu_lower(float_down(epsilon), float_down(self.delta))) / (share * min(reach, seen))
            for epsilon, share, reach in limits
        )
        # Both ways are rounded to the safe side, so that the price may come out some units in the last place higher.
        for bits in range(50, 0, -1):
            noise = GaussianNoise(mu, delta=self.delta, model=self.model, range_ratio=seen)
            if all(noise.epsilon_at(share, reach, self.delta) <= epsilon for epsilon, share, reach in limits):
                return mu
            mu *= 1 - Fraction(1, 2**bits)
        raise ParameterError(
            f"An epsilon of {at_most(min(epsilon for epsilon, _, _ in limits))} is too small for Gaussian noise.",
            allowed="an epsilon of everyday size, such as 0.5",
            fix="noise = 'laplace', or a larger epsilon",
        )

    def to_spec(self) -> dict[str, Any]:
        """Every public number in it, as plain data."""
        return {
            "space": self.space.digest,
            "users": self.users,
            "promises": [[p.share_text, str(p.distance), exact_text(p.epsilon)] for p in self.promises],
            "alpha": None if self.given is None else exact_text(self.given),
            "delta": exact_text(self.delta),
            "fraction": exact_text(self.fraction),
            "model": self.model.value,
            **({} if self.honest == 1 else {"honest": exact_text(self.honest)}),
            **({} if self.records is RecordMap.CONTRACTION else {"records": self.records.value}),
        }


def _within(alpha: Fraction) -> Fraction:
    """``alpha``, if noise of its size can be planned in floats."""
    if not _LEAST <= alpha <= _MOST:
        raise ParameterError(
            f"alpha is {at_most(alpha)} for this question, beyond what noise is planned for.",
            allowed=f"from {at_most(_LEAST)} to {at_most(_MOST)}",
            fix="promise an epsilon of everyday size, such as 0.5, and a fraction of it that is not tiny",
        )
    return alpha
