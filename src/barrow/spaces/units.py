"""Distances in words: ``"1000 mi"``, ``"300 m"``, ``"2 h"``, ``"0.1 of the largest distance"``."""

from __future__ import annotations

import re
from fractions import Fraction

from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, ungrouped
from barrow.spaces.base import Space

_KM = {
    "km": Fraction(1), "kilometre": Fraction(1), "kilometer": Fraction(1),
    "m": Fraction(1, 1000), "metre": Fraction(1, 1000), "meter": Fraction(1, 1000),
    "mi": Fraction(1609344, 10**6), "mile": Fraction(1609344, 10**6),
    "nmi": Fraction(1852, 1000), "ft": Fraction(3048, 10**7),
    "foot": Fraction(3048, 10**7), "feet": Fraction(3048, 10**7),
}  # fmt: skip
_HOURS = {
    "h": Fraction(1), "hour": Fraction(1), "min": Fraction(1, 60), "minute": Fraction(1, 60),
    "s": Fraction(1, 3600), "second": Fraction(1, 3600), "day": Fraction(24), "week": Fraction(168),
}  # fmt: skip
_DEGREES = {"degree": Fraction(1), "deg": Fraction(1), "°": Fraction(1)}
_FAMILIES = (_KM, _HOURS, _DEGREES)
_NUMBER_AND_UNIT = re.compile(r"((?:\d[\d_]*)?\.?\d+(?:[eE][+-]?\d+)?(?:/\d+)?)\s*(%?)\s*([^\d\s%./].*)?")
ANYWHERE = ("anywhere", "any", "the largest distance")
"""Texts for a change that may go any distance."""
PRESENCE = ("no records", "presence")
"""Texts for the change from any records to none, which is never more than the largest distance."""
_AND = re.compile(r"\s+and\s+|\s*\+\s*|\s*&\s*")
_NOTHING = re.compile(r"0(?:\.0+)?(?:\s*[^\d\s.,_/].*)?")
"""No distance at all: 0, 0.0 km. What follows is a unit: 0.5 km and 0,5 km are not nothing."""
_OF_THE_WHOLE = re.compile(r"[\d./]+\s*%?(?:\s*(?:of the largest distance|of the diameter|of the largest))?")
_LARGEST = ("of the largest distance", "of the diameter", "of the largest", "d")


def _singular(unit: str) -> str:
    return unit[:-1] if len(unit) > 2 and unit.endswith("s") else unit


def _factor(unit: str, target: str) -> Fraction | None:
    """How many ``target`` units one ``unit`` is; None if they do not measure the same thing."""
    a, b = _singular(unit), _singular(target)
    if a == b:
        return Fraction(1)
    for family in _FAMILIES:
        if a in family and b in family:
            return family[a] / family[b]
    return None


def units_of(space: Space) -> list[str]:
    """The units in which distances of ``space`` may be given, its own first.

    >>> from barrow.spaces import Earth
    >>> units_of(Earth())[:3]
    ['km', 'm', 'mi']
    """
    if space.summands:
        return [" and ".join(part.unit or "a share" for part, _ in space.summands)]
    own = [space.unit] if space.unit else []
    for family in _FAMILIES:
        if _singular(space.unit) in family:
            own += [u for u in ("km", "m", "mi", "nmi", "ft", "h", "min", "s", "day", "week", "degree") if u in family]
    return list(dict.fromkeys(own))


