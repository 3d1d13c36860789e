"""What a study grants one question: the space, who is trusted, how many people, and how much of every promise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

from barrow import accounting
from barrow.errors import ParameterError
from barrow.numerics import exact_text, float_down, float_up, gdp_mu_lower
from barrow.numerics.exact import at_most
from barrow.numerics.gdp import gdp_epsilon_upper
from barrow.numerics.search import root_down
from barrow.promises import Aggregation, GaussianNoise, Model, Policy, Promise, RecordMap
from barrow.promises.events import Change, linear_change
from barrow.promises.periods import Window
from barrow.promises.policy import Satisfied
from barrow.promises.records import UNSEEN
from barrow.spaces import Space

_ONE = Fraction(1)
_SEARCHED = 1 + Fraction(1, 10**12)
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
        honest_fraction: The share of people whose messages are mixed as promised; others may send anything, or tell.
        records: How records become items.
        reads: The window of periods that is released about; None for all records.
        periods: How many releases like this one there are, each about a period of its own.
        ungrouped: Whether hidden groups are not read, so that another group changes nothing.
        number: What one number each person's records became; None where they stayed records.
        squares: Where the ledger adds up in quadrature, the square of the mu that each promise leaves to this question
            at ``delta``, which all such releases share.
        parties: In the aggregated model, who adds up.

    >>> from barrow.spaces import Line
    >>> terms = Terms(Line(0, 100, unit="years", step=1), 1000, (Promise("all", "5 years", "0.5"),))
    >>> round(float(terms.alpha), 3), terms.epsilons
    (8.333, (Fraction(1, 2),))
    >>> monthly = (Promise("all", "5 years", 1, scope="any month"), Promise("all", "5 years", 6, scope="every month"))
    >>> Terms(Line(0, 100, unit="years", step=1), 1000, monthly, periods=12).epsilons
    (Fraction(1, 1), Fraction(1, 2))
    """

    space: Space
    users: int
    promises: tuple[Promise, ...] = ()
    given: Fraction | None = None
    delta: Fraction = Fraction(0)
    fraction: Fraction = Fraction(1)
    model: Model = Model.CENTRAL
    honest_fraction: Fraction = Fraction(1)
    records: RecordMap = RecordMap.CONTRACTION
    reads: Window | None = None
    periods: int = 1
    number: str | None = None
    squares: tuple[Fraction, ...] = ()
    parties: Aggregation | None = None
    ungrouped: bool = False

    @property
    def anonymity_set(self) -> int:
        """How many people hide each other, the person concerned included: n times ``honest_fraction``, rounded down."""
        return self.anonymity_set_among(self.users)

    def anonymity_set_among(self, people: int) -> int:
        """The same if ``people`` people take part; never below the person concerned."""
        return max(1, math.floor(people * self.honest_fraction))

    def for_people(self, users: int) -> Terms:
        """The same if another number of people take part; people were told the grid that was planned."""
        parties = self.parties
        if parties is not None and parties.planned is None and users != self.users:
            parties = replace(parties, planned=self.users)
        return replace(self, users=users, parties=parties)

    @cached_property
    def policy(self) -> Policy:
        """The promises as a policy."""
        return Policy(
            self.space, self.promises, delta=self.delta, records=self.records, reads=self.reads,
            number=self.number is not None, ungrouped=self.ungrouped,
        )  # fmt: skip

    @property
    def satisfied(self) -> tuple[Satisfied, ...]:
        """Each promise with what it costs on this space; nothing where alpha is given."""
        return tuple(self.policy.satisfied) if self.promises else ()

    @property
    def epsilons(self) -> tuple[Fraction, ...]:
        """What each promise leaves to this question: in a series, of a promise about k periods a part in min(k, T)."""
        if self.squares:
            return tuple(map(_pure, self.squares))
        return tuple(promise.epsilon * self.fraction / self._parts(promise) for promise in self.promises)

    @property
    def granted(self) -> tuple[Fraction, ...]:
        """The most that an answer may cost at each promise at its delta; in quadrature Gaussian noise costs more."""
        if not self.squares:
            return self.epsilons
        return tuple(max(_pure(square), _normal(square, self.delta)) for square in self.squares)

    @property
    def adding_delta(self) -> Fraction:
        """The delta of an answer that is not Gaussian noise: none in quadrature, where all Gaussian ones share it."""
        return Fraction(0) if self.squares else self.delta

    def _parts(self, promise: Promise) -> int:
        """In how many releases of the series a promised change can be seen (docs/proofs/scopes.md)."""
        scope, reads = promise.scope, self.reads
        if scope is None or (reads is not None and reads.periods[0].unit != scope.unit):  # several may be in one
            return self.periods
        return scope.parts(self.periods)

    @property
    def alpha(self) -> Fraction:
        """The alpha that keeps the terms whatever the answer can show."""
        return self.alpha_for(Fraction(1))

    def alpha_for(self, ratio: Fraction, change: Change = linear_change) -> Fraction:
        """The alpha that keeps them if no change of an item moves the answer by more than ``ratio`` times ell.

        A promise about a share tau moved by q costs alpha tau min(q + 2 rho, B/ell) (docs/proofs/promises.md), and more
        where records may jump or are filtered. ``change`` says how far the answer moves.
        """
        if not self.promises:
            if self.given is None:
                raise ParameterError(
                    "Neither promises nor alpha are given.",
                    allowed='promises such as "1 of 30, 10 km, 0.5", or alpha',
                    fix='promises=["all, 300 m, 0.5"]',
                )
            return _within(self.given * self.fraction / self.periods)
        if not any(row.reach for row in self.satisfied):
            raise ParameterError(
                "All promises are about another group, and the question reads nothing of the hidden groups.",
                allowed="a promise about what the question reads",
                fix='"all, anywhere, 1", beside the others',
            )
        return _within(
            min(
                epsilon / max(change(subset.share, subset.reach, ratio), UNSEEN)
                for epsilon, subset in zip(self.epsilons, self.policy.satisfied, strict=True)
            )
        )

    def mu_for(self, ratio: Fraction, change: Change = linear_change) -> Fraction:
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
        alpha, seen = self.alpha_for(ratio, change), ratio  # which refuses what is beyond floats
        if self.squares:
            return _mu_within(self.squares, [change(row.share, row.reach, ratio) for row in self.satisfied])
        limits = [(paid, row.share, row.reach) for paid, row in zip(self.epsilons, self.satisfied, strict=True)]
        if not limits:
            seen, limits = Fraction(1), [(alpha, Fraction(1), Fraction(1))]
        mu = min(
            Fraction(gdp_mu_lower(float_down(epsilon), float_down(self.delta)))
            / max(change(share, reach, seen), UNSEEN)
            for epsilon, share, reach in limits
        )
        # Both ways are rounded to the safe side, so that the price may come out some units in the last place higher.
        for bits in range(50, 0, -1):
            noise = GaussianNoise(mu, delta=self.delta, model=self.model)
            if all(noise.epsilon_at(_ONE, change(tau, q, seen), self.delta) <= epsilon for epsilon, tau, q in limits):
                return mu
            mu *= 1 - Fraction(1, 2**bits)
        raise ParameterError(
            f"An epsilon of {at_most(min(epsilon for epsilon, _, _ in limits))} is too small for Gaussian noise.",
            allowed="an epsilon of everyday size, such as 0.5",
            fix="noise = 'laplace', or a larger epsilon",
        )

    def to_spec(self) -> dict[str, object]:
        """Every public number in it, as plain data."""
        return {
            "space": self.space.digest,
            "users": self.users,
            "promises": [
                [p.share_text, str(p.distance), exact_text(p.epsilon), *([p.scope.text] if p.scope else [])]
                for p in self.promises
            ],
            "alpha": None if self.given is None else exact_text(self.given),
            "delta": exact_text(self.delta),
            "fraction": exact_text(self.fraction),
            "model": self.model.value,
            **({} if self.honest_fraction == 1 else {"honest": exact_text(self.honest_fraction)}),
            **({} if self.records is RecordMap.CONTRACTION else {"records": self.records.value}),
            **({} if self.number is None else {"number": self.number}),
            **({"ungrouped": True} if self.ungrouped else {}),
            **({} if self.reads is None else {"reads": self.reads.text, "pool": self.reads.pool}),
            **(
                {}
                if self.reads is None or self.reads.weights is None
                else {"weights": [exact_text(w) for w in self.reads.weights]}
            ),
            **({} if self.periods == 1 else {"periods": self.periods}),
            **({} if self.parties is None else self.parties.to_spec()),
            **({"squares": [exact_text(square) for square in self.squares]} if self.squares else {}),
        }


