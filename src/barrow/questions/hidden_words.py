"""What a statement says of values within hidden groups of records, from itself alone."""

from __future__ import annotations

from barrow.numerics.exact import PERCENT, at_most, near
from barrow.questions.noise_words import noise_sentence, shares_counted
from barrow.questions.statement import HiddenGroups, Statement, needed


def hidden_of(statement: Statement) -> HiddenGroups:
    """The hidden groups of a statement that has them."""
    return needed(statement.answer.hidden_groups)


def hidden_released(statement: Statement) -> str:
    """What was released, and what its intervals say."""
    groups = hidden_of(statement)
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


def _counted(statement: Statement) -> str:
    """What the noise was added to."""
    return (
        f"For each {hidden_of(statement).name}, over {statement.people:,} people: the mean of the share of a person's "
        "records in the group, and of this share times how far their items there are from the middle, as exact "
        "fractions."
    )


def hidden_steps(statement: Statement) -> list[str]:
    """What the noise was added to, how it was drawn, and what was made of it."""
    width, result = at_most(hidden_of(statement).share_half_width_95, PERCENT), statement.answer.histogram
    if result is not None:
        return [
            shares_counted(statement, result),
            noise_sentence(statement.answer),
            f"The noisy values ({result.words}) were decoded to one histogram of groups and items, "
            f"which was divided by the shares of the groups. These are within {width} of the true values at the public "
            "reference, all at once.",
        ]
    return [
        _counted(statement),
        noise_sentence(statement.answer),
        f"The shares of all groups are within {width} of the true values with probability 95 %, simultaneously. Each "
        f"value within a group is a quotient of two released numbers; its interval (Fieller) allows for the noise of "
        f"both.",
    ]
