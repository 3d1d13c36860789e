"""One number a person: exact on every engine, cut to the public line, priced as a number and not as records."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from click.testing import CliRunner

import barrow as bw
from barrow.cli.main import cli
from barrow.engines import DuckDBEngine, MemoryEngine
from barrow.engines.numbers import local_micros, offsets
from barrow.errors import DataError, ParameterError
from barrow.ledger import SpaceRef
from barrow.numerics.exact import at_most
from barrow.promises import Window
from barrow.questions.answer import Sample
from barrow.questions.prices import charges
from barrow.spaces import Discrete, Line
from barrow.study.about import About
from barrow.study.file import read_study, write_study
from barrow.study.parts import CellReader, plan_parts
from barrow.study.per_person import PerPerson

VISITS = Line(0, 5, step=1, unit="visits", whole=True)
ROWS = [("ann", 3, 0.5), ("ann", 1, 2.25), ("bob", 4, 1.0), *[("cid", 2, 0.125)] * 9]
TABLE = {"uid": [r[0] for r in ROWS], "x": [r[1] for r in ROWS], "amount": [r[2] for r in ROWS]}


def held(
    per_person: str, space: bw.spaces.Space, source: object = TABLE, users: int = 4, **more: object
) -> list[tuple]:
    data = bw.read(source, user="uid", items="x", per_person=per_person, **more)  # type: ignore[arg-type]
    counts = data.count(data.validate(space), space, users)
    assert set(counts.sizes.tolist()) == {1}
    return [(space.label(i), c) for i, c in zip(counts.items.tolist(), counts.counts.tolist(), strict=True)]


@pytest.mark.parametrize("kind", ["memory", "csv", "parquet", "sqlite"])
def test_every_engine_makes_the_same_numbers(kind, tmp_path):
    source: object = TABLE
    if kind != "memory":
        import duckdb

        path = tmp_path / f"visits.{'db' if kind == 'sqlite' else kind}"
        rows = ", ".join(map(str, ROWS))
        with duckdb.connect(":memory:") as c:
            c.execute(f"CREATE TABLE v AS SELECT * FROM (VALUES {rows}) AS t(uid, x, amount)")
            if kind != "sqlite":
                c.execute(f"COPY v TO '{path}'")
        if kind == "sqlite":
            import sqlite3

            with sqlite3.connect(path) as db:
                db.execute("CREATE TABLE v (uid TEXT, x INTEGER, amount REAL)")
                db.executemany("INSERT INTO v VALUES (?, ?, ?)", ROWS)
            db.close()
        source = f"sqlite:///{path}?table=v" if kind == "sqlite" else path
    assert held("count", VISITS, source) == [("0", 1), ("1", 1), ("2", 1), ("5", 1)]  # nine visits count as five
    assert held("min", VISITS, source) == [("0", 1), ("1", 1), ("2", 1), ("4", 1)]
    assert held("max", VISITS, source) == [("0", 1), ("2", 1), ("3", 1), ("4", 1)]
    money = Line(0, 4, points=[k / 8 for k in range(33)], unit="EUR")
    assert held("sum(amount)", money, source) == [("0", 1), ("1", 1), ("1.125", 1), ("2.75", 1)]


def test_weights_are_counted():
    assert held("count", VISITS, {"uid": [1, 1, 2], "x": [0, 0, 0], "w": [1, 2, 4]}, weight="w", users=2) == [
        ("3", 1),
        ("4", 1),
    ]


def test_a_total_is_the_number_of_people_times_the_mean(tmp_path):
    data = bw.read(TABLE, user="uid", per_person="count")
    study = bw.Study(VISITS, ["all, 2 visits, 5"], users=4, dataset="visits", data=data, questions=["total"])
    plan = study.plan()
    # One visit of two is protected at half of it: alpha is 5/(2/5), and the worst case is all five visits.
    assert plan.alpha == Fraction(25, 2)
    assert charges(plan) == (5,)
    assert plan.statistics(data.count(MemoryEngine(), plan.terms.space, 4)).exact_entry(0) == Fraction(2 + 1 + 5 + 0, 4)
    ledger = bw.Ledger.create(tmp_path / "visits.ledger", study)
    release = study.release(ledger=ledger, out=tmp_path / "total")
    total, mean = plan.tables(Sample(release.values[1:]))["values"]
    assert total["value"] == pytest.approx(4 * mean["value"])
    assert total["half_width_95"] == pytest.approx(4 * mean["half_width_95"])
    text = " ".join((tmp_path / "total" / "statement.txt").read_text().split())
    assert "promises are about one number for each person, the number of their records; they hold for" in text
    assert "the release cuts it to between 0 and 5" in text
    assert "people without records count as holding the public item '0'" in text.lower()
    assert all(check.holds for check in bw.verify(tmp_path / "total", ledger=tmp_path / "visits.ledger"))


def test_a_total_by_group_is_off_by_as_much_as_its_own_people_make_it(tmp_path):
    """Planted before: the worst group's mean times everybody's number, and the mean's error said of the total."""
    table = {**TABLE, "region": ["north" if uid == TABLE["uid"][0] else "south" for uid in TABLE["uid"]]}
    regions = bw.Grouping("region", sizes={"north": 2, "south": 98})
    study = bw.Study(
        VISITS, ["all, 2 visits, 5"], users=100, dataset="visits", groups=[regions], questions=["total"],
        data=bw.read(table, user="uid", per_person="count"),
    )  # fmt: skip
    ledger = bw.Ledger.create(tmp_path / "visits.ledger", study)
    release = study.release(by="region", ledger=ledger, out=tmp_path / "total")
    widths = release.to_pandas()["half_width_95"].tolist()
    assert release.statement.answer.half_width_95 == pytest.approx(max(widths))
    page = (tmp_path / "total" / "report.html").read_text().replace("\xa0", " ")
    assert f"within {at_most(max(widths), 'visits')} of the true one" in page
    assert all(check.holds for check in bw.verify(tmp_path / "total", ledger=tmp_path / "visits.ledger"))


