"""Ids found in SQL are those of the space, bit for bit, at the values where rounding matters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from barrow.engines import Columns, DuckDBEngine, MemoryEngine
from barrow.engines.columns import width
from barrow.engines.memory import _encode
from barrow.engines.numbers import to_number
from barrow.engines.sql import encoding
from barrow.engines.sql.dialects import Dialect
from barrow.engines.sql.encoding import encoding_for
from barrow.engines.sql.reading import reading_of
from barrow.errors import ParameterError
from barrow.spaces import Circle, Earth, Euclidean, Hexagons, Line, Product

SPACES = {
    "line": Line(0, 3, step=0.1),
    "line-odd": Line(-1e-3, 7.3, step=0.013),
    "line-far": Line(1e9, 1e9 + 1, step=0.001),
    "line-points": Line(-5, 5, points=sorted({math.sin(i) * 4.9 for i in range(200)})),
    "line-uneven": Line(0, 100, points=[10.0**-i for i in range(12, 0, -1)] + [1.0, 2.0, 50.0, math.nextafter(50, 99)]),
    "line-decades": Line(0, 1e9, points=[10.0 ** (-9 + i / 20) for i in range(360)]),
    "one-point": Line(0, 1, points=[0.3]),
    "circle": Circle(24, step=0.7),
    "circle-odd": Circle(0.3, step=0.001),
    "box": Euclidean([0, -1, 5], [3, 1, 5.5], step=0.1),
    "disc": Euclidean(center=[0.1, -0.3], radius=1, step=0.07),
    "ball": Euclidean(center=[0.1, -0.3, 2], radius=1, step=0.3),
    "city": Earth(box=(40.5, -74.3, 41.0, -73.6), cell=1),
    "globe": Earth(cell=777),
    "pacific": Earth(box=(-10, 170, 10, 180), cell=100),
    "product": Product([Line(0, 3, step=0.1), Earth(cell=900)], weights=["1/2", "1/2"]),
}  # fmt: skip


def duckdb_ids(space, values, mode, types="real"):
    """Ids of rows of ``values``, -1 where lost, found in SQL."""
    columns = Columns("uid", [f"c{i}" for i in range(values.shape[1])])
    code = encoding_for(space, columns, mode)
    with DuckDBEngine(progress=False)._session() as session:
        for table, arrays in code.tables.items():
            session.table(table, arrays)
        names = {"uid": "integer", **dict.fromkeys(columns.items, types)}
        given_rows = {"uid": np.arange(len(values)), **{f"c{i}": values[:, i] for i in range(values.shape[1])}}
        session.table("given_rows", given_rows)
        coded = reading_of("given_rows", names, columns, space, code).coded()
        sql = (
            f"SELECT u, coalesce({code.item}, -1)::BIGINT AS item FROM ({coded}) {' '.join(code.late_joins)} ORDER BY u"
        )
        return session.arrays(sql)["item"]


def space_ids(space, values, mode):
    columns = Columns("uid", [f"c{i}" for i in range(values.shape[1])])
    return _encode({f"c{i}": values[:, i] for i in range(values.shape[1])}, columns, space, mode)


def boundaries(space):
    """Values where the item changes, one list for each column."""
    if isinstance(space, Product):
        return [edges for part in space.parts for edges in boundaries(part)]
    if isinstance(space, Line):
        edges = space.thresholds if space.exact_points else space.low + np.arange(space.items + 1) / space.scale
        return [[space.low, space.high, *edges]]
    if isinstance(space, Circle):
        return [[0.0, space.period, *(np.arange(space.items + 1) / space.scale)]]
    if isinstance(space, Earth):
        rows, (south, west, north, east) = space.rows, space.box
        columns = [west + i / s for s in rows.column_scale[:3] for i in range(9)]
        return [[south, north, *(south + np.arange(len(rows.first) + 1) / rows.row_scale)], [west, east, *columns]]
    return [
        [lo, hi, *(lo + np.arange(n + 1) / s)]
        for lo, hi, n, s in zip(space.low, space.high, space.shape, space.scale, strict=True)
    ]


ODD = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e308,
    -1e308,
    1e17,
    math.inf,
    -math.inf,
    math.nan,
    90.0,
    -90.0,
    180.0,
    -180.0,
    360.0,
]


@st.composite
def tricky(draw, edges):
    """A value at a boundary, a few representable numbers beside one, an odd one, or any double."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.sampled_from(ODD))
    if kind == 1:
        return draw(st.floats())
    x = float(draw(st.sampled_from(edges)))
    if kind == 2:
        return x + draw(st.floats(-1, 1))
    for _ in range(draw(st.integers(0, 3))):
        x = math.nextafter(x, draw(st.sampled_from([-math.inf, math.inf])))
    return x


@pytest.mark.parametrize("mode", ["error", "nearest", "default"])
@pytest.mark.parametrize("name", SPACES)
@settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data=st.data())
def test_ids_are_those_of_the_space(name, mode, data):
    space = SPACES[name]
    edges = boundaries(space)
    row = st.tuples(*(tricky(e) for e in edges))
    values = np.array(data.draw(st.lists(row, min_size=60, max_size=120)), dtype=np.float64)
    if mode == "default":
        found = duckdb_ids(space, values, "default")
        expected = space_ids(space, values, "default")
        assert np.where(found < 0, space.default_item, found).tolist() == expected.tolist()
    else:
        assert duckdb_ids(space, values, mode).tolist() == space_ids(space, values, mode).tolist()


@pytest.mark.parametrize("mode", ["error", "nearest"])
@pytest.mark.parametrize("name", SPACES)
def test_every_boundary_and_its_neighbours(name, mode):
    space = SPACES[name]
    edges = [np.array(e, dtype=np.float64) for e in boundaries(space)]
    rng = np.random.default_rng(7)
    columns = []
    for e in edges:
        near = np.concatenate([e, np.nextafter(e, np.inf), np.nextafter(e, -np.inf), np.array(ODD)])
        columns.append(rng.permutation(near[rng.integers(0, len(near), 4000)]))
    values = np.stack(columns, axis=1)
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


def test_widths_agree_with_boundaries():
    for space in SPACES.values():
        assert width(space) == len(boundaries(space))
