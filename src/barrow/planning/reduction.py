"""From promises to a release behind the reduction: how many items to draw from each person, and what that costs.

Every promise (share, distance, epsilon) is a goal: changes up to the radius r = share * distance must be protected at
epsilon. What is chosen keeps every goal, each priced at its own radius, with one delta for all: the guarantee of a goal
is a statement about the one release, not about another one (docs/proofs/projection.md, Section 7).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from barrow.accounting import (
    best_projection,
    epsilon_within_upper,
    inner_alpha_within,
    parse_randomiser,
    price,
    price_shuffle,
    reports_of,
    sampled_epsilon_upper,
)
from barrow.errors import ParameterError
from barrow.mechanisms import ItemWise, Reduced, item_wise, reduced
from barrow.numerics import Exact, float_down, float_up
from barrow.planning.goals import Goal, checked_goals, checked_samples
from barrow.planning.items import choose_items
from barrow.policy import Policy
from barrow.privacy import Guarantee, ShuffledReports
from barrow.privacy.definitions import probability, share
from barrow.randomisers import randomiser_from_spec
from barrow.spaces import Space

_SHARES = tuple(Fraction(x) for x in ("0.001", "0.01", "0.05", "0.1", "0.2", "0.3", "0.4", "0.5", "0.7", "0.9"))
"""Shares of delta that are tried for the sampling while alpha0 is searched; the price tries more."""
_LESS = (0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
_LARGEST_ALPHA0 = 28.0
_SMALLEST = 1e-9

WITHOUT_SAMPLING = (
    "The mean over people needs no sampling: query 'histogram', 'density' or 'distance' hides sizes as it is, counts "
    "every person once, and protects every distance. Sample only for item-wise reports."
)
"""When the reduction is not needed (docs/proofs/central-unbounded.md)."""


@dataclass(frozen=True)
class ReductionChoice:
    """A release behind the reduction that keeps every goal, and how it was found.

    Attributes:
        mechanism: What will be drawn; its radius is that of the goal that binds, unless another one was asked for.
        goals: What was asked.
        guarantees: What each goal gets, in their order: guarantees of the one release, each at the goal's radius.
        guarantee: What the release is charged with: its guarantee at the mechanism's radius.

    >>> from barrow.spaces import Clustered
    >>> space = Clustered.grid(5, 4, r=0.05)
    >>> found = choose_reduction(space, [Goal("0.05", 1)], "1e-9", samples=500, users=1000)
    >>> found.guarantee.definition.epsilon <= 1, found.mechanism.samples
    (True, 500)
    """

    mechanism: Reduced
    goals: tuple[Goal, ...]
    guarantees: tuple[Guarantee, ...]
    guarantee: Guarantee

    @property
    def inner(self) -> ItemWise:
        """The bounded release on the samples."""
        return self.mechanism.inner

    @property
    def binding(self) -> int:
        """Which goal keeps the reports from being more accurate."""
        return max(range(len(self.goals)), key=lambda i: _epsilon(self.guarantees[i]) / self.goals[i].epsilon)

    @property
    def displacement(self) -> float | None:
        """The expected distance between an item and its report, for the worst item, in the space's units."""
        return self.inner.randomiser.displacement

    @property
    def error_upper(self) -> float | None:
        """A bound on the mean EMD, in the space's units, between reports and mean histogram of people (Section 8)."""
        return histogram_error_upper(self.inner)

    @property
    def warning(self) -> str | None:
        """A sentence if the reports will be nearly useless, else None."""
        return self.inner.randomiser.warning

    def lines(self) -> list[str]:
        """The choice in words, a line each."""
        made, space = self.mechanism, self.inner.randomiser.space
        unit = f" {space.unit}" if space.unit else ""
        lines = [
            f"Sampling  {made.samples:,} items drawn from each person with replacement; how many one holds is hidden",
            f"Reports   {self.inner.randomiser.description}; α₀ = {float(self.inner.event.alpha0):.4g} for each "
            f"(by {self.guarantee.method})",
        ]
        for goal, got in zip(self.goals, self.guarantees, strict=True):
            far = f"{float(goal.radius) * space.diameter:.3g}{unit}" if space.unit else f"{float(goal.radius):.3g}"
            lines.append(
                f"Promise   average move of all data up to {far}: ε ≤ {float_up(_epsilon(got)):.4g} "
                f"(asked {float(goal.epsilon):.4g})"
            )
        moved, blind, error = self.displacement, self.inner.randomiser.blind_displacement, self.error_upper
        if moved is not None and blind is not None and error is not None:
            lines.append(
                f"Error     an item is reported {moved:.3g}{unit} away on average (a blind guess: {blind:.3g}{unit}); "
                f"histogram within {error:.3g}{unit} (mean EMD, at most)"
            )
        if self.warning:
            lines.append(f"Warning   {self.warning}")
        return [*lines, f"Instead   {WITHOUT_SAMPLING}"]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        made = self.inner
        return {
            "samples": self.mechanism.samples,
            "radius": None if self.mechanism.radius is None else float_up(self.mechanism.radius),
            "delta": float_up(self.mechanism.delta),
            "randomiser": made.randomiser.kind,
            "alpha0": float_up(made.event.alpha0),
            "reports": made.reports,
            "method": self.guarantee.method,
            "displacement": self.displacement,
            "blind_displacement": made.randomiser.blind_displacement,
            "error_upper": self.error_upper,
            "warning": self.warning,
            "goals": [
                {
                    "radius": float_up(goal.radius),
                    "epsilon_asked": float(goal.epsilon),
                    "epsilon_got": float_up(_epsilon(got)),
                    "binds": i == self.binding,
                }
                for i, (goal, got) in enumerate(zip(self.goals, self.guarantees, strict=True))
            ],
            "without_sampling": WITHOUT_SAMPLING,
        }


