"""Histograms under user-level DP: sensitivities by all pairs, the worst case of EMD-DP, reports by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.user_level.histograms import USER_LEVEL, user_level_histogram
from barrow.mechanisms.user_level.local import LocalSubsets, SubsetReport, local_subsets
from barrow.mechanisms.user_level.subsets import SubsetSelection
from barrow.noise.source import SeededSource
from barrow.numerics import gdp_mu_lower
from barrow.promises import UserLevel, UserLevelRelease
from barrow.randomisers import TOTAL, exceeds_exp
from barrow.spaces import Clustered, Discrete, Line, Tree, edge_tree

GRID = Clustered.grid(3, 4, r=0.1)
SPACES = {
    "clustered": GRID,
    "tree": Tree.nested(
        [f"{i}/{j}/{k}" for i in range(2) for j in range(3) for k in range(2)], distances=[1, 0.4, 0.1]
    ),
    "line": Line(0, 8, step=1, cells=True),
    "discrete": Discrete(list("abcde")),
}
CASES = [
    (name, kind)
    for name in SPACES
    for kind in USER_LEVEL
    if not (kind == "levels" and name in ("line", "discrete")) and not (kind == "multiscale" and name != "line")
]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_scale_is_the_largest_change_of_all_pairs(name, kind, noise):
    """Second route: no user's change moves the released values by more, and the noise is not much larger."""
    users, epsilon, delta = 50, Fraction(7, 10), "1e-6"
    built = user_level_histogram(SPACES[name], kind, epsilon, delta, users=users, noise=noise)
    slack = 0 if noise == "laplace" else delta
    assert built.event == UserLevelRelease(epsilon, delta=slack, model="central")
    assert price(built.event).definition == UserLevel(epsilon, slack, model="central")
    values = np.asarray(built.matrix.T.toarray() if built.query.table.sparse else built.matrix.T)
    order = 1 if noise == "laplace" else 2
    widest = max(float(np.linalg.norm(a - b, order)) for a, b in itertools.combinations(values, 2))
    loss = float(epsilon) if noise == "laplace" else gdp_mu_lower(0.7, 1e-6)
    needed = widest / (users * loss)
    assert float(built.noise.scale) >= needed * (1 - 1e-9)
    # The multiscale constants are bounds over all pairs, a few per cent above.
    assert float(built.noise.scale) <= needed * (1.2 if kind == "multiscale" else 1 + 1e-5)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_they_can_be_released(name, kind):
    space = SPACES[name]
    built = user_level_histogram(space, kind, 2, users=400)
    data = [[i % space.items, 1] for i in range(400)]
    counts = UserCounts.of_users(space, data)
    truth = np.bincount(np.ravel(data), minlength=space.items) / 800
    exact = np.array([float(counts.center(built.query).exact_entry(j)) for j in range(built.query.dimension)])
    assert exact == pytest.approx(built.matrix @ truth)
    sample = built.noise.draw(counts.center(built.query))
    assert sample.private
    result = built.decode(sample.values)
    assert result.sum() == pytest.approx(1.0)
    assert (result >= 0).all()
    shares, widths = built.shares(sample.values)
    assert (np.abs(shares - exact * built.factors) < 8 * widths).all()


def test_edge_noise_for_epsilon_is_emd_dp_at_alpha_epsilon():
    mine = user_level_histogram(GRID, "tree", 2, users=100)
    emd = histogram_noise(GRID, "tree", 2, users=100)
    assert float(mine.noise.scale) == pytest.approx(float(emd.noise.scale), rel=1e-6)
    assert price(emd.event).epsilon_at(1) <= 2 * (1 + 1e-9)
    # Cells have a range far below their Lipschitz constant: EMD-DP at alpha = epsilon would be far more private.
    cells = user_level_histogram(GRID, "cells", 2, users=100)
    assert cells.noise.scale < histogram_noise(GRID, "cells", 2, users=100).noise.scale / 5


def law(made: LocalSubsets, item: int) -> dict[SubsetReport, Fraction]:
    """Every report of a user with one item, with its exact probability."""
    result = {}
    for level, (channel, cells) in enumerate(zip(made.channels, made.cells, strict=True)):
        k, d, near = channel.items, channel.subset, Fraction(channel.weight, TOTAL)
        for chosen in itertools.combinations(range(k), d):
            inside = near / math.comb(k - 1, d - 1) if int(cells.of_item[item]) in chosen else Fraction(0)
            chance = inside + (1 - near) / math.comb(k, d)
            result[SubsetReport(level, chosen)] = chance * Fraction(made.weights[level], 1000)
    return result


