"""FreqEstLocal: what the items must have been, from the reports on them (Algorithm 4, Section 6.2).

Reports follow K~ A on average, with A the randomiser's matrix, so v B with A B = I is an unbiased estimate of the mean
histogram K~ over users who all hold exactly m items. Its entries may be negative; its error is measured by the norm
dual to Lipschitz functions, EMD where both are histograms. Decoding makes a histogram of it. Both are functions of
the reports: nothing more is spent (docs/proofs/frequency.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.mechanisms.channel import DOUBTFUL_CONDITION, Channel, MatrixChannel, channel_of
from barrow.mechanisms.decoding.bayesian import GAP, MOST_UPDATES, bayesian_update
from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.mechanisms.decoding.tree import edge_values, nearest_histogram, top_down_histogram
from barrow.mechanisms.frequency_error import EstimateError
from barrow.mechanisms.itemwise import ItemWise
from barrow.mechanisms.spans import Spans
from barrow.noise import exact_multinomials
from barrow.noise.source import SeededSource
from barrow.numerics import checked_people
from barrow.promises import ShuffledReports
from barrow.spaces import Space
from barrow.spaces.space import Floats, strips

Integers = NDArray[np.int64]

DECODERS = ("tree", "simplex", "bayesian", "none")
"""Ways to make a histogram of the estimate."""
_MOST_BAYESIAN = 10_000
_MOST_PRODUCTS = 10**9
_EVEN = 0.1
"""The Bayesian update starts from a decoded histogram mixed with this much of the even one."""
_MOST_PAIRS = 2048


@dataclass(frozen=True, eq=False)
class FrequencyEstimator:
    """Frequency estimation from item-wise reports; everything in it is public.

    Errors are earth mover's distances in the space's units.

    Args:
        itemwise: The item-wise release whose reports are read.
        users: n, how many users' reports are read; the release's own number by default.
        how: How to decode: one of ``DECODERS``; the one that suits the space by default.
        sampled: Whether the items are samples, drawn from what each user holds: errors are then those of the estimate
            of what they hold, samples included.

    >>> from barrow.mechanisms import item_wise
    >>> from barrow.randomisers import gkrr
    >>> from barrow.spaces import Clustered
    >>> space = Clustered.grid(2, 2, r=0.25)
    >>> plan = FrequencyEstimator(item_wise(gkrr(space, 2), items=10, users=1000))
    >>> plan.estimate([5000, 2500, 1250, 1250]).round(3).tolist()
    [1.022, -0.171, 0.074, 0.074]
    """

    itemwise: ItemWise
    users: int | None = None
    how: str | None = None
    sampled: bool = False

    def __post_init__(self) -> None:
        if self.users is None:
            object.__setattr__(self, "users", self.itemwise.users)
        else:
            object.__setattr__(self, "users", checked_people(self.users))
        object.__setattr__(self, "how", checked_decoder(self.how, self.space))
        _ = self.channel  # a randomiser that cannot be undone is refused now

    @property
    def space(self) -> Space:
        """The public space."""
        return self.itemwise.randomiser.space

    @property
    def event(self) -> ShuffledReports:
        """What drawing the reports causes."""
        return self.itemwise.event

    @cached_property
    def channel(self) -> Channel:
        """The randomiser as a linear map."""
        return channel_of(self.itemwise.randomiser)

    def for_users(self, users: int) -> FrequencyEstimator:
        """The same, for another number of users.

        >>> from barrow.mechanisms import item_wise
        >>> from barrow.randomisers import randomised_response
        >>> from barrow.spaces import Discrete
        >>> mine = FrequencyEstimator(item_wise(randomised_response(Discrete(["a", "b"]), 1), items=4, model="local"))
        >>> mine.users is None, mine.for_users(9).users
        (True, 9)
        """
        built = FrequencyEstimator.__new__(FrequencyEstimator)
        built.__dict__.update({k: v for k, v in self.__dict__.items() if k != "uniform_guess"})
        object.__setattr__(built, "users", users)
        built.__post_init__()
        return built

    # What is made of the reports.

    def estimate(self, counts: ArrayLike) -> Floats:
        """The unbiased estimate v B of the mean histogram over users: mass 1, entries may be negative."""
        held = self._counts(counts)
        return self.channel.inverse(held / float(held.sum()))

    def deviations(self, counts: ArrayLike) -> Floats:
        """About the standard deviation of each entry of the estimate, from the reports themselves.

        Reports of different items have different means, which adds to what is seen here and not to the estimate's
        variance: these are rather too large.

        >>> from barrow.mechanisms import item_wise
        >>> from barrow.randomisers import gkrr
        >>> from barrow.spaces import Clustered
        >>> plan = FrequencyEstimator(item_wise(gkrr(Clustered.grid(2, 2, r=0.25), 2), items=10, users=1000))
        >>> plan.deviations([5000, 2500, 1250, 1250]).round(4).tolist()
        [0.0205, 0.0195, 0.0123, 0.0123]
        """
        held = self._counts(counts)
        total, each = float(held.sum()), np.arange(self.space.items)
        moments = self.channel.moments(Spans(np.ones(len(each)), each, each + 1, each)).at(held / total)
        return np.asarray(np.sqrt(np.maximum(moments - self.estimate(counts) ** 2, 0.0) / total))

    def decode(self, counts: ArrayLike, how: str | None = None) -> Floats:
        """A histogram: the estimate, decoded; with ``how="none"`` the estimate itself.

        >>> from barrow.mechanisms import item_wise
        >>> from barrow.randomisers import gkrr
        >>> from barrow.spaces import Clustered
        >>> plan = FrequencyEstimator(item_wise(gkrr(Clustered.grid(2, 2, r=0.25), 2), items=10, users=1000))
        >>> plan.decode([5000, 2500, 1250, 1250], "simplex").round(3).tolist()
        [0.965, 0.0, 0.017, 0.017]
        """
        way = self.how if how is None else checked_decoder(how, self.space)
        result = self.estimate(counts)
        if way == "none" or self.space.items == 1:
            return result
        if way == "simplex":
            return nearest_in_simplex(result)
        if way == "tree":
            return self._along_tree(result)
        start = None
        if self.space.geometry.has_tree:
            start = (1.0 - _EVEN) * self._along_tree(result) + _EVEN / self.space.items
        most = MOST_UPDATES
        if isinstance(self.channel, MatrixChannel):  # an update is two products with the matrix
            most = max(100, min(most, _MOST_PRODUCTS // (self.channel.items * self.channel.reports)))
        # Chance alone moves the log-likelihood by about half the number of items: a tenth of that is near enough.
        gap = max(GAP, self.space.items / 20.0)
        return bayesian_update(self.channel, self._counts(counts), start=start, gap=gap, most_updates=most).histogram

    def _along_tree(self, estimate: Floats) -> Floats:
        """The nearest histogram in EMD itself; on a line, where errors run on, least squares are nearer on average."""
        values = edge_values(self.space, estimate)
        if self.space.geometry.on_line:
            return top_down_histogram(self.space, values)
        return nearest_histogram(self.space, values)

    # How good it will be.

    @cached_property
    def error(self) -> EstimateError:
        """The error of the estimate before decoding, normalised, for any number of reports."""
        return EstimateError(self.space, self.channel)

    @property
    def reports(self) -> int:
        """N = m n."""
        if self.users is None:
            raise ParameterError(
                "The number of users is missing, so no error can be predicted.",
                allowed="a public number of users",
                fix="FrequencyEstimator(itemwise, users=1000)",
            )
        return self.itemwise.items * int(self.users)

    def predicted_error(self, reference: ArrayLike | None = None) -> float:
        """The expected EMD between the unbiased estimate and the truth, if the items follow ``reference``.

        The even histogram is the reference by default.

        >>> from barrow.mechanisms import item_wise
        >>> from barrow.randomisers import gkrr
        >>> from barrow.spaces import Clustered
        >>> plan = FrequencyEstimator(item_wise(gkrr(Clustered.grid(2, 2, r=0.25), 2), items=10, users=1000))
        >>> round(plan.predicted_error(), 4), round(plan.error_upper, 4)
        (0.0096, 0.012)
        """
        return self.error.expected(self.reports, reference) * self.space.diameter + self._samples_upper

    @property
    def error_upper(self) -> float:
        """No data have a larger expected EMD between the unbiased estimate and the truth."""
        return self.error.expected_upper(self.reports) * self.space.diameter + self._samples_upper

    @property
    def _samples_upper(self) -> float:
        """How far samples are from what they were drawn from, on average, at most (docs/proofs/projection.md, 8)."""
        if not self.sampled:
            return 0.0
        return 0.5 * self.space.diameter * math.sqrt(self.space.items / self.reports)

    @property
    def decoded_upper(self) -> float | None:
        """No data have a larger expected EMD between the decoded histogram and the truth; None where none is proven.

        The histogram nearest in EMD to the estimate is at most twice as far from the truth as the estimate is.

        >>> from barrow.mechanisms import item_wise
        >>> from barrow.randomisers import gkrr
        >>> from barrow.spaces import Clustered
        >>> plan = FrequencyEstimator(item_wise(gkrr(Clustered.grid(2, 2, r=0.25), 2), items=10, users=1000))
        >>> round(plan.decoded_upper, 4)
        0.0241
        """
        if self.how == "none":
            return self.error_upper
        if self.how != "tree" or self.space.geometry.on_line:
            return None
        return min(2.0 * self.error_upper, self.space.diameter)

    def simulated(self, reference: Floats, source: SeededSource) -> Floats:
        """One decoded histogram if everybody's items followed ``reference``; the reports are simulated."""
        held = whole_counts(self.error.distribution(reference), self.reports)
        # If everybody holds the reference, their samples together are N draws from it.
        sample = exact_multinomials([self.reports], [held], source=source)[0] if self.sampled else held
        result = self.decode(self.itemwise.randomiser.from_counts(sample, source=source))
        # Whole items are not quite the reference: what they differ by is no error of the estimate.
        return np.asarray(result + (reference - held / self.reports))

    @cached_property
    def uniform_guess(self) -> float:
        """What guessing the even histogram errs by at worst (on large spaces: where all items are the first)."""
        if self.space.items > _MOST_PAIRS:
            return float(self.space.block([0]).mean()) * self.space.diameter
        return max(float(block.mean(axis=1).max()) for _, block in strips(self.space)) * self.space.diameter

    @property
    def warning(self) -> str | None:
        """A sentence if the estimate will be nearly useless, else None.

        >>> from barrow.mechanisms import item_wise
        >>> from barrow.randomisers import randomised_response
        >>> from barrow.spaces import Discrete
        >>> weak = item_wise(randomised_response(Discrete(["a", "b"]), "0.01"), items=1, users=100)
        >>> print(FrequencyEstimator(weak).warning)
        The estimate will be off by 7.98 on average, more than a uniform guess (0.5): inverting the randomiser magnifies noise 200 times. About 101,859 people would make it half of that guess.
        """  # noqa: E501
        unit = f" {self.space.unit}" if self.space.unit else ""
        times = f"{self.channel.condition:,.0f}" if self.channel.condition < 1e6 else f"{self.channel.condition:.3g}"
        if self.users is not None:
            error = self.predicted_error()
            if error >= self.uniform_guess:
                return (
                    f"The estimate will be off by {error:.3g}{unit} on average, more than a uniform guess "
                    f"({self.uniform_guess:.3g}{unit}): inverting the randomiser magnifies noise {times} times. About "
                    f"{math.ceil(self.users * (2.0 * error / self.uniform_guess) ** 2):,} people would make it half "
                    "of that guess."
                )
        if self.channel.condition > DOUBTFUL_CONDITION:
            return (
                f"Inverting the randomiser magnifies noise {times} times (its condition number): the estimate of "
                f"single "
                "items needs very many reports."
            )
        return None

    def _counts(self, counts: ArrayLike) -> Integers:
        held = np.asarray(counts)
        if held.shape != (self.channel.reports,) or held.dtype.kind not in "iu" or (held < 0).any():
            raise ParameterError(
                "The counts are not one whole number for each report.",
                allowed=f"{self.channel.reports:,} whole numbers of 0 or more",
                fix="the counts of an item-wise release, in the order of its labels",
            )
        total, items = int(held.sum()), self.itemwise.items
        users = total // items if self.users is None else int(self.users)
        if total == 0 or total != items * users:
            raise ParameterError(
                f"There are {total:,} reports, which is not {items:,} for each "
                + ("user." if self.users is None else f"of {users:,} users."),
                allowed="exactly that many reports from every user",
                fix="leave out users whose reports are of another number",
            )
        return held.astype(np.int64)


def checked_decoder(how: str | None, space: Space) -> str:
    """The decoder that is meant; the one that suits the space for None."""
    if how is None:
        if space.geometry.has_tree:
            return "tree"
        return "bayesian" if space.items <= _MOST_BAYESIAN else "simplex"
    if how == "tree" and not space.geometry.has_tree:
        raise ParameterError(
            f"decode is 'tree', and the distances of the {space.kind} space are not those of a tree.",
            allowed="'tree' on tree, clustered, discrete and line spaces",
            fix="decode = 'bayesian'",
        )
    if how not in DECODERS:
        raise ParameterError(
            f"decode is {how!r}.",
            allowed=", ".join(repr(name) for name in DECODERS) + ", or nothing",
            fix="leave it out",
        )
    return how


def whole_counts(law: Floats, total: int) -> Integers:
    """Whole numbers near ``total * law`` with exactly that sum: rounded down, and the largest remainders up."""
    wanted = law * float(total)
    result = np.floor(wanted).astype(np.int64)
    missing = total - int(result.sum())
    order = np.argsort(result - wanted, kind="stable")
    result[order[: max(0, missing)]] += 1
    result[int(np.argmax(result))] += total - int(result.sum())
    return result
