"""EMD-DP against user-level DP: the epsilon that keeps the promises, sentences, crossovers, predicted errors."""

import math
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats

import barrow as bw
from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms.frequency import whole_counts
from barrow.noise.source import SeededSource
from barrow.planning.candidates import Candidate
from barrow.planning.comparing import as_user_level, beside_user_level, crossover
from barrow.planning.comparison import PROMISES, REQUEST, WORST, Comparison
from barrow.planning.linear import errors_within, shuffled_epsilon0, user_level_errors
from barrow.planning.terms import Terms
from barrow.planning.user_level import user_level_histograms
from barrow.promises import Emd, Guarantee, Policy, ShuffledReports, UserLevel
from barrow.queries import function, mean
from barrow.questions.prices import charges
from barrow.spaces import Circle, Clustered, Discrete, Euclidean, Line, Product
from barrow.transport import emd
from tests.planning.targets import compare, histogram_candidates, target

GRID = Clustered.grid(4, 5, r=0.1)
WHERE_WHEN = Product([Euclidean([0, 0], [20, 20], step=2.5), Circle.hours(3)], weights=["1/2", "1/2"])
TRIPLES = [("1/10", "0.5", "0.4"), ("all", "0.05", "0.3")]


def test_user_level_dp_keeps_every_promise_at_the_smallest_epsilon():
    result = compare(GRID, users=2000, promises=TRIPLES)
    first = result.baselines[0]
    assert (first.why, first.epsilon) == (PROMISES, Fraction(3, 10))
    assert result.alpha == Policy(GRID, TRIPLES).alpha_exact
    for _, w, _, request in result.changes:
        assert first.best.guarantee.epsilon_at(w) <= request * (1 + 1e-12)
    assert result.lines()[0] == result.sentence
    than = "less error than user-level DP that keeps the same promises (ε = 0.3)."
    assert result.sentence == f"{result.ratio:.1f} times {than}"
    assert result.better is result.choice
    told = result.to_json()
    assert (told["sentence"], told["ratio"]) == (result.sentence, result.ratio)


def test_what_a_promise_costs_is_what_the_plan_says():
    """Noise on the cells' shares pays for the share that changes, not for how far it moves."""
    study = bw.Study(WHERE_WHEN, ["1 of 10, 0.2, 0.5", "all, 0.2, 4"], users=400)
    plan, result = study.plan("histogram"), study.compare("histogram")
    assert plan.chosen.name == result.choice.name == "cells"
    assert [result.choice.epsilon_at(w, share) for _, w, share, _ in result.changes] == pytest.approx(
        [float(epsilon) for epsilon in charges(plan)]
    )
    for candidate in (*result.candidates, *result.baselines[0].candidates):
        for _, w, share, request in result.changes:
            assert candidate.epsilon_at(w, share) <= request * (1 + 1e-12), candidate.name


def test_a_crossing_that_was_not_looked_for_is_not_said():
    wide = Euclidean([0, 0], [60, 60], step=1)
    result = bw.Study(wide, ["1 of 10, 0.05, 0.5"], users=1000).compare("histogram")
    assert result.baselines[0].crossover is None
    assert result.ratio > 1
    assert not any("no known α below" in line for line in result.lines())


def test_it_is_honest_the_other_way_round():
    result = compare(WHERE_WHEN, users=1000, promises=["all, anywhere, 1"])
    assert result.ratio < 1 / 1.05
    assert result.sentence.startswith("User-level DP that keeps the same promises (ε = 1) has ")
    assert result.sentence.endswith("less error. A plan chooses that.")
    assert result.better.user_level
    assert any("wrong choice" in line for line in result.warnings())


@pytest.mark.parametrize("model", ["central", "local"])
def test_at_the_same_worst_case_user_level_dp_never_loses(model):
    result = compare(GRID, 5, "1e-6", users=2000, model=model)
    worst = next(baseline for baseline in result.baselines if baseline.why == WORST)
    assert worst.error <= result.choice.error * (1 + 1e-12)
    assert worst.best.guarantee.epsilon_at(1) <= result.choice.guarantee.epsilon_at(1) * (1 + 1e-9)


