"""Neighbourhood graphs: the contraction condition by transport, wrong lengths caught, spanners by another algorithm."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse.csgraph import floyd_warshall

from barrow.errors import ParameterError
from barrow.spaces import (
    Circle,
    Clustered,
    Covariates,
    Earth,
    Embedding,
    Euclidean,
    Finite,
    Graph,
    Hexagons,
    Line,
    NeighbourGraph,
    Product,
    Tree,
    certified_graph,
    space_from_spec,
    spanner_graph,
    star_graph,
)
from barrow.spaces.latitudes import latitude_graph, scattered_graph
from barrow.spaces.lattices import line_axis
from barrow.spaces.neighbours import WEIGHT_BITS, Net, check_connected
from barrow.spaces.product import edge_colours, product_graph, rounded
from barrow.spaces.spanners import MOST_CERTIFIED, flow_cost, greedy_spanner
from barrow.spaces.tree_edges import nested_edges
from barrow.transport.emd import pot
from tests.spaces.cases import CASES, IDS

COARSE = {
    "line": (Line(0, 10, step=0.25), 1.7),
    "line of points": (Line(0, 10, points=[0, 1, 1.5, 2, 2.1, 4, 7, 9.2]), 2.3),
    "circle": (Circle(24, step=1), 5),
    "box": (Euclidean([0, 0], [1, 2], step=1 / 8), 0.3),
    "cube": (Euclidean([0, 0, 0], [1, 2, 1], step=1 / 4), 0.6),
    "ball": (Euclidean(center=[0, 0], radius=1, step=0.25), 0.6),
    "town": (Earth(box=(40.5, -74.3, 41, -73.6), cell=10), 23),
    "north": (Earth(box=(30, -10, 70, 40), cell=300), 1500),
    "south": (Earth(box=(-80, -10, -30, 40), cell=300), 1700),
    "equator": (Earth(box=(-20, -10, 35, 40), cell=300), 1900),
    "widest without poles": (Earth(box=(-30, -80, 60, 79), cell=1000), 2500),
    "wide": (Earth(box=(-20, -180, 70, 30), cell=1500), 2100),
    "band": (Earth(box=(-70, -180, 70, 180), cell=1500), 2500),
    "globe": (Earth(cell=1500), 3500),
    "hexagons": (Hexagons.around(60.75, -73.98, resolution=5, rings=4), 30),
    "hexagons at the equator": (Hexagons.around(0.2, 10.0, resolution=5, rings=4), 40),
    "product": (Product([Line(0, 10, step=1, cells=True), Circle.hours(3)], weights=["3/4", "1/4"]), (3, None)),
    "trips": (Product.trips(box=(40.5, -74.3, 41, -73.6), cell=14), (40, 40)),
    "places by hour and weekday": (
        Product([Earth(box=(40.5, -74.3, 41, -73.6), cell=20), Circle.hours(2), Circle(7, step=1)]),
        (45, 5, 2.5),
    ),
    "plane": (Embedding([str(i) for i in range(40)], np.random.default_rng(2).normal(size=(40, 2))), 0.7),
}


def w1(graph, paths, x, y):
    """Transport between the nodes that carry x and those that carry y, by network simplex."""
    if graph.weights is None:
        return float(paths[x, y])
    one, two = (np.asarray(graph.weights[[i]].toarray()).ravel() for i in (x, y))
    a, b = np.flatnonzero(one), np.flatnonzero(two)
    cost = paths[np.ix_(a, b)]
    if len(a) == 1 or len(b) == 1:
        return float((cost * np.outer(one[a], two[b])).sum())
    return float((pot().dense(one[a], two[b], np.ascontiguousarray(cost)) * cost).sum())


def worst(space, graph, pairs=60, seed=0, among=None):
    rng, paths, most = np.random.default_rng(seed), graph.distances(), 0.0
    for _ in range(pairs):
        x, y = rng.choice(space.items if among is None else among, 2, replace=False).tolist()
        most = max(most, w1(graph, paths, x, y) / space.distance(x, y).item())
    return most


def test_a_changed_graph_has_to_be_proved_again():
    graph = Line(0, 3, step=1, cells=True).graph()
    assert graph.proved_for is not None
    assert longer(graph, 2.0).proved_for is None


def longer(graph, factor):
    return replace(graph, lengths=graph.lengths * factor)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_items_are_no_farther_apart_along_the_graph(case):
    space, graph = case.space, case.space.graph()
    assert graph.proved_for is space
    block, paths = space.block(), graph.distances()
    if graph.weights is not None:
        assert worst(space, graph) <= 1.0
        return
    inner = paths[: space.items, : space.items]
    assert (inner <= block).all()
    assert (inner * float(graph.stretch) >= block * (1 - 1e-12)).all()


@pytest.mark.parametrize("name", COARSE)
def test_shared_items_are_no_farther_apart_along_the_graph(name):
    space, spacing = COARSE[name]
    graph = space.graph(spacing)
    assert graph.weights is not None
    assert graph.nodes < space.items + 60
    assert worst(space, graph) <= 1.0


TIGHT = {name: COARSE[name] for name in ("line", "circle", "box", "town")} | {
    "north": (Earth(box=(50, 0, 55, 8), cell=50), 160),
    "south": (Earth(box=(-60, 0, -55, 9), cell=50), 160),
    "equator": (Earth(box=(-3, 0, 3, 6), cell=50), 160),
}


@pytest.mark.parametrize("name", TIGHT)
def test_lengths_one_per_cent_longer_are_caught(name):
    """The condition is tight in all of these, so that the tests above would see a factor of 1.01."""
    space, spacing = TIGHT[name]
    rng, among = np.random.default_rng(1), None
    if isinstance(space, Earth):  # the tight direction is at 45 degrees to the meridian
        near = space.points[:, 0] - space.points[:, 0].min()
        across = (space.points[:, 1] - space.points[:, 1].min()) * np.cos(np.radians(space.points[:, 0]))
        among = np.flatnonzero(np.abs(near - across) < 0.4)
    for graph in (space.graph(), space.graph(spacing)):
        assert 1.0 < worst(space, longer(graph, 1.01), 150, int(rng.integers(100)), among) <= 1.01


@pytest.mark.parametrize("weights", [("1/7", "6/7"), ("0.3", "0.7")])
def test_a_product_of_floats_is_no_longer_than_the_exact_one(weights):
    """A part's length times its weight may be rounded up; an edge may not be longer than what it stands for."""
    parts = [Line(0, 10, points=[0, 1, 2.7, 3.1, 5.3, 7.9, 10]), Circle(5, step=1)]
    shares = list(map(Fraction, weights))
    across, along = (part.graph().lengths.tolist() for part in parts)
    exact = [shares[0] * Fraction(x) for x in across for _ in range(5)] + [
        shares[1] * Fraction(x) for _ in range(7) for x in along
    ]
    graph = Product(parts, weights=weights).graph()
    assert len(exact) == graph.edges
    for length, most in zip(graph.lengths.tolist(), exact, strict=True):
        assert most * (1 - Fraction(1, 2**30)) < Fraction(length) <= most


