"""Maps from multiscale densities: decoders, errors, shares and releases."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array
from tests.thorough import often

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts, linear_noise
from barrow.mechanisms.decoding.grid import (
    _checked,
    _decoded,
    _smoother,
    discrepancy_map,
    nearest_in_simplex,
    nearest_map,
)
from barrow.mechanisms.histograms import MULTISCALE, histogram_noise
from barrow.mechanisms.multiscale import (
    _compositions,
    best_shares,
    map_of,
    mixed_reference,
    predicted_error,
    scales_of,
    usable_bandwidths,
)
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.queries import multiscale
from barrow.spaces import Circle, Discrete, Earth, Euclidean, Line
from barrow.transport import emd, measure_of

SQUARE = Euclidean([0, 0], [1, 1], step=1 / 16)
LINE = Line(0, 100, unit="km", step=2, cells=True)
CELLS = multiscale(SQUARE, bandwidths=["cells"])
NYC = Earth(box=(40.5, -74.3, 41.0, -73.6), cell=4)


@pytest.mark.parametrize(("total", "parts"), [(0, 1), (3, 1), (1, 4), (4, 3)])
def test_every_way_to_share_is_looked_at_once(total, parts):
    every = itertools.product(range(total + 1), repeat=parts)
    assert _compositions(total, parts).tolist() == [list(row) for row in every if sum(row) == total]


def smooth_map(matrix, values, *, strength, atoms, prior, tolerance=1e-3):
    """The smooth map of one strength, as the decoder solves it."""
    return _decoded(_smoother(matrix, _checked(matrix, values), atoms, prior).fit(strength, tolerance), strength)


def problem(seed, outputs=7, items=5, atoms=6):
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(0, 1, (outputs, items))
    bumps = rng.dirichlet(np.ones(items), size=atoms).T
    prior = rng.dirichlet(np.ones(atoms) * 3)
    truth = rng.dirichlet(np.ones(items))
    return matrix, bumps, prior / prior.sum(), matrix @ truth + rng.laplace(0, 0.1, outputs)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 1e-2, 0.1]))
def test_the_smooth_map_against_a_general_solver(seed, strength):
    matrix, bumps, prior, values = problem(seed)

    def objective(c):
        c = np.maximum(c, 1e-300)
        return 0.5 * ((matrix @ bumps @ c - values) ** 2).sum() + strength * (c * np.log(c / prior)).sum()

    def slope(c):
        both = matrix @ bumps
        return both.T @ (both @ c - values) + strength * (np.log(c / prior) + 1)

    fit = smooth_map(csr_array(matrix), values, strength=strength, atoms=csr_array(bumps), prior=prior, tolerance=1e-7)
    # Another route, without the dual: the primal problem, constraints and all.
    other = minimize(
        objective,
        prior,
        jac=slope,
        method="SLSQP",
        bounds=[(1e-12, 1)] * len(prior),
        constraints={"type": "eq", "fun": lambda c: c.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    # The general solver sometimes stops short of an optimum, where slopes are equal; then it says nothing.
    slopes = slope(np.maximum(other.x, 1e-300))[other.x > 1e-9]
    assume(np.ptp(slopes) < 1e-4)
    assert np.abs(fit.weights - bumps @ other.x).max() < 1e-3
    assert fit.distance_upper <= 1e-5
    assert fit.weights.min() >= 0
    assert fit.weights.sum() == pytest.approx(1)


@settings(deadline=None, max_examples=often(8, 20))
@given(st.integers(0, 10**6))
def test_what_a_fit_says_about_its_distance_holds(seed):
    matrix, bumps, prior, values = problem(seed)
    exact = smooth_map(matrix, values, strength=0.01, atoms=bumps, prior=prior, tolerance=1e-9)
    for tolerance in (0.3, 0.1, 0.01):
        rough = smooth_map(matrix, values, strength=0.01, atoms=bumps, prior=prior, tolerance=tolerance)
        off = 0.5 * np.abs(rough.weights - exact.weights).sum()
        assert off <= rough.distance_upper + exact.distance_upper + 1e-12
        assert rough.distance_upper <= tolerance


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_the_nearest_map_against_a_general_solver(seed):
    matrix, _, _, values = problem(seed)

    def objective(p):
        return 0.5 * ((matrix @ p - values) ** 2).sum()

    fit = nearest_map(csr_array(matrix), values, tolerance=1e-10)
    other = minimize(
        objective,
        np.full(5, 0.2),
        jac=lambda p: matrix.T @ (matrix @ p - values),
        method="SLSQP",
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert objective(fit.weights) <= objective(other.x) + 1e-9
    assert objective(fit.weights) - objective(other.x) <= fit.gap_upper + 1e-12
    rough = nearest_map(matrix, values, tolerance=0.5)
    assert objective(rough.weights) - objective(fit.weights) <= rough.gap_upper + 1e-12


def test_the_nearest_map_of_the_cells_is_the_projection():
    values = np.random.default_rng(1).normal(0, 0.1, 50) + 0.02
    assert np.abs(nearest_map(np.eye(50), values).weights - nearest_in_simplex(values)).max() < 1e-6


def test_decoding_does_not_depend_on_the_units_of_the_weights():
    built = histogram_noise(SQUARE, "multiscale", 25, users=1000)
    values = built.matrix @ mixed_reference(SQUARE) + built.noise.draw(zeros(built), SeededSource(3)).values
    scales, sigma = scales_of(SQUARE), built.noise.deviation
    maps = [
        discrepancy_map(
            unit * built.matrix,
            unit * values,
            deviation=unit * sigma,
            strongest=unit**2 * 0.003 * sigma * built.query.lipschitz_upper(1),
            atoms=scales.atoms,
            prior=scales.prior,
        ).weights
        for unit in (1, 2)
    ]
    assert np.abs(maps[0] - maps[1]).sum() < 5e-3
    assert np.abs(maps[0] - built.decode(values)).sum() < 5e-3


def test_entropy_is_as_strong_as_the_residual_allows():
    built = histogram_noise(SQUARE, "multiscale", 25, users=100_000)
    truth = mixed_reference(SQUARE)
    scales, sigma = scales_of(SQUARE), built.noise.deviation
    values = built.matrix @ truth + built.noise.draw(zeros(built), SeededSource(4)).values

    def ratio(weights):
        residual = values - built.matrix @ weights
        return float(residual @ residual) / (len(values) * sigma**2)

    arguments = {"atoms": scales.atoms, "prior": scales.prior}
    result = built.decode(values)
    assert ratio(result) <= 0.95 * 1.01
    strongest = 0.003 * sigma * built.query.lipschitz_upper(1)
    ladder = [smooth_map(built.matrix, values, strength=strongest / 2**i, **arguments).weights for i in range(6)]
    assert all(ratio(b) <= ratio(a) * 1.001 for a, b in itertools.pairwise(ladder))
    first = next(i for i, weights in enumerate(ladder) if ratio(weights) <= 0.95)
    assert np.abs(ladder[first] - result).sum() < 5e-3
    assert first > 0, "otherwise this test shows nothing"


def at(space, alpha, delta=0, *, users, bandwidths, shares=None, noise="auto"):
    """The mechanism at bandwidths of ours; at those that it chooses where none are given."""
    if bandwidths is None:
        return histogram_noise(space, "multiscale", alpha, delta, users=users, noise=noise)
    query = multiscale(space, bandwidths=bandwidths, shares=shares)
    return MULTISCALE.of(query, linear_noise(query, alpha, delta, noise=noise, users=users))


def zeros(made):
    return Center.from_integers(np.zeros(made.query.dimension, dtype=np.int64))


SETTINGS = [
    (LINE, 25, 0, 100, None),
    (LINE, 5, 0, 10_000, ["20 km", "cells"]),
    (Circle(24, unit="h", step=0.5), 10, 0, 1000, None),
    (SQUARE, 25, 0, 1000, None),
    (SQUARE, 25, 0, 100_000, ["0.3", "0.15"]),
    (SQUARE, 2, "1e-3", 1000, None),
    (Euclidean([0, 0, 0], [1, 1, 1], step=1 / 6), 25, 0, 1000, None),
    (NYC, 100, 0, 1000, ["16 km", "cells"]),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s[0].kind}-{s[3]}")
def test_errors_before_decoding_agree_with_simulation(setting):
    space, alpha, delta, users, bandwidths = setting
    built = at(space, alpha, delta, users=users, bandwidths=bandwidths)
    draws = 300
    noise = np.array([built.noise.draw(zeros(built), SeededSource(1000 + i)).values for i in range(draws)])
    for level in built.query.levels:
        beyond = (np.abs(noise[:, level.outputs]) > built.noise.half_width).mean()
        assert beyond <= 0.05 * 1.35 + 0.01
        assert (np.abs(1.5 * noise[:, level.outputs]) > built.noise.half_width).mean() > 0.05 * 1.35 + 0.01


def test_intervals_hold_all_shares_at_once():
    built = at(LINE, 25, users=200, bandwidths=["25 km", "cells"], shares=["0.5", "0.5"])
    counts = UserCounts.of_users(LINE, [[1, 2], [7]], users=200)
    mass = np.bincount([1, 2, 7, LINE.default_item], weights=[0.5, 0.5, 1, 198], minlength=LINE.items) / 200
    exact = built.matrix @ mass
    held = 0
    for seed in range(200):
        sample = built.noise.draw(counts.center(built.query), SeededSource(seed)).values
        held += bool((np.abs(sample - exact) <= built.noise.simultaneous_half_width + 1e-12).all())
    # At least 95%; below 166 of 200 has probability 1e-8, and a half width 30% too small would hold about 40% only.
    assert held >= 166


def test_large_spaces_say_how_they_are_measured():
    for step, method in ((1 / 64, "near items"), (1 / 150, "coarser grid")):
        square = Euclidean([0, 0], [1, 1], step=step)
        flat = np.full(square.items, 1 / square.items)
        assert (measure_of(square).distance(flat - flat), measure_of(square).method) == (0.0, method)


def test_shares_follow_the_number_of_users():
    names = tuple(level.name for level in scales_of(SQUARE).levels)
    fine = [dict(best_shares(SQUARE, names, rate)).get("cells", 0) for rate in (1e3, 1e5, 1e8)]
    assert fine[0] < fine[2]
    assert fine[1] <= fine[2]
    for rate in (1e3, 1e5, 1e8):
        assert sum(share for _, share in best_shares(SQUARE, names, rate)) == 1
    best_shares.cache_clear()
    assert fine[1] == dict(best_shares(SQUARE, names, 1e5)).get("cells", 0)
    query = multiscale(SQUARE, bandwidths=list(names))
    some = predicted_error(query, 1e5, [[0.25] * 4, [0, 0, 0, 1]])
    assert (predicted_error(query, 1e6, [[0.25] * 4, [0, 0, 0, 1]]) < some).all()


def test_a_better_choice_has_a_smaller_simulated_error():
    """The rough prediction is worth something: its choice beats its own worst choices, by simulation."""
    chosen = simulated(histogram_noise(SQUARE, "multiscale", 25, users=1000))
    for bad in (["cells"], ["0.353554"]):
        assert chosen < 0.8 * simulated(at(SQUARE, 25, users=1000, bandwidths=bad))


def test_errors_fall_with_users():
    few, many = (simulated(histogram_noise(SQUARE, "multiscale", 25, users=n)) for n in (1000, 100_000))
    assert many < few / 3


def simulated(made, draws=3):
    """The mean EMD error of the decoded map at the mixed reference."""
    truth, results = mixed_reference(made.query.space), []
    for seed in range(draws):
        noisy = made.matrix @ truth + made.noise.draw(zeros(made), SeededSource(seed)).values
        results.append(measure_of(made.query.space).distance(made.decode(noisy) - truth))
    return np.mean(results)


def clusters(space, seed):
    rng = np.random.default_rng(seed)
    weights = np.zeros(space.items)
    for _ in range(4):
        bump = np.exp(
            -((space.points - rng.uniform(0.1, 0.9, 2)) ** 2).sum(axis=1) / (2 * rng.uniform(0.03, 0.15) ** 2)
        )
        weights += bump / bump.sum()
    return weights / weights.sum()


def check_ins(space, seed):
    rng = np.random.default_rng(seed)
    towns = rng.uniform(0.1, 0.9, (4, 2))[rng.integers(0, 4, 150)]
    ids = space.encode(np.clip(towns + rng.normal(0, 0.08, (150, 2)), 0, 0.999))
    weights = np.bincount(ids, weights=1 / np.arange(1, 151) ** 0.9, minlength=space.items)
    return 0.9 * weights / weights.sum() + 0.1 / space.items


@pytest.mark.parametrize("users", [1000, 10_000])
def test_half_the_error_of_one_bandwidth_and_of_the_cells(users):
    """Theory B7's setting; one bandwidth is read as released, at the bandwidth that is best in hindsight."""
    space = Euclidean([0, 0], [1, 1], step=1 / 32)
    people = [clusters(space, 11), check_ins(space, 12)]

    def error(made, read):
        total = 0.0
        for i, truth in enumerate(people):
            noisy = made.matrix @ truth + made.noise.draw(zeros(made), SeededSource(users + i)).values
            total += emd(space, read(made, noisy), truth) / len(people)
        return total

    def one(name):
        return at(space, 25, users=users, bandwidths=[name], noise="laplace")

    def at_centres(made, noisy):
        shares = nearest_in_simplex(noisy)
        ids = space.encode(np.clip(made.query.levels[0].query.places, 0, 0.999))
        weights = np.bincount(ids, weights=shares, minlength=space.items)
        return weights / weights.sum()

    ours = error(histogram_noise(space, "multiscale", 25, users=users), lambda built, noisy: built.decode(noisy))
    single = min(error(one(name), at_centres) for name in ("0.176777", "0.0883884", "0.0441942"))
    cells = error(one("cells"), lambda built, noisy: nearest_in_simplex(noisy))
    assert ours <= 0.5 * single
    assert ours <= 0.5 * cells


