"""Public groups: everybody in exactly one, sizes typed and adding up."""

from __future__ import annotations

import pytest

from barrow.errors import ParameterError
from barrow.promises.groups import Grouping


def test_sizes_and_labels_keep_their_order() -> None:
    grouping = Grouping("region", "area", {"south": 2, "north": 3})
    assert grouping.labels == ("south", "north")
    assert grouping.to_spec() == {"name": "region", "column": "area", "sizes": {"south": 2, "north": 3}}
    assert Grouping(**grouping.to_spec()) == grouping  # type: ignore[arg-type]
    grouping.check(5)
    grouping.check(None)


@pytest.mark.parametrize("users", [4, 6])
def test_sizes_that_do_not_add_up_are_refused(users: int) -> None:
    with pytest.raises(ParameterError, match="have 5 people together"):
        Grouping("region", sizes={"north": 2, "south": 3}).check(users)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("region", {}),
        ("region", (("north", 1), ("north", 2))),
        ("region", {"north": 0}),
        ("region", {"north": -1}),
        ("region", {"north": 1.5}),
        ("region", {"": 1}),
        ("region", {" north": 1}),
        ("", {"north": 1}),
        ("all", {"north": 1}),
        (3, {"north": 1}),
    ],
)
def test_bad_groupings(name: str, sizes: dict[str, int]) -> None:
    with pytest.raises(ParameterError):
        Grouping(name, sizes=sizes)


def test_sizes_are_never_learnt_and_it_says_why() -> None:
    with pytest.raises(ParameterError, match="learnt from the data would reveal that somebody is in them"):
        Grouping("region")


def test_an_unknown_group_is_refused_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'north'"):
        Grouping("region", sizes={"north": 2, "south": 3}).size("nort")
