"""What a release costs at a promise: the one formula of plans, comparisons, statements and the ledger.

A promised change moves at most a share of a person's items, and these by at most a reach on average
(:meth:`barrow.policy.RecordMap.reach_upper`). The release costs there what its definition says of that EMD; additive
noise on a mean never sees a move of an item as more than B/ell of its constant, and Gaussian noise costs what
its own profile says; and nothing costs more than the release's worst case (docs/proofs/budget.md, section 4).
"""

from __future__ import annotations

from fractions import Fraction

from barrow.accounting.pricing import epsilon_within_upper
from barrow.errors import ParameterError
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


def cost_upper(
    guarantee: Guarantee, share: Fraction, reach: Fraction, event: Event | None = None
) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of a release where ``share`` of a person's items move by ``reach`` on average; exact, or above.

    Args:
        guarantee: What the release promises.
        share: In (0, 1].
        reach: As a share of the diameter, in [0, 1].
        event: What the mechanism does, where it is known.

    >>> noise = KNormNoise(6, model="central", range_ratio="1/2")
    >>> cost_upper(Guarantee(Emd(6), "knorm", "lemma:lin"), Fraction(1, 30), Fraction(1), noise)
    (Fraction(1, 10), Fraction(0, 1))
    >>> cost_upper(Guarantee(UserLevel(1), "laplace", "lem:lap-freq"), Fraction(1, 30), Fraction(1))
    (Fraction(1, 1), Fraction(0, 1))
    """
    definition, worst = guarantee.definition, guarantee.worst_case
    found = _within(definition, share * reach)
    if found is None:
        if worst is None:
            raise ParameterError(f"{definition} promises nothing about such a change.")
        return worst.epsilon, worst.delta
    epsilon, delta = found
    if worst is not None and worst.delta <= delta:  # it is charged where it is smaller at no larger delta
        epsilon = min(epsilon, worst.epsilon)
    if isinstance(event, KNormNoise | GaussianNoise) and (delta > 0 or isinstance(event, KNormNoise)):
        seen = share * (reach if event.range_ratio is None else min(reach, event.range_ratio))
        epsilon = min(epsilon, epsilon_within_upper(event, seen, delta)[0])
    return epsilon, delta


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
