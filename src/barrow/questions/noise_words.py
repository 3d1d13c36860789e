"""What statements say about additive noise, about snapping beside it, and about errors of decoded histograms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from barrow.mechanisms.additive import CalibratedNoise, StatedNoise
from barrow.numerics.exact import PERCENT, at_most, near
from barrow.planning.notes import Note, warnings_of
from barrow.questions.question import digits_of
from barrow.questions.statement import AnswerFacts, ReadFrom, Statement, not_whole

if TYPE_CHECKING:
    from barrow.questions.answer import Answer


def value_unit(facts: AnswerFacts, shares: bool) -> str:
    """The unit of a statement's values; shares are said in per cent."""
    return PERCENT if shares or facts.shares else facts.unit


def snapping_words(facts: AnswerFacts, shares: bool = False) -> str:
    """What snapping does to the values of a statement, in words that follow its half width."""
    moved, typical = facts.snapping, facts.snapping_typical
    if not moved:
        return ""
    unit = value_unit(facts, shares)
    if facts.snapping_included:
        return f" ({at_most(moved, unit)} of it for snapping to the grid)"
    most = points(f"by up to {at_most(min(moved, 1.0), unit)}")
    about = "" if typical is None else points(near(typical, unit))
    much = f"moves a value by about {about} ({most})" if about else f"may move a value {most}"
    return f"; the true value is here that of the records snapped to the grid, and snapping itself {much}"


def points(size: str) -> str:
    """A difference of shares in words: percentage points, where a share itself has a per cent sign.

    >>> points("± 1.5 %"), points("3 km")
    ('± 1.5 percentage points', '3 km')
    """
    return size.replace(" %", " percentage points")


def stated_noise(noise: CalibratedNoise) -> tuple[Fraction, Fraction]:
    """Scale and grid as they are said: those of aggregators are of the sum, and not of what it is planned as."""
    return noise.stated if isinstance(noise, StatedNoise) else (noise.scale, noise.grid)


def noise_sentence(facts: AnswerFacts) -> str:
    """How additive noise was drawn and rounded."""
    noise = facts.noise
    if noise is not None and noise.scale is None and noise.alpha0 is None and noise.method:
        return (
            "Every person's client drew one of their items at random, and from its operating system's entropy a set "
            f"of items or groups that holds it more often than not ({noise.method}); only the set was reported."
        )
    if noise is None or noise.scale is None:
        raise not_whole()
    if noise.distribution == "discrete Laplace":
        scale, grid = f"{noise.scale:.4g} {facts.unit}".rstrip(), float(Fraction(noise.grid or 0))
        return (
            "Every person's answer was rounded at random, without bias, to a public grid "
            f"({grid:.3g} of the mean), and left their device in shares. Each aggregator added its own discrete "
            f"Laplace noise from its operating system's entropy: of scale {scale} or more in total."
        )
    if noise.distribution == "discrete edge Laplace":
        grid = float(Fraction(noise.grid or 0))
        return (
            "Every person's device drew items at random from theirs, with replacement, counted them at public nodes "
            f"(one is {grid:.3g} of the mean), and sent the counts in shares. Each aggregator added its own discrete "
            f"Laplace noise along every edge of the graph, together of scale {noise.scale:.4g} over its length or more."
        )
    name = f"{noise.distribution[0].upper()}{noise.distribution[1:]}"
    return (
        f"{name} noise of scale {noise.scale:.4g} {facts.unit}".rstrip()
        + f" from the operating system's entropy was added and rounded once, exactly, to multiples of {noise.grid}."
    )


def about_words(about: float, most: float, unit: str) -> str:
    """A predicted error, and the largest one over several references where that is another number.

    >>> about_words(1.97, 2.4, "km"), about_words(1.97, 1.9701, "km")
    ('about 1.97 km, at most about 2.4 km', 'about 1.97 km')
    """
    size, largest = near(about, unit), near(most, unit)
    return f"about {size}" if size == largest else f"about {size}, at most about {largest}"


def off_words(statement: Statement, predicted: float, most: float) -> str:
    """How far off a released histogram is: by itself where that is known, else as it was predicted."""
    own, unit = statement.error_after, statement.unit
    before = about_words(predicted, most, unit)
    if own is None:
        return f"On average, records appear {before}{',' * (', ' in before)} from where they were (predicted)."
    size = near(own.about, unit, digits=digits_of(statement))
    about = f"On average, records appear about {size} from where they were"
    if own.between is None:
        return f"{about}, computed from the released values (predicted: {before})."
    low, high = (near(size, unit, digits=1) for size in own.between)
    where = "depending on where records lie between the nodes of the graph"
    ends = f"; the true average is between {low} and {high}, {where}" if low != high else ""
    return f"{about} (predicted: {before}){ends}."


def nearly_useless(what: str, users: int, times: float, would: str) -> list[Note]:
    """A warning that an answer says hardly anything, and so many times more people or looser promises that help."""
    people = f"About {math.ceil(users * times):,} people, or promises {near(times, digits=2)} times looser"
    return warnings_of([f"The answer is nearly useless: {what}. {people}, would {would}."])


def people_words(plan: Answer, most: float, guess: float) -> str:
    """About how many people would bring an error that falls with the root of their number to half of a guess."""
    people = math.ceil(plan.terms.users * (2.0 * most / guess) ** 2) if guess > 0.0 else 0
    looser = near(2.0 * most / guess, digits=2) if guess > 0.0 else ""
    return f"About {people:,} people, or promises {looser} times looser, would make it half of that." if people else ""


def shares_counted(statement: Statement, read_from: ReadFrom) -> str:
    """What the noise of a histogram was added to."""
    if not read_from.unbiased_outputs:
        return f"Every person counts once: each of {statement.people:,} people reported on one of their items."
    return (
        f"Every person counts once: the shares of {read_from.unbiased_outputs}, over {statement.people:,} people, as "
        "exact fractions."
    )
