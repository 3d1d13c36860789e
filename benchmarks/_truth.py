"""One setting of real records: released as anybody would, then drawn again many times, and held against the records.

``study.release`` makes one release with a ledger of its own; its tables and its statement are read. All other draws go
through the same plan: the noise is the system's, and only what its public methods give is looked at.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

import barrow as bw
from barrow.mechanisms import intervals_of
from barrow.questions.releasing import error_after, released_shares
from barrow.questions.statement import needed
from benchmarks._intervals_truth import BUSIEST, Family, Held, any_miss
from benchmarks._populations import Floats, raw_error, snapped
from benchmarks._real_sets import RealSet
from benchmarks._truth_decoders import line_errors

SORTS = ("standing_out", "busiest", "nonzero", "limits")
_SURE = 1e-12


@dataclass(frozen=True)
class Draws:
    """How often a setting is drawn: raw values for intervals, decoded ones for errors, those that say their own."""

    raw: int
    decoded: int
    own: int


@dataclass(frozen=True, eq=False)
class Setting:
    """What is asked about one set.

    Attributes:
        of: The records.
        asked: The question.
        terms: alpha or promises, as a study takes them.
        most: So many people at most, drawn from all with a fixed seed.
        draws: How often.
        median: Whether the median is asked too.
    """

    of: RealSet
    asked: str
    terms: Mapping[str, Any]
    most: int
    draws: Draws
    median: bool = False

    @cached_property
    def records(self) -> tuple[Any, tuple[Any, ...]]:
        """Whose each record is, and its columns, of the people who are in it."""
        whose, columns = self.of.records()
        people = np.unique(whose)
        if len(people) <= self.most:
            return whose, columns
        rng = np.random.default_rng(zlib.crc32(f"{self.of.name} {self.most}".encode()))
        there = np.isin(whose, rng.choice(people, self.most, replace=False))
        return whose[there], tuple(column[there] for column in columns)

    @cached_property
    def study(self) -> bw.Study:
        """A study of them."""
        whose, columns = self.records
        names = [f"column_{i}" for i in range(len(columns))]
        data = bw.read({"who": whose, **dict(zip(names, columns, strict=True))}, user="who", item=names)
        return bw.Study(self.of.space, users=len(np.unique(whose)), dataset="real", data=data, **self.terms)

    def release(self, request: str) -> bw.Release:
        """A real release, paid for in a ledger of its own."""
        with tempfile.TemporaryDirectory() as folder:
            ledger = bw.Ledger.create(Path(folder) / "real.ledger", self.study)
            return self.study.release(request, ledger=ledger, out=Path(folder) / "out", renderers=())

    def statistics(self, plan: Any) -> Any:
        """What a release of this plan adds noise to."""
        data: Any = self.study.data
        return plan.statistics(data.count(data.engine(), plan.terms.space, plan.terms.users))


@dataclass(frozen=True, eq=False)
class Truth:
    """What the records say without noise: shares of cells, and of raw places that nothing has snapped."""

    shares: Floats
    places: Floats
    weights: Floats

    @classmethod
    def of(cls, setting: Setting) -> Truth:
        """Counted here, apart from the library's engines."""
        whose, columns = setting.records
        space = setting.study.space.records_space
        _, number, sizes = np.unique(whose, return_inverse=True, return_counts=True)
        weights = 1.0 / sizes[number] / len(sizes)
        if setting.of.kind == "tree":
            places = space.encode(columns[0]).astype(np.float64)[:, None]
        else:
            places = np.stack(columns, axis=1).astype(np.float64)
        places, each = np.unique(places, axis=0, return_inverse=True)
        held = np.asarray(np.bincount(each.ravel(), weights), dtype=np.float64)
        shares = np.asarray(np.bincount(snapped(space, places), held, minlength=space.items), dtype=np.float64)
        return cls(shares, places, held)

    def errors(self, plan: Any, shares: Floats) -> tuple[float, float]:
        """How far a released histogram is from raw records, and on lines from records on their cells as well."""
        inner, k = plan.terms.space.records_space, plan.terms.space.records_space.items
        there = float(shares[:k].sum())
        nobody = (1.0 - there) * float(plan.terms.space.no_records_distance or 0) * plan.terms.space.diameter
        raw = raw_error(inner, shares[:k] / there, self.places, self.weights) + nobody
        if not inner.geometry.on_line:
            return raw, raw
        points = np.asarray(inner.points, dtype=np.float64)
        return raw, raw_error(inner, shares[:k] / there, points[:, None], self.shares) + nobody

    @property
    def median(self) -> float:
        """Of raw values on a line."""
        return float(self.places[np.searchsorted(np.cumsum(self.weights), 0.5 - _SURE), 0])


