"""What a class keeps of its parent where another package gives it another distance: nothing that rests on distances."""

from __future__ import annotations

import inspect
from typing import Any

from barrow.errors import ParameterError

FORMULAS = ("geometry", "distance_error", "metric_name", "_graph")
"""What follows from distances, beside the two bounds that every space states."""
BOUNDS = ("least_distance_lower", "snapping_upper")


def lose_formulas(kind: type, most_general: type) -> None:
    """A class of another package that overrides the distance has those formulas that it says itself, and no others.

    Its bounds it must say: a parent's would be taken for its own.
    """
    if "_distance" not in vars(kind) or kind.__module__.partition(".")[0] == "barrow":
        return
    for name in BOUNDS:
        above = next(x for x in kind.__mro__ if name in vars(x))
        if above not in (kind, most_general):
            raise ParameterError(
                f"The space {kind.__name__} has a distance of its own and the {name} of {above.__name__}.",
                allowed="a class that states its own bounds where it states its own distance",
                fix=f"def {name}(self) -> float: … as a property of {kind.__name__}",
            )
    for name in FORMULAS:
        if name not in vars(kind):
            setattr(kind, name, inspect.getattr_static(most_general, name))
    # These modules know every kind of space, and are therefore loaded after all of them.
    from barrow.spaces import grids, nearness, shapes

    functions: tuple[Any, ...] = (
        nearness.near_pairs, nearness.coordinates, nearness.distances_from, nearness.keeps_near,
        grids.coarser, grids.snapping_means, shapes.cell_corners, shapes.cell_places,
    )  # fmt: skip
    for function in functions:
        function.register(kind, function.dispatch(most_general))
