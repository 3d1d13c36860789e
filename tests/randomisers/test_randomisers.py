from __future__ import annotations

import math
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.noise.source import SeededSource
from barrow.randomisers import (
    MatrixRandomiser,
    MixtureRandomiser,
    exceeds_exp,
    exponential,
    gkrr,
    laplace,
    mapped,
    matrix_randomiser,
    planar_laplace,
    randomised_response,
    randomiser_from_spec,
    suited,
    tree_response,
    worst_triple,
)
from barrow.randomisers import claim as claim_module
from barrow.randomisers.claim import log_rate_upper, lower
from barrow.randomisers.matrix import whole_rows
from barrow.randomisers.randomiser import TOTAL
from barrow.spaces import Circle, Clustered, Discrete, Embedding, Euclidean, Graph, Line, Tree
from tests.noise.enumeration import exact_distribution
from tests.randomisers.helpers import (
    CLUSTERS,
    CROOKED,
    PLACES,
    UNEVEN,
    WORDS,
    channels,
    chi_square,
    exact_row,
    paper_row,
    tight_alpha0,
)

CHANNELS = channels()
each = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())


@each
def test_rows_are_probabilities(channel):
    for x in range(channel.space.items):
        row = exact_row(channel, x)
        assert sum(row) == 1
        assert min(row) > 0


@each
def test_the_claim_is_the_tight_one_rounded_up(channel):
    rows = [exact_row(channel, x) for x in range(channel.space.items)]
    true = tight_alpha0(rows, channel.space)
    stated = channel.alpha0_upper
    assert mpmath.mpf(stated.numerator) / stated.denominator >= true
    slack = 1e-6 if channel.kind != "mapped" else 10.0
    assert float(stated) <= float(true) * (1 + slack) + 1e-9


@each
def test_counts_and_items_have_the_law_of_the_rows_and_a_wrong_one_is_seen(channel):
    space = channel.space
    rng = np.random.default_rng(3)
    held = rng.integers(0, 40_000, space.items)
    held[0] = 0
    rows = np.array([[float(q) for q in exact_row(channel, x)] for x in range(space.items)])
    expected = held @ rows
    from_counts = channel.from_counts(held, source=SeededSource(11))
    from_items = np.bincount(
        channel.from_items(np.repeat(np.arange(space.items), held), source=SeededSource(12)), minlength=channel.reports
    )
    assert from_counts.sum() == from_items.sum() == held.sum()
    assert chi_square(from_counts, expected) > 1e-6
    assert chi_square(from_items, expected) > 1e-6


@pytest.mark.parametrize(
    ("make", "space", "alpha0"),
    [
        (gkrr, CLUSTERS, 3.0),
        (gkrr, UNEVEN, 3.0),
        (tree_response, PLACES, 3.0),
        (randomised_response, Discrete(["a", "b", "c"]), 1.0),
        (exponential, Line(0, 10, step=1, cells=True), 6.0),
        (planar_laplace, Euclidean([0, 0], [3, 4], step=1), 8.0),
    ],
)
@pytest.mark.parametrize("factor", [0.93, 1.07])
def test_an_alpha0_that_is_seven_percent_off_is_rejected(make, space, alpha0, factor):
    held = np.zeros(space.items, dtype=np.int64)
    held[0] = 2_000_000
    result = make(space, alpha0).from_counts(held, source=SeededSource(21))
    for wrong, accepted in ((alpha0, True), (alpha0 * factor, False)):
        row = np.array([float(q) for q in exact_row(make(space, wrong), 0)])
        p = chi_square(result, row * held[0])
        assert p > 1e-6 if accepted else p < 1e-9


def test_gkrr_is_the_papers_matrix():
    channel = gkrr(CLUSTERS, 2)
    stay, inside, across = paper_row(CLUSTERS, 2.0)
    assert float(channel.probability(0, 0)) == pytest.approx(stay, rel=1e-8)
    assert float(channel.probability(0, 3)) == pytest.approx(inside, rel=1e-8)
    assert float(channel.probability(0, 4)) == pytest.approx(across, rel=1e-8)
    assert float(channel.alpha0_upper) == pytest.approx(2, rel=1e-8)
    assert tree_response(CLUSTERS, 2).stops == channel.stops


