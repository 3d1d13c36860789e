"""What statements say in words: functions of a :class:`barrow.questions.statement.Statement` alone."""

from __future__ import annotations

import textwrap

from barrow.numerics.exact import PERCENT, at_most, near
from barrow.promises import Model, percent_up
from barrow.questions import Mean, Question, question_kinds
from barrow.questions.noise_words import noise_sentence, shares_counted
from barrow.questions.statement import Statement, needed
from barrow.study.claim import OUTSIDE_WORDS, claim_lines

_COLLECTED = {
    Model.LOCAL: "Every person's client added noise to their own answer before it left.",
    Model.SHUFFLE: "Every person's client randomised their own items; all messages were mixed before they were opened.",
    Model.AGGREGATED: "Every person's client rounded their own answer at random and split it into shares; each "
    "aggregator checked and added up its shares, and only the noisy sums were put together.",
}


def kind_of(statement: Statement) -> type[Question]:
    """The kind of question that a statement answers."""
    return question_kinds().get(statement.kind, Mean)


def released_words(statement: Statement) -> str:
    """What was released, and how accurate it is, in a sentence or two."""
    hidden = statement.answer.hidden_groups is not None
    return _hidden_released(statement) if hidden else kind_of(statement).released(statement)


def statement_text(statement: Statement) -> str:
    """The statement in words.

    >>> from barrow.study import Study, make_statement
    >>> study = Study("line(low=0, high=100, step=1, unit='years')", ["all, 5 years, 0.5"], users=10)
    >>> text = statement_text(make_statement(study, study.plan("mean")))
    >>> "a 50 % guess can become at most 62.3 %" in text
    True
    """
    return "\n".join(map(_filled, statement_lines(statement)))


def statement_lines(statement: Statement) -> list[str]:
    """The paragraphs of a statement in words, each in one line; an empty one before the claim in full.

    >>> from barrow.study import Study, make_statement
    >>> study = Study("line(low=0, high=100, step=1, unit='years')", ["all, 5 years, 0.5"], users=10)
    >>> statement_lines(make_statement(study, study.plan("mean")))[3]
    '- if everything had been different, at most 100 % (ε = 8.34).'
    """
    lines = [
        released_words(statement),
        "Anyone who sees it, and knows everybody else's data, can gain at most this much certainty about one person:",
    ]
    for row in statement.protected:
        lines.append(
            f"- if {row.changed}, a 50 % guess can become at most {percent_up(row.odds)} (ε = {at_most(row.epsilon)});"
        )
    worst = statement.worst_case
    lines.append(
        f"- if everything had been different, at most {percent_up(worst.odds)} (ε = {at_most(worst.epsilon)})."
    )
    if statement.delta > 0:
        lines.append(
            f"δ = {at_most(statement.delta)} is included in these numbers: such a guess is right with probability at "
            f"most (e^ε + δ)/(1 + e^ε)."
        )
    lines += _about_lines(statement)
    if statement.conditions:
        lines.append("All this holds if " + "; and if ".join(statement.conditions) + ".")
    lines.append("Not hidden: " + "; ".join(statement.not_hidden) + ".")
    if statement.not_covered:
        lines.append("Not covered: " + "; ".join(text.rstrip(".") for text in statement.not_covered) + ".")
    largest = f" per {statement.diameter:,.1f} {statement.unit}" if statement.unit else ""
    rate = "" if statement.alpha is None else f", α = {near(statement.alpha, digits=4)}{largest}"
    lines.append(f"Guarantee: {statement.definition}{rate} [{proof_words(statement.theorem)}].")
    if statement.snapping:
        lines.append(
            f"Records were snapped to a public grid, which moves them by at most "
            f"{at_most(statement.snapping, statement.unit)} (the bounds allow for it)."
        )
    if words := statement.records.words:
        lines.append(f"{words}.")
    if not statement.conditions:
        lines.append(statement.missing_people[:1].upper() + statement.missing_people[1:] + ".")
    if statement.ledger is not None:
        entry = f"this is entry {statement.ledger.entry} of the ledger"
        how = "add up in quadrature, as the root of the sum of the squares of their μ; their ε do not add"
        quadratic = bool(statement.parameters.get("squares"))
        lines.append(f"Releases about the same people {how if quadratic else 'add up'}; {entry}.")
        if approved := statement.ledger.approved:
            names = ", ".join(row.by for row in approved)
            lines.append(f"Approved by {names} (proposal {approved[0].proposal}); the ledger holds their signatures.")
    if published := _published_line(statement):
        lines.append(published)
    lines.append(f"Made by {statement.library}.")
    if statement.claim is not None:
        lines += ["", *claim_lines(statement.claim)]
    return lines


def proof_words(theorem: str) -> str:
    """Where the proof of a guarantee stands: a page of its own, or a row of the paper's page.

    >>> proof_words("lemma:lin"), proof_words("docs/proofs/gaussian.md")
    ('docs/paper.md (lemma:lin)', 'docs/proofs/gaussian.md')
    """
    return theorem if theorem.startswith("docs/") else f"docs/paper.md ({theorem})"


def _published_line(statement: Statement) -> str:
    """Who publishes it, and what for."""
    told = statement.publication
    if told is None:
        return ""
    parts = [
        f"Published{f' by {told.curator}' if told.curator else ''}{f' on {told.date}' if told.date else ''}",
        *([f"for {told.purpose.rstrip('.')}"] if told.purpose else []),
        *([f"about {told.region}"] if told.region else []),
        *([f"licence {told.license}"] if told.license else []),
        *([f"questions to {told.contact}"] if told.contact else []),
    ]
    return "; ".join(parts) + "." if len(parts) > 1 or parts[0] != "Published" else ""


