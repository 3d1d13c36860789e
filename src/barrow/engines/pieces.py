# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""Sampling inside DuckDB: records go through in pieces, of which only numbers of users come out and weights go in.

Users get the numbers 0, 1, … in no particular order. For each piece, the numbers of its records' users come out, how
often each record is drawn goes in, and the drawn records are counted by key where they are. So no id of a user and no
item leaves DuckDB but in the pooled counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from barrow.engines.base import refuse_lost_items
from barrow.engines.counts import Sampled
from barrow.engines.reading import Reading, read_sizes
from barrow.engines.sampling import Sampler, check_found, refuse_changed, sampled_counts
from barrow.engines.session import Session
from barrow.noise import Source
from barrow.spaces import Space
from barrow.spaces.base import Unknown

PIECE = 2**23
"""Records in a piece: some hundred mebibytes with all that is made of them."""


def sample_records(
    session: Session,
    reading: Reading,
    space: Space,
    *,
    samples: int,
    unknown: Unknown,
    users: int | None,
    randomness: Source | None,
) -> Sampled:
    """Counts of ``samples`` draws with replacement from each user's records; arguments as for every engine."""
    reading.prepare(session)
    numbered = reading.relation.numbered
    if numbered is None:
        session.run(f"CREATE TEMP TABLE coded AS {reading.coded()}")
    found, rows = read_sizes(session, "coded" if numbered is None else f"({reading.users()})")
    check_found(found, users)
    session.run(
        "CREATE TEMP TABLE people AS SELECT u, m, (row_number() OVER () - 1)::INTEGER AS g FROM sizes; DROP TABLE sizes"
    )
    sizes = session.arrays("SELECT m::BIGINT AS m FROM people ORDER BY g")["m"]
    sampler = Sampler(sizes, samples, randomness)
    keys = reading.keys
    session.run(
        f"CREATE TEMP TABLE tally AS SELECT {keys}, 0::BIGINT AS c, true AS same FROM ({reading.coded()}) LIMIT 0"
    )
    for done, coded in _pieces(reading, rows):
        session.run(f"CREATE OR REPLACE TEMP TABLE piece AS SELECT g, {keys} FROM ({coded}) JOIN people USING (u)")
        who = session.arrays("SELECT g FROM piece")["g"]
        session.register("drawn", {"w": sampler.draw(who), "h": who})
        # That both come in the same order is not taken on trust: it is asked of each record.
        session.run(
            f"INSERT INTO tally SELECT {keys}, sum(w), bool_and(g = h) FROM piece POSITIONAL JOIN drawn GROUP BY {keys}"
        )
        session.tell("sampling records", done / rows)
    session.tell("sampling records", None)
    sampler.finish()
    entries = session.arrays(
        f"WITH grouped AS (SELECT {keys}, sum(c) AS c, bool_and(same) AS same FROM tally GROUP BY {keys}) "
        f"SELECT coalesce({reading.encoding.item}, -1)::BIGINT AS item, c::BIGINT AS c, same "
        f"FROM grouped {' '.join(reading.encoding.late_joins)}"
    )
    item, count = entries["item"], entries["c"]
    if not entries["same"].all():
        raise refuse_changed()
    if (item < 0).any() and unknown != "default":
        raise refuse_lost_items()
    return sampled_counts(
        np.where(item < 0, space.default_item, item),
        count,
        samples=samples,
        found=found,
        users=users,
        default=space.default_item,
        private=sampler.private,
    )


def _pieces(reading: Reading, rows: int) -> Iterator[tuple[int, str]]:
    """SELECT of u and the keys of each piece, and how many records are read after it."""
    numbered = reading.relation.numbered
    for start in range(0, rows, PIECE):
        end = min(start + PIECE, rows)
        if numbered is None:
            yield end, f"SELECT * FROM coded WHERE rowid >= {start} AND rowid < {end}"
        else:
            part = f"(SELECT * FROM {numbered} WHERE file_row_number >= {start} AND file_row_number < {end})"
            yield end, replace(reading, relation=replace(reading.relation, sql=part)).coded()
