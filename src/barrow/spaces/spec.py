"""Spaces and distances as people write them.

Spaces are plain data (TOML, JSON) or short names on the command line; distances are words: ``"1000 mi"``, ``"300 m"``,
``"2 h"``, ``"0.1 of the largest distance"``.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from barrow.errors import ParameterError, nearest_name, plain_table, reading, unknown_name
from barrow.numerics import Exact, exact, ungrouped
from barrow.registry import Registry, declared, package_of
from barrow.spaces.augmented import base_space
from barrow.spaces.checks import Written
from barrow.spaces.space import Space

_LONGEST = 10_000
"""Characters of a call; Python's own parser needs memory for every bracket and sign."""
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
_CELLS = {"circle": "step", "earth": "cell", "euclidean": "step", "line": "step"}
"""What the size of cells is called, by the kind of the space."""
_FAMILIES = (_KM, _HOURS, _DEGREES)
_NUMBER_AND_UNIT = re.compile(
    r"((?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+/[0-9]+)\s*(%?)\s*([^\d\s%./_].*)?"
)
_THOUSAND = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{2}0")
"""1.000 and 1.500 are thousands where the comma is the decimal point, and 1 and 1.5 elsewhere."""
ANYWHERE = ("anywhere", "any", "the largest distance")
"""Texts for a change that may go any distance."""
PRESENCE = ("no records", "presence")
"""Texts for the change from any records to none, which is never more than the largest distance."""
ANOTHER_GROUP = ("another group",)
"""Texts for a record in another hidden group, and nothing else changed."""
_AND = re.compile(r"\s+and\s+|\s*\+\s*|\s*&\s*")
_NOTHING = re.compile(r"0(?:\.0+)?(?:\s*[^\d\s.,_/].*)?")
"""No distance at all: 0, 0.0 km. What follows is a unit: 0.5 km and 0,5 km are not nothing."""
_LARGEST = ("of the largest distance", "of the diameter", "of the largest")
_OF_THE_WHOLE = re.compile(rf"[0-9./]+\s*%?(?:\s*(?:{'|'.join(_LARGEST)}))?")


SPACES: Registry[Space] = Registry(
    "kind of space",
    "barrow.spaces",
    {
        "circle": "barrow.spaces.circle:Circle",
        "clustered": "barrow.spaces.clustered:Clustered",
        "covariates": "barrow.spaces.covariates:Covariates",
        "discrete": "barrow.spaces.finite:Discrete",
        "earth": "barrow.spaces.geographic:Earth",
        "elsewhere": "barrow.spaces.elsewhere:Elsewhere",
        "embedding": "barrow.spaces.embedding:Embedding",
        "euclidean": "barrow.spaces.euclidean:Euclidean",
        "finite": "barrow.spaces.finite:Finite",
        "graph": "barrow.spaces.network:Graph",
        "groups": "barrow.spaces.groups:Groups",
        "hexagons": "barrow.spaces.hexagons:Hexagons",
        "line": "barrow.spaces.line:Line",
        "no_records": "barrow.spaces.augmented:NoRecords",
        "product": "barrow.spaces.product:Product",
        "scale": "barrow.spaces.scale:Scale",
        "tree": "barrow.spaces.tree:Tree",
        "week": "barrow.spaces.week:Week",
    },
)
READY = {"hours": "circle", "weekdays": "circle", "months": "circle", "trips": "product"}
"""Spaces that people ask for by name, each with the kind that makes it by a class method of this name."""


def space_kinds() -> Registry[Space]:
    """Every kind of space by its name in plain data; a class is loaded when it is asked for.

    >>> space_kinds()["line"].__name__
    'Line'
    """
    return SPACES


def _maker(name: str) -> Callable[..., Space] | None:
    """What makes a space that people ask for by name."""
    return getattr(SPACES[READY[name]], name) if name in READY else None


def declared_spaces(space: Space) -> list[str]:
    """What a plan, a statement and a ledger say of a space, or parts of one, that other packages declare.

    >>> from barrow.spaces import Line
    >>> declared_spaces(Line(0, 1))
    []
    """
    parts = [part for part, _ in space.geometry.parts] or [
        x for x in (space.records_space, base_space(space)) if x is not space
    ]
    rests = "its distances, its constants and how it snaps records"
    own = declared(f"space {space.kind!r}", package_of(type(space)), rests)
    return list(dict.fromkeys([*own, *(text for part in parts for text in declared_spaces(part))]))


