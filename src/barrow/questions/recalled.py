"""Choices that a plan made and remembers, so that a release after it does not compare all mechanisms again.

Remembered are a name, a spacing and predicted errors. The mechanism is built anew from the study, and with it its
constant, scale, event and price: whatever a memory says, noise and price are those of the mechanism that is named, and
a memory that this person's own plan did not write is not read (``barrow.remembered``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

import msgspec

from barrow.errors import ParameterError
from barrow.mechanisms.edge_histogram import spacings
from barrow.mechanisms.histograms import HISTOGRAMS, HistogramNoise
from barrow.planning.candidates import Candidate, Errors, reasons
from barrow.planning.histograms import HistogramTarget, additive_candidate, noise_within
from barrow.planning.user_level import alone_user_level
from barrow.promises import Model
from barrow.questions.answer import Answer
from barrow.questions.cache import choice_key
from barrow.questions.comparing import baseline_error, by_user_level, user_level_error
from barrow.questions.distribution import quantile_shares
from barrow.questions.histogram_answer import HistogramAnswer
from barrow.questions.histogram_help import HistogramChoice
from barrow.remembered import keep, recall

if TYPE_CHECKING:
    from barrow.planning.terms import Terms
    from barrow.questions.histogram import Histogram

_KIND = "histogram 2"
"""What these choices are kept as, with the version of what is written."""
_NAMES = frozenset({*HISTOGRAMS, "frequency", "paper"})
_LAZY = ("candidates", "cannot", "own", "baselines")


class RememberedRival(msgspec.Struct, frozen=True):
    """The best of user-level DP beside a choice."""

    name: str
    errors: tuple[float, float | None, float | None]
    epsilon: float


class HistogramMemory(msgspec.Struct, frozen=True):
    """What a plan chose, and the errors that it predicted.

    Attributes:
        name: Of the mechanism.
        user_level: Whether it is one of user-level DP.
        spacing: How far apart its nodes are, where they may be apart.
        errors: The error, its standard error, the part that is noise and decoding, and the error at most.
        others: The mechanisms of EMD-DP with their errors.
        helped: How many times as many people would help, and the error with them, where that was asked for.
        baseline: The best mechanism of user-level DP at the same promises, with its errors as above, and its epsilon.
    """

    name: str
    user_level: bool
    spacing: float | None
    errors: tuple[float, float | None, float | None, float]
    others: list[tuple[str, float]]
    helped: tuple[int | None, float] | None
    baseline: RememberedRival | None


class RecalledHistogram(HistogramAnswer):
    """A histogram whose mechanism was chosen before; what it was compared with is compared again if anybody asks."""

    @cached_property
    def baseline(self) -> tuple[float, float] | None:
        """The error and the epsilon of user-level DP that keeps the same promises."""
        return user_level_error(self, self.query, False)

    @cached_property
    def rival(self) -> RememberedRival | None:
        """What user-level DP would have released."""
        return None

    @cached_property
    def _compared(self) -> HistogramChoice:
        return cast("Histogram", self.question).compared(self.terms)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All mechanisms of EMD-DP that can answer."""
        return self._compared.result

    @cached_property
    def cannot(self) -> Mapping[str, str]:
        """Why each of the others cannot answer."""
        return self._compared.cannot

    @cached_property
    def own(self) -> tuple[Candidate, ...]:
        """The candidates of EMD-DP that answer what is asked."""
        return self._compared.own

    @cached_property
    def baselines(self) -> tuple[Candidate, ...]:
        """Those of user-level DP."""
        return self._compared.baselines


@baseline_error.register(RecalledHistogram)
def _(answer: RecalledHistogram, thorough: bool) -> tuple[float, float] | None:
    return answer.baseline


