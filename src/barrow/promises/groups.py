"""Groups: public ones of people, whose sizes are declared, and hidden ones, which are part of each record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barrow.errors import ParameterError, unknown_name
from barrow.numerics import Exact, checked_people

EVERYBODY = "all"
"""In place of a grouping: all people together, a group of its own."""
_LONGEST = 200


@dataclass(frozen=True, repr=False)
class Grouping:
    """Groups by which questions are answered: public ones, with sizes, or hidden ones, with labels.

    A public grouping is an attribute that puts each person into exactly one group (docs/proofs/scopes.md, public
    groups). The group of a hidden one is part of each record and as private as its item: another group counts as so
    far elsewhere (docs/proofs/private-groups.md).

    Args:
        name: What the grouping is called.
        column: The column of the records that says the group; the name by default.
        sizes: Public groups: how many people each one has; typed, never counted from the records.
        labels: Hidden groups: their public names.
        distance: Hidden groups: how far another group is, ``"20 km"`` or a share of the largest distance of the items.

    >>> Grouping("region", sizes={"north": 512, "south": 571}).people
    1083
    >>> Grouping("department", labels=["a", "b"], distance="20 km").hidden
    True
    """

    name: str
    column: str
    sizes: tuple[tuple[str, int], ...]
    distance: Exact | None
    hidden_labels: tuple[str, ...]

    def __init__(
        self,
        name: str,
        column: str | None = None,
        sizes: Mapping[str, int] | tuple[tuple[str, int], ...] = (),
        labels: Sequence[str] = (),
        distance: Exact | None = None,
    ) -> None:
        vars(self).update(name=_word(name, "A grouping", 'name = "region"'), distance=distance)
        if self.name == EVERYBODY:
            raise ParameterError(
                "A grouping is called 'all', which stands for everybody.", allowed="another name", fix='name = "region"'
            )
        vars(self).update(column=self.name if column is None else _word(column, "A column", 'column = "x"'))
        pairs = tuple(sizes.items()) if isinstance(sizes, Mapping) else tuple(sizes)
        names = (labels,) if isinstance(labels, str) else tuple(labels)
        vars(self).update(hidden_labels=tuple(_word(one, "A group", 'labels = ["a", "b"]') for one in names))
        if names or distance is not None:
            self._check_hidden(bool(pairs))
        elif not pairs or len({label for label, _ in pairs}) < len(pairs):
            raise ParameterError(
                f"The grouping {self.name!r} has a group twice."
                if pairs
                else f"The grouping {self.name!r} has no sizes. Groups and sizes learnt from the data would reveal "
                "that somebody is in them.",
                allowed="the public number of people in every group; or, where the group is part of each record and "
                "hidden, labels and distance",
                fix='sizes = {north = 512, south = 571}, or labels = ["a", "b"] and distance = "20 km"',
            )
        known = tuple((_word(label, "A group", 'sizes = {"north" = 512}'), checked_people(n)) for label, n in pairs)
        vars(self).update(sizes=known)

    def _check_hidden(self, sized: bool) -> None:
        names = self.hidden_labels
        if sized:
            raise ParameterError(
                f"The grouping {self.name!r} has sizes, as public groups of people have, and labels or a distance, as "
                "hidden groups of records have.",
                allowed="sizes alone, or labels and distance",
                fix="sizes if who is in which group is public; labels and distance if it must stay hidden",
            )
        if len(names) < 2 or len(set(names)) < len(names) or self.distance is None:
            raise ParameterError(
                f"The hidden grouping {self.name!r} has {len(set(names))} labels"
                + (" and no distance." if self.distance is None else ", or one of them twice."),
                allowed="2 or more different labels, and how far another group is",
                fix='labels = ["a", "b"], distance = "20 km"; or distance = "1 of the largest distance"',
            )

    @property
    def hidden(self) -> bool:
        """Whether the group is part of each record and as private as its item."""
        return bool(self.hidden_labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The groups, in the order in which they were declared."""
        return self.hidden_labels or tuple(label for label, _ in self.sizes)

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
        problem = f"The grouping {self.name!r} has no group {label!r}."
        raise unknown_name(problem, label, self.labels, otherwise=self.labels[0])

    def check(self, users: int | None) -> None:
        """Refuse sizes that do not add up to the public number of people.

        >>> Grouping("region", sizes={"north": 512, "south": 571}).check(1000)
        Traceback (most recent call last):
        ...
        barrow.errors.ParameterError: The groups of 'region' have 1,083 people together, and users is 1,000.
          allowed: sizes that add up to users: everybody is in exactly one group
          fix:     users = 1083, or correct the sizes; a group of its own for all others is allowed
        """
        if not self.hidden and users is not None and users != self.people:
            raise ParameterError(
                f"The groups of {self.name!r} have {self.people:,} people together, and users is {users:,}.",
                allowed="sizes that add up to users: everybody is in exactly one group",
                fix=f"users = {self.people}, or correct the sizes; a group of its own for all others is allowed",
            )

    def __repr__(self) -> str:
        column = "" if self.column == self.name else f", {self.column!r}"
        if self.hidden:
            return f"Grouping({self.name!r}{column}, labels={list(self.hidden_labels)!r}, distance={self.distance!r})"
        return f"Grouping({self.name!r}{column}, sizes={dict(self.sizes)!r})"

    def to_spec(self) -> dict[str, object]:
        """Plain data, as a study file holds them."""
        column = {} if self.column == self.name else {"column": self.column}
        if not self.hidden:
            return {"name": self.name, **column, "sizes": dict(self.sizes)}
        far = self.distance if isinstance(self.distance, int | float | str) else str(self.distance)
        return {"name": self.name, **column, "labels": list(self.hidden_labels), "distance": far}


def _word(value: object, what: str, fix: str) -> str:
    if not isinstance(value, str) or not value.strip() or value != value.strip() or len(value) > _LONGEST:
        raise ParameterError(
            f"{what} is called {str(value)[:50]!r}.",
            allowed=f"1 to {_LONGEST} characters, no spaces around them",
            fix=fix,
        )
    return value
