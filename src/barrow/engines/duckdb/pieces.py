# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""Sampling inside DuckDB: records go through in pieces, of which only numbers of users come out and weights go in.

Users get the numbers 0, 1, … in no particular order. For each piece, the numbers of its records' users come out, how
often each record is drawn goes in, and the drawn records are counted by key where they are. So no id of a user and no
item leaves DuckDB but in the pooled counts. Of a file that holds the records user by user, only the users' sizes come
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.engines.base import CountRequest
from barrow.engines.counts import LOST, Sampled, known_items, refuse_changed, refuse_empty
from barrow.engines.duckdb.session import Session, read_sizes
from barrow.engines.sampling import Sampler
from barrow.engines.sql.select_plan import SelectPlan
from barrow.errors import ParameterError
from barrow.noise import RandomSource

T = TypeVar("T")
Numbers = NDArray[Any]

PIECE = 2**23
"""Records in a piece: some hundred mebibytes with all that is made of them."""
_LOOKED_AT = 2**17
_LONG_RUNS = 16


def sample_records(
    session: Session,
    reading: SelectPlan,
    numbered: str | None,
    request: CountRequest,
    samples: int,
    randomness: RandomSource | None,
) -> Sampled:
    """Counts of ``samples`` draws with replacement from each user's records."""
    ordered = numbered is not None and _looks_ordered(session, reading)
    result, rows = _read_users(session, reading, numbered, ordered)
    request.check_users(result)
    if result >= 2**31:
        raise ParameterError(
            "Samples of more than 2^31 users cannot be drawn on one machine.",
            allowed="fewer users",
            fix="count instead, or split the study",
        )
    keys = reading.keys
    coded = "coded" if numbered is None else f"({reading.coded()})"
    session.run(f"CREATE TEMP TABLE tally AS SELECT {keys}, 0::BIGINT AS c, true AS same FROM {coded} LIMIT 0")
    sampler = _tally_in_order(session, reading, numbered, rows, samples, randomness) if ordered else None
    if sampler is None:
        sampler = _tally_mixed(session, reading, numbered, rows, samples, randomness)
    session.tell("sampling records", None)
    sampler.finish()
    entries = session.arrays(
        f"WITH grouped AS (SELECT {keys}, sum(c) AS c, bool_and(same) AS same FROM tally GROUP BY {keys}) "
        f"SELECT coalesce({reading.encoding.item}, {LOST})::BIGINT AS item, c::BIGINT AS c, same "
        f"FROM grouped {' '.join(reading.encoding.late_joins)}"
    )
    item, count = entries["item"], entries["c"]
    if not entries["same"].all():
        raise refuse_changed()
    items = known_items(item, request.space.default_item, request.unknown)
    return request.sampled(items, count, samples=samples, users=result, private=sampler.private)


def _looks_ordered(session: Session, reading: SelectPlan) -> bool:
    """Whether the first records seem to come user by user; then it is worth finding out.

    Lookups beside the records might change their order, so that only plain keys are read in this way.
    """
    if reading.encoding.joins:
        return False
    (few, some) = session.rows(
        f"SELECT count(DISTINCT u), count(*) FROM (SELECT u FROM ({reading.users()}) LIMIT {_LOOKED_AT})"
    )[0]
    return bool(_LONG_RUNS * few <= some)


def _read_users(session: Session, reading: SelectPlan, numbered: str | None, ordered: bool) -> tuple[int, int]:
    """Make ``sizes``, and ``coded`` if records have no numbers of their own; how many users and records there are."""
    users, more = f"({reading.users()})", ""
    if numbered is None:
        users = "coded"
        session.run(f"CREATE TEMP TABLE coded AS {reading.coded()}")
    elif ordered:
        users = f"(SELECT {reading.user} AS u, file_row_number AS r FROM {numbered})"
        more = ", min(r) AS first, max(r) AS last"
    read_sizes(session, users, more=more, total="COUNT(*)", grouped=False)
    people, records = session.rows("SELECT count(*), coalesce(sum(m), 0) FROM sizes")[0]
    if not people:
        raise refuse_empty()
    return int(people), int(records)


