"""Every reader of every space says how far it rounds: moved by q, a record's item moves by at most q + 2 rho.

Raw records and their distances are made here, from numbers and the calendar, and never asked of the space.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from barrow.engines import Columns, MemoryEngine
from barrow.engines.memory import encoded
from barrow.errors import DataError, ParameterError
from barrow.spaces import (
    Circle,
    Earth,
    Elsewhere,
    Euclidean,
    Groups,
    Hexagons,
    Line,
    NoRecords,
    Product,
    Scale,
    Space,
    Week,
    space_from_spec,
    space_kinds,
)
from barrow.spaces.records import LabelIndex, private_numbers
from tests.spaces.cases import CASES

KM = 6371.0088
DAY = 86_400 * 10**6
BORN = 20_000 * DAY  # a moment of 2024, in microseconds


@dataclass(frozen=True)
class Reader:
    """A space, where raw records are (one row of numbers each), how far apart, and the columns that are read."""

    space: Space
    low: Any
    high: Any
    apart: Callable[[Any, Any], Any]
    columns: Callable[[Any], list[Any]]
    sides: tuple[float, ...]  # moves are tried from far below to far above these


def _plain(x: Any) -> list[Any]:
    return list(x.T)


def _straight(diameter: float) -> Callable[[Any, Any], Any]:
    return lambda x, y: np.sqrt(((x - y) ** 2).sum(axis=1)) / diameter


def _round(period: float) -> Callable[[Any, Any], Any]:
    def apart(x: Any, y: Any) -> Any:
        gap = np.abs(x - y)[:, 0] % period
        return np.minimum(gap, period - gap) / (period / 2.0)

    return apart


def _on_earth(diameter: float) -> Callable[[Any, Any], Any]:
    def vectors(x: Any) -> Any:
        lat, lon = np.radians(x[:, 0]), np.radians(x[:, 1])
        return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)

    def apart(x: Any, y: Any) -> Any:
        a, b = vectors(x), vectors(y)
        angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), (a * b).sum(axis=1))
        return np.minimum(angle * KM / diameter, 1.0)

    return apart


def _moments(x: Any) -> Any:
    return np.floor(x[:, 0]).astype(np.int64).astype("datetime64[us]")


def _texts(x: Any) -> list[str]:
    return [str(moment).replace("T", " ") for moment in _moments(x)]


def _dates(x: Any) -> list[dt.date]:
    return [dt.date(1970, 1, 1) + dt.timedelta(days=int(day)) for day in np.floor(x[:, 0])]


def _clocks(x: Any) -> list[dt.time]:
    return [(dt.datetime(2000, 1, 1) + dt.timedelta(microseconds=int(t) % DAY)).time() for t in np.floor(x[:, 0])]


def _both(x: Any) -> list[Any]:
    return [_moments(x), _moments(x)]


def _week(weight: float) -> Callable[[Any, Any], Any]:
    seven, one = _round(7 * DAY), _round(DAY)
    return lambda x, y: weight * seven(x, y) + (1 - weight) * one(x, y)


def _line(space: Space, columns: Any = _plain, *, low: float = 0.0, high: float = 100.0, side: float = 3.0) -> Reader:
    return Reader(space, [low], [high], _straight(100.0), columns, (side,))


def _timed(space: Space, columns: Any, apart: Any, side: float) -> Reader:
    return Reader(space, [BORN], [BORN + 14 * DAY], apart, columns, (side,))


def _second(x: Any) -> Any:
    return x[:, 0] >= 1.0


_BOX, _NYC = (-1.0, 0.0, 4.0, 3.0), (40.5, -74.3, 41.0, -73.6)
_DAYS = Line(19_990, 20_090, unit="days", step=5)
_HEX = Hexagons.around(40.75, -73.98, resolution=7, rings=3)
_PRODUCT = Product([Line(0, 100, unit="km", step=7), Circle.hours(2)], weights=["2/3", "1/3"])
READERS = {
    "line of cells": _line(Line(0, 100, step=3)),
    "line of cells as texts": _line(Line(0, 100, step=3), lambda x: [[repr(float(v)) for v in x[:, 0]]]),
    "line of cells as decimals": _line(Line(0, 100, step=3), lambda x: [[Decimal(float(v)) for v in x[:, 0]]]),
    "line of points": _line(Line(0, 100, step=5), side=5.0),
    "line of named points": _line(Line(0, 100, points=[2, 3, 10, 40, 41, 90]), side=20.0),
    "line of 100 years": _line(Line(0, 100, unit="years", step=1), side=1.0),
    "line without records": _line(NoRecords(Line(0, 100, step=3))),
    "line elsewhere": _line(Elsewhere(Line(0, 100, step=3)), low=-20, high=120),
    "days from moments": _timed(_DAYS, lambda x: [_moments(x)], _straight(100 * DAY), 5 * DAY),
    "days from dates": Reader(_DAYS, [19_995], [20_080], lambda x, y: np.abs(np.floor(x) - np.floor(y))[:, 0] / 100,
                              lambda x: [_dates(x)], (5.0,)),
    "days from texts": _timed(_DAYS, lambda x: [_texts(x)], _straight(100 * DAY), 5 * DAY),
    "circle": Reader(Circle(24, unit="h", step=1.5), [0.0], [24.0], _round(24), _plain, (1.5,)),
    "hours from moments": _timed(Circle.hours(2), lambda x: [_moments(x)], _round(DAY), DAY / 12),
    "hours from clocks": _timed(Circle.hours(2), lambda x: [_clocks(x)], _round(DAY), DAY / 12),
    "hours from texts": _timed(Circle.hours(2), lambda x: [_texts(x)], _round(DAY), DAY / 12),
    "week from moments": _timed(Circle(7, unit="days", step=0.5), lambda x: [_moments(x)], _round(7 * DAY), DAY / 2),
    "weekdays from moments": _timed(Circle.weekdays(), lambda x: [_moments(x)], _round(7 * DAY), DAY),
    "weekdays from texts": _timed(Circle.weekdays(), lambda x: [_texts(x)], _round(7 * DAY), DAY),
    "weekdays from moments, other names": _timed(
        Circle(7, unit="days", names=["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]), lambda x: [_moments(x)],
        _round(7 * DAY), DAY),
    "weekday and hour from moments": _timed(Week(), _both, _week(0.5), DAY / 24),
    "mostly weekday from moments": _timed(Week(weight="9/10"), _both, _week(0.9), DAY),
    "weekdays without records": _timed(
        NoRecords(Circle.weekdays()), lambda x: [_moments(x)], _round(7 * DAY), DAY),
    "box": Reader(Euclidean([0, -1], [3, 4], step=0.8), [0, -1], [3, 4], _straight(34**0.5), _plain, (0.8, 0.8)),
    "box elsewhere": Reader(Elsewhere(Euclidean([0, -1], [3, 4], step=0.8)), [-1, -2], [4, 5], _straight(34**0.5),
                            _plain, (0.8, 0.8)),
    "disc": Reader(Euclidean(center=[1, 2], radius=3, step=0.9), [-1.1, -0.1], [3.1, 4.1], _straight(6.0), _plain,
                   (0.9, 0.9)),
    "cube": Reader(Euclidean([0, 0, 0], [1, 1, 2], step=0.5), [0, 0, 0], [1, 1, 2], _straight(6**0.5), _plain,
                   (0.5, 0.5, 0.5)),
    "Earth": Reader(Earth(cell=2500), [-90, -180], [90, 180], _on_earth(Earth(cell=2500).diameter), _plain, (20, 20)),
    "city": Reader(Earth(box=_NYC, cell=7), _NYC[:2], _NYC[2:], _on_earth(Earth(box=_NYC, cell=7).diameter), _plain,
                   (0.06, 0.08)),
    "city elsewhere": Reader(Elsewhere(Earth(box=_NYC, cell=7)), [40, -75], [42, -73],
                             _on_earth(Earth(box=_NYC, cell=7).diameter), _plain, (0.06, 0.08)),
    "hexagons": Reader(_HEX, [40.71, -74.02], [40.79, -73.94], _on_earth(_HEX.diameter), _plain, (0.02, 0.02)),
    "product": Reader(_PRODUCT, [0, 0], [100, 24],
                      lambda x, y: (2 * _straight(100.0)(x[:, :1], y[:, :1]) + _round(24)(x[:, 1:], y[:, 1:])) / 3,
                      _plain, (7.0, 2.0)),
    "groups": Reader(Groups(["a", "b"], Line(0, 100, unit="km", step=7), distance="2/5"), [0, 0], [2, 100],
                     lambda x, y: (100 * _straight(100.0)(x[:, 1:], y[:, 1:]) + 40 * (_second(x) != _second(y))) / 140,
                     lambda x: [np.where(_second(x), "b", "a"), x[:, 1]], (1.0, 7.0)),
}  # fmt: skip
"""Readers of numbers and of moments. Names are in the cases of all spaces."""


def _items(reader: Reader, raw: Any) -> Any:
    if reader.space.kind == "hexagons":  # pairs are read in Python alone
        return reader.space.encode(raw)
    columns = [column if isinstance(column, np.ndarray) else _objects(column) for column in reader.columns(raw)]
    names = [f"x{i}" for i in range(len(columns))]
    return encoded(dict(zip(names, columns, strict=True)), Columns("uid", names), reader.space, "error")


def _objects(column: list[Any]) -> Any:
    result = np.empty(len(column), dtype=object)
    result[:] = column
    return result


def _pairs(reader: Reader) -> tuple[Any, Any]:
    """Raw records and others near them: by a billionth of a cell, by parts of it and by several."""
    rng = np.random.default_rng(20)
    low, high = (np.asarray(end, dtype=np.float64) for end in (reader.low, reader.high))
    x = rng.uniform(low, high, size=(6000, len(low)))
    sizes = 10.0 ** rng.uniform(-9, 0.7, size=(len(x), 1)) * np.array(reader.sides)
    sizes[:2000] = 0.05 * np.array(reader.sides)
    way = rng.normal(size=x.shape)
    y = np.clip(x + sizes * way / np.linalg.norm(way, axis=1, keepdims=True), low, high)
    return x, y


@pytest.mark.parametrize("name", READERS)
def test_a_record_that_moves_by_q_moves_its_item_by_at_most_q_and_twice_what_the_space_says(name):
    reader = READERS[name]
    x, y = _pairs(reader)
    items = _items(reader, np.concatenate([x, y]))
    assert (items >= 0).all()
    apart = reader.space.distance(items[: len(x)], items[len(x) :])
    beyond = apart - reader.apart(x, y)
    rho = reader.space.snapping_upper
    assert rho > 0.0
    assert beyond.max() <= 2.0 * rho + 1e-12
    assert beyond.max() > rho  # half of what the space says would not do


def test_weekdays_read_from_timestamps_cost_what_midnight_costs():
    """Twelve minutes over midnight are a whole day apart as items."""
    space = Circle.weekdays()
    late, early = np.array(["2026-10-31T23:54", "2026-11-01T00:06"], dtype="datetime64[us]")
    a, b = encoded({"at": np.array([late, early])}, Columns("uid", "at"), space, "error")
    q = 12 / 60 / 24 / 3.5
    assert space.distance(a, b).item() == pytest.approx(1 / 3.5)
    assert space.distance(a, b).item() <= q + 2 * space.snapping_upper


NAMED = [case.space for case in CASES if case.records is None] + [Scale(["never", "often", "always"]), Circle.months()]


@pytest.mark.parametrize("space", NAMED, ids=lambda space: f"{space.kind} {space.items}")
def test_names_are_not_rounded(space):
    """A name is its own item and no other text is it; numbers are names only where they are written like one."""
    names = list(space.labels)
    assert space.encode(names).tolist() == list(range(space.items))
    for near in (" " + names[0], names[0] + " ", names[0].swapcase() + "x", names[0] + ".0"):
        assert space.encode([near], unknown="default").tolist() == [space.default_item]
    if space.reads.moments is None and space.kind != "hexagons":
        assert space.snapping_upper == 0.0


def test_whole_numbers_are_not_rounded():
    space = Line(0, 100, step=1, whole=True)
    assert space.snapping_upper == 0.0
    assert space.encode([0, 17, 100]).tolist() == [0, 17, 100]
    for record in (17.5, 16.999999999999996, 17.000000000000004, -1e-300, 1e-300):
        assert space.encode([record], unknown="default").tolist() == [0]
        assert space._encode([record], "error").tolist() == [-1]
    days = Line(19_000, 21_000, unit="days", step=1, whole=True)
    table = {"at": np.array(["2024-10-04T00:00:00.000000", "2024-10-04T00:00:00.000001"], dtype="datetime64[us]")}
    assert encoded(table, Columns("uid", "at"), days, "error").tolist() == [1000, -1]


def test_weekdays_by_name_alone_are_not_rounded_and_moments_are_unknown():
    space = Circle.weekdays(whole=True)
    assert space.snapping_upper == 0.0
    assert space_from_spec(space.to_spec()) == space != Circle.weekdays()
    assert eval(repr(space)) == space
    assert space.encode(["Mon", "Sun"]).tolist() == [0, 6]
    late = {"uid": [1], "at": np.array(["2026-10-31T23:54"], dtype="datetime64[us]")}
    with pytest.raises(ParameterError, match="holds values of the kind time"):
        MemoryEngine().count(late, Columns("uid", "at"), space)
    written = {"uid": [1], "at": ["2026-10-31 23:54"]}
    with pytest.raises(DataError, match="not items of the public space"):
        MemoryEngine().count(written, Columns("uid", "at"), space)
    for wrong in ({"step": 1}, {"names": ["a", "b"]}, {}):
        with pytest.raises(ParameterError, match="whole is True"):
            Circle(7, whole=True, **wrong)


def test_every_kind_of_space_is_read_here():
    spaces = [reader.space for reader in READERS.values()] + NAMED
    parts = [part for space in spaces for part, _ in space.geometry.parts]
    assert set(space_kinds()) <= {space.kind for space in [*spaces, *parts]}


def test_private_numbers():
    assert repr(private_numbers([1, None]).tolist()) == "[1.0, nan]"


def test_label_index():
    index = LabelIndex(["JFK", "LGA"])
    assert index.find(["LGA", None, "XXX"]).tolist() == [1, -1, -1]
