"""JSON Schemas of what others read: events and statements. Made from the types that write and read them."""

from __future__ import annotations

import dataclasses
import types
import typing
from fractions import Fraction
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from barrow.privacy import Event, Model
from barrow.privacy.channels import ItemChannel
from barrow.privacy.events import EVENT_VERSION, EVENTS

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_EXACT = {"type": "string", "description": "An exact rational: 25, 0.2, 1e-12 or 1/30."}


class Entry(msgspec.Struct):
    """Where the ledger remembers the release."""

    entry: Annotated[int, Meta(description="The number of its reservation in the ledger.")]
    key: Annotated[str, Meta(description="One key, one release: it is never paid or drawn twice.")]
    ledger: Annotated[str | None, Meta(description="The ledger's file name, or its address.")] = None


class File(msgspec.Struct):
    """One file of the release."""

    name: str
    sha256: str


class Worst(msgspec.Struct):
    """What holds if all data of one person were different."""

    epsilon: float
    odds: Annotated[float, Meta(description="What a 50 % guess can become at most.")]
    delta: float = 0.0


class Row(msgspec.Struct, rename={"changed": "if"}):
    """What one promise gets from this release."""

    epsilon: Annotated[float, Meta(description="What the release costs at this promise.")]
    odds: Annotated[float, Meta(description="What a 50 % guess about such a change can become at most.")]
    changed: Annotated[str | None, Meta(description="The change, in words.")] = None
    share: Annotated[float | None, Meta(description="The share of the person's data that changes.")] = None
    distance: Annotated[float | None, Meta(description="How far, in the statement's unit.")] = None
    epsilon_promised: float | None = None


class Statement(msgspec.Struct):
    """What goes with every release; kinds of questions add fields of their own."""

    statement: Annotated[int, Meta(description="The version of this format.")]
    library: Annotated[str, Meta(description="What wrote it.")]
    released: Annotated[str, Meta(description="What was released, in words.")]
    people: Annotated[int, Meta(description="About how many people: public, declared.")]
    delta: float
    unit: Annotated[str, Meta(description="The unit of distances.")]
    diameter: Annotated[float, Meta(description="The largest distance of the space, in its unit.")]
    snapping: Annotated[float, Meta(description="How far a record is moved to the grid at most, in the unit.")]
    price: Annotated[str, Meta(description="What it cost of the ledger's budget, in words.")]
    worst_case: Worst
    definition: Annotated[str, Meta(description="The definition of privacy that holds, in words.")]
    theorem: Annotated[str, Meta(description="The label of the theorem behind it.")]
    guarantee: Annotated[dict[str, Any], Meta(description="The same as data, in exact numbers.")]
    event: Annotated[dict[str, Any], Meta(description="What the mechanism did.")]
    parameters: Annotated[dict[str, Any], Meta(description="The public parameters that the guarantee depends on.")]
    files: Annotated[list[File], Meta(description="All other files of the release, with their digests.")]
    not_hidden: list[str]
    protected: Annotated[list[Row], Meta(description="The promises; none for a study that gives alpha.")]
    ledger: Entry
    alpha: Annotated[float | None, Meta(description="Privacy loss per largest distance; None for user-level DP.")] = (
        None
    )
    kind: Annotated[str | None, Meta(description="The kind of question.")] = None
    name: Annotated[str | None, Meta(description="The question's name, and its folder's.")] = None
    error: Annotated[float | None, Meta(description="How far off the release is: by itself, or as predicted.")] = None
    error_after: Annotated[dict[str, Any] | None, Meta(description="Worked out from the released values.")] = None
    error_unit: str | None = None
    summary: Annotated[list[str], Meta(description="The released values in a few lines.")] = []
    dataset: str | None = None
    model: Annotated[str | None, Meta(description="Who added the noise: local, shuffle or central.")] = None
    conditions: Annotated[list[str], Meta(description="What the guarantee rests on beside mathematics.")] = []
    not_covered: list[str] = []
    records: Annotated[str, Meta(description="How records became items: contraction, jumps or filter.")] = "contraction"
    missing_people: Annotated[str | None, Meta(description="What people without records count as.")] = None
    outside: Annotated[str | None, Meta(description="What became of records outside the space.")] = None
    space_digest: str | None = None
    space: Annotated[dict[str, Any] | None, Meta(description="What makes the space again, where that is short.")] = None
    digest: Annotated[str | None, Meta(description="The digest of everything else in the statement.")] = None


def event_schema() -> dict[str, Any]:
    """The JSON Schema of events: what a mechanism did, in the fewest public numbers."""
    kinds = {name: _of_event(kind) for name, kind in EVENTS.items()}
    either = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in kinds]}
    return {"$schema": _DIALECT, "title": "Event", "$ref": "#/$defs/Event", "$defs": {"Event": either, **kinds}}


def statement_schema() -> dict[str, Any]:
    """The JSON Schema of ``statement.json``."""
    schema = msgspec.json.schema(Statement)
    said = schema["$defs"]["Statement"]["properties"]["event"]
    schema["$defs"]["Statement"]["properties"]["event"] = {
        "description": said["description"],
        "$ref": "#/$defs/Event",
    }
    return {"$schema": _DIALECT, **schema, "$defs": {**schema["$defs"], **event_schema()["$defs"]}}


def _of_event(kind: type[Event]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    known = {"event": {"const": kind.__name__}, "version": {"const": EVENT_VERSION}}
    return {
        "title": kind.__name__,
        "description": (kind.__doc__ or "").splitlines()[0],
        "type": "object",
        "properties": {**known, **{name: _of(hints[name]) for name in names}},
        "required": [*known, *names],
        "additionalProperties": False,
    }


def _of(hint: Any) -> dict[str, Any]:
    """The schema of a field's type."""
    if isinstance(hint, types.UnionType):
        parts = [part for part in typing.get_args(hint) if part is not type(None)]
        return {"anyOf": [*map(_of, parts), {"type": "null"}]}
    plain: dict[Any, dict[str, Any]] = {
        Fraction: _EXACT,
        int: {"type": "integer", "minimum": 1},
        bool: {"type": "boolean"},
        str: {"type": "string"},
        Model: {"enum": [model.value for model in Model]},
        Event: {"$ref": "#/$defs/Event"},
        ItemChannel: {
            "type": "object",
            "description": "Weights of each report on each item, a row as one text, and distances of pairs of items.",
            "properties": {
                "weights": {"type": "array", "items": {"type": "string"}},
                "distances": {"type": "array", "items": {"type": "number"}},
            },
            "required": ["weights", "distances"],
            "additionalProperties": False,
        },
    }
    return plain[hint]
