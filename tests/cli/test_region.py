"""The labels that ``barrow region`` is given."""

from __future__ import annotations

from barrow.cli.region import _labels


def test__labels():
    assert _labels("a,b", ["a", "b"]) == ["a", "b"]
    assert _labels("0.5,0.5;0.5,1.5", []) == ["0.5,0.5", "0.5,1.5"]
    assert _labels("0.5,0.5", ["0.5,0.5"]) == ["0.5,0.5"]
