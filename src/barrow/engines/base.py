"""What every engine can do: the methods are the same for all, and an engine says how each is done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from barrow.engines.columns import Columns
from barrow.engines.counts import MOST_PEOPLE, CheckReport, Counts, Integers, Sampled, check_users, merged
from barrow.engines.refusals import refuse_more_users
from barrow.engines.sampling import check_samples
from barrow.engines.source import Source
from barrow.errors import ParameterError
from barrow.noise import Source as Randomness
from barrow.spaces import Space
from barrow.spaces.base import Unknown


@dataclass(frozen=True)
class Asked:
    """What an engine is asked about: the records, how they are read, and the public number of users."""

    source: Source
    columns: Columns
    space: Space
    unknown: Unknown
    users: int | None

    def check_found(self, found: int) -> None:
        """Refuse more users than the public number of users."""
        if self.users is not None and found > self.users:
            raise refuse_more_users()

    def sampled(self, items: Integers, counts: Integers, *, samples: int, found: int, private: bool) -> Sampled:
        """The pooled draws from ``found`` users; users that are missing hold the default item ``samples`` times."""
        everybody = found if self.users is None else self.users
        if everybody * samples > MOST_PEOPLE:
            raise ParameterError(
                "So many samples of so many users cannot be added up.",
                allowed="at most 2^62 draws of all users together",
                fix=f"samples={max(1, samples // 1000)}",
            )
        some = counts > 0
        pooled = merged(items[some], np.full(int(some.sum()), samples), counts[some], users=found)
        drawn = Sampled(pooled.items, pooled.counts, samples=samples, users=found, private=private)
        return drawn.with_users(everybody, self.space.default_item)


class Engine(ABC):
    """Reads records where they are and gives integers; ids of users never leave it.

    All engines give the same integers for the same records, in whatever order and in however many files.

    >>> from barrow.engines import DuckDBEngine, MemoryEngine
    >>> isinstance(MemoryEngine(), Engine) and isinstance(DuckDBEngine(), Engine)
    True
    """

    name: ClassVar[str]

    @abstractmethod
    def columns(self, source: Any) -> dict[str, str]:
        """Names of the columns and the kinds of their values; no record is read.

        The kinds are integer, real, decimal, text, any, boolean, time, local time, date, clock,
        zoned clock, nested and other.
        """

    @abstractmethod
    def validate(self, source: Any, columns: Columns, space: Space, *, unknown: Unknown = "error") -> None:
        """Refuse what cannot work (missing columns, wrong types, spaces that it cannot read) from public facts only."""

    @abstractmethod
    def _count(self, asked: Asked) -> Counts:
        """The counts of the users that are found."""

    @abstractmethod
    def _sample(self, asked: Asked, samples: int, randomness: Randomness | None) -> Sampled:
        """The pooled draws; more users than the public number are refused."""

    @abstractmethod
    def _check(self, asked: Asked, examples: int) -> CheckReport:
        """The report, with up to some examples."""

    def count(
        self,
        source: Any,
        columns: Columns,
        space: Space,
        *,
        unknown: Unknown = "error",
        users: int | None = None,
    ) -> Counts:
        """C[item, size] and the number of users (private integers).

        Args:
            source: Where the records are.
            columns: Which columns say who and what.
            space: The public space of items.
            unknown: What happens to missing or unknown items, as in ``space.encode``.
            users: n, if it is public beforehand: users without records count as holding the default item.
        """
        check_users(users)
        counts = self._count(Asked(Source.of(source), columns, space, unknown, users))
        return counts if users is None else counts.with_users(users, space.default_item)

    def sample(
        self,
        source: Any,
        columns: Columns,
        space: Space,
        *,
        samples: int,
        unknown: Unknown = "error",
        users: int | None = None,
        randomness: Randomness | None = None,
    ) -> Sampled:
        """Counts of ``samples`` items drawn from each user with replacement, exactly uniformly (private integers).

        Args:
            source: Where the records are.
            columns: Which columns say who and what.
            space: The public space of items.
            samples: s, how many items are drawn from each user; those without records hold the default item.
            unknown: What happens to missing or unknown items, as in ``space.encode``; drawn or not, they are refused.
            users: n, if it is public beforehand: users without records count as holding the default item.
            randomness: The system's by default, never the engine's own.

        >>> from barrow.engines import MemoryEngine
        >>> from barrow.spaces import Discrete
        >>> table = {"uid": ["ann", "ann", "bob"], "item": ["a", "b", "b"]}
        >>> drawn = MemoryEngine().sample(table, Columns("uid", "item"), Discrete(["a", "b"]), samples=5, users=3)
        >>> drawn.users, drawn.counts.sum().item(), bool((drawn.counts >= 5).all())
        (3, 15, True)
        """
        check_users(users)
        samples = check_samples(samples)
        return self._sample(Asked(Source.of(source), columns, space, unknown, users), samples, randomness)

    def check(
        self,
        source: Any,
        columns: Columns,
        space: Space,
        *,
        unknown: Unknown = "error",
        users: int | None = None,
        examples: int = 5,
    ) -> CheckReport:
        """What is wrong with the records, for the curator's eyes only: it holds private counts and values."""
        check_users(users)
        return self._check(Asked(Source.of(source), columns, space, unknown, users), examples)