@pytest.mark.parametrize("levels", [False, True])
def test_reports_are_private_by_enumeration_and_unbiased_exactly(levels):
    space = Clustered.grid(3, 2, r=0.1)
    built = local_subsets(space, 1, users=100, levels=levels)
    laws = [law(built, x) for x in range(space.items)]
    assert all(sum(p.values()) == 1 for p in laws)
    worst = max(a[y] / b[y] for a in laws for b in laws for y in a)
    assert not exceeds_exp(worst, Fraction(1))
    assert exceeds_exp(worst * (1 + Fraction(1, 10**6)), Fraction(1))
    # Mixing over a user's items keeps it: all pairs of users with two items.
    pairs = list(itertools.combinations_with_replacement(range(space.items), 2))
    for a, b in itertools.product(pairs[:8], pairs):
        for y in laws[0]:
            assert laws[a[0]][y] + laws[a[1]][y] <= (laws[b[0]][y] + laws[b[1]][y]) * worst
    # Level by level the estimate is unbiased.
    for level, (channel, cells) in enumerate(zip(built.channels, built.cells, strict=True)):
        for x in range(space.items):
            mean = np.zeros(channel.items)
            for report, p in laws[x].items():
                if report.level == level:
                    tally = np.bincount(report.members, minlength=channel.items)
                    mean += float(p) * 1000 / built.weights[level] * channel.decode(tally, 1)
            assert mean == pytest.approx(np.eye(channel.items)[cells.of_item[x]], abs=1e-9)


@pytest.mark.parametrize("levels", [False, True])
def test_drawn_reports_follow_the_enumerated_probabilities(levels):
    space = Clustered.grid(2, 2, r=0.1)
    built, source, draws = local_subsets(space, 2, users=10, levels=levels), SeededSource(8), 4000
    reports = [built.report([3], source=source) for _ in range(draws)]
    for report, p in law(built, 3).items():
        share = reports.count(report) / draws
        assert abs(share - float(p)) < 5.5 * math.sqrt(float(p * (1 - p)) / draws)
    tallies = []
    for level, channel in enumerate(built.channels):
        here = [report.members for report in reports if report.level == level]
        tallies.append(
            (np.bincount([group for members in here for group in members], minlength=channel.items), len(here))
        )
    result = built.estimate(tallies)
    assert result.sum() == pytest.approx(1.0)
    assert result[3] == pytest.approx(1.0, abs=0.15)
    assert built.decode(result)[3] > 0.8


def test_simulated_estimates_have_the_predicted_variance_however_they_are_drawn():
    held = np.array([4, 3, 2, 1, 0, 0, 1, 1, 1, 2, 0, 1])
    reference = held / held.sum()
    for users in (2000, 3 * 10**6):  # drawn set by set, and as normal variables
        for levels in (False, True):
            built, source = local_subsets(GRID, 1, users=users, levels=levels), SeededSource(3)
            result = np.array([built.simulate(held, source) for _ in range(150)])
            tree = edge_tree(GRID)
            spread = np.array([tree.masses(row) for row in result])
            assert np.abs(spread.mean(axis=0) - tree.masses(reference)).max() < 6 * spread.std(axis=0).max() / 12
            ratio = spread.var(axis=0) / built.edge_variances(reference)
            assert abs(float(np.mean(ratio)) - 1.0) < 0.15


def test_errors():
    with pytest.raises(ParameterError, match="The space has"):
        user_level_histogram(SPACES["line"], "levels", 1, users=10)
    with pytest.raises(ParameterError, match="kind is 'x'"):
        user_level_histogram(GRID, "x", 1, users=10)
    with pytest.raises(ParameterError, match="noise is 'l2'"):
        user_level_histogram(GRID, "cells", 1, users=10, noise="l2")
    with pytest.raises(ParameterError, match="no pure guarantee"):
        user_level_histogram(GRID, "cells", 1, users=10, noise="gaussian")
    with pytest.raises(ParameterError, match="counts"):
        SubsetSelection(3, 1).tally([1, 2])


def test_user_level_histogram():
    built = user_level_histogram(Line(0, 8, step=1), "cells", 1, users=1000)
    assert built.kind == "cells"
    assert built.event.epsilon == Fraction(1, 1)
    assert round(1000 * float(built.noise.scale), 6) == 2.0
