"""What a class keeps of its parent where another package gives it another distance: nothing that rests on distances.

A class of another package that overrides ``_distance`` has those formulas that it states itself, and must state its own
bounds: a parent's would be taken for its own. Kinds that are built in are written with their parents in sight.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, singledispatch, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from barrow.errors import ParameterError

BOUNDS = ("least_distance_lower", "snapping_upper")
P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])


@cache
def of_one_distance(kind: type) -> tuple[type, ...]:
    """The classes, from ``kind`` upward, that speak of its distance: up to the one that overrides it.

    >>> from barrow.spaces import Line, Space
    >>> roots = type("Roots", (Line,), {"_distance": lambda self, a, b: abs(a - b) ** 0.5, "__module__": "roots"})
    >>> Space in of_one_distance(Line), of_one_distance(roots) == (roots,)
    (True, True)
    """
    classes = kind.__mro__
    for i, each in enumerate(classes):
        if "_distance" in vars(each) and each.__module__.partition(".")[0] != "barrow":
            return classes[: i + 1]
    return classes


@cache
def states(kind: type, name: str) -> bool:
    """Whether one of these classes has ``name``."""
    return any(name in vars(each) for each in of_one_distance(kind))


@cache
def check_bounds(kind: type) -> None:
    """Refuses a class with a distance of its own and the bounds of a parent's."""
    for name in BOUNDS:
        above = next(each for each in kind.__mro__ if name in vars(each))
        if not states(kind, name) and above.__name__ != "Space":  # what holds of every space may stay
            raise ParameterError(
                f"The space {kind.__name__} has a distance of its own and the {name} of {above.__name__}.",
                allowed="a class that states its own bounds where it states its own distance",
                fix=f"def {name}(self) -> float: … as a property of {kind.__name__}",
            )


class ByDistance(Generic[P, T]):
    """A function of a space, by its class, as :func:`functools.singledispatch` does it among classes of one distance.

    >>> from barrow.spaces.nearness import distances_from
    >>> isinstance(distances_from, ByDistance)
    True
    """

    def __init__(self, function: Callable[Concatenate[Any, P], T]) -> None:
        self._by_kind = singledispatch(function)  # which has the function itself for object
        update_wrapper(self, function)

    def register(self, function: F) -> F:
        """Adds what is done for the class that the first argument is annotated with."""
        self._by_kind.register(function)  # type: ignore[arg-type]  # it gives T, for another class of space
        return function

    def __call__(self, space: object, *more: P.args, **named: P.kwargs) -> T:
        """What is done for the nearest class that speaks of the space's distance."""
        known = self._by_kind.registry
        kind: type = type(space)
        kind = next((each for each in of_one_distance(kind) if each in known), object)
        return known[kind](space, *more, **named)
