"""The least trace by a semidefinite programme, which an interior-point solver of cones gets as a matrix inequality."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from barrow.mechanisms.ellipsoids import least_trace
from barrow.mechanisms.strategies import strategies_for
from barrow.queries import Query, density, function, histogram, region_share, table_floats, workload
from barrow.spaces import Clustered, Discrete, Euclidean, Line, Space

clarabel = pytest.importorskip("clarabel", reason="clarabel is not installed (pip install 'barrow[dev]')")

NEAR = 2e-6
"""How far apart the two routes may be, relatively, beside the gap that the first one certifies for itself."""


def by_cones(rows: np.ndarray, far: np.ndarray) -> tuple[float, float]:
    """min tr T over [[T, W], [W', X]] >= 0 and b' X b <= d^2 for all pairs; the primal and the dual value.

    W holds the answers at the items but for the last one, which is grounded. T >= W X^-1 W' is the Schur complement, so
    that tr T is the sum of variances of Gaussian noise of mu = 1. Nothing is shared with the code: X lives on items,
    no covariance, no root and no weights on pairs are formed.
    """
    items, answers = rows.shape
    size = answers + items - 1
    grounded = (rows[:-1] - rows[-1]).T
    upper = [(i, j) for j in range(size) for i in range(j + 1)]  # the columns of the upper triangle, as the cone has it
    place = {pair: k for k, pair in enumerate(upper)}
    fixed = {(i, answers + x): grounded[i, x] for i in range(answers) for x in range(items - 1)}
    free = [pair for pair in upper if pair not in fixed]
    column = {pair: k for k, pair in enumerate(free)}
    cost = np.array([float(i == j < answers) for i, j in free])

    # The cone takes s = b - A z with off-diagonal entries times the root of 2.
    entries = [(place[p], column[p], -1.0 if p[0] == p[1] else -math.sqrt(2.0)) for p in free]
    inside = np.zeros(len(upper))
    for pair, value in fixed.items():
        inside[place[pair]] = math.sqrt(2.0) * value

    pairs = [(x, y) for y in range(items) for x in range(y)]
    room = np.array([far[x, y] ** 2 for x, y in pairs])
    for row, (x, y) in enumerate(pairs):
        entries += [(len(upper) + row, column[answers + v, answers + v], 1.0) for v in (x, y) if v < items - 1]
        if y < items - 1:
            entries.append((len(upper) + row, column[answers + x, answers + y], -2.0))

    at, to, values = (np.array(each) for each in zip(*entries, strict=True))
    matrix = sparse.csc_matrix((values, (at, to)), shape=(len(upper) + len(pairs), len(free)))
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix((len(free), len(free))), cost, matrix, np.concatenate([inside, room]),
        [clarabel.PSDTriangleConeT(size), clarabel.NonnegativeConeT(len(pairs))], settings,
    ).solve()  # fmt: skip
    assert str(solution.status) == "Solved"
    return solution.obj_val, solution.obj_val_dual


def _far(space: Space) -> np.ndarray:
    every = np.arange(space.items)
    return np.asarray(space.block(every, every))


def _regions(space: Space, centers: list[float], ramp: str) -> Query:
    return workload(space, [region_share(space, center=c, radius="2 km", ramp=ramp) for c in centers])


LINE, SQUARE = Line(0, 11, unit="km", step=1), Euclidean([0, 0], [1, 1], step=1 / 3)
WORKLOADS = {
    "regions of a line": _regions(LINE, [1, 4, 5, 9], "3 km"),
    "cuts": function(LINE, np.tril(np.ones((12, 11)))[:, [2, 5, 8]]),
    "prefix sums": function(Line(0, 8, step=1, cells=True), np.triu(np.ones((8, 7)))),
    "single cells of a square": histogram(SQUARE),
    "a density": density(SQUARE, bandwidth="0.5"),
    "a tree": histogram(Clustered.grid(3, 2, r=0.2)),
    "equal distances": function(Discrete(list("abcdef")), np.random.default_rng(3).standard_normal((6, 4))),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_least_trace_is_that_of_a_semidefinite_programme(name: str) -> None:
    request = WORKLOADS[name]
    rows, far = table_floats(request), _far(request.space)
    least, dual = by_cones(rows, far)
    assert dual == pytest.approx(least, rel=NEAR)  # its own proof that it is the optimum
    result = least_trace(rows - rows.mean(axis=0), far, gap=1.0002, most=5000)
    assert result.gap <= 1.0002
    assert result.trace_lower * (1.0 - NEAR) <= least <= result.trace * (1.0 + NEAR)


@pytest.mark.parametrize("name", WORKLOADS)
def test_what_is_released_is_within_one_per_cent_of_it(name: str) -> None:
    request = WORKLOADS[name]
    least, _ = by_cones(table_floats(request), _far(request.space))
    built = [s for s in strategies_for(request, 1, "1e-6", users=1, noise="gaussian") if s.factors.name == "ellipsoid"]
    mu = float(built[0].event.mu)
    summed = built[0].rms ** 2 * request.dimension * mu**2
    assert least * (1.0 - NEAR) <= summed <= 1.01 * least * (1.0 + 1e-3)  # that of the optimum, and not below it


def test_another_programme_has_another_value() -> None:
    """The check can fail: forgotten pairs, distances taken for their squares, and a forgotten answer are all seen."""
    request = WORKLOADS["cuts"]
    rows, far = table_floats(request), _far(request.space)
    least, _ = by_cones(rows, far)
    forgotten = np.where(np.isclose(far, far[0, 1]), 10.0 * far, far)
    for other in (by_cones(rows, forgotten)[0], by_cones(rows, np.sqrt(far))[0], by_cones(rows[:, :2], far)[0]):
        assert other < 0.99 * least
