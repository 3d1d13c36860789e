"""Histograms, frequencies and samples through study, plan, engine, ledger, statement and command line."""

from __future__ import annotations

import csv
import json
from fractions import Fraction

import numpy as np
import pytest

from barrow.accounting import epsilon_at
from barrow.cli.main import main
from barrow.errors import DataError, ParameterError
from barrow.ledger import Budget, Ledger, SpaceRef
from barrow.ledger.promises import Price
from barrow.numerics import float_up
from barrow.promises import Emd, GaussianNoise, SampledItems, ShuffledReports
from barrow.questions.frequency import FrequencyAnswer
from barrow.questions.histogram_answer import HistogramAnswer
from barrow.questions.plan_text import answer_json, plan_lines
from barrow.questions.prices import charges
from barrow.questions.releasing import held_by_each, parameters
from barrow.spaces import Clustered, Earth, Euclidean, Finite, Line
from barrow.study import Study, explain, read, read_statement, verify
from barrow.transport import emd

SPACE = Clustered.grid(4, 5, r=0.1)
USERS, ITEMS = 200, 10
PROMISES = ["1/10, 0.5, 1", "all, 0.1, 3"]


def write_items(path, sizes):
    """Everybody holds items of their own; returns the mean over people of their histograms."""
    rng = np.random.default_rng(5)
    truth = np.zeros(SPACE.items)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["uid", "what"])
        for user, size in enumerate(sizes):
            held = np.minimum(rng.zipf(1.5, size), SPACE.items) - 1
            truth += np.bincount(held, minlength=SPACE.items) / size
            writer.writerows([f"p{user}", SPACE.labels[x]] for x in held)
    return truth / len(sizes)


def make_study(folder, question, sizes=None, **changes):
    truth = write_items(folder / "items.csv", [ITEMS] * USERS if sizes is None else sizes)
    study = Study(
        SPACE,
        alpha=20,
        delta=1e-6,
        users=USERS,
        dataset="things",
        questions=[question],
        data=read(str(folder / "items.csv"), user="uid", item="what"),
        ledger=str(folder / "things.ledger"),
    )
    return study.replace(**changes), truth


def make_ledger(study, limit=None, items=None):
    limit = Emd(100, "1e-3", model="central", bounded=items is not None) if limit is None else limit
    return Ledger.create(str(study.ledger), Budget("things", USERS, SpaceRef.of(study.space), limit, items=items))


def uneven():
    return [1 + (7 * i) % 23 for i in range(USERS)]


def test_a_histogram_takes_people_of_all_sizes_and_is_as_accurate_as_planned(tmp_path):
    study, truth = make_study(tmp_path, {"kind": "histogram"}, uneven())
    ledger = make_ledger(study)
    plan = study.plan()
    assert isinstance(plan, HistogramAnswer)
    assert plan.chosen.name == "tree"
    result = study.release(ledger=ledger, out=tmp_path / "out")
    (missing,) = result.tables["no_records"]
    outcome = np.append(result.values, missing["share"])
    assert outcome.sum() == pytest.approx(1.0)
    assert (outcome >= 0).all()
    assert float(emd(plan.terms.space, outcome, np.append(truth, 0.0))) < 4 * plan.error
    assert float(emd(plan.terms.space, outcome, np.append(truth, 0.0))) <= plan.chosen.upper
    assert all(check.holds for check in verify(tmp_path / "out", ledger=study.ledger))
    statement = read_statement(tmp_path / "out")
    assert statement.kind == "histogram"
    assert "earth mover" in result.text
    assert "decoded" in explain(statement)
    assert ledger.left().loss == 80