SPACES = {
    "clustered": GRID,
    "discrete": Discrete(list("abcdef")),
    "line": Line(0, 12, step=1, cells=True),
    "circle": Circle(8, step=1),
}


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("epsilon", ["0.1", "1", "8"])
def test_no_crossover_lies_below_epsilon(name, epsilon):
    result = compare(SPACES[name], 3, users=500, epsilons=[epsilon])
    baseline = next(baseline for baseline in result.baselines if baseline.why == REQUEST)
    assert baseline.crossover is None or baseline.crossover >= float(epsilon)
    linear = bw.Study(SPACES["line"], alpha=3, users=500).compare("mean", epsilons=[epsilon])
    assert linear.baselines[0].crossover >= float(epsilon)


def test_the_crossover_is_about_where_the_errors_cross():
    result = compare(GRID, 8, users=2000, epsilons=["0.5"])
    baseline = result.baselines[0]
    request = target(GRID, users=2000)
    at = [
        histogram_candidates(request, Fraction(baseline.crossover) * times, only="tree")[0][0].error
        for times in (Fraction(2, 3), Fraction(3, 2))
    ]
    assert at[1] < baseline.error < at[0]


def test_crossover_by_hand():
    result = compare(GRID, 8, users=2000, epsilons=["0.5"]).choice
    # The worst case of edge noise is alpha: it errs by 4 at alpha = 1/2 and by 1/4 at 8.
    result, same = replace(result, error=0.25), replace(result, error=4.0)
    assert crossover(result, Fraction(8), same, Fraction(1, 2), 2.0) == pytest.approx(1.0)
    assert crossover(result, Fraction(8), same, Fraction(1, 2), 4.0) == pytest.approx(0.5)
    assert crossover(result, Fraction(8), same, Fraction(1, 2), 1e-6) is None
    assert crossover(result, Fraction(8), replace(same, error=0.1), Fraction(1, 2), 0.05) is None


@pytest.mark.parametrize(
    "space", [GRID, Circle(8, step=1), Line(0, 12, step=1, cells=True)], ids=["clustered", "circle", "line"]
)
@pytest.mark.parametrize("model", ["central", "local"])
def test_errors_are_means_and_not_bounds(space, model):
    """What is called the error is what other seeds give on average, on spaces without a tree too."""
    reference = np.random.default_rng(3).dirichlet(np.ones(space.items))
    result = user_level_histograms(space, "0.7", users=800, model=model, reference=reference, draws=40)
    best = next(c for c in result if model == "central" or c.name != "tree")  # edge noise has tests of its own
    held = whole_counts(reference, 10**6)
    source, measured = SeededSource(77), []
    for _ in range(40):
        if model == "central":
            noisy = (
                best.mechanism.matrix @ reference
                + best.mechanism.noise.draw(np.zeros(best.mechanism.query.dimension), source).values
            )
            decoded = best.mechanism.decode(noisy)
        else:
            decoded = best.mechanism.decode(best.mechanism.simulate(held, source))
        measured.append(float(emd(space, decoded, reference)) * space.diameter)
    assert best.decoded == pytest.approx(np.mean(measured), rel=0.25)
    assert 0 < best.standard_error < 0.3 * best.error
    assert not best.note