def histogram_error_upper(made: ItemWise) -> float | None:
    """A bound on the mean EMD, in the space's units, between the reports' histogram and the mean over people.

    It is the displacement of the worst item, and half the diameter times sqrt(K/N) for N reports of K kinds (Section 8
    of docs/proofs/projection.md); None where reports are no items.

    >>> from barrow.mechanisms import item_wise
    >>> from barrow.randomisers import randomised_response
    >>> from barrow.spaces import Discrete
    >>> made = item_wise(randomised_response(Discrete(["a", "b"]), 20), items=100, users=50)
    >>> round(histogram_error_upper(made), 4)
    0.01
    """
    moved, kinds = made.randomiser.displacement, made.randomiser.reports
    if moved is None:
        return None
    all_reports = made.items * (made.users or 1)
    diameter = made.randomiser.space.diameter
    return min(diameter, moved + diameter * 0.5 * math.sqrt(kinds / all_reports))


def frequency_error(made: ItemWise, *, sampled: bool = True) -> float:
    """The expected EMD, in the space's units, of the unbiased estimate of the mean over people; sampling included.

    Args:
        made: The item-wise release.
        sampled: Whether its items were drawn: their histogram is then (D/2) sqrt(K/N) from the people's, at most.

    >>> from barrow.mechanisms import item_wise
    >>> from barrow.randomisers import randomised_response
    >>> from barrow.spaces import Discrete
    >>> made = item_wise(randomised_response(Discrete(["a", "b"]), 2), items=100, users=50)
    >>> 0 < frequency_error(made, sampled=False) < frequency_error(made)
    True
    """
    from barrow.mechanisms.channel import channel_of
    from barrow.mechanisms.frequency_error import EstimateError

    space, all_reports = made.randomiser.space, made.items * (made.users or 1)
    expected = EstimateError(space, channel_of(made.randomiser)).expected(all_reports)
    drawn = 0.5 * math.sqrt(space.items / all_reports) if sampled else 0.0
    return (expected + drawn) * space.diameter


def inner_alpha_lower(goals: Policy | Sequence[Goal], delta: Exact, *, samples: int, part: Exact = "1/2") -> float:
    """The alpha that any bounded release on the samples may have, at the rest of delta, to keep every goal; safe.

    For each goal it is the larger of two, and of these the least: the alpha whose samples cost epsilon at the radius
    (docs/proofs/sampling.md), and epsilon/c, where c is how far samples of people within the radius can be apart, but
    for a probability of ``part`` of delta (docs/proofs/projection.md).

    Args:
        goals: A policy, or goals.
        delta: The whole delta.
        samples: s.
        part: The share of delta that the sampling takes; 1 for a pure inner release.

    >>> round(inner_alpha_lower([Goal("0.008", "0.2")], "2e-12", samples=10_000), 1)
    24.9
    """
    wanted, count = checked_goals(goals), checked_samples(samples)
    slack = probability(delta) * share(part, "part")
    far = [best_projection(goal.radius, count, slack)[0] if slack else 1.0 for goal in wanted]
    return min(
        max(float_down(goal.epsilon / Fraction(c)), inner_alpha_within(goal.epsilon, goal.radius, count))
        for goal, c in zip(wanted, far, strict=True)
    )


