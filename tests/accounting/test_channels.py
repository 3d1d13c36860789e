"""Releases by any finite randomiser are priced by their own channel: what the event holds, and a second route."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from barrow.accounting import compose, matrix_blanket_alpha_upper, price
from barrow.accounting.matrix_blanket import channel_arrays, channel_profile, channel_within
from barrow.errors import ParameterError
from barrow.mechanisms import item_wise
from barrow.promises import ItemChannel, ShuffledReports, event_from_json
from barrow.randomisers import exponential, gkrr, mapped, matrix_randomiser, randomised_response, tree_response
from barrow.spaces import Clustered, Discrete, Euclidean, Line

LINE = Line(0, 12, step=2, cells=True)
UNEVEN = Clustered({"a": ["1"], "b": ["2", "3"], "c": ["4", "5", "6"]}, r=0.25)
FRUIT = Discrete(["fig", "saw", "pear"])


def exact_probability(randomiser, item, report):
    """The probability that the sampler itself gives, from what it draws with."""
    if hasattr(randomiser, "probability"):
        return randomiser.probability(item, report)
    return Fraction(int(randomiser.weights[item, report]), 2**62)


@pytest.mark.parametrize(
    "made", [exponential(LINE, 3), tree_response(UNEVEN, 2), gkrr(UNEVEN, 2)], ids=lambda r: r.kind
)
def test_the_channel_is_what_is_drawn(made):
    channel, k = made.channel, made.space.items
    total = sum(channel.weights[0])
    for x, y in product(range(k), range(made.reports)):
        assert Fraction(channel.weights[x][y], total) == exact_probability(made, x, y)
    matrix, distances = channel_arrays(channel)
    assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-14
    true = made.space.block(range(k))
    assert (distances <= true).all()
    assert np.allclose(distances, true, rtol=1e-9)


def test_a_function_of_reports_adds_their_weights():
    inner = matrix_randomiser(FRUIT, [[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    outer = mapped(inner, lambda x: "tool" if x == "saw" else "food")
    for row, sums in zip(inner.channel.weights, outer.channel.weights, strict=True):
        assert sums == (row[0] + row[2], row[1])


def test_who_has_no_channel():
    assert randomised_response(FRUIT, 1).channel is None  # it has a name, which is priced more tightly
    assert exponential(Line(0, 100, step=1, cells=True), 2).channel is None  # too large for an event
    from barrow.randomisers import laplace

    assert laplace(Euclidean([0, 0], [4, 4], step=1), 10).channel is None  # no finite weights
    assert matrix_randomiser(FRUIT, [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], labels=["x", "y"]).channel is None


def test_a_line_is_priced_by_its_own_channel():
    plan = item_wise(exponential(LINE, 3), items=100, users=10_000, delta="1e-9")
    event = plan.event
    assert isinstance(event.channel, ItemChannel)
    own = price(event)
    blind = ShuffledReports(
        event.alpha0,
        reports=event.reports,
        items=100,
        delta="1e-9",
        model="central",
        least_distance=event.least_distance,
    )
    assert own.method == "blanket"
    assert own.definition.alpha < price(blind).definition.alpha / 2
    # The second route: the same matrix by the slower, tighter bound, which is never above by more than rounding.
    weights = np.array([[float(w) / 2**62 for w in row] for row in plan.randomiser.weights.tolist()])
    direct = matrix_blanket_alpha_upper(weights, LINE.block(range(6)), reports=10**6, items=100, delta="1e-9")
    assert direct * 0.999 <= own.definition.alpha <= direct * 1.06
    # An event without the channel is priced by its randomiser's rate alone; both are read back.
    data = json.loads(json.dumps(event.to_json()))
    assert event_from_json(data) == event
    assert blind.to_json()["channel"] is None
    data["channel"] = None
    assert price(event_from_json(data)).definition.alpha == price(blind).definition.alpha
    both = compose([event] * 2, "2e-9").definition
    assert own.definition.alpha < both.alpha < 2 * own.definition.alpha * Fraction("1.02")


def test_the_price_holds_for_exact_shuffles():
    """Nine reports of three items: all histograms by enumeration, at every distance."""
    channel = matrix_randomiser(Line(0, 3, step=1, cells=True), [[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]])
    matrix, distances = channel_arrays(channel.channel)
    reports, delta = 9, 1e-3
    event = item_wise(channel, items=1, users=reports, delta="1e-3").event
    alpha = float(price(event).definition.alpha)

    def histogram(items):
        law = {(0, 0, 0): 1.0}
        for x in items:
            new: dict[tuple[int, ...], float] = {}
            for held, p in law.items():
                for y in range(3):
                    key = tuple(c + (i == y) for i, c in enumerate(held))
                    new[key] = new.get(key, 0.0) + p * matrix[x, y]
            law = new
        return law

    for others in ([0] * 8, [2] * 8, [0, 1, 2, 0, 1, 2, 0, 1]):
        for x, y in product(range(3), repeat=2):
            if x != y:
                p, q = histogram([x, *others]), histogram([y, *others])
                over = sum(max(0.0, p[h] - np.exp(alpha * distances[x, y]) * q[h]) for h in p)
                assert over <= delta


@pytest.mark.parametrize(
    ("weights", "distances"),
    [
        ([[1, 1], [1, 2]], [1.0]),
        ([[1, -1], [0, 0]], [1.0]),
        ([[3, 1], [1, 3]], [0.0]),
        ([[3, 1], [1, 3]], []),
        ([[3, 1]], []),
        ([["x", 1], [1, 3]], [1.0]),
        ([[3, 1], [4]], [1.0]),
    ],
)
def test_channels_that_are_none_are_refused(weights, distances):
    with pytest.raises(ParameterError, match="channel of an item"):
        ItemChannel(weights, distances)


def test_channel_profile():
    flip = ItemChannel([[3, 1], [1, 3]], [1.0])
    assert channel_profile(flip, reports=10**6, items=10, head=1e-10, floor=1e-10).mu_upper(1.0) < 0.02


def test_channel_within():
    flip = ItemChannel([[3, 1], [1, 3]], [1.0])
    assert channel_within(flip, reports=10**6, items=10, delta="1e-9").holds(0.2, 1e-09)
