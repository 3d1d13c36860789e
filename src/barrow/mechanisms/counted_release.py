"""What histograms along trees and along graphs have in common: one draw for all users, or one report for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.mechanisms.additive import checked_model
from barrow.mechanisms.statistics import UserCounts
from barrow.noise import RoundedValues, Source
from barrow.privacy import Model
from barrow.queries import Query
from barrow.spaces import Space
from barrow.spaces.base import Floats

Answer = TypeVar("Answer")


class CountedRelease(ABC, Generic[Answer]):
    """Noise on a query of users' counts, in the central or in the local model; everything in it is public.

    >>> from barrow.mechanisms.tree_histogram import tree_histogram
    >>> from barrow.spaces import Discrete
    >>> issubclass(type(tree_histogram(Discrete(["a", "b"]), 25, users=10)), CountedRelease)
    True
    """

    made_by: ClassVar[str]
    parts: ClassVar[str]
    query: Query
    users: int
    model: Model

    @property
    def space(self) -> Space:
        """The public space."""
        return self.query.space

    @property
    def reports(self) -> int:
        """How many noisy values are averaged for each output: n in the local model, else 1."""
        return self.users if self.model is Model.LOCAL else 1

    @abstractmethod
    def draw(self, center: Any, source: Source | None = None) -> RoundedValues:
        """``center``, one exact value for each output, with noise, exactly rounded to the grid."""

    @abstractmethod
    def _answer(self, values: Floats, private: bool, rounded: RoundedValues | None = None) -> Answer:
        """What the values say."""

    def release(self, counts: UserCounts, *, source: Source | None = None) -> Answer:
        """The noisy values of the mean over users (central model).

        Args:
            counts: The users' exact statistics.
            source: Where random words come from.
        """
        if self.model is Model.LOCAL:
            raise ParameterError(
                "The model is local: nobody holds the statistics of all users.",
                allowed="report() for each user, then combine()",
                fix=f"{self.made_by}(..., model='central') if a curator is trusted",
            )
        if counts.users != self.users:
            raise ParameterError(
                f"The statistics are those of {counts.users:,} users, but the noise was made for {self.users:,}.",
                allowed="the same public number",
                fix=f"users={counts.users}",
            )
        drawn = self.draw(counts.center(self.query), source)
        return self._answer(drawn.values, drawn.private, drawn)

    def report(self, ids: ArrayLike, *, source: Source | None = None) -> RoundedValues:
        """One user's noisy values (local model): integers on a public grid.

        Args:
            ids: The user's items; a user without items holds the default item.
            source: Where random words come from.
        """
        if self.model is not Model.LOCAL:
            raise ParameterError(
                "The model is central: users do not report, a curator releases.",
                allowed="release(counts)",
                fix=f"{self.made_by}(..., model='local') if no curator is trusted",
            )
        return self.draw(UserCounts.of_users(self.space, [ids]).center(self.query), source)

    def combine(self, means: ArrayLike, *, reports: int, private: bool = True) -> Answer:
        """The answer from the means of the reports of many users (local model).

        Args:
            means: The mean of the reported values of each output.
            reports: How many users reported.
            private: Whether all noise was the system's.
        """
        if self.model is not Model.LOCAL:
            raise ParameterError(
                "The model is central: there are no reports to combine.",
                allowed="release(counts)",
                fix="release(counts)",
            )
        _, n = checked_model("central", reports)
        values = np.asarray(means, dtype=np.float64)
        if values.shape != (self.query.dimension,) or not np.isfinite(values).all():
            raise ParameterError(
                f"means has shape {values.shape}.",
                allowed=f"a finite number for each of the {self.query.dimension:,} {self.parts}",
                fix="the means of report(...).values over users",
            )
        here: CountedRelease[Answer] = replace(self, users=n)  # type: ignore[type-var]
        return here._answer(values, private)
