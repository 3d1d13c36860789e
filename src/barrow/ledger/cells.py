"""What a promise has spent: sums over the periods that a promised change may touch, and over groups of people.

A release that reads a window of periods costs a promise about any k periods only in the periods that it meets, and one
about some groups only the people in these: the k costliest periods of the costliest atom are what all releases
together cost (docs/proofs/scopes.md). Everything here is exact and added anew from the charges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from heapq import nlargest
from itertools import product
from math import prod
from typing import Protocol, TypeVar

from barrow.promises import Event, Scope, exposure
from barrow.promises.periods import Window

Groups = Mapping[str, tuple[str, ...]]
"""The groups that a release is about, by grouping; everybody where a grouping is not named."""

_ZERO, _ONE = Fraction(0), Fraction(1)
_MOST = 200_000
"""Atoms times releases that are added up one by one; beyond, a bound over groupings is enough."""


class AboutGroups(Protocol):
    """A payment that says whom it is about."""

    @property
    def groups(self) -> Groups:
        """The groups."""


class Paid(AboutGroups, Protocol):
    """A payment that says what it read, too."""

    @property
    def reads(self) -> Window | None:
        """The window; None for everything."""

    @property
    def event(self) -> Event:
        """What was released."""


_G = TypeVar("_G", bound=AboutGroups)
_P = TypeVar("_P", bound=Paid)


@lru_cache(maxsize=4096)
def _cells(scope: Scope, reads: Window) -> Mapping[str, Fraction]:
    return exposure(scope, _ONE, None, reads=reads).cells


def cells_of(scope: Scope | None, paid: Paid, *, squares: bool = False) -> Mapping[str, Fraction]:
    """The promised periods in which a payment counts, and the part of it that each takes; none: in all of them.

    Of the square of a mu they take a part only where the mu itself shrinks with the change.

    >>> from types import SimpleNamespace
    >>> from barrow.promises import PureRelease
    >>> from barrow.promises.periods import Period
    >>> october = Window((Period.parse("2026-10"),))
    >>> paid = SimpleNamespace(reads=october, groups={}, event=PureRelease(1, model="central"))
    >>> cells_of(Scope.parse("any month"), paid), cells_of(None, paid)
    ({'2026-10': Fraction(1, 1)}, {})
    """
    if scope is None or paid.reads is None:
        return {}
    cells = _cells(scope, paid.reads)
    shrinks = paid.event.shrinks and (paid.event.needs_delta or not squares)
    return cells if shrinks else dict.fromkeys(cells, _ONE)


@dataclass
class CellSums:
    """One kind of amount at one promise about ``k`` periods (None: every one), for the people of one atom.

    Payments about several periods may be counted in each of them, or once and for all: both bound the total.

    >>> tally = CellSums(1)
    >>> tally.add(Fraction(1), {"2026-10": Fraction(1)})
    >>> tally.add(Fraction(2), {"2026-11": Fraction(1)})
    >>> tally.add(Fraction(1), {})
    >>> tally.total, tally.used(["2026-10"]), tally.periods
    (Fraction(3, 1), Fraction(2, 1), {'2026-10': Fraction(2, 1), '2026-11': Fraction(3, 1)})
    """

    k: int | None
    everywhere: Fraction = _ZERO
    pooled: Fraction = _ZERO
    single: dict[str, Fraction] = field(default_factory=dict)
    cells: dict[str, Fraction] = field(default_factory=dict)

    def add(self, amount: Fraction, cells: Mapping[str, Fraction]) -> None:
        """Count a payment in its cells; in all of them where it has none."""
        if self.k is None or not cells:
            self.everywhere += amount
            return
        for label, part in cells.items():
            self.cells[label] = self.cells.get(label, _ZERO) + amount * part
        if len(cells) == 1:
            for label, part in cells.items():
                self.single[label] = self.single.get(label, _ZERO) + amount * part
        else:
            self.pooled += amount

    @property
    def total(self) -> Fraction:
        """What all payments cost together at most, whichever periods change."""
        return min(base + _largest(self.k, cells.values()) for base, cells in self._ways)

    def used(self, labels: Sequence[str]) -> Fraction:
        """What counts already against a payment that has these cells (none: all): it fits if this and it do."""
        if not labels:
            return self.total
        if len(labels) > 1:
            once = self.everywhere + self.pooled + _largest(self.k, self.single.values())
            return min(once, self.everywhere + max(self.cells.get(t, _ZERO) for t in labels)) if self.k == 1 else once
        rest, total = None if self.k is None else self.k - 1, self.total
        results = []
        for base, cells in self._ways:
            others = [amount for label, amount in cells.items() if label != labels[0]]
            here = base + cells.get(labels[0], _ZERO) + _largest(rest, others)
            known = base + _largest(self.k, cells.values())
            # Of the larger bound nobody has said that it keeps the limit: then it must, or the total would seem not to.
            results.append(here if known == total else max(here, known))
        return min(results)

    @property
    def periods(self) -> dict[str, Fraction]:
        """What a change in each period alone can cost, in the order of time."""
        return {label: self.everywhere + self.cells[label] for label in sorted(self.cells)}

    @property
    def _ways(self) -> tuple[tuple[Fraction, dict[str, Fraction]], ...]:
        return (self.everywhere, self.cells), (self.everywhere + self.pooled, self.single)


def _largest(k: int | None, amounts: Iterable[Fraction]) -> Fraction:
    return sum(amounts if k is None else nlargest(k, amounts), _ZERO)


def tally(
    scope: Scope | None,
    paid: Sequence[_P],
    amount: Callable[[_P], Fraction],
    *,
    squares: bool = False,
    whole: bool = False,
) -> CellSums:
    """The payments of one atom added up; ``whole`` where each cell takes all of an amount, as of a delta."""
    cell_sums = CellSums(None if scope is None else scope.periods)
    for one in paid:
        cells = cells_of(scope, one, squares=squares)
        cell_sums.add(amount(one), dict.fromkeys(cells, _ONE) if whole else cells)
    return cell_sums


def worst_atom(
    groups: Mapping[str, Mapping[str, int]],
    paid: Sequence[_G],
    cost: Callable[[Sequence[_G]], Fraction],
    within: Groups | None = None,
) -> Fraction:
    """The largest ``cost`` of the payments that are about one atom, among those of the groups ``within``.

    Where there are too many atoms it is bounded by the sum over groupings of the costliest group; ``cost`` must be
    monotone and subadditive.

    >>> from types import SimpleNamespace
    >>> north, south = (SimpleNamespace(groups={"region": (name,)}, n=n) for name, n in (("north", 1), ("south", 2)))
    >>> sizes = {"region": {"north": 512, "south": 571}}
    >>> worst_atom(sizes, [north, south], lambda paid: Fraction(sum(one.n for one in paid)))
    Fraction(2, 1)
    """
    if not any(one.groups for one in paid):
        return cost(paid)
    kinds = {name: _kinds(name, list(groups.get(name, ())), paid, within or {}) for name in _named(paid)}
    if prod(len(result) for result in kinds.values()) * len(paid) <= _MOST:
        return max(cost(held) for held in _atoms(kinds, paid))
    bound = cost([one for one in paid if not one.groups])
    for name, labels in kinds.items():
        mine = [one for one in paid if one.groups and min(one.groups) == name]
        bound += max(cost([one for one in mine if label in one.groups[name]]) for label in labels)
    return bound


def _named(paid: Sequence[AboutGroups]) -> list[str]:
    return sorted({name for one in paid for name in one.groups})


def _kinds(name: str, labels: list[str], paid: Sequence[AboutGroups], within: Groups) -> list[str]:
    """One group of each kind: groups that occur in the same payments are alike."""
    wanted = within.get(name)
    alike: dict[tuple[int, ...], str] = {}
    for label in labels if wanted is None else wanted:
        alike.setdefault(tuple(i for i, one in enumerate(paid) if label in one.groups.get(name, ())), label)
    return list(alike.values())


def _atoms(kinds: Mapping[str, Sequence[str]], paid: Sequence[_G]) -> Iterator[list[_G]]:
    """The payments of each atom."""
    for choice in product(*kinds.values()):
        atom = dict(zip(kinds, choice, strict=True))
        yield [one for one in paid if all(atom[name] in held for name, held in one.groups.items())]
