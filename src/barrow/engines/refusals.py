"""The constant texts with which engines refuse private data: no message repeats a value."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from barrow.errors import BarrowError, DataError

T = TypeVar("T")

OUTSIDE_SAID = "write outside = 'elsewhere', 'nearest' or 'default' under [data] (Python: read(…, outside=…))"
_SHOWN = "barrow check (Python: engine.check) shows the curator which"

refuse_null_users = partial(DataError, "Some records have no user.", allowed="a user in every record", fix=_SHOWN)
refuse_lost_items = partial(
    DataError,
    "Some records are missing or are not items of the public space.",
    allowed="records that the space knows",
    fix=f"{_SHOWN}; or {OUTSIDE_SAID}",
)
refuse_empty = partial(DataError, "The source holds no records.", allowed="at least one record", fix="check the source")
refuse_unreadable = partial(
    DataError,
    "The records cannot be read.",
    allowed="a readable source",
    fix="barrow check (Python: engine.check) shows the curator the engine's own message",
)
refuse_changed = partial(
    DataError,
    "The records changed while they were read.",
    allowed="records that do not change while they are read",
    fix="read the records again when nobody writes to them",
)
refuse_weights = partial(
    DataError,
    "Some records have a weight that is no count.",
    allowed="whole numbers from 0 to 2^31 in the weight column",
    fix=_SHOWN,
)
refuse_more_users = partial(
    DataError,
    "The data hold more users than the public number of users.",
    allowed="at most as many users as the study says",
    fix="mend the records, or choose a larger public number of users",
)
refuse_short_of_room = partial(
    DataError,
    "The engine ran out of memory or of disk for temporary files.",
    allowed="more memory, or a temporary folder with more room",
    fix="DuckDBEngine(memory='8GB', folder='/large/disk')",
)
refuse_stopped = partial(
    DataError,
    "The Spark session has ended.",
    allowed="a session that runs until the records are read",
    fix="start one and make the DataFrame again; nothing was paid and nothing is left behind",
)
refuse_gone = partial(
    DataError,
    "The connection to the server was lost.",
    allowed="a server that stays until the records are read",
    fix="try again; nothing was paid and nothing is left behind",
)


class PrivateTextError(Exception):
    """A failure in an engine's own words, which may repeat private values: it never leaves the engines package."""


def quietly(act: Callable[[], T], refusal: Callable[[], BarrowError] = refuse_unreadable) -> T:
    """Do ``act``; where it fails in the engine's own words, fail with the constant text of ``refusal`` instead."""
    try:
        return act()
    except PrivateTextError:
        pass
    # Raised here and not above, so that the private text does not travel along as the error's context.
    raise refusal()
