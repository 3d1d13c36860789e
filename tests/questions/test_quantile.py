"""Quantiles: intervals that hold the truth, from data to statement; and what cannot be asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.queries import tree_edges
from barrow.queries.edges import run_starts
from barrow.questions import Quantile, to_question
from barrow.spaces import Discrete, Line
from barrow.study import Study, explain, read, verify

AGES = Line(0, 100, unit="years", step=1)


def counts_of(ages):
    items, times = np.unique(AGES.encode(ages), return_counts=True)
    return Counts(items, np.ones(len(items), dtype=np.int64), times, users=len(ages))


@pytest.mark.parametrize("every", [1, 3, 7, "auto"])
@pytest.mark.parametrize("spread", ["one value", "two values", "many"])
def test_intervals_hold_the_true_quantile(spread, every):
    rng = np.random.default_rng(4)
    ages = {
        "one value": np.full(400, 30),
        "two values": np.repeat([20, 70], [240, 160]),
        "many": rng.integers(10, 90, 400),
    }
    held = ages[spread]
    plan = Study(AGES, alpha=20, users=400).plan(Quantile(of=["0.25", "0.5", "0.9"], every=every))
    statistics = plan.statistics(counts_of(held))
    true = [np.sort(held)[int(np.ceil(q * len(held))) - 1] for q in (0.25, 0.5, 0.9)]
    covered, near = 0, []
    for _ in range(120):
        rows = plan.tables(plan.draw(statistics)[0])["values"]
        covered += all(row["low_95"] - 1e-9 <= x <= row["high_95"] + 1e-9 for row, x in zip(rows, true, strict=True))
        near.append(abs(rows[1]["value"] - true[1]))
    assert covered >= 0.93 * 120
    assert np.median(near) <= (3 if every == 1 else 4)
    assert all(row["low_95"] <= row["value"] <= row["high_95"] for row in rows)


def test_fewer_values_make_narrower_intervals_where_noise_is_large():
    study = Study(AGES, alpha=4, users=800)
    fine, chosen = study.plan(Quantile(every=1)), study.plan("median")
    assert chosen.question.every > 1
    assert chosen.error < fine.error / 2
    assert Study(AGES, alpha=25, users=100_000).plan("median").question.every == 1
    for every in (2, 3, 4, 8, 12):  # what a formula leaves out is not better
        assert chosen.error <= study.plan(Quantile(every=every)).error


@pytest.mark.parametrize("every", [1, 2, 3, 9])
@pytest.mark.parametrize("points", [[0, 1, 2, 4, 7, 7.5, 10], list(range(11))])
def test_values_of_runs_have_the_constant_one_and_lie_between_the_shares(points, every):
    line = Line(0, 10, points=points)
    query = tree_edges(line, every=every)
    values = query.table.integers
    values = np.asarray(values.toarray() if query.table.sparse else values) * float(query.step)
    apart = line.block()
    for p in (1, 2, np.inf):
        steep = max(
            np.linalg.norm(values[a] - values[b], ord=p) / apart[a, b] for a in range(len(points)) for b in range(a)
        )
        assert steep <= query.lipschitz_upper(p)
        assert max(np.linalg.norm(x - y, ord=p) for x in values for y in values) <= query.range_upper(p)
    assert query.lipschitz_upper(1) < 1 + 1e-9
    starts = run_starts(len(points) - 1, every)
    ends = np.append(starts[1:], len(points) - 1)
    lengths = np.add.reduceat(np.diff(points) / 10, starts)
    shares = np.random.default_rng(1).dirichlet(np.ones(len(points)))
    below = np.cumsum(shares)
    mean = shares @ values / lengths
    assert (mean >= below[starts] - 1e-9).all()
    assert (mean <= below[ends - 1] + 1e-9).all()


def test_from_records_to_a_verified_statement(tmp_path):
    columns = {"uid": list(range(300)), "age": [20 + i % 50 for i in range(300)]}
    study = Study(
        AGES, ["all, 5 years, 2"], users=300, dataset="ages", questions=["quantile(of=[0.1, 0.5])"],
        data=read(columns, user="uid", item="age"), ledger=str(tmp_path / "ages.ledger"),
    )  # fmt: skip
    Ledger.create(str(study.ledger), study)
    result = study.release(out=tmp_path / "out")
    assert all(check.holds for check in verify(tmp_path / "out"))
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
    study = Study(AGES, alpha=20, users=5000, questions=["median", "histogram"])
    assert study.question("median").shares == Quantile().shares
    with pytest.raises(ParameterError, match="Did you mean 'median'") as told:
        study.question("medain")
    assert told.value.fix == "median"


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "many"])
def test_runs_that_are_none_are_refused(wrong):
    with pytest.raises(ParameterError):
        Quantile(every=wrong)
    with pytest.raises(ParameterError):
        tree_edges(Discrete(["a", "b", "c"]), every=2)


@pytest.mark.parametrize("wrong", [0, 1, "1.5", [], ["0.5", 2], "half"])
def test_shares_that_are_none_are_refused(wrong):
    with pytest.raises(ParameterError):
        Quantile(of=wrong)


def test_only_lines_and_only_held_data():
    with pytest.raises(ParameterError, match="asked of a line"):
        Study(Discrete(["a", "b"]), alpha=5, users=10).plan("quantile")
    with pytest.raises(ParameterError, match="already held"):
        Study(AGES, alpha=5, users=10, model="local").plan("quantile")


def test_an_interval_of_one_whole_number_is_compared_too():
    ages = Line(0, 100, unit="years", step=1, whole=True)
    study = Study(ages, ["all, 5 years, 1"], users=100_000)
    plan = study.plan("median")
    assert plan.error == 0.0
    assert "about the same error" in str(plan)
    assert "about the same error" in study.compare("median").sentence
    some = study.replace(users=10_000, promises=["all, 5 years, 0.5"]).plan("median")
    assert some.error > 0.0
    assert some.versus.line.endswith("no error")


def test_user_level_dp_has_as_many_values_as_are_best_for_it():
    study = Study(Line(0, 100, unit="years", step=1, whole=True), ["all, 5 years, 0.5"], users=1083)
    terms = study.terms(study.question("median"))
    rival = Quantile(definition="user_level")
    best = min(replace(rival, every=every)._alone(terms).error for every in (1, 2, 3, 4, 6, 8, 12, 16))
    assert rival._alone(terms).error == best
