"""A space with one item more than another: what everything outside holds, or people without records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from barrow.numerics.exact import near
from barrow.spaces.base import Floats, Space
from barrow.spaces.geometry import Pairs
from barrow.spaces.records import Reads

if TYPE_CHECKING:
    from barrow.figures import Figure


class OneMore(Space):
    """The items of ``inner``, and one more, which is the last and is not snapped.

    >>> from barrow.spaces import Elsewhere, Line
    >>> space = Elsewhere(Line(0, 10, unit="km", step=2.5))
    >>> isinstance(space, OneMore), space.items, space.label(4)
    (True, 5, 'elsewhere')
    """

    inner: Space
    last_label: ClassVar[str]

    @property
    def innermost(self) -> Space:
        """What is inside, without any items that were added."""
        return self.inner.innermost

    @property
    def unit(self) -> str:
        """The unit of distance."""
        return self.inner.unit

    @property
    def diameter(self) -> float:
        """How many units count as distance 1."""
        return self.inner.diameter

    @property
    def size(self) -> int:
        """One more item than inside."""
        return self.inner.items + 1

    def label(self, item: int) -> str:
        """The inner label, or that of the one more."""
        return self.last_label if item == self.inner.items else self.inner.label(item)

    @property
    def metric_name(self) -> str:
        """The inner one: no two records are farther apart than there, so promises are about its distances."""
        return self.inner.metric_name

    @property
    def snapping_upper(self) -> float:
        """As inside: the distance of two items is at most that of their records plus twice this."""
        return self.inner.snapping_upper

    @property
    def snapping_means(self) -> Floats:
        """As inside, and nothing for the one more."""
        return np.append(self.inner.snapping_means, 0.0)

    def near_pairs(self) -> Pairs:
        """Those inside, and every item is joined to the one that is beside them all."""
        if self.inner.items > 1:
            tails, heads, nodes, lengths = self.inner.near_pairs()
            if nodes == self.inner.items:
                each, last = np.arange(nodes), np.full(nodes, nodes)
                ways = np.concatenate([lengths, self.distance(each, last)])
                return np.concatenate([tails, each]), np.concatenate([heads, last]), nodes + 1, ways
        return super().near_pairs()

    @property
    def captions(self) -> list[str]:
        """Those inside, and the one more."""
        return [*self.inner.captions, self.last_label]

    @property
    def reads(self) -> Reads:
        """As the inner space does."""
        return self.inner.reads

    def columns_of(self, records: list[Any]) -> Any:
        """As the inner space reads them."""
        return self.inner.columns_of(records)

    def figure(self, values: Any, *, redraws: Sequence[Any] = (), outline: Any = None, **style: Any) -> Figure:
        """The picture of what is inside; its title says the value of the one more."""

        def inside(numbers: Any) -> Any:
            found = np.asarray(numbers, dtype=np.float64)
            return found[:-1] if found.size == self.items else found

        for key in ("low", "high", "noise"):
            if style.get(key) is not None:
                style[key] = inside(style[key])
        away = near(float(np.asarray(values, dtype=np.float64)[-1]), style.get("unit", "%"))
        style["title"] = f"{style.get('title', 'Values')} ({self.last_label}: {away})"
        redrawn = [inside(numbers) for numbers in redraws]
        return self.inner.figure(inside(values), redraws=redrawn, outline=outline, **style)
