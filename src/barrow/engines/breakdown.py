"""Which parts of the records are counted apart: public groups of people, and periods of time.

A cell is a group (None: everybody) and a span of time (None: all records). A person's records of a cell are those of
the span, and their number there is the person's size in that cell. Where a period begins is a public moment, computed
here by the rules of the zone, so that every engine compares whole numbers of microseconds and none converts zones.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from barrow.engines.counts import Counts, Integers, merged, user_count
from barrow.engines.people import PeopleCounts, people_of
from barrow.errors import ParameterError
from barrow.promises.periods import Period

T = TypeVar("T")
Span = Period | tuple[Period, ...] | None
"""A period, several that are pooled by records, or all records."""
Cell = tuple[str | None, Span]
MOST_SPANS = 4000
"""Spans that are told apart in one pass; ten years of days."""
_MICRO = datetime.timedelta(microseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Layer:
    """Spans without a common day: a record belongs to at most one of them, and one pass counts them all.

    >>> from barrow.promises.periods import Calendar
    >>> months = Calendar("month", "Europe/Berlin").parse_range("2026-10..2026-11")
    >>> bounds, slots = Layer(tuple(months), "Europe/Berlin").cuts(zoned=True)
    >>> [str(np.datetime64(x, "us")) for x in bounds][0], slots
    ('2026-09-30T22:00:00.000000', (-1, 0, 1, -1))
    """

    spans: tuple[Span, ...]
    zone: str

    @property
    def everything(self) -> bool:
        """Whether records are not told apart by their time."""
        return self.spans == (None,)

    def cuts(self, *, zoned: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Moments in microseconds at which the span changes, and the span before, between and after them; -1 is none.

        Args:
            zoned: Whether the moments that are compared are in UTC; otherwise they are local times.
        """
        pieces = sorted((day.first, day.last, slot) for slot, span in enumerate(self.spans) for day in periods_of(span))
        bounds: list[int] = []
        slots: list[int] = [-1]
        for first, last, slot in pieces:
            start, end = (self._midnight(x, zoned) for x in (first, last + datetime.timedelta(days=1)))
            if bounds and bounds[-1] == start:
                slots[-1] = slot
            else:
                bounds.append(start)
                slots.append(slot)
            bounds.append(end)
            slots.append(-1)
        return tuple(bounds), tuple(slots)

    def _midnight(self, day: datetime.date, zoned: bool) -> int:
        """When a day begins: where clocks are turned at midnight, its first moment."""
        moment = datetime.datetime(day.year, day.month, day.day)
        if zoned:
            moment -= moment.replace(tzinfo=ZoneInfo(self.zone)).utcoffset() or datetime.timedelta(0)
        return (moment - _EPOCH) // _MICRO

    def slots_of(self, micros: Integers, zoned: NDArray[np.bool_]) -> Integers:
        """The span of each moment, -1 for none; ``zoned`` says which moments are in UTC."""
        result = np.zeros(len(micros), dtype=np.int64)
        for which in (False, True):
            bounds, slots = self.cuts(zoned=which)
            at = np.searchsorted(np.array(bounds, dtype=np.int64), micros, side="right")
            result = np.where(zoned == which, np.array(slots, dtype=np.int64)[at], result)
        return result


EVERYTHING = Layer((None,), "UTC")


