"""PrivEMDLinear: calibration with power, half widths, choice of noise, events, and audits at small alpha w."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts, linear_candidates, linear_noise
from barrow.mechanisms.edge_sums import _log_equal_tail
from barrow.noise.source import SeededSource
from barrow.numerics import gdp_delta_upper
from barrow.promises import GaussianNoise, KNormNoise
from barrow.queries import density, distance_to, function, histogram, mean
from barrow.spaces import Discrete, Euclidean, Line
from barrow.transport import emd_between

LINE = Line(0, 10, unit="km", step=1, cells=True)
MANY = function(LINE, np.random.default_rng(2).normal(size=(10, 40)))
USERS = [[0, 3], [9], [4, 4, 5]]
COUNTS = UserCounts.of_users(LINE, USERS)


def exact_answer(query, counts):
    center = counts.center(query)
    return np.array([float(center.exact_entry(j)) for j in range(query.dimension)])


def errors(query, noise, runs, seed, model="central", delta=0, alpha=2):
    source = SeededSource(seed)
    counts = COUNTS if model == "central" else UserCounts.of_users(LINE, USERS[:1])
    truth, center = exact_answer(query, counts), counts.center(query)
    built = linear_noise(query, alpha, delta, noise=noise, model=model, users=counts.users)
    samples = [built.draw(center, source) for _ in range(runs)]
    assert not any(one.private for one in samples)
    return np.array([one.values - truth for one in samples]), built


@pytest.mark.parametrize("model", ["central", "local"])
def test_the_scale_is_ell_over_alpha_n(model):
    n = 3 if model == "central" else 1
    for p in (1, 2, "inf"):
        noise = linear_noise(MANY, 25, noise=p, model=model, users=n)
        assert noise.scale == Fraction(MANY.lipschitz_upper(p)) / (25 * n)
        assert noise.event == KNormNoise(25, model=model, range_ratio=MANY.range_ratio(p))
    gauss = linear_noise(MANY, 25, "1e-9", noise="gaussian", model=model, users=n)
    assert isinstance(gauss.event, GaussianNoise)
    mu = float(gauss.event.mu)
    assert gauss.scale == Fraction(MANY.lipschitz_upper(2)) / (gauss.event.mu * n)
    assert gdp_delta_upper(mu, 25) <= 1e-9 < gdp_delta_upper(mu * 1.001, 25)


def test_gaussian_noise_follows_the_exact_equation_and_not_the_paper():
    query = function(Discrete(["a", "b"]), [0, 1])
    noise = linear_noise(query, 25, "1e-12", noise="gaussian", model="local")
    assert float(noise.scale) == pytest.approx(1 / 2.990999468, rel=1e-8)
    papers = math.sqrt(1.25 * math.log(1e12)) / 25
    assert papers < 0.71 * float(noise.scale)  # its true delta is 4.5e-5


@pytest.mark.parametrize("model", ["central", "local"])
@pytest.mark.parametrize(
    ("noise", "statistic"),
    [
        ("laplace", lambda e: np.abs(e).mean()),
        ("l2", lambda e: np.sqrt((e**2).sum(axis=1)).mean() / 40),
        ("linf", lambda e: np.abs(e).max(axis=1).mean() / 40),
        ("gaussian", lambda e: np.abs(e).mean() * math.sqrt(math.pi / 2)),
    ],
)
def test_noise_has_the_right_scale_and_one_five_percent_off_is_rejected(model, noise, statistic):
    delta = 1e-6 if noise == "gaussian" else 0
    runs = 1000
    result, built = errors(MANY, noise, runs, seed=11, model=model, delta=delta)
    scale = float(built.scale)
    measured = statistic(result) / scale
    # 40,000 independent draws (a Gamma(40) radius has the same relative spread): 0.5% each; 2.5% is five deviations.
    assert abs(measured - 1) < 0.025
    assert abs(measured / 1.05 - 1) > 0.025
    assert abs(measured / 0.95 - 1) > 0.025
    assert abs(result.mean()) < 5 * built.deviation / math.sqrt(result.size) * (1 if noise != "l2" else 1.2)


@pytest.mark.parametrize("noise", ["laplace", "l2", "linf", "gaussian", "3"])
def test_half_widths_cover_95_percent_and_ten_percent_less_do_not(noise):
    query = MANY if noise != "3" else function(LINE, MANY.table.integers[:, :4] * 2.0**-50)
    result, built = errors(query, noise, 700 if noise != "3" else 400, seed=12, delta=1e-6)
    single = np.abs(result[:, :5] if noise != "3" else result)
    inside = (single <= built.half_width).mean()
    # Outputs of one K-norm draw are not independent, but uncorrelated signs make counts nearly so.
    slack = 6 * math.sqrt(0.05 * 0.95 / single.size)
    assert inside >= 0.95 - slack
    assert (np.abs(result) <= 0.9 * built.half_width).mean() < (np.abs(result) <= built.half_width).mean() - 0.005
    together = (np.abs(result).max(axis=1) <= built.simultaneous_half_width).mean()
    assert together >= 0.95 - 6 * math.sqrt(0.05 * 0.95 / len(result))


def test_a_half_width_ten_percent_too_small_is_rejected():
    result, built = errors(MANY, "laplace", 1000, seed=13)
    size = result.size
    sd = math.sqrt(0.05 * 0.95 / size)
    assert abs((np.abs(result) <= built.half_width).mean() - 0.95) < 5 * sd
    assert (np.abs(result) <= 0.9 * built.half_width).mean() < 0.95 - 5 * sd


def test_predicted_errors_agree_with_simulation_and_the_best_is_chosen():
    delta = 1e-6
    names, predicted, measured = [], [], []
    for noise in ("laplace", "l2", "linf", "gaussian"):
        result, built = errors(MANY, noise, 300, seed=14, delta=delta)
        names.append(built.name)
        predicted.append(built.deviation)
        measured.append(math.sqrt((result**2).mean()))
    assert measured == pytest.approx(predicted, rel=0.06)
    best = linear_noise(MANY, 2, delta, users=3)
    order = [c.name for c in linear_candidates(MANY, 2, delta, users=3)]
    assert best.name == order[0]
    widths = [c.half_width for c in linear_candidates(MANY, 2, delta, users=3)]
    assert widths == sorted(widths)
    local = [c.deviation for c in linear_candidates(MANY, 2, delta, model="local")]
    assert local == sorted(local)
    assert best.name == names[int(np.argmin(measured))]


def test_gaussian_wins_for_many_outputs_and_laplace_for_one():
    line = Line(0, 1, step=1 / 200)
    many = density(line, bandwidth="0.02")
    assert linear_noise(many, 5, "1e-9", users=1000).name == "Laplace"  # ell_1 is only sqrt 2 times ell_2
    spread = function(Discrete([str(i) for i in range(100)]), np.random.default_rng(0).normal(size=(100, 100)))
    assert linear_noise(spread, 5, "1e-9", users=1000).name == "Gaussian"
    assert linear_noise(mean(LINE), 5, "1e-9", users=1000).name == "Laplace"


def test_the_worst_case_is_in_the_event():
    line = Line(0, 1, step=1 / 1000)
    query = density(line, bandwidth="0.01")
    event = linear_noise(query, 25, noise="laplace", users=100).event
    assert float(event.range_ratio) == pytest.approx(0.01, rel=1e-6)  # B = 2, ell = 2/h


# Audits. At small alpha w, where samples can see something.


def integer_law(center, scale, grid, low, high):
    """Exact probabilities of the rounded Laplace mechanism on the integers low..high, with 40 digits."""
    with mpmath.workdps(40):

        def cdf(x):
            z = (x - center) / scale
            return mpmath.exp(z) / 2 if z < 0 else 1 - mpmath.exp(-z) / 2

        edges = [cdf((mpmath.mpf(k) - mpmath.mpf(1) / 2) * grid) for k in range(low, high + 2)]
        return [edges[i + 1] - edges[i] for i in range(len(edges) - 1)]


def test_exact_audit_of_laplace_on_all_data_sets_of_a_tiny_space():
    """Every pair of data sets of up to three items, every outcome: the loss is at most alpha w, and 99% occurs."""
    space = Line(0, 1, points=[0, 0.3, 1])
    query, alpha = mean(space), 3
    noise = linear_noise(query, alpha, model="local", grid="1/8")
    data = [[i] for i in range(3)] + [[i, j] for i in range(3) for j in range(i + 1)]
    data += [[i, j, k] for i in range(3) for j in range(i + 1) for k in range(j + 1)]
    scale = mpmath.mpf(noise.scale.numerator) / noise.scale.denominator
    laws = []
    for items in data:
        entry = UserCounts.of_users(space, [items]).center(query).exact_entry(0)
        center = mpmath.mpf(entry.numerator) / entry.denominator
        laws.append(integer_law(center, scale, mpmath.mpf(1) / 8, -40, 48))
    worst = 0.0
    for i, a in enumerate(data):
        for j, b in enumerate(data):
            w = emd_between(space, a, b)
            loss = max(float(mpmath.log(x / y)) for x, y in zip(laws[i], laws[j], strict=True))
            assert loss <= alpha * w * (1 + 1e-12) + 1e-12
            if w > 1e-9:
                worst = max(worst, loss / (alpha * w))
    assert worst > 0.99
    # Power: with 5% less noise the audit would fail.
    short = [integer_law(mpmath.mpf(c), scale * 0.95, mpmath.mpf(1) / 8, -40, 48) for c in (0, 1)]
    assert max(float(mpmath.log(x / y)) for x, y in zip(*short, strict=True)) > alpha * 1.04


def test_samples_follow_the_exact_law_that_was_audited():
    space = Line(0, 1, points=[0, 0.3, 1])
    query, alpha = mean(space), 3
    counts = UserCounts.of_users(space, [[0, 1, 2]])
    source = SeededSource(21)
    draws = 6000
    seen = []
    noise = linear_noise(query, alpha, model="local", grid="1/8")
    for _ in range(draws):
        seen.append(int(noise.draw(counts.center(query), source).integers[0]))
    entry = counts.center(query).exact_entry(0)
    center = mpmath.mpf(entry.numerator) / entry.denominator

    def chi_square(factor):
        scale = mpmath.mpf(noise.scale.numerator) / noise.scale.denominator * factor
        law = np.array([float(x) for x in integer_law(center, scale, mpmath.mpf(1) / 8, -6, 12)])
        law = np.append(law, 1 - law.sum())
        table = [seen.count(k) for k in range(-6, 13)]
        table.append(draws - sum(table))
        return float(((np.array(table) - draws * law) ** 2 / (draws * law)).sum())

    assert chi_square(1.0) < 19 + 6 * math.sqrt(38)
    assert chi_square(1.15) > 19 + 6 * math.sqrt(38)


@pytest.mark.parametrize(("noise", "delta"), [("l2", 0), ("linf", 0), ("gaussian", 0.05)])
def test_sampled_audit_at_distance_one(noise, delta):
    """Half spaces along the difference: P(S) <= e^alpha P'(S) + delta; half the noise is caught."""
    space = Discrete(["a", "b"])
    query = function(space, [[0, 0], [1, 0.5]])
    alpha, runs = 1, 6000
    samples = {}
    for name, item in (("a", 0), ("b", 1)):
        source = SeededSource(31 + item)
        center = UserCounts.of_users(space, [[item]]).center(query)
        chosen = linear_noise(query, alpha, delta, noise=noise, model="local")
        samples[name] = np.array([chosen.draw(center, source).values for _ in range(runs)])
    direction = np.array([1.0, 0.5]) if noise != "linf" else np.array([1.0, 0.0])

    def excess(factor):
        a = factor * samples["a"] @ direction
        b = (factor * (samples["b"] - [1, 0.5]) + [1, 0.5]) @ direction
        cuts = np.quantile(np.concatenate([a, b]), np.linspace(0.02, 0.98, 49))
        gaps = [(b > c).mean() - math.e**alpha * (a > c).mean() for c in cuts]
        return max(gaps) - delta

    noise_of_estimate = 5 * math.sqrt((1 + math.e ** (2 * alpha)) * 0.25 / runs)
    assert excess(1.0) <= noise_of_estimate / 2
    assert excess(0.35) > noise_of_estimate / 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 0}, "alpha is 0"),
        ({"alpha": -1}, "alpha is -1"),
        ({"alpha": "nan"}, "not a number"),
        ({"alpha": math.inf}, "not a number"),
        ({"delta": 1}, "delta is 1"),
        ({"delta": -0.1}, "delta is -0.1"),
        ({"delta": math.nan}, "not a number"),
        ({"noise": "gaussian"}, "delta is 0"),
        ({"noise": "cauchy"}, "noise is 'cauchy'"),
        ({"noise": 0.5}, "noise is 0.5"),
        ({"model": "shuffle"}, "model is 'shuffle'"),
        ({"grid": 100}, "coarser than the noise"),
        ({"grid": 0}, "grid is 0"),
        ({"grid": -1}, "grid is -1"),
    ],
)
def test_bad_input_is_refused(change, message):
    arguments = {"alpha": 2, "delta": 0, "noise": "auto", "model": "central", "grid": None} | change
    with pytest.raises(ParameterError, match=message):
        linear_noise(mean(LINE), users=3, **arguments)