def test_promises_about_records_pay_the_worst_case_and_the_other_way_round(tmp_path):
    """Planted before the metric was told apart: 5 minutes of one record are not 5 minutes of the sum."""
    minutes = Line(0, 100, step=1, unit="min", whole=True)
    records = bw.Study(
        minutes, ["1 of 30, 5 min, 0.5"], users=4, dataset="d", data=bw.read(TABLE, user="uid", item="x")
    )
    numbers = bw.Study(
        minutes, ["all, 5 min, 0.5"], users=4, dataset="d", data=bw.read(TABLE, user="uid", per_person="sum(x)")
    )
    counted = numbers.replace(data=bw.read(TABLE, user="uid", per_person="count"))
    refs = [SpaceRef.of(study.space, number=study.number) for study in (records, numbers, counted)]
    assert len({ref.metric for ref in refs}) == len({ref.digest for ref in refs}) == 3
    assert not any(a.pays_in(b) for a in refs for b in refs if a is not b)
    ledger = bw.Ledger.create(tmp_path / "d.ledger", records)
    with pytest.raises(bw.errors.BarrowError):
        numbers.release("mean", ledger=ledger, out=tmp_path / "mean")  # 5 min of 100 at 0.5 is 10 for everything
    assert not (tmp_path / "mean").exists()


