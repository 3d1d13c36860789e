"""Names of randomisers: given where the whole weights keep them, and never where they do not."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.accounting.blanket import parse_randomiser
from barrow.randomisers import (
    MixtureRandomiser,
    exponential,
    family_of_spec,
    gkrr,
    mapped,
    randomised_response,
    randomiser_from_spec,
    tree_response,
)
from barrow.randomisers.claim import log_rate_upper
from barrow.randomisers.family import Even, even_clusters
from barrow.randomisers.randomiser import TOTAL
from barrow.randomisers.shape import Shape, tree_shape
from barrow.spaces import Clustered, Discrete, Line, Tree


def deviation(channel: MixtureRandomiser, name: str) -> mpmath.mpf:
    """The largest relative difference between what is drawn and what the name says at alpha0, at 60 digits."""
    text, space = parse_randomiser(name), channel.space
    s, t = text.clusters, text.members
    with mpmath.workdps(60):
        a0, r = (mpmath.mpf(x.numerator) / x.denominator for x in (channel.alpha0_upper, text.radius))
        own, near = mpmath.exp(a0), mpmath.exp((1 - r) * a0)
        total = own + (t - 1) * near + (s - 1) * t
        worst = mpmath.mpf(0)
        for y in range(min(space.items, 2 * t + 1)):
            result = channel.probability(0, y)
            said_here = (own if y == 0 else near if y < t else mpmath.mpf(1)) / total
            worst = max(worst, abs(mpmath.mpf(result.numerator) / result.denominator / said_here - 1))
    return worst


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 12), st.integers(1, 12), st.floats(1e-6, 0.499), st.floats(1e-7, 29.0))
def test_a_name_is_given_exactly_where_it_is_true(s, t, r, alpha0):
    channel = gkrr(Clustered.grid(s, t, r=r), alpha0)
    assert alpha0 * (1 - 1e-6) < channel.alpha0_upper <= alpha0 or alpha0 > 27.9
    expected = even_clusters(channel.space).name
    result = deviation(channel, expected)
    if channel.family is None:
        assert result > mpmath.mpf("0.99e-12")
    else:
        assert channel.family == expected == parse_randomiser(expected).name
        assert result <= mpmath.mpf("1e-12")
    if 1e-3 < alpha0 < 10:
        assert channel.family is not None
        assert alpha0 * (1 - 1e-12) < channel.alpha0_upper


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 300), st.floats(1e-6, 29.0))
def test_flat_response_is_named_too(k, alpha0):
    space = Discrete([str(i) for i in range(k)])
    for make in (randomised_response, tree_response):
        channel = make(space, alpha0)
        assert channel.family in (f"krr:{k}", None)
        if channel.family is not None:
            assert deviation(channel, channel.family) <= mpmath.mpf("1e-12")
        if alpha0 < 10:
            assert channel.family == f"krr:{k}"


def moved(channel: MixtureRandomiser, share: Fraction) -> MixtureRandomiser:
    """The same channel with ``share`` of what stays put going anywhere instead."""
    stops, widths = list(channel.stops), channel.shape.widths.tolist()
    leaf = next(v for v, width in enumerate(widths) if width == 1)
    some = int(stops[leaf] * share)
    changed = [w - some if width == 1 else w for w, width in zip(stops, widths, strict=True)]
    changed[0] += some
    return MixtureRandomiser(channel.space, channel.shape, changed)


def test_weights_that_are_a_little_off_lose_their_name():
    channel = gkrr(Clustered.grid(4, 5, r=0.25), 2)
    assert channel.family is not None
    assert moved(channel, Fraction(0)).family == channel.family
    assert moved(channel, Fraction(1, 10**14)).family == channel.family
    for share in (Fraction(1, 10**10), Fraction(1, 10**6), Fraction(1, 10)):
        assert moved(channel, share).family is None
        assert deviation(moved(channel, share), channel.family) > mpmath.mpf("1e-12")
    # Clusters that are treated differently have no name, however little they differ.
    stops, parents = list(channel.stops), channel.shape.parents.tolist()
    first = next(v for v, width in enumerate(channel.shape.widths.tolist()) if width == 5)
    stops[first] += 1
    stops = [w - 1 if parents[v] == first else w for v, w in enumerate(stops)]
    assert MixtureRandomiser(channel.space, channel.shape, stops).family is None


def test_another_grouping_of_the_items_has_no_name():
    space = Clustered.grid(2, 4, r=0.25)
    right = gkrr(space, 2)
    # Four clusters of two items, with the weights of clusters of four: not the tree of this space.
    other = tree_shape(Clustered.grid(4, 2, r=0.25))
    shifted = Shape(
        np.where(right.shape.widths == 4, right.shape.starts + 1, right.shape.starts),
        np.where(right.shape.widths == 4, right.shape.ends + 1, right.shape.ends),
        right.shape.parents,
        right.shape.depths,
    )
    assert right.family == "gkrr:2x4:0.25"
    assert MixtureRandomiser(space, other, gkrr(Clustered.grid(4, 2, r=0.25), 2).stops).family is None
    built = MixtureRandomiser.__new__(MixtureRandomiser)
    built.__dict__.update(right.__dict__ | {"shape": shifted})
    built.__dict__.pop("family", None)
    assert built.family is None


def test_another_name_is_not_kept():
    channel = gkrr(Clustered.grid(4, 5, r=0.25), 2)
    weights = {w: channel.probability(0, y) * TOTAL for w, y in ((1, 0), (5, 1), (20, 19))}
    alpha0 = channel.alpha0_upper
    assert Even(4, 5, Fraction(1, 4)).keeps(weights, alpha0)
    assert not Even(4, 5, Fraction(1, 4)).keeps(weights, alpha0 * (1 + Fraction(1, 10**11)))
    assert not Even(4, 5, Fraction(1, 4) + Fraction(1, 10**11)).keeps(weights, alpha0)
    assert not Even(5, 4, Fraction(1, 4)).keeps(weights, alpha0)
    assert not Even(20, 1, Fraction(1)).keeps(weights, alpha0)


def test_who_has_a_name_and_who_has_not():
    even, uneven = Clustered.grid(3, 2, r=0.125), Clustered({"a": ["1"], "b": ["2", "3"]}, r=0.125)
    tree = Tree.nested(["a/1", "a/2", "b/1", "b/2"], distances=[1, 0.125])
    assert tree_response(even, 2).family == gkrr(even, 2).family == "gkrr:3x2:0.125"
    assert mapped(gkrr(even, 2), lambda label: label[0]).family == "gkrr:3x2:0.125"
    # On spaces with other distances flat response is not that of its name.
    for channel in (
        gkrr(uneven, 2),
        gkrr(Clustered.grid(1, 4, r=0.125), 2),
        randomised_response(even, 2),
        randomised_response(Line(0, 10, step=2, cells=True), 3),
        tree_response(tree, 2),
        exponential(even, 2),
        randomised_response(Discrete(["a"]), 2),
    ):
        assert channel.family is None


@pytest.mark.parametrize(
    "space", [Clustered.grid(3, 2, r=0.1), Discrete(["a", "b", "c"]), Line(0, 10, step=2, cells=True)]
)
@pytest.mark.parametrize(
    "spec", [None, "tree", "response", "exponential", {"kind": "mapped", "inner": "response", "answers": ["x"] * 6}]
)
def test_the_family_is_known_before_it_is_made(space, spec):
    if spec == "tree" and space.kind == "line":
        return
    if isinstance(spec, dict):
        spec = spec | {"answers": ["x"] * space.items}
    assert family_of_spec(space, spec) == randomiser_from_spec(space, 2, spec).family


def test_whole_weights_are_those_of_the_formula_and_never_above_it():
    for slope in (1e-6, 0.3, 4.0, 20.0):
        even = Even(4, 5, Fraction(1, 8))
        root, inner, own = even.stops(slope)
        assert root + inner + own == TOTAL
        with mpmath.workdps(40):
            near = mpmath.mpf(slope) * 7 / 8
            total = mpmath.exp(slope) + 4 * mpmath.exp(near) + 15
            assert 0 <= root - mpmath.mpf(20 * TOTAL) / total < 1
            assert 0 <= inner - 5 * TOTAL * mpmath.expm1(near) / total < 1
        space = Clustered.grid(4, 5, r=0.125)
        stops = [{20: root, 5: inner, 1: own}[w] for w in tree_shape(space).widths.tolist()]
        assert MixtureRandomiser(space, tree_shape(space), stops).alpha0_upper <= Fraction(slope) * (
            1 + Fraction(2) ** -52
        )
    assert Even(4, 5, Fraction(1, 8)).stops(28.5) is None


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 2**62), st.integers(1, 2**62), st.fractions(Fraction(1, 10**6), 1))
def test_rates_are_rounded_up_by_a_hair(a, b, d):
    result = log_rate_upper(Fraction(a, b), d)
    with mpmath.workdps(60):
        true = max(mpmath.log(mpmath.mpf(a) / b), mpmath.mpf(0)) * d.denominator / d.numerator
        assert true <= result <= true * (1 + mpmath.mpf(2) ** -51)
