"""Mean and standard deviation on a line: the constant over all pairs, intervals for any noise within its bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import barrow as bw
from barrow.errors import ParameterError
from barrow.planning.terms import Terms
from barrow.questions import Spread
from barrow.questions.answer import Sample
from barrow.questions.plan_text import warnings
from barrow.render.released import values_figure
from barrow.spaces import Circle, Line, NoRecords
from barrow.study import Study, make_statement

AGES = Line(0, 100, unit="years", step=5)


def planned(space=AGES, users=200, alpha=40, **options):
    return Spread(**options).plan(Terms(space, users, given=Fraction(alpha)))


def values_of(plan, raw, holders):
    """What would be released without noise: raw numbers of all people with records, snapped."""
    snapped = np.asarray(AGES.geometry.places)[AGES.encode(raw)]
    t = (snapped - 50.0) / 50.0
    moments = np.array([t.mean(), (t * t).mean()])
    if plan.pair is None:
        return moments
    return np.append((moments - np.asarray(plan.pair.middles)) * holders, plan.pair.weight * holders)


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_the_constant_holds_for_all_pairs(p):
    query = Spread().query(AGES)
    rows = np.asarray(query.table.integers) * float(query.step)
    i, j = np.triu_indices(AGES.items, 1)
    slopes = np.linalg.norm(rows[i] - rows[j], ord=p, axis=1) / AGES.distance(i, j)
    assert slopes.max() <= query.lipschitz_upper(p) <= slopes.max() * (1 + 1e-9)


@pytest.mark.parametrize("space", [AGES, NoRecords(AGES)], ids=["everybody", "holders"])
@settings(max_examples=150, deadline=None)
@given(
    raw=st.lists(st.floats(0, 100), min_size=1, max_size=20),
    holders=st.floats(0.05, 1.0),
    noise=st.tuples(*[st.floats(-1, 1)] * 3),
)
def test_intervals_hold_wherever_the_noise_is_within_its_bound(space, raw, holders, noise):
    plan = planned(space)
    exact = values_of(plan, raw, holders)
    sample = exact + plan.noise.simultaneous_half_width * 0.999 * np.array(noise[: len(exact)])
    mean, spread = plan.tables(Sample(sample))["values"]
    assert mean["low_95"] <= np.mean(raw) + 1e-9
    assert mean["high_95"] >= np.mean(raw) - 1e-9
    assert spread["low_95"] <= np.std(raw) + 1e-9
    assert spread["high_95"] >= np.std(raw) - 1e-9
    for row in (mean, spread):
        assert row["value"] is None or row["low_95"] <= row["value"] <= row["high_95"]


def test_intervals_fail_where_the_noise_is_three_times_its_bound():
    plan, missed = planned(Line(0, 100, unit="years", step=1, whole=True), alpha=4), 0
    random = np.random.default_rng(3)
    for _ in range(200):
        raw = random.integers(20, 80, 50)
        t = (raw - 50.0) / 50.0
        off = 3.0 * plan.noise.simultaneous_half_width * random.choice([-1.0, 1.0], 2)
        row = plan.tables(Sample(np.array([t.mean(), (t * t).mean()]) + off))["values"][1]
        missed += not row["low_95"] <= raw.std() <= row["high_95"]
    assert missed > 100


def test_a_release_holds_the_truth(tmp_path):
    ages = [20 + (7 * i) % 60 for i in range(900)]
    records = {"uid": list(range(900)), "age": ages}
    study = bw.Study("line(low=0, high=100, step=1, unit='years', whole=True)", ["all, 20 years, 1"], users=1000,
                     dataset="ages", missing="no records")  # fmt: skip
    ledger = bw.Ledger.create(str(tmp_path / "ages.ledger"), study)
    built = study.release("spread", bw.read(records, user="uid", item="age"), ledger=ledger, out=tmp_path / "spread")
    mean, spread = built.rows()
    assert abs(mean["value"] - np.mean(ages)) < 5
    assert abs(spread["value"] - np.std(ages)) < 5
    assert spread["high_95"] - spread["low_95"] < 10
    people = built.tables["people"][0]
    assert abs(people["value"] - 0.9) < 5 * (people["high_95"] - people["value"])
    assert all(check.holds for check in bw.verify(tmp_path / "spread", ledger=ledger))
    assert "standard deviation" in built.text
    page = (tmp_path / "spread" / "report.html").read_text(encoding="utf-8")
    assert "largest value" not in page  # a mean and a standard deviation are not compared


def test_its_figure_says_both():
    plan = planned()
    statement = make_statement(Study(AGES, alpha=40, users=200), plan)
    figure = values_figure(statement, plan.tables(Sample(values_of(plan, [20.0, 40.0, 60.0], 1.0))))
    mean, spread = figure.description.removesuffix(".").split("; ")
    assert mean.startswith("mean: 40 years, 95 % interval")
    assert spread.startswith("standard deviation: 16.3 years, 95 % interval")


def test_nothing_is_said_where_nobody_may_hold_records():
    plan = planned(NoRecords(AGES), users=30, alpha=1)
    row = plan.tables(Sample(np.zeros(3)))["values"][1]
    assert (row["value"], row["determined"], row["low_95"], row["high_95"]) == (None, False, 0.0, 50.0)
    assert "nearly useless" in warnings(plan)[0]


def test_only_lines_have_one():
    with pytest.raises(ParameterError, match="circular_mean"):
        planned(Circle.hours())
    with pytest.raises(ParameterError, match="need a line"):
        planned(bw.Discrete(["a", "b"]))