def _tally_in_order(
    session: Session,
    reading: SelectPlan,
    numbered: str | None,
    rows: int,
    samples: int,
    randomness: RandomSource | None,
) -> Sampler | None:
    """Count the draws where every user's records are consecutive: then sizes in that order say whose each record is.

    None, and an empty tally, where they are not, or where DuckDB did not keep the order of the file.
    """
    if not session.rows("SELECT bool_and(last - first + 1 = m) FROM sizes")[0][0]:
        return None
    sizes = session.arrays("SELECT m::BIGINT AS m FROM sizes ORDER BY first")["m"]
    ends, keys, sampler = np.cumsum(sizes), reading.keys, Sampler(sizes, samples, randomness)

    def owners() -> Iterator[tuple[tuple[int, int], Numbers]]:
        for start, end in _cuts(rows):
            low, high = np.searchsorted(ends, start, side="right"), np.searchsorted(ends, end, side="left") + 1
            held = np.minimum(ends[low:high], end) - np.maximum(ends[low:high] - sizes[low:high], start)
            yield (start, end), np.repeat(np.arange(low, high, dtype=np.int32), held)

    for (start, end), _, weights in _drawn_ahead(sampler, owners()):
        session.register("drawn", {"w": weights, "h": np.arange(start, end)})
        # That the records come in the order of the file is not taken on trust: it is asked of each.
        session.run(
            f"INSERT INTO tally SELECT {keys}, sum(w), bool_and(r IS NOT DISTINCT FROM h) "
            f"FROM ({_piece(reading, str(numbered), start, end)}) POSITIONAL JOIN drawn GROUP BY {keys}"
        )
        session.tell("sampling records", end / rows)
    if session.rows("SELECT bool_and(same) FROM tally")[0][0]:
        return sampler
    session.run("DELETE FROM tally")
    return None


def _tally_mixed(
    session: Session,
    reading: SelectPlan,
    numbered: str | None,
    rows: int,
    samples: int,
    randomness: RandomSource | None,
) -> Sampler:
    """Count the draws where records lie in any order: the numbers of their users are asked for, piece by piece."""
    session.run("CREATE TEMP TABLE people AS SELECT u, m, (row_number() OVER () - 1)::INTEGER AS g FROM sizes")
    sizes = session.arrays("SELECT m::BIGINT AS m FROM people ORDER BY g")["m"]
    keys, sampler = reading.keys, Sampler(sizes, samples, randomness)

    def owners() -> Iterator[tuple[tuple[str, int], Numbers]]:
        for number, (start, end) in enumerate(_cuts(rows)):
            coded = f"SELECT * FROM coded WHERE rowid >= {start} AND rowid < {end}"
            if numbered is not None:
                coded = _piece(reading, numbered, start, end)
            piece = f"piece{number % 2}"  # the one before is still being drawn from
            session.run(
                f"CREATE OR REPLACE TEMP TABLE {piece} AS SELECT g, {keys} FROM ({coded}) JOIN people USING (u)"
            )
            yield (piece, end), session.arrays(f"SELECT g FROM {piece}")["g"]

    for (piece, end), who, weights in _drawn_ahead(sampler, owners()):
        session.register("drawn", {"w": weights, "h": who})
        # That both come in the same order is not taken on trust either.
        session.run(
            f"INSERT INTO tally SELECT {keys}, sum(w), bool_and(g IS NOT DISTINCT FROM h) "
            f"FROM {piece} POSITIONAL JOIN drawn GROUP BY {keys}"
        )
        session.tell("sampling records", end / rows)
    return sampler


def _drawn_ahead(sampler: Sampler, owners: Iterable[tuple[T, Numbers]]) -> Iterator[tuple[T, Numbers, Numbers]]:
    """Each piece with its weights; while DuckDB works on one piece, a thread draws for the next, one at a time."""
    with heavy.ThreadPoolExecutor(max_workers=1) as worker:
        before: tuple[T, Numbers, heavy.Future[Numbers]] | None = None
        for piece, who in owners:
            now = (piece, who, worker.submit(sampler.draw, who))
            if before is not None:
                yield before[0], before[1], before[2].result()
            before = now
        if before is not None:
            yield before[0], before[1], before[2].result()


def _cuts(rows: int) -> Iterator[tuple[int, int]]:
    """Where pieces start and end."""
    for start in range(0, rows, PIECE):
        yield start, min(start + PIECE, rows)


def _piece(reading: SelectPlan, numbered: str, start: int, end: int) -> str:
    """SELECT of u, the keys and the number r of the records from ``start`` to ``end`` of a file that has numbers."""
    part = f"(SELECT * FROM {numbered} WHERE file_row_number >= {start} AND file_row_number < {end})"
    return replace(reading, table=part).coded({"r": "file_row_number"})