def test_rows_at_the_equatorward_latitude_are_caught():
    space = Earth(box=(30, -10, 70, 40), cell=300)
    graph = space.graph(1000)
    rows = np.unique(space.points[:, 0])
    gaps = round((rows[-1] - rows[0]) * math.radians(6371.0088) / 1000 + 0.5)
    nodes = np.linspace(rows[0], rows[-1], gaps + 1)
    columns = graph.nodes // len(nodes)
    meridians = (len(nodes) - 1) * columns
    equatorward = np.cos(np.radians(nodes - (nodes[1] - nodes[0]) / 2)) / np.cos(np.radians(nodes))
    lengths = graph.lengths.copy()
    lengths[meridians:] *= np.repeat(equatorward, columns - 1)
    assert worst(space, graph, 200) <= 1.0
    assert worst(space, replace(graph, lengths=lengths), 200) > 1.02


def test_a_band_without_poles_breaks_the_condition_and_is_not_made():
    space = Earth(box=(-70, -180, 70, 180), cell=1200)
    graph = space.graph()
    poles = graph.nodes - 2
    inner = (graph.tails < poles) & (graph.heads < poles)
    weights = None if graph.weights is None else graph.weights[:, :poles]
    number = np.cumsum(inner) - 1
    faces = number[graph.faces]
    band = NeighbourGraph(poles, graph.tails[inner], graph.heads[inner], graph.lengths[inner], weights, faces)
    north = np.flatnonzero(space.points[:, 0] > 60)
    assert worst(space, band, 200, among=north) > 1.02
    assert worst(space, graph, 200, among=north) <= 1.0
    # The poles carry nothing, but they are nodes like all others.
    assert graph.whole_weights[: space.items, poles:].nnz == 0


