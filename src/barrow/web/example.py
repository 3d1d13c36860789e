"""A public example population, and what a release about it would look like; nobody's data are in it.

The noise comes from a seed and stays the same while its scale changes, so that a picture does not flicker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from barrow.planning.simulate import reference_distribution
from barrow.questions import Answer
from barrow.questions.answer import Sample
from barrow.questions.cache import Cache
from barrow.questions.estimates import estimate
from barrow.questions.releasing import on_map, places_of, simulated
from barrow.render import figures as fig
from barrow.render.figures.cities import cities, place_name
from barrow.render.item_figures import item_figure
from barrow.spaces import Line, Scale, Space
from barrow.spaces.augmented import base_space
from barrow.spaces.space import Floats

_SEED = 7
_FEW = 8
"""A box with fewer large cities than this is shown with a made-up distribution."""
_MOST_LABELS = 60
_OTHERS, _MOST_SPREAD = 39, 2000
"""One more draw lies between the least and the most of 39 with probability 38/40."""
_PEOPLE: Cache[tuple[Floats, str]] = Cache(8)


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
        known = cities()
        lat, lon, size = known.lat, known.lon, known.millions
        turned = west + (lon - west) % 360.0
        inside = (lat >= south) & (lat <= north) & (turned <= east)
        if int(inside.sum()) >= _FEW:
            result = inner.encode(np.stack([lat[inside], turned[inside]], axis=1))
            weights = np.bincount(result, weights=size[inside], minlength=space.items).astype(np.float64)
            # Some live in the country: a little everywhere.
            return 0.9 * weights / weights.sum() + 0.1 / space.items, "people of large cities"
    return reference_distribution(space, "auto"), "made-up people"


@dataclass(frozen=True, eq=False)
class Pictured:
    """What a planned release would look like for the example population.

    Attributes:
        plan: The plan.
        whiskers: Whether the release is drawn many times, to show where the noise puts it.
    """

    plan: Answer
    whiskers: bool = False

    @property
    def words(self) -> str:
        """Whose data the picture shows."""
        return population(self.plan.terms.space)[1]

    @property
    def legend(self) -> str:
        """What the outline and the whiskers are, where there are some."""
        plan = self.plan
        if plan.question.traits.per_value_error or len(self.values) != plan.terms.space.items:
            return ""
        outline = " The outline is the truth about them." if self._truth() else ""
        many = " Whiskers: where 95 % of all releases about them lie." if self._spreads else ""
        return f"{outline}{many}"

    @property
    def _spreads(self) -> bool:
        return self.whiskers and self.plan.terms.space.items <= _MOST_SPREAD and not on_map(self.plan)

    @cached_property
    def values(self) -> Floats:
        """The values that would be released, with simulated noise."""
        return simulated(self.plan, population(self.plan.terms.space)[0], _SEED)

    @property
    def threshold(self) -> float | None:
        """What noise alone reaches anywhere with 5 %, where values stand out of it one by one."""
        return estimate(self.plan).threshold

    @property
    def standing_out(self) -> tuple[int, int] | None:
        """How many values stand out from the noise, of how many."""
        if self.threshold is None:
            return None
        return int((self._placed > self.threshold).sum()), len(self._placed)

    @property
    def _placed(self) -> Floats:
        """The values that belong to places; the last one may be of people without records."""
        return self.values if self.plan.terms.space.no_records_distance is None else self.values[:-1]

    def figure(self, width: int = 720) -> fig.Figure:
        """The values as a map, or as the space draws its items, or as bars."""
        plan, values, space = self.plan, self.values, self.plan.terms.space
        mapped, points = on_map(plan), places_of(plan)
        title = "What the map would look like" if mapped else "What the answer would look like"
        options: dict[str, Any] = {"title": title, "width": width}
        if self.threshold is not None and mapped and points is not None:
            places, labels = _places(points, space.records_space.geometry.box)
            return fig.map_figure(
                places,
                self._placed,
                noise=self.threshold,
                box=space.records_space.geometry.box,
                labels=labels,
                most_height=width * 3 // 4,
                **options,
            )
        if plan.question.traits.per_value_error or len(values) != space.items:
            return self._bars(options)
        return item_figure(space, values, **options, **self._spread(), **self._truth())

    def _truth(self) -> dict[str, Any]:
        """The shares of the example itself, where the picture can show them beside the released ones."""
        drawn = item_figure.dispatch(type(base_space(self.plan.terms.space)))
        as_bars = drawn in {item_figure.dispatch(kind) for kind in (Space, Line, Scale)}
        return {"truth": population(self.plan.terms.space)[0]} if as_bars else {}

    def _spread(self) -> dict[str, Any]:
        """Where 95 % of releases of the same people lie: between the least and the most of 39 others."""
        if not self._spreads:
            return {}
        people = population(self.plan.terms.space)[0]
        others = np.stack([self.values, *(simulated(self.plan, people, _SEED + 1 + k) for k in range(_OTHERS))])
        return {"low": others.min(axis=0), "high": others.max(axis=0)}

    def _bars(self, options: Mapping[str, Any]) -> fig.Figure:
        """The rows of values with their intervals; what noise hides altogether is left out."""
        plan = self.plan
        plain = [{"output": "", "value": v} for v in self.values]
        rows: list[dict[str, Any]] = (
            plan.tables(Sample(self.values))["values"] if plan.question.traits.per_value_error else plain
        )
        rows = [row for row in rows if row.get("value") is not None][:_MOST_LABELS]
        names = [str(row.get("output", row.get("quantile", k + 1))) for k, row in enumerate(rows)]
        result = np.array([float(row["value"]) for row in rows]) if rows else np.zeros(1)
        half = [float(row.get("half_width_95", 0.0)) for row in rows] or [0.0]
        ends = [(row.get("low_95"), row.get("high_95")) for row in rows] or [(None, None)]
        low = [v - h if a is None or a > v else a for v, h, (a, _) in zip(result.tolist(), half, ends, strict=True)]
        high = [v + h if b is None or b < v else b for v, h, (_, b) in zip(result.tolist(), half, ends, strict=True)]
        unit = "%" if plan.question.traits.in_percent or not plan.question.traits.per_value_error else plan.error_unit
        return fig.bars(names or ["hidden by the noise"], result, low=low, high=high, unit=unit, **options)


_PLACES: Cache[tuple[fig.Places, list[str]]] = Cache(8)


def _places(values: Floats, box: Any) -> tuple[fig.Places, list[str]]:
    """Where the values belong, and what each place is called."""
    points = np.asarray(values, dtype=np.float64)

    def build() -> tuple[fig.Places, list[str]]:
        places = fig.Places.around(points[:, 0], points[:, 1], box=box)
        return places, [place_name(float(a), float(b)) for a, b in points[:, :2]]

    return _PLACES.get(hashlib.sha256(points.tobytes()).hexdigest(), build)
