"""Pairs of users that the audit compares: which ones, how far apart, and what a guarantee allows between them."""

from __future__ import annotations

from barrow.accounting.pricing import price
from barrow.audit.pairs import allowed_by, distances_upper, small_users
from barrow.promises import PureRelease
from barrow.spaces import Line


def test_allowed_by():
    assert allowed_by(price(PureRelease(5, model="central")))(0.5) == (2.5, 0.0)


def test_small_users():
    assert small_users(2, [1, 2]) == [(0,), (1,), (0, 0), (0, 1), (1, 1)]


def test_distances_upper():
    assert distances_upper(Line(0, 4, step=1), [(0,), (3,), (0, 3)]).round(6).tolist() == [
        [0.0, 0.75, 0.375],
        [0.75, 0.0, 0.375],
        [0.375, 0.375, 0.0],
    ]
