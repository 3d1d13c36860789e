"""The choice of the spacing: public, repeatable, and near the best in hindsight."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.mechanisms.edge_spacing import best_spacing, likely_spacing, simulated_error, spacings
from barrow.spaces import Circle, Discrete, Euclidean, Line


def test_more_users_want_finer_nodes():
    line = Line(0, 1, step=1 / 64)
    nodes = [best_spacing(line, 25, users=n, draws=2)[0].nodes for n in (5, 100, 20_000)]
    assert nodes == sorted(nodes)
    assert nodes[0] < nodes[-1] == 64


def test_the_choice_is_repeatable_and_near_the_best():
    square = Euclidean([0, 0], [1, 1], step=1 / 12)
    first, again = (best_spacing(square, 25, users=60, draws=2) for _ in range(2))
    assert first == again
    reference = np.full(square.items, 1 / square.items)
    found = best_spacing(square, 25, users=60, reference=reference, draws=3)
    every = [
        simulated_error(edge_histogram(square, 25, users=60, spacing=s), reference, draws=3) for s in spacings(square)
    ]
    assert found[0].mean <= 1.1 * min(every)
    assert found[0].mean == min(e.mean for e in found)


def test_spaces_without_coordinates_have_one_choice_and_local_reports_are_coarser():
    assert spacings(Discrete(["a", "b"])) == [None]
    assert best_spacing(Discrete(["a", "b", "c"]), 25, users=10)[0].spacing is None
    hours = Circle(48, step=1)
    central, local = (likely_spacing(hours, 25, users=2000, model=m) for m in ("central", "local"))
    assert central is None
    assert local is not None
    plan = edge_histogram(hours, 25, users=2000, model="local", spacing=local)
    assert 0.0 < simulated_error(plan, np.full(48, 1 / 48)) < 0.2


def test_bad_input_is_refused():
    with pytest.raises(ParameterError):
        best_spacing(Line(0, 1, step=1 / 8), 25, users=10, draws=0)
