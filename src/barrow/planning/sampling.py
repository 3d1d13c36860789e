"""What the number of samples costs and gains: a table over several, and the best of them by predicted error."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from barrow.errors import ParameterError
from barrow.mechanisms import ItemWise
from barrow.numerics import Exact, float_up
from barrow.planning.goals import MOST_SAMPLES, Goal, checked_goals
from barrow.planning.items import choose_items
from barrow.planning.reduction import (
    WITHOUT_SAMPLING,
    ReductionChoice,
    choose_reduction,
    frequency_error,
    histogram_error_upper,
    inner_alpha_lower,
)
from barrow.policy import Policy
from barrow.privacy.definitions import probability
from barrow.spaces import Space

Error = Callable[[ItemWise], float | None]
"""The predicted error of an item-wise release, in the space's units."""


@dataclass(frozen=True)
class SamplesRow:
    """One number of samples.

    Attributes:
        samples: s.
        alpha: What a bounded release on the samples may have as alpha, half of delta left to it.
        times: How much less that is than if all people held equally many items: the largest c/r of the goals.
        choice: The release; None if its reports would be noise and nothing else.
        error: Its predicted error, in the space's units.
        equal: The same error if everybody held exactly s items and nothing had to be drawn.

    >>> SamplesRow(1000, 5.0, 5.0, None, None, None).ratio is None
    True
    """

    samples: int
    alpha: float
    times: float
    choice: ReductionChoice | None
    error: float | None
    equal: float | None

    @property
    def ratio(self) -> float | None:
        """The error against that of equal sizes."""
        return None if self.error is None or not self.equal else self.error / self.equal

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        inner = None if self.choice is None else self.choice.inner
        return {
            "samples": self.samples,
            "inner_alpha": self.alpha,
            "alpha_times": self.times,
            "alpha0": None if inner is None else float_up(inner.event.alpha0),
            "displacement": None if self.choice is None else self.choice.displacement,
            "error": self.error,
            "error_equal_sizes": self.equal,
            "error_times": self.ratio,
        }


@dataclass(frozen=True)
class SamplesTable:
    """Several numbers of samples side by side.

    Attributes:
        space: The public space.
        rows: One row for each number of samples, ascending.

    >>> from barrow.spaces import Clustered
    >>> table = compare_samples(Clustered.grid(5, 4, r=0.05), [Goal("0.05", 1)], "1e-9", users=1000, samples=[50, 500])
    >>> [row.samples for row in table.rows], table.best.samples
    ([50, 500], 50)
    """

    space: Space
    rows: tuple[SamplesRow, ...]

    @property
    def best(self) -> SamplesRow:
        """The row with the least predicted error; the smallest number of samples among equals."""
        return min(self.rows, key=lambda row: math.inf if row.error is None else row.error)

    def lines(self) -> list[str]:
        """The table in words, a line each."""
        unit = f" {self.space.unit}" if self.space.unit else ""
        lines = ["samples per person   needs α          × equal sizes    error (× equal sizes)"]
        for row in self.rows:
            error = "noise and nothing else"
            if row.error is not None:
                error = f"{row.error:.3g}{unit}" + (f" (× {row.ratio:.2f})" if row.ratio is not None else "")
            mark = "  ← best" if row is self.best and row.error is not None else ""
            lines.append(f"{row.samples:>18,}   {row.alpha:<14.4g}   × {row.times:<12.3g}   {error}{mark}")
        return [*lines, WITHOUT_SAMPLING]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "best": self.best.samples,
            "without_sampling": WITHOUT_SAMPLING,
        }


def compare_samples(
    space: Space,
    goals: Policy | Sequence[Goal],
    delta: Exact,
    *,
    samples: Sequence[int] | None = None,
    users: int | None = None,
    model: str = "central",
    randomiser: Mapping[str, Any] | str | None = None,
    error: Error | str = "reports",
) -> SamplesTable:
    """What each number of samples costs and gains; it reads no data.

    Few samples let people's samples be far apart though their data are near, so that the inner release must be more
    private; many samples are many reports of one person, each of which gets less. So there is a best number between.

    Args:
        space: The public space.
        goals: A policy (every promise is a goal), or goals.
        delta: The probability with which all of them may fail together.
        samples: The numbers to compare; five around ln(1/delta)/r by default.
        users: n; not needed in the local model.
        model: ``"local"``, ``"shuffle"`` or ``"central"``.
        randomiser: A kind, or plain data; the one that suits the space by default.
        error: ``"reports"`` (the histogram of reports as it is), ``"frequency"`` (the unbiased estimate from it), or a
            function of an item-wise release.

    >>> from barrow.spaces import Discrete
    >>> table = compare_samples(Discrete(["a", "b"]), [Goal("0.1", 2)], "1e-6", model="local", samples=[20, 200])
    >>> print(table.lines()[0])
    samples per person   needs α          × equal sizes    error (× equal sizes)
    """
    wanted = checked_goals(goals)
    counts = default_samples(wanted, delta) if samples is None else sorted(set(samples))
    if not counts:
        raise ParameterError("No number of samples is given.", allowed="at least one", fix="samples=[200, 1000]")
    with_draws, without = _errors(error)
    options: dict[str, Any] = {"users": users, "model": model, "randomiser": randomiser}
    rows = []
    for count in counts:
        alpha = inner_alpha_lower(wanted, delta, samples=count)
        plain = min(goal.alpha for goal in wanted)
        try:
            choice = choose_reduction(space, wanted, delta, samples=count, **options)
            equal = without(choose_items(space, plain, delta, items=count, **options).mechanism)
        except ParameterError as failure:
            if "noise and nothing else" not in failure.problem:
                raise
            rows.append(SamplesRow(count, alpha, float(plain) / alpha, None, None, None))
            continue
        rows.append(SamplesRow(count, alpha, float(plain) / alpha, choice, with_draws(choice.inner), equal))
    return SamplesTable(space, tuple(rows))


def _errors(error: Error | str) -> tuple[Error, Error]:
    """The error where items are drawn, and where everybody holds that many."""
    if error == "reports":
        return histogram_error_upper, histogram_error_upper
    if error == "frequency":
        return frequency_error, partial(frequency_error, sampled=False)
    if isinstance(error, str):
        raise ParameterError(
            f"error is {error!r}.", allowed="'reports', 'frequency' or a function", fix="error='reports'"
        )
    return error, error


def default_samples(goals: Sequence[Goal], delta: Exact) -> list[int]:
    """Five numbers around ln(1/delta)/r, where sampling begins to cost little more than a small factor.

    >>> default_samples([Goal("0.01", 1)], "1e-9")
    [200, 500, 2000, 5000, 20000]
    """
    slack = float(probability(delta))
    scale = math.log(1.0 / slack) if slack > 0.0 else 1.0
    middle = scale / float(min(goal.radius for goal in goals))
    found = {_round(middle * factor) for factor in (0.1, 0.3, 1.0, 3.0, 10.0)}
    return sorted(min(max(count, 1), MOST_SAMPLES) for count in found)


def _round(value: float) -> int:
    """The nearest of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(value, 1.0)))
    best = min((1.0, 2.0, 5.0, 10.0), key=lambda lead: abs(math.log(value / (lead * power))))
    return max(1, round(best * power))
