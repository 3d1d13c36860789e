"""A promise in plain words: "a share tau of the data moved by distance q is protected at epsilon"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from barrow.errors import NamedOptions, ParameterError
from barrow.numerics import Exact, exact, exact_text, ungrouped

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {"a": 1, "an": 1, **{word: i for i, word in enumerate(_WORDS, start=1)}}
_EVERYTHING = re.compile(r"everything|(?:all|the whole)(?: of)?(?: the)?(?: \w+)?")
_OF = re.compile(rf"([\d./]+|{'|'.join(_NUMBERS)})\b\s*[^\d%]*?\s*\b(?:of|in)\s+(?:the\s+)?([\d.]+)(?:\s+[^\d%]*)?")
_PERCENT = re.compile(r"([\d.]+)\s*(?:%|per\s?cent)(?:\s+\D*)?")
_SHARES = 'more than 0 and at most 1, e.g. "1/30", "1 day of 30", "one visit of 50", "2 %" or "all"'


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
