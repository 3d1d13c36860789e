"""Items in hidden groups: the group is part of the record, and another group is as far as a public distance says.

Two records are as far apart as their items are, and by the distance of two groups more where their groups differ: the
sum of both, in the unit of the items (docs/proofs/private-groups.md). So a promise about a distance is about moves
within a group, about other groups, or about both, and no move of an item alone is longer or shorter than before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from barrow.errors import DataError, ParameterError
from barrow.numerics import Exact, exact, exact_text, float_down
from barrow.spaces.checks import build
from barrow.spaces.finite import Discrete
from barrow.spaces.geometry import Geometry
from barrow.spaces.product import Product
from barrow.spaces.space import Space
from barrow.spaces.spec import space_from_spec

_MOST = 1000


class Groups(Product):
    """The items of a space, each in one of several hidden groups.

    Args:
        labels: The public names of the groups.
        inner: The space of the items.
        distance: How far another group is, as a share of the largest distance of ``inner``.
        name: What the grouping is called.

    >>> from barrow.spaces import Line
    >>> space = Groups(["a", "b"], Line(0, 10, unit="km", step=5), distance="1/2")
    >>> space.unit, space.diameter, space.items, space.label(4)
    ('km', 15.0, 6, 'b | 5')
    >>> (space.distance([0, 0, 0], [2, 3, 5]) * 15).round(9).tolist()  # 10 km; another group; both
    [10.0, 5.0, 15.0]
    """

    kind: ClassVar[str] = "groups"

    def __init__(self, labels: Sequence[str], inner: Space, *, distance: Exact = 1, name: str = "group") -> None:
        far = exact(distance, "distance")
        if not 0 < far <= 1:
            raise ParameterError(
                f"The distance of two groups is {exact_text(far)} of the largest one.",
                allowed="more than 0 and at most the largest distance of the items",
                fix="distance = 1",
            )
        if inner.geometry.within is not None or inner.no_records_distance is not None:
            raise ParameterError(
                f"The items of groups are those of a {inner.kind} space.",
                allowed="a space without groups and without an item for people who have no records",
                fix="name the groups once",
            )
        known = Discrete(labels)
        if not 2 <= known.items <= _MOST:
            raise ParameterError(
                f"There are {known.items} groups.", allowed=f"2 to {_MOST:,} public labels", fix='labels = ["a", "b"]'
            )
        super().__init__([known, inner], weights=[far / (1 + far), 1 / (1 + far)])
        vars(self).update(name=str(name), group_distance=far)

    name: str
    group_distance: Fraction

    @property
    def inner(self) -> Space:
        """The space of the items."""
        return self.parts[1]

    @property
    def unit(self) -> str:
        """That of the items."""
        return self.inner.unit

    @cached_property
    def diameter(self) -> float:
        """The largest distance of the items and that of two groups; rounded down, so that no move counts less."""
        return float_down(Fraction(self.inner.diameter) * (1 + self.group_distance))

    @property
    def metric_name(self) -> str:
        """That of the items: a move within a group is as long as it was, and promises are about these distances."""
        return self.inner.metric_name

    @cached_property
    def geometry(self) -> Geometry:
        """A weighted sum, and the space within each group."""
        far = self.group_distance * Fraction(self.inner.diameter) / Fraction(self.diameter)
        parts = tuple(zip(self.parts, self.weights, strict=True))
        return Geometry(parts=parts, within=self.inner, group_distance=min(far, Fraction(1)))

    def _spec(self) -> dict[str, Any]:
        return self._plain("name", labels=self.parts[0].labels, distance=self.group_distance, inner=self.inner)

    def _arguments(self) -> dict[str, Any]:
        spec = self.to_spec()
        return {name: self.inner if name == "inner" else spec[name] for name in ("labels", "inner", "distance", "name")}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Groups:
        """The space that ``spec`` describes."""
        return build(cls, **{**spec, "inner": space_from_spec(spec["inner"])})


@contextmanager
def in_groups(space: Space) -> Iterator[None]:
    """What an engine refuses of records in hidden groups is said in the words of groups."""
    try:
        yield
    except DataError as error:
        if space.geometry.within is None or "public space" not in error.problem:
            raise
        raise unknown_group() from None


def unknown_group() -> DataError:
    """The constant refusal of a record whose group is not in the public list, or that the space does not know.

    >>> unknown_group().problem
    'Some records are in no group of the public list, or are not items of the public space.'
    """
    return DataError(
        "Some records are in no group of the public list, or are not items of the public space.",
        allowed="records whose group is one of the labels, and whose item the space knows",
        fix='a label for all others, such as "other", in the study and in the records; or outside = "elsewhere" for '
        "items outside the space; barrow check shows the curator which they are",
    )
