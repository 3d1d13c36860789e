"""What is checked when it comes in: calls and public parameters of spaces, and private records."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import DataError, ParameterError, check_options, reading
from barrow.numerics import exact


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


def private_numbers(records: Any, columns: int | None = None) -> NDArray[np.float64]:
    """Private records as floats, missing ones as NaN; with ``columns``, as an array of that many columns.

    What cannot be read raises a constant text: the usual conversion error would repeat the private value.
    """
    try:
        array = np.asarray(records, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is not None and columns == 1 and array.ndim == 1:
        array = array[:, None]
    shape_ok = array is not None and (array.ndim == 1 if columns is None else array.shape[1:] == (columns,))
    if array is None or not shape_ok:
        want = "one number" if columns is None else f"{columns} numbers"
        raise DataError(
            "The records are not of the form that the space reads.",
            allowed=f"{want} for each record",
            fix="check the types and the number of the item columns",
        ) from None
    return array


def checked_call(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor whose wrong arguments are errors that say what to type."""
    known = list(inspect.signature(init).parameters)[1:]

    @wraps(init)
    def made(self: Any, *args: Any, **options: Any) -> None:
        name = type(self).__name__
        check_options(name, known, options)
        with reading(f"The call of {name}", allowed="its arguments", fix=f"see help(barrow.{name})"):
            init(self, *args, **options)
        unit = getattr(self, "_unit", "")
        if not isinstance(unit, str):
            raise ParameterError(f"unit is {unit!r}.", allowed="a text", fix='unit="km"')

    return made
