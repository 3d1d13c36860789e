"""Ids found in SQL are those of the space, bit for bit, at the values where rounding matters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from tests.thorough import often

from barrow.engines import Columns, DuckDBEngine, MemoryEngine, Source
from barrow.engines.conformance import (
    ODD,
    SPACES,
    WITH_OUTSIDE,
    adversarial_rows,
    boundaries,
    conformance,
    items_in_python,
    items_in_sql,
)
from barrow.engines.numbers import to_number
from barrow.engines.sql import encoding
from barrow.engines.sql.dialects import DUCKDB, Dialect
from barrow.engines.sql.encoding import encoding_for
from barrow.errors import ParameterError
from barrow.spaces import Euclidean, Hexagons, Line


def duckdb_ids(space, values, mode, form="real"):
    """Ids of rows of ``values``, -1 where lost, found in SQL."""
    with DuckDBEngine(progress=False)._open(ANY, None) as reader:
        return items_in_sql(reader, DUCKDB, space, values, mode, form)


def space_ids(space, values, mode):
    return items_in_python(space, values, mode)


ANY = Source("sql", sql="SELECT 1 AS uid", acknowledged=True)


def tricky(edges, rng, count):
    """Values at boundaries, up to three representable numbers beside one, or up to 1; odd ones; any double."""
    values = rng.choice(np.asarray(edges, dtype=np.float64), count)
    for _ in range(3):
        side = rng.choice([-np.inf, 0.0, np.inf], count)
        values = np.where(side == 0.0, values, np.nextafter(values, side))
    kind = rng.integers(0, 10, count)
    any_double = rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
    with np.errstate(invalid="ignore"):
        near = values + rng.uniform(-1.0, 1.0, count)
    return np.select([kind == 0, kind == 1, kind == 2], [rng.choice(ODD, count), any_double, near], values)


@pytest.mark.parametrize("mode", ["error", "nearest", "default"])
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("seed", range(often(1, 20)))
def test_ids_are_those_of_the_space(name, mode, seed):
    """Of 2,000 records at boundaries and beside them, odd ones and any doubles."""
    space, rng = SPACES[name], np.random.default_rng([seed, *f"{name} {mode}".encode()])
    values = np.stack([tricky(edges, rng, 2000) for edges in boundaries(space)], axis=1)
    if mode == "default":
        result = duckdb_ids(space, values, "default")
        expected = space_ids(space, values, "default")
        assert np.array_equal(np.where(result < 0, space.default_item, result), expected)
    else:
        assert np.array_equal(duckdb_ids(space, values, mode), space_ids(space, values, mode))


@pytest.mark.parametrize("name", WITH_OUTSIDE)
def test_what_is_outside_is_one_item_and_what_is_no_point_is_lost(name):
    space = WITH_OUTSIDE[name]
    values = adversarial_rows(space, 3000)
    ids = space_ids(space, values, "error")
    assert np.array_equal(duckdb_ids(space, values, "error"), ids)
    assert {-1, space.items - 1} <= set(ids.tolist())
    assert (ids[~np.isfinite(values).all(axis=1)] == -1).all()
    with pytest.raises(ParameterError, match="'nearest'"):
        duckdb_ids(space, values, "nearest")


@pytest.mark.parametrize("mode", ["error", "nearest"])
@pytest.mark.parametrize("name", SPACES)
def test_every_boundary_and_its_neighbours(name, mode):
    space = SPACES[name]
    values = adversarial_rows(space, 4000)
    # Not a comparison of lists: where it fails on purpose, a picture of the difference would take minutes.
    assert np.array_equal(duckdb_ids(space, values, mode), space_ids(space, values, mode))


def test_the_comparison_can_fail(monkeypatch):
    """Dividing by the width instead of multiplying by the scale is caught."""
    monkeypatch.setattr(
        encoding._Writer,
        "_cell",
        lambda self, y, low, scale, last, most: (
            f"LEAST(CAST(floor(({y} - {self._number(low)}) / (1 / {scale})) AS BIGINT), {last})"
        ),
    )
    with pytest.raises(AssertionError):
        test_every_boundary_and_its_neighbours("line", "error")


def test_decimal_literals_would_be_caught(monkeypatch):
    """0.1 in SQL is a decimal; written so, ids differ."""
    monkeypatch.setattr(Dialect, "number_literal", lambda self, x: f"({float(x):.6f})")
    with pytest.raises(AssertionError):
        test_every_boundary_and_its_neighbours("line-odd", "error")


@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(st.text("0123456789.+-eE_ nNaAiIfFxXtTyY\t", max_size=8), min_size=1, max_size=40))
@example(["+-1", "1_0", "１", "\u00a01", " 7 ", "1e400", "-1e400", "nan", "Infinity", "0x10", "", "1,5", "1e-400"])
def test_texts_are_the_same_numbers(texts):
    space = Line(-100, 100, step=0.25)
    values = np.empty((len(texts), 1), dtype=object)
    values[:, 0] = texts
    assert duckdb_ids(space, values, "nearest", "text").tolist() == space_ids(space, values, "nearest").tolist()


@pytest.mark.parametrize("sql_type", ["DECIMAL(38,20)", "HUGEINT", "UBIGINT", "BIGINT", "FLOAT", "INTEGER"])
def test_every_type_of_number(tmp_path, sql_type):
    import duckdb

    step = 2.0**10 if "INT" in sql_type and sql_type != "INTEGER" else 2.0**-10
    space = Line(0, 2.0**54 if step > 1 else 4, points=[i * step / 16 for i in range(60)])
    texts = [str(2**53 + i) for i in range(9)] if step > 1 else [f"{i / 7:.20f}" for i in range(9)]
    if sql_type == "INTEGER":
        texts = ["0", "1", "3"]
    path = tmp_path / "t.parquet"
    if sql_type == "HUGEINT":
        path = tmp_path / "t.duckdb"
        with duckdb.connect(str(path)) as c:
            c.execute("CREATE TABLE t AS SELECT 1 AS uid, unnest($1::VARCHAR[])::HUGEINT AS x", [texts])
        source = f"duckdb:///{path}?table=t"
    else:
        with duckdb.connect() as c:
            select = f"SELECT 1 AS uid, x::{sql_type} AS x FROM (SELECT unnest($1::VARCHAR[]) AS x)"
            c.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)", [texts])
        source = str(path)
    numbers = [float(np.float32(x)) if sql_type == "FLOAT" else to_number(x) for x in texts]
    expected = MemoryEngine().count({"uid": [1] * len(texts), "x": numbers}, Columns("uid", "x"), space)
    assert DuckDBEngine(progress=False).count(source, Columns("uid", "x"), space) == expected


def test_whole_numbers_find_labels_written_like_them(tmp_path):
    import duckdb

    from barrow.spaces import Discrete

    path = tmp_path / "t.parquet"
    with duckdb.connect() as c:
        c.execute(f"COPY (SELECT 1 AS uid, unnest([7, -3, 12]) AS x) TO '{path}' (FORMAT parquet)")
    space = Discrete(["12", "07", "7", "-3"])
    counts = DuckDBEngine().count(str(path), Columns("uid", "x"), space)
    assert counts.items.tolist() == [0, 2, 3]
    assert counts == MemoryEngine().count({"uid": [1, 1, 1], "x": np.array([7, -3, 12])}, Columns("uid", "x"), space)


def test_hexagons_need_a_column_of_cells(tmp_path):
    pytest.importorskip("h3")
    space = Hexagons.around(40.75, -73.98, resolution=7, rings=1)
    path = tmp_path / "t.csv"
    path.write_text(f"uid,cell,lat,lon\n1,{space.label(3)},40.75,-73.98\n")
    with pytest.raises(ParameterError, match="Python only"):
        DuckDBEngine().count(path, Columns("uid", ["lat", "lon"]), space)
    assert DuckDBEngine().count(path, Columns("uid", "cell"), space).items.tolist() == [3]
    table = {"uid": [1], "lat": [40.75], "lon": [-73.98]}
    assert MemoryEngine().count(table, Columns("uid", ["lat", "lon"]), space).items.tolist() == [0]


def test_balls_of_many_dimensions_are_refused():
    ball = Euclidean(center=[0.0] * 8, radius=1, step=1)
    with pytest.raises(ParameterError, match="cannot be encoded"):
        encoding_for(ball, Columns("uid", [f"c{i}" for i in range(8)]), "error")


def test_many_points_that_are_too_near_are_refused():
    points = [1.0]
    while len(points) < 2100:
        points.append(math.nextafter(points[-1], 2))
    with pytest.raises(ParameterError, match="unevenly"):
        encoding_for(Line(0, 1e6, points=points), Columns("uid", "x"), "error")


def test_the_report_of_conformance(monkeypatch):
    report = conformance(ANY, rows=100, progress=False)
    assert report.passed, str(report)
    assert report.to_json()["passed"] is True
    monkeypatch.setattr(type(DUCKDB), "parsed", lambda self, sql: f"TRY_CAST({sql} AS DOUBLE)")
    report = conformance(ANY, rows=10, progress=False)
    assert "number-texts" in str(report)
    with pytest.raises(ParameterError, match="no SQL"):
        conformance({"uid": [1]})
