"""What of a statement follows from the rest of it: from its event, its parameters and its space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from barrow.accounting import price
from barrow.engines import Counts, ItemSums
from barrow.errors import ParameterError
from barrow.ledger import SpaceRef
from barrow.ledger.state import reads_to_json
from barrow.numerics import exact, float_up
from barrow.planning.terms import Terms
from barrow.promises import Aggregation, Event, Guarantee, Model, Promise, RecordMap, event_from_json
from barrow.questions import Answer, Mean, Question, declared_parts
from barrow.questions.answer import Sample, Statistics, Tables
from barrow.questions.grouped import hidden_facts
from barrow.questions.releasing import HeldItems, held_by_each
from barrow.questions.statement import AnswerFacts, Json, NoiseFacts, Statement
from barrow.spaces import Space
from barrow.spaces.covariates import caveat
from barrow.study.claim import claim_of
from barrow.study.prose import kind_of
from barrow.study.statement import STATEMENT_VERSION, make_statement, space_of, window_read, worst_case
from barrow.study.study import Study

CHECKED = frozenset(
    (
        "statement", "kind", "answer", "dataset", "people", "model", "alpha", "price", "delta", "unit", "diameter",
        "snapping", "protected", "worst_case", "not_hidden", "missing_people", "outside", "records", "definition",
        "theorem", "guarantee", "space_digest", "space", "claim", "files", "digest",
    )
)  # fmt: skip
"""The fields of which no single one can be changed unnoticed, without any ledger."""
_FROM_SPACE = (
    "price", "unit", "diameter", "snapping", "protected", "not_hidden", "missing_people", "space",
)  # fmt: skip
"""What is said again of every plan from its promises and its space, and compared."""
_WORDS = ("not_hidden", "missing_people", "claim")
"""Fields in words, which another version of statements says in other words."""


@dataclass(frozen=True)
class _Caused:
    """A mechanism of which no more is known than what it did."""

    event: Event


@dataclass(frozen=True, eq=False)
class _Stated(Answer):
    """A plan as far as a statement says it: enough to say again what every kind of plan says alike."""

    question: Question
    terms: Terms
    guarantee: Guarantee
    caused: _Caused
    items_each: HeldItems
    description = ""
    error = 0.0

    @property
    def mechanism(self) -> _Caused:
        """What the statement says was drawn."""
        return self.caused

    def facts(self) -> AnswerFacts:
        """What is a kind's own cannot be said again."""
        return AnswerFacts()

    def statistics(self, counts: Counts | ItemSums) -> Statistics:
        """A statement reads and draws nothing."""
        raise _draws_nothing()

    def draw(self, statistics: Statistics) -> Sample:
        """Nothing is drawn."""
        raise _draws_nothing()

    def tables(self, sample: Sample) -> Tables:
        """So there are no tables."""
        return {}


@held_by_each.register(_Stated)
def _(answer: _Stated) -> HeldItems:
    return answer.items_each


def _draws_nothing() -> ParameterError:
    return ParameterError("A statement draws nothing.", allowed="a plan", fix="study.plan()")


class _StatedParameters(msgspec.Struct):
    """What the parameters of every kind say; what is a kind's own is not read."""

    dataset: str | None
    users: int
    model: Model
    space: str
    question: _StatedQuestion
    data: _StatedSource
    promises: list[list[str]]
    alpha: str | None
    delta: str
    fraction: str
    honest: str = "1"
    aggregators: int | None = None
    dishonest: int = 1
    planned: int | None = None
    records: RecordMap = RecordMap.CONTRACTION
    samples: int | None = None
    declared: list[str] = []
    noise: str = ""
    scale: str | None = None
    grid: str = "0"
    reads: str | None = None
    periods: int = 1
    number: str | None = None
    ungrouped: bool = False
    squares: list[str] = []
    group: _StatedGroup | None = None


class _StatedGroup(msgspec.Struct):
    name: str
    sizes: dict[str, int]


class _StatedQuestion(msgspec.Struct):
    kind: str


class _StatedSource(msgspec.Struct):
    outside: str | None = None


def contradictions(statement: Statement, *, recorded: bool = False) -> list[str]:
    """The fields that do not follow from what the statement says elsewhere.

    A forged statement may hold anything: what cannot be read is raised as the parsers raise it. The words of an earlier
    version are not compared where a ledger has ``recorded`` this statement.
    """
    told = msgspec.convert(statement.parameters, _StatedParameters)
    event, space = event_from_json(statement.event), space_of(statement)
    guarantee = price(event)
    expected: Json = {"event": event.to_json(), **_from_numbers(told, guarantee)}
    expected["claim"] = None if statement.statement == 1 else claim_of(statement)
    wrong = ["space"] if space is None and statement.space is not None and not _names_files(statement.space) else []
    if space is not None:
        plan = _plan(statement, told, event, guarantee, space)
        again = make_statement(Study(space, alpha=1, users=1), plan)
        expected |= {name: getattr(again, name) for name in _FROM_SPACE}
        terms = plan.terms.to_spec()
        wrong += [] if _text(terms) == _text({name: statement.parameters[name] for name in terms}) else ["parameters"]
        owed = declared_parts(kind_of(statement), space)
        whole = bool(told.declared) == bool(owed) and all(text in statement.not_covered for text in told.declared)
        wrong += [] if whole else ["not_covered"]
        wrong += [] if _hidden_follows(statement, space) else ["answer.hidden_groups"]
        wrong += [] if not caveat(space) or caveat(space) in statement.not_covered else ["not_covered"]
    if recorded and statement.statement < STATEMENT_VERSION:
        expected = {name: value for name, value in expected.items() if name not in _WORDS}
    wrong += [name for name, value in expected.items() if _text(getattr(statement, name)) != _text(value)]
    wrong += [] if told.data.outside in (None, statement.outside) else ["outside"]
    wrong += [] if _about_follows(statement, told) else ["answer.about"]
    return wrong + ([] if _noise_follows(statement, told) else ["answer"])


