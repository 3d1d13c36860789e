# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""One statement for the mass of all people on each item, in whole numbers (docs/proofs/sums.md).

The share of each record is divided once for each person, by long division, 30 bits at a time, in 64-bit integers. The
rows are those of items, and one more for each cell with the number of people and the mass that they should have
together; whatever cannot be counted comes as a row of its own in place of an item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from barrow.engines.counts import (
    NOBODY,
    OVERWEIGHT,
    PEOPLE,
    SPLIT,
    UNGROUPED,
    UNTIMED,
    UNWEIGHED,
    Integers,
    refuse_changed,
    refuse_states,
    refuse_too_many,
)
from barrow.engines.sql.select_plan import SelectPlan
from barrow.numerics import LIMB_BITS, MOST_HELD
from barrow.numerics.limits import Limbs, added, carried, placed

_LIMB = 1 << LIMB_BITS
_PAIR = 1 << 2 * LIMB_BITS


def limbs(reading: SelectPlan) -> tuple[str, ...]:
    """The columns of limbs: four of 30 bits, or two of 60 where the engine adds up beyond 64 bits."""
    return ("a", "b") if reading.dialect.wide_sums else ("a", "b", "c", "d")


def held(reading: SelectPlan, users: str) -> str:
    """SELECT of each person's records in each span: u, s, m, g, and what is wrong with them."""
    told, flag, known = reading.told, reading.dialect.flag, f"coalesce(g, {UNGROUPED})"
    by = ["u", *(x for x in told if x == "s")]
    picks = [*by, f"{reading.total()} AS m"]
    picks += [] if reading.weight is None else [f"MAX({flag('w IS NULL')}) AS bad"]
    if "g" in told:
        picks += [f"MIN({known}) AS g", f"MAX({known}) AS high"]
    return f"SELECT {', '.join(picks)} FROM {users} AS q0 GROUP BY {', '.join(by)}"


def valued(reading: SelectPlan, table: str, *, alone: bool = False) -> str:
    """SELECT of each person's state, m and the limbs of what one of their records weighs, from :func:`held`.

    That somebody is in two groups in two spans is seen here, unless spans are taken ``alone``.
    """
    d, told = reading.dialect, reading.told
    by = [x for x in ("u", "s", "g") if x == "u" or x in told]
    states = {NOBODY: "u IS NULL"}
    states |= {} if reading.weight is None else {UNWEIGHED: "bad = 1"}
    states |= {UNTIMED: "s IS NULL"} if "s" in told else {}
    ends = ""
    if "g" in told:
        states |= {UNGROUPED: "low < 0", SPLIT: "low < top"}
        over = " OVER (PARTITION BY u)" if "s" in told and not alone else ""
        ends = f", MIN(g){over} AS low, MAX(high){over} AS top" if over else ", g AS low, high AS top"
    # m (q + m), which is added up beside the sums, must fit 64 bits where they are not wider.
    most = MOST_HELD if d.wide_sums else MOST_HELD // 2
    states |= {OVERWEIGHT: f"m > {most}"}
    cases = " ".join(f"WHEN {rule} THEN {d.as_whole(str(state))}" for state, rule in states.items())
    cells = ", ".join(by)
    known = f"SELECT * FROM {table}" if not ends else f"SELECT q1.*{ends} FROM {table} AS q1"
    # What is refused is not divided by: its size may be missing or too large.
    safe = f"CASE WHEN m >= 1 AND m <= {most} THEN m ELSE 1 END"
    state = f"CASE {cases} ELSE {d.as_whole(str(PEOPLE))} END"
    step = f"SELECT {cells}, {state} AS state, {d.as_whole(safe)} AS m FROM ({known}) AS q2"
    names = ("a", "b", "c", "d")
    rest = str(_LIMB)
    for i, name in enumerate(names):
        text = ", ".join([cells, "state", "m", *names[:i]])
        whole = d.as_whole(rest)
        divided = f"{d.quotient(whole, 'm')} AS {name}, {d.remainder(whole, 'm')} AS r{i}"
        step = f"SELECT {text}, {divided} FROM ({step}) AS v{i}"
        rest = f"r{i} * {_LIMB}"
    # What M - m takes off may be more than the lower half: 2^60 is lent to it, which the upper half always has.
    pairs = f"a * {_LIMB} + b - 1 AS a, c * {_LIMB} + d + m + {_PAIR - MOST_HELD} AS b"
    result = f"SELECT {cells}, state, m, {pairs} FROM ({step}) AS v9"
    if d.wide_sums:
        return result
    halves = [f(x, str(_LIMB)) for x in ("a", "b") for f in (d.quotient, d.remainder)]
    shown = ", ".join(f"{sql} AS {name}" for name, sql in zip(names, halves, strict=True))
    return f"SELECT {cells}, state, m, {shown} FROM ({result}) AS v10"


