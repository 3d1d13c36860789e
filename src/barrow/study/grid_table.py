"""The table of grids: what each size of cells would give and cost, and which was taken."""

from __future__ import annotations

import math
from dataclasses import dataclass

_LOUD, _MOST_ROWS = 2.0, 12
"""A promise that costs so many times its distance is spoken of; so many grids of a product are shown."""


@dataclass(frozen=True)
class Grid:
    """One size of cells.

    Attributes:
        cell: The size, in the space's unit; on a product one for each part with cells to choose, if several.
        items: How many there are.
        alpha: What the release has; None where it is user-level DP.
        noise: The predicted error without snapping, in the question's unit.
        snapping: What snapping adds: typical for histograms, at most for other questions.
        total: The predicted error.
        seconds: How long planning took here.
        charged: As what distance each promise is charged, in the space's unit: its own plus twice the snapping.
        snapped: Twice the most that snapping moves a record, in the space's unit; in each part's own for a product.
    """

    cell: float | tuple[float, ...]
    items: int
    alpha: float | None
    noise: float
    snapping: float
    total: float
    seconds: float
    charged: tuple[float, ...]
    snapped: tuple[float, ...]

    @property
    def cells(self) -> tuple[float, ...]:
        """The sizes, whether they are one or several."""
        return self.cell if isinstance(self.cell, tuple) else (self.cell,)


@dataclass(frozen=True)
class GridChoice:
    """The sizes that were tried, and the one that was chosen.

    Attributes:
        grids: From coarse to fine.
        chosen: The size that was taken; one for each part of a product whose cells were chosen, if these are several.
        unit: Of sizes; one for each of them.
        error_unit: Of errors.
        promises: The promises' texts and distances in the space's unit; None for "anywhere".
        parts: The units of a product's parts; empty for other spaces.
    """

    grids: tuple[Grid, ...]
    chosen: float | tuple[float, ...]
    unit: str | tuple[str, ...]
    error_unit: str
    promises: tuple[tuple[str, float], ...]
    parts: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """A table, and what the grid costs of each promise.

        On a product a promise is charged with what snapping may add in each part.
        """
        units = self.unit if isinstance(self.unit, tuple) else (self.unit,)
        names = [f"cell {unit}".strip() for unit in units]
        wide = [max(7 if i == 0 else 6, len(name)) for i, name in enumerate(names)]
        first = "  ".join(f"{name:>{width}}" for name, width in zip(names, wide, strict=True))
        lines = [
            f"Cells     {first} {'items':>8} {'alpha':>6} {'noise':>8} {'snapping':>9} {'total':>8} {'seconds':>8}"
        ]
        least = min(grid.total for grid in self.grids)
        shown = sorted(self.grids, key=lambda grid: (grid.cell != self.chosen, grid.total))[:_MOST_ROWS]
        for grid in self.grids:
            if len(units) > 1 and grid not in shown:
                continue
            alpha = "-" if grid.alpha is None else f"{grid.alpha:.3g}"
            label = "Chosen →" if grid.cell == self.chosen else ""
            cells = "  ".join(f"{cell:>{width}.4g}" for cell, width in zip(grid.cells, wide, strict=True))
            lines.append(
                f"{label:<10}{cells} {grid.items:>8,} {alpha:>6} {grid.noise:>8.3g} {grid.snapping:>9.3g} "
                f"{grid.total:>8.3g} {grid.seconds:>8.2g}"
            )
        if any(grid.cell == self.chosen and grid.total > least for grid in self.grids):
            lines.append("          → is the coarsest within 5 % of the least error")
        if len(units) > 1 and len(self.grids) > len(shown):
            lines.append(f"          {len(self.grids) - len(shown)} more were tried, all with larger errors")
        return lines + self._costs()

    def _costs(self) -> list[str]:
        """What the chosen grid costs of each promise."""
        here, lines = next(grid for grid in self.grids if grid.cell == self.chosen), []
        for (text, promised), charged in zip(self.promises, here.charged, strict=True):
            times = charged / promised if promised else math.inf
            loud = f", {times:.3g} times its distance" if times >= _LOUD else ""
            cost = f"charged as {charged:.3g} {self.unit}".rstrip() + " on these cells"
            if self.parts:
                pairs = zip(here.snapped, self.parts, strict=True)
                more = " and ".join(f"{size:.3g} {unit}".strip() for size, unit in pairs if size)
                cost = f"charged with {more or 'nothing'} more on these cells"
            lines.append(f"Promise   {text}: {cost}{loud}")
        return lines

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "chosen": self.chosen,
            "unit": self.unit,
            "error_unit": self.error_unit,
            "grids": [{name: getattr(grid, name) for name in grid.__dataclass_fields__} for grid in self.grids],
        }