def test_a_release():
    built = histogram_noise(SQUARE, "multiscale", 25, users=500)
    counts = UserCounts.of_users(SQUARE, [[i % 40] for i in range(500)])
    sample = built.noise.draw(counts.center(built.query))
    assert sample.private
    assert built.event.alpha == 25
    weights = built.decode(sample.values)
    assert weights.shape == (SQUARE.items,)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert weights[:48].sum() > 0.8


def test_gaussian_noise_where_delta_allows():
    built = histogram_noise(SQUARE, "multiscale", 1, "1e-2", users=500, noise="gaussian")
    assert built.noise.name == "Gaussian"
    assert simulated(built, 1) > 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: histogram_noise(SQUARE, "multiscale", 0, users=10), "alpha"),
        (lambda: histogram_noise(SQUARE, "multiscale", 25, users=0), "users"),
        (lambda: histogram_noise(SQUARE, "multiscale", 25, users="many"), "users"),
        (lambda: histogram_noise(Discrete(["a", "b"]), "multiscale", 25, users=10), "needs places"),
        (lambda: at(SQUARE, 25, users=10, bandwidths=["0.01"]), "two cells"),
        (lambda: at(SQUARE, 25, users=10, bandwidths=["0.4"], shares=["2"]), "sum 1"),
        (lambda: histogram_noise(SQUARE, "multiscale", 25, users=10).decode([1.0]), "finite numbers"),
        (
            lambda: map_of(multiscale(SQUARE, bandwidths=["cells"]), np.eye(1), [1], deviation=1, method="best"),
            "method",
        ),
        (lambda: nearest_map(np.eye(2), [math.nan, 0]), "finite"),
        (
            lambda: discrepancy_map(np.eye(2), [1, 0], deviation=0, strongest=1, atoms=np.eye(2), prior=np.ones(2) / 2),
            "deviation",
        ),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ParameterError, match=words) as caught:
        call()
    assert caught.value.fix


