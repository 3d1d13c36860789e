"""What statements say about items that are randomised one by one."""

from __future__ import annotations

from barrow.questions.statement import AnswerFacts, Statement, needed


def how_many(facts: AnswerFacts) -> str:
    """How many items each person gave."""
    items = needed(facts.items_per_person)
    return f"{items:,} items drawn from each" if facts.sampled else f"each holding exactly {items:,} items"


def items_counted(statement: Statement) -> str:
    """What was counted before it was randomised."""
    people, items = statement.people, needed(statement.answer.items_per_person)
    if statement.answer.sampled:
        return (
            f"{items:,} items were drawn from each of the {people:,} people with replacement, exactly uniformly, from "
            "the operating system's entropy, and counted together inside the engine."
        )
    return f"The items of all {people:,} people, exactly {items:,} of each, were counted together."


def reports_sentence(statement: Statement) -> str:
    """How reports were drawn in place of items."""
    noise = needed(statement.answer.noise)
    how = "by each person's client" if statement.conditions else "as counts"
    return (
        f"Every item was replaced by a random report ({noise.distribution}, α₀ = {needed(noise.alpha0):.6g} for each, "
        f"by {noise.method}), drawn exactly, {how}, from the operating system's entropy; only the multiset of "
        "reports is released."
    )
