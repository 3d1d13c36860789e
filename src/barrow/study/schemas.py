"""JSON Schemas of what others read: events and statements. Made from the types that write and read them."""

from __future__ import annotations

import dataclasses
import types
import typing
from fractions import Fraction
from typing import Any

import msgspec

from barrow.privacy import Event, Model
from barrow.privacy.channels import ItemChannel
from barrow.privacy.events import EVENT_VERSION, EVENTS
from barrow.questions.statement import Statement

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_EXACT = {"type": "string", "description": "An exact rational: 25, 0.2, 1e-12 or 1/30."}


def event_schema() -> dict[str, Any]:
    """The JSON Schema of events: what a mechanism did, in the fewest public numbers."""
    kinds = {name: _of_event(kind) for name, kind in EVENTS.items()}
    either = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in kinds]}
    return {"$schema": _DIALECT, "title": "Event", "$ref": "#/$defs/Event", "$defs": {"Event": either, **kinds}}


def statement_schema() -> dict[str, Any]:
    """The JSON Schema of ``statement.json``."""
    schema = msgspec.json.schema(Statement, schema_hook=lambda anything: {"description": "Plain data."})
    fields = schema["$defs"]["Statement"]["properties"]
    fields["event"] = {"description": fields["event"]["description"], "$ref": "#/$defs/Event"}
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
