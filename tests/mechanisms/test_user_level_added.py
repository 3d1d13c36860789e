"""User-level histograms where items were added to a space: sensitivities by enumeration, errors by true releases."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from barrow.mechanisms import UserCounts
from barrow.mechanisms.decoding.cells import without_added
from barrow.mechanisms.user_level.histograms import user_level_histogram, with_added
from barrow.noise.source import SeededSource
from barrow.numerics import gdp_mu_lower
from barrow.planning.simulate import simulate
from barrow.planning.user_level import user_level_histograms
from barrow.promises import UserLevelRelease
from barrow.queries import histogram, tree_edges
from barrow.spaces import Circle, Clustered, Earth, Elsewhere, Euclidean, Line, NoRecords, Product, Tree
from barrow.spaces.augmented import base_space
from barrow.transport import measure_of

LINE = Line(0, 20, step=1, cells=True)
TREE = Tree.nested([f"{i}/{j}/{k}" for i in range(2) for j in range(3) for k in range(2)], distances=[1, 0.4, 0.1])
SPACES = {
    "line": NoRecords(LINE),
    "near": NoRecords(LINE, distance="1/2"),
    "circle": NoRecords(Circle.hours(1)),
    "square": NoRecords(Euclidean([0, 0], [4, 4], step=1)),
    "earth": NoRecords(Earth(box=[40.5, -74.3, 41.0, -73.7], cell=12)),
    "product": NoRecords(Product([Euclidean([0, 0], [4, 4], step=2), Circle.hours(6)], weights=["1/2", "1/2"])),
    "clustered": NoRecords(Clustered.grid(3, 4, r=0.1)),
    "tree": NoRecords(TREE),
    "elsewhere": NoRecords(Elsewhere(LINE)),
}
TREES = ("clustered", "tree")
CASES = [
    (name, kind)
    for name in SPACES
    for kind in ("levels", "tree", "multiscale", "cells")
    if not (kind == "tree" and name not in TREES) and not (kind == "multiscale" and name in (*TREES, "product"))
]


def answers(made):
    """What a person with one record of each item, or with none, adds before noise."""
    table = made.query.table.integers
    return np.asarray(table.toarray(), dtype=np.float64) * float(made.query.step)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_no_person_moves_the_values_by_more_than_the_noise_is_for(name, kind, noise):
    space, users, epsilon = SPACES[name], 50, Fraction(7, 10)
    built = user_level_histogram(space, kind, epsilon, "1e-6", users=users, noise=noise)
    assert built.event == UserLevelRelease(epsilon, delta=0 if noise == "laplace" else "1e-6", model="central")
    order, loss = (1, 0.7) if noise == "laplace" else (2, gdp_mu_lower(0.7, 1e-6))
    rows = answers(built)
    allowed = float(built.noise.scale) * users * loss

    def widest(people):
        return max(float(np.linalg.norm(a - b, order)) for a, b in itertools.combinations(people, 2))

    assert widest(rows) <= allowed * (1 + 1e-9)
    assert widest(rows) >= allowed / (1.2 if kind in ("multiscale", "tree") else 1 + 1e-5)
    # The added items cost nothing: the others among themselves need as much but on uneven trees.
    inner = base_space(space).items
    assert widest(rows[:inner]) >= allowed / (1.3 if kind in ("multiscale", "tree") else 1 + 1e-5)
    # Power: a little more weight on an added item would be seen.
    heavier = rows.copy()
    heavier[inner:] *= 1.5
    assert widest(heavier) > allowed * (1 + 1e-3)


@pytest.mark.parametrize("kind", ["levels", "tree", "cells"])
def test_all_data_sets_of_two_records_are_covered(kind):
    """Second route to "a norm is largest at the corners": every pair of people, with records and without."""
    built = user_level_histogram(SPACES["clustered"], kind, 1, users=10)
    rows = answers(built)
    people = [rows[-1], *((rows[a] + rows[b]) / 2 for a, b in itertools.combinations_with_replacement(range(12), 2))]
    far = max(float(np.abs(a - b).sum()) for a, b in itertools.combinations(people, 2))
    assert far <= float(built.noise.scale) * 10 * (1 + 1e-9)
    assert far >= float(built.noise.scale) * 10 / 1.01


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_released_shares_are_unbiased_and_hardly_any_noise_gives_the_truth(name, kind):
    space = SPACES[name]
    inner = base_space(space).items
    data = [[i % inner, (3 * i) % inner] if i % 3 else [] for i in range(300)]
    counts = UserCounts.of_users(space, data)
    truth = np.zeros(space.items)
    for held in data:
        for item in held or [space.items - 1]:
            truth[item] += 1 / (300 * max(1, len(held)))
    built = user_level_histogram(space, kind, 2, users=300)
    exact = np.array([float(counts.center(built.query).exact_entry(j)) for j in range(built.query.dimension)])
    assert exact == pytest.approx(built.matrix @ truth)
    if kind != "cells":
        assert exact[-1] * built.factors[-1] == pytest.approx(truth[-1])
        assert built.query.outputs[-1] == "no records"
    sample = built.noise.draw(counts.center(built.query))
    assert sample.private
    result = built.decode(sample.values)
    assert result.sum() == pytest.approx(1.0)
    assert (result >= 0).all()
    fine = user_level_histogram(space, kind, 2, users=10**8)
    assert measure_of(space).distance(fine.decode(fine.matrix @ truth) - truth) < 3e-3


@pytest.mark.parametrize("share", [0.05, 0.6])
@pytest.mark.parametrize(("name", "kind"), [("line", "levels"), ("square", "multiscale"), ("clustered", "tree")])
def test_true_releases_err_as_predicted(name, kind, share):
    """People with and without records are counted, noise is drawn as in a release, and the EMD is measured."""
    space, users, rng = SPACES[name], 1000, np.random.default_rng(8)
    inner = space.items - 1
    weights = np.append(rng.dirichlet(np.full(inner, 0.3)) * (1 - share), share)
    sample = rng.choice(space.items, size=users, p=weights)
    counts = UserCounts.of_users(space, [[item] if item < inner else [] for item in sample.tolist()])
    truth = np.bincount(sample, minlength=space.items) / users
    built, source = user_level_histogram(space, kind, 1, users=users), SeededSource(4)
    center, measure = counts.center(built.query), measure_of(space)
    errors = [
        measure.distance(built.decode(built.noise.draw(center, source).values) - truth) * space.diameter
        for _ in range(20)
    ]
    predicted = simulate(built, weights, 20).decoded
    assert 0.67 < np.mean(errors) / predicted < 1.5


def test_the_added_item_costs_hardly_more_than_its_own_share():
    """On the space inside everybody has records; here the share of those who have none is off by 2/(n epsilon)."""
    for name in ("line", "square", "clustered"):
        space, users = SPACES[name], 1000
        here, inside = (user_level_histograms(at, 1, users=users)[0] for at in (space, base_space(space)))
        own = 2 / users * space.diameter
        assert here.decoded < 1.35 * inside.decoded + 1.5 * own


def test_scales_are_left_out_only_where_they_lose():
    for space, users in ((SPACES["line"], 1100), (SPACES["square"], 900)):
        names = {c.name: c.decoded for c in user_level_histograms(space, 1, users=users)}
        assert "multiscale" not in names
        built = user_level_histogram(space, "multiscale", 1, users=users)
        reference = np.append(np.full(space.items - 1, 0.95 / (space.items - 1)), 0.05)
        cells = user_level_histogram(space, "cells", 1, users=users)
        assert simulate(built, reference, 4).decoded > 0.97 * simulate(cells, reference, 4).decoded


@given(arrays(np.float64, 6, elements=st.floats(-3, 3)), st.integers(1, 3))
def test_decoded_values_are_a_histogram(values, added):
    result = without_added(values, added, lambda rest, times: np.abs(rest) + times * 1e-6)
    assert result.shape == (6,)
    assert (result >= 0).all()
    assert result.sum() == pytest.approx(1.0)


def test_several_added_items_are_told_from_each_other():
    space = SPACES["elsewhere"]
    query = with_added(histogram(LINE), space, 1)
    assert query.outputs[-2:] == ("elsewhere", "no records")
    rows = query.table.integers.toarray() * float(query.step)
    assert np.abs(rows[-1] - rows[-2]).sum() == pytest.approx(query.range_upper(1))
    # Where the root of a tree is no middle, an output for the added item costs a little, and the range says so.
    lopsided = Tree([("a", "r", 8), ("b", "m", 1), ("c", "m", 1), ("m", "r", 1)])
    grown = with_added(tree_edges(lopsided), NoRecords(lopsided), 1)
    values = grown.table.integers.toarray() * float(grown.step)
    far = max(np.abs(a - b).sum() for a, b in itertools.combinations(values, 2))
    assert far == pytest.approx(grown.range_upper(1), rel=1e-6)
    assert far > 1.1


def test_with_added():
    space = NoRecords(Line(0, 4, step=1, cells=True))
    result = with_added(histogram(space.inner), space, 1)
    assert result.outputs[-1] == "no records"
    assert result.dimension == 5
    assert round(result.range_upper(1), 6) == 2.0
    assert round(result.range_upper(2) ** 2, 6) == 2.0


def test_without_added():
    assert without_added(np.array([0.3, 0.1, 0.6]), 1, lambda rest, times: rest).round(9).tolist() == [0.3, 0.1, 0.6]
