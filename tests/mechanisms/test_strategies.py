"""Strategies: the ellipsoid of least trace against another solver, constants against brute force, errors by drawing."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts, linear_candidates
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.mechanisms.ellipsoids import least_trace
from barrow.mechanisms.factorisation import MOST_ITEMS
from barrow.mechanisms.scales import least_scales
from barrow.mechanisms.steep_pairs import SteepPairs
from barrow.mechanisms.strategies import factorisations, strategies_for
from barrow.noise.source import SeededSource
from barrow.queries import (
    Query,
    density,
    distance_to,
    function,
    histogram,
    mean,
    query_from_spec,
    table_floats,
    workload,
)
from barrow.spaces import Clustered, Discrete, Earth, Embedding, Euclidean, Line
from barrow.transport import emd


def _metric(name: str, items: int) -> np.ndarray:
    rng = np.random.default_rng(items)
    if name == "line":
        return np.abs(np.subtract.outer(np.arange(items), np.arange(items))) / (items - 1.0)
    if name == "equal":
        return np.ones((items, items)) - np.eye(items)
    points = rng.random((items, 2))
    far = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    return far / far.max()


def by_general_solver(rows: np.ndarray, far: np.ndarray) -> float:
    """min tr(W X^-1 W^T) with b^T X b <= d^2, over the lower triangle of X = L L^T, items grounded at the last one.

    Nothing is shared with the code: X lives on items, not on answers, and a general solver is handed the constraints.
    """
    items = len(rows)
    grounded = (rows[:-1] - rows[-1]).T
    pairs = [(x, y) for x in range(items) for y in range(x)]
    steps = np.array([np.eye(items)[x] - np.eye(items)[y] for x, y in pairs])[:, :-1]
    lengths = np.array([far[x, y] ** 2 for x, y in pairs])
    low = np.tril_indices(items - 1)

    def matrix(z: np.ndarray) -> np.ndarray:
        lower = np.zeros((items - 1, items - 1))
        lower[low] = z
        return lower

    def value(z: np.ndarray) -> float:
        solved = np.linalg.solve(matrix(z) + 1e-13 * np.eye(items - 1), grounded.T)
        return float((solved**2).sum())

    def room(z: np.ndarray) -> np.ndarray:
        return 1.0 - ((steps @ matrix(z)) ** 2).sum(axis=1) / lengths

    # value is of X = L L^T: W X^-1 W^T = |L^-1 W^T|^2, and b^T X b = |L^T b|^2.
    start = (np.eye(items - 1) * math.sqrt(lengths.min()) / 2.0)[low]
    result = minimize(
        value, start, constraints={"type": "ineq", "fun": room}, method="SLSQP", options={"maxiter": 600, "ftol": 1e-11}
    )
    # Scaled until every constraint holds, so that it is the value of a feasible X.
    return float(result.fun) * (1.0 - float(room(result.x).min()))


@pytest.mark.parametrize("name", ["line", "equal", "plane"])
@pytest.mark.parametrize("items", [3, 4, 5])
def test_the_least_trace_is_that_of_a_general_solver(name: str, items: int) -> None:
    far = _metric(name, items)
    rng = np.random.default_rng(7 * items)
    rows = rng.standard_normal((items, items - 1))
    result = least_trace(rows, far, gap=1.0005, most=4000)
    second = by_general_solver(rows, far)
    assert result.trace_lower <= second * (1.0 + 1e-9)
    assert second <= result.trace * (1.0 + 1e-3)
    assert result.gap <= 1.0005
    # Half of the bound, as if pairs were counted twice, or the trace without its root, would not be near it.
    assert second < 1.01 * result.trace_lower


def test_no_ellipsoid_that_holds_all_differences_is_below_the_bound() -> None:
    far, rng = _metric("plane", 12), np.random.default_rng(3)
    rows = rng.standard_normal((12, 4))
    lower = least_trace(rows, far).trace_lower
    x, y = np.triu_indices(12, 1)
    changes = (rows[x] - rows[y]) / far[x, y][:, None]
    for _ in range(200):
        turned = rng.standard_normal((4, 4))
        inside = turned @ turned.T + 0.05 * np.eye(4)
        use = float(np.einsum("ij,jk,ik->i", changes, np.linalg.inv(inside), changes).max())
        assert np.trace(inside) * use >= lower


def test_a_thousand_items_take_few_steps() -> None:
    far = _metric("line", 300)
    result = least_trace(np.eye(300), far)
    assert result.gap <= 1.01
    assert result.steps <= 20
    with pytest.raises(ParameterError, match="2,501 items"):
        least_trace(np.zeros((2501, 1)), np.ones((2501, 1)))


def test_scales_are_those_of_a_general_solver() -> None:
    rng = np.random.default_rng(5)
    far, rows, counts = _metric("plane", 8), rng.random((8, 3)), np.array([1.0, 2.0, 0.5])
    result = least_scales(rows, far, counts)
    x, y = np.triu_indices(8, 1)
    steep = np.abs(rows[x] - rows[y]) / far[x, y][:, None]
    assert (steep / result).sum(axis=1).max() <= 1.0 + 1e-9
    second = minimize(
        lambda t: math.log(((counts * np.exp(-t)) ** 2).sum()),
        -np.log(3.0 * steep.max(axis=0)),
        constraints={"type": "ineq", "fun": lambda t: 1.0 - steep @ np.exp(t)},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    best = math.exp(second.fun) * float((steep @ np.exp(second.x)).max()) ** 2
    assert best * (1.0 - 1e-3) <= ((counts * result) ** 2).sum() <= 1.011 * best


SPACES = {
    "line": Line(0, 12, step=1, cells=True),
    "tree": Clustered.grid(3, 3, r=0.2),
    "square": Euclidean([0, 0], [1, 1], step=1 / 4),
    "equal": Discrete(list("abcde")),
}


@pytest.mark.parametrize("name", SPACES)
def test_every_shape_answers_the_workload_and_has_the_constant_it_says(name: str) -> None:
    space = SPACES[name]
    rng = np.random.default_rng(11)
    request = function(space, rng.integers(0, 2, (space.items, 6)) + 0.25 * rng.random((space.items, 6)))
    result = factorisations(request)[1:]
    assert {shape.name for shape in result} >= {"ellipsoid", "scales"}
    assert ("tree" in {shape.name for shape in result}) == (name != "square")
    assert ("faces" in {shape.name for shape in result}) == (name == "square")
    assert "edges" in {shape.name for shape in result}
    for shape in result:
        answers = table_floats(shape.query) @ shape.answers.T + shape.offsets
        assert np.abs(answers - table_floats(request)).max() <= shape.off_upper.max() <= 1e-9
        if shape.name in ("edges", "faces"):
            continue  # proved for the graph, not by a constant
        rows = [[Fraction(int(v)) * shape.query.step for v in row] for row in _integers(shape.query)]
        p = 2 if shape.name == "ellipsoid" else 1
        exact = 0.0
        for x in range(space.items):
            for y in range(x):
                gap = [abs(a - b) for a, b in zip(rows[x], rows[y], strict=True)]
                size = math.sqrt(sum(g * g for g in gap)) if p == 2 else float(sum(gap))
                exact = max(exact, size / float(space.distance(x, y)))
        constant = shape.query.lipschitz_upper(p)
        assert exact * (1.0 - 1e-9) <= constant <= exact * (1.0 + 1e-6)
        assert abs(constant - 1.0) < 0.01


def _integers(query: object) -> np.ndarray:
    table = query.table  # type: ignore[attr-defined]
    return table.integers.toarray() if table.sparse else table.integers


def test_moving_a_persons_items_moves_the_combinations_by_the_constant_at_most() -> None:
    space = SPACES["square"]
    shape = factorisations(histogram(space))[1]
    values, constant = table_floats(shape.query), shape.query.lipschitz_upper(2)
    rng = np.random.default_rng(2)
    used = 0.0
    for _ in range(40):
        one, other = rng.dirichlet(np.full(space.items, 0.1), 2)
        moved = float(np.linalg.norm((one - other) @ values))
        far = float(emd(space, one, other))
        assert moved <= constant * far * (1.0 + 1e-6)
        used = max(used, moved / (constant * far))
    assert used > 0.2


@pytest.mark.parametrize("name", ["line", "square", "tree"])
def test_answers_have_the_deviations_and_half_widths_that_are_said(name: str) -> None:
    items = SPACES[name].items
    space = SPACES[name]
    request = function(space, np.triu(np.ones((space.items, 5))))
    counts = UserCounts.of_users(space, [[i % items, (5 * i) % items] for i in range(50)])
    truth = counts.center(request)
    exact = np.array([float(truth.exact_entry(i)) for i in range(5)])
    for best in strategies_for(request, 3, "1e-6", users=50):
        source, draws = SeededSource(17), 400
        center = counts.center(best.query)
        errors = np.array([best.read(best.draw(center, source).values) for _ in range(draws)]) - exact
        # A chi-squared mean of 400 squares with kurtosis up to 6 is within 6 of its deviations: 1.8 times at most.
        ratio = (errors**2).mean(axis=0) / best.deviations**2
        assert (np.abs(ratio - 1.0) < 0.75).all(), best
        misses = (np.abs(errors) > best.half_widths()).sum(axis=0)
        assert (misses <= 0.05 * draws + 6.0 * math.sqrt(0.05 * 0.95 * draws)).all(), best
        assert (np.abs(errors) > 0.4 * best.half_widths()).mean() > 0.15, best
        assert (best.half_widths(0.01) > best.half_widths()).all()


def _todays(query: Query, delta: str) -> dict[str, float]:
    """Root mean square errors of what there is without strategies, by other code than theirs."""
    kinds = ["laplace", "l2", "linf", *(["gaussian"] if Fraction(delta) else [])]
    result = {kind: linear_candidates(query, 2, delta, noise=kind, users=100)[0].deviation for kind in kinds}
    values = table_floats(query).T
    for blocks in ("edges", "faces"):
        along = edge_histogram(query.space, 2, users=100, blocks=blocks)
        wide = np.zeros((len(values), along.graph.nodes))
        wide[:, : values.shape[1]] = values
        variances = ((wide @ along.covariance) * wide).sum(axis=1)
        result[f"along {blocks}"] = math.sqrt(float(np.mean(variances)))
    return result


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("seed", range(3))
def test_no_workload_is_answered_worse_than_by_any_noise_without_strategies(delta: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sides = np.sort(rng.integers(0, 9, (10, 2, 2)), axis=2)
    masks = np.zeros((10, 8, 8))
    for mask, ((a, b), (c, d)) in zip(masks, sides.tolist(), strict=True):
        mask[a : b + 1, c : d + 1] = 1.0
    square = Euclidean([0, 0], [1, 1], step=1 / 8)
    rectangles = function(square, masks.reshape(10, 64).T)
    smooth = function(SPACES["tree"], rng.random((9, 4)))
    for query in (rectangles, smooth):
        todays = _todays(query, delta)
        best = strategies_for(query, 2, delta, users=100)
        assert best[0].rms <= min(todays.values()) * (1.0 + 1e-6)
        same = {f"along {each.factors.name}": each.rms for each in best if each.factors.name in ("edges", "faces")}
        nodes_are_items = query.space.graph().nodes == query.space.items
        for name, error in same.items():  # nodes without items are counted as little as possible, and not as 0
            assert error <= todays[name] * (1.0 + 1e-6)
            assert not nodes_are_items or error == pytest.approx(todays[name], rel=1e-6)


def test_a_large_map_is_answered_along_its_edges() -> None:
    square = Euclidean([0, 0], [1, 1], step=1 / 48)
    masks = np.zeros((2, 48, 48))
    masks[0, :24], masks[1, :, :12] = 1.0, 1.0
    request = function(square, masks.reshape(2, -1).T)
    found = {each.factors.name: each for each in strategies_for(request, 25, users=1000)}
    best = found["faces"]
    assert best.rms <= found["edges"].rms
    # The boundary of the first half cuts 48 edges, and each has Laplace noise of its own.
    length = float(square.graph().lengths[0])
    assert found["edges"].deviations[0] == pytest.approx(math.sqrt(2.0 * 48) / (25 * 1000 * length), rel=1e-3)
    assert price(best.event) == price(edge_histogram(square, 25, users=1000).event)


def test_shaped_noise_is_never_much_worse_and_often_better() -> None:
    square = SPACES["square"]
    below = np.triu(np.ones((4, 4)))
    rectangles = function(square, np.kron(below, below)[:, :-1])
    for query, least in ((rectangles, 1.3), (density(square, bandwidth="0.5"), 1.0), (histogram(square), 0.99)):
        plain = linear_candidates(query, 1, "1e-9", noise="gaussian", users=100)[0].deviation
        shaped = strategies_for(query, 1, "1e-9", users=100, noise="gaussian")[0]
        assert plain / shaped.rms >= least
        assert shaped.rms_lower is not None
        assert 1.0 <= shaped.rms / shaped.rms_lower <= 1.006


def test_weights_shift_the_error_to_what_counts_less() -> None:
    space = SPACES["line"]
    request = function(space, np.triu(np.ones((12, 5)))[:, [1, 3]])
    even, skewed = (strategies_for(request, 1, users=50, noise="laplace", weights=w)[0] for w in ((1, 1), (1, 20)))
    assert even.dimension == skewed.dimension == 2
    prefix = function(SPACES["square"], np.random.default_rng(1).random((16, 2)))
    even, skewed = (
        strategies_for(prefix, 1, "1e-6", users=50, noise="gaussian", weights=w)[0] for w in ((1, 1), (1, 9))
    )
    assert skewed.deviations[1] < even.deviations[1]
    assert skewed.deviations[0] > even.deviations[0]


def test_a_workload_is_its_parts_side_by_side() -> None:
    line = Line(0, 10, unit="km", step=1)
    parts = [distance_to(line, 3), distance_to(line, 7)]
    both = workload(line, parts)
    assert np.array_equal(table_floats(both), np.hstack([table_floats(part) for part in parts]))
    assert len(set(both.outputs)) == 2
    assert both.unit == "km"
    assert query_from_spec(line, both.to_spec()) == both
    assert workload(line, parts[:1]) is parts[0]
    mixed = workload(line, [parts[0], histogram(line)])
    assert mixed.unit == ""
    assert mixed.dimension == 1 + line.items


def test_wrong_arguments_are_refused() -> None:
    line = SPACES["line"]
    with pytest.raises(ParameterError, match="empty"):
        workload(line, [])
    with pytest.raises(ParameterError, match="another space"):
        workload(line, [histogram(SPACES["equal"])])
    with pytest.raises(ParameterError, match="no mean over items"):
        workload(line, [query_from_spec(line, {"kind": "person", "function": "spread"})])
    with pytest.raises(ParameterError, match="3 weights for 12 answers"):
        strategies_for(histogram(line), 1, users=10, weights=[1, 2, 3])
    with pytest.raises(ParameterError, match="noise is 'l3'"):
        strategies_for(histogram(line), 1, users=10, noise="l3")


def _some_rectangles(side: int) -> Query:
    rng = np.random.default_rng(4)
    ends = np.sort(rng.integers(0, side + 1, (8, 2, 2)), axis=2)
    masks = np.zeros((8, side, side))
    for mask, ((a, b), (c, d)) in zip(masks, ends.tolist(), strict=True):
        mask[a : b + 1, c : d + 1] = 1.0
    return function(Euclidean([0, 0], [1, 1], step=1 / side), masks.reshape(8, -1).T)


def _distances_on_a_map() -> Query:
    earth = Earth(box=(48.7, 2.2, 49, 2.6), cell=0.9)
    return workload(earth, [distance_to(earth, (48.75 + 0.05 * i, 2.3 + 0.07 * i)) for i in range(4)])


def _cuts() -> Query:
    line = Line(0, 1500, step=1, cells=True)
    return function(line, (np.arange(1500)[:, None] < np.array([300, 700, 1100])) * 1.0)


def _words() -> Query:
    vectors = np.random.default_rng(6).standard_normal((1100, 4)) * [1.0, 0.5, 0.2, 0.1]
    return mean(Embedding([f"w{i}" for i in range(1100)], vectors))


@pytest.mark.parametrize("make", [lambda: _some_rectangles(36), _distances_on_a_map, _cuts, _words])
def test_large_spaces_have_the_best_shapes_certified_on_all_items(make: Callable[[], Query]) -> None:
    request = make()
    assert request.space.items > MOST_ITEMS
    best = strategies_for(request, 25, "1e-9", users=1000, noise="gaussian")[0]
    assert best.factors.off_upper.max() < 1e-9
    assert best.rms_lower is not None
    # The constant is that of all pairs, and the bound that of no more pairs than there are.
    assert 1.0 <= best.rms / best.rms_lower <= 1.007
    scaled = {each.factors.name: each.rms for each in strategies_for(request, 25, users=1000, noise="laplace")}
    assert scaled["scales"] <= scaled["plain"] * 1.01


def test_a_look_at_all_pairs_finds_those_that_are_not_held() -> None:
    side = 34
    x, y = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    smooth = np.stack([x + y, x - 2.0 * y], axis=-1).reshape(-1, 2) / side
    request = function(Euclidean([0, 0], [1, 1], step=1 / side), smooth)
    best = strategies_for(request, 25, "1e-9", users=1000, noise="gaussian")[0]
    assert best.rms_lower is not None
    assert best.rms / best.rms_lower <= 1.007
    pairs = SteepPairs.of(request.space)
    rows = table_floats(best.query)
    assert len(pairs.violating(rows, 2.0, best.query.lipschitz_upper(2) * 1.0001)) == 0
    assert len(pairs.violating(rows, 2.0, best.query.lipschitz_upper(2) * 0.9)) > 0