def test_a_box_is_closed_round_the_earth_from_159_degrees_on():
    narrow, wide = Earth(box=(0, 0, 60, 159), cell=1000), Earth(box=(0, 0, 60, 175), cell=1000)
    assert len(narrow.graph(1500).tails) < len(wide.graph(1500).tails)
    degree = np.bincount(np.concatenate([wide.graph().tails, wide.graph().heads]))
    assert degree[-1] > 4  # a pole is joined to a whole row
    assert worst(narrow, narrow.graph(), 150) <= 1.0
    assert worst(wide, wide.graph(), 150) <= 1.0


@settings(max_examples=60, deadline=None)
@given(
    gaps=st.lists(st.floats(1e-6, 10.0), min_size=1, max_size=12),
    spacing=st.floats(0.05, 30.0),
    start=st.floats(-100, 100),
)
def test_the_condition_is_exact_on_lines(gaps, spacing, start):
    """In rational arithmetic: W1 on a path is the sum of lengths times differences of running sums."""
    points = start + np.concatenate([[0.0], np.cumsum(gaps)])
    line = Line(float(points[0]), float(points[-1]), points=points)
    graph = line.graph(spacing)
    whole = graph.whole_weights.toarray().astype(object)[: line.items]
    lengths = [Fraction(x) for x in graph.lengths.tolist()]
    for x in range(line.items - 1):
        running = np.cumsum(whole[x] - whole[x + 1])[:-1]
        cost = sum(length * abs(int(s)) for length, s in zip(lengths, running, strict=True)) / 2**WEIGHT_BITS
        apart = Fraction(float(points[x + 1])) - Fraction(float(points[x]))
        assert cost <= apart / Fraction(line.diameter)


@settings(max_examples=20, deadline=None)
@given(
    south=st.floats(-88, 70), height=st.floats(8, 60), west=st.floats(-180, 100), width=st.floats(5, 360),
    rows=st.integers(3, 9), coarser=st.floats(1.0, 6.0), seed=st.integers(0, 1000),
)  # fmt: skip
def test_no_box_of_the_earth_breaks_the_condition(south, height, west, width, rows, coarser, seed):
    box = (south, west, min(90.0, south + height), min(180.0, west + width))
    cell = (box[2] - box[0]) * 111.2 / rows
    space = Earth(box=box, cell=cell)
    if 2 <= space.items <= 300:
        assert worst(space, space.graph(coarser * cell), 40, seed) <= 1.0


def test_weights_keep_the_order_of_points_that_differ_by_rounding_alone():
    points = np.sort(np.concatenate([np.linspace(0, 1, 8), np.nextafter(np.linspace(0, 1, 8)[1:-1], 2)]))
    axis = line_axis(points, 0.4, 24)
    assert (np.diff(axis.places) >= 0).all()
    assert axis.gaps.min() > 0.33


