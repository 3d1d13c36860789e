"""Inputs that people have: weights, folders, partitions, encodings, and what ``check`` advises."""

from __future__ import annotations

import os
import random
import re
import sqlite3
from collections import Counter

import duckdb
import numpy as np
import pytest

from barrow.engines import Columns, DuckDBEngine, MemoryEngine, Source
from barrow.engines.advice import advise
from barrow.engines.counts import PrivateTextError, redact_errors
from barrow.engines.duckdb import engine as duckdb_engine
from barrow.engines.duckdb import pieces
from barrow.engines.duckdb.relations import kind
from barrow.engines.numbers import to_number
from barrow.engines.sampling import RunSampler
from barrow.engines.spark.relations import kind_of
from barrow.errors import BarrowError, DataError, ParameterError
from barrow.noise.source import SeededSource
from barrow.spaces import Circle, Discrete, Earth, Line
from barrow.testing.engines import as_list

ENGINE = DuckDBEngine(progress=False)
AB, UID = Discrete(["a", "b"]), Columns("uid", "item")
WEIGHED = Columns("uid", "item", weight="n")
ROWS = [("x", "a", 3), ("x", "b", 1), ("y", "b", 2), ("y", "b", 5), ("z", "a", 1), ("z", "zz", 0), ("w", "a", 0)]


def sources(tmp_path, rows):
    """The same weighed rows in memory, as Parquet, CSV and SQLite."""
    table = {name: [row[i] for row in rows] for i, name in enumerate(("uid", "item", "n"))}
    yield MemoryEngine(), table
    path = tmp_path / "t.csv"
    path.write_text("uid,item,n\n" + "".join(f"{u},{x},{'' if n is None else n}\n" for u, x, n in rows))
    yield ENGINE, path
    with sqlite3.connect(tmp_path / "t.db") as c:
        c.execute("DROP TABLE IF EXISTS t")
        c.execute("CREATE TABLE t (uid, item, n)")
        c.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    c.close()
    yield ENGINE, f"sqlite:///{tmp_path / 't.db'}?table=t"
    if any(isinstance(row[2], str) for row in rows):
        return
    parquet = tmp_path / "t.parquet"
    with duckdb.connect() as c:
        c.execute(f"COPY (SELECT uid, item, n::DOUBLE AS n FROM read_csv('{path}', nullstr='')) TO '{parquet}'")
    yield ENGINE, parquet


def test_weights_are_repeated_records(tmp_path):
    spelled = [(u, x) for u, x, n in ROWS for _ in range(n)]
    table = {"uid": [u for u, _ in spelled], "item": [x for _, x in spelled]}
    expected = MemoryEngine().count(table, UID, AB)
    for engine, source in sources(tmp_path, ROWS):
        assert engine.count(source, WEIGHED, AB) == expected
        report = engine.check(source, WEIGHED, AB)
        assert (report.rows, report.users, report.usable, report.largest) == (5, 3, True, 7)
        sample = engine.sample(source, WEIGHED, AB, samples=200)
        assert (sample.users, int(sample.counts.sum())) == (3, 600)
        assert abs(int(sample.counts[0]) - 350) < 6 * 7  # x gives 150 on average with deviation 6.1, z gives 200


@pytest.mark.parametrize("bad", [-1, 1.5, None, 2**31 + 1, float("inf"), "x"])
def test_weights_that_are_no_counts_are_refused(tmp_path, bad):
    rows = [*ROWS, ("q", "a", bad)]
    for engine, source in sources(tmp_path, rows):
        for act in (engine.count, lambda *a, e=engine: e.sample(*a, samples=2)):
            with pytest.raises(DataError, match="weight that is not a whole number"):
                act(source, WEIGHED, AB)
        report = engine.check(source, WEIGHED, AB)
        assert (report.bad_weights, report.usable) == (1, False)
        assert "bad weight  1" in str(report)


def test_weighed_draws_have_the_right_law():
    """Each user's draws over rows are multinomial: means and variances by many runs, in one piece and cut."""
    counts, sizes = np.array([3, 1, 6, 2, 2]), np.array([10, 10, 10, 4, 4])
    new = np.array([True, False, False, True, False])
    for cuts in ([(0, 5)], [(0, 1), (1, 4), (4, 5)]):
        source, runs = SeededSource(7), []
        for _ in range(600):
            sampler = RunSampler(20, source)
            runs.append(np.concatenate([sampler.draw(new[a:b], sizes[a:b], counts[a:b]) for a, b in cuts]))
            sampler.finish()
        sample = np.array(runs)
        assert (sample[:, :3].sum(axis=1) == 20).all()
        p = counts / sizes
        assert np.abs(sample.mean(axis=0) - 20 * p).max() < 6 * np.sqrt(20 * 0.25 / 600)
        assert np.abs(sample.var(axis=0) / (20 * p * (1 - p)) - 1).max() < 0.35
        assert not sampler.private


