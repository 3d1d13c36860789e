"""Spark: the one suite on a local session, and what it must not do."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.engines import cell_rows
from tests.engines import test_postgres_months as months
from tests.engines.conftest import without_spark
from tests.study import monthly

from barrow.engines import Breakdown, Columns, ItemSums, MemoryEngine, Source, SparkEngine, engine_for
from barrow.engines.conformance import conformance
from barrow.engines.spark.relations import SparkReader
from barrow.engines.sql.foreign import self_test
from barrow.errors import DataError, ParameterError
from barrow.spaces import Discrete, Line
from barrow.testing.cases import pytest_generate_tests
from barrow.testing.engines import SECRET, EngineSuite, as_list

__all__ = ["pytest_generate_tests"]
pytestmark = [
    pytest.mark.skipif(without_spark() is not None, reason=str(without_spark())),
    pytest.mark.filterwarnings("ignore"),
]
AB, UID = Discrete(["a", "b"]), Columns("uid", "item")


def frame(spark, types, rows):
    """A DataFrame of these columns (name to Spark type) and rows."""
    schema = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
    return spark.createDataFrame(rows, schema) if rows else spark.createDataFrame([], schema)


class TestSparkFrame(EngineSuite):
    numbered = False
    lost = orders = 1  # a job takes long, and Spark cuts and shuffles rows itself

    @pytest.fixture(autouse=True)
    def _session(self, spark):
        self.spark = spark

    def make(self, tmp_path, names, rows, numbers):
        types = {"uid": "string"} | {n: "double" if x else "string" for n, x in zip(names[1:], numbers, strict=True)}
        return SparkEngine(), frame(self.spark, types, rows)


del EngineSuite


def test_items_are_those_of_the_spaces_bit_for_bit(spark):
    report = conformance(frame(spark, {"uid": "int"}, [(1,)]), rows=300)
    assert report.passed, str(report)
    assert report.cases > 35


def test_the_select_for_others_gives_what_it_must(spark):
    for dialect in ("spark", "databricks"):
        statement, expected = self_test(dialect)
        rows = spark.sql(statement.text).collect()
        assert sorted(tuple(int(x) for x in row[:6]) for row in rows) == sorted(expected), dialect


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_cells_are_those_of_one_loop_each(spark, kind):
    records = cell_rows.rows(90, zoned=kind == "timestamp")
    types = {"uid": "string", "item": "string", "region": "string", "at": kind}
    months = Breakdown(cell_rows.CELLS.cells[:10], labels=cell_rows.CELLS.labels, zone=cell_rows.ZONE)
    for shape in ("window", "broadcast") if kind == "timestamp" else ("window",):
        engine = SparkEngine(shape=shape)
        result = engine.count_cells(frame(spark, types, records), cell_rows.COLUMNS, cell_rows.SPACE, months)
        assert cell_rows.as_lists(result) == cell_rows.expected(records, months)
    sums = SparkEngine().sum_cells(frame(spark, types, records), cell_rows.COLUMNS, cell_rows.SPACE, months)
    assert sums == {cell: ItemSums.of(counts) for cell, counts in result.items()}
    people = SparkEngine().people_cells(frame(spark, types, records), cell_rows.COLUMNS, cell_rows.SPACE, months)
    assert cell_rows.as_lists(people) == cell_rows.as_lists(result)
    if kind == "timestamp":  # instants as items, in the zone of the study
        days, days_of = Line(20_000, 22_000, step=1, unit="days", cells=True), Columns("uid", "at", zone=cell_rows.ZONE)
        held = SparkEngine().count(frame(spark, types, records), days_of, days)
        table = {"uid": [row[0] for row in records], "at": [row[3] for row in records]}
        assert held == MemoryEngine().count(table, days_of, days)
    for text, wrong in cell_rows.refusals().items() if kind == "timestamp_ntz" else ():
        with pytest.raises(DataError) as caught:
            SparkEngine().count_cells(frame(spark, types, wrong), cell_rows.COLUMNS, cell_rows.SPACE, months)
        assert caught.value.problem == text


def test_months_groups_people_and_numbers_are_those_of_a_file(spark, tmp_path, monkeypatch):
    """What a study asks, on Spark and on DuckDB; the checks are those of Postgres."""
    monkeypatch.chdir(tmp_path)
    table = spark.read.parquet(str(monthly.write(tmp_path / "visits.parquet", monthly.rows())))
    months.test_months_and_groups_have_the_same_integers_and_are_released(table, tmp_path, monkeypatch)
    months.test_hidden_groups_have_the_same_sums(table, tmp_path)
    months.test_whole_people_are_the_same(table, tmp_path)
    for number in ("count", "sum(age)", "min", "max", "days", "first", "last"):
        months.test_one_number_a_person_is_the_same(table, tmp_path, number)


def silent(error):
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.thorough
def test_sessions_may_have_other_settings(spark):
    """ANSI off, escapes in literals taken as they are, another zone, interpreted and not compiled: the same items."""
    odd = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.caseSensitive": "true",
    }
    before = {name: spark.conf.get(name, None) for name in odd}
    try:
        for name, value in odd.items():
            spark.conf.set(name, value)
        report = conformance(frame(spark, {"uid": "int"}, [(1,)]), rows=40)
        assert report.passed, str(report)
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def test_every_type_of_number_and_of_user(spark):
    from decimal import Decimal

    numbers = {
        "bigint": [1, 3, 2**53 + 1, 2**63 - 1, -(2**63)],
        "decimal(18,2)": [Decimal(x) for x in ("0.10", "6102505343602474.90", "5814249839838443.01", "0.30")],
        "decimal(38,20)": [Decimal("0.30000000000000004000"), Decimal("1")],
        "float": [0.5, float("nan"), float("inf"), -0.0],
        "string": ["0.5", " 1 ", "0x10", "1_0", "-inf", "nan", "", "1e00001", "1d"],
    }
    large = [5814249839838443.0, 5814249839838444.0, 6102505343602475.0, 6102505343602476.0, 2.0**53 + 2]
    space = Line(-1, 2.0**54, points=[0.1, 0.3, 0.5, 1, 3, *large], default=3)
    for kind, values in numbers.items():
        rows = list(enumerate(values))
        table = {"uid": [i for i, _ in rows], "x": values}
        counts = [
            engine.count(source, Columns("uid", "x"), space, unknown="default")
            for engine, source in (
                (MemoryEngine(), table),
                (SparkEngine(), frame(spark, {"uid": "int", "x": kind}, rows)),
            )
        ]
        assert counts[0] == counts[1], kind
    for kind, users, result in (
        ("bigint", [2**62, 2**62, 7], 2),
        ("double", [0.0, -0.0, 1.5], 2),
        ("string collate UTF8_LCASE", ["a", "A", "a "], 3),
        ("string", ["6ba7b810-9dad-11d1-80b4-00c04fd430c8"] * 2, 1),
        ("binary", [b"a", b"b", b"a"], 2),
    ):
        source = frame(spark, {"uid": kind, "item": "string"}, [(x, "a") for x in users])
        assert SparkEngine().count(source, UID, AB).users == result, kind
    source = frame(spark, {"uid": "double", "item": "string"}, [(float("nan"), "a")])
    with pytest.raises(DataError, match="no user"):
        SparkEngine().count(source, UID, AB)


def test_labels_are_compared_letter_by_letter(spark):
    source = frame(spark, {"uid": "int", "item": "string collate UTF8_LCASE"}, [(1, "a"), (1, "A"), (2, "b")])
    with pytest.raises(DataError, match="not items"):
        SparkEngine().count(source, UID, AB)


def test_columns_of_time_in_any_zone(spark):
    import datetime as dt

    from barrow.spaces import Circle

    moments = [
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        dt.datetime(2026, 10, 31, 12, 30),
        dt.datetime(2024, 2, 29),
    ]
    spaces = (Circle.hours(step=0.25), Circle.weekdays(), Line(-800_000, 3_000_000, step=1, unit="days", cells=True))
    texts = [(i, str(x)) for i, x in enumerate(moments)]
    at = Columns("uid", "at")
    plain = frame(spark, {"uid": "int", "at": "string"}, texts)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        local = plain.selectExpr("uid", "CAST(at AS TIMESTAMP_NTZ) AS at")
        zoned = plain.selectExpr("uid", "CAST(concat(at, ' UTC') AS TIMESTAMP) AS at")
        assert SparkEngine().columns(local)["at"] == "local time"
        for space in spaces:
            wanted = MemoryEngine().count({"uid": [0, 1, 2], "at": moments}, at, space)
            for source in (local, zoned):
                assert SparkEngine().count(source, at, space) == wanted
        rows = ", ".join(f"({i}, TIME'{x.time()}')" for i, x in enumerate(moments))
        clock = spark.sql(f"SELECT * FROM VALUES {rows} AS t(uid, at)")
        wanted = MemoryEngine().count({"uid": [0, 1, 2], "at": [x.time() for x in moments]}, at, spaces[0])
        assert SparkEngine().count(clock, at, spaces[0]) == wanted
        days = plain.selectExpr("uid", "CAST(left(at, 10) AS DATE) AS at")
        wanted = MemoryEngine().count({"uid": [0, 1, 2], "at": [x.date() for x in moments]}, at, spaces[2])
        assert SparkEngine().count(days, at, spaces[2]) == wanted
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("shape", ["window", "broadcast", "join"])
def test_one_user_with_a_third_of_all_rows(spark, shape):
    rows = 60_000
    source = spark.range(rows, numPartitions=4).selectExpr(
        f"CASE WHEN id < {rows * 3 // 10} THEN 0 ELSE id % 5003 END AS uid", "CAST(id * 7 % 50 AS STRING) AS item"
    )
    table = {
        "uid": [0 if i < rows * 3 // 10 else i % 5003 for i in range(rows)],
        "item": [str(i * 7 % 50) for i in range(rows)],
    }
    space = Discrete([str(i) for i in range(50)])
    assert SparkEngine(shape=shape).count(source, UID, space) == MemoryEngine().count(table, UID, space)
    if shape == "window":
        sample = SparkEngine().sample(source, UID, space, samples=7)
        assert (sample.users, int(sample.counts.sum()), sample.private) == (5003, 7 * 5003, True)
    with pytest.raises(ParameterError, match="shape is"):
        SparkEngine(shape="star")


def test_the_records_are_shuffled_once(spark):
    """In the plan of the count one exchange holds records; the other one holds groups."""
    from barrow.engines.sql.encoding import encoding_for
    from barrow.engines.sql.select_plan import reading_of

    source = spark.range(1000).selectExpr("id % 10 AS uid", "CAST(id % 3 AS STRING) AS item")
    engine = SparkEngine()
    with engine._open(Source.of(source), UID) as reader:
        encoding = encoding_for(AB, UID, "error", engine.dialect)
        for name, table in encoding.tables.items():
            reader.table(name, table)
        reading = reading_of(reader.relation, reader.forms, UID, AB, encoding, engine.dialect)
        plans = [
            reader.run(text)._jdf.queryExecution().executedPlan().toString()
            for text in (engine.counting(reading), engine.user_by_user(reading, ordered=False))
        ]
        frames = [reader.run(engine.summing(reader, replace(reading, users_known=n))) for n in (None, 10)]
        plans += [(frame.collect(), frame._jdf.queryExecution().executedPlan().toString())[1] for frame in frames]
    assert plans[0].count("hashpartitioning(u") == 1
    assert plans[1].count("Exchange hashpartitioning") == 1
    # The sums read the records twice: for the sizes, which the people's own row takes from there, and for the items.
    final = [plan.partition("Initial Plan")[0] for plan in plans[2:]]
    assert all("ReusedExchange" in plan for plan in final)
    assert "SortMergeJoin" not in final[1]


def test_an_interrupted_reading_stops_its_jobs_and_leaves_no_view(spark, monkeypatch):
    tags, stopped = [], []

    def interrupt(self, sql):
        tags.append(self.tag)
        raise KeyboardInterrupt

    monkeypatch.setattr(SparkReader, "arrays", interrupt)
    monkeypatch.setattr(type(spark), "interruptTag", lambda self, tag: stopped.append(tag))
    with pytest.raises(KeyboardInterrupt):
        SparkEngine().sums(frame(spark, {"uid": "int", "item": "string"}, [(1, "a")]), UID, AB)
    assert len(tags) == 1
    assert stopped == tags
    assert not spark.getTags()
    assert not [table.name for table in spark.catalog.listTables() if table.name.startswith(tags[0])]


def test_samples_of_a_caller_s_own_source_are_drawn_here(spark):
    from barrow.noise.source import SeededSource

    source = frame(spark, {"uid": "string", "item": "string"}, [("x", "a"), ("x", "b"), ("y", "b")])
    twice = [SparkEngine().sample(source, UID, AB, samples=50, randomness=SeededSource(7)) for _ in range(2)]
    assert twice[0] == twice[1]
    assert not twice[0].private
    assert int(twice[0].counts.sum()) == 100


def test_a_task_that_fails_after_its_draws_draws_again_whole(spark, monkeypatch):
    from barrow.engines.spark import engine as module

    real = module.drawing

    def failing(samples):
        inner = real(samples)

        def draw(batches):
            from pyspark import TaskContext

            results = list(inner(batches))
            if TaskContext.get().attemptNumber() < 2:
                yield from results[:1]
                raise RuntimeError("lost")
            yield from results

        return draw

    monkeypatch.setattr(module, "drawing", failing)
    rows = spark.range(3000, numPartitions=3).selectExpr("id DIV 3 AS uid", "CAST(id AS DOUBLE) AS x")
    sample = SparkEngine().sample(rows, Columns("uid", "x"), Line(0, 2999, step=1), samples=5)
    by_user = {}
    for item, count in zip(sample.items.tolist(), sample.counts.tolist(), strict=True):
        by_user[item // 3] = by_user.get(item // 3, 0) + count
    assert set(by_user.values()) == {5}
    assert len(by_user) == 1000


def test_weights(spark):
    rows = [("x", "a", 3), ("x", "b", 0), ("y", "b", 2)]
    source, columns = frame(spark, {"uid": "string", "item": "string", "n": "int"}, rows), Columns("uid", "item", "n")
    assert as_list(engine_for(source).count(source, columns, AB)) == [(0, 3, 3), (1, 2, 2)]
    sample = engine_for(source).sample(source, columns, AB, samples=5)
    assert (sample.items.tolist(), sample.counts.tolist(), sample.private) == ([0, 1], [5, 5], True)


@pytest.mark.parametrize("shape", ["window", "broadcast"])
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_more_records_than_add_up_never_wrap_round(spark, monkeypatch, ansi, shape):
    """Four times 2^62 is 0 in 64 bits: three records would be left, and no sign of the others."""
    monkeypatch.setattr("barrow.engines.sql.select_plan.MOST_WEIGHT", 2.0**62)
    rows = [("x", "a", 2**62)] * 4 + [("x", "a", 3), ("y", "b", 2)]
    source = frame(spark, {"uid": "string", "item": "string", "n": "bigint"}, rows)
    columns, engine = Columns("uid", "item", "n"), SparkEngine(shape=shape)
    before = spark.conf.get("spark.sql.ansi.enabled", None)
    try:
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        with pytest.raises(DataError, match=r"more records than can be added up"):
            engine.count(source, columns, AB)
        with pytest.raises(DataError, match=r"more records than can be added up|cannot be read"):
            engine.sample(source, columns, AB, samples=2)
        alone = frame(spark, {"uid": "string", "item": "string", "n": "bigint"}, rows[4:])
        assert as_list(engine.count(alone, columns, AB)) == [(0, 3, 3), (1, 2, 2)]
        assert SECRET not in str(engine.check(source, columns, AB))
    finally:
        spark.conf.unset("spark.sql.ansi.enabled") if before is None else spark.conf.set(
            "spark.sql.ansi.enabled", before
        )


def test_a_release_pays_only_for_records_that_were_read(spark, tmp_path):
    """A DataFrame that fails while it is computed: nothing is paid, no folder and no view is left."""
    from barrow.ledger import Ledger
    from barrow.study import Study, read

    good = spark.range(60).selectExpr("id % 20 AS uid", "CAST(id AS INT) AS age")
    bad = good.selectExpr("uid", "if(age = 59, raise_error('cannot be said'), age) AS age")
    study = Study(
        Line(0, 100, unit="years", step=1), ["all, 5 years, 0.5"], users=20, dataset="ages", questions=["mean"],
        ledger=str(tmp_path / "ages.ledger"),
    )  # fmt: skip
    ledger = Ledger.create(str(study.ledger), study)
    with pytest.raises(DataError, match="cannot be read"):
        study.release("mean", read(bad, user="uid", item="age", version="1"), out=tmp_path / "out")
    assert not ledger.overview().lines
    assert not (tmp_path / "out").exists()
    assert not [x.name for x in spark.catalog.listTables() if x.name.startswith("barrow")]
    study.release("mean", read(good, user="uid", item="age", version="1"), out=tmp_path / "out")
    assert len(ledger.overview().lines) == 1


def write(spark, path, rows, types=None, **partition):
    frame(spark, types or {"uid": "string", "item": "string", "year": "int"}, rows).write.mode("overwrite").parquet(
        str(path), **partition
    )
    return f"spark://local[2, 4]?path={path}"


ROWS = [("x", "a", 1), ("x", "b", 2), ("y", "a", 2)]


def test_files_and_queries_by_an_address(spark, tmp_path):
    address = write(spark, tmp_path / "a b", ROWS)
    engine = engine_for(address)
    assert engine.name == "spark"
    assert as_list(engine.count(address, UID, AB)) == [(0, 1, 1), (0, 2, 1), (1, 2, 1)]
    source = Source.parse(address, sql="SELECT `uid`, item FROM records WHERE year = 2")
    assert as_list(engine.count(source, UID, AB)) == [(0, 1, 1), (1, 1, 1)]
    assert "path=" in source.parameters["source"]
    for sql in (
        "SELECT uid, max(item) AS item FROM records GROUP BY uid",
        "SELECT upper(uid) AS uid, item FROM records",
    ):
        with pytest.raises(ParameterError, match="may mix people"):
            engine.count(Source.parse(address, sql=sql), UID, AB)
    assert engine.count(Source.parse(address, sql=sql, acknowledge_sql=True), UID, AB).users == 2
    with pytest.raises(ParameterError, match="There is no table 'visits'"):
        engine.count(Source.parse(address, sql="SELECT uid, item FROM visits"), UID, AB)
    assert not [x.name for x in spark.catalog.listTables() if x.name.startswith("barrow")]


def test_partition_columns_are_texts(spark, tmp_path):
    address = write(spark, tmp_path / "p", [("007", "a", 1), ("7", "b", 2)], partitionBy=["uid"])
    assert engine_for(address).columns(address)["uid"] == "text"
    assert engine_for(address).count(address, UID, AB).users == 2
    assert spark.conf.get("spark.sql.sources.partitionColumnTypeInference.enabled") == "true"


def test_a_filter_does_not_depend_on_what_others_wrote(spark, tmp_path):
    """Files by Arrow leave NaN out of their statistics; by these, all records of this file are at most 1."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"uid": ["x", "y"], "item": ["a", "b"], "z": [float("nan"), 1.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    source = Source.parse(
        f"spark://local[2, 4]?path={tmp_path}/t.parquet", sql="SELECT uid, item FROM records WHERE z > 5"
    )
    assert as_list(SparkEngine().count(source, UID, AB)) == [(0, 1, 1)]


