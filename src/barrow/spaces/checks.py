"""What spaces are made from, checked: calls, public parameters, and tables read from files.

Spaces take arrays; files are read by ``barrow.engines.with_tables``, which hands over the plain data that name them
with the digests of what they held. Such a space writes these, and is known by the digests, not by names of files.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError, check_options
from barrow.numerics import exact

DIGESTS = "digests"
T = TypeVar("T")


def finite_array(values: ArrayLike, name: str, *, ndim: int) -> NDArray[np.float64]:
    """``values`` as a float array of ``ndim`` dimensions without NaN or infinity; a public parameter."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.full(0, np.nan)
        bad = "is not an array of numbers"
    else:
        bad = ""
        if array.ndim != ndim:
            bad = f"has {array.ndim} dimensions instead of {ndim}"
        elif array.size == 0:
            bad = "is empty"
        elif not np.isfinite(array).all():
            where = np.argwhere(~np.isfinite(array))[0].tolist()
            bad = f"holds {array[tuple(where)]} at {where if ndim > 1 else where[0]}"
    if bad:
        raise ParameterError(
            f"{name} {bad}.",
            allowed=f"finite numbers in {ndim} dimension{'s' * (ndim > 1)}",
            fix=f"check {name}",
        )
    return array


def positive_number(value: Any, name: str, fix: str | None = None) -> float:
    """``value`` as a finite float above 0; a public parameter."""
    if isinstance(value, str) and value == "auto":
        raise ParameterError(
            f"{name} is 'auto' in a space of its own.",
            allowed="a number; sizes are chosen for a question, so that 'auto' is written in the space of a study",
            fix=f"""bw.Study("…({name}='auto')", …), the space as a text or a table""",
        )
    if isinstance(value, str | Fraction | Decimal):
        value = float(exact(value, name))
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not np.isfinite(value)
        or value <= 0
    ):
        raise ParameterError(f"{name} is {value!r}.", allowed="a finite number above 0", fix=fix or f"{name}=1.0")
    return float(value)


def chosen_diameter(diameter: Any, least: float, problem: str, allowed: str, fix: str = "leave diameter out") -> float:
    """How many units count as 1: ``diameter``, which no two items may exceed, or the ``least`` that none do."""
    chosen = least if diameter is None else positive_number(diameter, "diameter")
    if chosen < least:
        raise ParameterError(f"diameter is {diameter}{problem}", allowed=allowed, fix=fix)
    return chosen


def checked_unit(unit: str) -> str:
    """``unit`` if it is a text."""
    if not isinstance(unit, str):
        raise ParameterError(f"unit is {unit!r}.", allowed="a text", fix='unit="km"')
    return unit


def build(kind: Callable[..., T], *args: Any, **options: Any) -> T:
    """What ``kind`` makes of plain data; an option that it does not have is refused with the nearest one."""
    check_options(kind.__name__, inspect.signature(kind).parameters, options)
    return kind(*args, **options)


@dataclass(frozen=True)
class Written:
    """Plain data that name files, with their digests: what a space was read from."""

    spec: Mapping[str, Any]


def without_names(spec: Any) -> Any:
    """Plain data in which files are known by their digests alone, so that a file may be moved or renamed."""
    if isinstance(spec, list):
        return [without_names(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    named = spec.get(DIGESTS, {})
    return {key: without_names(value) for key, value in spec.items() if key not in named}
