"""Sums inside the engine: rounding costs nothing at any promise, limits hold, and what is above one is refused."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import duckdb
import numpy as np
import pytest

from barrow.engines import Columns, Counts, DuckDBEngine, ItemSums, MemoryEngine, Source, SparkEngine
from barrow.engines.sql.dialects import DUCKDB, SPARK
from barrow.engines.sql.postgres import PostgresEngine
from barrow.engines.sql.select_plan import masses_of
from barrow.errors import DataError, ParameterError
from barrow.mechanisms import UserCounts, UserSums
from barrow.numerics import MOST_HELD, SUM_BITS, record_mass
from barrow.numerics.limits import MOST_PEOPLE
from barrow.queries import histogram
from barrow.spaces import Discrete, Line

AB, COLUMNS = Discrete(["a", "b"]), Columns("uid", "item")
BITS, MOST = 12, 5
"""The same construction in small: 2^12 is above 2 * 5^2, which is all that the proof asks of 2^120 and 2^32."""
ITEMS = range(3)


def mass(held, shift=1):
    return (1 << BITS) // held - shift * (MOST - held)


def measure(records, value=mass):
    """A person's steps on each item; what is left lies on item 0."""
    steps = Counter(dict.fromkeys(ITEMS, 0))
    for item in records:
        steps[item] += value(len(records))
    steps[0] += (1 << BITS) - sum(steps.values())
    return steps


def variation(one, other):
    return Fraction(sum(abs(one[x] - other[x]) for x in ITEMS), 2 << BITS)


def exceeded(value):
    """How many pairs of data sets are farther apart than those without rounding: by common records, and by moves."""
    sets = [r for m in range(1, MOST + 1) for r in combinations_with_replacement(ITEMS, m)]
    wrong = 0
    for one in sets:
        for other in sets:
            common = sum((Counter(one) & Counter(other)).values())
            far = variation(measure(one, value), measure(other, value))
            wrong += far > 1 - Fraction(common, max(len(one), len(other)))
            if len(one) == len(other):
                plain = Fraction(sum((Counter(one) - Counter(other)).values()), len(one))
                wrong += far > plain
    return wrong


def test_no_pair_of_data_sets_is_farther_apart_than_without_rounding():
    assert exceeded(mass) == 0
    # Planted: rounding down alone, and with the term of the proof the other way round.
    assert exceeded(lambda m: mass(m, shift=0)) > 0
    assert exceeded(lambda m: mass(m, shift=-1)) > 0


def test_the_masses_are_those_of_the_proof():
    for held in (1, 2, 3, 7, 10**6, 10**6 + 1, 2**31, MOST_HELD - 1, MOST_HELD):
        assert record_mass(held) == 2**120 // held - (2**32 - held)
        left = 2**SUM_BITS - held * record_mass(held)
        assert 0 <= left <= MOST_HELD**2 // 4 + MOST_HELD
    ratios = [Fraction(2**SUM_BITS - m * record_mass(m), m) for m in [*range(1, 200), *range(2**31, 2**31 + 50)]]
    assert all(a > b for a, b in pairwise(ratios))


def in_duckdb(session, sizes, dialect=DUCKDB):
    """The limbs of what a record weighs, by the engine's own long division, as whole numbers."""
    from dataclasses import replace

    from barrow.engines.sql.encoding import encoding_for
    from barrow.engines.sql.select_plan import reading_of, valued

    kinds = {"uid": "integer", "item": "text"}
    reading = reading_of("t", kinds, COLUMNS, AB, encoding_for(AB, COLUMNS, "error"), DUCKDB)
    narrow = replace(reading, dialect=replace(DUCKDB, wide_sums=dialect.wide_sums))
    session.execute(
        "CREATE OR REPLACE TABLE held AS SELECT unnest(?) AS u, unnest(?) AS m", [list(range(len(sizes))), sizes]
    )
    rows = session.execute(valued(narrow, "held") + " ORDER BY u").fetchall()
    width = 60 if dialect.wide_sums else 30
    return [(row[1], row[2], sum(limb << width * i for i, limb in enumerate(reversed(row[3:])))) for row in rows]


@pytest.mark.parametrize("dialect", [DUCKDB, SPARK], ids=["60 bits", "30 bits"])
def test_long_division_in_64_bits(dialect):
    sizes = [1, 2, 3, 7, 1000, 10**6, 2**20 - 1, 2**30, 2**31 - 1, 2**31]
    sizes += [2**32 - 1, 2**32] if dialect.wide_sums else []
    with duckdb.connect() as session:
        result = in_duckdb(session, [*sizes, sizes[-1] + 1, 2**62], dialect)
    assert result[:-2] == [(-9, m, record_mass(m)) for m in sizes]
    assert [row[0] for row in result[-2:]] == [-7, -7]


def weighted(weights, items=None):
    return {"uid": [1] * len(weights), "item": items or ["a"] * len(weights), "w": weights}