@dataclass(frozen=True)
class Breakdown:
    """The cells that are counted, all in one pass where their spans have no day in common.

    Args:
        cells: Pairs of a group and a span: ``("north", october)``, ``(None, (october, november))``, ``("a", None)``.
        labels: All groups that there are, public: somebody of another group is an error.
        zone: The time zone in which days begin, an IANA name.

    >>> from barrow.promises.periods import Calendar
    >>> october = Calendar("month", "UTC").parse("2026-10")
    >>> one = Breakdown([("north", october), ("south", october), (None, october)], labels=["north", "south"])
    >>> [len(layer.spans) for layer in one.layers]
    [1]
    """

    cells: tuple[Cell, ...]
    labels: tuple[str, ...] = ()
    zone: str = "UTC"

    def __init__(self, cells: Sequence[Cell], labels: Sequence[str] = (), zone: str = "UTC") -> None:
        vars(self).update(cells=tuple(cells), labels=tuple(labels), zone=zone)
        self._check()

    def _check(self) -> None:
        if not self.cells or len(set(self.cells)) < len(self.cells) or len(set(self.labels)) < len(self.labels):
            raise ParameterError("No cell is named, or a cell or group twice.", allowed="each once", fix="drop one")
        if any(not isinstance(name, str) or not name for name in self.labels):
            raise ParameterError("A group has no name.", allowed="texts", fix='labels=["north", "south"]')
        for label, span in self.cells:
            if label is not None and label not in self.labels:
                raise ParameterError(
                    f"There is no group {label!r}.", allowed=", ".join(self.labels) or "None", fix="name one of these"
                )
            days = sorted((part.first, part.last) for part in periods_of(span))
            if any(a[1] >= b[0] for a, b in pairwise(days)) or span == ():
                raise ParameterError("Periods of one span overlap.", allowed="periods without common days", fix="drop")
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ParameterError(
                f"There is no time zone {self.zone!r}.", allowed="an IANA name", fix="zone='Europe/Berlin'"
            ) from None
        if len(self.spans) > MOST_SPANS:
            raise ParameterError(
                f"There are {len(self.spans)} spans of time.", allowed=f"at most {MOST_SPANS}", fix="ask in parts"
            )

    @property
    def spans(self) -> tuple[Span, ...]:
        """The different spans, in the order in which they are asked."""
        return tuple(dict.fromkeys(span for _, span in self.cells))

    @property
    def timed(self) -> bool:
        """Whether the time of records matters."""
        return any(span is not None for span in self.spans)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The spans, put together where they have no common day: one pass over the records for each."""
        layers: list[list[Span]] = []
        for span in self.spans:
            for layer in layers:
                if not any(_overlap(span, other) for other in layer):
                    layer.append(span)
                    break
            else:
                layers.append([span])
        return tuple(Layer(tuple(layer), self.zone) for layer in layers)

    def gathered(self, read: Callable[[Layer], Iterable[tuple[Cell, T]]]) -> dict[Cell, T]:
        """What is read of each cell, layer by layer, in the order of the cells."""
        result = dict(pair for layer in self.layers for pair in read(layer))
        return {cell: result[cell] for cell in self.cells}

    def reports(self, layer: Layer, answer: Mapping[str, Integers]) -> Iterator[tuple[Cell, Counts]]:
        """The counts of each asked cell of a layer, from columns ``g``, ``s``, ``item``, ``m`` and ``c``."""
        for cell, rows, _ in self.places(layer, answer):
            size, count = answer["m"][rows], answer["c"][rows]
            yield cell, merged(answer["item"][rows], size, count, users=user_count(size, count))

    def people(self, layer: Layer, answer: Mapping[str, Integers]) -> Iterator[tuple[Cell, PeopleCounts]]:
        """The people of each asked cell, from columns ``g``, ``s``, ``item`` and ``c``; ``who`` tells them apart."""
        for cell, rows, _ in self.places(layer, answer):
            yield cell, people_of(*(answer[name][rows] for name in ("who", "item", "c")))

    def places(self, layer: Layer, answer: Mapping[str, Integers]) -> Iterator[tuple[Cell, Integers | slice, slice]]:
        """The rows of each asked cell of a layer by its columns ``g`` and ``s``, and its places s * groups + g.

        Everybody is in one group, so the rows of all people are those of all groups.
        """
        if self == WHOLE:
            yield self.cells[0], slice(None), slice(None)
            return
        groups = max(1, len(self.labels))
        place = answer["s"] * groups + answer["g"]
        order = np.argsort(place, kind="stable")
        ends = np.searchsorted(place[order], np.arange(len(layer.spans) * groups + 1))
        for slot, span in enumerate(layer.spans):
            for label, request in self.cells:
                if request == span:
                    first = slot * groups + (0 if label is None else self.labels.index(label))
                    last = first + (groups if label is None else 1)
                    yield (label, span), order[ends[first] : ends[last]], slice(first, last)


def periods_of(span: Span) -> tuple[Period, ...]:
    """The periods of a span; none for all records."""
    if span is None:
        return ()
    return span if isinstance(span, tuple) else (span,)


def _overlap(one: Span, other: Span) -> bool:
    if one is None or other is None:
        return True
    return any(a.first <= b.last and b.first <= a.last for a in periods_of(one) for b in periods_of(other))


WHOLE = Breakdown([(None, None)])
"""All records together."""