def cell_key(name: object) -> str:
    """What the size of cells is called in the plain data of a space with this name; nothing where there is none.

    >>> cell_key("earth"), cell_key("hours"), cell_key("weekdays")
    ('cell', 'step', '')
    """
    built: Any = _maker(str(name)) or SPACES.get(str(name))
    if built is None:
        return ""
    key = _CELLS.get(getattr(built, "__self__", built).kind, "")
    return key if key in inspect.signature(built).parameters else ""


def space_from_spec(spec: Mapping[str, Any]) -> Space:
    """The space that plain data describe; the way back is ``space.to_spec()``.

    >>> space_from_spec({"kind": "line", "low": 0, "high": 10, "step": 1, "unit": "km"}).size
    11
    >>> space_from_spec({"kind": "lime"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The kind of space is 'lime'. Did you mean 'line'?
      allowed: circle, clustered, ...
      fix:     kind = "line"
    """
    rest = plain_table(spec, "The space")
    name, written = rest.pop("kind", None), rest.pop("written", None)
    if (maker := _maker(str(name))) is not None:
        where = f"see help(barrow.{SPACES[READY[str(name)]].__name__}.{name})"
        with reading(f"The space {name!r}", allowed="its own arguments", fix=where):
            return maker(**rest)
    kind: Any = SPACES.get(str(name))
    if kind is None:
        known, earth = [*SPACES, *READY], 'kind = "earth"'
        raise unknown_name(f"The kind of space is {name!r}.", name, known, fix='kind = "{}"', otherwise=earth)
    if not isinstance(rest.get("unit", ""), str):
        raise ParameterError(f"unit is {rest['unit']!r}.", allowed="a text", fix='unit = "km"')
    with reading(
        f"The {name} space", allowed="the arguments of its Python class", fix=f"see help(barrow.{kind.__name__})"
    ):
        space = kind.from_spec(rest)
    if not isinstance(space, Space):
        raise ParameterError(f"The kind {name!r} is not a space.", fix="choose another kind")
    if isinstance(written, Written):
        object.__setattr__(space, "_written", written)
    return space


def parse_call(text: str) -> dict[str, Any] | None:
    """``kind`` or ``kind(name=literal, …)`` as plain data; None where the text is neither. Nothing is evaluated.

    >>> parse_call("density(bandwidth='5 km')"), parse_call("mean"), parse_call("os.system('x')")
    ({'kind': 'density', 'bandwidth': '5 km'}, {'kind': 'mean'}, None)
    """
    if len(text) > _LONGEST:
        return None
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if isinstance(node, ast.Name):
            return {"kind": node.id}
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
            return None
        arguments = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords if word.arg}
        return {"kind": node.func.id, **arguments}
    except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
        return None


def parse_space(text: str) -> Space:
    """The space named on a command line: ``earth``, ``earth(cell=10)``, ``line(low=0, high=100, unit="years")``.

    The arguments are those of the Python class, as literals; ``hours``, ``weekdays`` and ``months`` are circles, and
    ``trips`` is a place where something begins and one where it ends.

    >>> parse_space("circle(period=24, unit='h')").diameter, parse_space("hours(step=2)").size
    (12.0, 12)

    A product is written with ``x`` between its parts, perhaps with weights before them:

    >>> parse_space("line(low=0, high=10, step=1, unit='km', cells=True) x hours").items
    240
    >>> [str(w) for w in parse_space("3/4 line(low=0, high=10, step=1, unit='km') x 1/4 hours").weights]
    ['3/4', '1/4']
    """
    spec = parse_spec(text)
    if spec is None:
        raise ParameterError(
            f"The space {text!r} cannot be read.",
            allowed="a kind of space with named arguments, several with ' x ' between them, or a study file",
            fix="--space 'earth(cell=10)', --space 'line(low=0, high=100)', --space 'earth(cell=10) x hours'",
        )
    return space_from_spec(spec)


def parse_spec(text: str) -> dict[str, Any] | None:
    """The plain data of the space that a text names, whether its arguments fit or not; None where it names none.

    >>> parse_spec("3/4 line(low=0, high=10, step='auto') x 1/4 hours")["parts"]
    [{'kind': 'line', 'low': 0, 'high': 10, 'step': 'auto'}, {'kind': 'hours'}]
    """
    pieces = _factors(text)
    return _product(text, pieces) if len(pieces) > 1 else parse_call(text)


