"""Records with groups and times, and what each cell of them counts, in plain Python."""

from __future__ import annotations

import datetime
from collections import Counter
from zoneinfo import ZoneInfo

from barrow.engines import Breakdown, Columns
from barrow.engines.breakdown import periods_of
from barrow.promises.periods import Calendar
from barrow.spaces import Discrete

ZONE = "Europe/Berlin"
SPACE = Discrete(["a", "b", "c"])
LABELS_OF_CELLS = ("south", "north", "east")
COLUMNS = Columns("uid", "item", group="region", time="at")
MONTHS = Calendar("month", ZONE).parse_range("2026-09..2026-11")
WEEK = Calendar("week", ZONE).parse("2026-W40")
"""From September into October: a second pass."""
CELLS = Breakdown(
    [
        *((label, month) for label in ("north", "south", None) for month in MONTHS),
        ("north", (MONTHS[0], MONTHS[2])),
        (None, (MONTHS[0], MONTHS[1], MONTHS[2])),
        ("east", None),
        (None, None),
        (None, WEEK),
    ],
    labels=LABELS_OF_CELLS,
    zone=ZONE,
)
HOURS = datetime.timedelta(hours=1)


def rows(number=240, *, zoned):
    """(uid, item, region, at): users of different sizes, with moments around the ends of months."""
    results = []
    for i in range(number):
        user = i * i % 17 if i % 3 else 0
        edge = datetime.datetime(2026, 8 + i % 5, 1, tzinfo=ZoneInfo(ZONE)).astimezone(datetime.UTC)
        moment = edge + (i * 7 % 11 - 5) * HOURS / 2 + datetime.timedelta(microseconds=i % 3 - 1)
        at = moment if zoned else moment.astimezone(ZoneInfo(ZONE)).replace(tzinfo=None)
        results.append((f"u{user}", "abc"[i * i % 3], ("north", "south", "east")[user % 3 if user % 5 else 0], at))
    return results


def local_day(at):
    """The day of a moment where the study is."""
    if isinstance(at, datetime.datetime):
        return (at if at.tzinfo is None else at.astimezone(ZoneInfo(ZONE))).date()
    return at


def expected(records, breakdown=CELLS, space=SPACE):
    """C[item, size] of each cell as lists, and the number of people, by one loop over the records for each cell."""
    result = {}
    for label, span in breakdown.cells:
        here = [
            (user, item)
            for user, item, group, at in records
            if label in (None, group)
            and (span is None or any(x.first <= local_day(at) <= x.last for x in periods_of(span)))
        ]
        sizes = Counter(user for user, _ in here)
        counted = Counter((int(space.encode([item])[0]), sizes[user]) for user, item in here)
        result[label, span] = [(item, size, counted[item, size]) for item, size in sorted(counted)], len(sizes)
    return result


def as_lists(found):
    """What an engine counted, in the same form."""
    return {
        cell: (list(zip(x.items.tolist(), x.sizes.tolist(), x.counts.tolist(), strict=True)), x.users)
        for cell, x in found.items()
    }


def refusals():
    """Records that no cell can count, and the constant text of each."""
    good = rows(12, zoned=False)
    user, item, region, at = good[2]  # of October
    return {
        "Some records have no user.": [*good, (None, item, region, at)],
        "Some records have no time.": [*good, (user, item, region, None)],
        "Some records are of people in no group, or in one that is not declared.": [*good, ("new", item, "west", at)],
        "Some people are in two groups.": [*good, (user, item, "east" if region != "east" else "north", at)],
        "Some records are missing or are not items of the public space.": [*good, (user, "zz", region, at)],
    }
