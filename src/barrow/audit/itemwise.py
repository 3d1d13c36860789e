"""Exact audits of item-wise releases: channels as they are drawn, multisets of reports, all pairs of small users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from barrow import heavy
from barrow.accounting import price
from barrow.audit.enumeration import ScriptedSource, distribution
from barrow.audit.pairs import Chances, User, allowed_by, compare, known_distances, products, small_users
from barrow.audit.verdict import Finding, Tally
from barrow.mechanisms import FrequencyEstimator, ItemWise, Reduced, item_wise, reduced
from barrow.noise.source import SeededSource
from barrow.numerics import Exact
from barrow.promises import Model
from barrow.randomisers import Randomiser

_CUT = Fraction(1, 2**40)
_COARSE = Fraction(1, 2**6)


@dataclass(frozen=True)
class ChannelRows:
    """A channel as it is drawn: the exact distribution of the report on each item, and what was not followed."""

    chances: Sequence[Chances]
    left: float


def observed_rows(
    draw: Callable[[int, Any], Any], items: int, *, cut: Fraction = _CUT, continuations: int = 8
) -> ChannelRows:
    """The rows of a channel, through its own draw: ``draw(item, source)`` is one report."""
    results = [
        distribution(lambda source, x=x: draw(x, source), cut=cut, continuations=continuations)  # type: ignore[misc]
        for x in range(items)
    ]
    return ChannelRows([f.chances for f in results], max(float(f.left) for f in results))


def audit_items(
    name: str,
    randomiser: Randomiser,
    *,
    result: Callable[[ItemWise], Callable[[Any], Any]] | None = None,
    cut: Fraction = _CUT,
) -> list[Finding]:
    """An item-wise release in all three models, for every pair of users and all data of the others.

    A user holds five items alone, and two items among three users in the other models. What ``result`` makes of the
    counts of reports is released instead of them. Ways that are less likely than ``cut`` are not followed.
    """
    space = randomiser.space
    rows = observed_rows(lambda x, source: int(randomiser.from_items([x], source=source)[0]), space.items, cut=cut)
    results = []
    distributions: dict[User, Chances] = {}
    for model in ("local", "shuffle", "central"):
        tally = Tally(name, model)
        alone = model == "local"
        items, n = (5, 1) if alone else (2, 3)
        plan = item_wise(randomiser, items=items, users=None if alone else n, model=model)
        allowed = allowed_by(price(plan.event))
        mine = small_users(space.items, [items])
        apart = known_distances(space, tuple(mine))
        told = None if result is None else result(plan)
        for rest in [()] if alone else small_users(space.items, [items * (n - 1)]):
            for user in mine:
                held = tuple(sorted((*user, *rest)))
                if held not in distributions:
                    distributions[held] = _told(products(rows.chances, held), randomiser.reports, told)
            compare(
                tally,
                [(user, rest) for user in mine],
                [distributions[tuple(sorted((*user, *rest)))] for user in mine],
                apart,
                allowed,
                slack=rows.left * items * n,
            )
        if model != "shuffle" and result is None:  # shuffled reports are drawn as in the central model
            _draws_conform(tally, plan, rows)
        results.append(tally.finding())
    return results


def frequency_result(plan: ItemWise) -> Callable[[Any], Any]:
    """What frequency estimation makes of counts, as bytes."""
    estimator = FrequencyEstimator(plan, users=plan.users or 1)
    return lambda counts: estimator.decode(counts).tobytes()


def _told(chances: Chances, reports: int, told: Callable[[Any], Any] | None) -> Chances:
    if told is None:
        return chances
    result: Chances = {}
    for multiset, chance in chances.items():
        key = told(np.bincount(multiset, minlength=reports))
        result[key] = result.get(key, Fraction(0)) + chance
    return result


def _draws_conform(tally: Tally, plan: ItemWise, rows: ChannelRows) -> None:
    """What the mechanism draws is what the rows say: each item on its own, and the multiset alone."""
    randomiser = plan.randomiser
    reports, kinds = randomiser.reports, randomiser.space.items
    if plan.model is Model.LOCAL:
        pair = item_wise(randomiser, items=2, model="local")
        result = distribution(
            lambda source: tuple(np.repeat(np.arange(reports), pair.randomise((0, 1), source=source).counts).tolist()),
            cut=_COARSE,
        )
        tally.draws += len(result.chances)
        if result.differs_from(products(rows.chances, (0, 1))):
            tally.violation("the reports on two items are not drawn one by one", 1, 0)
        _linked(tally, pair, (0, kinds - 1))
        return
    single = np.eye(kinds, dtype=np.int64)[1]
    result = distribution(
        lambda source: int(np.flatnonzero(randomiser.from_counts(single, source=source))[0]), cut=_COARSE
    )
    tally.draws += len(result.chances)
    if result.differs_from(rows.chances[1]):
        tally.violation("pooled items are not randomised like single ones", 1, 0)
    held = np.arange(kinds, dtype=np.int64)
    held[0] += plan.reports - int(held.sum())
    for seed in range(3):
        sample = plan.release(held, source=SeededSource(seed)).counts
        tally.draws += 1
        if sample.tolist() != randomiser.from_counts(held, source=SeededSource(seed)).tolist():
            tally.violation("the release is not what its randomiser draws", 1, 0)


def _linked(tally: Tally, plan: ItemWise, user: User) -> None:
    """A user's items in another order, with the same words in that order, are the same release."""
    for seed in range(8):
        words = SeededSource(seed).words(64).copy()
        words[len(user) :] = words[len(user)]  # what is read later is the same for everybody
        swapped = words.copy()
        swapped[: len(user)] = words[: len(user)][::-1]
        tally.draws += 1
        one, two = (
            plan.randomise(ids, source=ScriptedSource(script)) for ids, script in ((user, words), (user[::-1], swapped))
        )
        if one.sorted_list() != two.sorted_list() or one.counts.tolist() != two.counts.tolist():
            tally.violation(f"the reports on {user} tell the order of the items", 1, 0)
            return


