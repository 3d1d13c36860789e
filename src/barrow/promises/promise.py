"""A promise in plain words ("a share of the data moved by a distance is protected at epsilon"), and what it means.

Odds say how far a 50 % suspicion can grow (docs/proofs/promises.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, exact_text
from barrow.promises.scopes import Scope, scope_of
from barrow.promises.shares import parse_share
from barrow.spaces.spec import ANOTHER_GROUP

_PARTS = {"share": "1/30", "distance": "1000 mi", "epsilon": "0.2"}
"""The parts of a promise, in the order in which a text names them, with an example of each."""
_SCOPE = "in any month"
"""What may follow them."""
_SEPARATOR = re.compile(r"(?<![0-9]),|,(?![0-9])")
"""A comma between parts; one between two digits belongs to a number."""
_EPSILON = re.compile(r"\s*(?:epsilon|eps|ε)(?:\s*[=≤:]\s*|\s+)", re.IGNORECASE)


def parse_epsilon(value: Exact) -> Fraction:
    """An epsilon above 0; ``"eps 0.2"`` and ``"ε = 0.2"`` are read as well.

    >>> parse_epsilon("eps 0.2")
    Fraction(1, 5)
    """
    if isinstance(value, str):
        value = value[match.end() :] if (match := _EPSILON.match(value)) else value
        if "," in value:  # 1,000 is a thousand to some and one to others
            raise ParameterError(f"epsilon is {value!r}, with a comma.", allowed="a decimal point", fix="0.5")
    epsilon = exact(value, "epsilon")
    if epsilon <= 0:
        raise ParameterError(f"epsilon is {value}.", allowed="a number above 0", fix="0.2")
    return epsilon


@dataclass(frozen=True)
class Promise:
    """If ``share`` of a person's data had been ``distance`` elsewhere, nobody could tell beyond ``epsilon``.

    Args:
        share: The share of the data that changes: a number, ``"1/30"``, ``"1 day of 30"``, ``"2 %"``, ``"all"``.
        distance: How far it moves on average, with a unit of the space: ``"1000 mi"``, ``"anywhere"``.
        epsilon: The largest privacy loss that is acceptable for such a change.
        scope: In which periods the change happens: ``"any month"``, ``"any 3 months"``, ``"every month"``. A share is
            then one of each period's own records. Without a scope it is one of all records.

    >>> Promise("1 day of 30", "1000 mi", 0.25).share
    Fraction(1, 30)
    >>> Promise("1 day of 30", "1000 mi", 0.25, scope="any month").scope
    Scope('any month')
    """

    share: Fraction
    distance: Exact
    epsilon: Fraction
    share_text: str
    scope: Scope | None

    def __init__(self, share: Exact, distance: Exact, epsilon: Exact, *, scope: Scope | str | None = None) -> None:
        vars(self).update(share=parse_share(share), share_text=str(share).strip())
        if not isinstance(distance, str):
            exact(distance, "the distance")
        vars(self).update(distance=distance.strip() if isinstance(distance, str) else distance)
        vars(self).update(epsilon=parse_epsilon(epsilon), scope=scope_of(scope))

    def __repr__(self) -> str:
        scope = "" if self.scope is None else f", scope={self.scope.text!r}"
        return f"Promise({self.share_text!r}, {self.distance!r}, {exact_text(self.epsilon)!r}{scope})"

    @property
    def another_group(self) -> bool:
        """Whether it is about records in another hidden group, and nothing else changed.

        >>> Promise("1 of 30", "another group", 0.5).another_group
        True
        """
        return str(self.distance).lower() in ANOTHER_GROUP

    @property
    def text(self) -> str:
        """The promise as :meth:`parse` reads it.

        >>> Promise("1 day of 30", "1000 mi", 0.25).text
        '1 day of 30, 1000 mi, 0.25'
        >>> Promise("1 day of 30", "10 km", 0.5, scope="any month").text
        '1 day of 30, 10 km, 0.5, in any month'
        """
        scope = "" if self.scope is None else f", in {self.scope.text}"
        return f"{self.share_text}, {self.distance}, {exact_text(self.epsilon)}{scope}"

    @classmethod
    def parse(cls, text: str) -> Promise:
        """The promise written as ``"share, distance, epsilon"``, with ``", in any month"`` if it has a scope.

        >>> Promise.parse("1/30, 1000 mi, 0.2") == Promise("1/30", "1000 mi", "0.2")
        True
        >>> Promise.parse("1/30, 1000 mi")
        Traceback (most recent call last):
        ...
        barrow.errors.ParameterError: The promise '1/30, 1000 mi' has 2 parts.
          allowed: 3 parts, a comma and a space between them: share, distance, epsilon; then a scope, "in any month"
          fix:     "1/30, 1000 mi, 0.2"
        >>> Promise.parse("1/30, 1000 mi, 0.2, in any 3 months").scope
        Scope('any 3 months')
        """
        parts = [part.strip() for part in _SEPARATOR.split(text)]
        if len(parts) not in (len(_PARTS), len(_PARTS) + 1) or not all(parts):
            raise ParameterError(
                f"The promise {text!r} has {len(parts)} part{'s' * (len(parts) != 1)}.",
                allowed=f"{len(_PARTS)} parts, a comma and a space between them: {', '.join(_PARTS)}; then a scope, "
                f'"{_SCOPE}"',
                fix='"' + ", ".join(_PARTS.values()) + '"',
            )
        return cls(*parts[:3], scope=parts[3] if len(parts) > 3 else None)

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Promise:
        """The promise of a table that names its parts, in any order.

        >>> Promise.from_table({"epsilon": "0.2", "share": "1/30", "distance": "1000 mi"}).text
        '1/30, 1000 mi, 0.2'
        >>> Promise.from_table({"epsilon": "0.2", "share": "1/30", "distance": "1000 mi", "scope": "any month"}).text
        '1/30, 1000 mi, 0.2, in any month'
        """
        if set(table) not in (set(_PARTS), {*_PARTS, "scope"}):
            raise ParameterError(
                f"The promise {dict(table)!r} cannot be read.",
                allowed=f"a table with the keys {', '.join(_PARTS)} and, if it has one, scope",
                fix=repr(_PARTS),
            )
        return cls(**table)


def odds_upper(epsilon: float, delta: float = 0.0) -> float:
    """The largest probability, rounded up, to be right about two data sets by a guess that was 50 % before.

    It is (e^eps + delta)/(1 + e^eps), and attained (docs/proofs/promises.md). Where delta is 0, no single outcome
    makes anyone surer than that either.

    >>> round(odds_upper(0.5), 4), round(odds_upper(0.5, 0.1), 4)
    (0.6225, 0.6602)
    """
    small = math.exp(-abs(epsilon))
    right = (1.0 + delta * small) / (1.0 + small) if epsilon >= 0.0 else (small + delta) / (1.0 + small)
    return min(1.0, math.nextafter(right * (1.0 + 2.0**-50), 2.0))


def odds_epsilon(odds: float, delta: float = 0.0) -> float:
    """The epsilon, rounded down by a hair, at which :func:`odds_upper` is ``odds``; 0 where delta alone gives as much.

    >>> round(odds_epsilon(0.6225), 3), odds_epsilon(0.55, 0.2)
    (0.5, 0.0)
    """
    return max(0.0, math.log((odds - delta) / (1.0 - odds)) * (1.0 - 1e-9)) if odds > delta else 0.0


def percent_up(probability: float, digits: int = 1) -> str:
    """A probability as a percentage, rounded up so that it never understates.

    >>> percent_up(0.55001), percent_up(0.5), percent_up(0.99999999)
    ('55.1 %', '50.0 %', '100 %')
    """
    scale = 10**digits
    value = math.ceil(probability * 100 * scale * (1.0 - 1e-12)) / scale
    return "100 %" if value >= 100 else f"{value:.{digits}f} %"


def odds_sentence(epsilon: float, delta: float = 0.0) -> str:
    """The odds of ``epsilon`` and ``delta`` as a sentence.

    >>> odds_sentence(0.2)
    'A 50 % guess can become at most 55.0 %.'
    >>> odds_sentence(25)
    'A 50 % guess can become almost certain: this is not protected.'
    """
    if epsilon > 5:
        return "A 50 % guess can become almost certain: this is not protected."
    return f"A 50 % guess can become at most {percent_up(odds_upper(epsilon, delta))}."


CAP = "all, anywhere, 1"
"""The promise that caps a worst case: whatever is different about one person, a 50 % guess stays below 73.2 %."""
_ALARM = 0.9


def alarm(epsilon: float, delta: float = 0.0, unit: str | None = None) -> str | None:
    """What must be said where all data of one person can be found out almost surely; None where they cannot.

    Args:
        epsilon: Of the worst case.
        delta: Beside it.
        unit: The unit of the period that is released about; None for all records.

    >>> print(alarm(3.5))
    All data of one person together are hardly hidden: a 50 % guess can become 97.1 %. The promise "all, anywhere, 1" \
caps this at 73.2 %.
    >>> print(alarm(3.5, unit="month"))
    All data of one person in a month are hardly hidden: a 50 % guess can become 97.1 %. The promise "all, anywhere, \
1, in any month" caps this at 73.2 %.
    >>> alarm(2.1) is None
    True
    """
    odds = odds_upper(epsilon, delta)
    if odds <= _ALARM:
        return None
    about = "together" if unit is None else f"in a {unit}"
    return (
        f"All data of one person {about} are hardly hidden: a 50 % guess can become {percent_up(odds)}. "
        f'The promise "{cap(unit)}" caps this at {percent_up(odds_upper(1.0, delta))}.'
    )


def cap(unit: str | None = None) -> str:
    """The promise that caps a worst case; of releases about one period each, in any of them.

    >>> cap("month")
    'all, anywhere, 1, in any month'
    """
    return CAP if unit is None else f"{CAP}, in any {unit}"
