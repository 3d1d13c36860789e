"""What a space says of its geometry is true, and a space in one file has every formula that its geometry allows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

import barrow as bw
from barrow.errors import ParameterError
from barrow.mechanisms.edge_histogram import spacings
from barrow.queries import density, mean, tree_edges
from barrow.randomisers.spec import randomiser_from_spec, suited
from barrow.spaces import Discrete, Euclidean, Line, Space, Tree, edge_names, edge_tree
from barrow.spaces.geometry import BoxCells, Geometry, TreeEdges
from barrow.spaces.grids import snapping_means
from barrow.spaces.nearness import near_pairs
from barrow.spaces.records import LabelIndex
from barrow.spaces.sphere import EARTH_RADIUS_KM, great_circle
from barrow.transport import emd
from barrow.transport.emd import transport
from barrow.transport.graph_flow import emd_flow_upper
from tests.spaces.cases import CASES


class Named(Space):
    """All that a space must say: labels, and distances of any kind. Here two items are as far apart as bits differ."""

    kind: ClassVar[str] = "bits"
    _unit, _diameter = "", 1.0
    size = 4
    least_distance_lower = 0.5

    def __init__(self) -> None:
        object.__setattr__(self, "index", LabelIndex(f"i{i}" for i in range(self.size)))

    def _distance(self, a, b):
        return ((a ^ b) % 2 + (a >> 1 != b >> 1)) / 2.0

    def _encode(self, records: Any, unknown):
        return self.index.find(records)

    def label(self, item: int) -> str:
        return self.index.labels[item]

    def _spec(self) -> dict[str, Any]:
        return {"kind": self.kind}


LINE = Line(0, 8, unit="cm", points=[0, 1, 3, 4, 8])


class Ruler(Named):
    """Marks on a line: its gaps and its points are all that it says of them."""

    kind: ClassVar[str] = "ruler"
    _unit, _diameter = "cm", 8.0
    points = np.array([0.0, 1.0, 3.0, 4.0, 8.0])
    geometry = Geometry(
        gaps=np.diff(points) / 8.0,
        lattice=BoxCells(np.array([0.0]), np.array([8.0]), (5,), full=False),
        located=lambda: Ruler.points,
        flat=True,
    )
    size = 5
    least_distance_lower = 0.125 * (1 - 2.0**-40)
    snapping_upper = LINE.snapping_upper

    def _distance(self, a, b):
        return np.abs(self.points[a] - self.points[b]) / 8.0


@snapping_means.register
def _(space: Ruler) -> Any:
    return snapping_means(LINE)


class Board(Named):
    """The squares of a board, by their lattice."""

    kind: ClassVar[str] = "board"
    _unit, _diameter = "m", 10.0
    points = np.stack([x.ravel() for x in np.meshgrid(np.arange(6) + 0.5, np.arange(8) + 0.5, indexing="ij")], axis=1)
    geometry = Geometry(
        lattice=BoxCells(np.zeros(2), np.array([6.0, 8.0]), (6, 8)),
        located=lambda: Board.points,
        flat=True,
        randomisers=("planar_laplace", "exponential"),
    )
    size = 48
    least_distance_lower = 0.1 * (1 - 2.0**-40)
    snapping_upper = 0.5**0.5 / 10.0 * (1 + 2.0**-40)

    def _distance(self, a, b):
        return np.sqrt(((self.points[a] - self.points[b]) ** 2).sum(axis=-1)) / 10.0


class Fork(Named):
    """A tree by the items below its edges: two pairs on long arms."""

    kind: ClassVar[str] = "fork"
    least_distance_lower = 0.25 * (1 - 2.0**-40)
    geometry = Geometry(
        tree=TreeEdges(np.array([0, 2, 0, 1, 2, 3]), np.array([2, 4, 1, 2, 3, 4]), np.array([3, 3, 1, 1, 1, 1]) / 8.0),
        randomisers=("tree",),
    )

    def _distance(self, a, b):
        return np.where(a == b, 0.0, np.where(a // 2 == b // 2, 0.25, 1.0))


NEW = [Named(), Ruler(), Board(), Fork()]
SPACES = [*((case.name, case.space) for case in CASES), *((space.kind, space) for space in NEW)]


@pytest.fixture(params=[space for _, space in SPACES], ids=[name for name, _ in SPACES])
def space(request: pytest.FixtureRequest) -> Space:
    return request.param


def untrue(space: Space) -> list[str]:
    """What the space says of itself that its distances deny."""
    block, k, wrong = space.block(), space.items, []
    each = np.arange(k)

    def check(name: str, text: bool, found: Any, slack: float = 1e-9) -> None:
        if text and not np.allclose(found, block, rtol=slack, atol=slack):
            wrong.append(name)

    if space.geometry.gaps is not None:
        along = np.abs(np.subtract.outer(*[np.append(0.0, np.cumsum(space.geometry.gaps))[:k]] * 2))
        turn = space.geometry.gaps.sum()
        check("gaps", True, np.minimum(along, turn - along) if space.geometry.periodic else along)
        if space.geometry.periodic and np.ptp(space.geometry.gaps) > 1e-12:
            wrong.append("equal gaps")
    if space.geometry.flat:
        rows = space.geometry.points
        apart = np.sqrt(((rows[:, None] - rows) ** 2).sum(axis=2))
        units = np.degrees(2.0 * np.arcsin(np.minimum(apart / 2.0, 1.0))) if space.geometry.angular else apart
        check("flat", True, units / space.diameter, 1e-6)
    if space.geometry.on_earth:
        lat, lon = space.geometry.points.T
        angles = great_circle(lat[:, None], lon[:, None], lat, lon)
        check("on_earth", True, np.minimum(angles * EARTH_RADIUS_KM / space.diameter, 1.0))
    if space.geometry.lattice is not None:
        low, high, shape = space.geometry.lattice.low, space.geometry.lattice.high, space.geometry.lattice.shape
        if not ((low <= space.geometry.points) & (space.geometry.points <= high)).all():
            wrong.append("lattice")
        middles = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1) + 0.5
        if space.geometry.lattice.full and not np.allclose(
            low + middles * space.geometry.lattice.widths, space.geometry.points
        ):
            wrong.append("full")
    if space.geometry.has_tree:
        tree = edge_tree(space)
        below = (each[:, None] >= tree.starts) & (each[:, None] < tree.ends)
        check("edges", True, (below[:, None] != below) @ tree.lengths)
    if space.geometry.has_tree and space.geometry.gaps is None:
        tree = space.geometry.tree
        inside = (each[:, None] >= tree.starts) & (each[:, None] < tree.ends)
        exact = [[sum(np.array(tree.exact_lengths)[a != b], Fraction(0)) for b in inside] for a in inside]
        check("edge_lengths", True, np.array(exact, dtype=np.float64))
        if space.geometry.exact and any(
            Fraction(d) != e for ds, es in zip(block, exact, strict=True) for d, e in zip(ds, es, strict=True)
        ):
            wrong.append("exact_distances")
    elif space.geometry.exact:
        wrong.append("exact_distances")
    check("equidistant", space.geometry.equidistant, 1.0 - np.eye(k), 0.0)
    if space.geometry.clusters is not None:
        count, members, radius = space.geometry.clusters
        group = each // members
        same = group[:, None] == group
        check("even_clusters", count * members == k, np.where(same, float(radius) * (1.0 - np.eye(k)), 1.0))
    return wrong


def test_what_it_says_is_true(space):
    assert untrue(space) == []


def test_what_is_not_true_is_noticed():
    """The check above can fail: each claim, made where it does not hold."""

    def told(space: Space, **claims: Any) -> list[str]:
        space.__dict__["geometry"] = replace(space.geometry, **claims)
        return untrue(space)

    assert told(Ruler(), gaps=np.full(4, 0.25)) == ["gaps", "edges"]
    assert told(Named(), flat=True, located=lambda: np.arange(4.0)) == ["flat"]
    assert told(Named(), on_earth=True, located=lambda: np.zeros((4, 2))) == ["on_earth"]
    assert told(Board(), lattice=BoxCells(np.zeros(2), np.array([6.0, 7.0]), (6, 8))) == ["lattice", "full"]
    assert told(Named(), tree=Fork.geometry.tree) == ["edges", "edge_lengths"]
    assert told(Named(), equidistant=True) == ["equidistant"]
    assert told(Discrete(["a", "b", "c"]), clusters=(1, 3, Fraction(1, 2))) == ["even_clusters"]
    uneven = Tree([("a", "root", 0.1), ("b", "root", 0.2), ("c", "root", 0.3)])
    assert told(uneven, exact=True) == ["exact_distances"]


def test_transport_is_the_solvers(space):
    """The closed form where there is one, and paths along near pairs, against the linear programme."""
    rng = np.random.default_rng(3)
    a, b = rng.dirichlet(np.ones(space.items), size=2)
    exact = transport(space, a - b)[0]
    assert emd(space, a, b) == pytest.approx(exact, rel=1e-6, abs=1e-9)
    assert exact * (1 - 1e-6) <= emd_flow_upper(space, a, b)


def test_marks_have_the_formulas_of_a_line():
    ruler, line = Ruler(), LINE
    for query in (mean, tree_edges):
        ours, theirs = query(ruler).constants([1, 2, "inf"]), query(line).constants([1, 2, "inf"])
        assert ours == theirs
        assert ours[0].method == "neighbours"
    assert spacings(ruler) == spacings(line)
    assert edge_names(ruler)[0] == "up to i0"
    for question in ("mean", "quantile", "histogram(mechanism='tree')"):
        plans = [bw.Study(space, alpha=9, users=100, dataset="d").plan(question) for space in (ruler, line)]
        assert float(plans[0].error) == float(plans[1].error)


def test_squares_have_the_formulas_of_a_box():
    board, box = Board(), Euclidean([0, 0], [6, 8], unit="m", step=1)
    for query in (mean, lambda space: density(space, bandwidth="3 m")):
        ours, theirs = query(board), query(box)
        assert (ours.table.integers != theirs.table.integers).sum() == 0
        assert [c.lipschitz_upper for c in ours.constants([1, 2])] == [
            c.lipschitz_upper for c in theirs.constants([1, 2])
        ]
    assert suited(board) == "planar_laplace"
    assert spacings(board) == spacings(box)
    own, other = near_pairs(board), near_pairs(box)
    assert np.array_equal(np.stack([own.tails, own.heads]), np.stack([other.tails, other.heads]))


def test_a_fork_has_the_formulas_of_a_tree():
    fork = Fork()
    tree = Tree([("i0", "l", 1), ("i1", "l", 1), ("i2", "r", 1), ("i3", "r", 1), ("l", "root", 3), ("r", "root", 3)])
    assert np.allclose(edge_tree(fork).lengths, edge_tree(tree).lengths)
    assert edge_names(fork)[:2] == ["i0 to i1", "i2 to i3"]
    ours, theirs = (randomiser_from_spec(space, 3) for space in (fork, tree))
    assert ours.kind == theirs.kind == "tree"
    assert float(ours.alpha0_upper) == pytest.approx(float(theirs.alpha0_upper), rel=1e-9)
    assert ours.probability(0, 0) / ours.probability(0, 3) <= np.exp(3.0)


def test_a_space_of_names_alone_answers_what_needs_no_geometry():
    study = bw.Study(Named(), alpha=20, users=1000, delta="1e-6", dataset="d")
    assert study.plan("histogram").error < 0.1
    assert study.plan("items(items=2)").error < 1.0
    assert "EMD" in str(study.compare("histogram"))
    assert suited(Named()) == "exponential"
    for question, refusal in (
        ("mean", "needs coordinates"),
        ("density(bandwidth='1/2')", "needs places"),
        ("quantile", "need a line"),
    ):
        with pytest.raises(ParameterError, match=refusal):
            study.plan(question)
    with pytest.raises(ParameterError, match="not those of a tree"):
        edge_tree(Named())