@pytest.mark.parametrize("users", [None, 0, 2.5, True])
def test_the_central_model_needs_the_public_number_of_users(users):
    with pytest.raises(ParameterError, match="users is"):
        linear_noise(mean(LINE), 2, users=users)


def test_the_answer_is_about_people_and_not_records():
    counts = UserCounts.of_users(LINE, [[0], [9] * 999])
    answer = linear_noise(mean(LINE), 10**9, users=2).draw(counts.center(mean(LINE)))
    assert answer.values[0] == pytest.approx(5.0, abs=1e-3)


def test_release_by_the_system_is_private_and_on_the_grid():
    answer = linear_noise(histogram(LINE), 25, users=3).draw(COUNTS.center(histogram(LINE)))
    assert answer.private
    assert answer.grid.denominator & (answer.grid.denominator - 1) == 0
    assert len(answer.values) == 10
    assert distance_to(LINE, 3).unit == "km"


def test_a_plane_is_answered_in_each_norm():
    plane = Euclidean([0, 0], [1, 1], step=0.25)
    counts = UserCounts.of_users(plane, [[0], [15]])
    for noise in ("laplace", "l2", "linf", "5/2", "gaussian"):
        built = linear_noise(mean(plane), 10**8, "1e-3", noise=noise, users=2)
        answer = built.draw(counts.center(mean(plane)))
        assert answer.values == pytest.approx([0.5, 0.5], abs=1e-3)


