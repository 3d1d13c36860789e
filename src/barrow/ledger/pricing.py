"""What a release costs at a promise, from its guarantee and its own grid alone; exact, and never too little.

A record that moves by q lands at most q + 2 rho further on the grid of the release, as a share of that grid's diameter,
and never further than 1 (docs/proofs/budget.md). A caller who knows more about the mechanism (the range of what is
asked, the profile of Gaussian or shuffled noise) gives smaller epsilons to ``Ledger.reserve(charges=…)`` itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from barrow.errors import ParameterError
from barrow.ledger.promises import PromiseLimit
from barrow.ledger.refs import SpaceRef
from barrow.privacy import Definition, DiscreteEmd, Emd, Guarantee, UserLevel, to_discrete, to_user_level

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


def emd_upper(promise: PromiseLimit, space: SpaceRef, metric: str) -> Fraction:
    """The largest EMD, on the grid of ``space``, of a change that ``promise`` is about: tau min(q/D + 2 rho, 1).

    Where the way from record to item is not known to be 1-Lipschitz up to 2 rho, each record that changes may go as far
    as there is: tau. Under another metric nobody knows what the change does to the release: 1.

    >>> grid = SpaceRef("earth", "sha256:00", 30, "km", "earth km", "1/100")
    >>> emd_upper(PromiseLimit("1/10", "0.3", 1), grid, "earth km")
    Fraction(3, 1000)
    >>> emd_upper(PromiseLimit("1/10", "0.3", 1), grid, "line years")
    Fraction(1, 1)
    """
    if space.metric != metric:
        return Fraction(1)
    if space.snapping is None or len(promise.distances) != 1:
        return promise.share
    return promise.share * min(promise.distances[0] / space.diameter + 2 * space.snapping, Fraction(1))


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


def price(guarantee: Guarantee, space: SpaceRef, promises: Sequence[PromiseLimit], metric: str) -> Price:
    """What a release about ``space`` costs at each promise; a release of another metric costs its worst case at all.

    >>> grid = SpaceRef("earth", "sha256:00", 30, "km", "earth km", 0)
    >>> asked = [PromiseLimit(1, 3, 1), PromiseLimit("1/30", 30, 1)]
    >>> price(Guarantee(Emd(6), "knorm", "lemma:lin"), grid, asked, "earth km").epsilons
    (Fraction(3, 5), Fraction(1, 5))
    """
    found = [price_at(guarantee, emd_upper(promise, space, metric)) for promise in promises]
    return Price(tuple(epsilon for epsilon, _ in found), max(delta for _, delta in found))


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
