"""What internal names do, each by one known answer."""

from __future__ import annotations

from fractions import Fraction

from barrow.privacy.definitions import Model, positive, probability, to_model
from barrow.privacy.events import to_channel


def test_to_channel():
    assert to_channel({"weights": ["3 1", "1 3"], "distances": [1.0]}).items == 2


def test_to_model():
    assert to_model("central") is Model.CENTRAL


def test_positive():
    assert positive("25", "alpha") == Fraction(25, 1)


def test_probability():
    assert probability("1e-3") == Fraction(1, 1000)
