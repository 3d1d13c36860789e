"""How records become the items of a release: what a promised change of the records can do to the items at most."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction

OUTSIDE = ("error", "default", "nearest", "elsewhere")
"""What is done with records outside the space."""
UNSEEN = Fraction(1, 10**12)
"""In place of a change that a release does not see, where one divides by it."""
NUMBER = "one number a person: "
"""Begins the name of what each person's records became, where they became one number."""
MISSING = ("no records", "default item")
"""What people without records may hold."""


class RecordMap(Enum):
    """The way from a person's records to the items that a release sees (docs/proofs/budget.md, section 4).

    - ``CONTRACTION``: each record becomes one item, and no two end farther apart than they were, snapping aside;
    - ``JUMPS``: each record becomes one item, but two that are next to each other may end as far apart as there is;
    - ``FILTER``: only some records are seen. One record of thirty may be all that is left of a person.

    >>> RecordMap("filter").reach_upper(Fraction(1, 30), Fraction(1, 4), Fraction(0))
    (Fraction(1, 1), Fraction(1, 1))
    """

    CONTRACTION = "contraction"
    JUMPS = "jumps"
    FILTER = "filter"

    @property
    def words(self) -> str:
        """What it means for promises, in a sentence; nothing where records stay near each other.

        >>> RecordMap.CONTRACTION.words
        ''
        """
        if self is RecordMap.FILTER:
            return (
                "Promises are about shares of all records that a person has in the data set. A query selects some of "
                "them, possibly only one record of a person, so every promise costs the worst case"
            )
        if self is RecordMap.JUMPS:
            return (
                "Records that are next to each other may become items far apart (one outside counts as another item, "
                "or a cast rounds it), so a changed record costs the largest distance"
            )
        return ""

    @property
    def advice(self) -> str:
        """What would cost less; nothing where nothing would."""
        if self is RecordMap.FILTER:
            return (
                'for a part of the time, period = "month" under [data] and a promise "in any month" cost less than a '
                'filter; for a part of the people, [[group]] and by = "…" do; or the records that are selected, in a '
                "file of their own and named as a data set of their own, have promises about their own shares, and a "
                "ledger of their own beside this one"
            )
        if self is RecordMap.JUMPS:
            return 'outside = "elsewhere" or "error", without a cast of items, costs the distance that a record moves'
        return ""

    def reach_upper(self, share: Fraction, distance: Fraction | None, snapping: Fraction) -> tuple[Fraction, Fraction]:
        """What share of a person's items a promised change moves, and how far on average, at most.

        Args:
            share: tau, the share of the records that change.
            distance: q, how far they move on average, as a share of the diameter; None for any distance.
            snapping: rho.

        >>> RecordMap.CONTRACTION.reach_upper(Fraction(1, 30), Fraction(1, 4), Fraction(1, 100))
        (Fraction(1, 30), Fraction(27, 100))
        >>> RecordMap.JUMPS.reach_upper(Fraction(1, 30), Fraction(1, 4), Fraction(0))
        (Fraction(1, 30), Fraction(1, 1))
        """
        if self is RecordMap.FILTER:
            return Fraction(1), Fraction(1)
        if self is RecordMap.JUMPS or distance is None:
            return share, Fraction(1)
        return share, min(distance + 2 * snapping, Fraction(1))
