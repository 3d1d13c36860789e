"""The statement that goes with a release: what was released, what is protected how well, and what is not."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from barrow._version import __version__
from barrow.numerics import float_up
from barrow.policy import Policy, describe_distance, describe_share, odds_upper, percent_up
from barrow.privacy import Guarantee
from barrow.release.plan import Plan
from barrow.release.words import words_of

STATEMENT_VERSION = 1


def make_statement(
    plan: Plan,
    *,
    users: int,
    declared: bool,
    entry: Mapping[str, Any],
    parameters: Mapping[str, Any],
    files: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """The statement as plain data: public numbers only.

    Args:
        plan: What was released.
        users: n.
        declared: Whether the study said n, or the number found is hereby declared public.
        entry: Where the ledger remembers it.
        parameters: The public parameters that the guarantee depends on.
        files: Names and digests of the files.

    >>> from fractions import Fraction
    >>> from barrow.release.study import Study
    >>> from barrow.spaces import Line
    >>> study = Study(Line(0, 1, step=0.1), alpha=Fraction(5), query={"kind": "mean"}, users=10)
    >>> said = make_statement(study.plan(), users=10, declared=True, entry={}, parameters={})
    >>> said["alpha"], said["worst_case"]["epsilon"] <= 5.0
    (5.0, True)
    """
    guarantee, space = plan.guarantee, plan.study.space
    alpha = guarantee.definition.parameters.get("alpha")  # none where items were drawn first
    worst = guarantee.epsilon_at(1)
    return {
        "statement": STATEMENT_VERSION,
        "library": f"barrow {__version__}",
        "kind": plan.kind,
        "released": plan.description,
        **plan.statement_fields(),
        "dataset": plan.study.dataset,
        "people": users,
        "people_declared": declared,
        "alpha": None if alpha is None else float_up(alpha),
        "price": plan.price,
        "delta": float(guarantee.definition.parameters["delta"]),
        "unit": space.unit,
        "diameter": space.diameter,
        "snapping": space.snapping_upper * space.diameter,
        "protected": _protected(plan),
        "worst_case": {"epsilon": worst, "odds": odds_upper(worst), **_worst_delta(guarantee)},
        "not_hidden": _not_hidden(plan, users, declared),
        "definition": str(guarantee.definition),
        "theorem": guarantee.theorem,
        "guarantee": guarantee.to_json(),
        "event": plan.event.to_json(),
        "ledger": dict(entry),
        "parameters": dict(parameters),
        "space_digest": space.digest,
        "files": [dict(file) for file in files],
    }


def _protected(plan: Plan) -> list[dict[str, Any]]:
    """What each promise gets from this release: alpha * EMD, or the worst case where that is less."""
    study = plan.study
    if not study.promises:
        return []
    rows = []
    for i, kept in enumerate(Policy(study.space, study.promises, delta=study.delta).kept):
        promise, epsilon = kept.promise, plan.promised(i, float_up(kept.emd))
        rows.append(
            {
                "if": f"{describe_share(promise)} had been {describe_distance(promise, study.space)} elsewhere",
                "emd": float_up(kept.emd),
                "epsilon_promised": float(promise.epsilon),
                "epsilon": epsilon,
                "odds": odds_upper(epsilon),
            }
        )
    return rows


def _worst_delta(guarantee: Guarantee) -> dict[str, float]:
    worst = guarantee.worst_case
    return {"delta": float((worst or guarantee.definition).parameters["delta"])}


def _not_hidden(plan: Plan, users: int, declared: bool) -> list[str]:
    space = plan.study.space
    found = "" if declared else " (the number found in the data, hereby declared public)"
    return [
        f"that the data are about {users:,} people{found}",
        f"the space: {space.kind}, {space.items:,} items, largest distance {space.diameter:,.6g} {space.unit}".rstrip(),
        *([] if plan.items is None else [f"that each person holds exactly {plan.items:,} items"]),
        *([] if plan.samples is None else [f"that {plan.samples:,} items were drawn from each person"]),
        "the question, the noise and their parameters",
    ]


def statement_text(said: Mapping[str, Any]) -> str:
    """The statement in words, from its plain data.

    >>> from fractions import Fraction
    >>> from barrow.policy import Promise
    >>> from barrow.release.study import Study
    >>> from barrow.spaces import Line
    >>> promises = (Promise("all", "5 years", "0.5"),)
    >>> study = Study(Line(0, 100, unit="years", step=1), promises, query={"kind": "mean"}, users=10)
    >>> text = statement_text(make_statement(study.plan(), users=10, declared=True, entry={}, parameters={}))
    >>> "a 50 % guess can become at most 62.3 %" in text
    True
    """
    words = words_of(said)
    lines = [
        words.released(said),
        "Anyone who sees it, and knows everybody else's data, can become at most this much surer about one person:",
    ]
    for row in said["protected"]:
        lines.append(
            f"- if {row['if']}, a 50 % guess can become at most {percent_up(row['odds'])} (ε = {row['epsilon']:.3g});"
        )
    worst = said["worst_case"]
    lines.append(
        f"- if everything had been different, at most {percent_up(worst['odds'])} (ε = {worst['epsilon']:.3g})."
    )
    if said["delta"] > 0:
        lines.append(f"These bounds may fail with probability {said['delta']:.3g} (δ).")
    lines.append("Not hidden: " + "; ".join(said["not_hidden"]) + ".")
    largest = f" per {said['diameter']:,.1f} {said['unit']}" if said["unit"] else ""
    rate = "" if said["alpha"] is None else f", α = {said['alpha']:.4g}{largest}"
    lines.append(f"Guarantee: {said['definition']}{rate} [{said['theorem']}].")
    if said["snapping"]:
        lines.append(
            f"Records were snapped to a public grid, which moves them by at most {said['snapping']:.3g} {said['unit']} "
            "(the bounds allow for it)."
        )
    entry = said["ledger"]
    if entry:
        lines.append(f"Releases about the same people add up; this is entry {entry['entry']} of the ledger.")
    lines.append(f"Made by {said['library']}.")
    return "\n".join(textwrap.fill(line, 100, subsequent_indent="  " if line.startswith("-") else "") for line in lines)


def explain(said: Mapping[str, Any]) -> str:
    """How the release was made, as numbered steps, from the statement's plain data.

    >>> from fractions import Fraction
    >>> from barrow.release.study import Study
    >>> from barrow.spaces import Line
    >>> study = Study(Line(0, 1, step=0.1), alpha=Fraction(5), query={"kind": "mean"}, users=10)
    >>> said = make_statement(study.plan(), users=10, declared=True, entry={}, parameters={})
    >>> explain(said).splitlines()[0]
    '1. The records were read once and snapped to the public space; only integer counts left the engine.'
    """
    data = said["parameters"].get("unknown", "error")
    unknown = {
        "error": "a record outside the space would have stopped the release",
        "default": "records outside the space counted as the public default item",
        "nearest": "records outside the space were moved to its nearest point",
    }[data]
    entry, words = said["ledger"], words_of(said)
    steps = [
        f"The records were read once and snapped to the public space; only integer counts left the engine. ({unknown})"
        if data != "error"
        else "The records were read once and snapped to the public space; only integer counts left the engine.",
        words.counted(said),
        (f"α = {said['alpha']:.6g}" if said["alpha"] is not None else said["price"])
        + " was reserved in the ledger"
        + (f" (entry {entry['entry']}, key {entry['key']!r})" if entry else "")
        + " before any noise was drawn.",
        *words.drawn(said),
        f"The guarantee, {said['definition']}, follows from {said['theorem']} and depends on public parameters only.",
        f"If all data of one person were different: ε = {said['worst_case']['epsilon']:.4g}.",
    ]
    return "\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1))
