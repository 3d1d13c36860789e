"""What every randomiser of items is: an (alpha0, 0)-d_X-DP channel with an exact law."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.noise import RandomSource
from barrow.numerics import float_down
from barrow.numerics.exact import near
from barrow.promises.channels import MOST_ITEMS, MOST_REPORTS, ItemChannel
from barrow.promises.definitions import positive
from barrow.spaces import Space
from barrow.spaces.space import Floats, Ids

Integers = NDArray[np.int64]

TOTAL = 2**62
"""The whole weights of a row sum to this."""
DEEPEST = 28.0
"""Reports are at least e^-28 times as likely as the likeliest: rarer ones could not be told apart by 62-bit weights."""
USELESS = 0.5
"""Reports that move an item at least this far, in units of what a uniform guess does, say next to nothing."""


class Randomiser(ABC):
    """Turns each item into a report; every item on its own, with a law that is exactly the claimed one.

    Attributes:
        space: The public space of the items.
        alpha0_upper: The channel is (alpha0_upper, 0)-d_X-DP: the tight parameter of what is really drawn, rounded up.
    """

    kind: str
    """The name of the kind in plain data."""
    most_items: ClassVar[int | None] = None
    """The most items that can be drawn at once, where there is a limit."""
    space: Space
    alpha0_upper: Fraction

    @property
    def reports(self) -> int:
        """How many different reports there are; by default those are the items."""
        return self.space.items

    @property
    def report_labels(self) -> Sequence[str]:
        """What the reports are called."""
        return self.space.labels

    @abstractmethod
    def from_items(self, ids: ArrayLike, *, source: RandomSource | None = None) -> Ids:
        """One report for each item, in the order of the items (private until they are sorted or counted)."""

    @abstractmethod
    def from_counts(self, counts: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """The histogram of reports of ``counts[x]`` items of each kind x: the same law as counting ``from_items``."""

    @abstractmethod
    def distortions(self) -> Floats | None:
        """For each item, the expected normalised distance to its report (or a bound); None where reports are no items.

        Of public parameters only.
        """

    @property
    def family(self) -> str | None:
        """The name of the family, ``krr:K`` or ``gkrr:SxT:R``, if the reports are a function of such ones, else None.

        It promises probabilities that agree with the family's at ``alpha0_upper`` to a relative 1e-12.
        """
        return None

    def weight_rows(self) -> list[list[int]] | None:
        """The exact weights of all reports on each item, rows of one sum; None where they are not whole numbers.

        >>> from barrow.randomisers import randomised_response
        >>> from barrow.spaces import Discrete
        >>> rows = randomised_response(Discrete(["a", "b"]), 1).weight_rows()
        >>> rows[0] == rows[1][::-1], rows[0][0] / rows[0][1] < 2.7182819
        (True, True)
        """
        return None

    @cached_property
    def channel(self) -> ItemChannel | None:
        """The channel as an event holds it: where it is finite and small, and no family has its name.

        >>> from barrow.randomisers import exponential, randomised_response
        >>> from barrow.spaces import Discrete, Line
        >>> exponential(Line(0, 8, step=1), 2).channel.reports, randomised_response(Discrete(["a", "b"]), 1).channel
        (9, None)
        """
        k = self.space.items
        if not (2 <= k <= MOST_ITEMS and 2 <= self.reports <= MOST_REPORTS) or self.family is not None:
            return None
        rows = self.weight_rows()
        if rows is None or all(row == rows[0] for row in rows):
            return None
        error = 1 - Fraction(self.space.distance_error)
        block = np.asarray(self.space.block(range(k)), dtype=np.float64)
        apart = [float_down(Fraction(float(block[x, y])) * error) for x in range(k) for y in range(x + 1, k)]
        return ItemChannel(rows, apart) if min(apart) > 0.0 else None

    @property
    def description(self) -> str:
        """In plain words."""
        return self.kind.replace("_", " ")

    def to_spec(self) -> dict[str, Any]:
        """Plain data: the kind and what it needs beside the space and alpha0."""
        return {"kind": self.kind}

    # What follows from these.

    @property
    def distortion(self) -> float | None:
        """The largest of :meth:`distortions`, in the space's units.

        >>> from barrow.randomisers import randomised_response
        >>> from barrow.spaces import Discrete
        >>> round(randomised_response(Discrete(["a", "b"]), 1).distortion, 3)
        0.269
        """
        result = self.distortions()
        return None if result is None else float(result.max()) * self.space.diameter

    @property
    def uniform_guess(self) -> float | None:
        """What a report drawn uniformly from all items, would be off by on average, for the same item.

        >>> from barrow.randomisers import randomised_response
        >>> from barrow.spaces import Discrete
        >>> randomised_response(Discrete(["a", "b"]), 1).uniform_guess
        0.5
        """
        result = self.distortions()
        if result is None:
            return None
        worst = int(np.argmax(result))
        return float(self.space.block([worst]).mean()) * self.space.diameter

    @property
    def warning(self) -> str | None:
        """A sentence if a single report is nearly useless, else None.

        >>> from barrow.randomisers import randomised_response
        >>> from barrow.spaces import Discrete
        >>> print(randomised_response(Discrete(["a", "b"]), "0.01").warning)
        The reports are nearly useless one by one: an item moves by 0.498 on average, and a uniform guess by 0.5.
        """
        moved, blind = self.distortion, self.uniform_guess
        if moved is None or blind is None or moved < USELESS * blind:
            return None
        return (
            f"The reports are nearly useless one by one: an item moves by {near(moved, self.space.unit)} on average, "
            f"and a uniform guess by {near(blind, self.space.unit)}."
        )


def item_counts(counts: ArrayLike, items: int) -> Integers:
    """How often each of so many items occurs, as whole numbers.

    >>> item_counts([2, 0, 1], 3).tolist()
    [2, 0, 1]
    """
    array = np.asarray(counts)
    if array.shape != (items,) or array.dtype.kind not in "iu" or (array < 0).any():
        raise ParameterError(
            "The counts are not one whole number for each item of the space.",
            allowed=f"{items} whole numbers of 0 or more",
            fix="numpy.bincount(ids, minlength=space.items)",
        )
    return array.astype(np.int64)


def wanted_alpha0(alpha0: Any) -> Fraction:
    """``alpha0`` as a rational above 0."""
    return positive(alpha0, "alpha0")