@pytest.mark.parametrize("reports", [2, 7, 100, 3000])
def test_half_widths_of_means_of_laplace_reports_are_those_of_their_sum(reports):
    noise = linear_noise(mean(Line(0, 1, step=0.1)), 1, model="local", grid="1/1024")
    width = noise.mean_half_width(reports) - noise.mean_rounding_upper(reports) - noise.rounding_upper
    # The closed form of sums of equal Laplace variables is a second route: on the safe side, and within 0.3 %.
    assert math.exp(_log_equal_tail(reports, width * reports / float(noise.scale))) <= 0.025
    assert math.exp(_log_equal_tail(reports, 0.997 * width * reports / float(noise.scale))) > 0.02495


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("grid", [0.25, 1.0, 2.0, 4.0])
def test_the_mean_of_rounding_errors_is_below_its_bound(grid, gaussian):
    law = stats.norm() if gaussian else stats.laplace()
    worst = 0.0
    for start in np.linspace(0.0, 0.5, 21) * grid:
        ends = (np.arange(-200, 202) - 0.5) * grid - start
        means = integrate.quad(lambda x: x * law.pdf(x), ends[0], ends[-1], limit=400, points=[0.0])[0]
        rounded = float((np.arange(-200, 201) * grid) @ np.diff(law.cdf(ends)))
        worst = max(worst, abs(rounded - start - means))
    assert worst <= grid**3 / 100.0
    if not gaussian and grid == 0.25:
        assert worst > grid**3 / 400.0  # the bound is no more than a few times too large
