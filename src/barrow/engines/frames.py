"""Frames of pandas, Polars and Arrow (extra ``frames``), behind the one interface of narwhals."""

from __future__ import annotations

from typing import Any

from barrow.engines.counts import PrivateTextError
from barrow.errors import ParameterError, optional_library


def arrow_table(frame: Any, columns: tuple[str, ...] | None = None) -> Any:
    """A pandas, Polars or Arrow frame as an Arrow table, of some columns only."""
    wrapped = narwhal(frame)
    if columns is not None:
        wrapped = wrapped.select(list(dict.fromkeys(columns)))
    if hasattr(wrapped, "collect"):
        wrapped = wrapped.collect()
    pa = optional_library("pyarrow", extra="frames", purpose="Frames")
    try:
        return wrapped.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, UnicodeError) as error:
        failure = PrivateTextError(str(error))
    raise failure


def narwhal(frame: Any) -> Any:
    """The frame behind the one interface that narwhals gives to all of them."""
    nw = optional_library("narwhals", extra="frames", purpose="Frames")
    try:
        return nw.from_native(frame)
    except TypeError:
        raise ParameterError(
            f"The source is of the type {type(frame).__name__}.",
            allowed="a pandas, Polars or Arrow frame, or a mapping of columns",
            fix="pass a frame",
        ) from None


def frame_kinds(frame: Any) -> dict[str, str]:
    """The kinds of a frame's columns, by its schema."""
    kinds = {}
    for column, dtype in narwhal(frame).collect_schema().items():
        text = type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__
        if dtype.is_integer():
            kinds[column] = "integer"
        elif dtype.is_decimal():
            kinds[column] = "decimal"
        elif dtype.is_float():
            kinds[column] = "real"
        elif dtype.is_temporal():
            moment = "time" if getattr(dtype, "time_zone", None) is None else "instant"
            kinds[column] = {"Date": "date", "Time": "clock", "Duration": "other"}.get(text, moment)
        elif dtype.is_nested():
            kinds[column] = "nested"
        else:
            named = {"String": "text", "Categorical": "text", "Enum": "text", "Boolean": "boolean", "Object": "any"}
            kinds[column] = named.get(text, "other")
    return kinds
