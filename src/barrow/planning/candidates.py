"""A candidate is one mechanism that can answer with a valid guarantee, and the error to expect of it.

EMD-DP or user-level DP: which of them keeps the promises with less error, and by how much. User-level DP at epsilon
costs epsilon at every promise, so the largest epsilon that keeps all of them is the smallest one that is left to the
question. EMD-DP with about the same error is preferred: it hides small changes better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from barrow.accounting import epsilon_at
from barrow.errors import ParameterError, one_of
from barrow.numerics import float_up
from barrow.numerics.exact import near
from barrow.planning.terms import Terms
from barrow.promises import Guarantee, UserLevel

DEFINITIONS = ("auto", "emd", "user_level")
"""What a question may ask for: the more accurate one, or one of them by name."""
ALIKE = 1.05
"""Errors nearer to each other than this factor are about the same."""


class Errors(NamedTuple):
    """What is predicted of a mechanism.

    Attributes:
        error: The error by which it is ranked.
        standard_error: Of that, where it is the mean of simulated releases.
        decoded: The part of it that is noise and decoding.
    """

    error: float
    standard_error: float | None = None
    decoded: float | None = None


@dataclass(frozen=True)
class Candidate:
    """One way to answer, its guarantee, and its predicted error; everything in it is public.

    Attributes:
        name: What it is called, e.g. ``"tree"``; a study may ask for it by this name.
        words: What it does, in a few words.
        guarantee: What it promises.
        error: The error by which candidates are ranked, in the unit of the comparison.
        undecoded: The error before decoding, where there is decoding.
        upper: No data have a larger expected error, if the decoder is ``"nearest"``; None where nothing is proven.
        note: What it asks of the data, or warns of; empty where there is nothing to say.
        mechanism: What would be drawn.
        standard_error: Of ``error``, where that is the mean of simulated releases.
        decoded: The part of ``error`` that is noise and decoding, without what snapping moves; for histograms.

    >>> from barrow.promises import Emd
    >>> guarantee = Guarantee(Emd(25, model="central"), "knorm", "lemma:lin")
    >>> candidate = Candidate("tree", "noise on the edges", guarantee, 0.001)
    >>> candidate.user_level, candidate.to_json()["error"]
    (False, 0.001)
    """

    name: str
    words: str
    guarantee: Guarantee
    error: float
    undecoded: float | None = None
    upper: float | None = None
    note: str = ""
    mechanism: Any = None
    standard_error: float | None = None
    decoded: float | None = None

    @property
    def user_level(self) -> bool:
        """Whether it promises ordinary user-level DP, the same for every change."""
        return isinstance(self.guarantee.definition, UserLevel)

    def epsilon_at(self, share: Fraction, reach: Fraction) -> float:
        """The epsilon, rounded up, if ``share`` of a person's items move by ``reach`` on average."""
        delta: Fraction = self.guarantee.definition.parameters["delta"]
        return float_up(epsilon_at(self.mechanism.event, share, reach, delta))

    def with_errors(self, errors: Errors) -> Candidate:
        """The same mechanism with other errors."""
        return replace(self, **errors._asdict())

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "name": self.name,
            "words": self.words,
            "error": self.error,
            "standard_error": self.standard_error,
            "decoded_error": self.decoded,
            "undecoded_error": self.undecoded,
            "error_upper_nearest": self.upper,
            "note": self.note,
            "guarantee": self.guarantee.to_json(),
        }


def best_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """By predicted error.

    >>> best_first([])
    []
    """
    return sorted(candidates, key=lambda candidate: candidate.error)


def reasons(candidates: Sequence[Candidate]) -> dict[str, str]:
    """Why each one but the best loses, by name.

    >>> from barrow.promises import Emd
    >>> promise = Guarantee(Emd(25, model="central"), "knorm", "lemma:lin")
    >>> reasons([Candidate("identity", "", promise, 0.2), Candidate("tree", "", promise, 0.1)])
    {'identity': '2.0 times the error of tree'}
    """
    best, *others = best_first(candidates)
    result = {}
    for other in others:
        if best.error == 0.0:  # an interval of one whole number
            result[other.name] = f"no better than {best.name}" if other.error == 0.0 else f"{best.name} has no error"
            continue
        times = other.error / best.error
        result[other.name] = f"{times:,.{1 if times < 100 else 0}f} times the error of {best.name}"
    return result


def useless(error: float, guess: float | None, unit: str, most: float | None = None) -> list[str]:
    """A warning if an answer may be hardly better than a guess without data.

    Args:
        error: What the answer errs by, about.
        guess: What a guess without data errs by.
        unit: Of both.
        most: What the answer errs by at most, about; ``error`` by default.

    >>> useless(0.1, 0.4, "km"), useless(0.1, 0.4, "km", 0.3)[0][:72]
    ([], 'The answer is nearly useless: it is off by about 0.1 km, at most about 0')
    """
    largest = error if most is None else max(most, error)
    if guess is None or largest < guess / 2.0:
        return []
    size, limit = near(error, unit), near(largest, unit)
    about = f"about {size}" if limit == size else f"about {size}, at most about {limit}"
    return [
        f"The answer is nearly useless: it is off by {about}, and without any data the error would be "
        f"{near(guess, unit)}."
    ]


def checked_definition(definition: str) -> str:
    """``definition``, if it is one of ``DEFINITIONS``."""
    one_of(definition, "definition", DEFINITIONS)
    return definition