def test_tables_and_views(spark, tmp_path):
    frame(spark, {"uid": "string", "item": "string", "year": "int"}, ROWS).write.saveAsTable("visits")
    spark.sql("CREATE VIEW seen AS SELECT * FROM visits")
    address = "spark://local[2, 4]?table={}"
    engine = SparkEngine()
    try:
        for name in ("visits", "default.visits", "spark_catalog.default.visits"):
            assert engine.count(address.format(name), UID, AB).users == 2
        with pytest.raises(ParameterError, match="Did you mean 'visits'"):
            engine.count(address.format("visit"), UID, AB)
        for name in ("nowhere.visits", "a.b.c.visits"):
            with pytest.raises(ParameterError, match=f"There is no table '{name}'"):
                engine.count(address.format(name), UID, AB)
        with pytest.raises(ParameterError, match="is a view"):
            engine.count(address.format("seen"), UID, AB)
        assert engine.count(Source.parse(address.format("seen"), acknowledge_sql=True), UID, AB).users == 2
        source = Source.parse("spark://local[2, 4]", sql="SELECT uid, item FROM visits WHERE year = 2")
        assert engine.count(source, UID, AB).users == 2
        for sql in ("DROP TABLE visits", "SELECT 1) AS x; DROP TABLE visits; SELECT * FROM (SELECT 1"):
            free = Source.parse("spark://local[2, 4]", sql=sql, acknowledge_sql=True)
            with pytest.raises(DataError, match="cannot be read"):
                engine.count(free, UID, AB)
        assert spark.catalog.tableExists("visits")
        with pytest.raises(DataError, match="cannot be read"):  # no versions here: refused, not silently the newest
            engine.count(address.format("visits&snapshot=3"), UID, AB)
    finally:
        spark.sql("DROP VIEW IF EXISTS seen")
        spark.sql("DROP TABLE IF EXISTS visits")