def choose_reduction(
    space: Space,
    goals: Policy | Sequence[Goal],
    delta: Exact,
    *,
    samples: int,
    users: int | None = None,
    model: str = "central",
    radius: Exact | None = None,
    randomiser: Mapping[str, Any] | str | None = None,
) -> ReductionChoice:
    """The item-wise release on ``samples`` items of each person with the largest alpha0 that keeps every goal.

    Args:
        space: The public space.
        goals: A policy (every promise is a goal), or goals.
        delta: The probability with which all of them may fail together; 0 leaves nothing to the sampling.
        samples: s, how many items are drawn from each person.
        users: n; not needed in the local model.
        model: ``"local"``, ``"shuffle"`` or ``"central"``.
        radius: Where the release's own guarantee is stated; by default that of the goal that binds.
        randomiser: A kind, or plain data; the one that suits the space by default.

    >>> from barrow.spaces import Discrete
    >>> found = choose_reduction(Discrete(["a", "b"]), [Goal("0.1", 2)], "1e-6", samples=50, model="local")
    >>> found.guarantee.definition.radius, found.guarantee.definition.epsilon <= 2
    (Fraction(1, 10), True)
    """
    wanted, slack, count = checked_goals(goals), probability(delta), checked_samples(samples)
    place = None if radius is None else share(radius, "radius")
    reports_of(model, items=count, users=users)

    def make(alpha0: Fraction) -> ItemWise:
        return item_wise(
            randomiser_from_spec(space, alpha0, randomiser), items=count, users=users, model=model, delta=slack
        )

    event = make(Fraction(1)).event
    nameless = _largest_alpha0(_renamed(event, None), wanted, slack, _costs(_renamed(event, None), wanted, slack))
    starts = [nameless]
    if event.randomiser is not None and slack > 0:
        # A named randomiser's price takes a moment, so that fewer digits have to do.
        named = _largest_alpha0(event, wanted, slack, _costs(event, wanted, slack), least=nameless, relative=1e-4)
        starts.insert(0, named)
    if event.channel is not None and slack > 0:
        # Its own channel allows more: the alpha that all goals leave to the samples, spent on the best randomiser.
        alpha = Fraction(inner_alpha_lower(wanted, slack, samples=count))
        options: dict[str, Any] = {"items": count, "users": users, "model": model, "randomiser": randomiser}
        own = choose_items(space, alpha, slack, **options).mechanism
        kept = _kept(own, wanted, slack) if own.event.alpha0 > nameless else None
        if kept is not None:
            return _chosen(*kept, wanted, place, slack)
    for alpha0 in starts:
        if alpha0 < _SMALLEST:
            raise _only_noise(alpha0)
        for less in _LESS:
            found = _kept(make(Fraction(alpha0) * (1 - Fraction(less))), wanted, slack)
            if found is not None:
                return _chosen(*found, wanted, place, slack)
    raise ParameterError(
        "No randomiser keeps these promises.",
        allowed="a larger epsilon, or another randomiser",
        fix="leave the randomiser out",
    )


def _kept(inner: ItemWise, goals: tuple[Goal, ...], delta: Fraction) -> tuple[ItemWise, tuple[Guarantee, ...]] | None:
    """The guarantees at all radii, if every one of them is what was asked."""
    guarantees: list[Guarantee] = []
    for goal in goals:
        guarantees.append(price(reduced(inner, radius=goal.radius, delta=delta).event))
        if _epsilon(guarantees[-1]) > goal.epsilon:
            return None
    return inner, tuple(guarantees)


def _chosen(
    inner: ItemWise,
    guarantees: tuple[Guarantee, ...],
    goals: tuple[Goal, ...],
    radius: Fraction | None,
    delta: Fraction,
) -> ReductionChoice:
    if radius is None:
        binding = max(range(len(goals)), key=lambda i: _epsilon(guarantees[i]) / goals[i].epsilon)
        return ReductionChoice(
            reduced(inner, radius=goals[binding].radius, delta=delta), goals, guarantees, guarantees[binding]
        )
    made = reduced(inner, radius=radius, delta=delta)
    return ReductionChoice(made, goals, guarantees, price(made.event))


