"""Whole numbers as they are typed: read as strictly as every other number here."""

from __future__ import annotations

from typing import Any

import click

from barrow.errors import ParameterError
from barrow.numerics import whole


def counted(number: int, noun: str) -> str:
    """So many of something.

    >>> counted(1, "release"), counted(1200, "release")
    ('1 release', '1,200 releases')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


class Whole(click.ParamType):  # type: ignore[type-arg]  # older versions of click take no argument here
    """A whole number from ``least`` to ``most`` in the digits 0 to 9; Python's ``1_000`` and other scripts are none.

    >>> Whole().convert("1000", None, None), Whole().convert("1e5", None, None)
    (1000, 100000)
    >>> Whole(1, 100).convert("1_0", None, None)
    Traceback (most recent call last):
    ...
    click.exceptions.BadParameter: it is '1_0'. Allowed: a whole number from 1 to 100, e.g. 100.
    """

    name = "integer"

    def __init__(self, least: int = 0, most: int | None = None) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number that was typed."""
        try:
            return whole(value, "it", least=self.least, most=self.most, fix="1000")
        except ParameterError as error:
            example = min(1000, 1000 if self.most is None else self.most)
            self.fail(f"{error.problem} Allowed: {error.allowed}, e.g. {example}.", param, ctx)
