"""The earth mover's distance beside a line, in closed form, against the network simplex and against enumeration."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from barrow.spaces import Line
from barrow.spaces.augmented import NoRecords, isotonic_cost
from barrow.transport import kr_norm
from barrow.transport.emd import transport


@pytest.mark.parametrize("distance", ["1/2", "0.7", 1])
@pytest.mark.parametrize("even", [True, False])
def test_it_is_what_the_network_simplex_finds(distance, even):
    rng = np.random.default_rng(5)
    for items in (1, 2, 3, 9, 60):
        inner = [0.0, *sorted(rng.uniform(0, 10, max(items - 2, 0)).tolist()), 10.0]
        line = Line(0, 10, step=10 / items, cells=True) if even or items < 3 else Line(0, 10, points=inner)
        space = NoRecords(line, distance=distance)
        for _ in range(4):
            one, two = rng.dirichlet(np.full(space.items, 0.3), 2)
            signed = rng.normal(size=space.items)
            for difference in (one - two, two - one, signed - signed.mean()):
                size = float(np.abs(difference).sum())
                assert kr_norm(space, difference) == pytest.approx(
                    transport(space, difference)[0], abs=1e-12 * (1 + size)
                )


def test_many_rows_are_each_row():
    space = NoRecords(Line(0, 4, step=1, cells=True))
    rows = np.random.default_rng(2).normal(size=(2, 3, space.items))
    rows -= rows.mean(axis=-1, keepdims=True)
    each = [[float(kr_norm(space, row)) for row in part] for part in rows]
    assert np.asarray(kr_norm(space, rows)) == pytest.approx(np.array(each))


def test_the_heap_finds_the_least_cost():
    """Some best sequence takes only values that occur."""
    rng = np.random.default_rng(4)
    for _ in range(30):
        values, weights = rng.integers(0, 5, 5).astype(float).tolist(), rng.integers(1, 4, 5).astype(float).tolist()
        least = min(
            sum(w * abs(v - r) for v, w, r in zip(values, weights, sequence, strict=True))
            for sequence in combinations_with_replacement(sorted(set(values)), 5)
        )
        assert isotonic_cost(values, weights) == least
