"""The statement that goes with a release: what was released, what is protected how well, and what is not."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from barrow._version import __version__
from barrow.errors import BarrowError, ParameterError
from barrow.numerics import digest_of, float_up
from barrow.numerics.exact import at_most, near
from barrow.policy import RecordMap, describe_change, odds_upper, percent_up
from barrow.privacy import Guarantee
from barrow.questions import Plan, Question, declared_parts, question_kinds
from barrow.registry import PluginError
from barrow.spaces import Space, space_from_spec
from barrow.spaces.covariates import caveat
from barrow.spaces.one_more import has_outside
from barrow.study.study import Study

if TYPE_CHECKING:
    from barrow.planning.after import OwnError

STATEMENT_VERSION = 4
"""Grows with every change of fields or words; statements of another version are not read."""
_LONGEST_SPACE = 20_000
_OUTSIDE = {
    "error": "a record outside the space would have stopped the release",
    "default": "records outside the space counted as the public default item",
    "nearest": "records outside the space were moved to its nearest point",
    "elsewhere": "records outside the space counted as one public item, 'elsewhere'",
}


def _whole(words: Callable[[Mapping[str, Any]], str]) -> Callable[[Mapping[str, Any]], str]:
    """Words from plain data that may come from anywhere: what is missing or odd is an error that says so."""

    @wraps(words)
    def checked(said: Mapping[str, Any]) -> str:
        try:
            return words(said)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError(
                f"The statement is not whole: {type(error).__name__}.",
                allowed="a statement as barrow release wrote it",
                fix="give the folder that barrow release wrote",
            ) from None

    return checked


def make_statement(
    study: Study,
    plan: Plan,
    *,
    entry: Mapping[str, Any],
    parameters: Mapping[str, Any],
    summary: Sequence[str] = (),
    conditions: Sequence[str] = (),
    own: OwnError | None = None,
) -> dict[str, Any]:
    """The statement as plain data: public numbers only.

    Args:
        study: The study.
        plan: What was released.
        entry: Where the ledger remembers it.
        parameters: The public parameters that the guarantee depends on.
        summary: The released values in a few lines.
        conditions: What the guarantee rests on beside mathematics; the words say "it holds if".
        own: How far off the release is by itself, where that is known.

    >>> study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    >>> said = make_statement(study, study.plan("mean"), entry={}, parameters={})
    >>> said["alpha"], said["worst_case"]["epsilon"] <= 5.0
    (5.0, True)
    """
    guarantee, space = plan.guarantee, plan.space
    unread = "elsewhere" if has_outside(space) else "error"
    outside = unread if study.data is None else study.data.outside
    return {
        "statement": STATEMENT_VERSION,
        "library": f"barrow {__version__}",
        "kind": plan.question.kind,
        "name": plan.question.label,
        "released": plan.description,
        **plan.fields(),
        "error": plan.error if own is None else own.about,
        "error_after": None if own is None else own.to_json(),
        "error_unit": plan.error_unit,
        "summary": list(summary),
        "dataset": study.dataset,
        "people": plan.terms.users,
        "model": plan.terms.model.value,
        "alpha": None if plan.alpha is None else float_up(plan.alpha),
        "price": plan.price_words,
        "delta": float_up(plan.delta),
        "unit": space.unit,
        "diameter": space.diameter,
        "snapping": space.snapping_upper * space.diameter,
        "protected": protected(plan),
        "worst_case": worst_case(guarantee),
        **({"conditions": list(conditions)} if conditions else {}),
        "not_hidden": _not_hidden(plan),
        "not_covered": _not_covered(study, plan),
        "records": plan.terms.records.value,
        "missing_people": plan.missing_people,
        "outside": outside,
        "definition": str(guarantee.definition),
        "theorem": guarantee.theorem,
        "guarantee": guarantee.to_json(),
        "event": plan.event.to_json(),
        "ledger": dict(entry),
        "parameters": dict(parameters),
        "space_digest": space.digest,
        "space": _small(space),
        "files": [],
    }


def _small(space: Space) -> dict[str, Any] | None:
    """What makes the space again, where that is short: a folder of results can then be drawn by itself."""
    spec = space.to_spec()
    return spec if len(json.dumps(spec, default=str)) <= _LONGEST_SPACE else None


def space_of(said: Mapping[str, Any]) -> Space | None:
    """The space of a statement, where it holds what makes it; by its digest it is the one that was released on."""
    spec = said.get("space")
    if not isinstance(spec, Mapping):
        return None
    try:
        space = space_from_spec(dict(spec))
    except PluginError:
        raise
    except BarrowError:
        return None
    return space if space.digest == said.get("space_digest") else None


def protected(plan: Plan) -> list[dict[str, Any]]:
    """What each promise gets from this release: the epsilon that it costs there, and what it means."""
    rows = []
    kept = plan.terms.policy.kept if plan.terms.promises else ()
    for promise, asked, charge in zip(plan.terms.promises, kept, plan.charges(), strict=True):
        epsilon = float_up(charge)
        rows.append(
            {
                "if": describe_change(promise, plan.space),
                "share": float(promise.share),
                "distance": float(asked.distance) * plan.space.diameter,
                "epsilon_promised": float(promise.epsilon),
                "epsilon": epsilon,
                "odds": odds_upper(epsilon, float_up(plan.delta)),
            }
        )
    return rows


def worst_case(guarantee: Guarantee) -> dict[str, float]:
    """What holds if all data of one person were different."""
    epsilon, delta = guarantee.epsilon_at(1), float(guarantee.definition.delta_at(1))
    return {"epsilon": epsilon, "odds": odds_upper(epsilon, delta), "delta": delta}


def statement_digest(said: Mapping[str, Any]) -> str:
    """The digest of a whole statement, which it holds itself: a change by accident shows without any ledger."""
    return digest_of({name: value for name, value in said.items() if name != "digest"})


def _not_hidden(plan: Plan) -> list[str]:
    space = plan.space.records_space
    return [
        f"that the data are about {plan.terms.users:,} people",
        f"the space: {space.kind}, {space.items:,} items, largest distance {space.diameter:,.6g} {space.unit}".rstrip(),
        *([] if plan.items is None else [f"that each person holds exactly {plan.items:,} items"]),
        *([] if plan.samples is None else [f"that {plan.samples:,} items were drawn from each person"]),
        "the question, the noise and their parameters",
    ]


def _not_covered(study: Study, plan: Plan) -> list[str]:
    """Where what is promised stops."""
    found = []
    source = None if study.data is None else study.data.source
    if source is not None and source.consequence:
        found.append(source.consequence)
    others = declared_parts(plan.question, plan.space)
    return [*found, *(text for text in (plan.declared, *others, caveat(plan.space)) if text)]


def kind_of(said: Mapping[str, Any]) -> type[Question]:
    """The kind of question that a statement answers."""
    from barrow.questions import Mean

    return question_kinds().get(str(said.get("kind")), Mean)


@_whole
def statement_text(said: Mapping[str, Any]) -> str:
    """The statement in words, from its plain data.

    >>> study = Study("line(low=0, high=100, step=1, unit='years')", ["all, 5 years, 0.5"], users=10)
    >>> text = statement_text(make_statement(study, study.plan("mean"), entry={}, parameters={}))
    >>> "a 50 % guess can become at most 62.3 %" in text
    True
    """
    lines = [
        kind_of(said).released(said),
        "Anyone who sees it, and knows everybody else's data, can become at most this much surer about one person:",
    ]
    for row in said["protected"]:
        lines.append(
            f"- if {row['if']}, a 50 % guess can become at most {percent_up(row['odds'])} "
            f"(ε = {at_most(row['epsilon'])});"
        )
    worst = said["worst_case"]
    lines.append(
        f"- if everything had been different, at most {percent_up(worst['odds'])} (ε = {at_most(worst['epsilon'])})."
    )
    if said["delta"] > 0:
        lines.append(
            f"δ = {at_most(said['delta'])} is counted in these numbers: at most so often such a guess is right, "
            "(e^ε + δ)/(1 + e^ε)."
        )
    if said.get("conditions"):
        lines.append("All this holds if " + "; and if ".join(said["conditions"]) + ".")
    lines.append("Not hidden: " + "; ".join(said["not_hidden"]) + ".")
    if said.get("not_covered"):
        lines.append("Not covered: " + "; ".join(text.rstrip(".") for text in said["not_covered"]) + ".")
    largest = f" per {said['diameter']:,.1f} {said['unit']}" if said["unit"] else ""
    rate = "" if said["alpha"] is None else f", α = {near(said['alpha'], digits=4)}{largest}"
    lines.append(f"Guarantee: {said['definition']}{rate} [{said['theorem']}].")
    if said["snapping"]:
        lines.append(
            f"Records were snapped to a public grid, which moves them by at most "
            f"{at_most(said['snapping'], said['unit'])} (the bounds allow for it)."
        )
    if words := RecordMap(said.get("records", "contraction")).words:
        lines.append(f"{words}.")
    if said.get("missing_people") and not said.get("conditions"):
        lines.append(said["missing_people"][0].upper() + said["missing_people"][1:] + ".")
    entry = said["ledger"]
    if entry:
        lines.append(f"Releases about the same people add up; this is entry {entry['entry']} of the ledger.")
    lines.append(f"Made by {said['library']}.")
    return "\n".join(textwrap.fill(line, 100, subsequent_indent="  " if line.startswith("-") else "") for line in lines)


@_whole
def explain(said: Mapping[str, Any]) -> str:
    """How the release was made, as numbered steps, from the statement's plain data.

    >>> study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    >>> said = make_statement(study, study.plan("mean"), entry={}, parameters={})
    >>> explain(said).splitlines()[0]
    '1. The records were snapped to the public space; only integer counts left the engine.'
    """
    outside = said["outside"]
    note = "" if outside == "error" else f" ({_OUTSIDE[outside]})"
    entry, kind = said["ledger"], kind_of(said)
    steps = [
        *(
            ["Every person's client randomised their own items; messages were mixed before anybody opened them."]
            if said.get("conditions")
            else [
                f"The records were snapped to the public space; only integer counts left the engine.{note}",
                kind.counted(said),
            ]
        ),
        said["price"]
        + " was reserved in the ledger"
        + (f" (entry {entry['entry']}, key {entry['key']!r})" if entry else "")
        + (" before anything was published." if said.get("conditions") else " before any noise was drawn."),
        *kind.drawn(said),
        f"The guarantee, {said['definition']}, follows from {said['theorem']} and depends on public parameters only.",
        f"If all data of one person were different: ε = {at_most(said['worst_case']['epsilon'])}.",
    ]
    return "\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1))