def parse_distance(distance: Exact, space: Space) -> Fraction:
    """A distance in words or numbers as a share of the diameter of ``space``, in (0, 1], exactly.

    On a product it may name a distance for each part, in any order: ``"5 km and 2 hours"``; parts that are not named
    stay where they are. A bare number is a share of the largest distance only where the space has no unit; elsewhere a
    unit is asked for.

    >>> from barrow.spaces import Discrete, Earth
    >>> float(round(parse_distance("1000 mi", Earth()), 4))
    0.0804
    >>> parse_distance("0.1 of the largest distance", Earth()), parse_distance("1/2", Discrete(["a", "b"]))
    (Fraction(1, 10), Fraction(1, 2))
    >>> from barrow.spaces import Circle, Line, Product
    >>> where_when = Product([Line(0, 50, unit="km"), Circle.hours()], weights=["1/2", "1/2"])
    >>> parse_distance("5 km and 2 hours", where_when)  # half of 1/10, and half of 1/6
    Fraction(2, 15)
    """
    text = ungrouped(distance.strip(), "the distance") if isinstance(distance, str) else ""
    if text.lower() in ANYWHERE + PRESENCE:
        return Fraction(1)
    if space.summands and text and not _OF_THE_WHOLE.fullmatch(text):
        return _of_parts(text, space)
    match = _NUMBER_AND_UNIT.fullmatch(text) if text else None
    if text and match is None:
        raise _unreadable(distance, space)
    number, unit = (match[1], (match[3] or "").strip()) if match else (distance, "")
    value = exact(number, "the distance")
    if match and match[2]:
        value /= 100
        unit = unit or "of the largest distance"
    if unit.lower() in _LARGEST or (not unit and not space.unit):
        q = value
    else:
        factor = _factor(unit, space.unit) if unit else None
        if factor is None:
            raise _wrong_unit(distance, unit, space)
        q = space.normalise(value * factor)
    if not 0 < q <= 1:
        largest = f"{space.diameter:.6g} {space.unit}, the public diameter"
        if not space.unit:
            largest = "1: the space has no unit, so that a number is a share of the largest distance"
        raise ParameterError(
            f"The distance {distance} is {'beyond the largest one' if q > 1 else 'not above 0'}.",
            allowed=f"more than 0 and at most {largest}",
            fix='"anywhere" for the largest distance, or a space with a larger diameter',
        )
    return q


def _of_parts(text: str, space: Space) -> Fraction:
    """The weighted sum of distances of the parts: each piece belongs to the part whose unit it has, or by its place."""
    pieces = [piece for piece in _AND.split(text) if piece]
    parts = space.summands
    found: dict[int, Fraction] = {}
    for place, piece in enumerate(pieces):
        fitting = {i: q for i, (part, _) in enumerate(parts) if (q := _piece(piece, part)) is not None}
        free = [i for i in fitting if i not in found]
        at = place if place in free and len(pieces) == len(parts) else free[0] if len(free) == 1 else None
        if at is None:
            units = " and ".join(part.unit or "a share of the largest distance" for part, _ in parts)
            raise ParameterError(
                f"The distance {text!r} does not say which part of the product {piece!r} is about."
                if fitting
                else f"The distance {text!r} holds {piece!r}, which no part of the product measures.",
                allowed=f"a distance for each part, in {units}",
                fix='"' + " and ".join(f"{part.diameter / 10:.6g} {part.unit}".strip() for part, _ in parts) + '"',
            )
        found[at] = fitting[at]
    total = sum((weight * found.get(i, Fraction(0)) for i, (_, weight) in enumerate(parts)), Fraction(0))
    if total <= 0:
        raise ParameterError(
            f"The distance {text!r} is not above 0.", allowed="more than 0 in one part or more", fix='"anywhere"'
        )
    return total


def _piece(piece: str, part: Space) -> Fraction | None:
    """A distance in one part; None if that does not measure so."""
    if _NOTHING.fullmatch(piece):
        return Fraction(0) if _piece(f"1{piece[1:]}", part) is not None or piece == "0" else None
    try:
        return parse_distance(piece, part)
    except ParameterError:
        return None


def _unreadable(distance: object, space: Space) -> ParameterError:
    return ParameterError(
        f"The distance {distance!r} cannot be read.",
        allowed=f"a number and a unit ({', '.join(units_of(space)) or 'none'}), "
        '"0.1 of the largest distance", or "anywhere"',
        fix=f'"{space.diameter / 10:.6g} {space.unit}"' if space.unit else '"0.1"',
    )


def _wrong_unit(distance: object, unit: str, space: Space) -> ParameterError:
    said = f"has the unit {unit!r}" if unit else "has no unit"
    return ParameterError(
        f"The distance {distance} {said}, but the {space.kind} space measures in {space.unit or 'no unit'}.",
        allowed=", ".join(units_of(space)) or "a bare number between 0 and 1",
        fix=f'"{space.diameter / 10:.6g} {space.unit}"' if space.unit else '"0.1"',
    )