def test_shares_of_a_number_and_other_spaces_are_refused():
    data = bw.read(TABLE, user="uid", per_person="count")
    with pytest.raises(ParameterError, match="is about a share of a person's records") as error:
        bw.Study(VISITS, ["1 of 30, 2 visits, 0.5"], users=4, data=data)
    assert '"all, 2 visits, 0.5"' in str(error.value)
    with pytest.raises(ParameterError, match="lies on a line"):
        bw.Study(Discrete(["a", "b"]), ["all, anywhere, 1"], users=4, data=data)
    with pytest.raises(ParameterError, match="default of the space is"):
        bw.Study(Line(0, 5, step=1, default=3, whole=True, unit="visits"), ["all, 2 visits, 1"], users=4, data=data)
    with pytest.raises(ParameterError, match="could change it by any amount"):
        bw.Study(VISITS, ["all, 2 visits, 1"], users=4).plan("total")
    for wrong in ("average", "sum", "count(x)", "sum()"):
        with pytest.raises(ParameterError, match="per_person is"):
            PerPerson.parse(wrong)
    study = bw.Study(VISITS, ["all, 2 visits, 1"], users=4, data=data)
    with pytest.raises(ParameterError, match="nothing is drawn"):
        data.sample(DuckDBEngine(), study.space, 4, 2)
    with pytest.raises(ParameterError, match="no share, radius or spread"):
        CellReader(data, [About()]).people(DuckDBEngine(), study.space)


@pytest.mark.parametrize(
    ("word", "fix"), [("count", 'per_person = "count"'), ("sum", "sum(amount)"), ("groupby", "by =")]
)
def test_words_that_people_type_lead_to_what_there_is(word, fix):
    with pytest.raises(ParameterError) as error:
        bw.questions.to_question(word)
    assert fix in str(error.value)


def test_the_study_file_keeps_it(tmp_path):
    path = tmp_path / "study.toml"
    data = bw.read("visits.csv", user="uid", per_person="sum(amount)")
    study = bw.Study(VISITS, ["all, 2 visits, 1"], users=4, data=data, questions=["total"])
    write_study(study, path)
    again = read_study(path)
    assert again.data is not None
    assert again.data.per_person == "sum(amount)"
    assert again.number == study.number


