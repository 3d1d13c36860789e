"""Every closed form against POT and a linear programme; the axioms of a distance; the batch against one by one."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import DataError, ParameterError
from barrow.spaces import Circle, Clustered, Discrete, Earth, Euclidean, Graph, Line, Tree
from barrow.testing import SpaceCase
from barrow.transport import coupling, emd, emd_between, histogram, kr_norm
from barrow.transport.emd import assign, pot, transport
from tests.spaces.cases import CASES, IDS


@pytest.fixture(params=CASES, ids=IDS)
def case(request: pytest.FixtureRequest) -> SpaceCase:
    return request.param


TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def random_histograms(rng: np.random.Generator, n: int, size: int) -> np.ndarray:
    return rng.dirichlet(np.full(size, 0.3), size=n)


def by_linear_programme(costs, a, b):
    """The textbook programme over all couplings, nothing cancelled, nothing shared with the library."""
    from scipy.optimize import linprog

    k = len(a)
    rows = np.kron(np.eye(k), np.ones((1, k)))
    columns = np.kron(np.ones((1, k)), np.eye(k))
    constraints, totals = np.vstack([rows, columns])[:-1], np.concatenate([a, b])[:-1]  # the last one follows
    result = linprog(costs.ravel(), A_eq=constraints, b_eq=totals, method="highs", options=TIGHT)
    assert result.success
    return result.fun


def test_closed_forms_and_solvers_agree_with_a_linear_programme_and_with_pot(case):
    import ot

    space, rng = case.space, np.random.default_rng(2)
    chosen = rng.choice(space.items, size=min(space.items, 12), replace=False)
    for _ in range(4):
        a, b = np.zeros((2, space.items))
        a[chosen], b[chosen] = random_histograms(rng, 2, len(chosen))
        ours = emd(space, a, b)
        costs = space.block(chosen, chosen)
        assert ours == pytest.approx(by_linear_programme(costs, a[chosen], b[chosen]), abs=1e-9)
        assert ours == pytest.approx(ot.emd2(a[chosen], b[chosen], costs), abs=1e-9)


def test_larger_instances_agree_with_pot():
    import ot

    rng = np.random.default_rng(4)
    edges = [(f"n{i}", f"n{(i - 1) // 3}", float(rng.uniform(0.1, 2))) for i in range(1, 200)]
    for space in (
        Clustered.grid(8, 15, r=0.03),
        Line(0, 1, points=np.sort(rng.uniform(size=150))),
        Tree(edges),
        Circle(24, step=0.2),
        Circle(24, step=24 / 7),
        Discrete([f"x{i}" for i in range(90)]),
        Euclidean([0, 0], [1, 1], step=0.1),
        Earth(box=(35, -10, 60, 20), cell=300),
    ):
        a, b = random_histograms(rng, 2, space.items)
        assert emd(space, a, b) == pytest.approx(ot.emd2(a, b, space.block()), abs=1e-10), space.kind


def test_on_graphs_edges_and_pairs_give_the_same(monkeypatch):
    rng = np.random.default_rng(8)
    ends = [(i, int(rng.integers(0, i))) for i in range(1, 60)]
    tree = Graph([(str(a), str(b), float(1 + rng.random())) for a, b in ends], unit="km")
    ring = Graph([(str(i), str((i + 1) % 40), float(1 + rng.random())) for i in range(40)], unit="km")
    for space in (tree, ring):
        a, b = rng.dirichlet(np.ones(space.size), 2)
        pairs = emd(space, a, b)
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules["barrow.transport.emd"], "_MANY_PAIRS", 0)
            assert emd(space, a, b) == pytest.approx(pairs, rel=1e-9)
            assert emd(space, a, a) == 0.0
            # Without one of its edges the ring is longer: the same comparison would see it.
            assert emd(space, np.eye(space.size)[0], np.eye(space.size)[3]) == pytest.approx(space.distance(0, 3))


def test_without_pot_highs_gives_the_same(monkeypatch):
    rng = np.random.default_rng(6)
    space = Euclidean([0, 0], [1, 1], step=0.2)
    a, b = random_histograms(rng, 2, space.items)
    with_pot = emd(space, a, b)
    assert pot() is not None
    monkeypatch.setattr(sys.modules["barrow.transport.emd"], "pot", lambda: None)
    assert emd(space, a, b) == pytest.approx(with_pot, abs=1e-9)
    plan = coupling(space, a, b)
    assert plan.cost == pytest.approx(with_pot, abs=1e-9)


def test_a_batch_is_the_same_as_one_by_one(case):
    space, rng = case.space, np.random.default_rng(8)
    a, b = random_histograms(rng, 6, space.items).reshape(2, 3, space.items), random_histograms(rng, 3, space.items)
    together = emd(space, a, b)
    assert together.shape == (2, 3)
    for i in range(2):
        for j in range(3):
            assert together[i, j] == pytest.approx(emd(space, a[i, j], b[j]), abs=1e-12)


def test_batches_longer_than_a_chunk():
    space, rng = Clustered.grid(10, 10, r=0.1), np.random.default_rng(9)
    a, b = random_histograms(rng, 2000, 100), random_histograms(rng, 2000, 100)
    together = emd(space, a, b)
    assert np.allclose(together[[0, 655, 656, 1999]], [emd(space, a[i], b[i]) for i in (0, 655, 656, 1999)])


def test_it_is_a_distance(case):
    space, rng = case.space, np.random.default_rng(10)
    a, b, c = random_histograms(rng, 3, space.items)
    assert emd(space, a, a) == pytest.approx(0.0, abs=1e-12)
    assert emd(space, a, b) == pytest.approx(emd(space, b, a), abs=1e-10)
    assert emd(space, a, c) <= emd(space, a, b) + emd(space, b, c) + 1e-10
    assert 0.0 < emd(space, a, b) <= 1.0


def test_moving_one_item_costs_its_distance(case):
    space = case.space
    unit = np.eye(space.items)
    for i in range(min(space.items, 6)):
        assert emd(space, unit[0], unit[i]) == pytest.approx(space.distance(0, i).item(), abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 7), st.sampled_from(range(len(CASES))))
def test_equal_sizes_are_an_assignment(seed, size, which):
    space, rng = CASES[which].space, np.random.default_rng(seed)
    x, y = rng.integers(0, space.items, size=(2, size))
    best, target = assign(space, x, y)
    assert sorted(target.tolist()) == list(range(size))
    assert best == pytest.approx(emd(space, histogram(space, x), histogram(space, y)), abs=1e-9)
    assert emd_between(space, x, y) == pytest.approx(best, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 4), st.sampled_from(range(len(CASES))))
def test_sizes_do_not_matter_only_shares_do(seed, size, times, which):
    space, rng = CASES[which].space, np.random.default_rng(seed)
    x, y = rng.integers(0, space.items, size=size), rng.integers(0, space.items, size=3)
    assert emd_between(space, np.tile(x, times), y) == pytest.approx(emd_between(space, x, y), abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from(range(len(CASES))))
def test_the_norm_of_signed_differences_is_homogeneous_and_matches_emd(seed, which):
    space, rng = CASES[which].space, np.random.default_rng(seed)
    a, b = random_histograms(rng, 2, space.items)
    signed = a + 3 * (a - b)  # mass 1 with negative entries
    assert emd(space, signed, b) == pytest.approx(4 * emd(space, a, b), rel=1e-7, abs=1e-9)
    assert kr_norm(space, a - b) == pytest.approx(emd(space, a, b), abs=1e-9)
    assert kr_norm(space, np.stack([a - b, b - a])) == pytest.approx([emd(space, a, b)] * 2, abs=1e-9)


def test_couplings_have_the_right_marginals_and_cost(case):
    space, rng = case.space, np.random.default_rng(12)
    a, b = random_histograms(rng, 2, space.items)
    plan = coupling(space, a, b)
    assert np.bincount(plan.source, plan.mass, space.items) == pytest.approx(a, abs=1e-9)
    assert np.bincount(plan.target, plan.mass, space.items) == pytest.approx(b, abs=1e-9)
    assert (plan.mass >= 0).all()
    assert plan.mass @ space.distance(plan.source, plan.target) == pytest.approx(plan.cost, abs=1e-9)
    assert plan.cost == pytest.approx(emd(space, a, b), abs=1e-9)


def test_a_wrong_closed_form_would_be_noticed():
    """The comparison has power: leaving out the cluster edges, or not cutting the circle, changes the value."""
    clustered, rng = Clustered.grid(3, 4, r=0.1), np.random.default_rng(13)
    a, b = random_histograms(rng, 2, 12)
    assert abs(0.1 / 2 * np.abs(a - b).sum() - emd(clustered, a, b)) > 0.01
    circle = Circle(24, step=2)
    uncut = np.abs(np.cumsum(a - b)).sum() * 2 / 12
    assert uncut > emd(circle, a, b) + 1e-3


BAD = {
    "mass": (lambda s: emd(s, [0.5, 0.6], [0.5, 0.5]), ParameterError, "a does not have mass 1"),
    "second mass": (lambda s: emd(s, [0.5, 0.5], [1, 2]), ParameterError, "b does not have mass 1"),
    "nan": (lambda s: emd(s, [float("nan"), 1.0], [0.5, 0.5]), ParameterError, "a does not have mass 1"),
    "shape": (lambda s: emd(s, [1.0], [0.5, 0.5]), ParameterError, r"a has shape \(1,\)"),
    "empty data set": (lambda s: histogram(s, []), DataError, "empty"),
    "empty between": (lambda s: emd_between(s, [0], []), DataError, "empty"),
    "ids": (lambda s: histogram(s, [5]), ParameterError, "item ids"),
    "signed mass": (lambda s: kr_norm(s, [0.5, 0.5]), ParameterError, "total mass"),
    "norm shape": (lambda s: kr_norm(s, [0.5]), ParameterError, "shape"),
    "negative coupling": (lambda s: coupling(s, [1.5, -0.5], [0.5, 0.5]), ParameterError, "negative"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    call, kind, pattern = BAD[name]
    with pytest.raises(kind, match=pattern) as error:
        call(Discrete(["a", "b"]))
    assert error.value.fix


def test_spaces_with_closed_forms_do_not_load_a_solver():
    known = {case.space.kind for case in CASES if case.space.geometry.has_closed_form}
    assert known == {"clustered", "tree", "line", "circle", "discrete", "no_records"}


def test_transport():
    cost, source, target, mass = transport(Discrete(["a", "b"]), np.array([0.5, -0.5]))
    assert cost == 0.5
    assert source.tolist() == [0]
    assert target.tolist() == [1]
    assert mass.tolist() == [0.5]
