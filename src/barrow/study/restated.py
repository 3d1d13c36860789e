"""What of a statement follows from the rest of it: from its event, its parameters and its space."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.numerics import exact, float_up
from barrow.planning.terms import Terms
from barrow.policy import Policy, RecordMap
from barrow.privacy import Event, Guarantee, Model, event_from_json
from barrow.questions import Mean, Plan, Question, declared_parts
from barrow.questions.plan import Rows
from barrow.spaces import Space
from barrow.spaces.covariates import caveat
from barrow.study.statement import kind_of, make_statement, space_of, worst_case
from barrow.study.study import Study

CHECKED = frozenset(
    (
        "statement", "kind", "dataset", "people", "model", "alpha", "price", "delta", "unit", "diameter", "snapping",
        "protected", "worst_case", "not_hidden", "missing_people", "outside", "records", "definition", "theorem",
        "guarantee", "space_digest", "space", "files", "digest",
    )
)  # fmt: skip
"""The fields of which no single one can be changed unnoticed, without any ledger."""
_FROM_SPACE = (
    "price", "unit", "diameter", "snapping", "protected", "not_hidden", "missing_people", "space",
)  # fmt: skip
"""What is said again of every plan from its promises and its space, and compared."""


@dataclass(frozen=True, eq=False)
class _Stated(Plan):
    """A plan as far as a statement says it: enough to say again what every kind of plan says alike."""

    question: Question
    terms: Terms
    guarantee: Guarantee
    caused: Event
    held: int | None
    drawn: int | None

    @property
    def event(self) -> Event:
        """What the statement says was drawn."""
        return self.caused

    @property
    def ratio(self) -> Fraction:
        """B/ell, where noise was added."""
        found = getattr(self.caused, "range_ratio", None)
        return Fraction(1) if found is None else Fraction(found)

    @property
    def items(self) -> int | None:
        """How many items each person holds, where that is public."""
        return self.held

    @property
    def samples(self) -> int | None:
        """How many items were drawn from each person."""
        return self.drawn

    description = ""
    error = 0.0

    def fields(self) -> dict[str, Any]:
        """What is a kind's own cannot be said again."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """Nor can these."""
        return {}

    def details(self) -> dict[str, Any]:
        """Nor can these."""
        return {}

    def answer_lines(self) -> list[str]:
        """Nor can these."""
        return []

    def statistics(self, counts: Any) -> Any:
        """A statement reads and draws nothing."""
        raise ParameterError("A statement draws nothing.", allowed="a plan", fix="study.plan()")

    def draw(self, statistics: Any) -> tuple[Any, bool]:
        """Nothing is drawn."""
        return self.statistics(statistics), False

    def tables(self, drawn: Any) -> dict[str, Rows]:
        """So there are no tables."""
        return {}

    def summary(self, drawn: Any) -> list[str]:
        """Nor lines of them."""
        return []


def contradictions(said: Mapping[str, Any]) -> list[str]:
    """The fields that do not follow from what the statement says elsewhere.

    A forged statement may hold anything: what cannot be read is raised as the parsers raise it.
    """
    told, event, space = said["parameters"], event_from_json(said["event"]), space_of(said)
    guarantee = price(event)
    expected = {"event": event.to_json(), **_from_numbers(told, guarantee)}
    expected |= _noise(told) if "noise" in said else {}  # a kind of somebody else's may not say it
    wrong = ["space"] if space is None and said["space"] is not None and not _names_files(said["space"]) else []
    if space is not None:
        plan = _plan(said, told, event, guarantee, space)
        again = make_statement(Study(space, alpha=1, users=1), plan, entry={}, parameters={})
        expected |= {name: again[name] for name in _FROM_SPACE}
        terms = plan.terms.to_spec()
        wrong += [] if _text(terms) == _text({name: told[name] for name in terms}) else ["parameters"]
        unproved, needed = told.get("declared", []), declared_parts(kind_of(said), space)
        whole = bool(unproved) == bool(needed) and all(text in said["not_covered"] for text in unproved)
        wrong += [] if whole else ["not_covered"]
        wrong += [] if not caveat(space) or caveat(space) in said["not_covered"] else ["not_covered"]
    wrong += [name for name, value in expected.items() if _text(said[name]) != _text(value)]
    return wrong + ([] if said["outside"] == told["data"].get("outside", said["outside"]) else ["outside"])


def owner_only(said: Mapping[str, Any]) -> list[str]:
    """The fields that nothing else in the folder confirms; more where the space cannot be made again."""
    checked = CHECKED | ({"noise"} if "scale" in said["parameters"] else set())
    checked -= {*_FROM_SPACE} if space_of(said) is None else set()
    return [name for name in said if name not in checked]


def _names_files(spec: Any) -> bool:
    """Whether a space was made from files, of which a statement has names and digests; they are not opened here."""
    return isinstance(spec, Mapping) and ("digests" in spec or any(map(_names_files, spec.values())))


def _text(value: Any) -> str:
    """Plain data as JSON, in which 1, 1.0 and true are different."""
    return json.dumps(value, sort_keys=True)


def _from_numbers(told: Mapping[str, Any], guarantee: Guarantee) -> dict[str, Any]:
    definition = guarantee.definition
    alpha = definition.parameters.get("alpha")
    return {
        "kind": told["question"]["kind"],
        "dataset": told["dataset"],
        "people": told["users"],
        "model": told["model"],
        "records": told.get("records", RecordMap.CONTRACTION.value),
        "space_digest": told["space"],
        "alpha": None if alpha is None else float_up(alpha),
        "delta": float_up(definition.parameters["delta"]),
        "definition": str(definition),
        "theorem": guarantee.theorem,
        "guarantee": guarantee.to_json(),
        "worst_case": worst_case(guarantee),
    }


def _noise(told: Mapping[str, Any]) -> dict[str, Any]:
    """What additive noise is said to be, where there is one."""
    if "scale" not in told:
        return {}
    scale, grid = exact(told["scale"], "scale"), exact(told["grid"], "grid")
    return {"noise": {"distribution": told["noise"], "scale": float_up(scale), "grid": str(grid)}}


def _plan(
    said: Mapping[str, Any], told: Mapping[str, Any], event: Event, guarantee: Guarantee, space: Space
) -> _Stated:
    rows = [tuple(row) for row in told["promises"]]
    promises = Policy(space, rows).promises if rows else ()
    given = None if told["alpha"] is None else exact(told["alpha"], "alpha")
    delta, fraction, honest = (exact(told.get(name, 1), name) for name in ("delta", "fraction", "honest"))
    records = RecordMap(told.get("records", RecordMap.CONTRACTION.value))
    terms = Terms(space, told["users"], promises, given, delta, fraction, Model(told["model"]), honest, records)
    items, samples = said.get("items_per_person"), told.get("samples")
    return _Stated(Mean(), terms, guarantee, event, None if samples is not None else items, samples)
