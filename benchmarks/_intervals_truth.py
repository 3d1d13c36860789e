"""How often intervals of released histograms hold: of items, of upper limits, and of all merged regions at once.

Everything is counted against shares that are known, with noise from a seeded source. Real shares come from whoever
calls; nothing here knows where they are from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from barrow.mechanisms.edge_noise import EdgeNoise
from barrow.mechanisms.histogram_regions import ReleasedShares
from barrow.mechanisms.histograms import HistogramNoise
from barrow.mechanisms.item_intervals import item_intervals
from barrow.noise import Center
from barrow.noise.source import SeededSource

BUSIEST = 50
_SURE = 1e-12
Family = list[tuple[Any, Any]]
"""Shares and half widths of blocks, level by level."""


@dataclass
class Held:
    """How many intervals of each sort there were, and how many held.

    Attributes:
        counts: For each sort how many there were, how many held, and the sum of their widths.
        missed: Releases in which any region of the family of blocks missed.
        regions: The regions that were shown, and what they hold in truth, summed over releases.
        releases: How many releases.
    """

    counts: dict[str, list[float]] = field(default_factory=dict)
    missed: int = 0
    regions: list[float] = field(default_factory=lambda: [0.0, 0.0])
    releases: int = 0

    def count(self, sort: str, held: Any, width: Any) -> None:
        """Add some intervals."""
        here = self.counts.setdefault(sort, [0.0, 0.0, 0.0])
        here[0] += held.size
        here[1] += int(held.sum())
        here[2] += float(np.sum(width))

    def add(self, other: Held) -> None:
        """Add them up."""
        for sort, (many, held, width) in other.counts.items():
            here = self.counts.setdefault(sort, [0.0, 0.0, 0.0])
            self.counts[sort] = [here[0] + many, here[1] + held, here[2] + width]
        self.missed += other.missed
        self.releases += other.releases
        self.regions = [a + b for a, b in zip(self.regions, other.regions, strict=True)]

    def figures(self) -> dict[str, Any]:
        """Shares that held, and mean widths."""
        result: dict[str, Any] = {
            sort: {"count": int(many), "held": round(held / many, 4), "width": width / many}
            for sort, (many, held, width) in self.counts.items()
            if many
        }
        each = max(self.releases, 1)
        regions, mass = self.regions
        return result | {
            "any_miss": [self.missed, self.releases],
            "regions": round(regions / each, 2),
            "mass": round(mass / each, 4),
        }


def released(made: HistogramNoise, clean: Any, source: SeededSource) -> Any:
    """Noisy values about known ones."""
    if isinstance(made.noise, EdgeNoise):
        return clean + made.noise.mean_draw(made.reports, source)
    zeros = Center.from_integers(np.zeros(len(clean), dtype=np.int64))
    return clean + np.mean([made.noise.draw(zeros, source).values for _ in range(made.reports)], axis=0)


def any_miss(released: Family, exact: Family) -> bool:
    """Whether any block of a family is farther from the truth than its half width."""
    pairs = zip(released, exact, strict=True)
    return any(bool((np.abs(noisy - true) > wide + _SURE).any()) for (noisy, wide), (true, _) in pairs)


def measure(made: HistogramNoise, truth: Any, releases: int, seed: int, *, items: bool = True) -> Held:
    """Repeated releases of one population: every interval against the truth."""
    held, source = Held(), SeededSource(seed)
    clean = np.asarray(made.matrix @ truth)
    law = ReleasedShares.of(made.space, made, clean)
    if law is None:
        raise ValueError(f"{made.kind} has no law of sums")
    exact = law.family()
    top, some = np.argsort(-truth, kind="stable")[:BUSIEST], truth > 0.0
    top = top[truth[top] > 0.0]
    for _ in range(releases):
        raw = released(made, clean, source)
        here = ReleasedShares.of(made.space, made, raw)
        here = ReleasedShares(**{**here.__dict__, "cache": law.cache})
        held.releases += 1
        held.missed += any_miss(here.family(), exact)
        merged = here.merged()
        held.regions[0] += len(merged.share)
        held.regions[1] += float(truth[merged.of_unit >= 0].sum())
        if items:
            ends = item_intervals(here)
            right, width = (truth >= ends.low - _SURE) & (truth <= ends.high + _SURE), ends.high - ends.low
            out = ends.out
            held.count("standing_out", right[out], width[out])
            held.count("busiest", right[top], width[top])
            held.count("nonzero", right[some], width[some])
            held.count("limits", right[~out], width[~out])
            held.count("limits_nonzero", right[~out & some], width[~out & some])
    return held