def test_map_of():
    query = multiscale(Line(0, 1, step=1 / 16), bandwidths=["1/4", "cells"])
    matrix = (query.table.floats() * float(query.step)).T
    assert int(map_of(query, matrix, matrix @ np.eye(16)[3], deviation=1e-6).weights.argmax()) == 3


def test_scales():
    scales = scales_of(Line(0, 1, step=1 / 16))
    assert [matrix.shape[1] for matrix in scales.matrices] == [3, 5, 9, 16]
    assert scales.atoms.shape == (16, 34)


def test_usable_bandwidths():
    assert usable_bandwidths(Line(0, 1, step=1 / 8)) == ("0.5", "0.25", "cells")


def test_mixed_reference():
    weights = mixed_reference(Line(0, 1, step=1 / 16))
    assert round(float(weights.sum()), 12) == 1.0
    assert (weights > 0).all()


def test_predicted_error():
    query = multiscale(Line(0, 1, step=1 / 64), bandwidths=["1/4", "1/16", "cells"])
    rough = predicted_error(query, 1000.0, [[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    assert rough[0] < rough[1]


def test_best_shares():
    line = Line(0, 1, step=1 / 32)
    assert [[name for name, _ in best_shares(line, ("1/4", "cells"), rate)] for rate in (100.0, 1e6)] == [
        ["1/4"],
        ["1/4", "cells"],
    ]
