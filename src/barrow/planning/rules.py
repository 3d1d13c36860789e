"""The paper's rules of thumb for when EMD-DP is more accurate than user-level DP, and its caveats."""

from __future__ import annotations

import math
from dataclasses import dataclass

from barrow.errors import ParameterError
from barrow.numerics import Exact, float_up, whole
from barrow.promises.definitions import positive, probability


@dataclass(frozen=True)
class PaperRule:
    """What the paper says: from this alpha on, EMD-DP has the smaller error bound.

    Constants are left out, so it is a rule of thumb; a comparison predicts the errors themselves.

    Attributes:
        alpha: The alpha from which the rule says so.
        formula: The case that applied, in the paper's symbols.
        assumes: Under which conditions the paper states it.
        holds: Whether these hold for the numbers that were given.
        source: Where in the paper.
    """

    alpha: float
    formula: str
    assumes: str
    holds: bool
    source: str

    def sentence(self) -> str:
        """In words.

        >>> print(paper_rule_linear("1.25").sentence())
        By the paper's rule (Section 6.1) EMD-DP has the smaller error for alpha > eps = 1.25.
        """
        doubt = "" if self.holds else f" The rule assumes {self.assumes}, which does not hold here."
        return (
            f"By the paper's rule ({self.source}) EMD-DP has the smaller error for alpha > {self.formula} = "
            f"{self.alpha:.4g}.{doubt}"
        )


def paper_rule_linear(epsilon: Exact) -> PaperRule:
    """Linear queries, local or central: the errors differ by the factor epsilon/alpha.

    At alpha = epsilon they are the same, and EMD-DP protects near changes better.

    >>> paper_rule_linear(2).alpha
    2.0
    """
    eps = float_up(positive(epsilon, "epsilon"))
    return PaperRule(eps, "eps", "a query whose range is about its Lipschitz constant", True, "Section 6.1")


def paper_rule_local(epsilon: Exact, delta: Exact, *, items: int, users_items: int) -> PaperRule:
    """Frequency estimation in the local model: GKRR against Hadamard response on every item.

    alpha > eps sqrt(k) where eps < ln(m/delta)/sqrt(k), and alpha > eps^2 k/ln(m/delta) otherwise.

    Args:
        epsilon: The privacy parameter of user-level DP.
        delta: The delta of both.
        items: k, the number of items of the space.
        users_items: m, how many items each user holds.

    >>> rule = paper_rule_local(1, "1e-9", items=100, users_items=10**5)
    >>> rule.alpha, rule.formula, rule.holds
    (10.0, 'eps sqrt(k)', True)
    """
    eps, k, m, log = _inputs(epsilon, delta, items, users_items)
    small = eps < log / math.sqrt(k)
    alpha = eps * math.sqrt(k) if small else eps * eps * k / log
    root = math.sqrt(m)
    return PaperRule(
        alpha,
        "eps sqrt(k)" if small else "eps^2 k/ln(m/delta)",
        "k, eps and alpha below sqrt(m)",
        max(k, eps, alpha) < root,
        "Section 6.2, local",
    )


def paper_rule_central(
    epsilon: Exact, delta: Exact, *, items: int, users_items: int, users: int | None = None
) -> PaperRule:
    """Frequency estimation in the central model: shuffled GKRR against the Laplace histogram.

    alpha >= eps sqrt(k ln(m/delta)) where eps <= sqrt(ln(m/delta)/k), and alpha >= eps^2 k otherwise.

    Args:
        epsilon: The privacy parameter of user-level DP.
        delta: The delta of EMD-DP.
        items: k, the number of items of the space.
        users_items: m, how many items each user holds.
        users: n; the paper assumes n <= m/alpha. None leaves that open.

    >>> rule = paper_rule_central("1.25", "1e-9", items=100, users_items=1000, users=10**4)
    >>> round(rule.alpha, 2), rule.formula, rule.holds
    (156.25, 'eps^2 k', False)
    """
    eps, k, m, log = _inputs(epsilon, delta, items, users_items)
    small = eps <= math.sqrt(log / k)
    alpha = eps * math.sqrt(k * log) if small else eps * eps * k
    return PaperRule(
        alpha,
        "eps sqrt(k ln(m/delta))" if small else "eps^2 k",
        "n at most m/alpha",
        users is not None and users <= m / alpha,
        "Section 6.2, central",
    )


def _inputs(epsilon: Exact, delta: Exact, items: int, users_items: int) -> tuple[float, int, int, float]:
    eps, slack = float(positive(epsilon, "epsilon")), probability(delta)
    if slack == 0:
        raise ParameterError(
            "delta is 0, but the paper's rules for histograms hold for a delta above 0.",
            allowed="a number strictly between 0 and 1",
            fix="delta=1e-9",
        )
    k, m = whole(items, "items"), whole(users_items, "users_items")
    return eps, k, m, math.log(m) - math.log(slack)


CAVEATS = (
    "EMD-DP protects small changes well and large ones less. Where people's data differ vastly and the difference "
    "itself is the secret, as in medical records, ordinary user-level DP protects better.",
    "The distance decides what is protected. Say in public what counts as near and as far, and ask those concerned "
    "whether they agree, before you choose alpha.",
    "For alpha above epsilon, two people at distance 1 may be told apart more easily than under user-level DP at "
    "epsilon: the loss there is up to alpha.",
    "Where all items are equally far apart and everyone holds one item, every change has distance 1, and EMD-DP at "
    "alpha is user-level DP at epsilon = alpha: there is nothing to gain.",
    "EMD-DP at alpha is user-level DP at alpha times the diameter; user-level DP at epsilon is EMD-DP at epsilon "
    "over the least distance between two people's data. Both are loose: compare mechanisms by their errors.",
)
"""When EMD-DP is the wrong choice, or gains nothing (Sections 1 and 8 of the paper, and practice)."""
