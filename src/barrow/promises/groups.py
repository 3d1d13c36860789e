"""Public groups of people: everybody is in exactly one group of a grouping, and how many are in each is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barrow.errors import ParameterError, nearest_name
from barrow.numerics import checked_people

EVERYBODY = "all"
"""In place of a grouping: all people together, a group of its own."""
_LONGEST = 200


@dataclass(frozen=True)
class Grouping:
    """A public attribute that puts each person into exactly one group (docs/proofs/scopes.md, public groups).

    Args:
        name: What the grouping is called.
        column: The column of the records that says a person's group; the name by default.
        sizes: How many people each group has: typed, never counted from the records.

    >>> Grouping("region", sizes={"north": 512, "south": 571}).people
    1083
    """

    name: str
    column: str
    sizes: tuple[tuple[str, int], ...]

    def __init__(
        self, name: str, column: str | None = None, sizes: Mapping[str, int] | tuple[tuple[str, int], ...] = ()
    ) -> None:
        object.__setattr__(self, "name", _word(name, "A grouping", 'name = "region"'))
        if self.name == EVERYBODY:
            raise ParameterError(
                "A grouping is called 'all', which stands for everybody.", allowed="another name", fix='name = "region"'
            )
        object.__setattr__(self, "column", self.name if column is None else _word(column, "A column", 'column = "x"'))
        pairs = tuple(sizes.items()) if isinstance(sizes, Mapping) else tuple(sizes)
        if not pairs or len({label for label, _ in pairs}) < len(pairs):
            raise ParameterError(
                f"The grouping {self.name!r} has no sizes, or a group twice.",
                allowed="the public number of people in every group",
                fix="sizes = {north = 512, south = 571}",
            )
        known = tuple((_word(label, "A group", 'sizes = {"north" = 512}'), checked_people(n)) for label, n in pairs)
        object.__setattr__(self, "sizes", known)

    @property
    def labels(self) -> tuple[str, ...]:
        """The groups, in the order in which they were declared."""
        return tuple(label for label, _ in self.sizes)

    @property
    def people(self) -> int:
        """How many people all groups have together."""
        return sum(size for _, size in self.sizes)

    def size(self, label: str) -> int:
        """How many people a group has.

        >>> Grouping("region", sizes={"north": 512, "south": 571}).size("south")
        571
        """
        for known, size in self.sizes:
            if known == label:
                return size
        close = nearest_name(label, self.labels)
        raise ParameterError(
            f"The grouping {self.name!r} has no group {label!r}." + (f" Did you mean {close!r}?" if close else ""),
            allowed=", ".join(self.labels),
            fix=close or self.labels[0],
        )

    def check(self, users: int | None) -> None:
        """Refuse sizes that do not add up to the public number of people.

        >>> Grouping("region", sizes={"north": 512, "south": 571}).check(1000)
        Traceback (most recent call last):
        ...
        barrow.errors.ParameterError: The groups of 'region' have 1,083 people together, and users is 1,000.
          allowed: sizes that add up to users: everybody is in exactly one group
          fix:     users = 1083, or correct the sizes; a group of its own for all others is allowed
        """
        if users is not None and users != self.people:
            raise ParameterError(
                f"The groups of {self.name!r} have {self.people:,} people together, and users is {users:,}.",
                allowed="sizes that add up to users: everybody is in exactly one group",
                fix=f"users = {self.people}, or correct the sizes; a group of its own for all others is allowed",
            )

    def to_spec(self) -> dict[str, object]:
        """Plain data, as a study file holds them."""
        column = {} if self.column == self.name else {"column": self.column}
        return {"name": self.name, **column, "sizes": dict(self.sizes)}


def _word(value: object, what: str, fix: str) -> str:
    if not isinstance(value, str) or not value.strip() or value != value.strip() or len(value) > _LONGEST:
        raise ParameterError(
            f"{what} is called {str(value)[:50]!r}.",
            allowed=f"1 to {_LONGEST} characters, no spaces around them",
            fix=fix,
        )
    return value