def user_level_within(
    terms: Terms, make: Callable[[Fraction], Sequence[Candidate]], definition: str = "auto"
) -> list[Candidate]:
    """User-level DP at the largest epsilon that keeps every promise, best first; nothing where there are no promises.

    Args:
        terms: What must be kept.
        make: From an epsilon to the mechanisms of user-level DP.
        definition: What the question asks for: with ``"emd"`` nothing is made.
    """
    if definition == "emd" or not terms.promises:
        if definition == "user_level":
            raise no_epsilon()
        return []
    try:
        return best_first(make(min(terms.epsilons)))
    except ParameterError:
        if definition == "user_level":
            raise
        return []


def no_epsilon() -> ParameterError:
    """That user-level DP was asked for where nothing says its epsilon."""
    return ParameterError(
        "definition is 'user_level', but the study makes no promises from which its epsilon follows.",
        allowed='promises such as "all, anywhere, 1"',
        fix="definition = 'emd', or promises",
    )


def preferred(
    own: Sequence[Candidate], baselines: Sequence[Candidate], definition: str = "auto", snapping: float = 0.0
) -> Candidate:
    """What to release: the best of EMD-DP, or of user-level DP where that is the more accurate one by 5 % or more.

    What is compared is what :class:`BaselineComparison` says: errors with what snapping adds to both of them.

    Args:
        own: The candidates of EMD-DP, best first.
        baselines: Those of user-level DP.
        definition: What the question asks for.
        snapping: What snapping adds to each error, where it is no part of it.
    """
    if definition == "user_level" and not baselines:
        raise ParameterError(
            "No mechanism of user-level DP can answer this question here.",
            allowed="definition = 'auto' or 'emd'",
            fix="definition = 'auto'",
        )
    better = bool(baselines) and (baselines[0].error + snapping) * ALIKE < own[0].error + snapping
    return baselines[0] if definition == "user_level" or (definition == "auto" and better) else own[0]


@dataclass(frozen=True)
class ErrorRatio:
    """How an error compares with another one's; by this everything that compares decides and speaks.

    Attributes:
        own: The error of what is released.
        other: That of what it is compared with.

    >>> ErrorRatio(0.1, 0.32).words, ErrorRatio(0.1, 0.104).words, ErrorRatio(0.0, 0.1).words
    ('3.2 times the error', 'about the same error', 'some error')
    """

    own: float
    other: float

    @property
    def value(self) -> float:
        """The other error over the own one; an interval of one whole number has none."""
        if self.own == 0.0:
            return 1.0 if self.other == 0.0 else math.inf
        return self.other / self.own

    @property
    def alike(self) -> bool:
        """Whether both are about the same."""
        return 1.0 / ALIKE < self.value < ALIKE

    @property
    def times(self) -> str:
        """How many times the smaller of both the larger one is."""
        times = self.value if self.value > 1.0 else 1.0 / self.value
        return f"{times:,.{2 if times < 1.95 else 1 if times < 9.95 else 0}f} times"

    @property
    def words(self) -> str:
        """What the other one has."""
        if self.alike:
            return "about the same error"
        if self.own == 0.0 or self.other == 0.0:
            return "some error" if self.own == 0.0 else "no error"
        return f"{self.times} {'the' if self.value > 1.0 else 'less'} error"


@dataclass(frozen=True)
class BaselineComparison:
    """What is released beside the best of the other definition.

    Attributes:
        chosen: What is released.
        at_promises: The other one, which keeps the same promises.
        at_worst: The other one, at the worst case of what is released; None where none can answer.

    >>> from barrow.promises import Emd, Guarantee, UserLevel
    >>> one = Candidate("edges", "", Guarantee(Emd(8, model="central"), "", ""), 0.1)
    >>> other = Candidate("cells", "", Guarantee(UserLevel(1, model="central"), "", ""), 0.32)
    >>> print(BaselineComparison(one, other, None).line)
    user-level DP at the promises (cells, ε = 1): 3.2 times the error
    """

    chosen: Candidate
    at_promises: Candidate
    at_worst: Candidate | None

    @property
    def line(self) -> str:
        """Both ratios of errors, each with its label, in one line."""
        name = "EMD-DP" if self.chosen.user_level else "user-level DP"
        text = f"{name} at the promises ({self._named(self.at_promises)}): {self._times(self.at_promises)}"
        if self.at_worst is None:
            return text
        worst = self.chosen.guarantee.epsilon_at(1)
        return f"{text}; at the same worst case (ε = {worst:.3g}): {self._times(self.at_worst)}"

    def _named(self, other: Candidate) -> str:
        word = "ε =" if other.user_level else "worst case ε ="
        return f"{other.name}, {word} {other.guarantee.epsilon_at(1):.3g}"

    def _times(self, other: Candidate) -> str:
        return ErrorRatio(self.chosen.error, other.error).words

    def to_json(self) -> dict[str, object]:
        """Plain data."""

        def row(other: Candidate) -> dict[str, object]:
            worst = other.guarantee.epsilon_at(1)
            return {
                "name": other.name,
                "user_level": other.user_level,
                "error": other.error,
                "worst_epsilon": worst,
            }

        return {
            "released": row(self.chosen),
            "at_the_promises": row(self.at_promises),
            "at_the_same_worst_case": None if self.at_worst is None else row(self.at_worst),
        }
