"""What NIST SP 800-226 asks of a claim of differential privacy, said from a statement's own fields."""

from __future__ import annotations

from collections.abc import Mapping

from barrow.numerics.exact import at_most, near
from barrow.promises import Model
from barrow.questions.statement import Claim, Statement

OUTSIDE_WORDS = {
    "error": "a record outside the space would have stopped the release",
    "default": "records outside the space counted as the public default item",
    "nearest": "records outside the space were moved to its nearest point",
    "elsewhere": "records outside the space counted as one public item, 'elsewhere'",
}
_TRUST = {
    Model.CENTRAL: "central: the curator holds all records and adds the noise",
    Model.SHUFFLE: "shuffle: people randomise their own items, and a mixer permutes all messages before they are "
    "opened",
    Model.AGGREGATED: "aggregated: people split their answers into shares for several aggregators, who add up the "
    "shares and noise",
    Model.LOCAL: "local: people randomise their own items before anything leaves their device",
}
_READERS = "readers of the release: trusted with nothing; they may know everybody else's data and work together"
_ACTORS = {
    Model.CENTRAL: [
        "the curator: trusted with all records, with the machine that draws the noise, and to release through the "
        "ledger alone",
        "whoever keeps the ledger: trusted to have one ledger for the data set",
    ],
    Model.SHUFFLE: [
        "each person's device: trusted by its owner to draw the noise",
        "the mixer: trusted not to work together with the analyser, who opens the messages",
        "the curator: trusted with mixed messages only",
    ],
    Model.AGGREGATED: [
        "each person's device: trusted by its owner to round and to share the answer",
        "the aggregators: all but the dishonest ones that were allowed for, trusted to keep to the rules; all of them "
        "together would see every answer",
        "the curator: trusted with the noisy sum only",
    ],
    Model.LOCAL: [
        "each person's device: trusted by its owner to draw the noise",
        "the curator: trusted with nothing; sees randomised reports only",
    ],
}
_SIDE_CHANNELS = [
    "noise comes from the system's cryptographic source and is rounded once, exactly, so that floating-point "
    "rounding reveals nothing",
    "errors about records say what is wrong in kind, never a value or a count",
    "the time that a release takes, the machine's memory and what its operators see are outside the guarantee",
]


def claim_of(statement: Statement) -> Claim:
    """The claim that follows from the rest of a statement."""
    data = statement.parameters.get("data")
    return Claim(
        unit=_unit(statement, data if isinstance(data, Mapping) else {}),
        parameters=_parameters(statement),
        trust=_TRUST.get(statement.model, statement.model.value),
        actors=[*_ACTORS.get(statement.model, []), *_approvers(statement), _READERS],
        side_channels=list(_SIDE_CHANNELS),
        preprocessing=_preprocessing(statement, data if isinstance(data, Mapping) else {}),
        bias=_bias(statement),
    )


def claim_lines(claim: Claim) -> list[str]:
    """A claim in words, a paragraph for each thing that is asked."""
    return [
        f"Unit of privacy: {claim.unit}.",
        f"Parameters: {'; '.join(claim.parameters)}.",
        f"Trust model: {claim.trust}. Actors: {'; '.join(claim.actors)}.",
        f"Side channels: {'; '.join(claim.side_channels)}.",
        f"Preprocessing: {'; '.join(claim.preprocessing)}.",
        f"Known bias: {'; '.join(claim.bias)}.",
    ]


def _unit(statement: Statement, data: Mapping[str, object]) -> str:
    user = data.get("user")
    whose = f"all records with one value of the column {user!r}" if user else "all their records"
    return (
        f"one person, {whose}; neighbours differ in one person's data, by the earth mover's distance between them"
        if statement.alpha is not None
        else f"one person, {whose}; neighbours differ in one person's data, in any way"
    )


def _parameters(statement: Statement) -> list[str]:
    promises = [f"ε = {at_most(row.epsilon)} if {row.changed}" for row in statement.protected]
    alpha = [] if statement.alpha is None else [f"α = {near(statement.alpha, digits=4)} per largest distance"]
    worst = f"ε = {at_most(statement.worst_case.epsilon)} if everything about a person had been different"
    return [*alpha, f"δ = {at_most(statement.delta) if statement.delta else 0}", *promises, worst]


def _approvers(statement: Statement) -> list[str]:
    rows = () if statement.ledger is None else statement.ledger.approved
    return [f"approvers ({', '.join(row.by for row in rows)}): signed this release beforehand"] if rows else []


def _preprocessing(statement: Statement, data: Mapping[str, object]) -> list[str]:
    told = []
    if data.get("sql"):
        told.append("a public query selected or computed the records (in parameters, data.sql)")
    if data.get("per_person"):
        told.append(f"each person's records became one number: {data['per_person']}")
    if data.get("weight"):
        told.append(f"records count as often as the column {data['weight']!r} says")
    about = statement.answer.about
    if about is not None and about.reads:
        told.append(f"only records with a time in {about.reads} were read")
    if statement.answer.sampled and statement.answer.items_per_person:
        told.append(f"{statement.answer.items_per_person:,} items were drawn at random from each person's items")
    if statement.snapping:
        told.append(f"records were snapped to a public grid, by at most {at_most(statement.snapping, statement.unit)}")
    told.append(OUTSIDE_WORDS[statement.outside])
    told.append("barrow chose cells, noise and decoder from public numbers, never from records")
    return told


def _bias(statement: Statement) -> list[str]:
    told = ["every person counts the same, however many records they have"]
    if statement.snapping:
        told.append("snapping to the grid may shift values, which is counted in their error")
    told.append(statement.missing_people.partition(";")[0])
    decoded = statement.answer.histogram or statement.answer.frequency
    if decoded is not None and decoded.decode != "none":
        told.append(
            "decoded shares are not negative and add up to one, so that small shares tend to be too large and peaks "
            "too flat"
        )
    if statement.outside in ("default", "nearest"):
        told.append(OUTSIDE_WORDS[statement.outside])
    return told
