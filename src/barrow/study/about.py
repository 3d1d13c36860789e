"""What one release is about: the periods that it reads, and the groups that it tells apart."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from barrow.engines import Breakdown, Cell, Counts, ItemSums
from barrow.engines.breakdown import WHOLE
from barrow.engines.counts import merged
from barrow.engines.sums import joined
from barrow.errors import ParameterError, one_of, unknown_name
from barrow.numerics import Exact, exact, exact_text, whole
from barrow.numerics.limits import limbs_of
from barrow.promises import Grouping, Model, Promise, Window
from barrow.promises.groups import EVERYBODY
from barrow.promises.periods import Calendar, Period, Pool

if TYPE_CHECKING:
    from barrow.questions import Question

LAST = "last"
"""In place of a period: the last one that has ended, by the clock."""
_MOST_PLANNED = 10_000
_ROOTS = 1000
"""Cube roots are rounded to so many parts: any shares that add up to 1 are sound."""
T = TypeVar("T")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class About:
    """The part of a data set that one release is about.

    Args:
        window: The periods that it reads; None for all records.
        grouping: The groups that it tells apart, public ones of people or hidden ones of records; None for everybody
            together.

    >>> About(grouping=Grouping("region", sizes={"north": 2, "south": 3})).people(5)
    {'north': 2, 'south': 3}
    >>> About().people(5)
    {None: 5}
    """

    window: Window | None = None
    grouping: Grouping | None = None

    @property
    def people_of(self) -> Grouping | None:
        """The public groups of people that it tells apart; hidden groups of records are part of the items."""
        return None if self.grouping is None or self.grouping.hidden else self.grouping

    @property
    def whole(self) -> bool:
        """Whether it is about everybody and all records."""
        return self.window is None and self.people_of is None

    def people(self, users: int) -> dict[str | None, int]:
        """The public number of people of each group."""
        return {None: users} if self.people_of is None else dict(self.people_of.sizes)

    @property
    def period_part(self) -> Path:
        """The part of a folder's name that says which periods a release reads; nothing for all records.

        >>> About(Window.parse("2026-01..2026-03", "periods")).period_part.name
        '2026-01..2026-03-periods'
        """
        if self.window is None:
            return Path()
        pooled = f"-{self.window.pool}" if len(self.window.periods) > 1 else ""
        if self.window.weights is not None:
            pooled += "-" + "+".join(exact_text(weight).replace("/", "of") for weight in self.window.weights)
        return Path(self.window.text.replace(",", "+") + pooled)

    def to_spec(self) -> dict[str, object]:
        """The groups as plain data, for keys and statements; terms hold the window."""
        return {} if self.people_of is None else {"group": self.people_of.to_spec()}

    def cells(self) -> list[Cell]:
        """What an engine counts for it: each group in the whole window, or in each of its periods."""
        labels: tuple[str | None, ...] = (None,) if self.people_of is None else self.people_of.labels
        if self.window is None:
            return [(label, None) for label in labels]
        if self.window.pool == "periods":
            return [(label, period) for label in labels for period in self.window.periods]
        span = self.window.periods if len(self.window.periods) > 1 else self.window.periods[0]
        return [(label, span) for label in labels]

    def weights(self, cells: Mapping[Cell, T], label: str | None) -> list[tuple[T, Fraction]]:
        """The cells of a group with their weights, which add up to 1."""
        mine = [cell for cell in self.cells() if cell[0] == label]
        if self.window is None or self.window.pool == "records":
            return [(cells[mine[0]], Fraction(1))]
        weights = [self.window.weight(period) for period in self.window.periods]
        return [(cells[cell], weight) for cell, weight in zip(mine, weights, strict=True)]

    def counted(
        self, cells: Mapping[Cell, Counts] | Mapping[Cell, ItemSums], item: int, users: int
    ) -> dict[str | None, tuple[Counts | ItemSums, int]]:
        """The counts of each group with the number of people that they stand for (private integers).

        In a window by periods each person stands once for each period, times the period's weight over the common
        denominator, so that the mean over all of them is the mean over people of the weighted mean of their periods.

        Args:
            cells: What an engine counted, without people who have no records.
            item: What people without records hold.
            users: The public number of people.
        """
        result: dict[str | None, tuple[Counts | ItemSums, int]] = {}
        everything: Mapping[Cell, Counts | ItemSums] = dict(cells)
        for label, people in self.people(users).items():
            weighted = self.weights(everything, label)
            common = math.lcm(*(weight.denominator for _, weight in weighted))
            parts = [(counts.with_users(people, item), int(weight * common)) for counts, weight in weighted]
            result[label] = (parts[0][0] if len(parts) == 1 else _stacked(parts, people * common), people * common)
        return result


ALL = About()
"""Everybody and all records."""


def _stacked(parts: Sequence[tuple[Counts | ItemSums, int]], users: int) -> Counts | ItemSums:
    """Counts or sums that stand side by side, each so many times."""
    sums = [(part, times) for part, times in parts if isinstance(part, ItemSums)]
    if sums:
        values = limbs_of(value * times for part, times in sums for value in part.values)
        return joined(np.concatenate([part.items for part, _ in sums]), values, users=users)
    counts = [(part, times) for part, times in parts if isinstance(part, Counts)]
    item, size, count = (
        np.concatenate(columns)
        for columns in zip(*((part.items, part.sizes, part.counts * times) for part, times in counts), strict=True)
    )
    return merged(item, size, count, users=users)


def breakdown_of(abouts: Iterable[About], calendar: Calendar | None) -> Breakdown:
    """Everything that an engine counts for several releases about one grouping, in one pass."""
    listed = list(abouts)
    grouping = next((about.people_of for about in listed if about.people_of is not None), None)
    cells = list(dict.fromkeys(cell for about in listed for cell in about.cells()))
    zone = "UTC" if calendar is None else calendar.zone
    if cells == list(WHOLE.cells):
        return WHOLE
    return Breakdown(cells, () if grouping is None else grouping.labels, zone)


def asked_windows(
    text: str | None,
    calendar: Calendar | None,
    *,
    pool: str | None = None,
    weights: str | Sequence[Exact] | None = None,
    now: datetime | None = None,
) -> list[Window | None]:
    """The windows of ``--period``: one for each period, or one of all of them where they are pooled.

    Args:
        text: A period, a list, a range, ``"last"`` or ``"all"``.
        calendar: How the study divides time.
        pool: ``"records"`` or ``"periods"``: one release about all of them together.
        weights: How much each of several periods counts that are pooled by periods, in their order; alike by default.
        now: The time by which a period has ended; the clock's by default.

    >>> [window.text for window in asked_windows("2026-01..2026-03", Calendar("month", "UTC"))]
    ['2026-01', '2026-02', '2026-03']
    >>> [window.text for window in asked_windows("2026-01..2026-03", Calendar("month", "UTC"), pool="records")]
    ['2026-01..2026-03']
    >>> (window,) = asked_windows("2026-01..2026-02", Calendar("month", "UTC"), pool="periods", weights="1/4, 3/4")
    >>> [str(weight) for weight in window.weights]
    ['1/4', '3/4']
    """
    if weights is not None and pool != "periods":
        raise ParameterError(
            "Weights are given, but the periods are not pooled by periods.",
            allowed="weights of several periods that are pooled by periods",
            fix="--pool periods --weights '1/2, 1/4, 1/4'",
        )
    if calendar is None:
        if text in (None, EVERYBODY) and pool is None:
            return [None]
        raise ParameterError(
            "The study has no periods: it names no column of time, or makes one number of the times of all records and "
            "promises nothing about single periods.",
            allowed='time, period and zone under [data]; for first, last and days a promise "…, in any month" as well',
            fix='[data]\ntime = "at"\nperiod = "month"\nzone = "Europe/Berlin"',
        )
    if text is None:
        raise ParameterError(
            f"The study divides its records into {calendar.plural}, and no period is named.",
            allowed=f"a {calendar.unit}, a list or a range of them, 'last', or 'all' for all records together",
            fix="--period last",
        )
    if text.strip() == EVERYBODY:
        if pool == "periods":
            raise ParameterError(
                "All records are to be pooled by periods, but no periods are named.",
                allowed="a range of periods for --pool periods",
                fix="--period 2026-01..2026-12 --pool periods",
            )
        return [None]
    periods: tuple[Period, ...]
    if text.strip() == LAST:
        periods = (calendar.last_ended(datetime.now(UTC) if now is None else now),)
    else:
        periods = calendar.parse_range(text)
    if pool is None:
        return [Window((period,)) for period in periods]
    one_of(pool, "pool", ("records", "periods"))
    return [Window(periods, cast("Pool", pool), None if weights is None else _weights(weights, periods))]


def _weights(weights: str | Sequence[Exact], periods: Sequence[Period]) -> tuple[Fraction, ...]:
    """Typed weights, as shares of their sum."""
    listed = weights.split(",") if isinstance(weights, str) else list(weights)
    known = [exact(one.strip() if isinstance(one, str) else one, "a weight") for one in listed]
    if len(known) != len(periods) or any(one <= 0 for one in known):
        raise ParameterError(
            f"There are {len(known)} weights for {len(periods)} periods"
            + (", and some are not above 0." if any(one <= 0 for one in known) else "."),
            allowed="one number above 0 for each period, in the order of time; they are divided by their sum",
            fix=f"--weights '{', '.join(['1'] * len(periods))}'",
        )
    whole = sum(known, Fraction(0))
    return tuple(one / whole for one in known)


def groupings_of(groups: Sequence[Grouping], users: int | None) -> tuple[Grouping, ...]:
    """The groupings of a study, each with a name of its own and sizes that add up."""
    names = [grouping.name for grouping in groups]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(
            f"Two groupings are called {twice!r}.", allowed="a name of its own for each", fix=f'name = "{twice}-2"'
        )
    for grouping in groups:
        grouping.check(users)
    return tuple(groups)


def grouping_named(groups: Sequence[Grouping], name: str) -> Grouping | None:
    """The grouping of that name; None for everybody together."""
    if name == EVERYBODY:
        return None
    names = [grouping.name for grouping in groups]
    if name in names:
        return groups[names.index(name)]
    table = f'[[group]]\nname = "{name}"\nsizes = {{north = 512, south = 571}}'
    everybody = ["'all' for everybody"]
    raise unknown_name(f"The study has no grouping {name!r}.", name, names, otherwise=table, more=everybody)


def share_of_grouping(groups: Sequence[Grouping], names: Sequence[str], grouping: Grouping | None) -> Fraction:
    """The share of a question's fraction that the release by one of its groupings gets.

    Groupings share alike. Beside a total ("all") each gets a part that grows as the cube root of how many groups it
    has: a total beside G groups 1/(1 + G^(1/3)), which is where the variance of the total and those of the groups,
    weighted by their sizes, are least together (docs/proofs/scopes.md, public groups).

    >>> regions = Grouping("region", sizes={f"r{i}": 5 for i in range(8)})
    >>> [str(share_of_grouping([regions], ["region", "all"], one)) for one in (regions, None)]
    ['2/3', '1/3']
    """
    if EVERYBODY not in names:
        return Fraction(1, max(1, len(names)))
    sizes = {EVERYBODY: 1} | {one.name: len(one.labels) for one in groups}
    roots = {name: Fraction(round(_ROOTS * sizes[name] ** (1.0 / 3.0)), _ROOTS) for name in names}
    return roots.get(EVERYBODY if grouping is None else grouping.name, Fraction(1)) / sum(roots.values(), Fraction(0))


def planned_periods(periods: object) -> int | None:
    """How many periods a study plans for, checked."""
    return None if periods is None else whole(periods, "periods", most=_MOST_PLANNED, fix="periods = 12")


def check_parts(
    model: Model, calendar: Calendar | None, groups: Sequence[Grouping], questions: Sequence[Question], periods: object
) -> None:
    """Refuse periods and groups where they have no meaning."""
    for question in questions:
        for name in question.by:
            grouping_named(groups, name)
    if periods is not None and calendar is None:
        raise ParameterError(
            "The study plans for several periods, but names no column of time.",
            allowed="periods together with time, period and zone under [data]",
            fix='[data]\ntime = "at"\nperiod = "month"\nzone = "Europe/Berlin"',
        )
    if model is not Model.CENTRAL and (calendar is not None or groups):
        what = "periods" if calendar is not None else "groups"
        raise ParameterError(
            f"The model is {model.value!r}, and the study has {what}: that a person does not report in a month or a "
            f"group reveals something, which is not counted yet.",
            allowed=f"{what} where model = 'central'",
            fix=f"model = 'central', or a study of its own, without {what}, for each of them",
        )


def lasting(promises: Sequence[Promise], periods: int | None, unit: str) -> int:
    """For how many periods promises must last; refused where one of them is about several and nobody says how many.

    >>> lasting([Promise("all", "5 km", 1, scope="any month")], None, "month")
    1
    """
    if periods is not None:
        return periods
    for promise in promises:
        if promise.scope is None or promise.scope.periods != 1 or promise.scope.unit != unit:
            about = f"every {unit}" if promise.scope is not None else "all data of a person"
            raise ParameterError(
                f"The promise {promise.text!r} is about {about}, but the study does not say how many {unit}s it must "
                f"cover: a release about one {unit} would use all of it.",
                allowed=f"periods, a public number of {unit}s; or a promise 'in any {unit}'",
                fix="periods = 12 at the top of the study (barrow plan --periods 12 shows what each gets)",
            )
    return 1


def release_folder(question: Question, about: About, version: str | None = None, place: Path = Path("release")) -> Path:
    """release/NAME, or release/PERIOD/NAME; a correction has its version in the name, a grouping of several its own.

    >>> from barrow.questions import Mean
    >>> release_folder(Mean(), About(Window.parse("2026-10"))).as_posix()
    'release/2026-10/mean'
    """
    place /= about.period_part
    name = question.label
    if version is not None:
        if _VERSION.fullmatch(version) is None:
            raise ParameterError(
                f"The version is {version!r}, and the folder of a correction has it in its name.",
                allowed="letters, digits, '.', '_' and '-', at most 80",
                fix="--data-version 2, or --out FOLDER",
            )
        name = f"{name}-{version}"
    place /= name
    if len(question.by) > 1:
        place /= "all" if about.grouping is None else about.grouping.name
    return place
