"""Noisy cells are decoded by what stands out from the noise, on the space inside, whatever was added to it."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from barrow.mechanisms.decoding.cells import (
    CellNoise,
    ScreenBlocks,
    cells_decoder,
    inner_decoder,
    screened_cells,
    screened_line,
    screened_map,
)
from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.mechanisms.histograms import histogram_noise
from barrow.noise.source import SeededSource
from barrow.questions import Histogram
from barrow.spaces import Circle, Clustered, Discrete, Earth, Elsewhere, Euclidean, Line, NoRecords, Product, Tree
from barrow.spaces.augmented import base_space
from barrow.spaces.nearness import coordinates
from barrow.study import Study


def skewed(cells: int = 301) -> np.ndarray:
    """Delays by a rule: most at one place, and a long tail behind it."""
    at = np.arange(cells)
    raw = np.exp(-np.abs(at - 25) / 5.0) + np.where(at > 25, 0.06 * np.exp(-(at - 25) / 45.0), 0.0)
    return raw / raw.sum()


# The algorithm again, from its description: slow, with loops, blocks as sets of cells.


def slow_threshold(b: float, cells: int, blocks: int) -> float:
    p = min(0.02 / blocks, 0.3)
    if cells == 1:
        return b * math.log(1 / (2 * p))
    z = NormalDist().inv_cdf(1 - p)
    return b * math.sqrt(2 * cells) * (z + (z**3 - 3 * z) / (8 * cells))


def slow_kept(y: np.ndarray, b: float, levels: list[list[set[int]]]) -> set[int]:
    """``levels`` from the whole to the cells."""
    active = []
    for depth, level in enumerate(levels):
        own = [block for block in level if sum(y[i] for i in block) > slow_threshold(b, len(block), len(level))]
        active.append(level if depth == 0 else own)

    def within(depth: int, block: set[int]) -> bool:
        return any(one <= block for finer in active[depth + 1 :] for one in finer)

    subset = {i for depth, level in enumerate(active) for block in level if not within(depth, block) for i in block}
    for depth, level in enumerate(active):
        for block in level:
            left = block - subset
            if within(depth, block) and len(left) > 1 and sum(y[i] for i in left) > 2.3 * b * math.sqrt(2 * len(left)):
                subset |= left
    return subset


def slow_isotonic(values: np.ndarray) -> np.ndarray:
    """By the formula of least and greatest means."""
    n = len(values)
    mean = [[values[a : b + 1].mean() if b >= a else 0.0 for b in range(n)] for a in range(n)]
    return np.array([max(min(mean[a][b] for b in range(i, n)) for a in range(i + 1)) for i in range(n)])


def slow_line(y: np.ndarray, b: float) -> np.ndarray:
    k, size, levels = len(y), 1, []
    while True:
        levels.append([set(range(a, min(a + size, k))) for a in range(0, k, size)])
        if size >= k:
            break
        size *= 2
    subset = sorted(slow_kept(y, b, levels[::-1]))
    x = y[subset] + (1 - y[subset].sum()) / len(subset)
    below = np.clip(slow_isotonic(np.cumsum(x)[:-1]), 0, 1) if len(subset) > 1 else np.zeros(0)
    result = np.zeros(k)
    result[subset] = np.diff(np.concatenate([[0.0], below, [1.0]]))
    return result


@pytest.mark.parametrize("cells", [2, 3, 7, 16, 33, 50])
def test_a_line_is_decoded_as_the_algorithm_says(cells):
    rng = np.random.default_rng(cells)
    screened = 0
    for draw in range(30):
        truth = rng.gamma([0.02, 0.1, 1.0][draw % 3], size=cells) + 1e-12
        truth /= truth.sum()
        b = [0.002, 0.01, 0.05][draw // 10]
        y = truth + rng.laplace(scale=b, size=cells)
        result = screened_line(y, ScreenBlocks.dyadic(cells), CellNoise(b * math.sqrt(2), 1))
        assert result == pytest.approx(slow_line(y, b), abs=1e-12)
        screened += int((result == 0).sum())
    assert screened > 20 * (cells > 3)


def test_cells_of_a_map_are_kept_by_quarters():
    """On 8 x 8 cells blocks are those of a quadtree: the same cells are kept as by sets of cells."""
    space = Euclidean([0, 0], [1, 1], step=1 / 8)
    places = np.round(space.points * 8 - 0.5).astype(int)
    levels = []
    for side in (8, 4, 2, 1):
        homes: dict[tuple[int, int], set[int]] = {}
        for i, (a, c) in enumerate(places.tolist()):
            homes.setdefault((a // side, c // side), set()).add(i)
        levels.append(list(homes.values()))
    rng = np.random.default_rng(8)
    for draw in range(30):
        truth = rng.gamma(0.05, size=64) + 1e-12
        truth /= truth.sum()
        b = [0.003, 0.01, 0.03][draw % 3]
        y = truth + rng.laplace(scale=b, size=64)
        blocks, noise = ScreenBlocks.halved(coordinates(space)), CellNoise(b * math.sqrt(2), 1)
        assert set(np.flatnonzero(screened_cells(y, blocks, noise))) == slow_kept(y, b, levels)
        result = screened_map(space, y, blocks, noise)
        assert result.sum() == pytest.approx(1)
        assert (result >= 0).all()
        assert not result[~screened_cells(y, blocks, noise)].any()


def test_a_map_is_nearest_among_the_cells_that_are_kept():
    """Against the linear programme of all pairs of items: transport from signed values to a histogram there."""
    from scipy.optimize import linprog

    space = Euclidean([0, 0], [1, 1], step=1 / 4)
    rng = np.random.default_rng(5)
    truth = np.zeros(16)
    truth[[0, 1, 5]] = [0.5, 0.3, 0.2]
    noise = CellNoise(0.3)
    far = space.block(np.arange(16))
    compared = 0
    for _ in range(10):
        y = truth + rng.normal(scale=0.3, size=16)
        blocks = ScreenBlocks.halved(coordinates(space))
        indices = np.flatnonzero(screened_cells(y, blocks, noise))
        x = np.zeros(16)
        x[indices] = y[indices] + (1 - y[indices].sum()) / len(indices)
        if (x >= 0).all():
            continue
        result = screened_map(space, y, blocks, noise)
        # min <far, P>: P moves max(x, 0) to max(-x, 0) + h, with h on the cells that are kept.
        costs = np.concatenate([far.ravel(), np.zeros(len(indices))])
        rows = np.kron(np.eye(16), np.ones((1, 16)))
        columns = np.kron(np.ones((1, 16)), np.eye(16))
        home = np.zeros((16, len(indices)))
        home[indices, np.arange(len(indices))] = -1.0
        a = np.block([[rows, np.zeros((16, len(indices)))], [columns, home]])
        best = linprog(costs, A_eq=a, b_eq=np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)])).fun
        ours = linprog(
            far.ravel(),
            A_eq=np.vstack([rows, columns]),
            b_eq=np.concatenate([np.maximum(x, 0), np.maximum(-x, 0) + result]),
        ).fun
        assert ours <= best * 1.03 + 1e-9  # near items' paths are at most 3 % too long
        compared += 1
    assert compared >= 5


@pytest.mark.parametrize("reports", [1, 2, 5])
def test_what_noise_reaches(reports):
    """Against the distribution of a sum of Laplace variables, by convolution on a grid."""
    step = 0.02
    x = np.arange(-60, 60 + step / 2, step)
    one = np.exp(-np.abs(x)) / 2 * step
    law = np.array([1.0])
    for terms in range(1, 41):
        law = np.convolve(law, one)[: 2**21] if terms == 1 else np.convolve(law, one, mode="same")
        if terms % reports or terms // reports not in (1, 2, 4, 8):
            continue
        cells = terms // reports
        noise = CellNoise(math.sqrt(2 / reports), reports)  # the mean of ``reports`` variables of scale 1
        for p in (0.02 / 300, 0.01, 0.3):
            above = np.cumsum(law[::-1])[::-1]
            exact = float(x[np.searchsorted(-above, -p)]) / reports
            result = float(noise.reached(np.array([float(cells)]), np.array([p]))[0])
            # The expansion is rough, and too large, for few variables and rare events.
            off = 0.03 if terms == 1 else max(0.04, 0.5 / terms)
            assert result == pytest.approx(exact, rel=off, abs=2 * step)


def test_gaussian_noise_reaches_its_quantile():
    result = CellNoise(0.5).reached(np.array([1.0, 9.0]), np.array([0.025, 0.025]))
    assert result == pytest.approx([0.98, 2.94], abs=0.001)


# The decoder is a matter of the space inside.

LINE = Line(0, 40, step=1, cells=True)
SQUARE = Euclidean([0, 0], [1, 1], step=1 / 6)
INSIDE = {
    "line": LINE,
    "square": SQUARE,
    "earth": Earth(box=(40, -75, 41, -73), cell=20),
    "tree": Tree(
        [("a", "r", 0.3), ("b", "r", 0.2), ("a1", "a", 0.2), ("a2", "a", 0.1), ("b1", "b", 0.2), ("b2", "b", 0.3)]
    ),
    "clustered": Clustered.grid(4, 5, r=0.1),
    "product": Product([Line(0, 6, step=1, cells=True), Circle.hours()]),
    "circle": Circle.hours(),
    "discrete": Discrete(list("abcdefgh")),
}


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize("wrapped", ["no records", "elsewhere", "both"])
def test_no_wrapper_changes_the_decoder(name, wrapped):
    """People without records and what is outside keep their share; the others are decoded as without them."""
    inner = INSIDE[name]
    if wrapped != "no records" and not isinstance(inner, Line | Euclidean | Earth):
        pytest.skip("this space has no edge beyond which something is outside")
    space = inner if wrapped == "no records" else Elsewhere(inner)
    space = space if wrapped == "elsewhere" else NoRecords(space)
    added = space.items - inner.items
    built = histogram_noise(space, "cells", 25, users=2000)
    deviation = built.noise.deviation
    rng = np.random.default_rng(3)
    truth = rng.gamma(0.1, size=inner.items) + 1e-12
    y = truth / truth.sum() + rng.laplace(scale=deviation / math.sqrt(2), size=inner.items)
    alone = inner_decoder(inner)(y, CellNoise(deviation, 1))
    # Nobody holds what was added: the rest is what the space inside gives.
    nobody = y - (y.sum() - 1.0) / inner.items  # so that the sum says nothing about the added items
    alone = inner_decoder(inner)(nobody, CellNoise(deviation, 1))
    result = built.decode(np.append(nobody, np.zeros(added)))
    assert result[: inner.items] == pytest.approx(alone / alone.sum(), abs=1e-12)
    assert not result[inner.items :].any()
    # A fifth holds each of them: they keep it, and the rest is decoded with noise that counts for more.
    part = 0.2
    left = 1.0 - part * added
    result = built.decode(np.append(left * nobody, np.full(added, part)))
    scaled = inner_decoder(inner)(nobody, CellNoise(deviation / left, 1))
    assert result[: inner.items] == pytest.approx(left * scaled / scaled.sum(), abs=1e-9)
    assert result[inner.items :] == pytest.approx(part)


def test_lines_and_maps_are_not_projected():
    """With much noise the nearest point of the simplex leaves mass far away; the decoder of a study does not."""
    for space in (LINE, SQUARE, INSIDE["product"], INSIDE["circle"]):
        truth = np.zeros(space.items)
        truth[0] = 1.0
        y = truth + np.random.default_rng(1).laplace(scale=0.04, size=space.items)
        wrapped = NoRecords(space)
        result = cells_decoder(wrapped, CellNoise(0.04 * math.sqrt(2), 1))(np.append(y, 0.0))[:-1]
        far = space.distance(np.arange(space.items), 0)
        assert far @ result < 0.5 * (far @ nearest_in_simplex(y))


def emd(space: Line, a: np.ndarray, b: np.ndarray) -> float:
    return float(space.geometry.flow_cost(a - b))


def test_a_study_of_skewed_people_is_as_accurate_as_its_decoder():
    """Through a study, people without records among the items: at most 1.3 times the error of the decoder alone."""
    line = Line(0, 301, unit="min", step=1, cells=True)
    truth, people = skewed(), 3000
    study = Study(line, ["all, anywhere, 3"], users=people)
    plan = study.plan(Histogram(mechanism="cells", definition="user_level"))
    assert base_space(plan.terms.space) is not plan.terms.space
    assert plan.chosen.name == "cells"
    b = plan.noise.deviation / math.sqrt(2)
    everybody = np.append(truth, 0.0)
    through = [emd(line, plan.mechanism.simulated(everybody, SeededSource(seed))[:-1], truth) for seed in range(60)]
    rng = np.random.default_rng(11)
    blocks = ScreenBlocks.dyadic(line.items)
    alone, projected = [], []
    for _ in range(60):
        y = truth + rng.laplace(scale=b, size=line.items)
        alone.append(emd(line, screened_line(y, blocks, CellNoise(b * math.sqrt(2), 1)), truth))
        projected.append(emd(line, nearest_in_simplex(y), truth))
    assert np.mean(through) <= 1.3 * np.mean(alone)
    assert np.mean(projected) > 1.7 * np.mean(alone)  # which is what a study would have if it were decoded so


def test_reports_of_people_are_decoded_by_their_mean():
    """In the local model the noise that is decoded is that of the mean of all reports."""
    built = histogram_noise(NoRecords(LINE), "cells", 200, users=40_000, model="local")
    truth = np.zeros(LINE.items + 1)
    truth[5] = 1.0
    errors = [
        float(LINE.geometry.flow_cost((built.simulated(truth, SeededSource(seed)) - truth)[:-1])) for seed in range(6)
    ]
    assert max(errors) < 0.02
