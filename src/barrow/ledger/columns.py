"""Which columns the releases of a ledger are about: the same in all of them, or their sum says nothing of one person.

A promise is about the records of a person. Who a person is, how often a record counts, in which period it lies and in
which group a person is are read from columns. Were one release to read them elsewhere, a change that is charged to one
period, group or person by the first would be a change in others for the second (docs/proofs/scopes.md).
"""

from __future__ import annotations

from collections.abc import Mapping

from barrow.ledger.errors import NotCoveredError
from barrow.ledger.state import LedgerState


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
                    f"The release takes {role} from {_named(column)}; release {seq} of the ledger of "
                    f"{state.budget.dataset!r} took it from {_named(known)}. Nothing was spent.",
                    allowed="the same column in all releases about a data set, or what they cost one person together "
                    "is not their sum",
                    fix=_fix(column, known),
                )


def columns_of(parameters: Mapping[str, object]) -> dict[str, str | None]:
    """The columns that a release reads, by what they say; empty where the parameters name no table.

    >>> data = {"user": "uid", "items": ["age"], "weight": None, "time": "at"}
    >>> list(columns_of({"data": data, "reads": "2026-10", "group": {"name": "region"}}).values())
    ['uid', None, 'at', 'region']
    """
    data, group = parameters.get("data"), parameters.get("group")
    result: dict[str, str | None] = {}
    if isinstance(data, Mapping) and data.get("user") is not None:
        result["who a person is"] = data["user"]
        result["how often a record counts"] = data.get("weight")
        if parameters.get("reads") is not None:
            result["the time of a record"] = data.get("time")
    if isinstance(group, Mapping):
        result[f"the {group['name']} of a person"] = group.get("column", group["name"])
    return result


def _named(column: str | None) -> str:
    return "no column" if column is None else f"the column {column!r}"


def _fix(column: str | None, known: str | None) -> str:
    if column is None or known is None:
        return "the weights of the earlier release, or another data set with a ledger of its own"
    return f"{known!r}; if it is the same under another name, a query that renames it: {column} AS {known}"
