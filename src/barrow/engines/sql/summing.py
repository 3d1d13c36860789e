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
from barrow.engines.sums import Whole
from barrow.numerics import LIMB_BITS, MOST_HELD, MOST_RECORDS
from barrow.numerics.limits import total

_LIMB = 1 << LIMB_BITS
_PAIR = 1 << 2 * LIMB_BITS


def limbs(reading: SelectPlan) -> tuple[str, ...]:
    """The columns of limbs: four of 30 bits, or two of 60 where the engine adds up beyond 64 bits."""
    return ("a", "b") if reading.dialect.wide_sums else ("a", "b", "c", "d")


def held(reading: SelectPlan, users: str) -> str:
    """SELECT of each person's records in each span: u, s, m, g, and what is wrong with them."""
    told, flag = reading.told, reading.dialect.flag
    by = ["u", *(x for x in told if x == "s")]
    picks = [*by, f"{reading.total()} AS m"]
    picks += [] if reading.weight is None else [f"MAX({flag('w IS NULL')}) AS bad"]
    if "g" in told:
        picks += ["MIN(g) AS g", "MAX(g) AS high", f"MAX({flag('g IS NULL')}) AS lone"]
    return f"SELECT {', '.join(picks)} FROM {users} AS q0 GROUP BY {', '.join(by)}"


def valued(reading: SelectPlan, table: str) -> str:
    """SELECT of each person's state, m and the limbs of what one of their records weighs, from :func:`held`."""
    d, told = reading.dialect, reading.told
    by = [x for x in ("u", "s", "g") if x == "u" or x in told]
    states = {NOBODY: "u IS NULL"}
    states |= {} if reading.weight is None else {UNWEIGHED: "bad = 1"}
    states |= {UNTIMED: "s IS NULL"} if "s" in told else {}
    ends = ""
    if "g" in told:
        states |= {UNGROUPED: "lone = 1", SPLIT: "low < top"}
        over = " OVER (PARTITION BY u)" if "s" in told else ""
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
    shown = f"a * {_LIMB} + b AS a, c * {_LIMB} + d + m AS b" if d.wide_sums else "a, b, c, d + m AS d"
    return f"SELECT {cells}, state, m, {shown} FROM ({step}) AS v9"


def summing(reading: SelectPlan, coded: str, users: str, item: str) -> str:
    """One statement: rows (item, g, s, n, limbs); n are the records of an item, and the people of a state.

    Args:
        reading: How records are read.
        coded: What stands after FROM and has u, the keys, w and s.
        users: What stands after FROM and has u, w, s and g.
        item: The expression for the item over the keys.
    """
    d, told, names = reading.dialect, reading.told, limbs(reading)
    same = " AND ".join(f"coded.{x} = valued.{x}" for x in ("u", "s") if x == "u" or x in told)
    cell = [f"{'valued' if name == 'g' else 'coded'}.{name}" for name in told]
    by = ", ".join([reading.keys, *cell])
    weighed = {x: f"valued.{x}" if reading.weight is None else d.product("coded.w", f"valued.{x}") for x in names}
    sums = [f"{d.sum_of(sql)} AS {x}" for x, sql in weighed.items()]
    number = "COUNT(*)" if reading.weight is None else d.sum_of("coded.w")
    summed = f"SELECT {by}, {number} AS n, {', '.join(sums)} FROM {coded} AS coded JOIN valued ON {same} GROUP BY {by}"
    masses = [f"{d.sum_of(d.product('m', x))} AS {x}" for x in names]
    checked = f"SELECT {', '.join(['state', *told])}, COUNT(*) AS n, {', '.join(masses)} FROM valued GROUP BY "
    checked += ", ".join(["state", *told])
    cells = [f"{d.as_whole(f'coalesce({name}, 0)')} AS {name}" for name in told]
    shown = ", ".join([*cells, f"{d.as_whole('coalesce(n, -1)')} AS n", *(x for name in names for x in d.parted(name))])
    late = " ".join(reading.encoding.late_joins)
    steps = [
        f"held AS ({held(reading, users)})",
        f"valued AS ({valued(reading, 'held')})",
        f"summed AS ({summed})",
        f"checked AS ({checked})",
    ]
    return (
        f"WITH {', '.join(steps)} SELECT {item} AS item, {shown} FROM summed {late} "
        f"UNION ALL SELECT {d.as_whole('state')} AS item, {shown} FROM checked"
    )


def masses_of(answer: Mapping[str, Integers], groups: int, spans: int) -> dict[str, Any]:
    """Columns item, value, g and s of the items, and people of each cell; what cannot be counted is refused.

    What the items weigh together must be what the people should weigh: the two passes saw the same records.
    """
    item = answer.get("item", np.zeros(0, dtype=np.int64))
    refuse_states(item)
    nowhere = np.zeros(len(item), dtype=np.int64)
    g, s, n = (answer.get(name, nowhere) for name in ("g", "s", "n"))
    raw, summary = _raw_masses(answer, n), item == PEOPLE
    place = s * groups + g
    balance: Whole = np.zeros(groups * spans, dtype=object)
    np.add.at(balance, place, np.where(summary, raw, -raw))
    if balance.any():
        raise refuse_changed()
    people = np.zeros(groups * spans, dtype=np.int64)
    np.add.at(people, place[summary], n[summary])
    value = raw[~summary] - n[~summary].astype(object) * MOST_HELD
    return {"item": item[~summary], "value": value, "g": g[~summary], "s": s[~summary], "people": people}


def _raw_masses(answer: Mapping[str, Integers], n: Integers) -> Whole:
    """Whole numbers from their limbs: what records weigh, with 2^32 for each of them still to be taken off."""
    names = [name for name in ("a", "b", "c", "d") if f"{name}_low" in answer]
    width = 2 * LIMB_BITS if len(names) == 2 else LIMB_BITS
    if any((answer[f"{name}_low"] < 0).any() for name in names) or (n < 0).any() or total(n) > 2 * MOST_RECORDS:
        raise refuse_too_many()
    masses: Whole = np.zeros(len(n), dtype=object)
    for i, name in enumerate(reversed(names)):
        limb = answer[f"{name}_low"].astype(object)
        if f"{name}_high" in answer:
            limb = limb + answer[f"{name}_high"].astype(object) * _PAIR
        masses = masses + limb * (1 << i * width)
    return masses
