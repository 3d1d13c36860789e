"""JSON Schemas of what others read: events and statements. Made from the types that write and read them."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from fractions import Fraction

import msgspec

from barrow.promises import Event, Model
from barrow.promises.channels import ItemChannel
from barrow.promises.events import EVENT_VERSION, EVENTS
from barrow.questions.statement import Statement

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_EXACT = {"type": "string", "description": "An exact rational: 25, 0.2, 1e-12 or 1/30."}


def event_schema() -> dict[str, object]:
    """The JSON Schema of events: what a mechanism did, in the fewest public numbers."""
    return {"$schema": _DIALECT, "title": "Event", "$ref": "#/$defs/Event", "$defs": _of_events()}


def statement_schema() -> dict[str, object]:
    """The JSON Schema of ``statement.json``."""
    schema = msgspec.json.schema(Statement, schema_hook=lambda anything: {"description": "Plain data."})
    fields = schema["$defs"]["Statement"]["properties"]
    fields["event"] = {"description": fields["event"]["description"], "$ref": "#/$defs/Event"}
    return {"$schema": _DIALECT, **schema, "$defs": {**schema["$defs"], **_of_events()}}


def _of_events() -> dict[str, dict[str, object]]:
    kinds = {name: _of_event(kind) for name, kind in EVENTS.items()}
    return {"Event": {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in kinds]}, **kinds}


def _of_event(kind: type[Event]) -> dict[str, object]:
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


def _of(hint: object) -> dict[str, object]:
    """The schema of a field's type."""
    if isinstance(hint, types.UnionType):
        parts = [part for part in typing.get_args(hint) if part is not type(None)]
        return {"anyOf": [*map(_of, parts), {"type": "null"}]}
    plain: dict[object, Mapping[str, object]] = {
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
    return {**plain[hint]}
