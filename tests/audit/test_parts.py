"""What internal names do, each by one known answer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from barrow.accounting.pricing import price
from barrow.audit.additive import upper_tails
from barrow.audit.items import frequency_result, mixed_reports, observed_rows
from barrow.audit.pairs import allowed_by, distances_upper, known_distances, products, small_users
from barrow.mechanisms import linear_noise
from barrow.mechanisms.itemwise import item_wise
from barrow.privacy import PureRelease
from barrow.queries import mean
from barrow.randomisers import randomised_response
from barrow.spaces import Discrete, Line


def test_upper_tails():
    noise = linear_noise(mean(Line(0, 1, step=0.5)), 1, model="local", grid=1)
    low, _high = upper_tails(noise, [Fraction(0), Fraction(0)], [1, 2])
    assert [round(x, 6) for x in low.tolist()] == [round(0.5 * math.exp(-x), 6) for x in (0.5, 1.5)]


def test_observed_rows():
    coin = randomised_response(Discrete(["a", "b"]), 1)
    rows = observed_rows(lambda x, source: int(coin.from_items([x], source=source)[0]), 2)
    assert rows.chances[0][0] == coin.probability(0, 0)
    assert rows.left == 0.0


def test_allowed_by():
    assert allowed_by(price(PureRelease(5, model="central")))(0.5) == (2.5, 0.0)


def test_frequency_result():
    told = frequency_result(item_wise(randomised_response(Discrete(["a", "b"]), 1), items=2, model="local"))
    assert told(np.array([1, 1])) == told(np.array([1, 1]))


def test_mixed_reports():
    assert mixed_reports([{0: Fraction(1)}, {1: Fraction(1)}], (0, 1)) == {0: Fraction(1, 2), 1: Fraction(1, 2)}


def test_small_users():
    assert small_users(2, [1, 2]) == [(0,), (1,), (0, 0), (0, 1), (1, 1)]


def test_distances_upper():
    assert distances_upper(Line(0, 4, step=1), [(0,), (3,), (0, 3)]).round(6).tolist() == [
        [0.0, 0.75, 0.375],
        [0.75, 0.0, 0.375],
        [0.375, 0.375, 0.0],
    ]


def test_known_distances():
    assert known_distances(Discrete(["a", "b"]), ((0,), (1,))).tolist()[0][0] == 0.0


def test_products():
    half = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert {k: str(v) for k, v in products([half], (0, 0)).items()} == {(0, 0): "1/4", (0, 1): "1/2", (1, 1): "1/4"}
