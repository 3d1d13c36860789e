"""Synthetic records: drawn from the released shares, records of the space, with how far off they are."""

from __future__ import annotations

import shutil
from datetime import datetime, time

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from barrow.cli.main import cli
from barrow.errors import ParameterError
from barrow.noise.source import SeededSource
from barrow.spaces import Circle, Discrete, Earth, Elsewhere, Line, Product
from barrow.spaces.inverse import records_of
from barrow.study import Study, read
from barrow.study.result import Release
from barrow.study.synthetic import _as_times, sample_records
from barrow.transport import emd
from tests.spaces.cases import CASES, IDS
from tests.study.helpers import make_ledger, make_study


def _encoded(space, columns):
    """The items of records, as a study would read them."""
    if not space.geometry.parts:
        return space._encode(columns[0] if len(columns) == 1 else np.stack(columns, axis=1), "error")
    parts, start = [], 0
    for part, _ in space.geometry.parts:
        stop = start + part.reads.columns
        parts.append(columns[start] if stop == start + 1 else np.stack(columns[start:stop], axis=1))
        start = stop
    return space._encode(parts, "error")


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_records_are_encoded_as_their_items_again(case):
    space = case.space.records_space
    items = np.arange(space.items)
    known = items[: getattr(space, "inner", space).items]
    for source in (None, SeededSource(3)):
        columns = records_of(space, np.tile(items, 3), source)
        assert len(columns) == space.reads.columns
        assert (_encoded(space, [column[known] for column in columns]) == known).all()


def test_what_is_outside_has_no_record():
    space = Elsewhere(Line(0, 10, step=5, unit="km", cells=True))
    (column,) = records_of(space, np.array([2, 0, 2]))
    assert np.isnan(column).tolist() == [True, False, True]
    product = Product([Discrete(["a", "b"]), Circle.hours()])
    names, hours = records_of(product, np.array([0, 47]))
    assert names.tolist() == ["a", "b"]
    assert hours.tolist() == [0.5, 23.5]


def test_places_are_uniform_by_area():
    """Between 60 and 80 degrees north half of the area lies below 68.0 degrees, not below 70."""
    space = Earth(box=(60, 0, 80, 40), cell=20000)
    assert space.items == 1
    latitudes, longitudes = records_of(space, np.zeros(20_000, dtype=np.int64), SeededSource(5))
    low, high = np.sin(np.radians([60, 80]))
    assert stats.kstest(np.sin(np.radians(latitudes)), stats.uniform(low, high - low).cdf).pvalue > 1e-4
    assert stats.kstest(latitudes, stats.uniform(60, 20).cdf).pvalue < 1e-9
    assert stats.kstest(longitudes, stats.uniform(0, 40).cdf).pvalue > 1e-4


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthetic")
    study = make_study(folder, questions=["histogram", "mean"])
    ledger = make_ledger(study)
    for name in ("histogram", "mean"):
        study.release(name, ledger=ledger, out=folder / name)
    return study, folder


def test_draws_follow_the_released_shares(released):
    study, folder = released
    release = Release.read(folder / "histogram")
    shares = np.array([row["share"] for row in release.rows()])
    shares = shares / shares.sum()
    records = sample_records(release, 200_000, source=SeededSource(9))
    assert list(records.columns) == ["age"]
    items = study.space.encode(records.columns["age"])
    counts = np.bincount(items, minlength=len(shares))
    some = shares > 0
    assert counts[~some].sum() == 0
    expected = shares[some] * counts.sum()
    assert stats.chisquare(counts[some], expected * counts.sum() / expected.sum()).pvalue > 1e-6
    flat = np.full(some.sum(), counts.sum() / some.sum())
    assert stats.chisquare(counts[some], flat).pvalue < 1e-9  # it would see another distribution
    off = emd(study.space, counts / counts.sum(), shares) * study.space.diameter
    assert records.distance == pytest.approx(off)
    assert len(np.unique(records.columns["age"])) > 150_000  # anywhere in their cells
    middle = sample_records(release, 500, within="centre", source=SeededSource(9))
    assert set(np.mod(middle.columns["age"], 1.0)) == {0.5}


def test_two_samples_differ_and_say_what_they_are(released):
    _, folder = released
    release = Release.read(folder / "histogram")
    one, other = release.sample(300), release.sample(300)
    assert not np.array_equal(one.columns["age"], other.columns["age"])
    assert len(one) == 300
    assert len(one.to_pandas()) == 300
    for part in ("belong to nobody", "costs no privacy", "earth mover's distance", "What is lost"):
        assert part in one.text