def test_trees_and_roads_are_their_own_graphs():
    for space in (Clustered.grid(3, 4, r=0.1), Tree([("a", "x", 1), ("b", "x", 2), ("x", "r", 1), ("c", "r", 3)])):
        graph = space.graph()
        assert np.allclose(graph.distances()[: space.items, : space.items], space.block(), rtol=1e-10)
        assert graph.edges == graph.nodes - 1
    edges = _roads(60)
    roads = Graph(edges)
    assert np.allclose(roads.graph().distances(), roads.block(), rtol=1e-10)
    assert roads.graph().edges == len(edges)


def _roads(count, seed=3):
    """A planar road network: the shortest edges of random points that keep each other's ways."""
    points = np.random.default_rng(seed).random((count, 2))
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    result = greedy_spanner(distances, 1.8)
    return [
        (f"n{a}", f"n{b}", float(distances[a, b]))
        for a, b in zip(result.tails.tolist(), result.heads.tolist(), strict=True)
    ]


def test_roads_beyond_all_pairs_are_searched_from_where_one_asks(monkeypatch):
    import barrow.spaces.network as network

    edges = _roads(80)
    small = Graph(edges)
    monkeypatch.setattr(network, "MOST_CERTIFIED", 10)
    large = Graph(edges)
    assert small.diameter <= large.diameter <= 1.5 * small.diameter
    scale = large.diameter / small.diameter
    ids = np.random.default_rng(0).integers(0, 80, (5, 7))
    assert np.allclose(large.distance(ids, 3) * scale, small.distance(ids, 3), rtol=1e-12)
    assert np.allclose(large.block([1, 5]) * scale, small.block([1, 5]), rtol=1e-12)
    with pytest.raises(ParameterError, match="another way between them"):
        Graph([*edges, ("n0", "far", 1.0), ("far", "further", 1.0), ("n0", "further", 2.5)])


def test_a_study_of_the_old_graph_space_is_still_read():
    old = {"kind": "graph", "labels": ["a", "b"], "vectors": [[0.0], [1.0]], "metric": "euclidean"}
    space = space_from_spec(old | {"diameter": 1.5, "unit": ""})
    assert isinstance(space, Covariates)
    assert space.to_spec()["kind"] == "graph"
    assert space == Covariates(["a", "b"], [[0.0], [1.0]], diameter=1.5)
    assert space_from_spec({"kind": "covariates", "labels": ["a", "b"], "vectors": [[0.0], [1.0]]}) is not None


@pytest.mark.parametrize("stretch", [1.1, 1.5, 3.0])
@pytest.mark.parametrize("dimension", [2, 5])
def test_spanners_keep_their_stretch(stretch, dimension):
    points = np.random.default_rng(4).random((50, dimension))
    space = Embedding([str(i) for i in range(50)], points)
    graph = spanner_graph(space, stretch)
    matrix = np.zeros((50, 50))
    matrix[graph.tails, graph.heads] = graph.lengths
    paths = floyd_warshall(matrix, directed=False)
    block = space.block()
    assert (paths <= block).all()
    assert (paths * float(graph.stretch) >= block * (1 - 1e-12)).all()
    assert 1.0 <= graph.stretch <= stretch * (1 + 1e-9)
    # Lengths are divided by the stretch that is there: some pair is as far apart as in the space.
    off = ~np.eye(50, dtype=bool)
    assert (paths[off] / block[off]).max() > 1 - 1e-6
    assert (floyd_warshall(matrix * 1.01, directed=False) > block)[off].any()


def test_a_spanner_has_no_needless_edge():
    points = np.random.default_rng(5).random((30, 2))
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    result = greedy_spanner(distances, 1.4)
    for edge in range(len(result.tails)):
        rest = np.delete(np.arange(len(result.tails)), edge)
        matrix = np.zeros((30, 30))
        matrix[result.tails[rest], result.heads[rest]] = distances[result.tails[rest], result.heads[rest]]
        a, b = result.tails[edge], result.heads[edge]
        assert floyd_warshall(matrix, directed=False)[a, b] > 1.4 * distances[a, b]


