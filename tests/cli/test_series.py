"""Months and groups on the command line: init, plan, release, verify, explain, report, and what is refused."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from barrow.study import Release
from tests.study import monthly

INIT = [
    "--user", "uid", "--item", "age", "--users", monthly.USERS, "--dataset", "ages", "--space", monthly.SPACE,
    "--time", "at", "--period", "month", "--zone", "Europe/Berlin",
]  # fmt: skip
PROMISES = ["--promise", monthly.PROMISES[0], "--promise", monthly.PROMISES[1], "--periods", 12]
SOUTHERNER = next(person for person, _, region, at in monthly.rows() if (region, at[:7]) == ("south", "2026-01"))
REGION = ["--group", "region: north=20, south=40"]


@pytest.fixture
def months(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monthly.write(tmp_path / "ages.parquet", monthly.rows())
    code, out, err = barrow("init", "ages.parquet", *INIT, *PROMISES, *REGION, "--question", "mean", "--missing",
                            "default item")  # fmt: skip
    assert (code, err) == (0, ""), err
    assert "barrow release --period last" in out
    return tmp_path


def test_months_are_released_once_each_in_one_pass(barrow, months):
    code, out, err = barrow("release", "--period", "2026-01..2026-03")
    assert (code, err) == (0, "")
    assert "── mean, 2026-02" in out
    rows = [Release.read(f"release/2026-{month:02}/mean").rows()[0] for month in (1, 2, 3)]
    assert [row["period"] for row in rows] == ["2026-01", "2026-02", "2026-03"]
    code, out, err = barrow("release", "--period", "2026-02")
    assert "nothing was spent" in out
    assert Release.read("release/2026-02/mean").rows() == [rows[1]]
    shown = barrow("plan")[1]
    assert re.search(r"Left +all data by 5 years, in any month: this month: all of it", shown)
    assert re.search(r"Left +all data by 5 years, in every month: 9 more months at this size", shown)
    again = barrow("plan", "--period", "2026-02")[1]
    assert re.search(r"in any month: this month: ε 0 of 0.5, too little for this", again)
    code, out, err = barrow("verify", "release/2026-02/mean", "--ledger", "ages.ledger")
    assert (code, err) == (0, "")
    code, out, _ = barrow("explain", "release/2026-02/mean")
    assert "Only records with a time in 2026-02 (Europe/Berlin) were read" in out


def test_a_month_that_has_not_begun_is_paid_for_on_request_alone(barrow, months):
    year = datetime.now(UTC).year + 1
    for period in (f"{year}-03", f"2026-01,{year}-03"):
        code, _, err = barrow("release", "--period", period)
        assert code == 1
        assert f"{year}-03 has not begun" in err
        assert "--ahead" in err
    assert not Path("release").exists()
    code, _, err = barrow("release", "--period", f"{year}-03", "--ahead", "--quiet")
    assert (code, err) == (0, "")
    code, _, err = barrow("release", "--period", f"{datetime.now(UTC):%Y-%m}", "--quiet")  # it has begun
    assert (code, err) == (0, "")


def test_groups_have_one_table_and_one_report(barrow, months):
    code, out, err = barrow("release", "--period", "2026-04", "--by", "region", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert [(row["period"], row["group"]) for row in told["values"]] == [("2026-04", "north"), ("2026-04", "south")]
    assert {g["group"]: g["people"] for g in told["answer"]["about"]["groups"]} == monthly.SIZES
    page = Path("release/2026-04/mean/report.html").read_text()
    assert "north, 2026-04" in page
    code, out, err = barrow("plan", "--by", "region")
    assert "by region, each with the whole promise; error: north" in out
    planned = json.loads(barrow("plan", "--by", "region", "--json")[1])
    assert planned["groups"]["north"] > planned["groups"]["south"]


def test_several_groupings_share_the_question(barrow, months):
    code, _, err = barrow("release", "--period", "2026-05", "--by", "region", "--by", "all", "--quiet")
    assert (code, err) == (0, "")
    paid = [Release.read(f"release/2026-05/mean/{name}").statement.protected[0] for name in ("region", "all")]
    # A total beside two groups takes 1 / (1 + the cube root of 2) of what the question has.
    total = 0.5 / (1 + 2 ** (1 / 3))
    assert [row.epsilon for row in paid] == pytest.approx([0.5 - total, total], rel=1e-3)
    assert sum(row.epsilon for row in paid) <= 0.5 * (1 + 1e-12)


def test_pooled_months_are_one_release(barrow, months):
    for pool in ("records", "periods"):
        code, _, err = barrow("release", "--period", "2026-01..2026-02", "--pool", pool, "--quiet", "--fraction", "0.5")
        assert (code, err) == (0, "")
        assert Release.read(f"release/2026-01..2026-02-{pool}/mean").statement.answer.about.pool == pool
    text = Release.read("release/2026-01..2026-02-records/mean").text
    assert "has any records in one of these months" in text.replace("\n", " ")


def test_a_report_of_months_is_a_line_and_says_what_differs(barrow, months):
    barrow("release", "--period", "2026-01..2026-03", "--quiet")
    folders = [f"release/2026-{month:02}/mean" for month in (1, 2, 3)]
    code, _, err = barrow("report", *folders, "--out", "year.html")
    assert (code, err) == (0, "")
    page = Path("year.html").read_text()
    assert "3 values from" in page
    assert "2026-01 to 2026-03</h1>" in page
    assert "hich periods are read: 2026-01 to 2026-03" in _plain(page)
    code, out, err = barrow("verify")
    assert (code, err, out.count("✓ ledger: entry")) == (0, "", 3)
    assert "the noise" in page
    result = re.findall(r"in any one month all data had been 5 years elsewhere[^%]*?(\d+(?:\.\d+)?) ?%", _plain(page))
    assert result
    assert float(result[0]) < 63  # the dearest month, not the sum of three


def _plain(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.replace("\u00a0", " ")))


def test_a_correction_needs_a_version_and_pays_again(barrow, months):
    assert barrow("release", "--period", "2026-01", "--fraction", "0.5", "--quiet")[0] == 0
    monthly.write(months / "ages.parquet", [*monthly.rows(), ("p1", 99, "north", "2026-01-05 09:00:00")])
    again = barrow("release", "--period", "2026-01", "--fraction", "0.5")[1]
    assert "nothing was spent" in again
    correction = ["release", "--period", "2026-01", "--fraction", "0.5", "--data-version"]
    assert barrow(*correction, "2", "--quiet")[1].strip() == "release/2026-01/mean-2"
    code, _, err = barrow(*correction, "3")
    assert code == 1
    assert "in any month: ε 0.5 of 0.5 used" in err
    assert barrow("release", "--period", "2026-02", "--quiet")[0] == 0  # no other month is touched
    code, _, err = barrow(*correction, "../3")
    assert code == 1
    assert "folder of a correction" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["release"], "no period is named"),
        (["release", "--period", "2026-W41"], "is a week"),
        (["release", "--period", "2026-03..2026-01"], "ends before it begins"),
        (["release", "--period", "2026-01", "--by", "regoin"], "Did you mean 'region'"),
        (["release", "--period", "2026-01..2026-02", "--out", "x"], "Several"),
        (["plan", "--model", "local"], "the study has periods"),
    ],
)
def test_refusals(barrow, months, words, said):
    code, _, err = barrow(*words)
    assert code == 1
    assert said in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"region": "west"}, "group"),
        ({"person": SOUTHERNER, "region": "north"}, "group"),
        ({"at": None}, "time"),
    ],
)
def test_records_that_belong_nowhere_stop_the_release_in_a_constant_text(barrow, months, change, said):
    odd = {"person": "p1", "age": 40, "region": "north", "at": "2026-01-05 09:00:00", **change}
    records = [*monthly.rows(), (odd["person"], odd["age"], odd["region"], odd["at"])]
    monthly.write(months / "ages.parquet", records)
    code, _, err = barrow("release", "--period", "2026-01", "--by", "region")
    assert code == 1
    assert said in err
    assert "west" not in err
    assert SOUTHERNER not in err
    assert not Path("release").exists() or not any(Path("release").rglob("values.csv"))


def test_a_time_with_a_zone_in_a_text_is_refused_with_the_cast(barrow, months):
    Path("ages.csv").write_text("uid,age,region,at\np1,40,north,2026-01-05T10:00Z\n")
    code, _, err = barrow("release", "--period", "2026-01", "--source", "ages.csv")
    assert code == 1
    assert "CAST" in err


def test_a_series_is_planned_without_a_file(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = ["--space", monthly.SPACE, "--users", 1000, "--question", "mean", "--json"]
    plan = ["plan", *flags, "--promise", "all, 5 years, 1, in every month"]
    once, often = (json.loads(barrow(*plan, "--periods", n)[1])["alpha"] for n in (1, 12))
    assert once == pytest.approx(12 * often)
    out = barrow(*[w for w in plan if w != "--json"], "--periods", 12)[1]
    assert "periods = 12" in out


def test_init_refuses_groups_that_cannot_be_read(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monthly.write(tmp_path / "ages.parquet", monthly.rows())
    for text, sentence in (
        ("region", "cannot be read"),
        ("region: north", "cannot be read"),
        ("region: north=5", "5 people"),
    ):
        code, _, err = barrow("init", "ages.parquet", *INIT, *PROMISES, "--question", "mean", "--group", text)
        assert code == 1
        assert sentence in err


def test_a_histogram_by_region_has_small_multiples_and_no_single_region(barrow, months):
    code, _, err = barrow("release", "--question", "histogram", "--period", "2026-06", "--by", "region", "--quiet")
    assert (code, err) == (0, "")
    folder = "release/2026-06/histogram"
    page = Path(folder, "report.html").read_text()
    assert "by region" in page
    assert "north, 2026-06" in page
    result = Release.read(folder)
    assert {row["group"] for row in result.tables["unbiased"]} == {"north", "south"}
    assert sum(row["share"] for row in result.rows() if row["group"] == "north") == pytest.approx(1.0)
    code, _, err = barrow("region", folder, "--items", "20,21")
    assert code == 1
    assert "The release is by region" in err
    assert barrow("sample", folder, "--rows", "10", "--out", "s.csv")[0] != 0
