from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.noise.enumeration import exact_distribution

from barrow.accounting import price
from barrow.accounting.blanket import ResponseRandomiser
from barrow.accounting.calibrate import price_shuffle
from barrow.errors import DataError, ParameterError
from barrow.mechanisms import item_wise, pooled_items
from barrow.mechanisms.itemwise import least_distance, refuse_sizes
from barrow.noise.source import SeededSource
from barrow.randomisers import MixtureRandomiser, exponential, gkrr, randomised_response
from barrow.randomisers.randomiser import TOTAL
from barrow.spaces import Clustered, Discrete, Line
from barrow.transport import emd

SPACE = Clustered.grid(2, 2, r=0.25)


def multiset_law(channel: MixtureRandomiser, items: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """The exact law of the histogram of reports on ``items``, by adding up all lists of reports."""
    law = {(0,) * 4: Fraction(1)}
    for x in items:
        grown: dict[tuple[int, ...], Fraction] = Counter()
        for held, q in law.items():
            for y in range(4):
                key = tuple(h + (z == y) for z, h in enumerate(held))
                grown[key] += q * channel.probability(x, y)
        law = dict(grown)
    return law


def delta_of(p: dict, q: dict, epsilon: float) -> float:
    return sum(max(0.0, float(a) - math.exp(epsilon) * float(q.get(key, 0))) for key, a in p.items())


@pytest.mark.parametrize("delta", ["0", "1e-3", "0.05"])
def test_the_guarantee_holds_for_every_pair_of_tiny_data_sets(delta):
    """All pairs of one user's data sets of 4 items, exact laws: (alpha w, delta) at each distance w."""
    channel = gkrr(SPACE, 2)
    plan = item_wise(channel, items=4, model="local", delta=delta)
    alpha = float(price(plan.event).definition.parameters["alpha"])
    sets = list(itertools.combinations_with_replacement(range(4), 4))
    laws = {k: multiset_law(channel, k) for k in sets}
    tight = 0.0
    for k, other in itertools.permutations(sets, 2):
        a, b = (np.bincount(x, minlength=4) / 4 for x in (k, other))
        w = emd(SPACE, a, b)
        assert delta_of(laws[k], laws[other], alpha * w) <= float(Fraction(delta)) + 1e-12
        tight = max(tight, delta_of(laws[k], laws[other], 0.8 * alpha * w))
    # The check can fail: four fifths of the claimed alpha is broken by some pair when delta is 0.
    assert tight > 1e-6 or delta != "0"


def test_central_release_draws_the_law_of_single_items():
    channel = gkrr(SPACE, 2)
    # So that who has not stopped below a node stops there with a dyadic probability.
    stops = [TOTAL // 2 if w == 1 else TOTAL // 4 for w in channel.shape.widths.tolist()]
    dyadic = MixtureRandomiser(SPACE, channel.shape, stops)
    plan = item_wise(dyadic, items=1, users=2)
    law, rest = exact_distribution(
        lambda s: tuple(plan.release([1, 0, 1, 0], source=s).counts.tolist()), bits=2, words=10
    )
    assert rest == 0
    assert law == {k: q for k, q in multiset_law(dyadic, (0, 2)).items() if q}
    mine = item_wise(dyadic, items=2, model="local")
    law, rest = exact_distribution(lambda s: tuple(mine.randomise([0, 2], source=s).counts.tolist()), bits=2, words=4)
    assert rest == 0
    assert law == {k: q for k, q in multiset_law(dyadic, (0, 2)).items() if q}


def test_the_event_says_all_that_prices_it():
    channel = gkrr(SPACE, 2)
    plan = item_wise(channel, items=100, users=1000, model="shuffle", delta="1e-9")
    event = plan.event
    assert (event.reports, event.items, event.model.value) == (100_000, 100, "shuffle")
    assert event.alpha0 == channel.alpha0_upper
    assert event.least_distance <= Fraction(1, 4)
    assert event.randomiser == "gkrr:2x2:0.25"
    alpha, method = price_shuffle(
        event.alpha0,
        event.delta,
        reports=100_000,
        items=100,
        least_distance=event.least_distance,
        randomiser=ResponseRandomiser(2, 2, "0.25"),
    )
    guarantee = price(event)
    assert guarantee.definition.parameters["alpha"] == alpha
    assert guarantee.method == method
    assert guarantee.definition.bounded
    local = item_wise(channel, items=100, model="local", delta="1e-9")
    assert local.event.reports == 100


def test_sizes_other_than_m_are_refused_without_a_number():
    good = {"item": [0, 1], "size": [2, 2], "count": [3, 1], "present": 2, "items": 2, "users": 2}
    assert pooled_items(SPACE, **good).tolist() == [3, 1, 0, 0]
    for bad in ({"size": [2, 3]}, {"size": [1, 2]}, {"items": 3}, {"present": 1}):
        with pytest.raises(DataError) as caught:
            pooled_items(SPACE, **{**good, **bad})
        assert str(caught.value) == str(refuse_sizes())
    assert not any(c.isdigit() for c in str(refuse_sizes()))
    with pytest.raises(DataError, match="more users"):
        pooled_items(SPACE, **{**good, "users": 1})
    plan = item_wise(gkrr(SPACE, 2), items=2, model="local")
    for items in ([0], [0, 1, 2], []):
        with pytest.raises(DataError) as caught:
            plan.randomise(items)
        assert str(caught.value) == str(refuse_sizes())
    with pytest.raises(DataError):
        item_wise(gkrr(SPACE, 2), items=2, users=2).release([1, 1, 1, 0])


def test_missing_users_hold_the_default_item():
    held = pooled_items(SPACE, item=[2], size=[3], count=[3], present=1, items=3, users=4)
    assert held.tolist() == [9, 0, 3, 0]


@pytest.mark.parametrize(
    "bad",
    [{"items": 0}, {"items": 2.5}, {"items": None}, {"users": 0}, {"users": None}, {"model": "nowhere"}, {"delta": 2}],
)
def test_wrong_parameters(bad):
    with pytest.raises(ParameterError):
        item_wise(gkrr(SPACE, 2), **{"items": 2, "users": 3, **bad})


def test_outputs_are_functions_of_the_multiset():
    plan = item_wise(exponential(Line(0, 4, step=1, cells=True), 3), items=5, users=2)
    answer = plan.release([4, 3, 2, 1], source=SeededSource(4))
    assert not answer.private
    listed = answer.sorted_list()
    assert len(listed) == 10
    assert [listed.count(label) for label in answer.labels] == answer.counts.tolist()


def test_the_systems_randomness_is_private():
    assert item_wise(randomised_response(Discrete(["a", "b"]), 1), items=1, users=5).release([2, 3]).private


def test_least_distance():
    assert least_distance(Discrete(["a", "b"])) == 1
