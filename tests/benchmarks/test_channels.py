"""Local channels for histograms: exact laws by enumeration, samplers by chi-square, decoders and variances exactly."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.baselines import (
    Edges,
    HadamardResponse,
    ProjectiveResponse,
    RandomisedResponse,
    SubsetSelection,
    UnaryEncoding,
    walsh_hadamard,
)
from benchmarks.baselines.channels import SetChannel
from benchmarks.baselines.homogeneous import homogeneous_delta_upper
from benchmarks.baselines.projective import best_field, points
from scipy import linalg, stats

from barrow.errors import ParameterError
from barrow.mechanisms.user_level.subsets import best_subset, set_weight, uniform_subsets
from barrow.noise.source import SeededSource
from barrow.randomisers import TOTAL, exceeds_exp, randomised_response
from barrow.spaces import Discrete

TINY = {
    "response": RandomisedResponse(4, 1),
    "response, 2": RandomisedResponse(2, "0.3"),
    "hadamard": HadamardResponse(5, 1),
    "hadamard, 3": HadamardResponse(3, "0.01"),
    "hadamard, blocks": HadamardResponse(6, 2, blocks=4),
    "hadamard, single rows": HadamardResponse(4, 3, blocks=4),
    "projective, 2": ProjectiveResponse(6, "0.5", field=2),
    "projective, 3": ProjectiveResponse(7, 1, field=3),
    "projective, 5": ProjectiveResponse(4, 2, field=5),
    "subset": SubsetSelection(5, 1, subset=2),
    "subset, 1": SubsetSelection(4, 1, subset=1),
    "subset, most": SubsetSelection(4, "0.5", subset=3),
    "unary": UnaryEncoding(3, 1),
}
ASKED = {"response, 2": "0.3", "hadamard, 3": "0.01", "hadamard, blocks": "2", "hadamard, single rows": "3",
         "projective, 2": "0.5", "projective, 5": "2", "subset, most": "0.5"}  # fmt: skip


def law(channel, item):
    """Every report with its exact probability, and the tally that it alone would make."""
    k = channel.items
    if isinstance(channel, SetChannel):
        unit = np.eye(channel.outputs, dtype=np.int64)
        return [(channel.probability(item, y), unit[y]) for y in range(channel.outputs)]
    results = []
    if isinstance(channel, SubsetSelection):
        near, d = Fraction(channel.weight, TOTAL), channel.subset
        for chosen in itertools.combinations(range(k), d):
            tally = np.bincount(chosen, minlength=k)
            inside = near / math.comb(k - 1, d - 1) if item in chosen else 0
            results.append((inside + (1 - near) / math.comb(k, d), tally))
        return results
    q = Fraction(channel.weight, TOTAL)
    for bits in itertools.product((0, 1), repeat=k):
        chance = Fraction(1, 2)
        for x, bit in enumerate(bits):
            if x != item:
                chance *= q if bit else 1 - q
        results.append((chance, np.array(bits)))
    return results


@pytest.mark.parametrize("name", TINY)
def test_the_claim_holds_exactly_and_is_tight(name):
    channel, value = TINY[name], Fraction(ASKED.get(name, "1"))
    rows = [[p for p, _ in law(channel, x)] for x in range(channel.items)]
    assert all(sum(row) == 1 for row in rows)
    worst = max(a / b for one in rows for other in rows for a, b in zip(one, other, strict=True))
    assert worst == channel.ratio
    assert not exceeds_exp(worst, value)
    assert exceeds_exp(worst, value * (1 - Fraction(1, 10**9)))
    active = max(sum(a for a, b in zip(one, other, strict=True) if a != b) for one in rows for other in rows)
    assert active == channel.active
    assert float(active) <= channel.active_upper(float(value))
    # Every report has the ratio, its inverse or 1: what the exact composition rests on.
    allowed = {channel.ratio, 1 / channel.ratio, Fraction(1)}
    assert {a / b for one in rows for other in rows for a, b in zip(one, other, strict=True)} <= allowed


@pytest.mark.parametrize("name", TINY)
def test_the_composition_is_that_of_the_channel(name):
    """Two reports of a user who replaces both items, by enumeration of all pairs of reports."""
    channel = TINY[name]
    epsilon = channel.epsilon * 0.7
    exact = Fraction(0)
    factor = Fraction(math.exp(epsilon))
    laws = [[p for p, _ in law(channel, x)] for x in range(channel.items)]
    for x, other in itertools.permutations(range(min(channel.items, 4)), 2):
        pairs = list(zip(laws[x], laws[other], strict=True))
        total = sum((max(Fraction(0), a * c - factor * b * d) for a, b in pairs for c, d in pairs), Fraction(0))
        exact = max(exact, total)
    step = Fraction(math.nextafter(channel.epsilon * (1 + 2**-50), math.inf))
    result = homogeneous_delta_upper(step, 2, epsilon, active=channel.active)
    assert result >= float(exact) * (1 - 1e-12)
    assert result == pytest.approx(float(exact), rel=1e-6 if channel.epsilon > 0.05 else 1e-4)
    assert homogeneous_delta_upper(step, 2, epsilon) >= result  # the worst law is never better


@pytest.mark.parametrize("name", TINY)
def test_the_estimate_is_unbiased_and_its_variance_is_exact(name):
    channel = TINY[name]
    k = channel.items
    rng = np.random.default_rng(5)
    reference = rng.dirichlet(np.ones(k))
    starts, ends = np.triu_indices(k + 1, 1)
    keep = ends - starts < k
    edges = Edges(starts[keep], ends[keep], np.ones(int(keep.sum())))
    second = np.zeros(len(edges.lengths))
    for x in range(k):
        reports = law(channel, x)
        values = np.array([channel.decode(tally, 1) for _, tally in reports])
        chances = np.array([float(p) for p, _ in reports])
        scale = np.abs(values).max()
        assert np.allclose(chances @ values, np.eye(k)[x], atol=1e-12 * scale)
        assert np.allclose(values.sum(axis=1), 1.0, atol=1e-12 * scale)
        masses = edges.masses(values)
        second += reference[x] * (chances @ masses**2 - (chances @ masses) ** 2)
    assert np.allclose(channel.noise_variances(edges, reference), second, rtol=1e-9)


@pytest.mark.parametrize("name", [n for n, c in TINY.items() if isinstance(c, SetChannel)])
def test_sets_are_what_members_say(name):
    channel = TINY[name]
    for x in range(channel.items):
        members = channel.member(np.full(channel.size, x), np.arange(channel.size))
        assert len(set(members.tolist())) == channel.size
        inside = channel.contains(np.full(channel.outputs, x), np.arange(channel.outputs))
        assert sorted(members.tolist()) == np.flatnonzero(inside).tolist()
    apart = max(
        int((a & ~b).sum())
        for a, b in itertools.permutations(
            [channel.contains(np.full(channel.outputs, x), np.arange(channel.outputs)) for x in range(channel.items)], 2
        )
    )
    assert apart == channel.apart


def p_value(found, expected):
    statistic = ((found - expected) ** 2 / expected).sum()
    return stats.chi2.sf(statistic, len(found) - 1)


@pytest.mark.parametrize("name", [n for n, c in TINY.items() if isinstance(c, SetChannel)])
def test_sampled_reports_follow_the_law_and_another_law_is_seen(name):
    channel, draws = TINY[name], 40_000
    source = SeededSource(17)
    counts = np.zeros(channel.items, dtype=np.int64)
    counts[[0, channel.items - 1]] = draws, draws // 4
    expected = sum(counts[x] * np.array([float(p) for p, _ in law(channel, x)]) for x in (0, channel.items - 1))
    by_cells = channel.tally(counts, source=source)
    ids = np.repeat(np.arange(channel.items), counts)
    one_by_one = np.bincount(channel.reports(ids, source=source), minlength=channel.outputs)
    few = np.zeros(channel.outputs, dtype=np.int64)
    for _ in range(draws):
        small = np.zeros(channel.items, dtype=np.int64)
        small[[0, channel.items - 1]] = 4, 1
        few += channel.tally(small, source=source)
        if few.sum() >= 8000:
            break
    assert by_cells.sum() == one_by_one.sum() == counts.sum()
    assert p_value(by_cells, expected) > 1e-7
    assert p_value(one_by_one, expected) > 1e-7
    assert p_value(few, expected * few.sum() / counts.sum()) > 1e-7
    if channel.epsilon > 0.2:
        other = channel.at(channel.epsilon * 1.5)
        wrong = sum(counts[x] * np.array([float(p) for p, _ in law(other, x)]) for x in (0, channel.items - 1))
        assert p_value(by_cells, wrong) < 1e-7


@pytest.mark.parametrize("subset", [1, 2, 4])
def test_sampled_sets_follow_the_law(subset):
    channel, draws = SubsetSelection(5, 1, subset=subset), 30_000
    rows = channel.sets(np.full(draws, 3), source=SeededSource(4))
    reports = law(channel, 3)
    code = 2 ** np.arange(5)
    seen = np.bincount(rows @ code, minlength=32)
    result = np.array([seen[int(tally @ code)] for _, tally in reports])
    assert result.sum() == draws
    assert p_value(result, draws * np.array([float(p) for p, _ in reports])) > 1e-7
    wrong = [float(p) for p, _ in law(channel.at("1.2"), 3)]
    assert p_value(result, draws * np.array(wrong)) < 1e-7
    tally = channel.tally([0, 0, 0, draws, 0], source=SeededSource(4))
    assert np.array_equal(tally, rows.sum(axis=0))


def test_unary_tallies_are_independent_binomials():
    channel, source = UnaryEncoding(3, 1), SeededSource(8)
    tallies = np.array([channel.tally([5, 2, 0], source=source) for _ in range(6000)])
    q = channel.weight / TOTAL
    for x, own in enumerate((5, 2, 0)):
        law_of = np.convolve(
            stats.binom.pmf(np.arange(own + 1), own, 0.5), stats.binom.pmf(np.arange(8 - own), 7 - own, q)
        )
        result = np.bincount(tallies[:, x], minlength=8)
        some = law_of * 6000 > 5
        assert p_value(result[some], 6000 * law_of[some] * result[some].sum() / (6000 * law_of[some].sum())) > 1e-7
    assert abs(np.corrcoef(tallies.T)[0, 1]) < 0.08


@pytest.mark.parametrize(("items", "size"), [(5, 2), (5, 3), (6, 5), (4, 1)])
def test_uniform_subsets_are_even(items, size):
    rows = uniform_subsets(30_000, items, size, SeededSource(2))
    assert (rows.sum(axis=1) == size).all()
    seen = np.bincount(rows @ 2 ** np.arange(items))
    result = seen[seen > 0]
    assert len(result) == math.comb(items, size)
    assert p_value(result, np.full(len(result), 30_000 / len(result))) > 1e-7


def test_transform_is_the_hadamard_matrix():
    table = np.random.default_rng(1).normal(size=(3, 32))
    assert np.allclose(walsh_hadamard(table), table @ linalg.hadamard(32))


def test_randomised_response_is_the_projects_own():
    ours, theirs = RandomisedResponse(5, "0.7"), randomised_response(Discrete(list("abcde")), "0.7")
    for x, y in itertools.product(range(5), repeat=2):
        assert float(ours.probability(x, y)) == pytest.approx(float(theirs.probability(x, y)), rel=1e-7)


def test_shapes_are_the_best_ones():
    for k, epsilon in ((30, 0.5), (30, 1.5), (30, 3.0), (200, 1.0)):
        even, runs = np.full(k, 1 / k), Edges.of_items(k)

        def variance(channel, even=even, runs=runs):
            return float(channel.noise_variances(runs, even).mean())

        chosen = variance(SubsetSelection(k, epsilon))
        assert chosen <= min(variance(SubsetSelection(k, epsilon, subset=d)) for d in range(1, k)) * 1.001
        rest = [variance(built(k, epsilon)) for built in (RandomisedResponse, HadamardResponse, UnaryEncoding)]
        assert chosen <= min(rest) * 1.001  # subset selection is the best of all
        assert variance(ProjectiveResponse(k, epsilon)) <= chosen * 1.08
        blocks = [variance(HadamardResponse(k, epsilon, blocks=b)) for b in (1, 2, 4, 8)]
        assert variance(HadamardResponse(k, epsilon)) <= min(blocks) * 1.1
        assert 1 / 3 <= best_subset(k, epsilon) * (1 + math.exp(epsilon)) / k <= 3
        assert points(2, best_field(k, epsilon)) >= 3


def test_classic_variances():
    """Textbook numbers: ((e+1)/(e-1))^2 for Hadamard response with one block, 4e/(e-1)^2 for unary encoding."""
    k, a = 1000, math.e
    even = np.full(k, 1 / k)
    hadamard = HadamardResponse(k, 1, blocks=1).noise_variances(Edges.of_items(k), even).mean()
    unary = UnaryEncoding(k, 1).noise_variances(Edges.of_items(k), even).mean()
    assert hadamard == pytest.approx(((a + 1) / (a - 1)) ** 2, rel=3e-3)
    assert unary == pytest.approx(4 * a / (a - 1) ** 2, rel=3e-3)


def test_large_counts_keep_their_mean():
    """10^7 items of 1,000 kinds: no loop over items, and the decoded histogram is within a few deviations."""
    k, total = 1000, 10**7
    counts = np.random.default_rng(3).multinomial(total, np.full(k, 1 / k))
    channel = UnaryEncoding(k, 1)
    values = channel.decode(channel.tally(counts, source=SeededSource(1)), total)
    spread = np.sqrt(channel.noise_variances(Edges.of_items(k), counts / total) / total)
    assert np.abs((values - counts / total) / spread).max() < 6.0
    assert 0.9 < ((values - counts / total) / spread).std() < 1.1


def test_extreme_epsilons():
    for kind in (RandomisedResponse, HadamardResponse, ProjectiveResponse, SubsetSelection, UnaryEncoding):
        weak, strong = kind(10, "1e-9"), kind(10, 200)
        assert 1 < weak.ratio < 1 + Fraction(2, 10**9)
        assert not exceeds_exp(strong.ratio, Fraction(28))
        assert strong.epsilon > 27.9
        with pytest.raises(ParameterError, match="too small"):
            kind(10, "1e-25")
    assert set_weight(1, Fraction(1, 3)) < TOTAL


def test_errors():
    for kind in (RandomisedResponse, HadamardResponse, ProjectiveResponse, SubsetSelection, UnaryEncoding):
        with pytest.raises(ParameterError, match="items is 1"):
            kind(1, 1)
        with pytest.raises(ParameterError, match="epsilon is 0"):
            kind(5, 0)
        with pytest.raises(ParameterError, match="counts"):
            kind(5, 1).tally([1, 2])
    with pytest.raises(ParameterError, match="blocks"):
        HadamardResponse(5, 1, blocks=3)
    with pytest.raises(ParameterError, match="field"):
        ProjectiveResponse(5, 1, field=4)
    with pytest.raises(ParameterError, match="subset"):
        SubsetSelection(5, 1, subset=5)
    with pytest.raises(ParameterError, match="too many"):
        ProjectiveResponse(10**5, 1)


@pytest.mark.parametrize(
    "kind", [RandomisedResponse, HadamardResponse, ProjectiveResponse, SubsetSelection, UnaryEncoding]
)
@pytest.mark.parametrize("excess", [1e-14, 1e-9])
def test_a_wrong_exponential_is_caught_by_the_exact_comparison(kind, excess, monkeypatch):
    """If floats gave more than e^epsilon, the weight would be lowered until the claim holds, or refused."""
    for module in ("barrow.mechanisms.user_level.subsets", "benchmarks.baselines.unary"):
        monkeypatch.setattr(f"{module}.float_down", lambda x: float(x) * (1 + excess), raising=True)
    for epsilon in ("0.5", "1", "3"):
        try:
            built = kind(10, epsilon)
        except ParameterError:
            assert excess > 1e-12
        else:
            assert not exceeds_exp(built.ratio, Fraction(epsilon))
