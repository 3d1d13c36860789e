"""Which columns the releases of a ledger are about: the same in all of them, or their sum says nothing of one person.

A promise is about the records of a person. Who a person is, how often a record counts, in which period it lies and in
which group a person is are read from columns. Were one release to read them elsewhere, a change that is charged to one
period, group or person by the first would be a change in others for the second (docs/proofs/scopes.md). A cast of the
time may move records to another day, and a promise "(share, another group)" is about the columns of hidden groups: what
one study calls hidden another may read at no price (docs/proofs/private-groups.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barrow.ledger.errors import NotCoveredError
from barrow.ledger.state import LedgerState

_CAST = "the kind of the time"
_HIDDEN = "hidden groups"


def check_columns(state: LedgerState, parameters: Mapping[str, object]) -> None:
    """Refuse a release that reads people, weights, times or groups from other columns than one that was paid.

    Args:
        state: The ledger.
        parameters: The public parameters of the release; what they do not say is not compared.
    """
    wanted = columns_of(parameters)
    if not wanted:
        return
    for seq in state.charges:
        earlier = columns_of(state.records[seq - 1].data["parameters"])
        for role, column in wanted.items():
            if (known := earlier.get(role, column)) != column:
                raise NotCoveredError(
                    f"The release {_takes(role, column)}; release {seq} of the ledger of {state.budget.dataset!r} "
                    f"{_takes(role, known, past=True)}. Nothing was spent.",
                    allowed="the same column in all releases about a data set, or what they cost one person together "
                    "is not their sum",
                    fix=_fix(role, column, known),
                )


def columns_of(parameters: Mapping[str, object]) -> dict[str, str | None]:
    """The columns that a release reads, by what they say; empty where the parameters name no table.

    >>> data = {"user": "uid", "items": ["age"], "weight": None, "time": "at"}
    >>> list(columns_of({"data": data, "reads": "2026-10", "group": {"name": "region"}}).values())
    ['uid', None, 'at', 'region']
    """
    data, group, hidden = parameters.get("data"), parameters.get("group"), parameters.get("hidden")
    result: dict[str, str | None] = {}
    if isinstance(data, Mapping) and data.get("user") is not None:
        result["who a person is"] = data["user"]
        result["how often a record counts"] = data.get("weight")
        if parameters.get("reads") is not None:
            result["the time of a record"] = data.get("time")
            result[_CAST] = data.get("time_cast")
    if isinstance(hidden, Sequence) and not isinstance(hidden, str):
        result[_HIDDEN] = ", ".join(hidden)
    if isinstance(group, Mapping):
        result[f"the {group['name']} of a person"] = group.get("column", group["name"])
    return result


def _takes(role: str, column: str | None, *, past: bool = False) -> str:
    if role == _HIDDEN:
        return f"{'had' if past else 'has'} hidden groups in {_named(column)}"
    if role == _CAST:
        took = "took" if past else "takes"
        return f"{took} the time as it is" if column is None else f"{took} the time from a cast to {column}"
    return f"takes {role} from {_named(column)}" if not past else f"took it from {_named(column)}"


def _named(column: str | None) -> str:
    return "no column" if column is None else f"the column {column!r}"


def _fix(role: str, column: str | None, known: str | None) -> str:
    if role == _HIDDEN:
        return "one [[group]] with labels and distance for each of these columns, in all studies of the data set"
    if role == _CAST:
        return "the query's cast of the time that the earlier release had" if known else "the time without a cast"
    if column is None or known is None:
        return "the weights of the earlier release, or another data set with a ledger of its own"
    return f"{known!r}; if it is the same under another name, a query that renames it: {column} AS {known}"
