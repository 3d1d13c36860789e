"""The embedded flights as a tree, country > state > airport: which state each of the 100 airports lies in (public)."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from barrow.spaces import Tree

STATES = {
    "AK": "ANC",
    "AL": "BHM",
    "AR": "XNA",
    "AZ": "PHX",
    "CA": "BUR LAX LGB OAK PSP SAN SFO SJC SMF SNA",
    "CO": "DEN EGE HDN MTJ",
    "CT": "BDL",
    "FL": "EYW FLL JAX MCO MIA PBI RSW SRQ TPA",
    "GA": "ATL SAV",
    "HI": "HNL",
    "IA": "DSM",
    "IL": "MDW ORD",
    "IN": "IND SBN",
    "KY": "CVG LEX SDF",
    "LA": "MSY",
    "MA": "ACK BOS MVY",
    "MD": "BWI",
    "ME": "BGR PWM",
    "MI": "DTW GRR TVC",
    "MN": "MSP",
    "MO": "MCI STL",
    "MT": "BZN",
    "NC": "AVL CLT GSO ILM RDU",
    "NE": "OMA",
    "NH": "MHT",
    "NM": "ABQ",
    "NV": "LAS",
    "NY": "ALB BUF ROC SYR",
    "OH": "CAK CLE CMH DAY",
    "OK": "OKC TUL",
    "OR": "PDX",
    "PA": "PHL PIT",
    "RI": "PVD",
    "SC": "CAE CHS GSP MYR",
    "TN": "BNA MEM TYS",
    "TX": "AUS DFW HOU IAH SAT",
    "UT": "SLC",
    "VA": "CHO DCA IAD ORF RIC",
    "VT": "BTV",
    "WA": "SEA",
    "WI": "MKE MSN",
    "WV": "CRW",
    "WY": "JAC",
}


def airports(*, within: float = 0.1) -> Tree:
    """Two airports of one state are ``within`` apart, others 1."""
    edges = [(state, "US", (1.0 - within) / 2.0) for state in STATES]
    edges += [(code, state, within / 2.0) for state, codes in STATES.items() for code in codes.split()]
    return Tree(edges)


def flights(space: Tree) -> tuple[NDArray[np.float64], int]:
    """The mean over aircraft of where each flew, and how many aircraft there are."""
    import duckdb

    file = str(files("barrow.demo") / "data" / "flights.parquet")
    rows = (
        duckdb.connect()
        .execute(
            f"""WITH one AS (SELECT "user" AS u, dest, count(*) AS c FROM '{file}' GROUP BY ALL),
        sizes AS (SELECT u, sum(c) AS m FROM one GROUP BY u)
        SELECT dest, sum(c / m) FROM one JOIN sizes USING (u) GROUP BY dest"""
        )
        .fetchall()
    )
    users = int(duckdb.connect().execute(f"""SELECT count(DISTINCT "user") FROM '{file}'""").fetchall()[0][0])
    shares = np.zeros(space.items)
    for label, total in rows:
        shares[space.labels.index(label)] = total / users
    return shares / shares.sum(), users
