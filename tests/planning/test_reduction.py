"""The reduction keeps every promise; its split of delta and its c agree with second routes; s costs what it should."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from barrow.accounting import best_projection, epsilon_within_upper, inner_alpha_within, price
from barrow.errors import ParameterError
from barrow.mechanisms import item_wise, reduced
from barrow.noise.simulation import SeededSource
from barrow.planning import (
    Goal,
    Sampling,
    choose_items,
    choose_reduction,
    compare_samples,
    goals_for,
    goals_of,
    inner_alpha_lower,
    sampling_of,
)
from barrow.planning.reduction import frequency_error, histogram_error_upper
from barrow.planning.sampling import default_samples
from barrow.policy import Policy
from barrow.privacy import DiscreteEmd, GaussianNoise, SampledItems, ShuffledReports
from barrow.randomisers import randomised_response
from barrow.spaces import Clustered, Discrete, Earth, Line
from barrow.transport import emd

LETTERS = Discrete(["a", "b", "c"])
YEARS = Line(0, 100, unit="years", step=5)


def epsilon(guarantee):
    return guarantee.definition.parameters["epsilon"]


@pytest.mark.parametrize(("model", "users"), [("local", None), ("shuffle", 300), ("central", 300)])
@pytest.mark.parametrize("samples", [1, 20, 400])
@pytest.mark.parametrize("delta", ["1e-9", 0])
def test_every_goal_is_kept_and_one_of_them_is_tight(model, users, samples, delta):
    goals = [Goal("0.02", "0.5"), Goal("0.2", 2), Goal(1, 30)]
    found = choose_reduction(YEARS, goals, delta, samples=samples, users=users, model=model)
    assert found.mechanism.samples == samples
    for goal, got in zip(found.goals, found.guarantees, strict=True):
        assert got == price(found.mechanism.event_at(goal.radius))
        assert isinstance(got.definition, DiscreteEmd)
        assert (got.definition.radius, got.definition.delta) == (goal.radius, Fraction(str(delta)))
        assert epsilon(got) <= goal.epsilon
        assert got.definition.model.value == model
    used = [float(epsilon(got) / goal.epsilon) for goal, got in zip(found.goals, found.guarantees, strict=True)]
    assert max(used) > 0.9  # the blanket of a channel is searched to a few per cent
    assert found.binding == int(np.argmax(used))
    assert found.guarantee == found.guarantees[found.binding]
    assert found.mechanism.event.radius == goals[found.binding].radius


def test_the_wrong_parameter_would_break_a_promise():
    """A little more alpha0 than was chosen, and a goal is missed: nothing is wasted, and the check can fail."""
    goals = [Goal("0.02", "0.5"), Goal("0.2", 2)]
    found = choose_reduction(YEARS, goals, "1e-9", samples=200, users=300, randomiser="response")
    inner = found.inner.event
    more = ShuffledReports(
        inner.alpha0 * Fraction("1.03"),
        reports=inner.reports,
        items=inner.items,
        delta=inner.delta,
        model=inner.model,
        least_distance=inner.least_distance,
        randomiser=inner.randomiser,
    )
    got = [
        epsilon(price(SampledItems(samples=200, radius=goal.radius, delta="1e-9", inner=more))) / goal.epsilon
        for goal in goals
    ]
    assert max(got) > 1


def test_promises_become_goals():
    space = Earth(cell=500)
    policy = Policy(space, ["1/30, 1000 mi, 0.2", "all, 100 mi, 0.5"], delta="1e-9")
    goals = goals_of(policy)
    assert [goal.radius for goal in goals] == [kept.emd for kept in policy.kept]
    assert min(goal.alpha for goal in goals) == policy.alpha_exact
    assert [g.epsilon for g in goals_of(policy, part="1/2")] == [g.epsilon / 2 for g in goals]
    assert goals_for(policy, radius="0.5") == goals
    assert goals_for(None, alpha=10, radius="0.1", part="1/2") == (Goal("0.1", "0.5"),)


def test_a_named_randomiser_is_used_and_is_never_worse():
    space, goal = Clustered.grid(4, 3, r=0.1), Goal("0.1", 1)
    named = choose_reduction(space, [goal], "1e-9", samples=100, users=500)
    assert epsilon(named.guarantee) <= 1
    inner = named.inner.event
    if inner.randomiser is None:
        pytest.skip("the randomiser has no name at these whole weights")
    nameless = ShuffledReports(
        inner.alpha0, reports=inner.reports, items=100, delta="1e-9", model="central",
        least_distance=inner.least_distance,
    )  # fmt: skip
    assert epsilon(price(SampledItems(samples=100, radius="0.1", delta="1e-9", inner=nameless))) >= epsilon(
        named.guarantee
    )


# Second routes.


@pytest.mark.parametrize("radius", ["0.001", "0.008", "0.1", "0.5"])
@pytest.mark.parametrize("samples", [10, 1000, 10**5])
def test_c_solves_its_equation_in_forty_digits(radius, samples):
    c, method = best_projection(radius, samples, "1e-10")
    with mpmath.workdps(40):
        r, need = mpmath.mpf(radius), mpmath.log(10**10) / samples
        paper = (1 + mpmath.sqrt(2)) * r + 3 * need

        def gap(x):
            return x * mpmath.log(x / r) + (1 - x) * mpmath.log((1 - x) / (1 - r)) - need

        if mpmath.log(1 / r) <= need:
            assert c == 1.0
            return
        low, high = r, mpmath.mpf(1) - mpmath.mpf(10) ** -30
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if gap(middle) < 0 else (low, middle)
        assert method == "projection_kl"
        assert high <= c <= high * (1 + mpmath.mpf("1e-12"))
        assert c <= paper


SPLITS = {
    "local": (ShuffledReports("0.05", reports=500, items=500, delta="1e-9", model="local"), 500, "0.02"),
    "central": (ShuffledReports("3", reports=500_000, items=500, delta="1e-9", model="central"), 500, "0.05"),
    "gaussian": (GaussianNoise("3", delta="1e-9", model="central"), 1000, "0.01"),
}


@pytest.mark.parametrize("case", SPLITS)
def test_the_split_of_delta_is_near_the_best_of_many(case):
    inner, samples, radius = SPLITS[case]
    delta = Fraction("1e-9")
    got = epsilon(price(SampledItems(samples=samples, radius=radius, delta=delta, inner=inner)))
    tried = []
    for logit in np.linspace(-12, 8, 81):
        part = Fraction(1 / (1 + np.exp(-logit)))
        c, _ = best_projection(radius, samples, delta * part)
        tried.append(epsilon_within_upper(inner, Fraction(c), delta * (1 - part))[0])
    assert float(got) <= float(min(tried)) * 1.001
    # Halves, and a split that forgets one side, are worse: the search earns something.
    assert float(got) < float(tried[0])


def test_the_coupled_samples_are_as_near_as_claimed():
    """Samples of two data sets at EMD r, drawn together by the mechanism itself: c is passed as rarely as said."""
    space, r, s, runs = Line(0, 10, points=[0, 10]), Fraction(1, 10), 60, 4000
    delta_p = 0.02
    c, _ = best_projection(r, s, delta_p)
    plan = reduced(item_wise(randomised_response(space, 1), items=s, model="local"), radius=r)
    first, second = [0] * 5 + [1] * 5, [0] * 4 + [1] * 6
    over = 0
    for i in range(runs):
        # The same words draw the same places: the coupling of the proof.
        one, two = (plan.draw_items(held, source=SeededSource(i)) for held in (first, second))
        far = emd(space, np.bincount(one, minlength=2) / s, np.bincount(two, minlength=2) / s)
        over += far >= c
    assert over / runs <= delta_p + 5 * np.sqrt(delta_p / runs)
    # At the radius itself, half of the pairs are farther: sampling is not free.
    assert c > r


def test_inner_alpha_is_the_larger_of_both_proofs():
    goals = [Goal("0.008", "0.2"), Goal("0.05", 1)]
    got = inner_alpha_lower(goals, "2e-12", samples=5000)
    assert got == min(inner_alpha_within(goal.epsilon, goal.radius, 5000) for goal in goals)
    assert inner_alpha_lower(goals, 0, samples=5000) == got  # no delta is needed for the sampling
    # The paper's lemma would give 1.96 here, and the distance of the samples 5.45.
    assert 24.4 < inner_alpha_lower(goals[:1], "2e-12", samples=1000) < 24.5
    # Where alpha/s is large the distance of the samples is the better proof.
    far = Goal("0.1", 650)
    c = best_projection("0.1", 1000, "5e-9")[0]
    assert inner_alpha_lower([far], "1e-8", samples=1000) == pytest.approx(650 / c, rel=1e-12)


def test_few_samples_cost_alpha_and_many_cost_little():
    table = compare_samples(YEARS, [Goal("0.05", 2)], "1e-9", users=1000, samples=[5000, 50, 500, 50])
    assert [row.samples for row in table.rows] == [50, 500, 5000]
    times = [row.times for row in table.rows]
    assert times == sorted(times, reverse=True)
    assert times[0] > 1.3
    assert times[-1] < 1.02
    for row in table.rows:
        assert row.error == histogram_error_upper(row.choice.inner)
        equal = choose_items(YEARS, 40, "1e-9", items=row.samples, users=1000).mechanism
        assert row.equal == histogram_error_upper(equal)
        assert row.ratio >= 1
    assert table.best.error == min(row.error for row in table.rows)
    text = "\n".join(table.lines())
    assert "← best" in text
    assert "needs no sampling" in text
    assert table.to_json()["best"] == table.best.samples
    other = compare_samples(YEARS, [Goal("0.05", 2)], "1e-9", users=1000, samples=[50], error=lambda made: 7.0)
    assert other.rows[0].error == 7.0
    estimate = compare_samples(YEARS, [Goal("0.05", 2)], "1e-9", users=1000, samples=[50], error="frequency")
    assert estimate.rows[0].error == frequency_error(estimate.rows[0].choice.inner)


def test_the_error_bound_holds_for_what_is_drawn():
    """Reports on samples of people of all sizes: the mean EMD to the mean over people stays below the bound."""
    space = Line(0, 4, points=[0, 1, 2, 3, 4])
    people = [[0], [4] * 7, [1, 2], [0, 4, 4, 3], [2] * 30]
    inner = item_wise(randomised_response(space, 3), items=40, users=5)
    plan, source = reduced(inner, radius="0.1"), SeededSource(4)
    mean = sum(np.bincount(p, minlength=5) / len(p) for p in people) / 5
    errors = []
    for _ in range(60):
        held = sum(np.bincount(plan.draw_items(p, source=source), minlength=5) for p in people)
        reports = plan.release(held, source=source).counts
        errors.append(emd(space, reports / reports.sum(), mean) * space.diameter)
    bound = histogram_error_upper(inner)
    assert np.mean(errors) <= bound
    assert bound < space.diameter
    assert np.mean(errors) > bound / 20


def test_default_numbers_of_samples():
    assert default_samples([Goal("0.01", 1)], "1e-9") == [200, 500, 2000, 5000, 20000]
    assert default_samples([Goal(1, 1)], 0)[0] == 1
    assert max(default_samples([Goal("1e-9", 1)], "1e-9")) == 10**7


def test_words_and_plain_data():
    found = choose_reduction(YEARS, [Goal("0.05", 2), Goal("0.2", 9)], "1e-9", samples=200, users=100, radius="0.1")
    text = "\n".join(found.lines())
    assert "200 items drawn from each person" in text
    assert "up to 5 years" in text
    assert "needs no sampling" in text
    plain = found.to_json()
    assert plain["radius"] == 0.1
    assert [goal["epsilon_asked"] for goal in plain["goals"]] == [2.0, 9.0]
    assert sum(goal["binds"] for goal in plain["goals"]) == 1
    assert found.guarantee.definition.radius == Fraction(1, 10)


# Bad input.


@pytest.mark.parametrize("samples", [0, -1, 10**7 + 1, 1.5, True, "many"])
def test_wrong_numbers_of_samples(samples):
    with pytest.raises(ParameterError, match="samples is"):
        choose_reduction(LETTERS, [Goal("0.1", 1)], "1e-9", samples=samples, users=10)


@pytest.mark.parametrize("radius", [0, -1, "1.5", 2])
def test_wrong_radii(radius):
    with pytest.raises(ParameterError, match="radius is"):
        Goal(radius, 1)
    with pytest.raises(ParameterError, match="radius is"):
        choose_reduction(LETTERS, [Goal("0.1", 1)], "1e-9", samples=5, users=10, radius=radius)
    with pytest.raises(ParameterError, match="radius is"):
        sampling_of({"kind": "items", "samples": 5, "radius": radius})


def test_other_mistakes():
    with pytest.raises(ParameterError, match="no promises"):
        choose_reduction(LETTERS, [], "1e-9", samples=5, users=10)
    with pytest.raises(ParameterError, match="needs the number of users"):
        choose_reduction(LETTERS, [Goal("0.1", 1)], "1e-9", samples=5)
    with pytest.raises(ParameterError, match="noise and nothing else"):
        choose_reduction(LETTERS, [Goal("0.1", "1e-8")], 0, samples=1000, users=10)
    with pytest.raises(ParameterError, match="neither promises nor a radius"):
        goals_for(None, alpha=3)
    with pytest.raises(ParameterError, match="a radius, but no samples"):
        sampling_of({"kind": "items", "items": 3, "radius": "0.1"})
    with pytest.raises(ParameterError, match="samples is"):
        sampling_of({"kind": "items", "samples": 0})
    with pytest.raises(ParameterError, match="samples is"):
        Sampling(0)
    with pytest.raises(ParameterError, match="error is"):
        compare_samples(LETTERS, [Goal("0.1", 1)], "1e-9", users=10, error="none")
    with pytest.raises(ParameterError, match="No number of samples"):
        compare_samples(LETTERS, [Goal("0.1", 1)], "1e-9", users=10, samples=[])
    assert Sampling(5, Fraction(1, 10)).to_spec() == {"samples": 5, "radius": "0.1"}
