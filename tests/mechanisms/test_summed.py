"""Sums of answers rounded at random, with discrete noise: exact laws on edges and trees, forms, errors, intervals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from tests.thorough import often

from barrow.audit.pairs import small_users
from barrow.audit.summed import SETTINGS, chance, on_grid
from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts, summed
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.summed import FALSE_REPORT, rate_for, sum_form, summed_noise
from barrow.noise.counts.shares import noise_shares
from barrow.noise.source import SeededSource
from barrow.promises import Aggregation, SecureSum
from barrow.queries import Quantised, mean, tree_edges
from barrow.spaces import Clustered, Discrete, Line, Tree
from barrow.transport import emd


def all_losses(one: Fraction, other: Fraction, p: Fraction) -> float:
    """The largest |log ratio| over every output from below both answers to above them: beyond, it is constant."""
    low, high = math.floor(min(one, other)) - 1, math.floor(max(one, other)) + 3
    ratios = [chance(one, y, p) / chance(other, y, p) for y in range(low, high)]
    return max(math.log(max(r, 1 / r)) for r in ratios)


@pytest.mark.parametrize(("alpha", "people"), SETTINGS[: often(2, 4)])
def test_an_edge_keeps_alpha_and_attains_it(alpha, people):
    """1,830 pairs of shares in exact fractions; e^-a instead of 1/(1 + a) fails."""
    noise = summed_noise(tree_edges(Line(0, 1, points=[0, 1])), alpha, users=people)
    a, p = noise.rate, noise.ratio
    assert p == 1 / (1 + a)
    assert 0 <= Fraction(alpha) * noise.step / a - 1 < Fraction(1, 10**12)  # the constant is rounded up

    def worst(p: Fraction, step: Fraction) -> float:
        pairs = itertools.combinations([Fraction(i, 60) for i in range(61)], 2)
        return max(all_losses(x / step, y / step, p) / float(alpha * abs(x - y)) for x, y in pairs)

    assert 0.9 < worst(p, noise.step) <= 1 + 1e-12
    assert worst(Fraction(math.exp(-a)), noise.step) > 1.01
    beside = Fraction(1, 10**6)
    attained = all_losses(Fraction(1), 1 + beside, p) / float(a * beside)
    assert 0.999 < attained <= 1 + 1e-9


def test_a_tree_keeps_alpha():
    """2,550 ordered pairs of 51 different people of one to four items; distances by the solver of a programme."""
    space = Clustered.grid(2, 2, r=0.25)
    query = tree_edges(space)
    noise = on_grid(summed_noise(query, 2, users=3), Fraction(1, 2))
    shares = {tuple(np.bincount(u, minlength=4) / len(u)): u for u in small_users(4, (1, 2, 3, 4))}
    masses, users = [np.array(mass) for mass in shares], list(shares.values())
    assert len(users) * (len(users) - 1) == 2550
    centers = [UserCounts.of_users(space, [user]).center(query) for user in users]
    answers = [[c.exact_entry(j) / noise.step for j in range(query.dimension)] for c in centers]
    largest = free = 0.0
    for i, j in itertools.combinations(range(len(users)), 2):
        w = float(emd(space, masses[i], masses[j]))
        both = list(zip(answers[i], answers[j], strict=True))
        largest = max(largest, sum(all_losses(x, y, noise.ratio) for x, y in both) / (2 * w))
        free = max(free, sum(all_losses(x, y, Fraction(math.exp(-noise.rate))) for x, y in both) / (2 * w))
    assert 0.9 < largest <= 1 + 1e-9
    assert free > 1.02  # without the price of rounding


def ring_loss(nodes: int, p: Fraction, steps: int) -> float:
    """Rounding a flow along a spanning path of a ring, with noise on every edge: the worst loss over alpha.

    The release is the flow's divergence, so that a flow around the ring may be added: its law sums over all of them.
    """

    def law(flow: list[Fraction]) -> dict[tuple[int, ...], float]:
        result: dict[tuple[int, ...], float] = {}
        options = [[(math.floor(x), 1 - (x - math.floor(x))), (math.floor(x) + 1, x - math.floor(x))] for x in flow]
        for choice in itertools.product(*options):
            weight = math.prod(float(c) for _, c in choice)
            if weight:
                key = tuple(v for v, _ in choice)
                result[key] = result.get(key, 0.0) + weight
        return result

    q, far = float(p), 60
    powers = q ** np.abs(np.arange(-far, far + 1))

    def density(shift: tuple[int, ...]) -> float:
        """P of the divergence of ``shift``, up to a constant: shift + a turn, over all turns."""
        turns = np.arange(-far // 2, far // 2 + 1)
        total = np.ones(len(turns))
        for s in (*shift, 0):  # the edge that the path leaves out
            total = total * powers[np.clip(s + turns, -far, far) + far]
        return float(total.sum())

    people = [np.eye(nodes)[v] for v in range(nodes)] + [
        (np.eye(nodes)[u] + np.eye(nodes)[v]) / 2 for u, v in itertools.combinations(range(nodes), 2)
    ]
    flows = [[Fraction(float(x)).limit_denominator(64) * steps for x in np.cumsum(share)[:-1]] for share in people]
    laws = [law(flow) for flow in flows]
    looked = list(itertools.product(range(-(nodes < 5), steps + 1 + (nodes < 5)), repeat=nodes - 1))
    values = np.array(
        [
            [
                sum(w * density(tuple(y - n for y, n in zip(out, key, strict=True))) for key, w in each.items())
                for each in laws
            ]
            for out in looked
        ]
    )
    worst = 0.0
    a = float(1 / p - 1)
    for i, j in itertools.combinations(range(len(people)), 2):
        difference = np.cumsum(people[i] - people[j])[:-1]
        cost = min(float(np.abs(np.append(difference, 0.0) - c).sum()) for c in np.append(difference, 0.0))
        loss = float(np.abs(np.log(values[:, i] / values[:, j])).max())
        worst = max(worst, loss / (a * steps * cost))
    return worst


@pytest.mark.parametrize("nodes", [4, 5, 6])
def test_rounding_along_a_spanning_tree_of_a_ring_is_not_private(nodes):
    """Why graphs with cycles are not answered by rounding flows."""
    assert ring_loss(nodes, Fraction(1, 2), 1) > 1.05


@given(st.integers(2, 5), st.integers(2, 5), st.integers(1, 10**6), st.integers(1, 200))
@settings(max_examples=40, deadline=None)
def test_every_honest_rounding_has_the_form(clusters, items, people, alpha):
    """Each number and each group's sum is within what a proof of validity admits, whatever the coins."""
    space = Clustered.grid(clusters, items, r=0.05)
    query = tree_edges(space)
    noise = summed_noise(query, alpha, users=people)
    form = sum_form(query.table, noise.step)
    assert [len(group.members) for group in form.groups] == [clusters * items, clusters]
    rng = np.random.default_rng(alpha)
    for seed in range(3):
        user = rng.integers(0, space.items, rng.integers(1, 6))
        center = UserCounts.of_users(space, [user]).center(query)
        values = [center.exact_entry(j) for j in range(query.dimension)]
        numbers = form.encode(values, source=SeededSource(seed))
        assert all(0 <= n <= most for n, most in zip(numbers, form.most, strict=True))
        for group in form.groups:
            total = sum(numbers[j] for j in group.members)
            assert group.floor <= total <= group.floor + group.span
            assert group.span <= 2 * len(group.members)