def test_its_unbiased_shares_are_unbiased_and_covered(tmp_path):
    study, truth = make_study(tmp_path, {"kind": "histogram"}, uneven())
    plan = study.plan()
    center = plan.statistics(study.data.count(study.data.engine(), plan.terms.space, USERS))
    exact = (plan.mechanism.matrix @ np.append(truth, 0.0)) * plan.mechanism.factors
    covered, means = [], []
    for _ in range(60):
        sample = plan.draw(center)
        assert sample.private
        rows = plan.tables(sample)["unbiased"]
        low, high = np.array([r["low_95"] for r in rows]), np.array([r["high_95"] for r in rows])
        covered.append(((low <= exact + 1e-9) & (exact <= high + 1e-9)).mean())
        means.append([r["share"] for r in rows])
    assert 0.93 < np.mean(covered) <= 1.0
    spread = plan.noise.deviation * plan.mechanism.factors / np.sqrt(60)
    assert (np.abs(np.mean(means, axis=0) - exact) < 6 * spread).all()


@pytest.mark.parametrize(
    ("space", "names"),
    [
        (Line(0, 20, unit="km", step=1, cells=True), {"edges", "tree", "multiscale", "cells"}),
        (Euclidean([0, 0], [4, 4], step=0.5, unit="km"), {"edges", "multiscale", "cells"}),
        (Earth(box=(40, -75, 41, -73), cell=30), {"edges", "multiscale", "cells"}),
        (Finite(["a", "b", "c"], [[0, 1, 3], [1, 0, 2], [3, 2, 0]], unit="steps"), {"edges", "cells"}),
    ],
)
def test_every_space_has_a_mechanism(space, names):
    alone = {"edges", "cells"}  # of people without records too
    assert {c.name for c in Study(space, alpha=25, users=1000).plan("histogram").candidates} == alone
    plan = Study(space, alpha=25, users=1000, missing="default item").plan("histogram")
    assert {candidate.name for candidate in plan.candidates} == names
    assert plan.chosen is plan.candidates[0]
    assert space.unit in "\n".join(plan_lines(plan))
    told = answer_json(plan)
    assert set(told["cannot_answer"]) | names >= {"tree", "multiscale", "cells", "frequency"}
    assert set(told["why_others_lose"]) == names - {plan.chosen.name}
    forced = Study(space, alpha=25, users=1000).plan("histogram(mechanism='cells')")
    assert forced.chosen.name == "cells"


def test_the_chosen_mechanism_is_what_is_released_and_among_the_parameters(tmp_path):
    one, _ = make_study(tmp_path, {"kind": "histogram"})
    two = one.replace(questions=["histogram(mechanism='cells')"])
    assert parameters(one.plan()) != parameters(two.plan())
    assert two.plan().query.kind == "histogram"


def test_a_useless_promise_is_warned_of_with_what_would_help():
    plan = Study(SPACE, alpha="0.01", users=20).plan("histogram")
    assert "nearly useless" in str(plan)
    assert "would" in answer_json(plan)["warnings"][0]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"kind": "histogram", "mechanism": "magic"}, "'tree'"),
        ({"kind": "histogram", "mechanism": "paper"}, "frequency"),
        ({"kind": "histogram", "mechanism": "frequency"}, "public number of items"),
        ({"kind": "histogram", "bandwidth": 1}, "no option 'bandwidth'"),
        ({"kind": "histogram", "items": 0}, "items is 0"),
        ({"kind": "histogram", "reference": "mine"}, "'zipf'"),
        ({"kind": "frequency"}, "lacks the number of items"),
        ({"kind": "frequency", "items": 10, "samples": 5}, "remove items"),
        ({"kind": "items", "samples": 0}, "samples"),
        ({"kind": "items", "radius": "0.1", "items": 3}, "no option 'radius'"),
    ],
)
def test_questions_that_cannot_be_asked_say_what_can(query, words):
    with pytest.raises(ParameterError) as caught:
        Study(SPACE, alpha=20, delta=1e-6, users=100).plan(query)
    assert words in str(caught.value)


