"""What a ledger refers to: a space by its digest, and the head of a chain."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from barrow.errors import ParameterError
from barrow.ledger.digits import show
from barrow.numerics import Exact, exact, exact_text
from barrow.spaces.base import Space


@dataclass(frozen=True)
class SpaceRef:
    """A space by its digest, with what a person needs to recognise it.

    Args:
        kind: The kind of space.
        digest: Its digest.
        diameter: How many units count as 1.
        unit: The unit of distance.
        metric: The distance between records, by name; None if it is not known.
        snapping: rho, by which the way from record to item may move a record, as a share of the diameter; None if
            it is not known, or if that way is not 1-Lipschitz up to 2 rho: then every change counts as the largest.
        alike: Digests of spaces in whose budgets the alpha of a release about this one counts as it is; not written
            down. See :meth:`of`.

    >>> SpaceRef("line", "sha256:00", 10, "km").diameter
    Fraction(10, 1)
    """

    kind: str
    digest: str
    diameter: Fraction
    unit: str
    metric: str | None
    snapping: Fraction | None
    alike: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    def __init__(
        self,
        kind: str,
        digest: str,
        diameter: Exact,
        unit: str,
        metric: str | None = None,
        snapping: Exact | None = None,
    ) -> None:
        for name, text in (("kind", kind), ("digest", digest), ("unit", unit)):
            object.__setattr__(self, name, str(text))
        object.__setattr__(self, "diameter", exact(diameter, "diameter"))
        object.__setattr__(self, "metric", None if metric is None else str(metric))
        object.__setattr__(self, "snapping", None if snapping is None else exact(snapping, "snapping"))
        if self.diameter <= 0 or (self.snapping is not None and self.snapping < 0):
            raise ParameterError(
                f"The diameter is {diameter} and the snapping {snapping}.",
                allowed="a diameter above 0, a snapping of 0 or more",
                fix="SpaceRef.of(space)",
            )

    @classmethod
    def of(cls, space: Space | SpaceRef) -> SpaceRef:
        """The reference to ``space``.

        A space X and X with the item "no records" differ in what people without records hold, and a release about the
        one pays in alpha of the other (docs/proofs/no-records.md, section 6): on the items of X distances are the same,
        so alpha-EMD-DP with the item is alpha-EMD-DP without it, and hiding presence costs at most alpha h <= alpha;
        and where h = 1, counting "no records" as a default item moves nobody farther than the item is.

        >>> ref = SpaceRef("line", "sha256:00", 10, "km")
        >>> SpaceRef.of(ref) is ref
        True
        """
        if isinstance(space, SpaceRef):
            return space
        if not isinstance(space, Space):
            raise ParameterError(f"The space is a {type(space).__name__}.", allowed="a space", fix="Line(0, 100)")
        diameter, snapping = Fraction(space.diameter), Fraction(space.snapping_upper)  # as they are, not as they print
        made = cls(space.kind, space.digest, diameter, space.unit, space.metric_name, snapping)
        if space.size is not None:
            alike = frozenset({space.held.digest, space.held.with_no_records.digest})
            object.__setattr__(made, "alike", alike)
        return made

    def pays_in(self, other: SpaceRef) -> bool:
        """Whether the alpha of a release about this space counts as it is in a budget about ``other``.

        >>> from barrow.spaces import Line, NoRecords
        >>> line = Line(0, 10, step=5)
        >>> bare, more, near = map(SpaceRef.of, (line, NoRecords(line), NoRecords(line, distance="1/2")))
        >>> bare.pays_in(more), more.pays_in(bare), near.pays_in(bare), bare.pays_in(near)
        (True, True, True, False)
        """
        return other.digest == self.digest or other.digest in self.alike

    def to_json(self) -> dict[str, Any]:
        """Plain data.

        >>> SpaceRef("line", "sha256:00", 10, "km").to_json()["diameter"]
        '10'
        """
        data: dict[str, Any] = {
            "kind": self.kind,
            "digest": self.digest,
            "diameter": exact_text(self.diameter),
            "unit": self.unit,
        }
        if self.metric is not None:
            data["metric"] = self.metric
        if self.snapping is not None:
            data["snapping"] = exact_text(self.snapping)
        return data

    def __str__(self) -> str:
        return f"{self.kind} space {self.digest[:15]}… (1 = {show(self.diameter)} {self.unit})".replace(" )", ")")


_HEAD = re.compile(r"(\d+):([0-9a-f]{64})")


@dataclass(frozen=True)
class Head:
    """Length and head hash of the chain: kept elsewhere, it shows later that nothing was cut off.

    >>> head = Head(3, "ab" * 32)
    >>> Head.parse(str(head)) == head
    True
    """

    length: int
    hash: str

    @classmethod
    def parse(cls, text: str) -> Head:
        """The head written as ``LENGTH:HASH``.

        >>> Head.parse("3")
        Traceback (most recent call last):
        ...
        barrow.errors.ParameterError: The head is '3'.
          allowed: LENGTH:HASH, as 'barrow ledger head' prints it
          fix:     --head 3:<64 hexadecimal digits>
        """
        match = _HEAD.fullmatch(text.strip())
        if match is None or int(match[1]) < 1:
            raise ParameterError(
                f"The head is {text!r}.",
                allowed="LENGTH:HASH, as 'barrow ledger head' prints it",
                fix="--head 3:<64 hexadecimal digits>",
            )
        return cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.length}:{self.hash}"
