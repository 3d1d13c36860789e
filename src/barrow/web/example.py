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

from barrow.planning import reference_distribution
from barrow.questions import Plan
from barrow.questions.kept import Kept
from barrow.render import figures as fig
from barrow.render.items import item_figure
from barrow.spaces import Space
from barrow.spaces.base import Floats
from barrow.spaces.one_more import base_space

_SEED = 7
_FEW = 8
"""A box with fewer large cities than this is shown with a made-up distribution."""
_MOST_LABELS = 60
_PEOPLE: Kept[tuple[Floats, str]] = Kept(8)


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
    if space.no_records_distance is not None:  # all of them hold records
        people, words = population(space.records_space)
        return np.append(people, 0.0), words
    inner = base_space(space)
    if inner.geometry.box is not None:
        south, west, north, east = inner.geometry.box
        lat, lon, size = cities().T
        turned = west + (lon - west) % 360.0
        inside = (lat >= south) & (lat <= north) & (turned <= east)
        if int(inside.sum()) >= _FEW:
            found = inner.encode(np.stack([lat[inside], turned[inside]], axis=1))
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
        return self.plan.simulated(population(self.plan.space)[0], _SEED)

    @property
    def threshold(self) -> float | None:
        """What noise alone reaches anywhere with 5 %, where values stand out of it one by one."""
        return self.plan.threshold

    @property
    def standing_out(self) -> tuple[int, int] | None:
        """How many values stand out of the noise, of how many."""
        if self.threshold is None:
            return None
        return int((self._placed > self.threshold).sum()), len(self._placed)

    @property
    def _placed(self) -> Floats:
        """The values that belong to places; the last one may be of people without records."""
        return self.values if self.plan.space.no_records_distance is None else self.values[:-1]

    def figure(self, width: int = 720) -> fig.Figure:
        """The values as a map, or as the space draws its items, or as bars."""
        plan, values, space = self.plan, self.values, self.plan.space
        title = "What the map would look like" if plan.mapped else "What the answer would look like"
        options: dict[str, Any] = {"title": title, "width": width}
        if self.threshold is not None and plan.mapped and plan.places is not None:
            places, labels = _places(plan.places, space.records_space.geometry.box)
            return fig.map_figure(
                places,
                self._placed,
                noise=self.threshold,
                box=space.records_space.geometry.box,
                labels=labels,
                most_height=width * 3 // 4,
                **options,
            )
        if plan.question.each_alone or len(values) != space.items:
            return self._bars(options)
        return item_figure(space, values, **options)

    def _bars(self, options: Mapping[str, Any]) -> fig.Figure:
        """The rows of values with their intervals; what noise hides altogether is left out."""
        plan = self.plan
        plain = [{"output": "", "value": v} for v in self.values]
        rows = plan.tables(self.values)["values"] if plan.question.each_alone else plain
        rows = [row for row in rows if row.get("value") is not None][:_MOST_LABELS]
        names = [str(row.get("output", row.get("quantile", k + 1))) for k, row in enumerate(rows)]
        found = np.array([float(row["value"]) for row in rows]) if rows else np.zeros(1)
        half = [float(row.get("half_width_95", 0.0)) for row in rows] or [0.0]
        ends = [(row.get("low_95"), row.get("high_95")) for row in rows] or [(None, None)]
        low = [v - h if a is None or a > v else a for v, h, (a, _) in zip(found.tolist(), half, ends, strict=True)]
        high = [v + h if b is None or b < v else b for v, h, (_, b) in zip(found.tolist(), half, ends, strict=True)]
        unit = "%" if plan.question.in_percent or not plan.question.each_alone else plan.error_unit
        return fig.bars(names or ["hidden by the noise"], found, low=low, high=high, unit=unit, **options)


_PLACES: Kept[tuple[fig.Places, list[str]]] = Kept(8)


def _places(found: Floats, box: Any) -> tuple[fig.Places, list[str]]:
    """Where the values belong, and what each place is called."""
    points = np.asarray(found, dtype=np.float64)

    def made() -> tuple[fig.Places, list[str]]:
        from barrow.render.figures.map import place_name

        places = fig.Places.around(points[:, 0], points[:, 1], box=box)
        return places, [place_name(float(a), float(b)) for a, b in points[:, :2]]

    return _PLACES.get(hashlib.sha256(points.tobytes()).hexdigest(), made)
