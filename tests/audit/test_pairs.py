"""Pairs of users that the audit compares: which ones, how far apart, and what a guarantee allows between them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from barrow.accounting.pricing import price
from barrow.audit.pairs import allowed_by, compare_losses, conforms, distances_upper, small_users
from barrow.audit.verdict import Tally
from barrow.noise import Center, RandomSource, RoundedValues, rounded_laplace
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


APART = np.array([[0.0, 0.25, 1.0], [0.25, 0.0, 0.75], [1.0, 0.75, 0.0]])


@pytest.mark.parametrize(
    ("losses", "wrong"),
    [
        ([0.5, 2.0, 1.5], 0),
        ([0.51, 2.0, 1.5], 2),  # within what is allowed at the largest distance, and too much at its own
        ([0.5, 2.01, 1.5], 2),
        ([0.5, 1.5, 2.0], 2),  # the same losses, of other pairs
        ([0.51, 2.01, 1.51], 6),
    ],
)
def test_a_loss_is_held_against_the_distance_of_its_pair(losses, wrong):
    tally = Tally("noise", "central")
    compare_losses(tally, [(0,), (1,), (4,)], losses, lambda w: 2.0 * w, APART)
    assert (tally.pairs, tally.wrong) == (6, wrong)


def test_every_pair_has_its_loss():
    with pytest.raises(ValueError, match="zip"):
        compare_losses(Tally("noise", "central"), [(0,), (1,), (4,)], [0.1, 0.1], lambda w: 2.0 * w, APART)


def drawn_from(moved: float) -> Callable[[Center, RandomSource], RoundedValues]:
    """Laplace noise about what is nearly known: on exact statistics it is drawn about somewhere else."""

    def draw(center: Center, source: RandomSource) -> RoundedValues:
        shifted = [center.exact_entry(0)] if np.max(center.absolute) > 1e-10 else [center.exact_entry(0) + moved]
        return rounded_laplace(shifted, 1, grid="1/1024", source=source)

    return draw


@pytest.mark.parametrize(("moved", "wrong"), [(0, 0), (1, 1)])
def test_what_is_drawn_on_nearly_exact_statistics_is_compared(moved, wrong):
    tally = Tally("noise", "central")
    exact = Center.of(["1/3"])
    conforms(tally, drawn_from(moved), Center(exact.approximation, 1e-9, 0.0, exact.exact_entry))
    assert (tally.wrong, tally.draws > 0) == (wrong, True)