def test_the_star_wins_in_many_dimensions_and_where_pairs_are_too_many():
    far = Embedding([str(i) for i in range(60)], np.random.default_rng(6).normal(size=(60, 30)))
    assert far.graph().nodes == 61
    flat = Embedding([str(i) for i in range(60)], np.random.default_rng(6).normal(size=(60, 2)))
    assert flat.graph().nodes == 60
    star = star_graph(flat)
    paths = star.distances()[:60, :60]
    assert (paths <= flat.block()).all()
    assert (paths * float(star.stretch) >= flat.block() * (1 - 1e-9)).all()


@pytest.mark.parametrize("metric", ["euclidean", "angular"])
@pytest.mark.parametrize("dimension", [3, 40])
def test_nearest_neighbours_of_embeddings_are_found_among_all_pairs(metric, dimension):
    vectors = np.random.default_rng(dimension).normal(size=(300, dimension)) + 5.0
    vectors[7] = vectors[6] * (1 + 1e-9) + 1e-9 * np.arange(dimension)  # hardly apart
    vectors[9] = vectors[8] + 1e-4
    space = Embedding([str(i) for i in range(300)], vectors, metric=metric)
    exact = np.where(np.eye(300, dtype=bool), np.inf, space.block()).min(axis=1)
    assert (space._near <= exact).all()
    assert (space._near >= exact * (1 - 1e-6)).all()
    assert space.least_distance_lower == space._near.min()


def test_nearest_neighbours_among_many_are_hardly_too_near():
    vectors = np.random.default_rng(1).normal(size=(6000, 12)) + 5.0
    vectors[7] = vectors[6] + 1e-9
    space = Embedding([str(i) for i in range(6000)], vectors)
    some = np.concatenate([np.arange(20), np.arange(5900, 6000)])
    rows = space.block(some)
    rows[np.arange(len(some)), some] = np.inf
    exact = rows.min(axis=1)
    assert (space._near[some] <= exact).all()
    assert (space._near[some] >= exact * (1 - 6e-4)).all()


def test_a_spanner_that_needs_more_memory_than_there_is_is_refused():
    count = 10**5
    space = Embedding([str(i) for i in range(count)], np.random.default_rng(7).random((count, 2)))
    with pytest.raises(ParameterError, match=r"would need 186\.3 GiB"):
        spanner_graph(space, 1.3)
    with pytest.raises(ParameterError, match=f"at most {MOST_CERTIFIED:,} items"):
        certified_graph(space, [0], [1])
    graph = space.graph()
    assert graph.edges < 4 * count


def test_given_edges_are_certified_over_all_pairs():
    ring = Finite(list("abcdef"), [[min(abs(i - j), 6 - abs(i - j)) for j in range(6)] for i in range(6)])
    path = certified_graph(ring, np.arange(5), np.arange(1, 6))
    assert float(path.stretch) == pytest.approx(5.0)
    assert (path.distances() <= ring.block()).all()
    with pytest.raises(ParameterError, match="2 pieces"):
        certified_graph(ring, [0, 1, 3, 4], [1, 2, 4, 5])


@pytest.mark.parametrize(
    ("shape", "wrap"), [((5, 6), False), ((4, 6), True), ((4, 7), True), ((1, 6), False), ((3, 4), True)]
)
def test_faces_are_every_other_square(shape, wrap):
    across = Circle(shape[1], step=1) if wrap else Line(0, shape[1], step=1, cells=True)
    space = Product([Line(0, shape[0], step=1, cells=True), across], weights=["1/2", "1/2"])
    graph = space.graph()
    faces = np.zeros((0, 4)) if graph.faces is None else graph.faces
    assert len(np.unique(faces)) == faces.size
    squares = (shape[0] - 1) * (shape[1] if wrap else shape[1] - 1)
    assert (squares - shape[0]) / 2 <= len(faces) <= (squares + 1) / 2
    if faces.size:
        for nodes in graph.face_nodes.tolist():
            rows, columns = np.unravel_index(nodes, shape)
            assert len(set(rows.tolist())) == len(set(columns.tolist())) == 2


