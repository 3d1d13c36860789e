"""What every space must obey: one suite, every kind."""

from __future__ import annotations

from barrow.spaces import space_kinds
from barrow.testing import SpaceSuite, pytest_generate_tests
from tests.spaces.cases import CASES

__all__ = ["pytest_generate_tests"]


class TestEverySpace(SpaceSuite):
    cases = CASES


def test_every_kind_has_a_case():
    """A kind that is another one with fewer arguments (the week is a product) is tested by that one's suite."""
    known = dict(space_kinds())
    tested = {case.space.kind for case in CASES}
    assert tested <= set(known)
    untested = [kind for name, kind in known.items() if name not in tested]
    assert all(any(issubclass(kind, known[name]) for name in tested) for kind in untested)
