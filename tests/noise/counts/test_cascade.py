from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.baselines.uniform import stars, uniform_multinomials
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from barrow.errors import ParameterError
from barrow.noise.counts import cascade
from barrow.noise.counts.cascade import Cascade
from barrow.noise.counts.uniform_int import scaled_to_spans, uniform_in_spans
from barrow.noise.source import SeededSource


def crooked() -> Cascade:
    """Clusters of 30 and 50 leaves, a leaf on its own, and 19 leaves of which 10 are a cluster once more."""
    starts, ends = [0, 0, 30, 81, 81], [100, 30, 80, 100, 91]
    parents = [-1, 0, 0, 0, 3]
    for leaf in range(100):
        inside = [v for v in range(5) if starts[v] <= leaf < ends[v]]
        parents.append(max(inside, key=lambda v: starts[v] * 1000 - ends[v]))
    return Cascade.of(starts + list(range(100)), ends + list(range(1, 101)), parents)


def chi_square(found, expected) -> float:
    return float(stats.chi2.sf(((found - expected) ** 2 / expected).sum(), len(expected) - 1))


def expected_of(tree: Cascade, held, leaves):
    result = np.zeros(leaves)
    for start, width, items in zip(tree.starts, tree.widths, held, strict=True):
        result[start : start + width] += items / width
    return result


@pytest.mark.parametrize("bits", [6, 8])
def test_scaled_numbers_are_exactly_even(bits):
    """All strings of bits, for every width: each result is as frequent as any other, and few are refused."""
    for width in range(1, 2**bits):
        sample = np.arange(2**bits, dtype=np.uint32)
        one = np.array([width], dtype=np.uint32)
        result, refused = scaled_to_spans(sample, np.array([7]), one, np.array([2**bits]), bits)
        subset = result if refused is None else np.delete(result, refused)
        assert np.bincount(subset - 7, minlength=width).tolist() == [2**bits // width] * width


@pytest.mark.parametrize("widest", [100, 5000])
def test_even_draws_fill_their_spans(widest):
    starts, widths, numbers = np.array([0, 100]), np.array([100, widest]), np.array([30_000, 200_000])
    result, refused = uniform_in_spans(starts, widths, numbers, SeededSource(1))
    subset = np.delete(result, refused) if refused is not None else result
    assert len(result) - len(subset) < 100
    assert result[:30_000].max() < 100 <= result[30_000:].min()
    assert chi_square(np.bincount(result[30_000:] - 100, minlength=widest), np.full(widest, 200_000 / widest)) > 1e-6


@pytest.mark.parametrize("scale", [1, 300, 10**5, 10**9])
def test_every_leaf_gets_its_share_and_a_wrong_one_is_seen(scale):
    tree = crooked()
    held = np.array([7, 30, 50, 11, 40]) * scale
    result = np.zeros(100, dtype=np.int64)
    left = held.copy()
    tree.spread(left, result, SeededSource(scale))
    assert not left.any()
    assert result.sum() == held.sum()
    expected = expected_of(tree, held, 100)
    assert chi_square(result, expected) > 1e-6
    if scale >= 10**5:
        wrong = expected * np.where(np.arange(100) < 30, 1.01, 1.0)
        assert chi_square(result, wrong * expected.sum() / wrong.sum()) < 1e-6


def test_the_spread_has_the_variance_of_a_multinomial():
    """Too even or too uneven a spread has the right means: the variance tells."""
    result = uniform_multinomials(np.full(3000, 20_000), 20, source=SeededSource(3))
    square = ((result - 1000.0) ** 2 / 1000.0).sum(axis=1)  # chi-square of 19 degrees, in each row
    assert stats.kstest(square, stats.chi2(19).cdf).pvalue > 1e-6
    assert stats.kstest(square * 1.1, stats.chi2(19).cdf).pvalue < 1e-6
    # And the correlation of two cells is -1/19.
    together = np.corrcoef(result.T)[np.triu_indices(20, 1)].mean()
    assert abs(together + 1 / 19) < 5e-4


def test_a_round_hands_down_a_multinomial_given_its_sum():
    """Poisson counts of three cells, given that they sum to 60: the exact conditional distribution, by chi-square."""
    tree = stars(1, 3)
    rate = np.array([20])
    rng = SeededSource(9)
    sample = cascade.poisson(np.tile(tree.means(rate), 60_000), rng).reshape(-1, 3)
    same = sample[sample.sum(axis=1) == 60]
    assert len(same) > 2000
    for cell in range(3):
        ranges = [-1, 15, 17, 19, 20, 22, 24, 60]
        result = np.histogram(same[:, cell], bins=np.array(ranges) + 0.5)[0]
        distribution = np.diff(stats.binom(60, 1 / 3).cdf(ranges))
        assert chi_square(result, distribution * len(same)) > 1e-6
        assert chi_square(result, np.diff(stats.poisson(20).cdf(ranges)) / stats.poisson(20).cdf(60) * len(same)) < 1e-3


def test_who_draws_too_much_hands_down_nothing():
    tree = crooked()
    held = np.array([100, 5, 10**4, 10**4, 10**4])
    before = held.copy()
    result = np.zeros(100, dtype=np.int64)
    sample = np.ones(len(tree.parents), dtype=np.int64) * 2
    order = {int(v): i for i, v in enumerate(tree.nodes)}
    tree.hand_down(held, sample.copy(), result)
    # Node 1 held 5 and got 2 from the root, but drew 60.
    assert held[order[1]] == before[order[1]] + 2
    assert result[:30].sum() == 0
    assert result[30:].tolist() == [2] * 70
    assert held.sum() + result.sum() == before.sum()
    assert held[order[2]] == before[order[2]] + 2 - 2 * 50


def test_rounds_that_fail_are_repeated(monkeypatch):
    """Without a margin every other node draws too much, and all items still arrive, with the right distribution."""
    monkeypatch.setattr(cascade, "_MARGIN", 0.0)  # the margins are worked out when the tree is first used
    failed = []
    slowly = Cascade._hand_down_slowly
    monkeypatch.setattr(Cascade, "_hand_down_slowly", lambda *args: failed.append(1) or slowly(*args))
    tree = crooked()
    held = np.array([7, 30, 50, 11, 40]) * 10**6
    expected = expected_of(tree, held, 100)
    result = np.zeros(100, dtype=np.int64)
    tree.spread(held, result, SeededSource(11))
    assert failed
    assert chi_square(result, expected) > 1e-6


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 10**5), min_size=5, max_size=5), st.integers(0, 50), st.integers(0, 10**6))
def test_everything_is_kept(held, shift, seed):
    tree = crooked()
    counts = np.array(held) << shift if shift < 40 else np.array(held)
    result = np.zeros(100, dtype=np.int64)
    total = int(counts.sum())
    tree.spread(counts.copy(), result, SeededSource(seed))
    assert int(result.sum()) == total
    assert (result >= 0).all()