def test_euclidean_faces_hold_every_inner_edge_once():
    graph = Euclidean([0, 0], [7, 5], step=1).graph()
    assert len(graph.faces) == 12
    alone = np.setdiff1d(np.arange(graph.edges), graph.faces)
    rows, columns = np.unravel_index(np.arange(35), (7, 5))
    border = (rows == 0) | (rows == 6) | (columns == 0) | (columns == 4)
    assert border[graph.tails[alone]].all()
    assert border[graph.heads[alone]].all()


GOOD = {"nodes": 4, "tails": [0, 1, 3, 2], "heads": [1, 3, 2, 0], "lengths": [0.5] * 4}
WRONG = {
    "pieces": ({"tails": [0, 2, 0, 2], "heads": [1, 3, 1, 3]}, "2 pieces"),
    "loop": ({"heads": [1, 1, 2, 0]}, "from a node to itself"),
    "zero": ({"lengths": [0.5, 0, 0.5, 0.5]}, "edge 1 has the length 0"),
    "nan": ({"lengths": [0.5, math.nan, 0.5, 0.5]}, "edge 1 has the length nan"),
    "node": ({"heads": [1, 3, 2, 9]}, "node 9 of 4"),
    "short": ({"lengths": [0.5]}, "one entry for each edge"),
    "face twice": ({"faces": [[0, 1, 2, 3], [0, 1, 2, 3]]}, "in another face"),
    "no cycle": ({"faces": [[0, 2, 1, 3]]}, "do not go round"),
    "face of nothing": ({"faces": [[0, 1, 2, 7]]}, "none"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_graphs_are_refused(name):
    change, pattern = WRONG[name]
    with pytest.raises(ParameterError, match=pattern):
        NeighbourGraph(**(GOOD | change))


def test_wrong_weights_are_refused():
    from scipy.sparse import csr_array

    for rows in ([[0.5, 0.5, 0.0, 0.1]], [[1.0, 0.0, 0.0]], [[0.1, 0.9, 0.0, 0.0]], [[1.5, -0.5, 0.0, 0.0]]):
        with pytest.raises(ParameterError):
            NeighbourGraph(**GOOD, weights=csr_array(np.array(rows)))


def test_flow_costs_are_transport_costs():
    graph = Euclidean([0, 0], [3, 4], step=1).graph()
    paths = graph.distances()
    rng = np.random.default_rng(8)
    a, b = rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(12))
    sums = np.concatenate([np.kron(np.eye(12), np.ones(12)), np.kron(np.ones(12), np.eye(12))])
    cost = linprog(paths.ravel(), A_eq=sums[:-1], b_eq=np.concatenate([a, b])[:-1]).fun
    assert flow_cost(graph, a - b) == pytest.approx(cost, rel=1e-9)


def test_nested_edges():
    assert nested_edges(3, np.array([0, 0, 1, 2]), np.array([2, 1, 2, 3]), np.ones(4)).parents.tolist() == [
        -1,
        -1,
        0,
        0,
    ]


def test_scattered_graph():
    assert (
        repr(scattered_graph(np.array([[0.0, 0.0], [0.4, 1.0], [1.0, 0.3]]), 200.0, 60.0, 50.0))
        == "NeighbourGraph(9 nodes, 12 edges)"
    )


def test_latitude_graph():
    assert (
        repr(latitude_graph(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), 200.0, None))
        == "NeighbourGraph(4 nodes, 4 edges)"
    )