def test_refusals(released):
    study, folder = released
    release = Release.read(folder / "histogram")
    for rows in (0, -1, 2.5, "many", 10**9):
        with pytest.raises(ParameterError, match="rows"):
            release.sample(rows)
    with pytest.raises(ParameterError, match="within is 'middle'"):
        release.sample(5, within="middle")
    with pytest.raises(ParameterError, match="differs from the space of the release"):
        release.sample(5, space=Line(0, 50, unit="years", step=1))
    with pytest.raises(ParameterError, match="no histogram to draw records from"):
        Release.read(folder / "mean").sample(5, space=study.space)


def test_products_have_a_column_for_each_part(tmp_path):
    rng = np.random.default_rng(1)
    table = {"uid": np.arange(300), "where": rng.choice(["a", "b"], 300), "hour": rng.integers(0, 24, 300)}
    space = Product([Discrete(["a", "b"]), Circle.hours()])
    data = read(table, user="uid", item=["where", "hour"])
    study = Study(space, ["all, anywhere, 3"], users=300, dataset="visits", data=data)
    release = study.release("histogram", ledger=make_ledger(study.replace(ledger=str(tmp_path / "x.ledger"))))
    records = release.sample(50)
    assert list(records.columns) == ["where", "hour"]
    assert set(records.columns["where"]) <= {"a", "b"}
    assert "L per largest distance is therefore off" in records.text
    # Whoever has the folder has all that a sample depends on: with the same source it is the same sample.
    folder = shutil.copytree(release.folder, tmp_path / "elsewhere")
    own, strangers = (sample_records(one, 50, source=SeededSource(4)) for one in (release, Release.read(folder)))
    assert own.text == strangers.text
    assert all(list(own.columns[name]) == list(strangers.columns[name]) for name in own.columns)
    # Times as times: the same moments, as clock times, which the same study reads again.
    numbers, clock = (
        sample_records(release, 50, times=t, source=SeededSource(3)).columns["hour"] for t in (False, True)
    )
    assert all(isinstance(held, time) for held in clock)
    hours = [held.hour + held.minute / 60 + (held.second + held.microsecond / 1e6) / 3600 for held in clock]
    assert np.allclose(hours, numbers, atol=1e-9)
    sample_records(release, 50, times=True).write(tmp_path / "rows.parquet")
    again = read(str(tmp_path / "rows.parquet"), user="where", item=["where", "hour"])
    again.validate(space)


def test_numbers_that_stand_for_moments_become_times():
    days = _as_times(Line(0, 100, step=1, unit="days"), [np.array([0.0, 1.5, np.nan])])[0]
    assert days[:2].tolist() == [datetime(1970, 1, 1), datetime(1970, 1, 2, 12)]
    assert np.isnat(days[2])
    inside = _as_times(Elsewhere(Line(0, 24, step=1, unit="h", cells=True)), [np.array([2.25])])[0]
    assert inside.tolist() == [datetime(1970, 1, 1, 2, 15)]
    years = _as_times(Line(0, 100, step=1, unit="years"), [np.array([3.0])])[0]
    assert years.tolist() == [3.0]
    clock = _as_times(Circle.hours(), [np.array([13.5, np.nan])])[0]
    assert clock.tolist() == [time(13, 30), None]


def test_the_command(released, tmp_path):
    _, folder = released
    run = lambda *words: CliRunner().invoke(cli, ["sample", str(folder / "histogram"), *words])  # noqa: E731
    done = run("--rows", "20", "--out", str(tmp_path / "rows.csv"))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "rows.csv").read_text().startswith("age\n")
    assert "belong to nobody" in (tmp_path / "rows.csv.txt").read_text()
    told = run("--rows", "20", "--out", str(tmp_path / "rows.parquet"), "--json")
    assert '"rows": 20' in told.output
    import duckdb

    result = duckdb.sql(f"SELECT decode(value) FROM parquet_kv_metadata('{tmp_path / 'rows.parquet'}')").fetchall()[0]
    assert "belong to nobody" in result[0]
    for words, part in {
        ("--out", str(tmp_path / "rows.csv")): "exists",
        ("--out", str(tmp_path / "rows.xlsx")): "neither CSV nor Parquet",
        ("--out", str(tmp_path / "no" / "rows.csv")): "cannot be written",
        ("--rows", "0", "--out", str(tmp_path / "other.csv")): "--rows is '0'",
    }.items():
        refused = run(*words)
        assert refused.exit_code != 0
        assert part in str(refused.output) + str(refused.exception)
    assert not (tmp_path / "other.csv").exists()