def test_means_beyond_53_bits_are_floats_exactly():
    """The means stay in exact proportion to the leaves, whatever the counts."""
    tree = crooked()
    rates = tree.rates(np.full(5, 2**59 + 12345))
    means = tree.means(rates)
    assert means.max() > 2**53
    assert all(int(float(m)) == m for m in means.tolist())
    assert [Fraction(m, w) for m, w in zip(means.tolist(), tree.weights.tolist(), strict=True)] == [
        Fraction(r) for r in rates[tree.parents].tolist()
    ]
    result = np.zeros(100, dtype=np.int64)
    tree.spread(np.full(5, 2**58), result, SeededSource(2))
    assert result.sum() == 5 * 2**58


def test_two_small_items_have_the_exact_distribution():
    """Few items fall one by one: all pairs of leaves, from all strings of bits."""
    from tests.noise.enumeration import exact_distribution

    def draw(source):
        result = np.zeros(4, dtype=np.int64)
        Cascade.of([0, 0, 2, 0, 1, 2, 3], [4, 2, 4, 1, 2, 3, 4], [-1, 0, 0, 1, 1, 2, 2]).spread(
            np.array([1, 0, 1]), result, source
        )
        return tuple(result.tolist())

    distribution, rest = exact_distribution(draw, bits=2, words=2)
    assert rest == 0
    want: dict[tuple[int, ...], Fraction] = {}
    for x, y in itertools.product(range(4), range(2, 4)):
        key = tuple(int(x == leaf) + int(y == leaf) for leaf in range(4))
        want[key] = want.get(key, Fraction(0)) + Fraction(1, 8)
    assert distribution == want


@pytest.mark.parametrize(
    ("starts", "ends", "parents"),
    [([0, 0, 1], [2, 1, 3], [-1, 0, 0]), ([0, 0], [2, 1], [-1, 0]), ([0, 0, 1, 2], [3, 2, 2, 3], [-1, 0, 0, 0])],
)
def test_children_that_do_not_part_the_leaves_are_refused(starts, ends, parents):
    with pytest.raises(ParameterError, match="not those of its children"):
        Cascade.of(starts, ends, parents)
