"""Planning of user-level histograms: exact calibration, nothing crippled, predictions kept."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.baselines import SubsetSelection, laplace_histogram
from benchmarks.baselines.homogeneous import homogeneous_delta_upper, homogeneous_epsilon0_lower
from benchmarks.baselines.planning import (
    CHANNELS,
    decoded_emd,
    histogram_baselines,
    local_histogram,
    predicted_error,
)

from barrow.errors import ParameterError
from barrow.noise.source import SeededSource
from barrow.promises import UserLevel
from barrow.randomisers import exceeds_exp
from barrow.spaces import Circle, Clustered, Discrete, Line
from barrow.transport import emd

GRID = Clustered.grid(5, 4, r=0.1)
WIDE = Clustered.grid(10, 10, r=0.05)


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("own_law", [True, False])
def test_several_reports_are_calibrated_exactly(channel, own_law):
    for epsilon, delta, reports in ((1, "1e-6", 5), ("1.25", "1e-9", 1000), (20, "1e-9", 4)):
        built = local_histogram(
            GRID, epsilon, delta, users=100, items=1000, channel=channel, reports=reports, own_law=own_law
        )
        active = built.channel.active if own_law else 1
        # The channel's ratio is at most that of step, so the composition at step covers it.
        step = Fraction(math.nextafter(built.channel.epsilon * (1 + 2**-50), math.inf))
        assert not exceeds_exp(built.channel.ratio, step)
        assert homogeneous_delta_upper(step, reports, epsilon, active=active) <= float(delta) * (1 + 1e-6)
        assert homogeneous_delta_upper(step * Fraction(1001, 1000), reports, epsilon, active=active) > float(delta)
        assert built.event.epsilon == Fraction(epsilon)
        assert built.event.delta == Fraction(delta)


def test_the_own_law_is_worth_a_factor_of_root_two_for_hadamard_response():
    settings = {"users": 10**4, "items": 1000, "channel": "hadamard", "reports": 1000}
    own = local_histogram(WIDE, "1.25", "1e-9", **settings)
    worst = local_histogram(WIDE, "1.25", "1e-9", own_law=False, **settings)
    assert worst.channel.epsilon == pytest.approx(homogeneous_epsilon0_lower("1.25", "1e-9", 1000), rel=1e-9)
    assert worst.predicted_emd() / own.predicted_emd() == pytest.approx(math.sqrt(2), rel=0.01)


@pytest.mark.parametrize("model", ["local", "central"])
@pytest.mark.parametrize("delta", [0, "1e-9"])
def test_all_candidates_promise_what_was_asked(model, delta):
    result = histogram_baselines(GRID, "1.25", delta, users=1000, items=50, model=model)
    assert [c.error for c in result] == sorted(c.error for c in result)
    assert len({c.name for c in result}) == len(result) >= (2 if model == "central" else 8 - 1)
    for candidate in result:
        promise = candidate.guarantee.definition
        assert isinstance(promise, UserLevel)
        assert promise.parameters["epsilon"] <= Fraction("1.25")
        assert promise.parameters["delta"] <= Fraction(delta)
        assert promise.model == model
        assert candidate.user_level
        assert candidate.error == pytest.approx(candidate.mechanism.predicted_emd(), rel=1e-12)


def test_one_report_with_all_of_epsilon_beats_reporting_everything():
    """At delta = 1e-9 and a moderate epsilon the paper's baseline, every item through Hadamard response, is weak."""
    result = {
        c.name: c.error for c in histogram_baselines(WIDE, "1.25", "1e-9", users=10**4, items=1000, model="local")
    }
    assert result["hadamard"] < result["hadamard-all-items"] / 3
    assert result["subset-selection"] < 0.9 * result["hadamard"]
    assert result["subset-selection-levels"] < 0.6 * result["subset-selection"]
    assert result["subset-selection"] == pytest.approx(0.199, rel=0.01)
    assert result["hadamard-all-items"] == pytest.approx(result["gaussian-each-user"], rel=0.01)