def _mu_within(squares: Sequence[Fraction], changes: Sequence[Fraction]) -> Fraction:
    """The largest mu, rounded down, whose square at every change is at most what is left."""
    mu = min(Fraction(root_down(square)) / max(w, UNSEEN) for square, w in zip(squares, changes, strict=True))
    if not mu > 0:
        raise ParameterError(
            "Nothing of the share for quadrature is left at a promise.",
            allowed="a promise that is not spent",
            fix="barrow ledger show",
        )
    return mu


@lru_cache(maxsize=1024)
def _pure(square: Fraction) -> Fraction:
    """The largest epsilon, rounded down, of a pure release whose mu has this square (docs/proofs/adaptive.md)."""
    return Fraction(accounting.pure_epsilon_lower(root_down(square)))


@lru_cache(maxsize=1024)
def _normal(square: Fraction, delta: Fraction) -> Fraction:
    """The epsilon, rounded up, of Gaussian noise whose mu has this square, and of every smaller mu.

    A search ends within a part in 10^14 above the least epsilon, so that a smaller mu may have a larger result; what a
    ledger counts are squares, which are exact.
    """
    largest = gdp_epsilon_upper(math.nextafter(math.sqrt(float_up(square)), math.inf), float_down(delta))
    return Fraction(largest) * _SEARCHED


def in_quadrature(terms: Terms, delta: Fraction, *, share: Fraction = Fraction(1)) -> Terms:
    """The terms of a question in a ledger that keeps ``share`` of every promise, and of ``delta``, for quadrature.

    A fraction of a promise is one of the square of its mu.
    """
    at = delta * share
    mus = [Fraction(gdp_mu_lower(float_down(p.epsilon * share), float_down(at))) for p in terms.promises]
    parts = [terms.fraction / terms._parts(p) for p in terms.promises]
    return replace(terms, delta=at, squares=tuple(mu**2 * part for mu, part in zip(mus, parts, strict=True)))


def _within(alpha: Fraction) -> Fraction:
    """``alpha``, if noise of its size can be planned in floats."""
    if not _LEAST <= alpha <= _MOST:
        raise ParameterError(
            f"alpha is {at_most(alpha)} for this question, beyond what noise is planned for.",
            allowed=f"from {at_most(_LEAST)} to {at_most(_MOST)}",
            fix="promise an epsilon of everyday size, such as 0.5, and a fraction of it that is not tiny",
        )
    return alpha
