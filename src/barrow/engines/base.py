"""What every engine can do, and the constant texts with which it refuses private data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from barrow.engines.columns import Columns
from barrow.engines.counts import CheckReport, Counts, Sampled
from barrow.errors import DataError
from barrow.noise import Source as Randomness
from barrow.spaces import Space
from barrow.spaces.base import Unknown

T = TypeVar("T")


@runtime_checkable
class Engine(Protocol):
    """Reads records where they are and gives integers; ids of users never leave it.

    All engines give the same integers for the same records, in whatever order and in however many files.

    >>> from barrow.engines import DuckDBEngine, MemoryEngine
    >>> isinstance(MemoryEngine(), Engine) and isinstance(DuckDBEngine(), Engine)
    True
    """

    name: ClassVar[str]

    def columns(self, source: Any) -> dict[str, str]:
        """Names of the columns and the kinds of their values; no record is read.

        The kinds are integer, real, decimal, text, any, boolean, time, local time, date, clock,
        zoned clock, nested and other.
        """
        ...

    def validate(self, source: Any, columns: Columns, space: Space, *, unknown: Unknown = "error") -> None:
        """Refuse what cannot work (missing columns, wrong types) from public facts only."""
        ...

    def count(
        self,
        source: Any,
        columns: Columns,
        space: Space,
        *,
        unknown: Unknown = "error",
        users: int | None = None,
    ) -> Counts:
        """C[item, size] and the number of users (private integers)."""
        ...

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
        """Counts of ``samples`` items drawn from each user with replacement, exactly uniformly (private integers)."""
        ...

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
        """What is wrong with the records, for the curator's eyes only."""
        ...


def refuse_null_users() -> DataError:
    """The constant refusal of records without a user.

    >>> print(refuse_null_users().problem)
    Some records have no user.
    """
    return DataError(
        "Some records have no user.",
        allowed="a user in every record",
        fix="barrow check (Python: engine.check) shows the curator which",
    )


def refuse_lost_items() -> DataError:
    """The constant refusal of records whose item is missing or unknown.

    >>> print(refuse_lost_items().problem)
    Some records are missing or are not items of the public space.
    """
    return DataError(
        "Some records are missing or are not items of the public space.",
        allowed="records that the space knows",
        fix="barrow check (Python: engine.check) shows the curator which; or say unknown='default' (or 'nearest')",
    )


def refuse_empty() -> DataError:
    """The constant refusal of a source without records.

    >>> print(refuse_empty().problem)
    The source holds no records.
    """
    return DataError("The source holds no records.", allowed="at least one record", fix="check the source")


def refuse_unreadable() -> DataError:
    """The constant refusal of records that the engine cannot read; its own message might repeat private values.

    >>> print(refuse_unreadable().problem)
    The records cannot be read.
    """
    return DataError(
        "The records cannot be read.",
        allowed="a readable source",
        fix="barrow check (Python: engine.check) shows the curator the engine's own message",
    )


def refuse_changed() -> DataError:
    """The constant refusal of records that changed between two readings.

    >>> print(refuse_changed().problem)
    The records changed while they were read.
    """
    return DataError(
        "The records changed while they were read.",
        allowed="records that do not change while they are read",
        fix="read the records again when nobody writes to them",
    )


def refuse_weights() -> DataError:
    """The constant refusal of weights that are no counts.

    >>> print(refuse_weights().problem)
    Some records have a weight that is no count.
    """
    return DataError(
        "Some records have a weight that is no count.",
        allowed="whole numbers from 0 to 2^31 in the weight column",
        fix="barrow check (Python: engine.check) shows the curator which",
    )


def refuse_short_of_room() -> DataError:
    """The constant refusal when memory and disk do not suffice.

    >>> print(refuse_short_of_room().problem)
    The engine ran out of memory or of disk for temporary files.
    """
    return DataError(
        "The engine ran out of memory or of disk for temporary files.",
        allowed="more memory, or a temporary folder with more room",
        fix="DuckDBEngine(memory='8GB', folder='/large/disk')",
    )


class PrivateTextError(Exception):
    """A failure in an engine's own words, which may repeat private values: it never leaves the engines package.

    >>> issubclass(PrivateTextError, Exception)
    True
    """


def quietly(act: Callable[[], T]) -> T:
    """Do ``act``; where it fails in the engine's own words, fail with the constant text instead.

    >>> def fail():
    ...     raise PrivateTextError("could not convert 'secret'")
    >>> quietly(fail)
    Traceback (most recent call last):
    ...
    barrow.errors.DataError: The records cannot be read.
      allowed: a readable source
      fix:     barrow check (Python: engine.check) shows the curator the engine's own message
    """
    try:
        return act()
    except PrivateTextError:
        pass
    # Raised here and not above, so that the private text does not travel along as the error's context.
    raise refuse_unreadable()
