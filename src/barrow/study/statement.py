"""The statement of a release: made of a plan, written and read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, cast

import msgspec
from msgspec import UNSET, structs

from barrow._version import __version__
from barrow.errors import BarrowError, ParameterError
from barrow.ledger import Ledger
from barrow.ledger.keys import fingerprint_of
from barrow.numerics import digest_of, exact, float_up
from barrow.numerics.exact import near
from barrow.planning.notes import Severity, texts
from barrow.promises import Guarantee, Satisfied, Window, describe_change, odds_upper
from barrow.questions import Answer
from barrow.questions.plan_text import notes_of
from barrow.questions.prices import charges, missing_people, price_words
from barrow.questions.releasing import held_by_each
from barrow.questions.statement import (
    Json,
    LedgerEntry,
    Outside,
    OwnFacts,
    PromiseFacts,
    Publication,
    ReleaseApproval,
    Statement,
    WorstCase,
)
from barrow.registry import PluginError
from barrow.spaces import Space, space_from_spec
from barrow.spaces.augmented import has_outside, with_no_records
from barrow.study.claim import claim_of
from barrow.study.study import Study

if TYPE_CHECKING:
    from barrow.planning.after import OwnError

STATEMENT_VERSION = 4
"""Grows with every change of fields or words; statements of every version stay readable."""
_SINCE_2 = ("claim", "publication")
_LONGEST_SPACE = 20_000


def make_statement(
    study: Study,
    plan: Answer,
    *,
    entry: LedgerEntry | None = None,
    parameters: Json | None = None,
    summary: Sequence[str] = (),
    conditions: Sequence[str] = (),
    own: OwnError | None = None,
    date: str = "",
) -> Statement:
    """The statement of what a plan would release, or has released: public numbers only.

    Args:
        study: The study.
        plan: What was released.
        entry: Where the ledger remembers it.
        parameters: The public parameters that the guarantee depends on.
        summary: The released values in a few lines.
        conditions: What the guarantee rests on beside mathematics; the words say "it holds if".
        own: How far off the release is by itself, where that is known.
        date: The day on which it is published, if the study does not say it.

    >>> study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    >>> statement = make_statement(study, study.plan("mean"))
    >>> statement.alpha, statement.worst_case.epsilon <= 5.0
    (5.0, True)
    """
    guarantee, space = plan.guarantee, plan.terms.space
    unread = "elsewhere" if has_outside(space) else "error"
    outside = unread if study.data is None else study.data.outside
    error = plan.error if own is None else own.about
    published = study.publication or Publication()
    statement = Statement(
        statement=STATEMENT_VERSION,
        library=library(),
        kind=plan.question.kind,
        name=plan.question.label,
        title=plan.question.title or study.title or UNSET,
        description=plan.question.description or study.description or UNSET,
        released=plan.description,
        answer=plan.facts(),
        error=error if math.isfinite(error) else None,
        error_after=None if own is None else OwnFacts(about=own.about, between=own.between),
        error_unit=plan.error_unit,
        summary=list(summary),
        dataset=study.dataset,
        people=plan.terms.users,
        model=plan.terms.model,
        alpha=None if plan.alpha is None else float_up(plan.alpha),
        price=price_words(plan),
        delta=float_up(plan.guarantee.delta),
        unit=space.unit,
        diameter=space.diameter,
        snapping=space.snapping_upper * space.diameter,
        protected=protected(plan.terms.satisfied, charges(plan), space, guarantee.delta),
        worst_case=worst_case(guarantee),
        conditions=list(conditions),
        not_hidden=_not_hidden(plan),
        not_covered=_not_covered(study, plan),
        records=plan.terms.records,
        missing_people=missing_people(plan),
        outside=cast("Outside", outside),
        definition=str(guarantee.definition),
        theorem=guarantee.theorem,
        guarantee=dict(guarantee.to_json()),
        event=plan.event.to_json(),
        ledger=entry,
        parameters={} if parameters is None else parameters,
        space_digest=space.digest,
        space=short_spec(space),
        publication=published if published.date else structs.replace(published, date=date),
    )
    return structs.replace(statement, claim=claim_of(statement))


def short_spec(space: Space) -> Json | None:
    """What makes the space again, where that is short: a folder of results can then be drawn by itself."""
    spec: Json = space.to_spec()
    return spec if len(json.dumps(spec, default=str)) <= _LONGEST_SPACE else None


def library() -> str:
    """What makes statements here, by name and version."""
    return f"barrow {__version__}"


def space_of(statement: Statement) -> Space | None:
    """The space of a statement, where it holds what makes it; by its digest it is the one that was released on."""
    if statement.space is None:
        return None
    try:
        space = space_from_spec(dict(statement.space))
    except PluginError:
        raise
    except BarrowError:
        return None
    return space if space.digest == statement.space_digest else None


def space_released(space: Space, digest: str) -> Space:
    """The space of a study as it says it, or as a question was answered on it, by its digest."""
    for one in (space, space.records_space, with_no_records(space)):
        if one.digest == digest:
            return one
    raise another_space()


def another_space() -> ParameterError:
    """That a space is not the one of a release."""
    return ParameterError(
        "The space differs from the space of the release.",
        allowed="the study of the release, unchanged",
        fix="--study with the study file that the release was made from",
    )


def approved_by(ledger: Ledger, seq: int) -> list[ReleaseApproval]:
    """Who let a ledger pay for record ``seq``, as a statement says it; nobody where nobody need."""
    if not ledger.governed:
        return []
    return [
        ReleaseApproval(
            by=approval.wire.by, key=fingerprint_of(approval.public), proposal=approval.wire.proposal,
            expires=approval.wire.expires,
        )
        for approval in ledger.approvals_of(seq)
    ]  # fmt: skip


def protected(
    satisfied: Iterable[Satisfied], charged: Iterable[Fraction], space: Space, delta: Fraction
) -> list[PromiseFacts]:
    """What each promise gets, on a space: the epsilon that it is charged, and what it means."""
    rows = []
    for row, charge in zip(satisfied, charged, strict=True):
        epsilon = float_up(charge)
        rows.append(
            PromiseFacts(
                changed=describe_change(row.promise, space),
                share=float(row.promise.share),
                distance=float(row.distance) * space.diameter,
                epsilon_promised=float(row.promise.epsilon),
                epsilon=epsilon,
                odds=odds_upper(epsilon, float_up(delta)),
            )
        )
    return rows


class _StatedWindow(msgspec.Struct):
    """What parameters say of the periods that were read."""

    reads: str | None = None
    pool: Literal["records", "periods"] = "records"
    weights: list[str] | None = None


def window_read(statement: Statement) -> Window | None:
    """The periods that a release reads, by its parameters; None for all records."""
    told = msgspec.convert(statement.parameters, _StatedWindow)
    weights = None if told.weights is None else tuple(exact(weight, "weight") for weight in told.weights)
    return None if told.reads is None else Window.parse(told.reads, told.pool, weights)


def worst_case(guarantee: Guarantee) -> WorstCase:
    """What holds if all data of one person were different."""
    epsilon, delta = guarantee.epsilon_at(1), float(guarantee.definition.delta_at(1))
    return WorstCase(epsilon=epsilon, odds=odds_upper(epsilon, delta), delta=delta)


def statement_digest(statement: Statement) -> str:
    """The digest of a whole statement, which it holds itself: a change by accident shows without any ledger."""
    return digest_of(_plain(structs.replace(statement, digest="")))


def write_statement(statement: Statement) -> bytes:
    """``statement.json``: the one form in which a statement is written."""
    return msgspec.json.format(msgspec.json.encode(_plain(statement)), indent=2)


def _plain(statement: Statement) -> Json:
    """The statement as its version writes it."""
    plain: Json = msgspec.json.decode(msgspec.json.encode(statement))
    return {name: value for name, value in plain.items() if statement.statement > 1 or name not in _SINCE_2}


def parse_statement(content: bytes, what: str = "This") -> Statement:
    """The statement that bytes hold; unknown fields are refused, and other versions before anything else is read.

    >>> parse_statement(b'{"statement": 7}')
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: This is a statement of version 7. It was not checked.
      allowed: versions 1 to 4, which this barrow reads
      fix:     use the barrow that wrote it
    """
    try:
        version = msgspec.json.decode(content, type=_Versioned).statement
        if 1 <= version <= STATEMENT_VERSION:
            statement = msgspec.json.decode(content, type=Statement)
            if any((getattr(statement, name) is None) != (version == 1) for name in _SINCE_2):
                raise msgspec.ValidationError(f"its fields are not those of version {version}")
            return statement
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ParameterError(
            f"{what} is not a statement: {str(error)[:200]}.",
            allowed="statement.json as barrow release wrote it",
            fix="give the folder that barrow release wrote",
        ) from None
    raise ParameterError(
        f"{what} is a statement of version {version}. It was not checked.",
        allowed=f"versions 1 to {STATEMENT_VERSION}, which this barrow reads",
        fix="use the barrow that wrote it",
    )


class _Versioned(msgspec.Struct):
    """As much of a statement of any version as says which one it is."""

    statement: int


def _not_hidden(plan: Answer) -> list[str]:
    space, held, reads = plan.terms.space.records_space, held_by_each(plan), plan.terms.reads
    return [
        *([] if reads is None else [f"that it is about records of {window_words(reads)}"]),
        f"that the data are about {plan.terms.users:,} people",
        f"the space: {space.kind}, {space.items:,} items, "
        f"largest distance {near(space.diameter, space.unit, digits=4)}",
        *([] if held.items is None else [f"that each person holds exactly {held.items:,} items"]),
        *([] if held.samples is None else [f"that {held.samples:,} items were drawn from each person"]),
        "the question, the noise and their parameters",
    ]


def window_words(window: Window) -> str:
    """A window in words.

    >>> from barrow.promises.periods import Period
    >>> window_words(Window((Period.parse("2026-10"), Period.parse("2026-11")), "periods"))
    '2026-10..2026-11, all months with equal weight'
    """
    unit = window.periods[0].unit
    if len(window.periods) == 1:
        return window.text
    if window.pool == "records":
        return f"{window.text} together, all records of a person with equal weight"
    if window.weights is None:
        return f"{window.text}, all {unit}s with equal weight"
    return f"{window.text}, the {unit}s counting {', '.join(map(str, window.weights))}"


def _not_covered(study: Study, plan: Answer) -> list[str]:
    """Where what is promised stops."""
    results = []
    source = None if study.data is None else study.data.source
    if source is not None and source.consequence:
        results.append(source.consequence)
    unit = None if plan.terms.reads is None else plan.terms.reads.periods[0].unit
    if study.data is not None and study.data.number is not None:
        results.append(study.data.number.caveat(plan.terms.space, unit))
    if unit is not None:
        results.append(f"records are assumed to stay in their {unit}: a record moved to another {unit} changes both")
    return [*results, *texts(notes_of(plan), Severity.UNPROVED, Severity.LIMIT)]
