"""A share of a person's data as people write it, read strictly: what is not certain is refused with what to type.

A share that is read too small is a promise that is not kept, so nothing is guessed. There are four forms: everything
(``all``), a number (``half``, ``1/30``, ``0.5``), per cent (``2 %``), and so many of so many (``1 day of 30``), where
both are whole numbers of one thing. Units of time on both sides are converted; what is counted is a known word, because
a word such as "dozen" would count for more than one.
"""

from __future__ import annotations

import re
from fractions import Fraction

from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, ungrouped

_COUNTED = (
    "answer", "article", "book", "call", "check-in", "click", "day", "drive", "entry", "event", "film", "flight",
    "game", "hour", "item", "journey", "location", "meal", "measurement", "message", "minute", "month", "morning",
    "movie", "night", "order", "page", "payment", "photo", "place", "point", "position", "post", "purchase",
    "rating", "reading", "record", "report", "review", "ride", "row", "sample", "search", "second", "session",
    "song", "station", "stay", "stop", "test", "trip", "transaction", "video", "view", "visit", "vote", "walk",
    "week", "weekday", "word", "year",
)  # fmt: skip
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ONE = ("a", "an")
_NUMBERS = {**dict.fromkeys(_ONE, 1), **{word: i for i, word in enumerate(_WORDS, start=1)}}
_TIMES = (
    {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800},
    {"month": 1, "year": 12},
)
"""How long units of time are, by what converts exactly: a month has no certain number of days."""


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith("ch") else "s")


_SINGULAR = {form: noun for noun in _COUNTED for form in (noun, _plural(noun))}
_THINGS = "([a-z-]+)"  # looked up afterwards: a pattern of all words would take long to compile
_COUNT = rf"([0-9]+|{'|'.join(_NUMBERS)})(?: (?!(?:of|in|out) ){_THINGS})?"
_OF = re.compile(rf"{_COUNT} (?:of|in|out of) (?:the )?{_COUNT}")
_EVERYTHING = re.compile(rf"everything|all(?:(?: of)?(?: the)? {_THINGS})?")
_HALF = re.compile(rf"(?:a |one )?half(?: of(?: the)? {_THINGS})?")
_PERCENT = re.compile(rf"([0-9]+(?:\.[0-9]+)?) ?(?:%|percent|per cent)(?: of(?: the)? {_THINGS})?")
_NUMBER = re.compile(r"[0-9.]+(?:e-?[0-9]+)?|[0-9]+ ?/ ?[0-9]+")
_SHARES = 'more than 0 and at most 1, e.g. "1/30", "1 day of 30", "one visit of 50", "2 %", "half" or "all"'
_FIX = '"1 of 50" in whole numbers of one thing, or a share on its own: "1/50", "2 %"'


def parse_share(value: Exact) -> Fraction:
    """A share of a user's data as an exact number in (0, 1].

    >>> parse_share("1/30"), parse_share("1 day of 30"), parse_share("2 % of the words"), parse_share("all")
    (Fraction(1, 30), Fraction(1, 30), Fraction(1, 50), Fraction(1, 1))
    >>> parse_share("one visit of 50"), parse_share("1 week of 30 days"), parse_share("half")
    (Fraction(1, 50), Fraction(7, 30), Fraction(1, 2))
    >>> parse_share("a dozen of 30")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: the share is 'a dozen of 30', which cannot be read as a share.
      allowed: more than 0 and at most 1, e.g. "1/30", "1 day of 30", "one visit of 50", "2 %", "half" or "all"
      fix:     "1 of 50" in whole numbers of one thing, or a share on its own: "1/50", "2 %"
    """
    share = _read(value) if isinstance(value, str) else exact(value, "the share")
    if not 0 < share <= 1:
        raise ParameterError(f"The share is {value}.", allowed=_SHARES, fix='"all" for the whole data of a person')
    return share


def _read(value: str) -> Fraction:
    plain = " ".join(value.split())
    if not plain.isascii():  # digits and letters of other scripts may look like these, and count for something else
        raise _unclear(value)
    text = ungrouped(plain.lower(), "the share")
    if (match := _EVERYTHING.fullmatch(text)) and _known(match[1]):
        return Fraction(1)
    if (match := _HALF.fullmatch(text)) and _known(match[1]):
        return Fraction(1, 2)
    if (match := _OF.fullmatch(text)) and all(noun is None or noun in _SINGULAR for noun in (match[2], match[4])):
        return _so_many(value, *match.groups())
    if (match := _PERCENT.fullmatch(text)) and _known(match[2]):
        return exact(match[1], "the share") / 100
    if _NUMBER.fullmatch(text.removeprefix("-")):
        return exact(text, "the share")
    raise _unclear(value)


def _known(noun: str | None) -> bool:
    """Whether it is left out, or one of the words that are read."""
    return noun is None or noun == "data" or noun in _SINGULAR


def _so_many(value: str, count: str, noun: str | None, whole: str, of: str | None) -> Fraction:
    """So many of so many: of the same thing, or of times that convert into each other."""
    a, b = (exact(_NUMBERS.get(number, number), "the share") for number in (count, whole))
    thing, things = (None if word is None else _SINGULAR[word] for word in (noun, of))
    if (count in _ONE and not thing) or (whole in _ONE and not (thing and things)):
        raise _unclear(value)
    if not b:
        return Fraction(0)
    if thing is None or things is None or thing == things:
        return a / b
    for lengths in _TIMES:
        if thing in lengths and things in lengths:
            return a * lengths[thing] / (b * lengths[things])
    raise _unclear(value)


def _unclear(value: str) -> ParameterError:
    text = repr(value) if len(value) <= 60 else repr(value[:57]) + "…"
    return ParameterError(f"the share is {text}, which cannot be read as a share.", allowed=_SHARES, fix=_FIX)