def audit_sampled(
    name: str,
    randomiser: Randomiser,
    *,
    samples: int,
    sizes: Sequence[int] = (1, 2, 3),
    radius: str | None = None,
    delta: Exact = 0,
) -> list[Finding]:
    """Items drawn with replacement from users of any size, then an item-wise release: unbounded EMD-DP.

    ``radius`` is the distance up to which one epsilon is stated; None states alpha.
    """
    space = randomiser.space
    rows = observed_rows(lambda x, source: int(randomiser.from_items([x], source=source)[0]), space.items)
    mine = small_users(space.items, sizes)
    apart = known_distances(space, tuple(mine))
    results = []
    for model in ("local", "shuffle", "central"):
        tally = Tally(name, model)
        n = 1 if model == "local" else 2
        inner = item_wise(randomiser, items=samples, users=None if model == "local" else n, model=model, delta=delta)
        plan = reduced(inner, radius=radius)
        allowed = allowed_by(price(plan.event))
        for rest in [()] if model == "local" else small_users(space.items, [n - 1]):
            distributions = []
            for user in mine:
                mixed = [mixed_reports(rows.chances, user), *(mixed_reports(rows.chances, (x,)) for x in rest)]
                distributions.append(products(mixed, tuple(i for i in range(len(mixed)) for _ in range(samples))))
            compare(tally, [(u, rest) for u in mine], distributions, apart, allowed, slack=rows.left * samples * n)
        if model == "local":
            pair = reduced(item_wise(randomiser, items=2, model="local", delta=delta), radius=radius)
            _samples_conform(tally, pair, (0, 0, 1, 2))
        results.append(tally.finding())
    return results


def _samples_conform(tally: Tally, plan: Reduced, user: User) -> None:
    """Samples are uniform among a user's items, and independent."""
    result = distribution(
        lambda source: tuple(sorted(plan.draw_items(user, source=source).tolist())), cut=Fraction(1, 2**16)
    )
    tally.draws += len(result.chances)
    uniform = {x: Fraction(user.count(x), len(user)) for x in set(user)}
    if result.differs_from(products([uniform], (0,) * plan.samples)):
        tally.violation(f"the samples of {user} are not uniform and independent", 1, 0)


def mixed_reports(rows: Sequence[Chances], user: User) -> Chances:
    """The distribution of the report on an item that is drawn from a user's items."""
    result: Chances = {}
    for item in user:
        for report, chance in rows[item].items():
            result[report] = result.get(report, Fraction(0)) + chance / len(user)
    return result


def audit_amplified(name: str, randomiser: Randomiser, *, model: str, items: int, users: int, delta: str) -> Finding:
    """Two items, many reports: where shuffling pays, the guarantee is compared with the exact divergence.

    The number of ones among the reports is a sum of two binomials; others hold all zeros, all ones, or half of each.
    """
    tally = Tally(name, model)
    rows = observed_rows(lambda x, source: int(randomiser.from_items([x], source=source)[0]), 2)
    plan = item_wise(randomiser, items=items, users=None if model == "local" else users, model=model, delta=delta)
    allowed = allowed_by(price(plan.event))
    total = plan.reports
    chances = [float(rows.chances[x][1]) for x in range(2)]
    diameter = float(randomiser.space.distance(0, 1)) * (1.0 + 2.0**-40)
    contexts = {0} if model == "local" else {0, (total - items) // 2, total - items}
    for ones_of_others in sorted(contexts):
        distributions = []
        for ones in range(items + 1):
            high = ones + ones_of_others
            parts = [
                heavy.stats.binom.pmf(np.arange(n + 1), n, p)
                for n, p in ((total - high, chances[0]), (high, chances[1]))
            ]
            distributions.append(np.convolve(parts[0], parts[1]))
        for i, j in permutations(range(items + 1), 2):
            epsilon, most = allowed(min(1.0, abs(i - j) / items * diameter))
            result = float(np.maximum(distributions[i] - np.exp(epsilon) * distributions[j], 0.0).sum())
            # The probabilities are floats: an excess below their error is none.
            tally.compared(f"{i} and {j} ones among {ones_of_others} of others: delta", result, most, slack=1e-13)
    return tally.finding()