def test_frequencies_are_released_with_their_reports(tmp_path):
    study, truth = make_study(tmp_path, {"kind": "frequency", "items": ITEMS})
    ledger = make_ledger(study, items=ITEMS)
    plan = study.plan()
    assert isinstance(plan, FrequencyAnswer)
    assert isinstance(plan.event, ShuffledReports)
    assert plan.event.randomiser.startswith("gkrr:4x5:")
    assert plan.guarantee.method == "blanket"
    result = study.release(ledger=ledger, out=tmp_path / "out")
    assert sum(row["count"] for row in result.tables["reports"]) == USERS * ITEMS
    assert float(emd(SPACE, result.values, truth)) < 5 * plan.error
    rows = list(csv.DictReader((tmp_path / "out" / "values.csv").read_text().splitlines()))
    assert sum(float(row["unbiased"]) for row in rows) == pytest.approx(1.0)
    reports = csv.DictReader((tmp_path / "out" / "reports.csv").read_text().splitlines())
    assert sum(int(row["count"]) for row in reports) == 2000
    assert all(check.holds for check in verify(tmp_path / "out", ledger=study.ledger))
    assert "inverting the randomiser" in explain(result.statement)
    with pytest.raises(DataError, match="exactly the public number"):
        make_study(tmp_path, {"kind": "frequency", "items": ITEMS}, uneven())[0].release(ledger=ledger, key="other")


def one_price(plan, ledger, result):
    """Plan, candidate, statement and ledger say one epsilon at each promise, and it is within the promise."""
    charged = charges(plan)
    spent = [balance.spent.loss for balance in ledger.balances()]
    assert spent == list(Price(charged, plan.guarantee.delta).epsilons)
    assert [row.epsilon for row in result.statement.protected] == [float_up(epsilon) for epsilon in charged]
    for epsilon, promised, subset in zip(charged, plan.terms.epsilons, plan.terms.satisfied, strict=True):
        assert epsilon <= promised
        assert epsilon == epsilon_at(plan.event, subset.share, subset.reach, plan.guarantee.delta)
        # never more than what the definition alone says of that EMD, and for all but Laplace noise less
        assert epsilon < plan.alpha * subset.share * subset.reach * (1 + Fraction(1, 10**9))


def test_gaussian_noise_is_charged_what_its_event_costs(tmp_path):
    question = {"kind": "histogram", "mechanism": "cells", "noise": "gaussian"}
    study, _ = make_study(tmp_path, question, alpha=None, promises=PROMISES)
    ledger = Ledger.create(str(study.ledger), study)
    plan = study.plan()
    assert isinstance(plan.event, GaussianNoise)
    result = study.release(ledger=ledger, out=tmp_path / "out")
    one_price(plan, ledger, result)
    assert [float_up(e) for e in charges(plan)] == [
        plan.chosen.epsilon_at(k.share, k.reach) for k in plan.terms.satisfied
    ]
    assert max(c / e for c, e in zip(charges(plan), plan.terms.epsilons, strict=True)) > 1 - Fraction(1, 10**9)
    assert all(check.holds for check in verify(tmp_path / "out", ledger=study.ledger))


@pytest.mark.parametrize("kind", ["items", "frequency"])
def test_samples_hide_sizes_and_keep_every_promise(tmp_path, kind):
    study, truth = make_study(tmp_path, {"kind": kind, "samples": 50}, uneven(), alpha=None, promises=PROMISES)
    plan = study.plan()
    assert isinstance(plan.event, SampledItems)
    assert held_by_each(plan).items is None
    assert held_by_each(plan).samples == 50
    assert not plan.guarantee.definition.bounded
    ledger = Ledger.create(str(study.ledger), study)
    result = study.release(ledger=ledger, out=tmp_path / "out")
    one_price(plan, ledger, result)
    assert "drawn from each" in result.text
    assert all(check.holds for check in verify(tmp_path / "out", ledger=study.ledger))
    assert "with replacement" in explain(result.statement)
    if kind == "frequency":
        assert float(emd(SPACE, result.values, truth)) < 6 * plan.error
    else:
        assert int(result.values.sum()) == USERS * 50