def test_rows_that_change_are_refused():
    more = ([True], [3], [4])
    for new, sizes, counts in (more, ([True, True], [3, 1], [2, 1]), ([True], [3], [2]), ([True], [1], [0])):
        sampler = RunSampler(2)
        with pytest.raises(DataError, match="changed"):  # noqa: PT012 - at the latest when finished
            sampler.draw(np.array(new), np.array(sizes), np.array(counts))
            sampler.finish()


def test_folders_and_hive_partitions(tmp_path):
    rows, rng = [], random.Random(1)
    for year in (2025, 2026):
        for part in range(2):
            folder = tmp_path / "visits" / f"year={year}"
            folder.mkdir(parents=True, exist_ok=True)
            here = [(f"u{rng.randrange(5)}", rng.choice("ab")) for _ in range(20)]
            rows += [(u, x, year) for u, x in here]
            with duckdb.connect() as c:
                picks = "unnest($1) AS uid, unnest($2) AS item"
                values = [list(x) for x in zip(*here, strict=True)]
                c.execute(f"COPY (SELECT {picks}) TO '{folder}/{part}.parquet'", values)
    (tmp_path / "visits" / "_SUCCESS").write_text("")
    table = {"uid": [r[0] for r in rows], "item": [r[1] for r in rows]}
    expected = MemoryEngine().count(table, UID, AB)
    source = Source.parse(tmp_path / "visits")
    assert ENGINE.count(source, UID, AB) == expected
    assert ENGINE.count(f"{tmp_path}/visits/*/*.parquet", UID, AB) == expected
    assert ENGINE.columns(source)["year"] == "text"
    late = Source.parse(tmp_path / "visits", sql="SELECT uid, item FROM records WHERE year = '2026'")
    wanted = Counter((r[0], r[1]) for r in rows if r[2] == 2026)
    assert ENGINE.count(late, UID, AB).counts.sum() == sum(wanted.values())
    years = ENGINE.count(source, Columns("uid", "year"), Discrete(["2025", "2026"]))
    assert years.counts.sum() == 80
    (tmp_path / "visits" / "x.csv").write_text("uid,item\n")
    with pytest.raises(ParameterError, match="text and Parquet"):
        Source.parse(tmp_path / "visits")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ParameterError, match="no text or Parquet"):
        Source.parse(tmp_path / "empty")


def test_latin_1(tmp_path):
    path, space = tmp_path / "t.csv", Discrete(["é", "ü"])
    path.write_bytes("uid,item\nJosé,é\nx,ü\n".encode("latin-1"))
    assert ENGINE.count(Source.parse(path, encoding="latin-1"), UID, space).users == 2
    with pytest.raises(BarrowError) as caught:
        ENGINE.count(path, UID, space)
    assert "Jos" not in str(caught.value)
    assert Source.parse(path, encoding="ISO-8859-1").parameters["encoding"] == "latin-1"
    with pytest.raises(ParameterError, match="encoding"):
        Source.parse(path, encoding="klingon")


def test_check_names_the_encoding_and_not_the_engines_words(tmp_path):
    path, space = tmp_path / "t.csv", Discrete(["é", "ü"])
    for rows in ("uid,item\nJosé,é\nx,ü\n", "uid,item\n" + "x,y\n" * 50_000 + "José,é\n"):
        path.write_bytes(rows.encode("latin-1"))
        shown = str(ENGINE.check(path, UID, space))
        assert "--encoding latin-1" in shown
        assert "LINE 1" not in shown