def test_a_balanced_tree_uses_all_of_alpha0():
    channel = tree_response(PLACES, 3)
    assert 2.0 < float(channel.alpha0_upper) <= 3.0
    even = Tree.nested([f"{a}/{b}/{c}" for a in "xy" for b in "uv" for c in "st"], distances=[1, 0.5, 0.25])
    assert float(tree_response(even, 3).alpha0_upper) == pytest.approx(3, rel=1e-6)
    distances = even.distance(0, np.arange(8))
    for y, d in enumerate(distances):
        logs = math.log(tree_response(even, 3).probability(0, 0) / tree_response(even, 3).probability(0, y))
        assert logs == pytest.approx(3 * d, rel=1e-6)


def test_the_exponential_mechanism_beats_the_factor_two():
    ring = exponential(Circle(24, unit="h", step=3), 6)
    assert ring.beta == pytest.approx(6, rel=1e-6)
    line = exponential(Line(0, 10, step=1, cells=True), 4)
    assert line.beta > 1.2 * 4 / 2
    assert float(line.alpha0_upper) == pytest.approx(4, rel=1e-6)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=4),
    st.floats(0.01, 0.49),
    st.floats(0.01, 12.0),
)
def test_any_clusters_keep_their_claim(sizes, r, alpha0):
    space = Clustered({str(b): [f"{b}/{c}" for c in range(t)] for b, t in enumerate(sizes)}, r=r)
    channel = gkrr(space, alpha0)
    rows = [exact_row(channel, x) for x in range(space.items)]
    stated = channel.alpha0_upper
    assert stated <= Fraction(alpha0)
    assert all(sum(row) == 1 for row in rows)
    assert mpmath.mpf(stated.numerator) / stated.denominator >= tight_alpha0(rows, space)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=2, max_size=7, unique=True), st.floats(0.1, 15))
def test_any_embedding_keeps_its_claim(points, alpha0):
    spread = np.array(points).round(3)
    if len(np.unique(spread, axis=0)) < len(spread):
        return
    space = Embedding([str(i) for i in range(len(points))], spread)
    channel = exponential(space, alpha0)
    rows = [exact_row(channel, x) for x in range(space.items)]
    assert float(channel.alpha0_upper) <= alpha0
    stated = channel.alpha0_upper
    assert mpmath.mpf(stated.numerator) / stated.denominator >= tight_alpha0(rows, space)