def test_check_connected():
    check_connected(3, np.array([0, 1]), np.array([1, 2]))
    with pytest.raises(ParameterError, match="in 2 pieces: no path leads from node 0 to node 2"):
        check_connected(3, np.array([0]), np.array([1]))


def test_path_lengths():
    assert Net(3, np.array([0, 1]), np.array([1, 2]), np.array([0.5, 0.25])).distances([2]).tolist() == [
        [0.75, 0.25, 0.0]
    ]


@pytest.mark.parametrize("seed", range(5))
def test_paths_between_few_nodes_are_those_of_dijkstra_to_the_last_bit(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, 33))
    tails, heads = rng.integers(0, nodes, (2, 3 * nodes))
    lengths = rng.random(3 * nodes)
    own = Net(nodes, tails, heads, lengths).distances(), Net(nodes, tails, heads, lengths).distances([0, nodes - 1])
    monkeypatch.setattr("barrow.spaces.neighbours.FEW_NODES", 0)
    other = Net(nodes, tails, heads, lengths).distances(), Net(nodes, tails, heads, lengths).distances([0, nodes - 1])
    assert all((one == two).all() for one, two in zip(own, other, strict=True))


def test_pieces_are_seen_in_any_order_of_nodes():
    check_connected(3, np.array([2, 2]), np.array([0, 1]))  # node 1 has no earlier neighbour
    for tails, heads in (([1], [2]), ([0, 2], [1, 2]), ([2, 2], [3, 1])):
        with pytest.raises(ParameterError, match="pieces"):
            check_connected(4, np.array(tails), np.array(heads))


def test_product_graph():
    path = NeighbourGraph(2, [0], [1], [1.0])
    ids = np.indices((2, 2)).reshape(2, -1)
    square = product_graph([(path, Fraction(1, 2), 2, ids[0]), (path, Fraction(1, 2), 2, ids[1])])
    assert repr(square) == "NeighbourGraph(4 nodes, 4 edges)"
    assert len(square.faces) == 1


@pytest.mark.parametrize("bits", [2, 4, 7])
def test_weights_of_few_bits_are_paid_by_shorter_edges(bits):
    """Rounding moves items apart: with the lengths as they were some are farther along the graph than in the space."""
    space = Earth(box=(40.5, -74.3, 41, -73.6), cell=4)
    graph = space.graph(23)
    result = rounded(space, graph, bits)
    assert (result.whole_weights.data % 2 ** (48 - bits) == 0).all()
    assert (graph.weights @ np.ones(graph.nodes) == 1.0).all()  # the graph itself stays as it was
    assert graph.weights.nnz > result.weights.nnz
    near = np.flatnonzero(space.distance(np.arange(space.items), 100) < 0.1)
    assert worst(space, result, among=near) <= 1.0
    assert worst(space, replace(result, lengths=graph.lengths), 300, among=near) > 1.0
    assert rounded(space, graph, 48) is graph


def test_parts_of_too_many_nodes_are_not_rounded():
    space = Product([Line(0, 9000, step=1), Line(0, 7, step=1)])
    with pytest.raises(ParameterError, match="4,738 of them") as error:
        space.graph((1.9, 3))
    assert "spacing" in error.value.fix


def test_distances_of_a_product_are_looked_up():
    space = Product.trips(box=(40.5, -74.3, 41, -73.6), cell=10)
    rows = np.array([3, 700, 701, 3])
    looked, (a, b) = space.block(rows), space.parts
    each = [space._split(ids) for ids in (rows, np.arange(space.items))]
    directly = [part.distance(x[:, None], y[None, :]) for part, x, y in zip((a, b), *each, strict=True)]
    assert (looked == np.minimum(0.5 * directly[0] + 0.5 * directly[1], 1.0)).all()


def test_edge_colours():
    assert edge_colours(NeighbourGraph(4, [0, 1, 2], [1, 2, 3], [1.0, 1.0, 1.0])).tolist() == [0, 1, 0]
