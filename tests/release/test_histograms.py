"""Histograms, frequencies and samples through study, plan, engine, ledger, statement and command line."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from barrow.accounting import price
from barrow.cli.main import main
from barrow.engines import Source
from barrow.errors import DataError, ParameterError
from barrow.ledger import Budget, Ledger, SpaceRef
from barrow.policy import Promise
from barrow.privacy import DiscreteEmd, Emd, SampledItems, ShuffledReports
from barrow.release import Study, explain, make_plan, run_release, verify
from barrow.release.frequency import FrequencyPlan
from barrow.release.histogram import HistogramPlan
from barrow.spaces import Clustered, Earth, Euclidean, Finite, Line
from barrow.transport import emd

SPACE = Clustered.grid(4, 5, r=0.1)
USERS, ITEMS = 200, 10
PROMISES = (Promise("1/10", "0.5", "1"), Promise("all", "0.1", "3"))


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


def make_study(folder, query, sizes=None, **changes):
    truth = write_items(folder / "items.csv", [ITEMS] * USERS if sizes is None else sizes)
    study = Study(
        SPACE,
        alpha=Fraction(20),
        delta=Fraction(1, 10**6),
        query=query,
        source=Source.parse(folder / "items.csv"),
        user="uid",
        items=("what",),
        dataset="things",
        users=USERS,
        ledger=str(folder / "things.ledger"),
        out=str(folder / "out"),
    )
    return replace(study, **changes), truth


def make_ledger(study, limit=None, items=None):
    limit = Emd(100, "1e-3", model="central", bounded=items is not None) if limit is None else limit
    return Ledger.create(str(study.ledger), Budget("things", USERS, SpaceRef.of(study.space), limit, items=items))


def uneven():
    return [1 + (7 * i) % 23 for i in range(USERS)]


def test_a_histogram_takes_people_of_all_sizes_and_is_as_accurate_as_planned(tmp_path):
    study, truth = make_study(tmp_path, {"kind": "histogram"}, uneven())
    ledger = make_ledger(study)
    plan = make_plan(study)
    assert isinstance(plan, HistogramPlan)
    assert plan.chosen.name == "tree"
    result = run_release(study, ledger=ledger)
    assert result.values.sum() == pytest.approx(1.0)
    assert (result.values >= 0).all()
    assert float(emd(SPACE, result.values, truth)) < 4 * plan.error
    assert float(emd(SPACE, result.values, truth)) <= plan.chosen.upper
    assert all(check.holds for check in verify(tmp_path / "out"))
    said = json.loads((tmp_path / "out" / "statement.json").read_text())
    assert said["kind"] == "histogram"
    assert "earth mover" in result.text
    assert "decoded" in explain(said)
    assert ledger.left().loss == 80


def test_its_unbiased_shares_are_unbiased_and_covered(tmp_path):
    study, truth = make_study(tmp_path, {"kind": "histogram"}, uneven())
    plan = make_plan(study)
    engine_counts = __import__("barrow.engines", fromlist=["engine_for"]).engine_for(study.source)
    counts = engine_counts.count(study.source, study.columns, SPACE)
    center = plan.statistics(counts, USERS)
    exact = (plan.made.matrix @ truth) * plan.made.factors
    covered, means = [], []
    for _ in range(60):
        drawn, private = plan.draw(center)
        assert private
        rows = plan.intervals(drawn)
        low, high = np.array([r["low_95"] for r in rows]), np.array([r["high_95"] for r in rows])
        covered.append(((low <= exact + 1e-9) & (exact <= high + 1e-9)).mean())
        means.append([r["share"] for r in rows])
    assert 0.93 < np.mean(covered) <= 1.0
    spread = plan.noise.deviation * plan.made.factors / np.sqrt(60)
    assert (np.abs(np.mean(means, axis=0) - exact) < 6 * spread).all()


@pytest.mark.parametrize(
    ("space", "names"),
    [
        (Line(0, 20, unit="km", step=1), {"tree", "pyramid", "cells"}),
        (Euclidean([0, 0], [4, 4], step=0.5, unit="km"), {"pyramid", "cells"}),
        (Earth(box=(40, -75, 41, -73), cell=30), {"pyramid", "cells"}),
        (Finite(["a", "b", "c"], [[0, 1, 3], [1, 0, 2], [3, 2, 0]], unit="steps"), {"cells"}),
    ],
)
def test_every_space_has_a_mechanism(space, names):
    plan = make_plan(Study(space, alpha=Fraction(25), query={"kind": "histogram"}, users=1000))
    assert {candidate.name for candidate in plan.candidates} == names
    assert plan.chosen is plan.candidates[0]
    assert space.unit in "\n".join(plan.lines())
    told = plan.to_json()
    assert set(told["cannot_answer"]) | names >= {"tree", "pyramid", "cells", "frequency"}
    assert set(told["why_others_lose"]) == names - {plan.chosen.name}
    forced = make_plan(Study(space, alpha=Fraction(25), query={"kind": "histogram", "mechanism": "cells"}, users=1000))
    assert forced.chosen.name == "cells"


def test_the_chosen_mechanism_is_what_is_released_and_in_the_law(tmp_path):
    one, _ = make_study(tmp_path, {"kind": "histogram"})
    two = replace(one, query={"kind": "histogram", "mechanism": "cells"})
    assert make_plan(one).law_parameters() != make_plan(two).law_parameters()
    assert make_plan(two).query.kind == "histogram"


def test_a_useless_promise_is_warned_of_with_what_would_help():
    plan = make_plan(Study(SPACE, alpha=Fraction(1, 100), query={"kind": "histogram"}, users=20))
    assert "nearly useless" in str(plan)
    assert "More people, a coarser space or a larger epsilon" in plan.to_json()["warnings"][0]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"kind": "histogram", "mechanism": "magic"}, "'tree'"),
        ({"kind": "histogram", "mechanism": "paper"}, "frequency"),
        ({"kind": "histogram", "mechanism": "frequency"}, "public number of items"),
        ({"kind": "histogram", "bandwidth": 1}, "no key 'bandwidth'"),
        ({"kind": "histogram", "items": 0}, "items is 0"),
        ({"kind": "histogram", "reference": "mine"}, "'zipf'"),
        ({"kind": "frequency"}, "how many items"),
        ({"kind": "frequency", "items": 10, "samples": 5}, "remove items"),
        ({"kind": "items", "samples": 0}, "samples"),
        ({"kind": "items", "radius": "0.1", "items": 3}, "no samples"),
    ],
)
def test_questions_that_cannot_be_asked_say_what_can(query, words):
    with pytest.raises(ParameterError) as caught:
        make_plan(Study(SPACE, alpha=Fraction(20), delta=Fraction(1, 10**6), query=query, users=100))
    assert words in str(caught.value)


def test_frequencies_are_released_with_their_reports(tmp_path):
    study, truth = make_study(tmp_path, {"kind": "frequency", "items": ITEMS})
    ledger = make_ledger(study, items=ITEMS)
    plan = make_plan(study)
    assert isinstance(plan, FrequencyPlan)
    assert isinstance(plan.event, ShuffledReports)
    assert plan.event.randomiser.startswith("gkrr:4x5:")
    assert plan.guarantee.method == "blanket"
    result = run_release(study, ledger=ledger)
    assert int(result.drawn.sum()) == USERS * ITEMS
    assert float(emd(SPACE, result.values, truth)) < 5 * plan.error
    rows = list(csv.DictReader((tmp_path / "out" / "values.csv").read_text().splitlines()))
    assert sum(float(row["unbiased"]) for row in rows) == pytest.approx(1.0)
    reports = csv.DictReader((tmp_path / "out" / "reports.csv").read_text().splitlines())
    assert sum(int(row["count"]) for row in reports) == 2000
    assert all(check.holds for check in verify(tmp_path / "out"))
    assert "undoing the randomiser" in explain(result.statement)
    with pytest.raises(DataError, match="exactly the public number"):
        run_release(make_study(tmp_path, {"kind": "frequency", "items": ITEMS}, uneven(), out=None)[0], ledger=ledger)


@pytest.mark.parametrize("kind", ["items", "frequency"])
def test_samples_hide_sizes_and_keep_every_promise(tmp_path, kind):
    query = {"kind": kind, "samples": 50}
    study, truth = make_study(tmp_path, query, uneven(), alpha=None, promises=PROMISES)
    plan = make_plan(study)
    assert isinstance(plan.event, SampledItems)
    assert plan.items is None
    assert plan.samples == 50
    result = run_release(study, ledger=make_ledger(study, DiscreteEmd(10, "1e-3", radius="0.1")))
    assert int(result.drawn.sum()) == USERS * 50
    asked = [float(p.epsilon) for p in PROMISES]
    assert all(row["epsilon"] <= e for row, e in zip(result.statement["protected"], asked, strict=True))
    assert result.statement["alpha"] is None
    assert "drawn from each" in result.text
    assert all(check.holds for check in verify(tmp_path / "out"))
    assert "with replacement" in explain(result.statement)
    if kind == "frequency":
        assert float(emd(SPACE, result.values, truth)) < 6 * plan.error
        assert "samples per person" in str(plan)
        assert [row["samples"] for row in plan.to_json()["samples_table"]["rows"]] == [10, 50, 250]


def test_samples_pay_in_alpha(tmp_path):
    study, _ = make_study(tmp_path, {"kind": "items", "samples": 50}, uneven(), alpha=None, promises=PROMISES)
    ledger = make_ledger(study)
    run_release(study, ledger=ledger)
    paid = price(make_plan(study).event.at(None)).definition
    assert 0 < paid.alpha < 100
    assert ledger.left().loss == 100 - paid.alpha


def test_what_cannot_be_asked_is_refused_before_anything_is_read(tmp_path, monkeypatch):
    study, _ = make_study(tmp_path, {"kind": "histogram", "mechanism": "magic"}, users=None)
    monkeypatch.setattr("barrow.engines.DuckDBEngine.count", lambda *a, **k: pytest.fail("read"))
    with pytest.raises(ParameterError):
        run_release(study, ledger=make_ledger(study))


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return done.value.code or 0, out, err


COMPARE = ["compare", "--space", "clustered(shape=[4, 5], r=0.1)", "--users", "1000"]
COMPARE += ["--alpha", "20", "--delta", "1e-6"]


def test_compare_shows_all_mechanisms_and_user_level_dp(capsys):
    code, out, _ = run(capsys, *COMPARE, "--query", "histogram", "--held", "10", "--eps", "1", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["candidates"][0]["name"] == told["choice"] == "tree"
    assert {c["name"] for c in told["candidates"]} == {"tree", "cells", "frequency", "paper"}
    errors = [c["error"] for c in told["candidates"]]
    assert errors == sorted(errors)
    assert told["user_level"][0]["epsilon"] == 1.0
    assert 1 <= told["crossovers"][0]["measured_alpha"] < 20
    assert told["sentence"].endswith("user-level DP that was asked for (ε = 1).")
    assert told["crossovers"][0]["paper_rule"]["alpha"] > 0
    code, out, _ = run(capsys, *COMPARE, "--query", "histogram", "--quiet")
    assert (code, out.strip()) == (0, "tree")


def test_compare_reads_promises_and_says_when_emd_dp_is_wrong(capsys):
    asked = ["--space", "line(low=0, high=100, unit='years', step=1)", "--users", "1000", "--query", "mean"]
    code, out, _ = run(capsys, "compare", *asked, "--promise", "all, 100 years, 1", "--eps", "1")
    assert code == 0
    assert "all data by 100 years" in out
    assert "EMD-DP is the wrong choice" in out
    code, out, _ = run(capsys, "compare", *asked, "--promise", "1/50, 5 years, 0.1", "--eps", "0.1")
    assert "wrong choice for these promises" not in out
    assert "Section 6.1" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "--space", "earth", "--alpha", "5", "--users", "10"], "--query"),
        (["compare", "--space", "earth", "--alpha", "5", "--query", "mean"], "--users"),
        ([*COMPARE, "--query", "histogram", "--eps", "-1"], "epsilon"),
        ([*COMPARE, "--query", "histogram", "--reference", "mine"], "zipf"),
    ],
)
def test_compare_teaches(capsys, arguments, words):
    code, _, err = run(capsys, *arguments)
    assert code == 1
    assert words in err