def _factors(text: str) -> list[str]:
    """The parts of ``A x B``: an x on its own, outside of brackets and quotes."""
    results, depth, quote, start = [], 0, "", 0
    for i, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign in "x×" and depth == 0 and text[i - 1 : i] == " " and text[i + 1 : i + 2] == " ":
            results.append(text[start:i].strip())
            start = i + 1
    return [*results, text[start:].strip()]


def _product(text: str, pieces: list[str]) -> dict[str, Any] | None:
    """The product of spaces, with weights where they are written before the parts."""
    split = [re.fullmatch(r"(?:([\d./]+%?)\s+)?(.*)", piece, re.DOTALL) for piece in pieces]
    weights = [match[1] for match in split if match is not None]
    parts = [parse_spec(match[2]) for match in split if match is not None]
    if any(part is None for part in parts):
        return None
    if not any(weights):
        return {"kind": "product", "parts": parts}
    if not all(weights):
        raise ParameterError(
            f"Some parts of {text!r} have a weight and some have none.",
            allowed="a weight before each part, or before none",
            fix="3/4 earth(cell=10) x 1/4 hours",
        )
    return {"kind": "product", "parts": parts, "weights": weights}


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
    if space.geometry.within is not None:
        return units_of(space.geometry.within)
    if space.geometry.parts:
        return [" and ".join(part.unit or "a share" for part, _ in space.geometry.parts)]
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
    within = space.geometry.within
    if text.lower() in ANOTHER_GROUP:
        return space.geometry.group_distance or Fraction(1)
    if within is not None:  # groups add to distances, and never change those of items
        return parse_distance(distance, within) * Fraction(within.diameter) / Fraction(space.diameter)
    if space.geometry.parts and text and not _OF_THE_WHOLE.fullmatch(text):
        return _of_parts(text, space)
    match = _NUMBER_AND_UNIT.fullmatch(text) if text else None
    if text and match is None:
        raise _unreadable(distance, space)
    number, unit = (match[1], (match[3] or "").strip()) if match else (distance, "")
    if match and _THOUSAND.fullmatch(match[1]):
        raise _two_ways(distance, match[1], unit)
    value = exact(number, "the distance")
    if match and match[2]:
        value /= 100
        unit = unit or _LARGEST[0]
        if unit.lower() not in _LARGEST or "%" in space.unit:
            raise _unreadable(distance, space)
    if unit.lower() in _LARGEST or (not unit and not space.unit):
        q = value
    else:
        factor = _factor(unit, space.unit) if unit else None
        if factor is None:
            raise _wrong_unit(distance, unit, space)
        q = value * factor / Fraction(space.diameter)
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
    parts = space.geometry.parts
    result: dict[int, Fraction] = {}
    for place, piece in enumerate(pieces):
        fitting = {i: q for i, (part, _) in enumerate(parts) if (q := _piece(piece, part)) is not None}
        free = [i for i in fitting if i not in result]
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
        result[at] = fitting[at]
    total = sum((weight * result.get(i, Fraction(0)) for i, (_, weight) in enumerate(parts)), Fraction(0))
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
    ready = space.unit and "%" not in space.unit  # 5 % of what? of the largest distance, where there is another unit
    return ParameterError(
        f"The distance {distance!r} cannot be read.",
        allowed=f"a number and a unit ({', '.join(units_of(space)) or 'none'}), "
        '"0.1 of the largest distance", or "anywhere"',
        fix=f'"{space.diameter / 10:.6g} {space.unit}"' if ready else '"0.1 of the largest distance"',
    )


def _two_ways(distance: object, number: str, unit: str) -> ParameterError:
    return ParameterError(
        f"The distance {distance!r} can be read in two ways: its point may separate decimals or thousands.",
        allowed="a decimal point without a zero at the end, or a number without a point",
        fix=f'"{number.replace(".", "")} {unit}" or "{number.rstrip("0").rstrip(".")} {unit}"',
    )


def _wrong_unit(distance: object, unit: str, space: Space) -> ParameterError:
    typed = str(distance).strip()
    text = f"has the unit {unit!r}" if unit else "has no unit"
    meant = nearest_name(unit, units_of(space)) if unit else space.unit
    tenth = f"{space.diameter / 10:.6g} {space.unit}"
    fix = f"{typed.removesuffix(unit).strip()} {meant}" if meant else tenth
    return ParameterError(
        f"The distance {distance} {text}, but the {space.kind} space measures in {space.unit or 'no unit'}.",
        allowed=", ".join(units_of(space)) or "a bare number between 0 and 1",
        fix=f'"{fix}"' if space.unit else '"0.1"',
    )
