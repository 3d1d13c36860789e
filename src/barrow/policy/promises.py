"""A promise in plain words ("a share of the data moved by a distance is protected at epsilon"), and what it means.

Odds say how far a 50 % suspicion can grow (docs/proofs/promises.md); drawn as curves they show what anyone can learn
about one person.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from barrow.errors import NamedOptions, ParameterError
from barrow.numerics import Exact, exact, exact_text, ungrouped
from barrow.policy.records import RecordMap

if TYPE_CHECKING:
    from barrow.figures import Figure

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {"a": 1, "an": 1, **{word: i for i, word in enumerate(_WORDS, start=1)}}
_EVERYTHING = re.compile(r"everything|(?:all|the whole)(?: of)?(?: the)?(?: \w+)?")
_OF = re.compile(rf"([\d./]+|{'|'.join(_NUMBERS)})\b\s*[^\d%]*?\s*\b(?:of|in)\s+(?:the\s+)?([\d.]+)(?:\s+[^\d%]*)?")
_PERCENT = re.compile(r"([\d.]+)\s*(?:%|per\s?cent)(?:\s+\D*)?")
_SHARES = 'more than 0 and at most 1, e.g. "1/30", "1 day of 30", "one visit of 50", "2 %" or "all"'
_DRAWN = ((1.0, "everything"), (0.5, "half of it"), (0.1, "1 in 10"), (0.02, "1 in 50"))
_CERTAIN = 0.99995
_TINY = 1.0 + 1e-12


def parse_share(value: Exact) -> Fraction:
    """A share of a user's data as an exact number in (0, 1].

    >>> parse_share("1/30"), parse_share("1 day of 30"), parse_share("2 % of the words"), parse_share("all")
    (Fraction(1, 30), Fraction(1, 30), Fraction(1, 50), Fraction(1, 1))
    >>> parse_share("one visit of 50"), parse_share("all visits")
    (Fraction(1, 50), Fraction(1, 1))
    """
    text = ungrouped(" ".join(value.lower().split()), "the share") if isinstance(value, str) else ""
    if _EVERYTHING.fullmatch(text):
        return Fraction(1)
    if match := _OF.fullmatch(text):
        whole = exact(match[2], "the share")
        share = exact(_NUMBERS.get(match[1], match[1]), "the share") / whole if whole else Fraction(0)
    elif match := _PERCENT.fullmatch(text):
        share = exact(match[1], "the share") / 100
    elif re.search("[a-z]{2}", text):
        raise ParameterError(f"the share is {value!r}, which cannot be read.", allowed=_SHARES, fix='"1 of 50"')
    else:
        share = exact(text or value, "the share")
    if not 0 < share <= 1:
        raise ParameterError(f"The share is {value}.", allowed=_SHARES, fix='"all" for the whole data of a person')
    return share


def parse_epsilon(value: Exact) -> Fraction:
    """An epsilon above 0; ``"eps 0.2"`` and ``"ε = 0.2"`` are read as well.

    >>> parse_epsilon("eps 0.2")
    Fraction(1, 5)
    """
    if isinstance(value, str):
        value = re.sub(r"^\s*(epsilon|eps|ε)\s*[=≤:]?\s*", "", value, flags=re.IGNORECASE)
    epsilon = exact(ungrouped(value, "epsilon") if isinstance(value, str) else value, "epsilon")
    if epsilon <= 0:
        raise ParameterError(f"epsilon is {value}.", allowed="a number above 0", fix="0.2")
    return epsilon


@dataclass(frozen=True)
class Promise(NamedOptions):
    """If ``share`` of a person's data had been ``distance`` elsewhere, nobody could tell beyond ``epsilon``.

    Args:
        share: The share of the data that changes: a number, ``"1/30"``, ``"1 day of 30"``, ``"2 %"``, ``"all"``.
        distance: How far it moves on average, with a unit of the space: ``"1000 mi"``, ``"anywhere"``.
        epsilon: The largest privacy loss that is acceptable for such a change.

    >>> Promise("1 day of 30", "1000 mi", 0.25).share
    Fraction(1, 30)
    """

    share: Fraction
    distance: Exact
    epsilon: Fraction
    share_text: str

    def __init__(self, share: Exact, distance: Exact, epsilon: Exact) -> None:
        object.__setattr__(self, "share", parse_share(share))
        if not isinstance(distance, str):
            exact(distance, "the distance")
        object.__setattr__(self, "distance", distance.strip() if isinstance(distance, str) else distance)
        object.__setattr__(self, "epsilon", parse_epsilon(epsilon))
        object.__setattr__(self, "share_text", str(share).strip())

    def __repr__(self) -> str:
        return f"Promise({self.share_text!r}, {self.distance!r}, {exact_text(self.epsilon)!r})"

    @property
    def text(self) -> str:
        """The promise as :meth:`parse` reads it.

        >>> Promise("1 day of 30", "1000 mi", 0.25).text
        '1 day of 30, 1000 mi, 0.25'
        """
        return f"{self.share_text}, {self.distance}, {exact_text(self.epsilon)}"

    @classmethod
    def parse(cls, text: str) -> Promise:
        """The promise written as ``"share, distance, epsilon"``.

        >>> Promise.parse("1/30, 1000 mi, 0.2") == Promise("1/30", "1000 mi", "0.2")
        True
        >>> Promise.parse("1/30, 1000 mi")
        Traceback (most recent call last):
        ...
        barrow.errors.ParameterError: The promise '1/30, 1000 mi' has 2 parts.
          allowed: three parts between commas: share, distance, epsilon
          fix:     "1/30, 1000 mi, 0.2"
        """
        # "1,000 mi" holds a comma of its own, so commas with a space behind them are tried first.
        parts = [part.strip() for part in text.split(", ")]
        if len(parts) != 3:
            parts = [part.strip() for part in text.split(",")]
        if len(parts) != 3 or not all(parts):
            raise ParameterError(
                f"The promise {text!r} has {len(parts)} parts.",
                allowed="three parts between commas: share, distance, epsilon",
                fix='"1/30, 1000 mi, 0.2"',
            )
        return cls(*parts)


def odds_upper(epsilon: float) -> float:
    """The largest probability, rounded up, to which a guess of 50 % about two data sets can grow: 1/(1+e^-eps).

    >>> round(odds_upper(0.5), 4)
    0.6225
    """
    return min(1.0, math.nextafter(1.0 / (1.0 + math.exp(-epsilon)) * (1.0 + 2.0**-50), 2.0))


def percent_up(probability: float, digits: int = 1) -> str:
    """A probability as a percentage, rounded up so that it never understates.

    >>> percent_up(0.55001), percent_up(0.5), percent_up(0.99999999)
    ('55.1 %', '50.0 %', '100 %')
    """
    scale = 10**digits
    value = math.ceil(probability * 100 * scale * (1.0 - 1e-12)) / scale
    return "100 %" if value >= 100 else f"{value:.{digits}f} %"


def odds_sentence(epsilon: float) -> str:
    """The odds of ``epsilon`` as a sentence; delta aside.

    >>> odds_sentence(0.2)
    'A 50 % suspicion can grow to at most 55.0 %.'
    >>> odds_sentence(25)
    'A 50 % suspicion can become near certainty: this is not protected.'
    """
    if epsilon > 5:
        return "A 50 % suspicion can become near certainty: this is not protected."
    return f"A 50 % suspicion can grow to at most {percent_up(odds_upper(epsilon))}."


@dataclass(frozen=True)
class Change:
    """A promise in numbers.

    Attributes:
        words: What had been different.
        share: Of one person's data.
        distance: How far elsewhere, in the space's unit.
        asked: The epsilon that was promised.
        kept: The epsilon that it gets, rounded up.
    """

    words: str
    share: float
    distance: float
    asked: float
    kept: float


def belief_figure(
    changes: Sequence[Change],
    *,
    alpha: float | None,
    worst: float,
    unit: str,
    diameter: float,
    snapping: float = 0.0,
    most: float = 1.0,
    records: RecordMap = RecordMap.CONTRACTION,
    width: int = 720,
) -> Figure | None:
    """What a 50 % guess can become against how far elsewhere records had been; None if it can become certain.

    Args:
        changes: The promises.
        alpha: Rounded up; None for user-level DP, which is the same for every change.
        worst: The epsilon, rounded up, if everything were different.
        unit: Of distances.
        diameter: How many units count as 1.
        snapping: How far snapping moves a record at most, in units.
        most: No move of an item counts for more than this, as a share of the diameter.
        records: How records become items.
        width: In pixels.
    """
    from barrow.figures import Curve, Kept, belief

    top = odds_upper(worst)
    if top > _CERTAIN:
        return None
    reach = min(diameter, max([1.35 * change.distance for change in changes], default=0.15 * diameter) or diameter)
    far = np.linspace(0.0, reach, 64)
    if alpha is None or records is RecordMap.FILTER:
        curves = [Curve("any change", far, np.full(len(far), top))]
    else:
        jumps = diameter if records is RecordMap.JUMPS else 0.0
        moved = np.minimum((far + 2.0 * snapping + jumps) / diameter, most)
        least = min([change.share for change in changes], default=0.02) / 2.0
        curves = [
            Curve(name, far, [odds_upper(min(float(x) * alpha * share * _TINY, worst)) for x in moved])
            for share, name in _DRAWN
            if share >= least
        ]
    kept = [Kept(c.words, c.distance, odds_upper(c.asked), min(odds_upper(c.kept), top)) for c in changes]
    return belief(curves, kept, worst=top, unit=unit or "of the largest distance", width=width)
