"""What a release costs at a promise, from its guarantee, its event and its own grid; never too little.

A record that moves by q lands at most q + 2 rho further on the grid of the release, as a share of that grid's diameter,
and never further than 1 (docs/proofs/budget.md). A caller who knows more about the mechanism (the profile of shuffled
reports, say) gives smaller epsilons to ``Ledger.reserve(charges=…)`` itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from barrow.errors import ParameterError
from barrow.ledger.promises import PromiseLimit
from barrow.ledger.refs import SpaceRef
from barrow.privacy import (
    Definition,
    DiscreteEmd,
    Emd,
    Event,
    GaussianNoise,
    Guarantee,
    KNormNoise,
    UserLevel,
    to_discrete,
    to_user_level,
)

_GRID = 10**36


@dataclass(frozen=True)
class Price:
    """The epsilon of a release at each promise, and its delta, which is the same for all.

    Epsilons with long denominators are rounded up in their 36th decimal, so that sums over many releases stay short.

    >>> Price((Fraction(1, 3), Fraction(1, 3**99)), Fraction(0)).epsilons == (Fraction(1, 3), Fraction(1, 10**36))
    True
    """

    epsilons: tuple[Fraction, ...]
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilons", tuple(map(_short, self.epsilons)))


def reach_upper(promise: PromiseLimit, space: SpaceRef, metric: str) -> tuple[Fraction, Fraction]:
    """What share of a person's items a promised change moves, and how far on the grid of ``space``, at most.

    These are tau and min(q/D + 2 rho, 1).
    Where the way from record to item is not known to be 1-Lipschitz up to 2 rho, each record that changes may go as far
    as there is: tau and 1. Under another metric nobody knows what the change does to the release: 1 and 1.
    """
    if space.metric != metric:
        return Fraction(1), Fraction(1)
    if space.snapping is None or len(promise.distances) != 1:
        return promise.share, Fraction(1)
    return promise.share, min(promise.distances[0] / space.diameter + 2 * space.snapping, Fraction(1))


def emd_upper(promise: PromiseLimit, space: SpaceRef, metric: str) -> Fraction:
    """The largest EMD, on the grid of ``space``, of a change that ``promise`` is about: tau min(q/D + 2 rho, 1).

    >>> grid = SpaceRef("earth", "sha256:00", 30, "km", "earth km", "1/100")
    >>> emd_upper(PromiseLimit("1/10", "0.3", 1), grid, "earth km")
    Fraction(3, 1000)
    """
    share, reach = reach_upper(promise, space, metric)
    return share * reach


def price_at(guarantee: Guarantee, emd: Fraction) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of ``guarantee`` for two versions of a person's data within ``emd``, exactly, or above it.

    >>> price_at(Guarantee(Emd(5, "1e-9"), "knorm", "lemma:lin", UserLevel("0.2")), Fraction(1, 10))
    (Fraction(1, 5), Fraction(1, 1000000000))
    >>> price_at(Guarantee(UserLevel(1), "laplace", "lem:lap-freq"), Fraction(1, 1000))
    (Fraction(1, 1), Fraction(0, 1))
    """
    definition, worst = guarantee.definition, guarantee.worst_case
    found = _within(definition, emd)
    # The worst case is charged where it is the smaller epsilon at no larger delta.
    if found is None:
        if worst is None:
            raise ParameterError(f"{definition} promises nothing about such a change.")
        return worst.epsilon, worst.delta
    if worst is None or worst.delta > found[1]:
        return found
    return min(found[0], worst.epsilon), found[1]


def price(
    guarantee: Guarantee, space: SpaceRef, promises: Sequence[PromiseLimit], metric: str, event: Event | None = None
) -> Price:
    """What a release about ``space`` costs at each promise; a release of another metric costs its worst case at all.

    The event of additive noise knows B/ell, beyond which the answer cannot move however far a record goes: then
    min(q/D + 2 rho, B/ell) counts, and for Gaussian noise the epsilon of its own profile there.

    >>> grid = SpaceRef("earth", "sha256:00", 30, "km", "earth km", 0)
    >>> asked = [PromiseLimit(1, 3, 1), PromiseLimit("1/30", 30, 1)]
    >>> price(Guarantee(Emd(6), "knorm", "lemma:lin"), grid, asked, "earth km").epsilons
    (Fraction(3, 5), Fraction(1, 5))
    >>> noise = KNormNoise(6, model="central", range_ratio="1/2")
    >>> price(Guarantee(Emd(6), "knorm", "lemma:lin"), grid, asked, "earth km", noise).epsilons
    (Fraction(3, 5), Fraction(1, 10))
    """
    found = []
    for promise in promises:
        share, reach = reach_upper(promise, space, metric)
        epsilon, delta = price_at(guarantee, share * reach)
        own = None if event is None else _additive(event, share, reach, delta)
        found.append((epsilon if own is None else min(epsilon, own), delta))
    return Price(tuple(epsilon for epsilon, _ in found), max(delta for _, delta in found))


def _additive(event: Event, share: Fraction, reach: Fraction, delta: Fraction) -> Fraction | None:
    """Epsilon at ``delta`` of additive noise on a mean over items; None for other events."""
    if not isinstance(event, KNormNoise | GaussianNoise):
        return None
    within = share * (reach if event.range_ratio is None else min(reach, event.range_ratio))
    if isinstance(event, KNormNoise):
        return event.alpha * within
    if delta <= 0:
        return None
    from barrow.accounting import epsilon_within_upper  # opening a ledger needs no accountant

    return epsilon_within_upper(event, within, delta)[0]


def _short(epsilon: Fraction) -> Fraction:
    if epsilon.denominator.bit_length() <= 40:
        return epsilon
    return Fraction(math.ceil(epsilon * _GRID), _GRID)


def _within(definition: Definition, emd: Fraction) -> tuple[Fraction, Fraction] | None:
    """(epsilon, delta) at every EMD up to ``emd``; None where nothing holds."""
    if isinstance(definition, Emd):
        return definition.alpha * emd, definition.delta
    if isinstance(definition, UserLevel):
        return definition.epsilon, definition.delta
    if not isinstance(definition, DiscreteEmd):
        return None
    try:
        implied = (to_user_level if emd == 1 else lambda d: to_discrete(d, radius=emd))(definition).definition
    except ParameterError:  # group privacy whose delta promises nothing
        return None
    numbers = implied.parameters
    return numbers["epsilon"], numbers["delta"]
