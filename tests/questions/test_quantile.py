"""Quantiles: intervals that hold the truth, from data to statement; and what cannot be asked."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.questions import Quantile, to_question
from barrow.questions.prices import charges
from barrow.spaces import Discrete, Line
from barrow.spaces.augmented import with_no_records
from barrow.study import Study, explain, read, verify
from tests.thorough import often

AGES = Line(0, 100, unit="years", step=1)


def counts_of(ages):
    items, times = np.unique(AGES.encode(ages), return_counts=True)
    return Counts(items, np.ones(len(items), dtype=np.int64), times, users=len(ages))


@cache
def plan_of_three(noise):
    study = Study(AGES, alpha=20, users=400, delta=0 if noise == "auto" else "1e-6")
    return study.plan(Quantile(of=["0.25", "0.5", "0.9"], noise=noise))


@pytest.mark.parametrize("noise", ["auto", "gaussian"])
@pytest.mark.parametrize("spread", ["one value", "two values", "many"])
def test_intervals_hold_the_true_quantile(spread, noise):
    rng = np.random.default_rng(4)
    ages = {
        "one value": np.full(400, 30),
        "two values": np.repeat([20, 70], [240, 160]),
        "many": rng.integers(10, 90, 400),
    }
    held = ages[spread]
    plan, times = plan_of_three(noise), often(60, 120)
    statistics = plan.statistics(counts_of(held))
    true = [np.sort(held)[int(np.ceil(q * len(held))) - 1] for q in (0.25, 0.5, 0.9)]
    covered, near = 0, []
    for _ in range(times):
        rows = plan.tables(plan.draw(statistics))["values"]
        covered += all(row["low_95"] - 1e-9 <= x <= row["high_95"] + 1e-9 for row, x in zip(rows, true, strict=True))
        near.append(abs(rows[1]["value"] - true[1]))
    least = binom.ppf(1e-7, times, 0.95)
    assert covered >= least
    assert binom.cdf(least - 1, times, 0.6) > 0.98  # intervals that hold in 60 % would be seen
    assert noise == "gaussian" or np.median(near) <= 3
    assert all(row["low_95"] <= row["value"] <= row["high_95"] for row in rows)


def test_intervals_end_where_the_line_does():
    money = Line(0, 100_000, unit="EUR", step=1000, cells=True)
    plan = Study(money, alpha=40, users=400).plan("quantile(of=['0.01', '0.99'])")
    items = money.encode(np.repeat([10.0, 99_990.0], 200))
    kinds, times = np.unique(items, return_counts=True)
    held = Counts(kinds, np.ones(len(kinds), dtype=np.int64), times, users=400)
    first, last = plan.tables(plan.draw(plan.statistics(held)))["values"]
    assert (first["low_95"], last["high_95"]) == (0.0, 100_000.0)


def test_skewed_people_have_an_interval_of_few_of_them():
    """On a line much wider than where people are, an interval is as narrow as the noise on a share allows."""
    minutes = Line(0, 1440, unit="min", points=range(0, 1441, 5))
    study = Study(minutes, ["1 of 30, 1 h, 0.5", "all, anywhere, 0.5"], users=40_000)
    plan = study.plan("median")
    held = np.repeat(np.arange(289), np.round(40_000 * _skewed(289)).astype(int))[:40_000]
    items, times = np.unique(held, return_counts=True)
    missing = with_no_records(minutes).items - 1
    rest = 40_000 - len(held)
    counts = Counts(
        np.append(items, missing) if rest else items, np.ones(len(items) + bool(rest), dtype=np.int64),
        np.append(times, rest) if rest else times, users=40_000,
    )  # fmt: skip
    statistics, below = plan.statistics(counts), np.cumsum(np.bincount(held, minlength=289)) / len(held)
    inside = []
    for _ in range(20):
        (row,) = plan.tables(plan.draw(statistics))["values"]
        low, high = int(row["low_95"] // 5), int(row["high_95"] // 5)
        inside.append(below[max(high - 1, low)] - below[low])
    assert max(inside) <= 0.04
    assert np.mean(inside) <= 4.0 * plan.share_half_width  # twice the 95 % interval of a share


def _skewed(items):
    x = np.arange(items)
    weights = np.exp(-((np.log(x + 1.0) - 3.0) ** 2) / 1.5) / (x + 1.0)
    return weights / weights.sum()


def test_from_records_to_a_verified_statement(tmp_path):
    columns = {"uid": list(range(300)), "age": [20 + i % 50 for i in range(300)]}
    study = Study(
        AGES, ["all, 5 years, 2"], users=300, dataset="ages", questions=["quantile(of=[0.1, 0.5])"],
        data=read(columns, user="uid", item="age"), ledger=str(tmp_path / "ages.ledger"),
    )  # fmt: skip
    Ledger.create(str(study.ledger), study)
    result = study.release(out=tmp_path / "out")
    assert all(check.holds for check in verify(tmp_path / "out", ledger=study.ledger))
    assert "95 %" in result.text
    assert "read off" in explain(result.statement)
    assert [row["quantile"] for row in result.rows()] == ["0.1", "0.5"]
    assert set(result.tables) == {"values", "below", "people"}


def test_plans_say_how_wide_and_warn():
    wide = Study(AGES, alpha="0.001", users=50).plan("quantile")
    assert "nearly useless" in str(wide)
    assert "median" in str(Study(AGES, alpha=20, users=5000).plan("quantile"))
    assert to_question("quantile(of=0.5)").shares == Quantile().shares


def test_the_median_by_its_name():
    assert to_question("median") == Quantile(of="1/2", name="median")
    assert to_question({"kind": "median", "name": "m"}).name == "m"
    study = Study(AGES, alpha=20, users=5000, questions=["median", "mean"])
    assert study.question("median").shares == Quantile().shares
    with pytest.raises(ParameterError, match="Did you mean 'median'") as told:
        study.question("medain")
    assert told.value.fix == "median"


@pytest.mark.parametrize("wrong", [0, 1, "1.5", [], ["0.5", 2], "half"])
def test_shares_that_are_none_are_refused(wrong):
    with pytest.raises(ParameterError):
        Quantile(of=wrong)


class TestAskedWithAHistogram:
    """Quantiles beside a histogram are read off it: one release, paid once."""

    def study(self, tmp_path, questions, **more):
        columns = {"uid": list(range(300)), "age": [20 + i % 50 for i in range(300)]}
        return Study(
            AGES, ["all, 5 years, 2"], users=300, dataset="ages", questions=questions,
            data=read(columns, user="uid", item="age"), ledger=str(tmp_path / "ages.ledger"), **more,
        )  # fmt: skip

    def test_they_cost_one_release_and_have_all_of_the_promises(self, tmp_path):
        study = self.study(tmp_path, ["histogram", "median", "quantile(of=['0.1', '0.9'], name='ends')"])
        (request,) = study.questions
        assert request.quantiles == ["0.1", "0.5", "0.9"]
        assert study.terms(request).fraction == 1
        alone = self.study(tmp_path, ["histogram"])
        assert charges(study.plan()) == charges(alone.plan())
        for name in ("histogram", "median", "ends"):
            assert study.question(name) == request
            assert study.replace(users=400).question(name).quantiles == request.quantiles
        ledger = Ledger.create(str(study.ledger), study)
        result = study.release("median", out=tmp_path / "out")
        assert [row["quantile"] for row in result.tables["quantiles"]] == ["0.1", "0.5", "0.9"]
        for row, true in zip(result.tables["quantiles"], (24, 44, 64), strict=True):
            assert row["low_95"] <= row["value"] <= row["high_95"]
            assert abs(row["value"] - true) < 25
        assert len(result.tables["below"]) > 10
        assert ledger.verify().releases == 1
        assert all(check.holds for check in verify(tmp_path / "out", ledger=study.ledger))
        assert "the quantiles 0.1, 0.5, 0.9" in " ".join(result.text.split())
        assert "0.5: " in (tmp_path / "out" / "report.html").read_text()

    def test_files_keep_what_was_typed(self, tmp_path):
        study = self.study(tmp_path, ["histogram", "median"])
        kinds = [spec["kind"] for spec in study.to_spec()["question"]]
        assert kinds == ["histogram", "quantile"]

    @pytest.mark.parametrize(
        "beside", ["histogram(mechanism='multiscale')", "histogram(noise='laplace')", "histogram(definition='emd')"]
    )
    def test_other_noise_is_another_release(self, tmp_path, beside):
        assert len(self.study(tmp_path, [beside, "median"]).questions) == 2

    def test_fractions_add_up(self, tmp_path):
        study = self.study(tmp_path, ["histogram(fraction='1/4')", "median(fraction='1/4')", "mean"])
        assert [study.terms(request).fraction for request in study.questions] == [Fraction(1, 2), Fraction(1, 2)]

    def test_only_of_lines(self):
        with pytest.raises(ParameterError, match="need a line"):
            Study(Discrete(["a", "b"]), alpha=5, users=10, questions=["histogram", "median"]).plan()
        with pytest.raises(ParameterError, match="quantiles is"):
            to_question("histogram(quantiles=[2])")


def test_only_lines_and_only_held_data():
    with pytest.raises(ParameterError, match="need a line"):
        Study(Discrete(["a", "b"]), alpha=5, users=10).plan("quantile")
    with pytest.raises(ParameterError, match="a curator holds the data"):
        Study(AGES, alpha=5, users=10, model="local").plan("quantile")


def test_an_interval_of_one_whole_number_is_compared_too():
    ages = Line(0, 100, unit="years", step=1, whole=True)
    study = Study(ages, ["all, 5 years, 1"], users=100_000)
    plan = study.plan("median")
    assert plan.error == 0.0
    assert "about the same error" in str(plan)
    assert "about the same error" in study.compare("median").sentence
    some = study.replace(users=2_000, promises=["all, 5 years, 0.5"]).plan("median")
    assert some.error > 0.0
    assert "error" in some.comparison.line