def test_tables_of_other_systems_and_generated_columns_are_treated_as_views(spark):
    from pyspark.sql.types import StringType, StructField, StructType

    query = "(VALUES (''x'', ''a'')) AS t(\"uid\", \"item\")"
    spark.sql(f"CREATE TABLE elsewhere USING jdbc OPTIONS (url 'jdbc:derby:memory:db;create=true', dbtable '{query}')")
    built = {"delta.generationExpression": "substr(uid, 1, 1)"}  # as the catalogue keeps what a format says of a column
    for name, metadata in (("made", built), ("plain", {"comment": "generated by nobody"})):
        columns = [StructField("uid", StringType()), StructField("item", StringType(), True, metadata)]
        rows = spark.createDataFrame([("x", "a", "p")], StructType([*columns, StructField("Provider", StringType())]))
        rows.write.saveAsTable(name)
    address, engine = "spark://local[2, 4]?table={}", SparkEngine()
    try:
        for name, words in (("elsewhere", "is a virtual or foreign table"), ("made", "has generated columns")):
            with pytest.raises(ParameterError, match=f"'{name}' {words}.*\n.*holds its records itself"):
                engine.count(address.format(name), UID, AB)
            by_query = Source.parse("spark://local[2, 4]", sql=f"SELECT uid, item FROM {name}")
            with pytest.raises(ParameterError, match=words):
                engine.count(by_query, UID, AB)
            assert engine.count(Source.parse(address.format(name), acknowledge_sql=True), UID, AB).users == 1
        assert engine.count(address.format("plain"), UID, AB).users == 1  # a column named Provider is a column
    finally:
        for name in ("elsewhere", "made", "plain"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_files_that_change_are_noticed(spark, tmp_path, monkeypatch):
    address = write(spark, tmp_path / "t", ROWS)
    from barrow.engines.spark.relations import SparkReader

    real = SparkReader.arrays

    def slow(self, sql):
        result = real(self, sql)
        write(spark, tmp_path / "t", [*ROWS, ("z", "a", 3)])
        return result

    monkeypatch.setattr(SparkReader, "arrays", slow)
    with pytest.raises(DataError, match="changed while"):
        SparkEngine().count(address, UID, AB)
    monkeypatch.undo()
    assert SparkEngine().count(address, UID, AB).users == 3


def test_bad_input(spark, tmp_path):
    engine = SparkEngine()
    source = frame(spark, {"uid": "string", "item": "string", "more": "array<int>"}, [("x", "a", [1])])
    with pytest.raises(ParameterError, match="Did you mean 'uid'"):
        engine.count(source, Columns("uidd", "item"), AB)
    with pytest.raises(ParameterError, match="of the kind nested"):
        engine.count(source, Columns("uid", "more"), AB)
    with pytest.raises(ParameterError, match="several columns 'uid'"):
        engine.count(source.selectExpr("uid", "uid AS UID", "item"), UID, AB)
    with pytest.raises(DataError, match="no records"):
        engine.count(source.where("uid = 'none'"), UID, AB)
    with pytest.raises(ParameterError, match="is a stream"):
        engine.count(spark.readStream.format("rate").load(), UID, AB)
    with pytest.raises(ParameterError, match="kind 'csv'"):
        engine.columns("x.csv")
    with pytest.raises(ParameterError, match="no parquet files at the path"):
        engine.count(f"spark://local[2, 4]?path={tmp_path}/none", UID, AB)
    with pytest.raises(ParameterError, match="Text files are not read through Spark"):
        engine.count(f"spark://local[2, 4]?path={tmp_path}/x.csv", UID, AB)
    with pytest.raises(ParameterError, match="another master"):
        engine.count("spark://local[1]?table=visits", UID, AB)
    for text in (
        f"sc://u:{SECRET}@h?table=t",
        f"sc://h:15002/;token={SECRET}?table=t",
        f"spark://h?table=t&password={SECRET}",
        f"spark://local[*]?path=s3a://key:{SECRET}@bucket/x",
        "spark://local[*]?table=t&path=x",
        "spark://local[*]?table=t&snapshot=now",
        "spark://?table=t",
    ):
        with pytest.raises(ParameterError, match="cannot be read, or holds a secret") as refused:
            Source.parse(text)
        silent(refused.value)
    with pytest.raises(ParameterError, match="neither"):
        Source.parse("spark://local[*]")
    assert Source.parse("local[4]?path=x.parquet").path == "spark://local[4]?path=x.parquet"


def test_errors_and_logs_repeat_no_value(spark, spark_logs, tmp_path, capfd):
    """Neither errors, nor what is printed, nor plans, event logs and descriptions of jobs hold a value of a record."""
    path = tmp_path / "t"
    write(spark, path, [(f"{SECRET}-u{i}", SECRET, i) for i in range(50)])
    address = f"spark://local[2, 4]?path={path}"
    cast = Source.parse(address, sql="SELECT uid, CAST(item AS DOUBLE) AS item FROM records")
    with pytest.raises(DataError, match="cannot be read") as caught:
        SparkEngine().count(cast, UID, Line(0, 1, step=1, cells=True))
    silent(caught.value)
    assert SECRET in SparkEngine().check(cast, UID, Line(0, 1, step=1, cells=True)).problem
    with pytest.raises(DataError):
        SparkEngine().count(address, UID, AB)
    space = Discrete([SECRET[::-1], "a"])
    assert SparkEngine().count(address, UID, space, unknown="default").users == 50
    assert SparkEngine().sample(address, UID, space, samples=3, unknown="default").users == 50
    out, err = capfd.readouterr()
    assert SECRET not in out + err
    # The web interface shows what these events say: plans, statements, descriptions of jobs and stages.
    logs = "".join(x.read_text() for x in (spark_logs / "events").rglob("*") if x.is_file())
    for word in ("SparkListenerSQLExecutionStart", "physicalPlanDescription", "spark.job.description", "barrow_"):
        assert word in logs
    # A failed task's message is Spark's own, and quotes the value that could not be cast: docs/how-to/warehouse.md.
    lines = [line for line in logs.splitlines() if SECRET in line]
    assert not [line for line in lines if "CAST_INVALID_INPUT" not in line]


@pytest.mark.thorough
def test_a_session_that_has_ended(spark, tmp_path):
    """In a process of its own, because the tests share one session."""
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from barrow.engines import Columns, SparkEngine, Source\n"
        "from barrow.engines.spark.session import session_at, stopped\n"
        "from barrow.spaces import Discrete\n"
        "session = session_at('spark://local[1]')\n"
        "frame = session.createDataFrame([('x', 'a')], 'uid string, item string')\n"
        "engine = SparkEngine()\n"
        "ask = lambda: engine.count(frame, Columns('uid', 'item'), Discrete(['a']))\n"
        "assert ask().users == 1\n"
        "item = \"if(sha2(CAST(id AS STRING), 512) > 'z', 'b', 'a') AS item\"\n"
        "slow = session.range(10**10).selectExpr('id % 7 AS uid', item)\n"
        "import threading\n"
        "threading.Timer(2, session.stop).start()\n"
        "try:\n"
        "    engine.count(slow, Columns('uid', 'item'), Discrete(['a']))\n"
        "except Exception as error:\n"
        "    assert str(error).startswith('The Spark session has ended'), error\n"
        "else:\n"
        "    sys.exit(4)\n"
        "for end in (None, session._sc._gateway.shutdown):\n"
        "    if end: end()\n"
        "    try:\n"
        "        ask()\n"
        "    except Exception as error:\n"
        "        assert str(error).startswith('The Spark session has ended'), error\n"
        "    else:\n"
        "        sys.exit(3)\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "WARN" not in done.stderr


def test_the_command_line(spark, tmp_path, capsys, monkeypatch):
    import itertools
    import json

    from barrow.cli.main import main
    from barrow.engines import conformance as module

    real = module.every_case
    monkeypatch.setattr(module, "every_case", lambda rows: itertools.islice(real(rows), 0, None, 15))
    address = write(spark, tmp_path / "t", ROWS)
    with pytest.raises(SystemExit) as stop:
        main(["check", address, "--user", "uid", "--item", "item", "--space", "discrete(labels=['a', 'b'])", "--json"])
    assert json.loads(capsys.readouterr().out)["users"] == 2
    assert not stop.value.code
    with pytest.raises(SystemExit) as stop:
        main(["engines", "check", "spark://local[2, 4]", "--rows", "20", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (result["engine"], result["passed"], stop.value.code or 0) == ("spark", True, 0)


def test_spark_connect(spark, tmp_path):
    """In a process of its own, because one process has either a classic session or one by Connect."""
    import subprocess
    import sys

    pytest.importorskip("grpc", reason="grpcio is not installed")
    port = spark.conf.get("spark.connect.grpc.binding.port", None)
    write(spark, tmp_path / "t", ROWS)
    code = (
        "import sys\n"
        "from barrow.engines import Columns, Source, SparkEngine, engine_for\n"
        "from barrow.errors import BarrowError\n"
        "from barrow.spaces import Discrete\n"
        "UID, AB = Columns('uid', 'item'), Discrete(['a', 'b'])\n"
        f"address = 'sc://localhost:{port}?path={tmp_path / 't'}'\n"
        "counts = engine_for(address).count(address, UID, AB)\n"
        "assert (counts.items.tolist(), counts.sizes.tolist(), counts.users) == ([0, 0, 1], [1, 2, 2], 2)\n"
        "drawn = engine_for(address).sample(address, UID, AB, samples=5)\n"
        "assert (int(drawn.counts.sum()), drawn.private) == (10, True)\n"
        "query = Source.parse(address, sql='SELECT uid, item FROM records WHERE year = 2')\n"
        "assert engine_for(query).count(query, UID, AB).users == 2\n"
        "from pyspark.sql import SparkSession\n"
        "session = SparkSession.getActiveSession()\n"
        "frame = session.createDataFrame([('x', 'a')], 'uid string, item string')\n"
        "assert Source.of(frame).kind == 'spark'\n"
        "assert SparkEngine().count(frame, UID, AB).users == 1\n"
        "session.stop()\n"
        "try:\n"
        "    SparkEngine().count(frame, UID, AB)\n"
        "except BarrowError as error:\n"
        "    assert str(error).startswith('The Spark session has ended'), error\n"
        "else:\n"
        "    sys.exit(3)\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


class FakeCatalogue:
    """A session whose one table ``v`` is of a format with snapshots; it keeps what it was asked."""

    def __init__(self, provider, snapshot, detail=None):
        self.provider, self.snapshot, self.sent, self.catalog = provider, snapshot, [], self
        self.isTemporary, self.tableType, self.schema, self.fields = False, "MANAGED", self, []
        self.detail = {"minWriterVersion": 7, "tableFeatures": ["appendOnly"]} if detail is None else detail

    def tableExists(self, name):  # noqa: N802 - Spark's name
        return name == "`v`"

    def getTable(self, name):  # noqa: N802 - Spark's name
        return self

    def sql(self, text):
        if "DETAIL" in text:
            self.rows = [SimpleNamespace(asDict=lambda: self.detail)]
            return self
        self.sent.append(text)
        self.rows = [("Provider", self.provider)] if "EXTENDED" in text else self.snapshot
        return self

    def select(self, name):
        return self

    def collect(self):
        return self.rows


@pytest.mark.parametrize(
    ("provider", "asked"), [("delta", "DESCRIBE HISTORY `v` LIMIT 1"), ("iceberg", "`v`.refs"), ("parquet", None)]
)
def test_tables_with_snapshots_are_read_at_one(provider, asked):
    """Their jars are not here: this shows what would be sent, not that it is understood."""
    from barrow.engines.spark.relations import _table

    source = Source.parse("spark://local?table=v")
    session = FakeCatalogue(provider, [(42,)])
    _table(session, "v", source, {})
    assert session.sent[-1] == "SELECT * FROM `v`" + (" VERSION AS OF 42" if asked else "")
    assert asked is None or asked in session.sent[-2]
    _table(session, "v", source, {"snapshot": "7"})  # the one that is asked for, whatever is current
    assert session.sent[-1] == "SELECT * FROM `v` VERSION AS OF 7"
    if provider == "iceberg":  # nobody has written to it yet
        _table(FakeCatalogue(provider, []), "v", source, {})
    session.isTemporary = True
    with pytest.raises(ParameterError, match="is a view"):
        _table(session, "v", source, {})


@pytest.mark.parametrize(
    ("detail", "refused"),
    [
        ({"minWriterVersion": 7, "tableFeatures": ["appendOnly", "generatedColumns"]}, True),
        ({"minWriterVersion": 7, "tableFeatures": ["changeDataFeed"]}, False),
        ({"minWriterVersion": 4}, True),  # before tables had features
        ({"minWriterVersion": 2, "tableFeatures": None}, False),
    ],
)
def test_delta_tables_that_may_have_generated_columns(detail, refused):
    """As above: what Delta would answer is its documentation's."""
    from barrow.engines.spark.relations import _table

    session, source = FakeCatalogue("delta", [(42,)], detail), Source.parse("spark://local?table=v")
    if refused:
        with pytest.raises(ParameterError, match="has generated columns"):
            _table(session, "v", source, {})
    else:
        _table(session, "v", source, {})
    _table(session, "v", Source.parse("spark://local?table=v", acknowledge_sql=True), {})