def test_samples_pay_in_alpha(tmp_path):
    study, _ = make_study(tmp_path, {"kind": "items", "samples": 50}, uneven())
    ledger = make_ledger(study)
    study.release(ledger=ledger)
    assert 80 <= ledger.left().loss < 81


def test_a_histogram_that_randomised_items_win_keeps_its_name_and_fraction():
    study = Study(
        SPACE,
        alpha=20,
        delta=1e-6,
        users=200,
        questions=["histogram(mechanism='frequency', items=10, name='h', fraction='1/2')"],
    )
    plan = study.plan()
    assert isinstance(plan, FrequencyAnswer)
    assert plan.question.label == "h"
    assert plan.terms.fraction == plan.question.fraction


def test_what_cannot_be_asked_is_refused_before_anything_is_read(tmp_path, monkeypatch):
    study, _ = make_study(tmp_path, {"kind": "histogram", "mechanism": "magic"})
    monkeypatch.setattr("barrow.engines.DuckDBEngine.count", lambda *a, **k: pytest.fail("read"))
    with pytest.raises(ParameterError):
        study.release(ledger=make_ledger(study))


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return done.value.code or 0, out, err


COMPARE = ["compare", "--space", "clustered(shape=[4, 5], r=0.1)", "--users", "1000"]
COMPARE += ["--alpha", "20", "--delta", "1e-6", "--missing", "default item"]


def test_compare_shows_all_mechanisms_and_user_level_dp(capsys):
    code, out, _ = run(capsys, *COMPARE, "--query", "histogram", "--held", "10", "--eps", "1", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["candidates"][0]["name"] == told["choice"] == "tree"
    assert {c["name"] for c in told["candidates"]} == {"tree", "cells", "frequency", "paper"}
    errors = [c["error"] for c in told["candidates"]]
    assert errors == sorted(errors)
    assert told["user_level"][0]["epsilon"] == 1.0
    assert 1 <= told["user_level"][0]["crossover_alpha"] < 20
    assert told["sentence"].endswith("user-level DP that was asked for (ε = 1).")
    assert told["user_level"][0]["paper_rule"]["alpha"] > 0
    code, out, _ = run(capsys, *COMPARE, "--query", "histogram", "--quiet")
    assert (code, out.strip()) == (0, "tree")


def test_compare_reads_promises_and_says_when_emd_dp_is_wrong(capsys):
    texts = ["--space", "line(low=0, high=100, unit='years', step=1, cells=True)", "--users", "1000", "--query", "mean"]
    code, out, _ = run(capsys, "compare", *texts, "--promise", "all, 100 years, 1", "--eps", "1")
    assert code == 0
    assert "all data by 100 years" in out
    assert "EMD-DP is the wrong choice" in out
    code, out, _ = run(capsys, "compare", "--verbose", *texts, "--promise", "1/50, 5 years, 0.1", "--eps", "0.1")
    assert "wrong choice for these promises" not in out
    assert "Section 6.1" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "--space", "earth", "--alpha", "5", "--users", "10"], "--question"),
        (["compare", "--space", "earth", "--alpha", "5", "--query", "mean"], "--users"),
        ([*COMPARE, "--query", "histogram", "--eps", "-1"], "epsilon"),
        ([*COMPARE, "--query", "histogram", "--reference", "mine"], "zipf"),
    ],
)
def test_compare_teaches(capsys, arguments, words):
    code, _, err = run(capsys, *arguments)
    assert code == 1
    assert words in err


def test_a_study_about_people_of_m_items_makes_a_ledger_that_pays_for_them(tmp_path):
    study, _ = make_study(tmp_path, {"kind": "frequency", "items": ITEMS}, alpha=None, promises=PROMISES)
    ledger = Ledger.create(str(study.ledger), study)
    result = study.release(ledger=ledger)
    one_price(study.plan(), ledger, result)
    assert study.replace(questions=["histogram"]).budget.items is None
