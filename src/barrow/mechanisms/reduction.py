"""BoundedEMDReduction: s items drawn with replacement from each user, then a bounded release (Algorithm 3).

Users may hold any number of items, and how many is hidden: the inner release sees data sets of exactly s items.
The price is unbounded EMD-DP with alpha e^(alpha/s) (docs/proofs/sampling.md), or discrete EMD-DP: one epsilon for all
changes up to a radius (docs/proofs/projection.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.mechanisms.itemwise import ItemReports, ItemWise
from barrow.noise import RandomSource, uniform_places
from barrow.noise.source import checked_source
from barrow.numerics import Exact
from barrow.promises import SampledItems
from barrow.promises.definitions import probability, share

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Reduced:
    """A bounded release behind the reduction, ready to draw; everything in it is public.

    Attributes:
        inner: The release on s items of each user; s is its ``items``.
        radius: r, the EMD up to which changes are protected at the stated epsilon; None states alpha instead.
        delta: The whole delta, for the sampling and for the inner release.

    >>> from barrow.mechanisms import item_wise
    >>> from barrow.randomisers import randomised_response
    >>> from barrow.spaces import Discrete
    >>> inner = item_wise(randomised_response(Discrete(["a", "b"]), 1), items=20, users=100, delta="1e-9")
    >>> plan = reduced(inner, radius="0.1")
    >>> plan.samples, plan.event.radius, plan.event.inner == inner.event
    (20, Fraction(1, 10), True)
    """

    inner: ItemWise
    radius: Fraction | None
    delta: Fraction

    @property
    def samples(self) -> int:
        """s: how many items are drawn from each user."""
        return self.inner.items

    @property
    def event(self) -> SampledItems:
        """What drawing it causes: the fewest public numbers that price it."""
        return SampledItems(samples=self.samples, radius=self.radius, delta=self.delta, inner=self.inner.event)

    def draw_items(self, ids: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """One user's s items, drawn with replacement and exactly uniformly (private).

        No items stand for the public default item.
        """
        space = self.inner.randomiser.space
        held = np.asarray(ids).ravel()
        held = np.array([space.default_item]) if held.size == 0 else space._ids(held)
        places = uniform_places(np.full(self.samples, len(held)), source=source)
        return np.asarray(held[places], dtype=np.int64)

    def randomise(self, ids: ArrayLike, *, source: RandomSource | None = None) -> ItemReports:
        """One user's items, any number of them, as a multiset of s reports (the local model's client).

        >>> from barrow.mechanisms import item_wise
        >>> from barrow.randomisers import randomised_response
        >>> from barrow.spaces import Discrete
        >>> inner = item_wise(randomised_response(Discrete(["a", "b"]), 1), items=5, model="local")
        >>> reduced(inner, radius="0.1").randomise([0, 1, 1]).counts.sum().item()
        5
        """
        origin = checked_source(source)
        sample = self.inner.randomise(self.draw_items(ids, source=origin), source=origin)
        return replace(sample, event=self.event)

    def release(
        self, held: ArrayLike, *, source: RandomSource | None = None, sampled_privately: bool = True
    ) -> ItemReports:
        """The reports on the samples of all users, whose pooled counts are ``held``: s times n items in all.

        Args:
            held: How often each item was drawn, from an engine's ``sample``.
            source: Where the inner release's random words come from.
            sampled_privately: Whether the samples were drawn with the system's randomness.
        """
        sample = self.inner.release(held, source=source)
        return replace(sample, event=self.event, private=sample.private and sampled_privately)


def reduced(inner: ItemWise, *, radius: Exact | None = None, delta: Exact | None = None) -> Reduced:
    """The reduction around ``inner``, which draws ``inner.items`` items from each user.

    Args:
        inner: A bounded release.
        radius: r in (0, 1], as a share of the space's diameter; None states the guarantee in alpha.
        delta: The whole delta; that of ``inner`` by default.

    >>> from barrow.mechanisms import item_wise
    >>> from barrow.randomisers import randomised_response
    >>> from barrow.spaces import Discrete
    >>> reduced(item_wise(randomised_response(Discrete(["a", "b"]), 1), items=5, model="local"), radius=2)
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: radius is 2.
      allowed: a number in (0, 1]
      fix:     radius=1
    """
    if not isinstance(inner, ItemWise):
        raise ParameterError(
            f"The inner release is a {type(inner).__name__}.",
            allowed="a bounded item-wise release",
            fix="reduced(item_wise(randomiser, items=200, users=1000))",
        )
    whole = inner.delta if delta is None else probability(delta)
    return Reduced(inner, None if radius is None else share(radius, "radius"), whole)
