"""Channels of one item, as events hold them: by the name of randomised response, or exact weights and distances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from barrow.errors import ParameterError
from barrow.numerics import digest_of, exact_text

MOST_ITEMS = 64
MOST_REPORTS = 256
"""Larger channels are not written into events: a price would take long, and a record would be large."""


@dataclass(frozen=True)
class EvenClusters:
    """Clusters of one size whose items are r apart, and 1 apart across: what randomised response is about.

    Args:
        clusters: S, two or more.
        members: T.
        radius: r, exact; 1 where T is 1.

    >>> EvenClusters(10, 10, Fraction(1, 20)).name, EvenClusters(3, 1, Fraction(1)).name
    ('gkrr:10x10:0.05', 'krr:3')
    """

    clusters: int
    members: int
    radius: Fraction

    @property
    def name(self) -> str:
        """The name of randomised response on them, in events and on the command line."""
        if self.members == 1:
            return f"krr:{self.clusters}"
        return f"gkrr:{self.clusters}x{self.members}:{exact_text(self.radius)}"


@dataclass(frozen=True, eq=False)
class ItemChannel:
    """Report y on item x has the probability weights[x][y] over the sum of its row, which all rows share.

    Args:
        weights: A row of whole numbers of 0 or more for each item; rows may be texts, as in JSON.
        distances: For each pair of items x < x', row by row, a lower bound on their normalised distance.

    >>> flip = ItemChannel([[3, 1], [1, 3]], [1.0])
    >>> flip.items, flip.reports, ItemChannel(**flip.to_json()) == flip
    (2, 2, True)
    """

    weights: tuple[tuple[int, ...], ...]
    distances: tuple[float, ...]

    def __init__(self, weights: Iterable[Sequence[int] | str], distances: Iterable[float]) -> None:
        try:
            rows = tuple(tuple(int(w) for w in (r.split() if isinstance(r, str) else r)) for r in weights)
            apart = tuple(float(d) for d in distances)
        except (TypeError, ValueError):
            raise _unreadable("is not made of numbers") from None
        sizes, sums = {len(row) for row in rows}, {sum(row) for row in rows}
        if not (2 <= len(rows) <= MOST_ITEMS and len(sizes) == 1 and 2 <= len(rows[0]) <= MOST_REPORTS):
            raise _unreadable(f"has {len(rows)} rows of the lengths {sorted(sizes)[:4]}")
        if any(w < 0 for row in rows for w in row) or len(sums) != 1 or 0 in sums or max(sums).bit_length() > 4096:
            raise _unreadable("has rows of different sums, or negative weights")
        if len(apart) != len(rows) * (len(rows) - 1) // 2 or not all(0.0 < d <= 1.0 for d in apart):
            raise _unreadable("has distances that are not in (0, 1], one for each pair of items")
        vars(self).update(weights=rows, distances=apart)

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.weights)

    @property
    def reports(self) -> int:
        """How many different reports there are."""
        return len(self.weights[0])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plain data: channels are equal if their digests are."""
        return digest_of(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Plain data; the weights of a row as one text, because they are beyond what other readers hold exactly."""
        return {"weights": [" ".join(map(str, row)) for row in self.weights], "distances": list(self.distances)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ItemChannel) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def to_channel(value: ItemChannel | Mapping[str, Any] | None) -> ItemChannel | None:
    """The channel that plain data describe; None stays None."""
    if value is None or isinstance(value, ItemChannel):
        return value
    if not isinstance(value, Mapping) or set(value) != {"weights", "distances"}:
        raise _unreadable("has other fields")
    return ItemChannel(value["weights"], value["distances"])


def _unreadable(problem: str) -> ParameterError:
    return ParameterError(
        f"The channel of an item {problem}.",
        allowed=f"2 to {MOST_ITEMS} rows of whole weights with one sum, for 2 to {MOST_REPORTS} reports, and distances",
        fix="leave it out: the reports are then priced by their alpha0",
    )
