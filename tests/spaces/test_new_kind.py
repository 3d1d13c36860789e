"""A new kind of space is one class: nothing else knows it, and its records are counted and released all the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import duckdb
import numpy as np
import pytest

import barrow as bw
from barrow.engines import Columns, DuckDBEngine, MemoryEngine
from barrow.engines.conformance import adversarial_rows, items_in_python, items_in_sql
from barrow.engines.source import Source
from barrow.spaces import NoRecords, Product, Space
from barrow.spaces.records import AxisCells, CellAxis, Formula, Reads

USERS = 40
STOPS = ["Harbour", "Market", "Castle", "Park", "Station"]


class Loop(Space):
    """Stops of a bus that goes round: the distance of two is the number of stops between them, the shorter way."""

    kind: ClassVar[str] = "loop"
    _unit = "stops"

    def __init__(self, stops: Sequence[str]) -> None:
        self.stops = list(stops)
        self._diameter = float(len(self.stops) // 2)

    @property
    def size(self) -> int:
        return len(self.stops)

    def label(self, item: int) -> str:
        return self.stops[item]

    def _distance(self, a: Any, b: Any) -> Any:
        away = np.abs(a - b)
        return np.minimum(away, self.size - away) / self.diameter

    @property
    def least_distance_lower(self) -> float:
        return (1.0 - 2.0**-44) / self.diameter

    def _spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "stops": self.stops}


class Decibels(Space):
    """Loudness from 0 to 120 in three classes, each 1 from the next; records are numbers."""

    kind: ClassVar[str] = "decibels"
    _unit, _diameter, size = "classes", 2.0, 3

    def label(self, item: int) -> str:
        return ("quiet", "loud", "painful")[item]

    def _distance(self, a: Any, b: Any) -> Any:
        return np.abs(a - b) / 2.0

    @property
    def reads(self) -> Reads:
        return Reads(numbers=True, words="a level in decibels")

    @property
    def formula(self) -> Formula:
        return AxisCells((CellAxis(0.0, 120.0, 0.0, 3 / 120, 3),))

    @property
    def least_distance_lower(self) -> float:
        return 0.5 - 2.0**-45

    def _spec(self) -> dict[str, Any]:
        return {"kind": self.kind}


LOOP, LEVELS = Loop(STOPS), Decibels()
ROWS = [(f"u{i % USERS}", STOPS[i * i % 5], 119.0 * (i % 17) / 16) for i in range(200)]
TABLE = {"uid": [r[0] for r in ROWS], "stop": [r[1] for r in ROWS], "level": [r[2] for r in ROWS]}


@pytest.mark.parametrize(
    ("space", "columns"),
    [(LOOP, "stop"), (LEVELS, "level"), (Product([LEVELS, LOOP]), ("level", "stop")), (NoRecords(LOOP), "stop")],
    ids=["labels", "numbers", "product", "no records"],
)
def test_engines_count_it(tmp_path, space, columns):
    path = tmp_path / "rides.parquet"
    rows = ", ".join(map(str, ROWS))
    duckdb.connect().execute(f"COPY (SELECT * FROM (VALUES {rows}) t(uid, stop, level)) TO '{path}'")
    request = Columns("uid", columns)
    counts = MemoryEngine().count(TABLE, request, space, users=USERS)
    again = DuckDBEngine(threads=1, progress=False).count(path, request, space, users=USERS)
    items = {"stop": [STOPS.index(x) for x in TABLE["stop"]], "level": [int(x // 40) for x in TABLE["level"]]}
    names = [columns] if isinstance(columns, str) else columns
    result = items["level"] if names == ["level"] else items["stop"]
    both = [5 * level + stop for level, stop in zip(items["level"], items["stop"], strict=True)]
    expected = np.bincount(both if len(names) > 1 else result, minlength=space.items)
    for counted in (counts, again):
        assert np.bincount(counted.items, counted.counts, minlength=space.items).tolist() == expected.tolist()
        assert counted.users == USERS
    assert counts.sizes.tolist() == again.sizes.tolist()
    assert expected.max() < len(ROWS)


@pytest.mark.parametrize("mode", ["error", "nearest"])
def test_the_formula_finds_the_items_that_python_finds(mode):
    values = adversarial_rows(LEVELS, 300)
    engine = DuckDBEngine(threads=1, progress=False)
    with engine._open(Source("sql", sql="SELECT 1 AS uid", acknowledged=True), None) as reader:
        result = items_in_sql(reader, engine.dialect, LEVELS, values, mode)
    assert result.tolist() == items_in_python(LEVELS, values, mode).tolist()
    assert set(result.tolist()) == {-1, 0, 1, 2}


def test_words_about_columns_are_its_own():
    with pytest.raises(bw.BarrowError, match="1 for this decibels space: a level in decibels"):
        Columns("uid", ["a", "b"]).groups(LEVELS)


@pytest.mark.parametrize(("space", "item"), [(LOOP, "stop"), (LEVELS, "level")], ids=["labels", "numbers"])
def test_a_histogram_of_it_is_released(tmp_path, space, item):
    study = bw.Study(space, alpha=10**6, users=USERS, dataset="rides")
    ledger = bw.Ledger.create(tmp_path / "rides.ledger", study)
    data = bw.read(TABLE, user="uid", item=item)
    result = study.release("histogram", data, ledger=ledger, out=tmp_path / "out")
    shares = np.zeros(space.items)
    for user in range(USERS):
        held = space.encode([x for u, x in zip(TABLE["uid"], TABLE[item], strict=True) if u == f"u{user}"])
        shares += np.bincount(held, minlength=space.items) / len(held) / USERS
    assert np.allclose(result.values, shares, atol=1e-3)  # at this alpha hardly any noise
    assert shares.max() < 0.9
    assert [row["item"] for row in result.rows()] == list(space.labels)
