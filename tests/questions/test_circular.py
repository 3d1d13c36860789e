"""Circles: they wrap, have names, and a mean and a spread of their own; densities decode to maps."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import DataError, ParameterError
from barrow.ledger import Ledger
from barrow.mechanisms import UserCounts
from barrow.noise.source import SeededSource
from barrow.planning.terms import Terms
from barrow.queries.coordinates import direction
from barrow.questions import CircularMean, Density, to_question
from barrow.questions.answer import Sample
from barrow.questions.plan_text import warnings
from barrow.questions.releasing import summary
from barrow.questions.statement import LedgerEntry
from barrow.render.report.release import release_files
from barrow.spaces import Circle, Line, parse_space, space_from_spec
from barrow.spaces.nearness import distances_from
from barrow.study import Study, read, statement_text, verify
from barrow.study.statement import make_statement

HOURS = Circle.hours()


def planned(users=1000, alpha=25, **options):
    return CircularMean(**options).plan(Terms(HOURS, users, given=Fraction(alpha)))


def test_the_end_of_a_circle_is_its_beginning(tmp_path):
    assert HOURS.encode([0.0, 24.0, 23.999]).tolist() == [0, 0, 23]
    assert distances_from(HOURS, 24.0).tolist() == distances_from(HOURS, 0.0).tolist()
    with pytest.raises(DataError):
        HOURS.encode([24.5])
    file = tmp_path / "hours.csv"
    file.write_text("uid,hour\n1,24.0\n2,0.0\n3,12.5\n")
    data = read(str(file), user="uid", item="hour")
    counts = data.count(data.validate(HOURS), HOURS, 3)
    assert dict(zip(counts.items.tolist(), counts.counts.tolist(), strict=True)) == {0: 2, 12: 1}


@pytest.mark.parametrize(("name", "size"), [("hours", 24), ("hours(step=0.5)", 48), ("weekdays", 7), ("months", 12)])
def test_circles_are_known_by_name(name, size):
    space = parse_space(name)
    assert isinstance(space, Circle)
    assert space.size == size
    assert space_from_spec(space.to_spec()) == space
    assert Study(name, ["all, anywhere, 1"], users=10).space == space
    with pytest.raises(ParameterError, match="month"):
        parse_space("month")


def test_the_constant_holds_for_all_pairs_and_is_nearly_pi():
    for circle in (HOURS, Circle.months(), Circle(1, step=0.01)):
        query = direction(circle)
        rows = query.table.integers * float(query.step)
        i, j = np.triu_indices(circle.items, 1)
        slopes = np.linalg.norm(rows[i] - rows[j], axis=1) / circle.distance(i, j)
        assert slopes.max() <= query.lipschitz_upper(2) <= math.pi * (1 + 1e-9)
        angle = 2 * np.pi / circle.items
        assert slopes.max() == pytest.approx(2 * math.sin(angle / 2) / (2 / circle.items))  # neighbours, by hand


def test_the_mean_of_eleven_and_one_is_midnight():
    held = UserCounts.of_users(HOURS, [HOURS.encode([23.5, 0.5]), HOURS.encode([0.5]), HOURS.encode([23.5])])
    center = held.center(direction(HOURS))
    values = np.array([float(center.exact_entry(j)) for j in range(2)])
    mean, spread = planned(users=10**9).tables(Sample(values))["values"]
    assert min(mean["value"], 24 - mean["value"]) == pytest.approx(0.0, abs=1e-9)
    length = math.cos(math.pi / 24)  # both are 1/48 of a turn from midnight
    assert spread["value"] == pytest.approx(24 / (2 * math.pi) * math.sqrt(-2 * math.log(length)))


@pytest.mark.parametrize("noise", ["l2", "laplace", "gaussian"])
def test_intervals_cover_the_truth_and_not_much_more(noise):
    terms = Terms(HOURS, 200, given=Fraction(4), delta=Fraction(1, 10**6))
    plan = CircularMean(noise=noise).plan(terms)
    shares = np.exp(1.5 * np.cos((np.arange(24) - 21) * np.pi / 12))
    truth = np.asarray(plan.query.table.floats().T @ (shares / shares.sum())) * float(plan.query.step)
    center = UserCounts.of_users(HOURS, [[0]]).center(plan.query)
    source, zero = SeededSource(4), np.array([float(center.exact_entry(j)) for j in range(2)])
    noises = np.array([plan.noise.draw(center, source).values - zero for _ in range(800)])
    inside, angle, length, tight = 0, math.atan2(truth[1], truth[0]), math.hypot(*truth), 0
    for sample in truth + noises:
        mean, spread = plan.tables(Sample(sample))["values"]
        if mean["determined"]:
            gap = (mean["value"] - angle * 12 / math.pi + 12) % 24 - 12
            width = (mean["high_95"] - mean["value"] + 12) % 24 - 12
            good = abs(gap) <= width + 1e-9
        else:
            good = True
        true = 12 / math.pi * math.sqrt(-2 * math.log(length))
        high = math.inf if spread["high_95"] is None else spread["high_95"]
        inside += good and spread["low_95"] <= true <= high
        tight += math.hypot(*(sample - truth)) <= (plan.radius - math.pi * HOURS.snapping_upper) / 2
    assert inside >= 0.95 * 800 - 3 * math.sqrt(0.05 * 0.95 * 800)
    assert tight < 0.9 * 800  # half the radius would not do


def test_what_the_noise_may_have_turned_around_is_not_determined():
    plan = planned(users=20, alpha=1)
    rows = plan.tables(Sample(np.array([0.01, 0.0])))["values"]
    assert rows[0]["value"] is None
    assert rows[1]["high_95"] is None
    assert "not determined" in summary(plan, Sample(np.array([0.01, 0.0])))[0]
    assert warnings(plan)


def test_a_circular_mean_is_released_with_a_statement(tmp_path):
    rng = np.random.default_rng(2)
    hours = (22 + 2 * rng.standard_normal(400)) % 24
    data = read({"uid": list(range(400)), "hour": hours.tolist()}, user="uid", item="hour")
    study = Study("hours", ["all, 2 h, 1"], users=400, dataset="d", data=data, questions=["circular_mean"])
    result = study.release(ledger=Ledger.create(tmp_path / "d.ledger", study), out=tmp_path / "out")
    mean = result.rows()[0]
    assert abs((mean["value"] - 22 + 12) % 24 - 12) < 1.0
    assert "circular mean and spread" in statement_text(result.statement)
    assert all(check.holds for check in verify(tmp_path / "out", ledger=tmp_path / "d.ledger"))


def test_what_is_no_circle_is_refused():
    with pytest.raises(ParameterError, match="need a circle") as wrong:
        to_question("circular_mean").plan(Terms(Line(0, 1, step=0.1), 10, given=Fraction(1)))
    assert "mean" in wrong.value.fix
    with pytest.raises(ParameterError, match="in which a curator holds the data"):
        Study("hours", alpha=1, users=10, model="local").plan("circular_mean")


def test_densities_decode_to_maps():
    plan = Density(bandwidth="2 km").plan(Terms(Line(0, 10, unit="km", step=1, cells=True), 50, given=Fraction(3)))
    rng = np.random.default_rng(3)
    for _ in range(20):
        raw = rng.dirichlet(np.ones(plan.query.dimension)) + rng.laplace(0, 0.2, plan.query.dimension)
        rows = plan.tables(Sample(raw))["values"]
        shares = np.array([row["share"] for row in rows])
        assert [row["value"] for row in rows] == pytest.approx(raw.tolist())
        assert shares.min() >= 0.0
        assert shares.sum() == pytest.approx(1.0)
        low, high = raw.min() - 1, raw.max()  # a second way: the nearest map is max(raw - t, 0), t by halving
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if np.maximum(raw - middle, 0).sum() > 1 else (low, middle)
        assert shares == pytest.approx(np.maximum(raw - low, 0), abs=1e-9)


@pytest.mark.parametrize("drawn", [[0.01, 0.0], [0.3, 0.1]])
def test_a_report_shows_what_is_not_determined(drawn):
    study = Study("hours", ["all, 2 h, 0.2"], users=100, dataset="d", questions=["circular_mean"])
    plan, values = study.plan(), np.array([*drawn, study.plan().pair.weight])
    statement = make_statement(study, plan, entry=LedgerEntry(entry=1, key="k"))
    assert b"not determined" in release_files(statement, plan.tables(Sample(values)), plan)["report.html"]


def test_a_spread_that_may_be_nothing_starts_at_zero_and_not_at_minus_zero():
    plan = CircularMean().plan(Terms(Circle.hours(), 10_000, given=Fraction(25)))
    low = plan.tables(Sample(np.array([1.0, 0.0])))["values"][1]["low_95"]
    assert (low, math.copysign(1.0, low)) == (0.0, 1.0)


def test_circular_mean_plan():
    plan = CircularMean().plan(Terms(Circle.hours(), 10_000, given=Fraction(25)))
    assert plan.description == "the circular mean and spread of people's items (h)"
    assert plan.radius < 0.15


def test_a_mean_around_midnight_is_released(tmp_path):
    """Its interval goes through 0: in tables as hours of the day, in the report's figure around its value."""
    hours = np.mod(np.random.default_rng(3).normal(0.0, 1.0, 400), 24.0)
    data = read({"uid": np.arange(400), "hour": hours}, user="uid", item="hour")
    study = Study(Circle.hours(1), ["1 of 10, anywhere, 1"], users=400, dataset="hours", data=data)
    ledger = Ledger.create(tmp_path / "hours.ledger", study)
    release = study.release("circular_mean", ledger=ledger, out=tmp_path / "out")
    row = release.rows()[0]
    assert row["low_95"] > 22.0
    assert row["high_95"] < 2.0
    assert (tmp_path / "out" / "report.html").stat().st_size > 1000
    assert release.intervals().style["low"][0] > 22.0  # what the folder holds stays as hours of the day