def summing(reading: SelectPlan, coded: str, users: str, item: str, *, alone: bool = False) -> str:
    """One statement: rows (item, g, s, n, limbs); n are the people of a state, and 0 beside an item.

    Args:
        reading: How records are read.
        coded: What stands after FROM and has u, the keys, w and s.
        users: What stands after FROM and has u, w, s and g.
        item: The expression for the item over the keys.
        alone: Whether somebody else has seen to it that nobody is in two groups in two spans.
    """
    d, told, names = reading.dialect, reading.told, limbs(reading)
    same = " AND ".join(f"coded.{x} = valued.{x}" for x in ("u", "s") if x == "u" or x in told)
    cell = [f"{'valued' if name == 'g' else 'coded'}.{name}" for name in told]
    by = ", ".join([reading.keys, *cell])
    weighed = {x: f"valued.{x}" if reading.weight is None else d.product("coded.w", f"valued.{x}") for x in names}
    sums = [f"{d.sum_of(sql)} AS {x}" for x, sql in weighed.items()]
    summed = f"SELECT {by}, {', '.join(sums)} FROM {coded} AS coded JOIN valued ON {same} GROUP BY {by}"
    masses = [f"{d.sum_of(d.product('m', x))} AS {x}" for x in names]
    checked = f"SELECT {', '.join(['state', *told])}, COUNT(*) AS n, {', '.join(masses)} FROM valued GROUP BY "
    checked += ", ".join(["state", *told])
    cells = [f"{d.as_whole(f'coalesce({name}, 0)')} AS {name}" for name in told]
    parts = [x for name in names for x in d.parted(name)]
    items, people = (", ".join([*cells, f"{d.as_whole(n)} AS n", *parts]) for n in ("0", "n"))
    late = " ".join(reading.encoding.late_joins)
    steps = [
        f"held AS ({held(reading, users)})",
        f"valued AS ({valued(reading, 'held', alone=alone)})",
        f"summed AS ({summed})",
        f"checked AS ({checked})",
    ]
    return (
        f"WITH {', '.join(steps)} SELECT {item} AS item, {items} FROM summed {late} "
        f"UNION ALL SELECT {d.as_whole('state')} AS item, {people} FROM checked"
    )


def masses_of(answer: Mapping[str, Integers], groups: int, spans: int) -> dict[str, Any]:
    """Columns item, value (limbs), g and s of the items, and people of each cell; what cannot be counted is refused.

    What the items weigh together must be what the people should weigh: the two passes saw the same records.
    """
    item = answer.get("item", np.zeros(0, dtype=np.int64))
    refuse_states(item)
    nowhere = np.zeros(len(item), dtype=np.int64)
    g, s, n = (answer.get(name, nowhere) for name in ("g", "s", "n"))
    masses, summary = _masses(answer, len(item)), item == PEOPLE
    if n[~summary].any():  # no statement of ours counts people beside an item
        raise refuse_changed()
    place = s * groups + g
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(place[order]) != 0)) if place.size else place
    of_all, of_people = (added(masses[:, order] * chosen, starts) for chosen in (1, summary[order]))
    if not np.array_equal(carried(2 * of_people), of_all):
        raise refuse_changed()
    people = np.zeros(groups * spans, dtype=np.int64)
    np.add.at(people, place[summary], n[summary])
    return {"item": item[~summary], "value": masses[:, ~summary], "g": g[~summary], "s": s[~summary], "people": people}


def _masses(answer: Mapping[str, Integers], size: int) -> Limbs:
    """Whole numbers from their columns."""
    names = [name for name in ("a", "b", "c", "d") if f"{name}_low" in answer]
    step = 2 if len(names) == 2 else 1
    columns: list[tuple[int, Integers]] = []
    for i, name in enumerate(reversed(names)):
        columns += [
            (i * step + up, answer[key]) for up, key in ((0, f"{name}_low"), (2, f"{name}_high")) if key in answer
        ]
    if any((column < 0).any() for _, column in columns):
        raise refuse_too_many()
    return placed(columns, size)
