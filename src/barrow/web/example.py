"""A public example population, and what a release about it would look like; nobody's data are in it.

The noise comes from a seed and stays the same while its scale changes, so that a picture does not flicker.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from io import StringIO
from typing import Any

import numpy as np

from barrow import figures as fig
from barrow.noise.additive.center import Center
from barrow.noise.simulation import SeededSource
from barrow.planning import reference_distribution
from barrow.questions import LinearPlan, Plan
from barrow.questions.kept import Kept
from barrow.spaces import Earth, Space
from barrow.spaces.base import Floats

_SEED = 7
_FEW = 8
"""A box with fewer large cities than this is shown with a made-up distribution."""
_MOST_LABELS = 60
_PEOPLE: Kept[tuple[Floats, str]] = Kept(8)
_NOISE: Kept[Floats] = Kept(12)


@cache
def cities() -> Floats:
    """Large cities of the world: latitude, longitude, and millions of people, rounded."""
    text = files("barrow.web").joinpath("cities.csv").read_text(encoding="utf-8")
    rows = [[float(row[name]) for name in ("lat", "lon", "millions")] for row in csv.DictReader(StringIO(text))]
    return np.array(rows)


def population(space: Space) -> tuple[Floats, str]:
    """A public distribution over the items of a space, and what it is."""
    return _PEOPLE.get(space.digest, lambda: _population(space))


def _population(space: Space) -> tuple[Floats, str]:
    if isinstance(space, Earth):
        south, west, north, east = space.box
        lat, lon, size = cities().T
        turned = west + (lon - west) % 360.0
        inside = (lat >= south) & (lat <= north) & (turned <= east)
        if int(inside.sum()) >= _FEW:
            found = space.encode(np.stack([lat[inside], turned[inside]], axis=1))
            weights = np.bincount(found, weights=size[inside], minlength=space.items).astype(np.float64)
            # Some live in the country: a little everywhere.
            return 0.9 * weights / weights.sum() + 0.1 / space.items, "people of large cities"
    return reference_distribution(space, "auto"), "made-up people"


@dataclass(frozen=True, eq=False)
class Pictured:
    """What a planned release would look like for the example population."""

    plan: Plan

    @property
    def words(self) -> str:
        """Whose data the picture shows."""
        return population(self.plan.space)[1]

    @cached_property
    def values(self) -> Floats:
        """The values that would be released, with simulated noise."""
        plan, (people, _) = self.plan, population(self.plan.space)
        simulable = getattr(plan, "made", None) or getattr(plan, "estimator", None)
        if simulable is not None:
            return np.asarray(simulable.simulated(people, SeededSource(_SEED)))
        if not isinstance(plan, LinearPlan):
            return people
        table, step = plan.query.table, float(plan.query.step)
        true = np.asarray(table.floats().T @ people).ravel() * step
        return np.asarray(true + self._unit_noise(plan) * float(plan.noise.scale))

    @staticmethod
    def _unit_noise(plan: LinearPlan) -> Floats:
        """Noise of scale 1: drawn once for each kind and number of outputs."""
        noise = plan.noise

        def drawn() -> Floats:
            zeros = Center.from_integers(np.zeros(plan.query.dimension, dtype=np.int64))
            return np.asarray(noise.draw(zeros, SeededSource(_SEED)).values) / float(noise.scale)

        return _NOISE.get(f"{noise.name} {noise.p} {plan.query.dimension}", drawn)

    @property
    def linear(self) -> bool:
        """Whether each value has the plan's half width."""
        return isinstance(self.plan, LinearPlan) and not hasattr(self.plan, "made")

    @property
    def threshold(self) -> float | None:
        """What noise alone reaches anywhere with 5 %, where each value has a half width."""
        plan = self.plan
        many = isinstance(plan, LinearPlan) and self.linear and plan.query.kind == "density" and len(self.values) > 1
        return plan.half_width_all if many and isinstance(plan, LinearPlan) else None

    @property
    def standing_out(self) -> tuple[int, int] | None:
        """How many values stand out of the noise, of how many."""
        if self.threshold is None:
            return None
        return int((self.values > self.threshold).sum()), len(self.values)

    def figure(self, width: int = 720) -> fig.Figure:
        """The values as a map, or as the space draws its items, or as bars."""
        plan, values, space = self.plan, self.values, self.plan.space
        title = "What the map would look like" if plan.mapped else "What the answer would look like"
        options: dict[str, Any] = {"title": title, "width": width}
        if self.threshold is not None and plan.mapped and isinstance(space, Earth):
            places, labels = _places(plan, space)
            return fig.map_figure(
                places,
                values,
                noise=self.threshold,
                box=space.box,
                labels=labels,
                most_height=width * 3 // 4,
                **options,
            )
        if self.linear or len(values) != space.items:
            return self._bars(options)
        return space.figure(values, **options)

    def _bars(self, options: Mapping[str, Any]) -> fig.Figure:
        """The rows of values with their intervals; what noise hides altogether is left out."""
        plan = self.plan
        rows = plan.tables(self.values)["values"] if self.linear else [{"output": "", "value": v} for v in self.values]
        rows = [row for row in rows if row.get("value") is not None][:_MOST_LABELS]
        names = [str(row.get("output", row.get("quantile", k + 1))) for k, row in enumerate(rows)]
        found = np.array([float(row["value"]) for row in rows]) if rows else np.zeros(1)
        half = [float(row.get("half_width_95", 0.0)) for row in rows] or [0.0]
        ends = [(row.get("low_95"), row.get("high_95")) for row in rows] or [(None, None)]
        low = [v - h if a is None or a > v else a for v, h, (a, _) in zip(found.tolist(), half, ends, strict=True)]
        high = [v + h if b is None or b < v else b for v, h, (_, b) in zip(found.tolist(), half, ends, strict=True)]
        unit = "%" if of_shares(plan) or not self.linear else plan.error_unit
        return fig.bars(names or ["hidden by the noise"], found, low=low, high=high, unit=unit, **options)


def of_shares(plan: Plan) -> bool:
    """Whether its values are shares of people's items."""
    return isinstance(plan, LinearPlan) and plan.query.kind in ("density", "region_share", "region")


_PLACES: Kept[tuple[fig.Places, list[str]]] = Kept(8)


def _places(plan: Plan, space: Earth) -> tuple[fig.Places, list[str]]:
    """Where the values belong, and what each place is called."""
    own = plan.query.places if isinstance(plan, LinearPlan) and not hasattr(plan, "made") else None
    points = np.asarray(space.places if own is None else own, dtype=np.float64)

    def made() -> tuple[fig.Places, list[str]]:
        from barrow.figures.map import place_name

        places = fig.Places.around(points[:, 0], points[:, 1], box=space.box)
        return places, [place_name(float(a), float(b)) for a, b in points[:, :2]]

    return _PLACES.get(hashlib.sha256(points.tobytes()).hexdigest(), made)
