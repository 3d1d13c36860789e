"""What would take too long to plan is refused at once, with an estimate and a grid that can be planned."""

from __future__ import annotations

from barrow.errors import ParameterError
from barrow.spaces import Space

_PER_ITEM, _LONGEST, _QUICK = 1.2e-4, 120.0, 15.0
"""Seconds of planning and decoding a histogram for each item, the most that is begun, and what is proposed."""


def check_size(space: Space) -> None:
    """Refuses histograms of so many items that planning and decoding them takes minutes."""
    seconds = space.items * _PER_ITEM
    if seconds <= _LONGEST:
        return
    grid = space.held
    part = max((part for part, _ in grid.summands), key=lambda part: part.items, default=grid)
    spec = part.to_spec()
    key = next((name for name in ("cell", "step") if isinstance(spec.get(name), int | float)), None)
    fix = "a coarser space"
    if key is not None:
        power = 1.0 / (2 if part.lattice is None else part.lattice.dimension)
        size = float(spec[key]) * (seconds / _QUICK) ** power
        fix = f"{key} = {float(f'{size:.2g}'):g} takes about {_QUICK:g} s"
    raise ParameterError(
        f"A histogram of {space.items:,} items takes about {seconds / 60.0:.0f} min to plan.",
        allowed=f"at most about {_LONGEST / _PER_ITEM:,.0f} items",
        fix=fix,
    )