def _filled(line: str) -> str:
    """A line of at most 80 columns; a number and its sign stay together."""
    together = line.replace("ε = ", "ε\xa0=\xa0").replace("α = ", "α\xa0=\xa0").replace(" %", "\xa0%")
    indent = "  " if line.startswith("-") else ""
    return textwrap.fill(together, 80, subsequent_indent=indent, break_on_hyphens=False).replace("\xa0", " ")


def _read_steps(statement: Statement) -> list[str]:
    """Which records were read, and for whom they were counted."""
    about = statement.answer.about
    if about is None:
        return []
    steps = []
    if about.reads:
        steps.append(
            f"Only records with a time in {about.reads} ({about.zone}) were read; people without any count as "
            f"holding no records of that time."
        )
    if about.groups:
        steps.append(f"Everything was counted by {about.grouping}, and each group got its own noise.")
    return steps


def _about_lines(statement: Statement) -> list[str]:
    """What is to be said where a release is about some periods, or about groups of people."""
    about = statement.answer.about
    if about is None:
        return []
    lines = []
    if about.so_far:
        many = f"all {about.periods_so_far:,} {about.unit}s" if about.periods_so_far > 1 else f"this one {about.unit}"
        told = "; ".join(
            f"if {row.changed}, ε = {at_most(row.epsilon)} (at most {percent_up(row.odds)})" for row in about.so_far
        )
        lines.append(f"All releases so far together, about {many}: {told}.")
        lines.append(
            f"Facts that are the same in every {about.unit}, such as a home, are protected by these sums only, which "
            f"grow with every release."
        )
    if about.pool == "records" and ("," in about.reads or ".." in about.reads):
        worst = statement.worst_case
        lines.append(
            f"To learn whether a person has any records in one of these {about.unit}s: ε = {at_most(worst.epsilon)} "
            f"(at most "
            f"{percent_up(worst.odds)}), because their other records stay."
        )
    if about.groups:
        sizes = ", ".join(f"{row.group} ({row.people:,} people)" for row in about.groups)
        lines.append(
            f"By {about.grouping}: {sizes}. Groups are public and each person is in exactly one, so each group's "
            f"numbers may use the whole promise. The costs of several groupings add up."
        )
    return lines


def explain(statement: Statement) -> str:
    """How the release was made, as numbered steps.

    >>> from barrow.study import Study, make_statement
    >>> study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    >>> explain(make_statement(study, study.plan("mean"))).splitlines()[0]
    '1. The records were snapped to the public space; only integer counts left the engine.'
    """
    note = "" if statement.outside == "error" else f" ({OUTSIDE_WORDS[statement.outside]})"
    entry, reports = statement.ledger, bool(statement.conditions)
    hidden = statement.answer.hidden_groups is not None
    counted, *noise = _hidden_steps(statement) if hidden else kind_of(statement).steps(statement)
    steps = [
        *(
            [needed(_COLLECTED.get(statement.model))]
            if reports
            else [
                f"The records were snapped to the public space; only integer counts left the engine.{note}",
                *_read_steps(statement),
                counted,
            ]
        ),
        statement.price
        + " was charged in the ledger"
        + ("" if entry is None else f" (entry {entry.entry}, key {entry.key!r})")
        + (" before anything was published." if reports else " before any noise was drawn."),
        *noise,
        f"The guarantee, {statement.definition}, is proved in {proof_words(statement.theorem)} and depends on public "
        f"parameters only.",
        f"If all data of one person were different: ε = {at_most(statement.worst_case.epsilon)}.",
    ]
    return "\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1))


def _hidden_released(statement: Statement) -> str:
    """What was released, and what its intervals say."""
    groups = needed(statement.answer.hidden_groups)
    begin = (
        f"We released {statement.released} ({groups.name}), computed from {statement.people:,} people; each person "
        "counts in a group with the share of their records there. "
    )
    if statement.answer.histogram is not None:
        off = near(groups.error_at_equal_shares, groups.unit)
        return begin + (
            f"Within a group of 1 of {len(groups.labels)} of all records the histogram was predicted to be off by "
            f"about {off} (earth mover's distance), and by more in smaller ones; the table of groups gives the "
            f"approximate error of each, and each share has a 95 % interval or an upper limit. A group whose share "
            f"may be 0 is "
            "not determined."
        )
    return begin + (
        "Each value comes with an interval that contains the true value with probability 95 %, for all groups "
        "simultaneously, snapping included; a group whose share may be 0 is not determined."
    )


def _hidden_counted(statement: Statement) -> str:
    """What the noise was added to."""
    name = needed(statement.answer.hidden_groups).name
    return (
        f"For each {name}, over {statement.people:,} people: the mean of the share of a person's "
        "records in the group, and of this share times how far their items there are from the middle, as exact "
        "fractions."
    )


def _hidden_steps(statement: Statement) -> list[str]:
    """What the noise was added to, how it was drawn, and what was made of it."""
    groups, result = needed(statement.answer.hidden_groups), statement.answer.histogram
    width = at_most(groups.share_half_width_95, PERCENT)
    if result is not None:
        return [
            shares_counted(statement, result),
            noise_sentence(statement.answer),
            f"The noisy values ({result.words}) were decoded to one histogram of groups and items, "
            f"which was divided by the shares of the groups. These are within {width} of the true values at the public "
            "reference, all at once.",
        ]
    return [
        _hidden_counted(statement),
        noise_sentence(statement.answer),
        f"The shares of all groups are within {width} of the true values with probability 95 %, simultaneously. Each "
        f"value within a group is a quotient of two released numbers; its interval (Fieller) allows for the noise of "
        f"both.",
    ]