def test_at_a_large_epsilon_several_reports_are_better():
    result = histogram_baselines(WIDE, 25, "1e-9", users=10**4, items=1000, model="local")
    assert result[0].name == "subset-selection-4-items"
    for reports in (1, 2, 8, 1000):
        other = local_histogram(WIDE, 25, "1e-9", users=10**4, items=1000, reports=reports)
        assert other.predicted_emd() > result[0].error


def test_predictions_hold_for_users_of_independent_items():
    """Data drawn at random, users of 20 items: the best candidate of each model is within a tenth of its prediction."""
    rng = np.random.default_rng(2)
    data = rng.choice(GRID.items, size=(2000, 20), p=rng.dirichlet(np.ones(GRID.items)))
    truth = np.bincount(data.ravel(), minlength=GRID.items) / data.size
    for model, epsilon in itertools.product(("local", "central"), (1, 6)):
        result = histogram_baselines(GRID, epsilon, "1e-6", users=2000, items=20, model=model, reference=truth)
        for candidate in (result[0], result[1]):
            source = SeededSource(5)
            errors = [
                float(emd(GRID, candidate.mechanism.estimate(data, source=source).values, truth)) for _ in range(150)
            ]
            assert np.mean(errors) == pytest.approx(candidate.error, rel=0.1), candidate.name


def test_decoding_helps_where_noise_is_large():
    local = histogram_baselines(GRID, "0.5", users=1000, items=5, model="local")[0]
    assert decoded_emd(local.mechanism, items=5) < 0.9 * local.error
    central = laplace_histogram(GRID, 5, users=10**4)
    assert decoded_emd(central, items=5) == pytest.approx(central.predicted_emd(), rel=0.15)


def test_spaces_that_are_no_trees_get_an_upper_bound():
    circle = Circle(8, step=1)
    for candidate in histogram_baselines(circle, 2, users=3000, items=2, model="local")[:3]:
        held = np.full(8, 3000 * 2 // 8)
        source = SeededSource(1)
        errors = [
            float(emd(circle, candidate.mechanism.estimate_pooled(held, source=source).values, held / held.sum()))
            for _ in range(20)
        ]
        assert np.mean(errors) < candidate.error
        assert "upper bound" in candidate.note


@pytest.mark.parametrize("space", [Line(0, 1, step=0.05), Discrete(list("abcdefgh"))], ids=["line", "discrete"])
def test_flat_spaces_have_no_levels(space):
    names = [c.name for c in histogram_baselines(space, 1, "1e-6", users=100, items=3, model="local")]
    assert not any("levels" in name for name in names)
    assert names[0] == "subset-selection"


def test_large_domains_and_many_users_stay_affordable():
    space = Discrete([str(i) for i in range(6000)])
    names = [c.name for c in histogram_baselines(space, 1, users=10**7, items=1, model="local")]
    assert "unary" in names
    assert "subset-selection" not in names  # it would draw 10^10 entries
    assert "projective" not in names  # its table would be too large


def test_errors():
    with pytest.raises(ParameterError, match="channel is 'hadamar'"):
        local_histogram(GRID, 1, users=1, items=1, channel="hadamar")
    with pytest.raises(ParameterError, match="model is 'shuffle'"):
        histogram_baselines(GRID, 1, users=1, model="shuffle")
    with pytest.raises(ParameterError, match="noise and nothing else"):
        local_histogram(GRID, "1e-5", users=1, items=10**6, reports=10**6)
    with pytest.raises(ParameterError, match="reports is 0"):
        local_histogram(GRID, 1, users=1, items=1, reports=0)
    assert predicted_error(laplace_histogram(GRID, 1, users=9), np.full(20, 0.05)) > 0
    assert isinstance(local_histogram(GRID, 1, users=1, items=1).channel, SubsetSelection)