def test_check_shows_a_refused_query_as_such_and_a_failing_one_in_the_engines_words(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("uid,item\nx,1000000\n")
    space, text = Line(0, 9, step=1, cells=True), "SELECT uid, item / 1000000 AS item FROM records"
    with pytest.raises(ParameterError, match="may mix people or move items") as caught:
        ENGINE.check(Source.parse(path, sql=text), UID, space)
    assert "--acknowledge-sql" in str(caught.value.fix)
    shown = str(ENGINE.check(Source.parse(path, sql=text, acknowledge_sql=True), UID, space))
    assert "does not exist" not in shown
    assert "Cannot mix values" in shown or "No function matches" in shown


def test_the_advice_about_files_mends_them(tmp_path):
    for name, row in (("commas", '"40,7","-74,0"'), ("micro", "40700000,-74000000")):
        path, columns = tmp_path / f"{name}.csv", Columns("uid", ["lat", "lon"])
        path.write_text(f"uid,lat,lon\n1,{row}\n2,{row}\n")
        advice = ENGINE.check(path, columns, CITY).advice[0]
        sql = advice.partition('--sql "')[2].partition('"')[0]
        assert ENGINE.check(Source.parse(path, sql=sql, acknowledge_sql=True), columns, CITY).usable


CITY = Earth(box=(40.5, -74.3, 41.0, -73.6), cell=1)


@pytest.mark.parametrize(
    ("space", "values", "words"),
    [
        (CITY, [(-74.0, 40.7)] * 3, "swapped"),
        (CITY, [(40_700_000, -74_000_000)] * 3, "micro-degrees"),
        (CITY, [("40,7", "-74,0")] * 3, "Decimal commas"),
        (Line(0, 9, step=1, cells=True), [("1,5",)] * 3, "Decimal commas"),
        (Discrete(["New York", "Paris"]), [("new york ",)] * 3, "letter case"),
        (Circle.months(), [(11,), (12,), (1,)], "names=['1', '2', …]"),
        (Circle.months(), [("2026-10-31",)] * 3, "moments"),
        (CITY, [(0.0, 0.0)] * 3, None),
        (Line(0, 9, step=1, cells=True), [("abc",)] * 3, None),
    ],
)  # fmt: skip
def test_check_says_what_lost_records_look_like(tmp_path, space, values, words):
    names = [f"c{i}" for i in range(len(values[0]))]
    table = {"uid": ["x"] * len(values), **{n: [v[i] for v in values] for i, n in enumerate(names)}}
    path = tmp_path / "t.csv"
    quoted = [",".join(f'"{x}"' for x in ("x", *v)) for v in values]
    path.write_text("\n".join([",".join(("uid", *names)), *quoted]) + "\n")
    for engine, source in ((MemoryEngine(), table), (ENGINE, path)):
        report = engine.check(source, Columns("uid", names), space)
        assert not report.usable
        if words is None:
            assert report.advice == ()
        else:
            assert words in report.advice[0]
            assert words in str(report)
            assert report.to_json()["advice"] == list(report.advice)


@pytest.mark.parametrize("engine", [MemoryEngine(), ENGINE], ids=lambda x: x.name)
def test_more_people_than_fit_into_32_bits(tmp_path, engine, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("uid,item\nx,a\ny,b\n")
    source, many = ({"uid": ["x", "y"], "item": ["a", "b"]} if engine.name == "memory" else path), 2**33 + 1
    assert as_list(engine.count(source, UID, AB, users=many)) == [(0, 1, many - 1), (1, 1, 1)]
    sample = engine.sample(source, UID, AB, samples=3, users=many)
    assert (sample.users, int(sample.counts.sum())) == (many, 3 * many)
    sample = engine.sample(source, UID, AB, samples=10**7, users=2**36)
    assert (sample.users, int(sample.counts.sum())) == (2**36, 10**7 * 2**36)
    for ask in (engine.count, lambda *a, **k: engine.sample(*a, samples=1, **k), engine.check):
        with pytest.raises(ParameterError, match="users is"):
            ask(source, UID, AB, users=2**36 + 1)
    if engine is ENGINE:
        real = pieces._read_users
        monkeypatch.setattr(pieces, "_read_users", lambda *a: (2**31, real(*a)[1]))
        with pytest.raises(ParameterError, match=r"more than 2\^31 users"):
            engine.sample(source, UID, AB, samples=3)


@pytest.mark.parametrize("change", ["replaced", "longer"])
def test_records_that_change_between_two_passes_are_noticed(tmp_path, monkeypatch, change):
    path, other = tmp_path / "t.parquet", tmp_path / "other.parquet"
    with duckdb.connect() as c:
        c.execute(f"COPY (SELECT i % 3 AS uid, 'a' AS item FROM range(9) r(i)) TO '{path}' (FORMAT parquet)")
        c.execute(f"COPY (SELECT i % 3 AS uid, 'b' AS item FROM range(9) r(i)) TO '{other}' (FORMAT parquet)")
    real = duckdb_engine.read_sizes

    def meddle(*arguments, **options):
        answer = real(*arguments, **options)
        if change == "replaced":
            os.replace(other, path)
        else:
            with path.open("ab") as stream:
                stream.write(b"more")
        return answer

    assert as_list(ENGINE.count(path, UID, AB)) == [(0, 3, 9)]
    monkeypatch.setattr(duckdb_engine, "read_sizes", meddle)
    with pytest.raises(DataError, match=r"changed while they were read|cannot be read"):
        ENGINE.count(path, UID, AB)


def test_advise():
    assert advise([(-74.0, 40.7)], Columns("uid", ["lat", "lon"]), Earth(box=(40, -75, 41, -73), cell=1)) == (
        "Latitude and longitude are swapped: name the item columns lon, lat.",
    )


def test_kind():
    assert [kind(x) for x in ("BIGINT", "DECIMAL(18,3)", "DOUBLE", "VARCHAR", "BOOLEAN", "INTEGER[]")] == [
        "integer",
        "decimal",
        "real",
        "text",
        "boolean",
        "nested",
    ]


def test_to_number():
    assert (
        repr([to_number(x) for x in (3, " 1e3 ", "abc", None, "１", "1e00001", "-inf")])
        == "[3.0, 1000.0, nan, nan, nan, nan, -inf]"
    )


def test_quietly():
    def fail():
        raise PrivateTextError("could not convert 'secret'")

    with pytest.raises(
        DataError,
        match=re.escape(
            "The records cannot be read.\n  allowed: a readable source\n"
            "  fix:     barrow check (Python: engine.check) shows the curator the engine's own message"
        ),
    ):
        redact_errors(fail)


def test_kind_of():
    assert [kind_of(x) for x in ("bigint", "decimal(18,3)", "string collate UTF8_LCASE", "array<int>", "binary")] == [
        "integer",
        "decimal",
        "text",
        "nested",
        "other",
    ]