def test_shuffled_competitors_are_amplified_by_our_own_accountant():
    epsilon, delta, users = Fraction(1), Fraction(1, 10**6), 5000
    own = shuffled_epsilon0(epsilon, delta, users)
    assert own > 2 * epsilon
    event = ShuffledReports(own, reports=users, items=1, delta=delta, model="shuffle", least_distance=1)
    assert price(event).epsilon_at(1) <= 1 + 1e-9
    assert shuffled_epsilon0(epsilon, Fraction(0), users) == epsilon
    local = user_level_histograms(GRID, 1, users=users, model="local", reference="zipf")[0]
    mixed = user_level_histograms(GRID, 1, "1e-6", users=users, model="shuffle", reference="zipf")[0]
    assert mixed.error < local.error / 2
    assert mixed.guarantee.definition == UserLevel(1, "1e-6", model="shuffle")
    square = mean(Euclidean([0, 0], [1, 1], step=0.25))
    ball = user_level_errors(square, 1, "1e-6", users=users, model="shuffle")
    assert ball[0].error < user_level_errors(square, 1, users=users, model="local")[0].error / 2
    assert all(c.guarantee.definition.epsilon_at(1) == 1 for c in ball)


@pytest.mark.parametrize("users", [100, 2000])
@pytest.mark.parametrize("others", [0.0, 0.5, 1.0])
def test_amplified_randomised_response_keeps_its_word_exactly(users, others):
    """Second route: the exact delta of shuffled binary responses, whatever share of the other users holds a 1."""
    epsilon, delta = Fraction(1, 2), Fraction(1, 10**4)
    own = math.exp(float(shuffled_epsilon0(epsilon, delta, users)))
    stay = own / (1.0 + own)
    ones = int(others * (users - 1))
    rest = np.convolve(
        stats.binom(ones, stay).pmf(np.arange(ones + 1)),
        stats.binom(users - 1 - ones, 1 - stay).pmf(np.arange(users - ones)),
    )
    with_one = np.append((1 - stay) * rest, 0.0) + np.append(0.0, stay * rest)
    with_zero = np.append(stay * rest, 0.0) + np.append(0.0, (1 - stay) * rest)
    for p, q in ((with_one, with_zero), (with_zero, with_one)):
        assert np.maximum(p - math.exp(0.5) * q, 0.0).sum() <= float(delta)


def test_the_ball_and_the_polytope_are_candidates():
    query = function(Discrete(list("abcdef")), np.random.default_rng(1).normal(size=(6, 3)))
    assert "polytope" in {c.name for c in user_level_errors(query, 1, users=100)}
    local = user_level_errors(query, 1, users=100, model="local")
    assert local[0].name == "ball"
    assert [c.error for c in local] == sorted(c.error for c in local)


@pytest.mark.parametrize("space", [Clustered.grid(6, 4, r=0.05), Circle(24, step=1)], ids=["clustered", "circle"])
def test_comparing_on_24_items_takes_no_time(space):
    compare(space, users=10_000, promises=["all, 0.05, 0.5"])  # libraries are loaded
    start = time.process_time()
    compare(space, users=10_001, promises=["all, 0.05, 0.5"])
    assert time.process_time() - start < 4.0  # on any machine; 2 on ours


def test_errors():
    with pytest.raises(ParameterError, match="model is 'martian'"):
        user_level_errors(mean(Line(0, 3, step=1, cells=True)), 1, users=10, model="martian")


def _alone(query, epsilon, itself):
    return user_level_errors(query, epsilon, users=10)


def test_user_level_dp_is_put_beside_other_candidates():
    query = mean(Line(0, 100, unit="years", step=1))
    own = tuple(errors_within(query, Terms(query.space, 10, given=Fraction(4))))
    alone = Comparison("mean", "half width", "", Fraction(4), Fraction(0), "largest distance", own, {})
    others = partial(_alone, query)
    result = beside_user_level(alone, query.space, others, lambda epsilon: None, epsilons=[1])
    assert result.baselines[0].why == "was asked for"


def test_crossover():
    promise = Guarantee(Emd(25, model="central"), "knorm", "lemma:lin")
    candidate = Candidate("tree", "", promise, 0.04)
    assert round(crossover(candidate, Fraction(25), replace(candidate, error=1.0), Fraction(1), 0.5), 6) == 2.0


def test_as_user_level():
    assert (
        as_user_level(Candidate("tree", "noise", Guarantee(Emd(2, model="central"), "knorm", ""), 0.1)).words
        == "user-level: noise, by its worst case"
    )