def _epsilon(guarantee: Guarantee) -> Fraction:
    return guarantee.definition.parameters["epsilon"]


def _renamed(event: ShuffledReports, name: str | None, alpha0: float | Fraction | None = None) -> ShuffledReports:
    """The same reports of a randomiser by another name, or with another alpha0."""
    return ShuffledReports(
        event.alpha0 if alpha0 is None else Fraction(alpha0),
        reports=event.reports,
        items=event.items,
        delta=event.delta,
        model=event.model,
        least_distance=event.least_distance,
        randomiser=name,
    )


Cost = Callable[[ShuffledReports], float]


def _costs(event: ShuffledReports, goals: tuple[Goal, ...], delta: Fraction) -> list[Cost]:
    """For each goal: what share of its epsilon the reports cost, at a split of delta that is good for it."""
    if delta == 0:
        return [_sampled_cost(goal, event.items, delta) for goal in goals]
    nameless = _renamed(event, None)
    halves = [_cost(goal, event.items, delta, Fraction(1, 2)) for goal in goals]
    near = _renamed(nameless, None, _largest_alpha0(nameless, goals, delta, halves))
    found = []
    for goal in goals:
        tried = [_cost(goal, event.items, delta, part) for part in (*_SHARES, Fraction(0))]
        tried.append(_sampled_cost(goal, event.items, delta))
        found.append(min(tried, key=lambda cost: cost(near)))
    return found


def _sampled_cost(goal: Goal, samples: int, delta: Fraction) -> Cost:
    """The cost through the alpha of the inner release, which takes all of delta."""

    def cost(event: ShuffledReports) -> float:
        known = None if event.randomiser is None else parse_randomiser(event.randomiser)
        alpha, _ = price_shuffle(
            event.alpha0,
            delta,
            reports=event.reports,
            items=event.items,
            least_distance=event.least_distance,
            randomiser=known,
        )
        return sampled_epsilon_upper(alpha, samples, goal.radius) / float(goal.epsilon)

    return cost


def _cost(goal: Goal, samples: int, delta: Fraction, part: Fraction) -> Cost:
    """The cost at one split of delta; no share for the sampling stands for all distances."""
    far = Fraction(best_projection(goal.radius, samples, delta * part)[0]) if part else Fraction(1)
    left = delta * (1 - part)
    return lambda event: float(epsilon_within_upper(event, far, left)[0] / goal.epsilon)


def _largest_alpha0(
    event: ShuffledReports,
    goals: tuple[Goal, ...],
    delta: Fraction,
    costs: Sequence[Cost],
    *,
    least: float = 0.0,
    relative: float = 1e-7,
) -> float:
    """About the largest alpha0 at which no goal costs more than its epsilon; what it is used for is priced again.

    The costs grow by at most a factor of alpha0's while it is small, and exponentially later: bracketed false position
    on the logarithms takes few steps.
    """

    def excess(alpha0: float) -> float:
        tried = _renamed(event, event.randomiser, alpha0)
        return math.log(max(cost(tried) for cost in costs))

    low = max(float(min(goal.epsilon for goal in goals) / event.items), least, 1e-12)
    low = min(low, _LARGEST_ALPHA0)
    below = excess(low)
    if below > 0.0:
        return low * (1.0 - 1e-9)
    high = low
    while below <= 0.0:
        if high >= _LARGEST_ALPHA0:
            return _LARGEST_ALPHA0
        low, last = high, below
        high = min(_LARGEST_ALPHA0, 2.0 * high if high < 1.0 else high + 1.0)
        below = excess(high)
    above, below = below, last
    for _ in range(60):
        if high - low <= relative * low:
            break
        guess = low - below * (high - low) / (above - below)
        guess = min(max(guess, low + 0.02 * (high - low)), high - 0.02 * (high - low))
        value = excess(guess)
        low, below, high, above = (guess, value, high, above) if value <= 0.0 else (low, below, guess, value)
    return low


def _only_noise(alpha0: float) -> ParameterError:
    return ParameterError(
        f"Each report would get alpha0 = {alpha0:.3g}: the reports would be noise and nothing else.",
        allowed=f"an alpha0 of at least {_SMALLEST:g} for each report",
        fix="delta=1e-9 (reports hide each other), fewer samples, or a query such as 'histogram'",
    )
