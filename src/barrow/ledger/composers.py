"""Ways in which charges add up: sums, or in quadrature. Both hold for releases that are chosen as one goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from barrow.errors import ParameterError
from barrow.ledger.budget import AdditiveComposer, Composer
from barrow.ledger.model import Amount, Charge
from barrow.privacy import Event


class QuadratureComposer:
    """Losses of additive noise and other pure releases add in quadrature, at the budget's delta.

    For many small releases this leaves room for far more than sums do; for few it is worse. It is proved for releases
    chosen from earlier outputs (docs/proofs/adaptive.md), and it refuses shuffled and sampled ones.

    >>> QuadratureComposer().name
    'quadrature'
    """

    name = "quadrature"

    def total(self, charges: Sequence[Charge], limit: Amount) -> Amount:
        """The joint alpha at the limit's delta, rounded up."""
        from barrow.accounting import adaptive_alpha_upper  # opening a ledger that adds needs no accountant

        if not charges:
            return Amount(0, 0)
        if charges[0].account != "main":  # a user-level budget: epsilons, which do not shrink with w
            return AdditiveComposer().total(charges, limit)
        return Amount(adaptive_alpha_upper([charge.event for charge in charges], limit.delta), limit.delta)


def price_together(events: Sequence[Event], delta: Fraction) -> dict[str, Fraction | None]:
    """Alpha of all ``events`` together at a total ``delta``, by every way of composing; None where one does not apply.

    ``"together"`` holds for releases whose parameters were fixed beforehand, the others however they were chosen.

    >>> from barrow.privacy import KNormNoise
    >>> found = price_together([KNormNoise("0.2", model="central")] * 20, Fraction(1, 10**6))
    >>> {name: round(float(alpha), 2) for name, alpha in found.items()}
    {'additive': 4.0, 'quadrature': 5.59, 'together': 3.69}
    """
    from barrow.accounting import adaptive_alpha_upper, compose, price

    if not events:
        return {"additive": Fraction(0), "quadrature": Fraction(0), "together": Fraction(0)}
    ways: dict[str, Callable[[], Fraction]] = {
        "additive": lambda: sum((price(e).definition.parameters["alpha"] for e in events), Fraction(0)),
        "quadrature": lambda: adaptive_alpha_upper(events, delta),
        "together": lambda: compose(events, delta).definition.parameters["alpha"],
    }
    found: dict[str, Fraction | None] = {}
    for name, way in ways.items():
        try:
            found[name] = way()
        except (ParameterError, KeyError):
            found[name] = None
    return found


COMPOSERS: dict[str, type[Composer]] = {"additive": AdditiveComposer, "quadrature": QuadratureComposer}
"""Composers by name."""


def composer_named(name: str) -> Composer:
    """The composer called ``name``.

    >>> composer_named("additive").name
    'additive'
    """
    if name not in COMPOSERS:
        raise ParameterError(
            f"The composition is {name!r}.", allowed=", ".join(COMPOSERS), fix="--composition additive"
        )
    return COMPOSERS[name]()
