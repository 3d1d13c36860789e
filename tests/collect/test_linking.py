"""Whoever can link one person's messages undoes the mixing; on what the shuffler writes that attack gains nothing.

Exact: the shipped permutation is followed through all the draws it can make, and the distributions of what is seen are
compared by their exact divergences.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from barrow.collect.batches import read_batch, write_batch
from barrow.local import mixing
from barrow.randomisers import randomised_response
from barrow.spaces import Discrete
from tests.collect.world import key

EACH, PEOPLE = 2, 2
COUNT = EACH * PEOPLE


@pytest.fixture(scope="module")
def orders(tmp_path_factory) -> list[tuple[int, ...]]:
    """The order of the batch for every way in which the places can be drawn, all equally likely."""
    folder, results = tmp_path_factory.mktemp("orders"), []
    some = [bytes([i]) * 64 for i in range(COUNT)]
    with pytest.MonkeyPatch.context() as patch:
        for number, places in enumerate(product(*(range(i) for i in range(1, COUNT + 1)))):
            patch.setattr(mixing, "uniform_below", lambda bounds, places=places: np.array(places))
            place = folder / str(number)
            write_batch(place, some, key("shuffler"), card="x", name="0", count=COUNT, people_of=EACH, size=64)
            results.append(tuple(message[0] for message in read_batch(place).items()))
    return results


def divergence(one: Counter, two: Counter, ratio: Fraction) -> Fraction:
    return sum((max(Fraction(0), one[seen] - ratio * two[seen]) for seen in one), Fraction(0))


def test_every_order_comes_from_exactly_one_draw(orders):
    assert len(orders) == len(set(orders)) == 24


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(3, 2), Fraction(3)])
def test_the_linked_view_gains_nothing(orders, ratio):
    channel = randomised_response(Discrete(["a", "b"]), 2)
    chance = [[channel.probability(x, y) for y in range(2)] for x in range(2)]

    def seen(mine: tuple[int, int], how) -> Counter:
        """What is seen of the reports on my items and on somebody's known ones."""
        counter: Counter = Counter()
        for reports in product(range(2), repeat=COUNT):
            likely = Fraction(1)
            for item, report in zip((*mine, 0, 1), reports, strict=True):
                likely *= chance[item][report]
            for order in orders:
                counter[how(reports, order)] += likely / len(orders)
        return counter

    def views(how) -> Fraction:
        return divergence(seen((0, 0), how), seen((1, 1), how), ratio)

    multiset = views(lambda reports, order: sum(reports))
    batch = views(lambda reports, order: tuple(reports[i] for i in order))
    linked = views(lambda reports, order: (sum(reports[:EACH]), sum(reports[EACH:])))
    # The batch tells what its multiset tells, exactly; who links messages would learn more.
    assert batch == multiset
    assert linked > batch

    def stays(reports, order):
        return (reports[0], *sorted(reports[1:]))

    assert views(stays) > batch  # a mixing that left one place alone would be seen