def test_reports_take_as_many_bits_as_was_said():
    for shape, r, bits in (((10, 10), 0.05, 810), ((5, 4), 0.02, 175), ((20, 50), 0.01, 5220)):
        query = tree_edges(Clustered.grid(*shape, r=r))
        assert sum_form(query.table, summed_noise(query, 25, users=10_000).step).bits == bits


def test_edges_of_unequal_length_are_in_no_group():
    tree = Tree([("a", "left", 1), ("b", "left", 1), ("left", "root", 2), ("c", "root", 3)])
    query = tree_edges(tree)
    assert sum_form(query.table, summed_noise(query, 2, users=10).step).groups == ()
    star = tree_edges(Discrete(["a", "b", "c"]))
    assert len(sum_form(star.table, summed_noise(star, 2, users=10).step).groups) == 1


def test_means_are_decoded_exactly_and_are_unbiased():
    """Sums of encoded answers less the noise: the mean is off by rounding alone, of variance f(1 - f)."""
    space = Line(0, 10, step=1, unit="km")
    query = mean(space)
    noise = summed_noise(query, 5, users=400)
    form = sum_form(query.table, noise.step)
    source = SeededSource(1)
    answers = [UserCounts.of_users(space, [[i % 11, i % 3]]).center(query).exact_entry(0) for i in range(400)]
    total = sum(form.encode([answer], source=source)[0] for answer in answers)
    decoded = form.decode([total], 400)[0]
    exact = sum(answers) / 400
    fractions = [a / noise.step - math.floor(a / noise.step) for a in answers]
    spread = math.sqrt(float(sum(f * (1 - f) for f in fractions))) * float(noise.step) / 400
    assert abs(float(decoded - exact)) < 4.9 * spread
    assert spread < 0.2 * noise.half_width