def test_the_command_line_understands_counts_and_sums(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cards.csv").write_text("card,room,euro\na,1,2.5\na,2,0.5\nb,1,1\n")
    line = "line(low=0, high=5, step=1, unit='{}', whole={})"
    flags = ["--user", "card", "--users", "5", "--dataset", "museum"]
    outcome = CliRunner().invoke(
        cli, ["init", "cards.csv", *flags, "--space", line.format("visits", True), "--promise", "all, 5 visits, 9",
              "--question", "count"]
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.output
    text = (tmp_path / "study.toml").read_text()
    assert 'per_person = "count"' in text
    assert 'kind = "total"' in text
    checked = CliRunner().invoke(cli, ["check"])
    assert checked.exit_code == 0, checked.output
    assert "lost items  0" in checked.output
    assert CliRunner().invoke(cli, ["release", "--quiet"]).exit_code == 0
    rows = (tmp_path / "release" / "total" / "values.csv").read_text().splitlines()
    assert rows[1].startswith('"total over 5 people"') or rows[1].startswith("total over 5 people")
    more = CliRunner().invoke(
        cli, ["init", "cards.csv", *flags, "--study", "money.toml", "--space", line.format("EUR", False),
              "--promise", "all, 1 EUR, 9", "--question", "sum(euro)"]
    )  # fmt: skip
    assert more.exit_code == 0, more.output
    assert 'per_person = "sum(euro)"' in (tmp_path / "money.toml").read_text()
    both = CliRunner().invoke(cli, ["plan", "--study", "money.toml", "--question", "count", "--question", "sum(euro)"])
    assert both.exit_code != 0
    assert "Several numbers" in f"{both.output}{both.exception}"


TIMES = {"time": "at", "period": "month", "zone": "Europe/Berlin"}
DAYS = Line(0, 5, step=1, unit="days", whole=True)
JANUARY = Line(20454, 20484, step=1, unit="days")  # 20454 is 2026-01-01
MOMENTS = [
    *[("ann", datetime(2026, 1, 2)), ("ann", datetime(2026, 1, 1)), ("ann", datetime(2026, 1, 1, 23, 59, 59, 999999))],
    *[("bob", datetime(2026, 3, 10, 12)), ("bob", datetime(2026, 3, 10, 13))],
    *[("cid", datetime(2026, 1, day, 6)) for day in (11, 5, 6, 7, 8, 9, 10)],
]


def _timed(kind, folder, rows=MOMENTS, sql_type="TIMESTAMP"):
    """The rows in memory or as a file."""
    if kind == "memory":
        return {"uid": [uid for uid, _ in rows], "at": [at for _, at in rows]}
    import duckdb

    path = folder / f"times.{kind}"
    with duckdb.connect(":memory:") as c:
        c.execute("SET TimeZone = 'UTC'")
        c.execute(f'CREATE TABLE v (uid VARCHAR, "at" {sql_type})')
        c.executemany("INSERT INTO v VALUES (?, ?)", [list(row) for row in rows])
        c.execute(f"COPY v TO '{path}'")
    return path


@pytest.mark.parametrize("kind", ["memory", "csv", "parquet"])
def test_days_and_first_and_last_times_are_as_by_hand(kind, tmp_path):
    source, times = _timed(kind, tmp_path), dict(TIMES)
    if kind == "csv":  # text files hold texts: read as local times as they stand, or by a query
        assert held("days", DAYS, source, **TIMES) == [("0", 1), ("1", 1), ("2", 1), ("5", 1)]
        times["sql"] = 'SELECT uid, CAST("at" AS TIMESTAMP) AS "at" FROM records'
    # Midnight and the last microsecond of a day are one day; seven days count as five; nobody else came on none.
    assert held("days", DAYS, source, **times) == [("0", 1), ("1", 1), ("2", 1), ("5", 1)]
    # Ann came first on 20454, Cid on 20458 and a quarter, Bob after the line: he counts with its end.
    assert held("first", JANUARY, source, users=3, **times) == [("20454", 1), ("20458", 1), ("20484", 1)]
    assert held("last", JANUARY, source, users=3, **times) == [("20455", 1), ("20464", 1), ("20484", 1)]
    hours = Line(20454 * 24, 20454 * 24 + 240, step=1, unit="h")
    assert held("first", hours, source, users=3, **times) == [("490896", 1), (f"{490896 + 102}", 1), ("491136", 1)]


def test_a_microsecond_tells_days_apart_from_1900_to_2079(tmp_path):
    rows = []
    for year in (1900, 1969, 1970, 2026, 2079):
        midnight = datetime(year, 1, 2)
        rows += [("ann", midnight + timedelta(microseconds=k)) for k in (-1, 0, 1)]
    many = Line(0, 20, step=1, unit="days", whole=True)
    for kind in ("memory", "parquet"):
        assert held("days", many, _timed(kind, tmp_path, rows), users=1, **TIMES) == [("10", 1)]
        for at in (datetime(1899, 12, 31), datetime(2079, 6, 8)):
            with pytest.raises(DataError):
                held("days", many, _timed(kind, tmp_path, [("ann", at)]), users=1, **TIMES)


def test_dates_are_days(tmp_path):
    rows = [("ann", date(2026, 1, 1)), ("ann", date(2026, 1, 1)), ("ann", date(2026, 1, 3))]
    for kind in ("memory", "parquet"):
        source = _timed(kind, tmp_path, rows, "DATE")
        assert held("days", DAYS, source, users=1, **TIMES) == [("2", 1)]
        assert held("last", JANUARY, source, users=1, **TIMES) == [("20456", 1)]


def test_instants_are_days_of_the_zone(tmp_path):
    rows = [("ann", datetime(2025, 12, 31, 23, 30, tzinfo=UTC)), ("ann", datetime(2026, 1, 1, 10, tzinfo=UTC))]
    hours = Line(20454 * 24 - 24, 20454 * 24 + 24, step=0.5, unit="h", cells=True)
    for source in (_timed("memory", tmp_path, rows), _timed("parquet", tmp_path, rows, "TIMESTAMPTZ")):
        for zone, days in (("Europe/Berlin", "1"), ("UTC", "2"), ("America/New_York", "2")):
            assert held("days", DAYS, source, users=1, **{**TIMES, "zone": zone}) == [(days, 1)]
        assert held("first", hours, source, users=1, **TIMES) == [(f"{20454 * 24 + 0.75}", 1)]  # half past midnight


def test_local_times_are_those_of_the_zone_on_every_engine(tmp_path):
    """Around every change of clocks, to the microsecond, against Python's own zones."""
    zone = "America/Sao_Paulo"  # whose clocks were set at midnight: some days begin at one o'clock
    bounds, _ = offsets(zone)
    start = datetime(1970, 1, 1, tzinfo=UTC)
    moments = [start + timedelta(microseconds=b + k) for b in bounds for k in (-1, 0, 1)]
    local = [(at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) - datetime(1970, 1, 1)) for at in moments]
    column = np.empty(len(moments), dtype=object)
    column[:] = moments
    assert (local_micros(column, zone) == [x // timedelta(microseconds=1) for x in local]).all()
    days = len({x.days for x in local})
    many = Line(0, 1000, step=1, unit="days", whole=True)
    rows = [("ann", at) for at in moments]
    for source in (_timed("memory", tmp_path, rows), _timed("parquet", tmp_path, rows, "TIMESTAMPTZ")):
        assert held("days", many, source, users=1, **{**TIMES, "zone": zone}) == [(str(days), 1)]
    assert days != len({at.date() for at in moments})


def test_numbers_of_times_need_times(tmp_path):
    source = _timed("memory", tmp_path)
    for kind in ("first", "last", "days"):
        with pytest.raises(ParameterError, match="no column of time is named"):
            bw.read(source, user="uid", per_person=kind)
    data = bw.read(source, user="uid", per_person="first", **TIMES)
    with pytest.raises(ParameterError, match="the unit of the space is 'visits'"):
        bw.Study(VISITS, ["all, 2 visits, 1"], users=4, data=data)
    with pytest.raises(ParameterError, match="is about a share"):
        bw.Study(JANUARY, ["1 of 30, 2 days, 1"], users=4, data=data)
    with pytest.raises(DataError):
        held("days", DAYS, {"uid": [1, 2], "at": [datetime(2026, 1, 1), None]}, **TIMES)
    with pytest.raises(DataError):  # a text of another zone is no local time, as for periods
        held("first", JANUARY, {"uid": [1, 2], "at": [datetime(2026, 1, 1), "2026-01-01 10:00Z"]}, **TIMES)
    import sqlite3

    with sqlite3.connect(tmp_path / "v.db") as db:
        db.execute("CREATE TABLE v (uid TEXT, at TEXT)")
        db.execute("INSERT INTO v VALUES ('ann', '2026-01-01')")
    db.close()
    with pytest.raises(ParameterError):
        held("days", DAYS, f"sqlite:///{tmp_path / 'v.db'}?table=v", **TIMES)


def test_days_are_released_and_told_apart_from_other_numbers(tmp_path):
    data = bw.read(_timed("parquet", tmp_path), user="uid", per_person="days", **TIMES)
    study = bw.Study(DAYS, ["all, 2 days, 5"], users=4, dataset="visits", data=data, questions=["mean"])
    plan = study.plan()
    assert plan.alpha == Fraction(25, 2)
    assert charges(plan) == (5,)
    counts = data.count(DuckDBEngine(), plan.terms.space, 4)
    assert plan.statistics(counts).exact_entry(0) == Fraction(2 + 1 + 5 + 0, 4)
    ledger = bw.Ledger.create(tmp_path / "visits.ledger", study)
    study.release("mean", ledger=ledger, out=tmp_path / "mean")
    text = " ".join((tmp_path / "mean" / "statement.txt").read_text().split())
    assert "one number for each person, the number of different days on which they have records; they" in text
    assert all(check.holds for check in bw.verify(tmp_path / "mean", ledger=tmp_path / "visits.ledger"))
    with pytest.raises(ParameterError, match="promises nothing about single periods"):
        study.release("mean", ledger=ledger, out=tmp_path / "month", period="2026-01")
    write_study(study, tmp_path / "study.toml")
    assert read_study(tmp_path / "study.toml").number == study.number
    others = [{"per_person": "count"}, {"per_person": "last"}, {"zone": "UTC"}, {"time": "left"}]
    numbers = [study.replace(data=bw.read("v.csv", user="uid", **{"per_person": "days", **TIMES, **o})) for o in others]
    refs = [SpaceRef.of(other.space, number=other.number) for other in (study, *numbers)]
    assert len({ref.digest for ref in refs}) == len(refs)
    assert not any(a.pays_in(b) for a in refs for b in refs if a is not b)


def test_a_count_by_month_is_that_of_the_month(tmp_path, monkeypatch):
    """At epsilon 400 a visit the noise of a total is beyond 0.2 once in 10^30 times: what is released is the count."""
    monkeypatch.chdir(tmp_path)
    _timed("parquet", tmp_path, [*MOMENTS, ("dan", datetime(2026, 1, 31, 23, 59)), ("dan", datetime(2026, 2, 1))])
    outcome = CliRunner().invoke(
        cli, ["init", "times.parquet", "--user", "uid", "--users", "5", "--dataset", "museum",
              "--space", "line(low=0, high=5, step=1, unit='visits', whole=True)", "--time", "at", "--period", "month",
              "--zone", "Europe/Berlin", "--promise", "all, 1 visits, 400, in any month", "--question", "count"]
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.output
    outcome = CliRunner().invoke(cli, ["release", "--quiet", "--period", "2026-01..2026-04"])
    assert outcome.exit_code == 0, f"{outcome.output}{outcome.exception}"
    # January: Ann 3, Cid 7 (counts as 5), Dan 1. February: Dan 1. March: Bob 2. April: nobody.
    for month, total in (("2026-01", 9), ("2026-02", 1), ("2026-03", 2), ("2026-04", 0)):
        with (tmp_path / "release" / month / "total" / "values.csv").open() as file:
            row = next(csv.DictReader(file))
        assert float(row["value"]) == pytest.approx(total, abs=0.2), month


NUMBERS = {
    "sum(x)": (Line(0, 5, step=1, unit="EUR", whole=True), sum),
    "min": (VISITS, min),
    "max": (VISITS, max),
}


@pytest.mark.parametrize("kind", ["memory", "parquet"])
def test_every_number_of_a_month_is_made_of_its_records(kind, tmp_path):
    """By a loop over the months and people; who has no records in one holds the default."""
    rows = [(uid, at, 1 + (i * i) % 5) for i, (uid, at) in enumerate(MOMENTS)]
    source = {"uid": [r[0] for r in rows], "at": [r[1] for r in rows], "x": [r[2] for r in rows]}
    if kind == "parquet":
        import polars

        polars.DataFrame(source).write_parquet(tmp_path / "v.parquet")
        source = str(tmp_path / "v.parquet")
    day = datetime(1970, 1, 1)
    cases = {
        **{name: (space, lambda held, f=f: f(x for _, x in held)) for name, (space, f) in NUMBERS.items()},
        "count": (VISITS, len),
        "days": (DAYS, lambda held: len({at.date() for at, _ in held})),
        "first": (JANUARY, lambda held: (min(at for at, _ in held) - day) / timedelta(days=1)),
        "last": (JANUARY, lambda held: (max(at for at, _ in held) - day) / timedelta(days=1)),
    }
    months = [About(Window.parse(text)) for text in ("2026-01", "2026-03", "2026-05")]
    for name, (space, made) in cases.items():
        data = bw.read(source, user="uid", item="x", per_person=name, **TIMES)
        cells = CellReader(data, months).cells(data.validate(space, months[0]), space)
        for about in months:
            month = int(about.window.text[-2:])
            people = {}
            for uid, at, x in rows:
                if at.month == month:
                    people.setdefault(uid, []).append((at, x))
            wanted = sorted(space.encode([float(made(held)) for held in people.values()], unknown="nearest").tolist())
            counts = cells[about.cells()[0]]
            result = np.repeat(counts.items, counts.counts).tolist()
            assert (result, counts.users) == (wanted, len(people)), (name, about.window.text)


def test_numbers_of_months_are_released_and_those_of_several_cost_the_worst_case(tmp_path):
    """Five visits more in each of two months are ten more in both: q cannot be the price of a number of both."""
    data = bw.read(_timed("parquet", tmp_path), user="uid", per_person="days", **TIMES)
    promises = ["all, 1 days, 2, in any month", "all, 1 days, 8, in every month"]
    study = bw.Study(DAYS, promises, users=4, dataset="v", data=data, questions=["mean"], periods=4)
    month, both = study.plan("mean", period="2026-01"), study.abouts(study.question(), "2026-01..2026-02", "records")
    assert charges(month) == (2, 2)
    pooled = plan_parts(study, study.question(), both[0][0]).plan
    assert [row.reach for row in pooled.terms.satisfied] == [1, 1]
    by_periods = study.abouts(study.question(), "2026-01..2026-02", "periods")[0][0]
    rows = plan_parts(study, study.question(), by_periods).plan.terms.satisfied
    assert [row.share * row.reach for row in rows] == [Fraction(1, 10), Fraction(1, 5)]
    ledger = bw.Ledger.create(tmp_path / "v.ledger", study)
    done = study.release("mean", ledger=ledger, period=["2026-01..2026-03"], out=tmp_path / "release")
    assert all(check.holds for one in done for check in bw.verify(one.folder, ledger=tmp_path / "v.ledger"))
    text = " ".join((tmp_path / "release" / "2026-01" / "mean" / "statement.txt").read_text().split())
    assert "one number for each person and month, the number of different days on which they have records of" in text
    assert study.release("mean", ledger=ledger, period="2026-04", pool="records", out=tmp_path / "one").folder
    with pytest.raises(bw.errors.BarrowError, match=r"in every month|is not enough|spent|left"):
        study.release("mean", ledger=ledger, period="all", out=tmp_path / "all")


def test_a_ledger_made_from_a_study_is_about_the_number(tmp_path, monkeypatch):
    """It was about the items of the line, so that the study's own releases cost their worst case."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.csv").write_text("uid,minutes,at\nu1,7,2026-01-02\nu2,3,2026-01-03\n")
    data = bw.read("v.csv", user="uid", per_person="sum(minutes)", time="at", period="month", zone="UTC")
    line = Line(0, 100, step=1, unit="min", whole=True)
    study = bw.Study(
        line, ["all, 5 min, 1, in any month"], users=3, dataset="v", data=data, questions=["mean"], ledger="v.ledger"
    )
    write_study(study, "study.toml")
    made = CliRunner().invoke(cli, ["ledger", "init", "v.ledger", "--study", "study.toml"])
    assert made.exit_code == 0
    study.release(period="2026-01")
    ledger = bw.Ledger.open("v.ledger")
    assert study.number in str(ledger.budget.metric)
    assert ledger.balances()[0].spent.loss == 1
    (tmp_path / "v.csv").write_text("uid,minutes,at\nu1,7.5,2026-02-02\n")
    with pytest.raises(DataError, match="are no whole numbers") as caught:
        study.release(period="2026-02")
    assert "fractions" in str(caught.value.fix)