def paid_otherwise(statement: Statement, paid: Mapping[str, object]) -> list[str]:
    """The fields of a payment that are not those of the release in a statement.

    Those by whose digest approvals name a release, but for what it costs, which a ledger computes itself. Of a space
    that cannot be made again only its digest, its size and its unit are compared.
    """
    told = msgspec.convert(statement.parameters, _StatedParameters)
    event, space = event_from_json(statement.event), space_of(statement)
    plan = None if space is None else _plan(statement, told, event, price(event), space)
    said: Json = {
        "question": statement.name, "parameters": statement.parameters, "event": statement.event,
        "guarantee": statement.guarantee, "reads": reads_to_json(window_read(statement)), "groups": None,
        "items": statement.answer.items_per_person if told.samples is None else None,
    }  # fmt: skip
    named = paid["space"]
    if not isinstance(named, Mapping):
        return ["space"]
    if plan is None:
        about = SpaceRef("", statement.space_digest, exact(named["diameter"], "the diameter"), statement.unit)
        same = (about.digest, float(about.diameter), about.unit) == (
            named["digest"], statement.diameter, named["unit"],
        )  # fmt: skip
    else:
        terms = plan.terms
        ref = SpaceRef.of(terms.space, terms.records, terms.number, ungrouped=terms.ungrouped)
        same = _text(ref.to_json()) == _text(named)
    wrong = [name for name, value in said.items() if _text(paid[name]) != _text(value)]
    return wrong if same else [*wrong, "space"]


def owner_only(statement: Statement) -> list[str]:
    """The fields that nothing else in the folder confirms; more where the space cannot be made again."""
    checked = CHECKED - ({*_FROM_SPACE} if space_of(statement) is None else set())
    facts = msgspec.to_builtins(statement.answer)
    noise = {"noise"} if "scale" in statement.parameters else set()
    return [name for name in statement.__struct_fields__ if name not in checked] + [
        f"answer.{name}" for name in facts if name not in noise
    ]


def _names_files(spec: object) -> bool:
    """Whether a space was made from files, of which a statement has names and digests; they are not opened here."""
    return isinstance(spec, Mapping) and ("digests" in spec or any(map(_names_files, spec.values())))


def _text(value: object) -> bytes:
    """Data as JSON, in which 1, 1.0 and true are different."""
    return msgspec.json.encode(value, order="deterministic")


def _from_numbers(told: _StatedParameters, guarantee: Guarantee) -> Json:
    definition = guarantee.definition
    alpha = definition.parameters.get("alpha")
    return {
        "kind": told.question.kind,
        "dataset": told.dataset,
        "people": told.users,
        "model": told.model,
        "records": told.records,
        "space_digest": told.space,
        "alpha": None if alpha is None else float_up(alpha),
        "delta": float_up(definition.parameters["delta"]),
        "definition": str(definition),
        "theorem": guarantee.theorem,
        "guarantee": guarantee.to_json(),
        "worst_case": worst_case(guarantee),
    }


def _about_follows(statement: Statement, told: _StatedParameters) -> bool:
    """Whether periods and groups are those of the parameters, and no group has other noise than its size gives."""
    about = statement.answer.about
    if about is None:
        return told.reads is None and told.group is None
    sizes = {} if told.group is None else told.group.sizes
    named = "" if told.group is None else told.group.name
    return (about.reads, about.grouping) == (told.reads or "", named) and sizes == {
        row.group: row.people for row in about.groups
    }


def _hidden_follows(statement: Statement, space: Space) -> bool:
    """Whether hidden groups are those of the space, and as far apart."""
    told = statement.answer.hidden_groups
    if told is None or space.geometry.within is None:
        return told is None and space.geometry.within is None
    known = hidden_facts(space, told.error_at_equal_shares, told.share_half_width_95)
    return told == known


def _noise_follows(statement: Statement, told: _StatedParameters) -> bool:
    """Whether additive noise, where there is one, is said to be what the parameters say."""
    noise = statement.answer.noise
    if noise is None or told.scale is None:  # a kind of somebody else's may not say it
        return True
    scale, grid = exact(told.scale, "scale"), exact(told.grid, "grid")
    return noise == NoiseFacts(distribution=told.noise, scale=float_up(scale), grid=str(grid))


def _plan(statement: Statement, told: _StatedParameters, event: Event, guarantee: Guarantee, space: Space) -> _Stated:
    promises = tuple(Promise(*row[:3], scope=row[3] if len(row) > 3 else None) for row in told.promises)
    given = None if told.alpha is None else exact(told.alpha, "alpha")
    delta, fraction, honest = exact(told.delta, "delta"), exact(told.fraction, "fraction"), exact(told.honest, "honest")
    terms = Terms(
        space,
        told.users,
        promises,
        given,
        delta,
        fraction,
        told.model,
        honest,
        told.records,
        window_read(statement),
        told.periods,
        told.number,
        squares=tuple(exact(square, "a square") for square in told.squares),
        ungrouped=told.ungrouped,
        parties=None if told.aggregators is None else Aggregation(told.aggregators, told.dishonest, told.planned),
    )
    items = statement.answer.items_per_person if told.samples is None else None
    return _Stated(Mean(), terms, guarantee, _Caused(event), HeldItems(items, told.samples))