@pytest.mark.parametrize(("parties", "factor"), [((2, 1), 2), ((3, 1), 1.5), ((5, 1), 1.25), ((5, 2), 5 / 3)])
def test_the_variance_that_is_planned_is_that_of_what_is_added(parties, factor):
    """Noise of all aggregators and the largest rounding, over a curator's: m/(m-b) (1 + a) + a^2 n/8."""
    who = Aggregation(*parties)
    query, n = tree_edges(Clustered.grid(5, 4, r=0.02)), 10_000
    noise, central = (
        summed_noise(query, 25, users=n, parties=who),
        histogram_noise(query.space, "tree", 25, users=n).noise,
    )
    a = float(noise.rate)
    assert noise.variance / (2 * float(central.scale) ** 2) == pytest.approx(factor * (1 + a) + a * a * n / 8, rel=1e-9)
    assert noise.deviation**2 / noise.copies == pytest.approx(noise.variance, rel=1e-5)
    wide = replace(noise, dimension=2000)
    shares = sum(np.array(wide.noise_share(source=SeededSource(i))) for i in range(who.aggregators))
    seen = float(np.mean((shares * float(noise.step) / n) ** 2))
    expected = noise.variance - (float(noise.step) / n) ** 2 * n / 4
    assert abs(seen / expected - 1) < 4.9 * math.sqrt(6 / 2000)


@pytest.mark.parametrize("parties", [(2, 1), (3, 1)])
def test_intervals_hold_as_often_as_they_say(parties):
    """10,000 sums of noise and rounding: between 94.2 and 96.1 % are within the half width of 95 %."""
    who, n = Aggregation(*parties), 10_000
    query = mean(Line(0, 1, points=[0, 1]))
    noise = summed_noise(query, 25, users=n, parties=who)
    number = 10_000
    total = sum(
        noise_shares([noise.ratio] * number, who.honest, source=SeededSource(i)) for i in range(who.aggregators)
    )
    rounding = np.random.default_rng(1).normal(0.0, math.sqrt(n / 6), number)  # fractions that are spread evenly
    off = np.abs((total + rounding) * float(noise.step) / n)
    assert 0.942 < float((off <= noise.half_width - query.rounding_upper).mean()) < 0.961
    # Seven tenths of the half width would not do.
    assert float((off <= 0.7 * noise.half_width).mean()) < 0.9


def honest_sums(answers, sets, modulus=5):
    """The law of two honest aggregators' sums over their sets of people, whose third shares are 0; by counting."""
    law: dict[tuple[int, int], int] = {}
    for first in itertools.product(range(modulus), repeat=len(answers)):
        second = [(answer - share) % modulus for answer, share in zip(answers, first, strict=True)]
        both = zip((first, second), sets, strict=True)
        sums = tuple(sum(shares[person] for person in here) % modulus for shares, here in both)
        law[sums] = law.get(sums, 0) + 1
    return law


def test_honest_aggregators_who_count_different_people_show_nothing():
    """Step (5) of Theorem 3, without any noise: every pair of sets of three people, and every two answers of one."""
    sets = [set(some) for k in range(4) for some in itertools.combinations(range(3), k)]
    for pair in itertools.product(sets, repeat=2):
        laws = [honest_sums((answer, 2, 4), pair) for answer in range(5)]
        alike = all(law == laws[0] for law in laws)
        assert alike == (pair[0] != pair[1] or 0 not in pair[0])  # in the same set a sum without noise shows an answer


def most_that_passes(form):
    """The largest sum of a report that satisfies every range and every sum, by an integer programme."""
    rows = np.array([[j in group.members for j in range(len(form.most))] for group in form.groups], dtype=float)
    ends = [group.floor for group in form.groups], [group.floor + group.span for group in form.groups]
    limits = [optimize.LinearConstraint(rows, *ends)] if form.groups else []
    found = optimize.milp(
        -np.ones(len(form.most)),
        integrality=1,
        bounds=optimize.Bounds(0, form.most),
        constraints=limits,
    )
    return round(-found.fun)


TWO_LEVELS = Clustered.grid(20, 50, r=0.01)
MANY_POINTS = Line(0, 1, points=[i / 400 for i in range(401)])


