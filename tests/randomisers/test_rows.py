"""Rows of the exponential mechanism against whole matrices: the claim over all triples, the law, the limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow import Study
from barrow.errors import ParameterError
from barrow.noise.source import SeededSource
from barrow.randomisers import exponential, planar_laplace, rows, worst_triple
from barrow.randomisers.randomiser import TOTAL
from barrow.randomisers.rows import RowExponential
from barrow.spaces import Circle, Earth, Embedding, Euclidean, Graph, Line, Space
from tests.randomisers.helpers import chi_square


def street(side: int) -> Graph:
    """A grid of streets of which one is longer."""
    across = [(f"{i},{j}", f"{i + 1},{j}", 1.0 + 0.5 * (i == 2)) for i in range(side - 1) for j in range(side)]
    return Graph([*across, *((f"{i},{j}", f"{i},{j + 1}", 1.0) for i in range(side) for j in range(side - 1))])


SPACES = {
    "line": Line(0, 80, step=1),
    "circle": Circle(24, unit="h", step=1),
    "streets": street(9),
    "chain": Graph([(f"{i:02}", f"{i + 1:02}", 0.01 + (i % 7)) for i in range(60)]),
    "grid": Euclidean([0, 0], [8, 5], step=1),
    "earth": Earth(box=(40.0, -74.0, 41.0, -73.0), cell=12),
    "words": Embedding(["cat", "dog", "car", "bus", "kid"], [[0, 1], [0, 2], [5, 0], [6, 1], [0.001, 1]]),
}


def by_rows(space: Space, alpha0: float) -> RowExponential:
    """Made row by row, however small the space is."""
    return RowExponential(space, alpha0, kind="exponential", description="by rows")


def all_rows(channel: RowExponential) -> np.ndarray:
    """The whole weights that are drawn from."""
    return np.concatenate([weights for _, weights in channel._rows(np.arange(channel.space.items))])


@pytest.mark.parametrize("alpha0", [0.01, 4, 60, 400])
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
def test_the_claim_holds_for_all_pairs_and_reports_and_is_tight(space, alpha0):
    channel = by_rows(space, alpha0)
    weights = all_rows(channel)
    true = worst_triple(weights, space).alpha0_upper
    assert (weights.sum(axis=1) == TOTAL).all()
    assert true <= float(channel.alpha0_upper) * (1.0 + 2.0**-40)
    assert float(channel.alpha0_upper) <= alpha0
    assert float(channel.alpha0_upper) <= true * 1.001 + 1e-9, "the bound is no looser than what rounding may do"
    assert channel.beta >= exponential(space, alpha0).beta * 0.985, "a ladder's rung is lost, and no more"


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
def test_too_large_a_beta_would_be_seen(space):
    """The same test on rows that are steeper than their claim by 1 % fails: it can."""
    channel = by_rows(space, 8)
    channel.beta *= 1.01
    assert worst_triple(all_rows(channel), space).alpha0_upper > float(channel.alpha0_upper) * 1.001


@settings(max_examples=25)
@given(st.lists(st.floats(0.01, 10.0), min_size=3, max_size=12), st.floats(0.1, 200.0), st.integers(0, 2**32))
def test_the_claim_holds_on_any_graph(lengths, alpha0, seed):
    rng = np.random.default_rng(seed)
    tree = [(f"n{int(rng.integers(0, i + 1))}", f"n{i + 1}", length) for i, length in enumerate(lengths)]
    space = Graph(tree)
    channel = by_rows(space, alpha0)
    assert worst_triple(all_rows(channel), space).alpha0_upper <= float(channel.alpha0_upper) * (1.0 + 2.0**-40)


def test_neighbours_decide_as_all_pairs_do(monkeypatch):
    space = street(9)
    few = by_rows(space, 20)
    monkeypatch.setattr(rows, "_edges", lambda space: None)
    every = by_rows(space, 20)
    assert few.beta == pytest.approx(every.beta, rel=0.02)
    sums = rows._sums(space, np.array([few.beta]), 28.0 / 20)
    assert rows._uppers(space, sums, 28.0 / 20, None)[0] == pytest.approx(float(few.alpha0_upper), rel=1e-6)


@pytest.mark.parametrize("space", [SPACES["streets"], SPACES["earth"]], ids=["neighbours", "all pairs"])
def test_distances_that_may_be_shorter_than_they_are_said_make_the_claim_larger(space, monkeypatch):
    sums, pairs = rows._sums(space, np.array([9.0]), 28.0 / 20), rows._edges(space)
    monkeypatch.setattr(rows, "_margins", lambda space, sums, far: np.zeros(len(sums.betas)))
    found = []
    for error in (0.0, 0.25):
        monkeypatch.setitem(vars(space), "distance_error", error)  # it is computed once for each space
        found.append(rows._uppers(space, sums, 28.0 / 20, pairs)[0])
    assert found[1] == pytest.approx(found[0] / 0.75, rel=1e-12)


def test_ladders_have_the_sums_of_each_beta():
    space = SPACES["earth"]
    betas = 9.0 * (1.0 - np.arange(4) / 256.0)
    sums = rows._sums(space, betas, 0.7)
    near, block = np.minimum(space.block(), 0.7), space.block()
    for beta, logs, moved in zip(betas, sums.logs, sums.moved, strict=True):
        power = np.exp(-beta * near)
        assert np.abs(logs - np.log(power.sum(axis=1))).max() < 2.0**-44
        assert np.allclose(moved, (power * block).sum(axis=1) / power.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("missed", [0.2, 0.0])
def test_a_sample_that_misses_what_decides_costs_passes_and_no_claim(missed, monkeypatch):
    monkeypatch.setattr(rows, "_suggested", lambda space, target, far, pairs: target * (0.5 + missed))
    space = street(9)
    channel = by_rows(space, 20)
    assert worst_triple(all_rows(channel), space).alpha0_upper <= float(channel.alpha0_upper) <= 20


def test_counts_and_items_have_the_law_of_the_rows_and_a_wrong_one_is_seen():
    channel = by_rows(SPACES["streets"], 30)
    held = np.random.default_rng(3).integers(0, 20_000, channel.space.items)
    held[0] = 0
    expected = held @ (all_rows(channel) / float(TOTAL))
    from_counts = channel.from_counts(held, source=SeededSource(11))
    from_items = np.bincount(
        channel.from_items(np.repeat(np.arange(len(held)), held), source=SeededSource(12)), minlength=len(held)
    )
    wrong = held @ (all_rows(by_rows(SPACES["streets"], 28)) / float(TOTAL))
    assert chi_square(from_counts, expected) > 1e-6
    assert chi_square(from_items, expected) > 1e-6
    assert chi_square(from_counts, wrong) < 1e-6
    assert chi_square(from_items, wrong) < 1e-6


def test_the_distortion_is_that_of_the_rows():
    channel = by_rows(SPACES["grid"], 12)
    moved = (all_rows(channel) / float(TOTAL) * channel.space.block()).sum(axis=1)
    assert np.allclose(channel.distortions(), moved, rtol=1e-9)


def test_a_graph_of_2_500_nodes_is_planned_and_12_100_are_refused_at_once():
    asked = {"kind": "items", "items": 1, "randomiser": "exponential"}
    plan = Study(street(50), ["all, 0.1, 0.5"], users=100, questions=[asked], model="local").plan()
    assert isinstance(plan.itemwise.randomiser, RowExponential)
    assert plan.itemwise.randomiser.to_spec() == {"kind": "exponential"}
    assert 0.0 < plan.error < plan.itemwise.randomiser.uniform_guess
    with pytest.raises(ParameterError, match="12,100 items"):
        exponential(Line(0, 12_099, step=1), 4)


def test_planar_laplace_on_a_large_map_is_said_as_such():
    channel = planar_laplace(Euclidean([0, 0], [1, 1], step=1 / 46), 8)
    assert (channel.kind, channel.space.items > 2048) == ("planar_laplace", True)
    assert channel.description == "planar Laplace on the cells of the map"
    assert float(channel.alpha0_upper) <= 8.0


def test_what_no_whole_weights_can_express_is_refused(monkeypatch):
    monkeypatch.setattr(rows, "_margins", lambda space, sums, far: np.full(len(sums.betas), 1e300))
    with pytest.raises(ParameterError, match="whole weights"):
        by_rows(Line(0, 80, step=1), 4)
