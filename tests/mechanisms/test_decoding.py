"""Decoders that know no tree: the simplex, and the likeliest histogram."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from barrow.errors import ParameterError
from barrow.mechanisms import MatrixChannel, channel_of
from barrow.mechanisms.decoding.bayesian import GAP, bayesian_update
from barrow.mechanisms.decoding.grid import discrepancy_map, nearest_in_simplex, nearest_map
from barrow.randomisers import exponential, gkrr, randomised_response
from barrow.spaces import Clustered, Discrete, Line


def exactly(values: list[Fraction]) -> list[Fraction]:
    """The projection in rationals, by trying every number of positive entries: the second route."""
    for subset in range(1, len(values) + 1):
        top = sorted(values, reverse=True)[:subset]
        shift = (sum(top) - 1) / subset
        results = [max(v - shift, Fraction(0)) for v in values]
        if sum(results) == 1:
            return results
    raise AssertionError


@settings(deadline=None, max_examples=150)
@given(arrays(np.float64, st.integers(1, 12), elements=st.floats(-5, 5)))
def test_the_simplex_projection_is_exact(values):
    result = nearest_in_simplex(values)
    assert np.allclose(result, [float(v) for v in exactly([Fraction(v) for v in values.tolist()])], atol=1e-12)
    assert result.sum() == pytest.approx(1.0, abs=1e-12)
    assert (result >= 0).all()


def test_the_simplex_projection_is_nearer_than_any_other_histogram():
    rng = np.random.default_rng(2)
    values = rng.normal(size=30)
    result = nearest_in_simplex(values)
    for other in rng.dirichlet(np.full(30, 0.2), size=300):
        assert ((values - result) ** 2).sum() <= ((values - other) ** 2).sum()
    histogram = rng.dirichlet(np.ones(30))
    assert np.allclose(nearest_in_simplex(histogram), histogram, atol=1e-15)
    assert np.allclose(nearest_in_simplex(histogram + 1e6), histogram, atol=1e-9)


@pytest.mark.parametrize("bad", [[], [[1.0]], [np.nan], [np.inf, 0.0]])
def test_what_is_no_row_of_numbers_is_refused(bad):
    with pytest.raises(ParameterError):
        nearest_in_simplex(bad)


CHANNELS = [
    gkrr(Clustered.grid(3, 3, r=0.1), 5),
    randomised_response(Discrete(["a", "b", "c"]), 1),
    exponential(Line(0, 8, step=1, cells=True), 9),
]


@pytest.mark.parametrize("randomiser", CHANNELS)
@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([20, 1000, 10**6]))
def test_the_likelihood_never_falls_and_its_gap_is_certified(randomiser, seed, total):
    channel = channel_of(randomiser)
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(total, channel.forward(rng.dirichlet(np.full(channel.items, 0.4))))
    fit = bayesian_update(channel, counts)
    rises = np.diff(fit.log_likelihoods)
    assert (rises >= -1e-9 * abs(fit.log_likelihoods[0])).all()
    assert fit.histogram.sum() == pytest.approx(1.0)
    assert (fit.histogram > 0).all()
    # A much longer run finds nothing that the certificate excludes.
    longer = bayesian_update(channel, counts, gap=1e-4, most_updates=3000)
    assert longer.log_likelihoods[-1] <= fit.log_likelihoods[-1] + fit.gap_upper + 1e-6
    assert longer.log_likelihoods[-1] >= fit.log_likelihoods[-1] - 1e-6


def test_it_finds_what_a_general_optimiser_finds():
    channel = channel_of(CHANNELS[0])
    counts = np.array([40, 22, 20, 9, 8, 7, 1, 2, 3])
    fit = bayesian_update(channel, counts, gap=1e-6, most_updates=20_000)

    def loss(free):
        law = np.exp(free - free.max())
        return -(counts * np.log(channel.forward(law / law.sum()))).sum()

    best = min(
        (minimize(loss, start, method="L-BFGS-B") for start in np.random.default_rng(1).normal(size=(5, 9))),
        key=lambda r: r.fun,
    )
    assert fit.log_likelihoods[-1] >= -best.fun - 1e-4
    assert fit.gap_upper <= 1e-6


def test_a_start_near_the_end_saves_updates():
    channel = channel_of(CHANNELS[2])
    counts = np.random.default_rng(4).multinomial(10**5, channel.forward(np.arange(1, 9) / 36))
    cold = bayesian_update(channel, counts)
    warm = bayesian_update(channel, counts, start=cold.histogram)
    assert warm.updates < cold.updates
    assert warm.log_likelihoods[-1] >= cold.log_likelihoods[-1] - 1e-9


def test_ten_thousand_items_are_fine():
    space = Clustered.grid(100, 100, r=0.1)
    channel = channel_of(gkrr(space, 12))
    rng = np.random.default_rng(7)
    law = rng.dirichlet(np.full(space.items, 0.05))
    counts = rng.multinomial(10**7, channel.forward(law))
    fit = bayesian_update(channel, counts, most_updates=60)
    assert fit.log_likelihoods[-1] > fit.log_likelihoods[0]
    assert np.abs(fit.histogram - law).sum() < 0.5 * np.abs(counts / 10**7 - law).sum()


def test_wrong_counts_and_starts_are_refused():
    channel = channel_of(CHANNELS[1])
    for bad in ([1, 2], [1, 2, -1], [0, 0, 0], [1, 2, np.nan]):
        with pytest.raises(ParameterError):
            bayesian_update(channel, bad)
    for bad in ([0.5, 0.5, 0.0], [0.5, 0.5]):
        with pytest.raises(ParameterError, match="without zeros"):
            bayesian_update(channel, [1, 2, 3], start=bad)
    silent = MatrixChannel(np.array([[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]]))
    with pytest.raises(ParameterError, match="impossible"):
        bayesian_update(silent, [1, 1, 1])


def test_bayesian_fit():
    fit = bayesian_update(MatrixChannel(np.array([[0.75, 0.25], [0.25, 0.75]])), [3, 1])
    assert fit.histogram.round(2).tolist() == [0.94, 0.06]
    assert fit.gap_upper <= GAP


def test_bayesian_update():
    assert bayesian_update(channel_of(gkrr(Clustered.grid(2, 2, r=0.1), 20)), [70, 10, 10, 10]).histogram.round(
        2
    ).tolist() == [0.79, 0.01, 0.1, 0.1]


def test_decoded_map():
    import numpy as np

    assert nearest_map(np.eye(2), [0.75, 0.5]).weights.round(6).tolist() == [0.625, 0.375]


def test_nearest_map():
    import numpy as np

    assert nearest_map(np.array([[1.0, 0.0], [1.0, 1.0]]), [0.25, 1.0]).weights.round(6).tolist() == [0.25, 0.75]


def test_nearest_in_simplex():
    assert nearest_in_simplex([0.75, 0.5, -0.25]).tolist() == [0.625, 0.375, 0.0]


def test_discrepancy_map():
    eye, even = np.eye(4), np.full(4, 0.25)
    for noise, result in ((0.001, [0.5, 0.3, 0.1, 0.1]), (0.3, [0.3, 0.26, 0.22, 0.22])):
        fit = discrepancy_map(eye, [0.5, 0.3, 0.1, 0.1], deviation=noise, strongest=1.0, atoms=eye, prior=even)
        assert fit.weights.round(2).tolist() == result