def test_the_law_of_tiny_channels_is_exact():
    """All strings of bits: the histogram of two items under randomised response with weights 1/2 and 1/4."""
    space = Discrete(["a", "b"])
    weights = np.array([[3 * TOTAL // 4, TOTAL // 4], [TOTAL // 4, 3 * TOTAL // 4]])
    channel = MatrixRandomiser(space, weights)
    law, rest = exact_distribution(lambda s: tuple(channel.from_counts([1, 1], source=s).tolist()), bits=1, words=5)
    assert rest == 0
    assert law == {(2, 0): Fraction(3, 16), (1, 1): Fraction(10, 16), (0, 2): Fraction(3, 16)}
    items, rest = exact_distribution(lambda s: tuple(channel.from_items([0, 1], source=s).tolist()), bits=2, words=2)
    assert rest == 0
    assert items == {(0, 0): Fraction(3, 16), (0, 1): Fraction(9, 16), (1, 0): Fraction(1, 16), (1, 1): Fraction(3, 16)}


def test_the_law_of_a_tiny_mixture_is_exact():
    """GKRR on 2 x 2 items with dyadic stops: pooled counts give the law of the exact rows."""
    built = gkrr(Clustered.grid(2, 2, r=0.25), 2)
    stops = [0] * len(built.stops)
    for v, width in enumerate(built.shape.widths.tolist()):
        stops[v] = TOTAL // 2 if width == 1 else TOTAL // 4
    channel = MixtureRandomiser(built.space, built.shape, stops)
    row = exact_row(channel, 0)
    assert row == [Fraction(11, 16), Fraction(3, 16), Fraction(1, 16), Fraction(1, 16)]
    law, rest = exact_distribution(
        lambda s: tuple(channel.from_counts([1, 0, 0, 0], source=s).tolist()), bits=2, words=6
    )
    assert rest == 0
    assert [law[tuple(np.eye(4, dtype=int)[y].tolist())] for y in range(4)] == row
    both, rest = exact_distribution(
        lambda s: tuple(channel.from_counts([2, 0, 0, 0], source=s).tolist()), bits=2, words=6
    )
    assert rest == 0
    for x in range(4):
        for y in range(4):
            held = [0] * 4
            held[x] += 1
            held[y] += 1
            assert both[tuple(held)] == row[x] * row[y] * (1 if x == y else 2)


def test_a_perturbed_row_breaks_the_claim_by_name():
    channel = exponential(Circle(24, unit="h", step=3), 4)
    weights = channel.weights.copy()
    weights[3, 6] += weights[3, 6] // 50
    weights[3, 3] = 0
    weights[3, 3] = TOTAL - weights[3].sum()
    with pytest.raises(ParameterError, match=r"gives report number 6 e\^.* times as often as") as caught:
        MatrixRandomiser(channel.space, weights, alpha0=4)
    assert "alpha0" in str(caught.value.fix)
    tight = MatrixRandomiser(channel.space, weights)
    assert tight.alpha0_upper > 4


def test_wrong_matrices_are_refused_by_name():
    space = Discrete(["left", "right"])
    with pytest.raises(ParameterError, match=r"'right' sums to 0\.9"):
        matrix_randomiser(space, [[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(ParameterError, match=r"'left' holds the probability -0\.5"):
        matrix_randomiser(space, [[-0.5, 1.5], [0.5, 0.5]])
    with pytest.raises(ParameterError, match="tells them apart"):
        matrix_randomiser(space, [[1.0, 0.0], [0.5, 0.5]])
    with pytest.raises(ParameterError, match="one row for each item"):
        matrix_randomiser(space, [[1.0]])
    with pytest.raises(ParameterError, match="labels"):
        matrix_randomiser(space, [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]])
    with pytest.raises(ParameterError, match="sums to"):
        MatrixRandomiser(space, np.array([[TOTAL, 1], [1, TOTAL]]))
    with pytest.raises(ParameterError, match=r"claimed to be 1, but 'left'"):
        matrix_randomiser(space, [[0.75, 0.25], [0.25, 0.75]], alpha0=1)


def test_a_broken_mixture_is_refused():
    built = gkrr(CLUSTERS, 2)
    stops = list(built.stops)
    stops[2] += 1
    with pytest.raises(ParameterError, match="stopping weights"):
        MixtureRandomiser(built.space, built.shape, stops)


@pytest.mark.parametrize("alpha0", [0, -1, "nan", "two"])
def test_impossible_alpha0(alpha0):
    with pytest.raises(ParameterError):
        gkrr(CLUSTERS, alpha0)


def test_spaces_that_do_not_fit():
    line = Line(0, 10, step=1, cells=True)
    for make in (gkrr, tree_response, planar_laplace, laplace):
        with pytest.raises(ParameterError):
            make(line, 2)
    with pytest.raises(ParameterError, match="too many"):
        exponential(Line(0, 20_000, step=1, cells=True), 2)
    with pytest.raises(ParameterError, match="needs vectors"):
        laplace(Discrete(["a", "b"]), 2)


def test_distortions_agree_with_the_rows():
    for name, channel in CHANNELS.items():
        if channel.distortions() is None or name == "mapped":
            continue
        space = channel.space
        rows = np.array([[float(q) for q in exact_row(channel, x)] for x in range(space.items)])
        want = (rows * space.block()).sum(axis=1)
        assert channel.distortions() == pytest.approx(want, rel=1e-9, abs=1e-12), name


def test_noise_alone_is_warned_about():
    assert "nearly useless" in gkrr(CLUSTERS, "0.001").warning
    assert gkrr(CLUSTERS, 10).warning is None


def test_laplace_in_coordinates_has_its_law_and_a_wrong_scale_is_seen():
    """Angle and length of the noise on a fine grid, by the reports on one item in the middle."""
    from scipy import stats

    space = Euclidean([0, 0], [200, 200], step=1)
    middle = space.encode([[100.5, 100.5]])
    channel = laplace(space, 40)
    reports = channel.from_items(np.repeat(middle, 4000), source=SeededSource(31))
    lengths = space.distance(reports, np.full(4000, middle[0])) * 40
    edges = stats.gamma.ppf(np.linspace(0, 1, 11)[1:-1], 2)
    result = np.histogram(lengths, bins=[0, *edges, np.inf])[0]
    assert chi_square(result, np.full(10, 400.0)) > 1e-6
    assert chi_square(np.histogram(lengths * 1.1, bins=[0, *edges, np.inf])[0], np.full(10, 400.0)) < 1e-6
    assert float(np.mean(space.distance(reports, np.full(4000, middle[0])))) < channel.distortions().max()


def test_laplace_on_words_reports_the_nearest_word():
    channel = laplace(WORDS, 40)
    assert channel._nearest(np.array([[0.1, 1.2], [5.9, 1.4]])).tolist() == [0, 3]
    result = channel.from_counts([50, 0, 0, 50], source=SeededSource(5))
    assert result.sum() == 100
    assert result[0] > result[2]
    assert channel.alpha0_upper == 40


def test_plain_data_come_back():
    for name, channel in CHANNELS.items():
        alpha0 = channel.alpha0_upper if name != "matrix" else channel.alpha0_upper * (1 + Fraction(1, 10**6))
        again = randomiser_from_spec(channel.space, alpha0, channel.to_spec())
        assert again.kind == channel.kind, name
        assert list(again.report_labels) == list(channel.report_labels)
    with pytest.raises(ParameterError, match="wrong or missing keys"):
        randomiser_from_spec(CLUSTERS, 1, {"kind": "matrix"})
    assert [suited(s) for s in (CLUSTERS, PLACES, WORDS, Euclidean([0, 0], [1, 1], step=0.5))] == [
        "gkrr",
        "tree",
        "exponential",
        "planar_laplace",
    ]


def test_a_classifier_may_be_wrapped_around():
    channel = mapped(gkrr(CLUSTERS, 2), lambda label: label.split("/")[0])
    assert channel.reports == 3
    with pytest.raises(ParameterError):
        type(channel)(gkrr(CLUSTERS, 2), ["a"])


def test_exact_comparison_with_powers_of_e():
    with mpmath.workdps(60):
        e = mpmath.e ** mpmath.mpf("0.3")
        below, above = int(mpmath.floor(e * 10**40)), int(mpmath.ceil(e * 10**40))
    assert not exceeds_exp(Fraction(below, 10**40), Fraction(3, 10))
    assert exceeds_exp(Fraction(above, 10**40), Fraction(3, 10))
    assert not exceeds_exp(Fraction(1), Fraction(0))


def test_logarithms_are_as_accurate_as_the_proof_assumes():
    rng = np.random.default_rng(1)
    numbers = np.concatenate([rng.integers(1, 2**62, 3000), 2 ** rng.integers(0, 62, 200), np.arange(1, 300)])
    with mpmath.workdps(40):
        logs = np.log(numbers.astype(float)).tolist()
        errors = [abs(mpmath.log(n) - v) for n, v in zip(numbers.tolist(), logs, strict=True)]
    assert 2 * float(max(errors)) + 2.0**-46 < claim_module.LOG_ERROR


def test_counts_of_another_shape_are_refused():
    with pytest.raises(ParameterError, match="one whole number for each item"):
        gkrr(CLUSTERS, 1).from_counts([1, 2])
    with pytest.raises(ParameterError):
        gkrr(CLUSTERS, 1).from_items([99])


def test_the_worst_triple_is_found_whatever_the_order():
    space = Line(0, 3, step=1, cells=True)
    weights = np.array([[6, 1, 1], [2, 4, 2], [1, 1, 6]], dtype=np.int64) * (TOTAL // 8)
    worst = worst_triple(weights, space)
    assert float(worst.alpha0_upper) == pytest.approx(
        max(
            math.log(3) / float(space.distance(0, 1)),
            math.log(6) / float(space.distance(0, 2)),
            math.log(4) / float(space.distance(1, 0)),
        ),
        rel=1e-9,
    )


def test_crooked_trees_have_shapes_without_single_children():
    shape = tree_response(CROOKED, 4).shape
    for v in range(len(shape.parents)):
        assert (shape.parents == v).sum() != 1


def test_a_huge_alpha0_is_lowered_to_what_weights_can_express():
    for channel in (
        gkrr(CLUSTERS, 10**6),
        exponential(Line(0, 10, step=1, cells=True), 10**6),
        randomised_response(WORDS, 10**9),
    ):
        assert float(channel.alpha0_upper) < 10**6
        rows = [exact_row(channel, x) for x in range(channel.space.items)]
        stated = channel.alpha0_upper
        assert mpmath.mpf(stated.numerator) / stated.denominator >= tight_alpha0(rows, channel.space)
        held = np.arange(channel.space.items) * 1000
        assert np.abs(channel.from_counts(held, source=SeededSource(1)) - held).max() <= 20


@pytest.mark.parametrize(
    ("make", "space"),
    [
        (gkrr, Clustered({"one": ["a", "b", "c"]}, r=0.2)),
        (gkrr, Clustered({"x": ["a"], "y": ["b"]}, r=0.2)),
        (gkrr, Clustered({"x": ["a"]}, r=0.2)),
        (randomised_response, Discrete(["a"])),
        (tree_response, Tree([("a", "root", 1.0)])),
        (tree_response, Tree([("a", "in", 1.0), ("b", "in", 2.0), ("in", "mid", 1.0), ("mid", "root", 1.0)])),
        (exponential, Discrete(["a"])),
        (laplace, Euclidean([0, 0], [1, 1], step=1)),
    ],
)
def test_degenerate_spaces(make, space):
    channel = make(space, 2)
    held = np.full(space.items, 7)
    assert channel.from_counts(held).sum() == held.sum()
    assert channel.from_items(np.arange(space.items)).max() < space.items
    assert 0 < float(channel.alpha0_upper) <= 2.0
    assert channel.distortions().shape == (space.items,)


def test_log_rate_upper():
    assert log_rate_upper(Fraction(3), Fraction(1, 4)) >= 4 * math.log(3) - 1e-15


def test_lower():
    assert lower(1.0, Discrete(["a", "b"])) < 1


def test_exponential_randomiser():
    clock = exponential(Circle(24, unit="h", step=1), 5)
    assert float(clock.alpha0_upper) <= 5.0
    assert round(clock.distortion, 2) == 2.25


def test_laplace_randomiser():
    words = Embedding(["cat", "dog", "car"], [[0, 1], [0, 2], [5, 0]])
    channel = laplace(words, 20)
    assert channel.alpha0_upper == 20
    assert channel.from_items([0, 1, 2]).shape == (3,)


def test_whole_rows():
    assert whole_rows(np.array([[0.5, 0.5], [0.0, 1.0]])).sum(axis=1).tolist() == [2**62, 2**62]


def test_neighbours_decide_where_distances_are_shortest_paths(monkeypatch):
    rng = np.random.default_rng(20261118)
    for _ in range(8):
        places = rng.integers(0, 50, (12, 2)).astype(float)
        edges = {(int(rng.integers(0, i)), i) for i in range(1, 12)}
        edges |= {(int(a), int(a) + 2) for a in rng.integers(0, 9, 4)}
        graph = Graph([(str(a), str(b), float(np.hypot(*(places[a] - places[b])) + 0.1)) for a, b in sorted(edges)])
        weights = rng.integers(1, 2**40, (12, 7))
        quick = claim_module.worst_triple(weights, graph)
        with monkeypatch.context() as patched:
            patched.setattr(claim_module, "neighbour_pairs", lambda space: None)
            slow = claim_module.worst_triple(weights, graph)
        assert len(claim_module.neighbour_pairs(graph)[0]) == 2 * len(edges)  # in both orders, and no other pair
        assert quick.alpha0_upper == pytest.approx(slow.alpha0_upper, rel=1e-12)
        named = weights[quick.item, quick.report] / weights[quick.other, quick.report]
        assert math.log(named) / float(graph.distance(quick.item, quick.other)) == pytest.approx(slow.alpha0_upper)


def test_the_exponential_mechanism_on_a_graph_is_the_one_of_all_pairs(monkeypatch):
    graph = Graph([(str(i), str(i + 1), 1.0 + i % 3) for i in range(20)] + [("0", "20", 7.0)])
    quick = exponential(graph, 5)
    monkeypatch.setattr(claim_module, "neighbour_pairs", lambda space: None)
    monkeypatch.setattr(sys.modules["barrow.randomisers.exponential"], "neighbour_pairs", lambda space: None)
    slow = exponential(graph, 5)
    assert np.array_equal(quick.weights, slow.weights)
    assert float(quick.alpha0_upper) == pytest.approx(float(slow.alpha0_upper), rel=1e-12)