@pytest.mark.parametrize(
    ("space", "alpha", "people", "before"),
    [
        (TWO_LEVELS, 25, 10_000, 1.636),
        (TWO_LEVELS, 5, 1000, 13.74),
        (Clustered.grid(10, 10, r=0.05), 25, 10_000, None),
        (Discrete([str(i) for i in range(300)]), 1, 50, 75.75),
        (MANY_POINTS, 25, 20, 2.0),
    ],
    ids=["20x50", "20x50 few", "10x10", "discrete", "line"],
)
def test_a_false_report_adds_at_most_so_much_more_than_an_honest_one(space, alpha, people, before):
    """By an integer programme over everything that passes; on the grid for accuracy alone it could be more."""
    query = tree_edges(space)
    noise = summed_noise(query, alpha, users=people)
    honest = max(sum(map(int, row)) for row in query.table.integers.toarray()) * query.table.step
    for grid, most in ((noise, float(FALSE_REPORT)), (on_grid(noise, rate_for(people)), before)):
        form = sum_form(query.table, grid.step)
        assert most_that_passes(form) == form.largest
        damage = float(form.largest * form.step / honest)
        if grid is noise:
            assert damage <= 1.6
        elif most is not None:
            assert damage == pytest.approx(most, rel=1e-3)
    assert noise.rate.numerator == 1
    assert (noise.rate == rate_for(people)) == (before is None)
    assert noise.rate <= rate_for(people)  # errors are never larger than with the other grid
    assert noise.step * alpha / noise.rate == pytest.approx(query.constants(["1"])[0].lipschitz_upper, rel=1e-12)


def test_grids_are_not_finer_where_that_would_not_help_or_answers_would_be_too_long():
    large = tree_edges(Clustered.grid(100, 200, r=0.01))
    assert summed_noise(large, 25, users=10_000).rate == rate_for(10_000)
    small_alpha = tree_edges(TWO_LEVELS)
    for parties, finer in ((Aggregation(2), True), (Aggregation(3), False), (Aggregation(3, 2), True)):
        rate = summed_noise(small_alpha, "1/100", users=10_000, parties=parties).rate  # urns of three take too long
        assert (rate < rate_for(10_000)) == finer
    uneven = tree_edges(Tree([("a", "left", 1), ("b", "left", 1), ("left", "root", 2), ("c", "root", 3)]))
    assert summed_noise(uneven, 1, users=3).rate == rate_for(3)  # lies fill the ranges, which have no common sum


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_sums_over_long_rows_are_exact(kind):
    """9,000 numbers of 2^50 steps are more than 2^63."""
    rows = np.zeros((2, 9000), dtype=np.int64)
    rows[1] = 2**50 - np.arange(9000)
    shape = summed._shape(Quantised(kind(rows), Fraction(1), 0.0))
    assert shape.honest == sum(2**50 - j for j in range(9000)) > 2**63


def test_grids_are_powers_of_two_and_stay_with_what_was_planned():
    assert [rate_for(n) for n in (1, 4, 100, 10_000, 10**6)] == [Fraction(1, k) for k in (2, 4, 16, 128, 1024)]
    query = tree_edges(Clustered.grid(2, 2, r=0.25))
    planned = summed_noise(query, 25, users=10_000)
    fewer = summed_noise(query, 25, users=3000, parties=Aggregation(planned=10_000))
    assert (fewer.step, fewer.ratio) == (planned.step, planned.ratio)
    assert fewer.half_width > 2.9 * planned.half_width
    large = tree_edges(TWO_LEVELS)
    planned = summed_noise(large, 25, users=10_000)
    assert planned.rate < rate_for(10_000)
    assert summed_noise(large, 25, users=3000, parties=Aggregation(planned=10_000)).rate == planned.rate


def test_the_event_is_pure_and_says_who_was_trusted():
    noise = summed_noise(mean(Line(0, 10, step=1)), 5, users=100, parties=Aggregation(3, 2))
    event = noise.event
    assert isinstance(event, SecureSum)
    assert (event.alpha, event.aggregators, event.dishonest, event.pure) == (5, 3, 2, True)
    with pytest.raises(ParameterError, match="aggregated"):
        SecureSum(5, model="central")


@pytest.mark.parametrize(
    ("aggregators", "dishonest", "words"), [(1, 1, "aggregators"), (2, 2, "all of them"), (3, 0, "dishonest")]
)
def test_parties_that_would_protect_nobody_are_refused(aggregators, dishonest, words):
    with pytest.raises(ParameterError, match=words):
        Aggregation(aggregators, dishonest)


def test_gaussian_noise_and_noise_at_scales_are_not_added_up():
    space = Line(0, 10, step=1)
    for kind, noise, words in (("tree", "gaussian", "discrete Laplace"), ("multiscale", "auto", "curator")):
        with pytest.raises(ParameterError, match=words):
            histogram_noise(space, kind, 5, users=100, model="aggregated", noise=noise)
