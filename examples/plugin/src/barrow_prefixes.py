"""IP addresses by prefix, the share of private ones, and files of JSON lines: a plug-in for barrow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any, ClassVar

import numpy as np

from barrow.engines.memory import MemoryEngine
from barrow.engines.source import Source
from barrow.errors import DataError
from barrow.queries import Query
from barrow.queries.tables import function
from barrow.questions.linear import Linear
from barrow.questions.question import SHARES, Traits
from barrow.spaces import Space, Tree
from barrow.spaces.records import Formula, Reads
from barrow.spaces.space import only_in_python

_LENGTHS = {16: 0.125, 8: 0.125, 0: 0.25}
"""Of the edges up to these prefixes: two networks are 1/4, 1/2 or 1 apart, by the longest prefix that they share."""


class Prefixes(Tree):
    """IPv4 addresses as their /24 networks; how far two are apart is how little of a prefix they share.

    Args:
        networks: The public networks, e.g. ``"10.0.1.0/24"``; records are addresses in them.

    >>> space = Prefixes(["10.0.1.0/24", "10.0.2.0/24", "10.9.0.0/24", "8.8.8.0/24"])
    >>> [round(x, 9) for x in space.distance(0, [0, 1, 2, 3]).tolist()], space.encode(["10.9.0.77"]).tolist()
    ([0.0, 0.25, 0.5, 1.0], [2])
    """

    kind: ClassVar[str] = "prefixes"

    def __init__(self, networks: Sequence[str]) -> None:
        edges: dict[str, tuple[str, str, float]] = {}
        for network in map(IPv4Network, networks):
            child = network
            for bits, length in _LENGTHS.items():
                parent = network.supernet(new_prefix=bits)
                edges.setdefault(str(child), (str(child), str(parent), length))
                child = parent
        super().__init__(list(edges.values()), diameter=1.0 + 2.0**-40)

    def to_spec(self) -> dict[str, Any]:
        """The networks."""
        return {"kind": self.kind, "networks": list(self.labels)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Prefixes:
        """From the networks."""
        return cls(**spec)

    @property
    def reads(self) -> Reads:
        """A record is an address."""
        return Reads(words="an IPv4 address")

    @property
    def formula(self) -> Formula:
        """Databases have no such formula: records are read in Python."""
        raise only_in_python(self.kind, self.reads)

    def _encode(self, records: Any, unknown: Any) -> Any:
        known = {IPv4Network(label): i for i, label in enumerate(self.labels)}

        def item(record: Any) -> int:
            try:
                return known.get(IPv4Network((str(record).partition("/")[0], 24), strict=False), -1)
            except ValueError:
                return -1

        return np.array([item(record) for record in records], dtype=np.int64)


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivateShare(Linear):
    """The share of people's addresses in private networks.

    >>> PrivateShare().query(Prefixes(["10.0.1.0/24", "8.8.8.0/24"])).outputs
    ('private',)
    """

    kind: ClassVar[str] = "private_share"
    traits: ClassVar[Traits] = SHARES

    def query(self, space: Space) -> Query:
        """1 for each private network, 0 for all others."""
        values = [[float(IPv4Network(label).is_private)] for label in space.labels]
        return function(space, values, names=["private"], description="the share of addresses in private networks")


@dataclass(frozen=True)
class JsonLines(MemoryEngine):
    """Records as one JSON object a line, read in plain Python."""

    name: ClassVar[str] = "jsonl"

    def table(self, source: Source) -> Mapping[str, Any]:
        """The columns: every name that occurs; what a line lacks is missing."""
        rows: list[dict[str, Any]] = []
        for file in source.files():
            with open(file, encoding=source.encoding) as lines:
                try:
                    rows += [json.loads(line) for line in lines if line.strip()]
                except ValueError:
                    raise DataError("A line is no JSON.", allowed="one object a line", fix="correct the file") from None
        if not all(isinstance(row, dict) for row in rows):
            raise DataError("A line is no JSON object.", allowed="one object a line", fix="correct the file")
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: [row.get(name) for row in rows] for name in names}
