"""A class that overrides the distance of its parent loses what was proved for the parent's."""

from __future__ import annotations

import numpy as np
import pytest

import barrow as bw
from barrow.queries.tables import function
from barrow.spaces import Circle, Earth, Line, Space, Tree
from barrow.spaces.geometry import of_one_distance
from barrow.spaces.grids import coarser
from barrow.spaces.nearness import distances_from, keeps_near
from barrow.transport import emd

LEAST = 1e-3


def other(parent: type[Space], **more: object) -> type[Space]:
    """The parent with the square roots of its distances, which are a metric too."""
    body = {
        "kind": f"root_{parent.kind}",
        "_distance": lambda self, a, b: np.sqrt(parent._distance(self, a, b)),
        "least_distance_lower": property(lambda self: LEAST),
        "snapping_upper": property(lambda self: 1.0),
        **more,
    }
    return type(f"Root{parent.__name__}", (parent,), body)


MADE = {
    Line: lambda kind: kind(0, 8, step=1),
    Circle: lambda kind: kind(12, step=1),
    Tree: lambda kind: kind([("a", "x", 1), ("b", "x", 1), ("x", "root", 2), ("c", "root", 3)]),
    Earth: lambda kind: kind(box=(40, -75, 42, -73), cell=60),
}


@pytest.mark.parametrize("parent", MADE, ids=lambda kind: kind.kind)
def test_it_has_no_closed_form(parent):
    own, root = MADE[parent](parent), MADE[parent](other(parent))
    assert not root.geometry.has_closed_form
    assert not root.geometry.has_tree
    assert not root.geometry.on_line
    assert root.geometry.lattice is None
    assert root.metric_name != own.metric_name
    a, b = np.zeros(root.items), np.zeros(root.items)
    a[0] = b[-1] = 1.0
    assert float(emd(root, a, b)) == pytest.approx(np.sqrt(own.block()[0, -1]))  # and not the parent's distance
    spread, point = np.full(root.items, 1 / root.items), a
    assert float(emd(root, spread, point)) == pytest.approx(float(np.sqrt(own.block()[0]).mean()))
    graph = root.graph()
    assert graph.proved_for is root


def test_a_constant_is_that_of_its_own_distance():
    own, root = MADE[Line](Line), MADE[Line](other(Line))
    constants = [function(space, np.arange(9.0)).lipschitz_upper(1) for space in (own, root)]
    pairs = [(i, j) for i in range(9) for j in range(i)]
    expected = [max(abs(i - j) / float(space.distance(i, j)) for i, j in pairs) for space in (own, root)]
    assert constants == [pytest.approx(expected[0]), pytest.approx(expected[1])]


def test_distances_from_a_point_are_its_own():
    root = MADE[Line](other(Line))
    assert distances_from(root, 8) == pytest.approx(root.block([8])[0])  # and not those of the line
    assert coarser(root, 2) is None
    assert not keeps_near(root, "nearest")


def test_a_formula_that_it_states_itself_stays():
    root = MADE[Line](other(Line, _metric_name=lambda self: "roots"))
    assert root.metric_name == "roots"


def test_what_keeps_the_distance_keeps_the_formulas():
    class Named(Line):
        kind = "named"

    assert MADE[Line](Named).geometry.has_closed_form


@pytest.mark.parametrize("bound", ["least_distance_lower", "snapping_upper"])
def test_bounds_are_not_inherited(bound):
    body = {"_distance": lambda self, a, b: np.sqrt(Line._distance(self, a, b)), "kind": "odd"}
    body |= {name: property(lambda self: LEAST) for name in ("least_distance_lower", "snapping_upper") if name != bound}
    with pytest.raises(bw.ParameterError, match=f"has a distance of its own and the {bound} of Line"):
        MADE[Line](type("Odd", (Line,), body)).geometry  # noqa: B018  (before anything rests on a distance)
    with pytest.raises(bw.ParameterError, match=bound):
        MADE[Line](type("Odd", (Line,), body)).graph()


def test_a_class_below_it_states_formulas_of_the_new_distance():
    root = other(Line)
    below = type("Below", (root,), {"_metric_name": lambda self: "roots below"})
    space = MADE[Line](below)
    assert space.metric_name == "roots below"
    assert not space.geometry.has_closed_form
    assert coarser(space, 2) is None
    above = type("Above", (root, Circle), {})
    assert of_one_distance(above) == (above, root)
