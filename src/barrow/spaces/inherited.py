"""What a class keeps of its parent where another package gives it another distance: nothing that rests on distances."""

from __future__ import annotations

import inspect

from barrow.errors import ParameterError
from barrow.spaces.geometry import Geometry

FORMULAS = (
    "geometry", "marks", "summands", "coarser", "corners", "distance_error", "distances_from", "metric_name",
    "normalise", "snapping_means", "keeps_near", "_graph",
    *(name for name in vars(Geometry) if not name.startswith("__")),
)  # fmt: skip
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
        general = inspect.getattr_static(most_general, name, None)
        if name not in vars(kind) and general is not None:
            setattr(kind, name, general)