@pytest.mark.parametrize("engine", [MemoryEngine(), DuckDBEngine(progress=False)], ids=["memory", "duckdb"])
def test_weights_to_their_limit_and_one_above(engine):
    columns = Columns("uid", "item", weight="w")
    polars = pytest.importorskip("polars")

    def source(table):
        return table if isinstance(engine, MemoryEngine) else polars.DataFrame(table)

    full = engine.sums(source(weighted([2**31, 2**31], ["a", "b"])), columns, AB)
    assert full.values.tolist() == [2**31 * 2**88] * 2
    assert full == ItemSums.of(Counts([0, 1], [2**32] * 2, [2**31] * 2, users=1))
    with pytest.raises(DataError, match="more records than can be counted exactly"):
        engine.sums(source(weighted([2**31, 2**31, 1])), columns, AB)
    many = {"uid": list(range(40)) * 2, "item": ["a"] * 80, "w": [2**31] * 80}
    assert engine.sums(source(many), columns, AB).values.tolist() == [40 * 2**120]


@pytest.mark.parametrize(
    "engine", [DuckDBEngine(progress=False), PostgresEngine(), SparkEngine()], ids=lambda x: x.name
)
def test_one_above_a_public_limit_is_refused_before_anything_is_opened(engine):
    """There is no such source, and whoever looks for it says so."""
    source = Source("counts", path="nowhere")
    with pytest.raises(ParameterError, match="users is 68719476737"):
        engine.sums(source, COLUMNS, AB, users=MOST_PEOPLE + 1)
    with pytest.raises(ParameterError, match="does not read a source"):
        engine.sums(source, COLUMNS, AB, users=MOST_PEOPLE)


def test_users_with_one_row_and_with_a_million(tmp_path):
    path = tmp_path / "t.parquet"
    with duckdb.connect() as session:
        sql = "SELECT 'big' AS uid, CAST(i % 3 AS VARCHAR) AS item FROM range(1000000) r(i) UNION ALL SELECT 'one', '2'"
        session.execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet)")
    sums = DuckDBEngine(progress=False).sums(path, COLUMNS, Discrete(["0", "1", "2"]), users=5)
    each = record_mass(10**6)
    assert sums.values.tolist()[1:] == [333333 * each, 333333 * each + record_mass(1)]
    assert sum(sums.values) == 5 * 2**120


def test_passes_that_saw_other_records_are_noticed():
    answer = {name: np.array(x) for name, x in {
        "item": [0, 1, -9], "n": [0, 0, 2], "a_low": [2**60, 2**60, 2**61], "b_low": [1, 1, 2],
        "a_high": [0, 0, 0], "b_high": [0, 0, 0],
    }.items()}  # fmt: skip
    assert masses_of(answer, 1, 1)["people"].tolist() == [2]
    for wrong in ({"b_low": np.array([1, 2, 2])}, {"a_high": np.array([0, 0, 1])}, {"n": np.array([0, 1, 2])}):
        with pytest.raises(DataError, match="changed"):
            masses_of(answer | wrong, 1, 1)
    with pytest.raises(DataError, match="more records than can be added up"):
        masses_of(answer | {"a_low": np.array([2**60, -1, 2**61])}, 1, 1)  # a sum that was too large for 64 bits


def test_sums_check_themselves():
    good = ItemSums([0, 2], [2**119, 2**119], users=1)
    assert good == ItemSums([0, 2], [2**119, 2**119], users=1)
    assert good != good.with_users(2, 0)
    assert repr(good) == "<ItemSums: private integers>"
    for items, values, users in [
        ([0, 2], [2**119, 2**119 + 1], 1),
        ([0, 2], [2**119, 2**119 - 2**63], 1),
        ([2, 0], [2**119, 2**119], 1),
        ([0, 0], [2**119, 2**119], 1),
        ([-1, 0], [2**119, 2**119], 1),
        ([0, 2], [2**120, 0], 1),
        ([0], [2**120], 2),
    ]:
        with pytest.raises(DataError):
            ItemSums(items, values, users=users)
    with pytest.raises(DataError, match="more users"):
        ItemSums([0], [2**121], users=2).with_users(1, 0)


def test_the_statistic_is_the_mean_over_people():
    """Exactly that of the sums, and within 2^-57 of the mean without rounding."""
    line = Line(0, 99, step=1)
    people = [[3, 3, 70], [1], [5, 90, 91, 92, 93, 94, 95], list(range(100))]
    held = UserCounts.of_users(line, people, users=7)
    sums = ItemSums.of(Counts(*_entries(people), users=4)).with_users(7, line.default_item)
    mine = UserSums.of(line, items=sums.items, values=sums.values, users=7)
    query = histogram(line)
    one, other = held.center(query), mine.center(query)
    steps = dict(zip(sums.items.tolist(), sums.values.tolist(), strict=True))
    for j in range(query.dimension):
        assert other.exact_entry(j) == Fraction(steps.get(j, 0), 7 * 2**120)
        assert abs(other.exact_entry(j) - one.exact_entry(j)) <= Fraction(1, 2**57)
        error = abs(Fraction(float(other.approximation[j])) - other.exact_entry(j))
        assert error <= Fraction(float(np.broadcast_to(other.absolute, (query.dimension,))[j]))


def _entries(people):
    counted = Counter((item, len(data)) for data in people for item in data)
    keys = sorted(counted)
    return [k[0] for k in keys], [k[1] for k in keys], [counted[k] for k in keys]