@dataclass
class Found:
    """What was measured in one setting, errors in the space's unit.

    Attributes:
        row: The setting in plain words.
        coarse: Whether nodes are coarser than items.
        about: What the plan says the error is; on lines also without snapping.
        most: What it is at most, about.
        own: What releases say afterwards.
        between: And between which errors it is, where nodes are coarse.
        true: What it is, from raw records; on lines also from records on their cells.
        held: How often intervals hold.
        decoders: Errors of decoders on a line.
        median: What the median's intervals hold.
    """

    row: dict[str, Any]
    coarse: bool
    about: tuple[float, float]
    most: float
    own: float
    between: tuple[float, float] | None
    true: tuple[float, float]
    held: Held
    decoders: dict[str, float] = field(default_factory=dict)
    median: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the set, with its kind."""
        return f"{self.row['set']} ({self.row['kind']})"

    @property
    def told(self) -> str:
        """The setting in a few words."""
        return f"{self.name}, {self.row['people']:,} people, {self.row['mechanism']}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        known = self.held.figures()
        return {
            **self.row,
            "coarse_nodes": self.coarse,
            "about": _short(self.about[0]),
            "most": _short(self.most),
            "true": _short(self.true[0]),
            "after": _short(self.own),
            "without_snapping": [_short(each[1]) for each in (self.about, self.true)],
            "between": None if self.between is None else [_short(end) for end in self.between],
            "held": {sort: [known[sort]["count"], known[sort]["held"]] for sort in SORTS if sort in known},
            "any_miss": known["any_miss"],
            "regions": known["regions"],
            "share_in_regions": known["mass"],
            "decoders": {name: _short(error) for name, error in self.decoders.items()},
            "median": self.median,
        }


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def measured(setting: Setting) -> Found:
    """One release with a ledger, and as many more draws as the setting says."""
    built, truth = setting.release(setting.asked), Truth.of(setting)
    plan: Any = built.plan
    statement, users, statistics = (
        structs.asdict(needed(built.statement.answer.histogram)),
        plan.terms.users,
        setting.statistics(plan),
    )
    exact = released_shares(plan, statistics.approximation, users)
    family = None if exact is None else exact.family()
    row = {
        "set": setting.of.name, "kind": setting.of.kind, "used": setting.of.chosen, "people": users,
        "asked": setting.asked, "terms": setting.terms, "mechanism": statement["mechanism"],
    }  # fmt: skip
    held = Held()
    released = {name: np.array([row[name] for row in built.rows()]) for name in ("low_95", "high_95")}
    _count(held, truth, released["low_95"], released["high_95"])
    raws = [np.asarray(plan.noise.draw(statistics).values) for _ in range(setting.draws.raw)]
    for raw in raws:
        _intervals(held, plan, truth, raw, family)
    decoded = [plan.decoded(raw) for raw in raws[: setting.draws.decoded]]
    true = np.mean([truth.errors(plan, sample.shares) for sample in decoded], axis=0)
    owns = [
        structs.asdict(needed(built.statement.error_after)),
        *(needed(error_after(plan, each)).to_json() for each in decoded[: setting.draws.own]),
    ]
    own = float(np.mean([each["about"] for each in owns]))
    on_line = setting.of.kind == "line"  # elsewhere the error without snapping was not measured
    about = (statement["emd_predicted"], statement["emd_decoded"] if on_line else statement["emd_predicted"])
    ends = None if owns[0]["between"] is None else np.mean([each["between"] for each in owns], axis=0)
    result = Found(
        row, exact is not None and not exact.determined, about, statement["emd_most"],
        own, None if ends is None else (float(ends[0]), float(ends[1])),
        (float(true[0]), float(true[1])), held,
    )  # fmt: skip
    if on_line and plan.mechanism.kind == "cells" and plan.noise.p == "1":
        scale = float(plan.noise.scale) * float(plan.mechanism.factors[0])
        rows = [line_errors(each.values * plan.mechanism.factors, each.shares, truth.shares, scale) for each in decoded]
        result.decoders = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    if setting.median:
        result.median = _medians(setting, truth)
    return result


def _count(held: Held, truth: Truth, low: Floats, high: Floats) -> None:
    """Intervals of items, those that stand out by their lower ends."""
    shares, k = truth.shares, len(truth.shares)
    right, width, out = (shares >= low[:k] - _SURE) & (shares <= high[:k] + _SURE), (high - low)[:k], low[:k] > 0.0
    top, some = np.argsort(-shares, kind="stable")[:BUSIEST], shares > 0.0
    top = top[shares[top] > 0.0]
    for sort, which in zip(SORTS, (out, top, some, ~out), strict=True):
        held.count(sort, right[which], width[which])


def _intervals(held: Held, plan: Any, truth: Truth, raw: Floats, exact: Family | None) -> None:
    known = released_shares(plan, raw, plan.terms.users)
    ends = intervals_of(plan.mechanism, known, raw)
    _count(held, truth, ends.low, ends.high)
    if known is None or exact is None:
        return
    merged = known.merged()
    held.releases += 1
    held.missed += any_miss(known.family(), exact)
    held.regions[0] += len(merged.share)
    held.regions[1] += float(truth.shares[merged.of_unit[: len(truth.shares)] >= 0].sum())


def _medians(setting: Setting, truth: Truth) -> dict[str, Any]:
    """A release of the median and more draws: how often the interval holds it, and how many people are inside."""
    built = setting.release("quantile")
    plan: Any = built.plan
    statistics, middle = setting.statistics(plan), truth.median
    points, moved = (
        np.asarray(plan.terms.space.records_space.geometry.places).ravel(),
        plan.terms.space.snapping_upper * plan.terms.space.diameter,
    )
    row = built.rows()[0]
    spans = [(row["low_95"] + moved, row["high_95"] - moved)]
    for _ in range(setting.draws.raw):
        first, last = plan.reading.spans(np.asarray(plan.noise.draw(statistics).values))[0]
        spans.append((points[first], points[last]))
    ends, slack = np.array(spans), 1e-9 * plan.terms.space.diameter
    holds = (ends[:, 0] - moved - slack <= middle) & (middle <= ends[:, 1] + moved + slack)
    inside = [float(truth.shares[(points > low + slack) & (points < high - slack)].sum()) for low, high in spans]
    cumulative = plan.reading.cumulative
    at = np.searchsorted(cumulative.last, int(np.searchsorted(np.cumsum(truth.shares), 0.5 - _SURE)))
    width = 2.0 * float(cumulative.half_widths(0.5)[min(int(at), len(cumulative.last) - 1)])
    mass = float(np.mean(inside))
    return {
        "releases": len(spans),
        "held": int(holds.sum()),
        "people_inside": _short(mass),
        "times_a_share": _short(mass / width),
        "mechanism": plan.chosen.name,
    }
