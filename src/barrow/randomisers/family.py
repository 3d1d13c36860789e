"""Response randomisers that have a name: whole weights as near their formula as 62 bits allow, and a proof of it.

On S equal clusters of T items, r apart inside and 1 across, GKRR at alpha0 gives an item's report the probabilities
e^alpha0/Z (itself), e^((1-r) alpha0)/Z (its cluster) and 1/Z (elsewhere). T = 1 is k-ary randomised response. An
accountant that knows the name can price the channel itself instead of any channel with its alpha0, but the name is a
promise about probabilities, so it is given only where balls show that the whole weights keep it
(docs/proofs/randomisers.md, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from barrow import heavy
from barrow.noise.lazy_uniform import working_precision
from barrow.promises.channels import EvenClusters
from barrow.randomisers.randomiser import DEEPEST, TOTAL
from barrow.spaces import Space

CLOSE = Fraction(1, 10**12)
"""How near, relatively, the probabilities that are drawn are to those of the name."""
_BITS = 256


@dataclass(frozen=True)
class Even(EvenClusters):
    """Randomised response on clusters of one size, in whole weights."""

    def stops(self, slope: float) -> tuple[int, int, int] | None:
        """Whole weights of stopping at the root, at a cluster and at an item, or None where 62 bits are too few.

        The first two are rounded up and the last takes up the difference: items give their own report a little less
        often, so that no ratio of probabilities is above that of the family.
        """
        if not 0.0 < slope <= DEEPEST:
            return None
        with working_precision(_BITS):
            far, near, _ = self._probabilities(Fraction(slope))
            root = _whole_up(far * (TOTAL * self.clusters * self.members))
            inner = _whole_up((near - far) * (TOTAL * self.members)) if self.members > 1 else 0
        inner = min(inner, TOTAL - root)
        return root, inner, TOTAL - root - inner

    def keeps(self, weights: Mapping[int, Fraction], alpha0: Fraction) -> bool:
        """Whether probabilities are those of the family at ``alpha0`` to a relative 1e-12, decided by balls.

        Args:
            weights: 2^62 times the probability of a report that has this many items below the node where it parts
                from the item: 1 for the item itself, T for its cluster, S T elsewhere.
            alpha0: The parameter.
        """
        widths = {self.clusters * self.members: 0, self.members: 1, 1: 2}
        if not set(weights) <= set(widths):
            return False
        with working_precision(_BITS):
            wanted = self._probabilities(alpha0)
            close = heavy.arb(heavy.fmpq(CLOSE.numerator, CLOSE.denominator))
            for width, weight in weights.items():
                held = heavy.arb(heavy.fmpq(weight.numerator, weight.denominator)) / TOTAL
                # Comparisons of balls are true only if they are certain.
                if not abs(held / wanted[widths[width]] - 1) < close:
                    return False
        return True

    def _probabilities(self, alpha0: Fraction) -> tuple[Any, Any, Any]:
        """Balls around the three probabilities: elsewhere, in the cluster, the item itself."""
        own, near = (
            heavy.arb(heavy.fmpq(x.numerator, x.denominator)).exp() for x in (alpha0, (1 - self.radius) * alpha0)
        )  # radius 1 where clusters are single items: near is then 1, and no report has it
        total = own + (self.members - 1) * near + (self.clusters - 1) * self.members
        return 1 / total, near / total, own / total


def _whole_up(ball: Any) -> int:
    return int(ball.mid().ceil().unique_fmpz())


def even_clusters(space: Space) -> Even | None:
    """The clusters of a space, items of a discrete one too, where they are of one size and there are two or more."""
    return None if space.geometry.clusters is None else Even(*space.geometry.clusters)
