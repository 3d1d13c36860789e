"""What internal names do, each by one known answer."""

from __future__ import annotations

from barrow.policy.policy import to_promise
from barrow.policy.promises import Change, belief_figure


def test_change():
    assert Change("all data had been 5 km elsewhere", 1.0, 5.0, 0.5, 0.4).kept == 0.4


def test_belief_figure():
    figure = belief_figure([], cost=lambda share, reach: 2 * share * reach, worst=2.0, unit="km", diameter=10.0)
    assert str(figure) == "What anyone can learn about one person. Whatever is different: at most 88.1 %."


def test_to_promise():
    assert to_promise("all, 5 km, 0.5") == to_promise(("all", "5 km", "0.5"))
