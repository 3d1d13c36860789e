"""FreqEstLocal: unbiased, decoded, with the error it says, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.errors import DataError, ParameterError
from barrow.mechanisms import FrequencyEstimator, item_wise, pooled_items
from barrow.mechanisms.frequency import checked_decoder, whole_counts
from barrow.noise.source import SeededSource
from barrow.planning.simulate import simulate
from barrow.randomisers import exponential, gkrr, laplace, mapped, randomised_response
from barrow.spaces import Circle, Clustered, Discrete, Embedding, Euclidean, Line
from barrow.transport import emd, kr_norm

SPACE = Clustered.grid(4, 3, r=0.1)
LAW = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.0, 0.0, 0.0])


def estimator(alpha0: object = 4, users: int = 200, items: int = 10, **more) -> FrequencyEstimator:
    return FrequencyEstimator(item_wise(gkrr(SPACE, alpha0), items=items, users=users), **more)


def releases(plan: FrequencyEstimator, draws: int, seed: int = 3):
    held = whole_counts(LAW, plan.reports)
    source = SeededSource(seed)
    for _ in range(draws):
        yield plan.itemwise.release(held, source=source).counts


def test_the_estimate_is_unbiased_and_the_reports_are_not():
    plan = estimator()
    counts = np.array(list(releases(plan, 400)))
    result = np.array([plan.estimate(c) for c in counts])
    assert np.allclose(result.sum(axis=1), 1.0)
    # Six standard errors of the mean, by the exact covariance.
    deviations = np.sqrt(np.diag(plan.error.covariance(plan.reports, LAW)) / 400)
    assert (np.abs(result.mean(axis=0) - LAW) < 6 * deviations + 1e-12).all()
    assert (np.abs(counts.mean(axis=0) / plan.reports - LAW) > 6 * deviations).any()
    assert (result < 0).any()


def test_the_empirical_covariance_is_the_stated_one():
    plan = estimator(15)
    result = np.array([plan.estimate(c) for c in releases(plan, 1000, seed=9)])
    some = LAW > 0
    result, stated = result[:, some], plan.error.covariance(plan.reports, LAW)[np.ix_(some, some)]
    ratio = result.var(axis=0) / np.diag(stated)
    assert (np.abs(ratio - 1) < 6 * np.sqrt(2 / 1000)).all()
    # The check can fail: without the last term of the formula the variances would be too large.
    without = np.diag(stated) + LAW[some] / plan.reports
    assert (np.abs(result.var(axis=0) / without - 1) > 6 * np.sqrt(2 / 1000)).any()


def test_the_mean_over_users_is_the_histogram_of_all_reports():
    """Users who all hold m items: averaging their histograms of reports is counting all reports."""
    plan = estimator(users=5, items=4)
    single = item_wise(plan.itemwise.randomiser, items=4, model="local")
    source = SeededSource(5)
    rows = [single.randomise([0, 1, 5, x], source=source).counts for x in range(5)]
    whole = plan.estimate(sum(rows))
    mean = np.mean([FrequencyEstimator(single, users=1).estimate(row) for row in rows], axis=0)
    assert np.allclose(whole, mean, atol=1e-12)


@pytest.mark.parametrize("how", ["tree", "simplex", "bayesian"])
def test_decoded_estimates_are_histograms(how):
    plan = estimator(how=how)
    for counts in releases(plan, 5):
        decoded = plan.decode(counts)
        assert (decoded >= 0).all()
        assert decoded.sum() == pytest.approx(1.0)
        assert np.array_equal(decoded, estimator().decode(counts, how))


def test_decoding_along_the_tree_helps_and_keeps_its_bound():
    plan = estimator(users=100)
    plain, tree, simplex = [], [], []
    for counts in releases(plan, 60):
        estimate = plan.estimate(counts)
        plain.append(kr_norm(SPACE, estimate - LAW))
        tree.append(emd(SPACE, plan.decode(counts, "tree"), LAW))
        simplex.append(emd(SPACE, plan.decode(counts, "simplex"), LAW))
        assert tree[-1] <= 2 * plain[-1] + 1e-9
    assert np.mean(tree) < np.mean(plain) < np.mean(simplex)
    assert np.mean(tree) < plan.decoded_upper
    assert np.mean(plain) < plan.error_upper
    assert simulate(plan, np.asarray(LAW), 60).mean == pytest.approx(np.mean(tree), rel=0.25)


def test_no_decoding_gives_the_estimate_itself():
    plan = estimator(how="none")
    counts = next(releases(plan, 1))
    assert np.array_equal(plan.decode(counts), plan.estimate(counts))
    assert plan.decoded_upper == plan.error_upper


def test_errors_are_in_the_spaces_unit():
    km, metres = Line(0, 10, unit="km", step=1, cells=True), Line(0, 10_000, unit="m", step=1000, cells=True)
    small, large = (FrequencyEstimator(item_wise(exponential(s, 6), items=2, users=50)) for s in (km, metres))
    assert large.predicted_error() == pytest.approx(1000 * small.predicted_error(), rel=1e-6)
    assert large.error_upper == pytest.approx(1000 * small.error_upper, rel=1e-6)
    assert small.decoded_upper is None


def test_a_decoder_that_suits_the_space():
    assert checked_decoder(None, Line(0, 3, step=1, cells=True)) == "tree"
    assert checked_decoder(None, Circle(24, step=3)) == "bayesian"
    assert checked_decoder(None, Euclidean([0, 0], [200, 100], step=1)) == "simplex"
    with pytest.raises(ParameterError, match="not those of a tree"):
        checked_decoder("tree", Circle(24, step=3))
    with pytest.raises(ParameterError, match="decode is 'median'"):
        estimator(how="median")


def test_a_tiny_alpha0_says_what_error_to_expect():
    weak = estimator("0.001", users=10)
    assert "more than a uniform guess" in weak.warning
    assert f"{weak.predicted_error():.3g}" in weak.warning
    assert weak.error_upper > 100
    # What is decoded is still a histogram, and no worse than the diameter.
    decoded = weak.decode(next(releases(weak, 1)))
    assert decoded.sum() == pytest.approx(1.0)
    assert weak.decoded_upper == 1.0
    assert estimator(8, users=10**6).warning is None


def test_an_ill_conditioned_matrix_is_warned_of_with_its_condition_number():
    plan = FrequencyEstimator(
        item_wise(exponential(Line(0, 200, step=1, cells=True), "0.02"), items=10**6, users=10**9)
    )
    assert plan.channel.condition > 1e6
    assert f"{plan.channel.condition:.3g}" in (plan.warning or "")


def test_users_without_items_and_of_other_sizes_are_refused_or_hold_the_default():
    single = item_wise(gkrr(SPACE, 4), items=4, model="local")
    for items in ([], [0], [0] * 5):
        with pytest.raises(DataError) as caught:
            single.randomise(items)
        assert not any(c.isdigit() for c in str(caught.value))
    # In the central model a missing user holds the public default item, m times.
    held = pooled_items(SPACE, item=[5], size=[4], count=[4], present=1, items=4, users=3)
    assert held[SPACE.default_item] == 8
    with pytest.raises(DataError):
        pooled_items(SPACE, item=[5], size=[3], count=[3], present=1, items=4, users=3)


def test_counts_that_do_not_fit_are_refused():
    plan = estimator(users=3, items=4)
    good = np.zeros(12, dtype=np.int64)
    good[0] = 12
    assert plan.estimate(good).sum() == pytest.approx(1.0)
    assert plan.estimate(good.tolist()).sum() == pytest.approx(1.0)
    for bad, match in (
        (good[:-1], "one whole number"),
        (good / 2, "one whole number"),
        (-good, "one whole number"),
        (good + 1, "is not 4 for each of 3 users"),
        (good * 0, "There are 0 reports"),
    ):
        for use in (plan.estimate, plan.decode):
            with pytest.raises(ParameterError, match=match):
                use(bad)
    anonymous = FrequencyEstimator(item_wise(gkrr(SPACE, 4), items=4, model="local"))
    with pytest.raises(ParameterError, match="is not 4 for each user"):
        anonymous.estimate(good - np.eye(12, dtype=np.int64)[0])
    with pytest.raises(ParameterError, match="number of users is missing"):
        anonymous.predicted_error()
    assert anonymous.for_users(3).predicted_error() == plan.predicted_error()
    with pytest.raises(ParameterError, match="users is 0"):
        anonymous.for_users(0)


def test_randomisers_that_cannot_be_undone_are_refused_at_once():
    words = Embedding(["cat", "dog", "car"], [[0, 1], [0, 2], [5, 0]])
    for randomiser in (laplace(words, 20), mapped(exponential(words, 5), lambda label: label[0])):
        with pytest.raises(ParameterError):
            FrequencyEstimator(item_wise(randomiser, items=2, users=3))


def test_all_of_it_on_a_space_that_is_no_tree():
    grid = Euclidean([0, 0], [4, 3], unit="km", step=1)
    plan = FrequencyEstimator(item_wise(exponential(grid, 8), items=5, users=400))
    held = whole_counts(np.arange(1, 13) / 78, plan.reports)
    counts = plan.itemwise.release(held, source=SeededSource(1)).counts
    decoded = plan.decode(counts)
    assert decoded.min() >= 0
    assert plan.predicted_error(decoded) < plan.error_upper
    assert emd(grid, decoded, held / plan.reports) < plan.error_upper
    assert plan.decoded_upper is None
    assert plan.how == "bayesian"


def test_one_item_needs_no_estimate():
    plan = FrequencyEstimator(item_wise(randomised_response(Discrete(["a"]), 1), items=2, users=3))
    assert plan.decode([6]).tolist() == [1.0]
    assert plan.predicted_error() == 0.0
    assert plan.error_upper == 0.0


def test_whole_counts_add_up():
    rng = np.random.default_rng(1)
    for total in (1, 7, 1000, 10**12 + 1):
        law = rng.dirichlet(np.ones(9))
        result = whole_counts(law, total)
        assert int(result.sum()) == total
        assert (np.abs(result - law * total) <= 1 + 1e-3).all()


@pytest.mark.parametrize(("shape", "r", "expected"), [((10, 10), 0.05, 0.080), ((5, 4), 0.02, 0.027)])
def test_the_errors_known_for_the_local_model(shape, r, expected):
    """n = 1e4 people of 1e3 items at alpha = 25, delta = 1e-9, which the flow accountant gives alpha0 = 0.0904."""
    space = Clustered.grid(*shape, r=r)
    plan = FrequencyEstimator(item_wise(gkrr(space, "0.0904"), items=1000, users=10**4))
    rng, results = np.random.default_rng(11), []
    for _ in range(24):
        held = rng.multinomial(plan.reports, rng.dirichlet(np.ones(space.items)))
        counts = sum(rng.multinomial(c, row) for c, row in zip(held, plan.channel.matrix(), strict=True))
        results.append(emd(space, plan.decode(counts), held / plan.reports))
    assert np.mean(results) == pytest.approx(expected, rel=0.12)


def test_samples_add_their_own_error_and_the_bound_covers_it():
    """With almost no randomiser the samples are all there is: their error is seen, and predicted from above."""
    space = Clustered.grid(3, 4, r=0.2)
    built = item_wise(gkrr(space, 15), items=5, users=20)
    plain, sampled = FrequencyEstimator(built, how="none"), FrequencyEstimator(built, how="none", sampled=True)
    assert sampled.predicted_error() > plain.predicted_error()
    assert sampled.error_upper > plain.error_upper
    uniform = np.full(space.items, 1.0 / space.items)
    seen = simulate(sampled, uniform, 200).mean
    assert 3 * simulate(plain, uniform, 200).mean < seen <= sampled.predicted_error()
    assert sampled.predicted_error() < 4 * seen


def test_whole_counts():
    assert whole_counts(np.array([0.5, 0.25, 0.25]), 7).tolist() == [3, 2, 2]
