"""The measures that the reproduction of the paper takes, each by one known answer."""

from __future__ import annotations

import numpy as np
from lab.paper.frequencies import hadamard_matrix
from lab.paper.measuring import (
    clone_pair,
    exact_items,
    exponent,
    histograms,
    hockey_stick,
    said_of,
    shuffled_counts,
    sized,
    uniforms,
)

from barrow.accounting import price
from barrow.audit.pairs import small_users
from barrow.audit.verdict import Finding
from barrow.mechanisms import item_wise
from barrow.randomisers import randomised_response
from barrow.spaces import Discrete


def test_hadamard_matrix():
    assert hadamard_matrix(3, 0.0).shape == (3, 4)


def test_sized():
    assert sized(24.8737) == "24.87"
    assert sized(4.5017e-05) == "4.502e-05"
    assert sized(100000000) == "100,000,000"
    assert sized(0.025) == "0.025"


def test_exact_items():
    coin = randomised_response(Discrete("ab"), 1)
    promise = price(item_wise(coin, items=2, model="local").event)
    assert exact_items(coin, promise, small_users(2, [2])).passed


def test_said_of():
    assert said_of(Finding("gkrr", "local", 20, used=0.5), "Reports").numbers["pairs"] == 20


def test_hockey_stick():
    assert hockey_stick(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.0) == 0.5


def test_clone_pair():
    p, _q = clone_pair(4, 0.5, 1.0, 1.0)
    assert abs(p.sum() - 1) < 1e-12
    assert p.shape == (5, 5)


def test_shuffled_counts():
    result = shuffled_counts([[0.75, 0.25], [0.25, 0.75]], [0, 1])
    assert result[1, 1] == 0.625


def test_uniforms():
    assert (uniforms(1, 5) < 1).all()


def test_histograms():
    assert histograms(1, 2, 3).sum(axis=1).round(9).tolist() == [1.0, 1.0]


def test_exponent():
    assert round(exponent([1, 2, 4], [3, 12, 48]), 9) == 2.0