@by_user_level.register(RecalledHistogram)
def _(answer: RecalledHistogram) -> tuple[Answer, float] | None:
    """The one that was the best; nothing is compared again."""
    rival = answer.rival
    if rival is None:
        return None
    best = alone_user_level(answer.target, rival.name, Errors(*rival.errors))
    other = HistogramAnswer(answer.question, answer.terms, best, answer.target, (), {}, quantiles=answer.quantiles)
    return other, best.guarantee.epsilon_at(1)


def keep_choices(answers: Iterable[Answer]) -> None:
    """Remember what plans chose, of those that took long to choose."""
    for answer in answers:
        if type(answer) is not HistogramAnswer or "error_most" not in vars(answer):
            continue
        about = choice_key(answer.question, answer.terms)
        if answer.terms.model is not Model.CENTRAL or about is None:
            continue
        best, others = answer.chosen, answer.baselines
        spaced = answer.mechanism.family.spaced and not best.user_level
        choice = HistogramMemory(
            name=best.name,
            user_level=best.user_level,
            spacing=cast("float | None", answer.query.arguments.get("spacing")) if spaced else None,
            errors=(best.error, best.standard_error, best.decoded, answer.error_most),
            others=[(each.name, each.error) for each in answer.candidates],
            helped=vars(answer).get("helped"),
            baseline=_baseline(others[0]) if others else None,
        )
        keep(_KIND, about, msgspec.json.encode(choice).decode())


def _baseline(best: Candidate) -> RememberedRival:
    return RememberedRival(best.name, (best.error, best.standard_error, best.decoded), best.guarantee.epsilon_at(1))


def recalled_histogram(question: Histogram, terms: Terms) -> HistogramAnswer | None:
    """The answer by the mechanism that a plan chose; None where nothing is remembered that can be."""
    about = choice_key(question, terms) if terms.model is Model.CENTRAL else None
    text = None if about is None else recall(_KIND, about)
    if text is None:
        return None
    try:
        return _rebuilt(question, terms, msgspec.json.decode(text, type=HistogramMemory))
    except (ParameterError, KeyError, ValueError, StopIteration, msgspec.DecodeError):
        return None


def _rebuilt(question: Histogram, terms: Terms, choice: HistogramMemory) -> HistogramAnswer:
    other = "emd" if choice.user_level else "user_level"
    if question.mechanism not in ("auto", choice.name) or question.definition == other:
        raise ValueError("not what is asked")
    error, deviation, decoded, most = choice.errors
    target, predicted = question.target(terms), Errors(error, deviation, decoded)
    if any(each is not None and not 0.0 <= each < math.inf for each in choice.errors):
        raise ValueError("no error")
    if choice.user_level:
        best = alone_user_level(target, choice.name, predicted)
    else:
        best = additive_candidate(target, _noise(target, choice.name, choice.spacing), predicted)
    read = quantile_shares(list(question.quantiles)) if question.quantiles else ()
    result = RecalledHistogram(question, terms, best, target, (), {}, quantiles=read)
    for lazy in _LAZY:
        del vars(result)[lazy]
    beside = choice.baseline
    known = {"error_most": most, "why_others_lose": _why(best, choice.others), "rival": beside}
    known["baseline"] = None if beside is None else (beside.errors[0], beside.epsilon)
    vars(result).update(known if choice.helped is None else {**known, "helped": choice.helped})
    return result


def _why(best: Candidate, others: list[tuple[str, float]]) -> dict[str, str]:
    """Why each of the others lost, from their predicted errors."""
    known = [replace(best, name=name, error=error) for name, error in others if name in _NAMES]
    result = reasons([best, *known])
    return result if best.user_level else {name: why for name, why in result.items() if name != best.name}


def _noise(target: HistogramTarget, name: str, gap: float | None) -> HistogramNoise:
    """The mechanism of a choice; nodes are as far apart as they could be chosen to be."""
    if not HISTOGRAMS[name].spaced or target.spacing != "auto":
        return noise_within(target, name)
    spacing = next(each for each in spacings(target.terms.space) if each == gap)
    return noise_within(replace(target, spacing=spacing), name)
