"""barrow: user-level metric differential privacy via the earth mover's distance.

The public names load on first use, so ``import barrow`` stays fast.

>>> import barrow
>>> policy = barrow.Policy(barrow.Earth(), [("1/30", "1000 mi", "0.2"), (1, "100 mi", "0.2")], delta="1e-12")
>>> round(policy.alpha, 2)
24.87
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from barrow._version import __version__

if TYPE_CHECKING:
    from barrow.errors import BarrowError, DataError, MissingExtraError, ParameterError
    from barrow.policy import Policy, Promise
    from barrow.privacy import DiscreteEmd, Emd, Guarantee, ItemMetric, Model, UserLevel
    from barrow.spaces import (
        Circle,
        Clustered,
        Discrete,
        Earth,
        Embedding,
        Euclidean,
        Finite,
        Graph,
        Hexagons,
        Line,
        Product,
        Space,
        Tree,
        space_from_spec,
    )
    from barrow.transport import emd

_HOMES = {
    "barrow.errors": ("BarrowError", "DataError", "MissingExtraError", "ParameterError"),
    "barrow.policy": ("Policy", "Promise"),
    "barrow.privacy": ("DiscreteEmd", "Emd", "Guarantee", "ItemMetric", "Model", "UserLevel"),
    "barrow.spaces": (
        "Circle", "Clustered", "Discrete", "Earth", "Embedding", "Euclidean", "Finite", "Graph", "Hexagons", "Line",
        "Product", "Space", "Tree", "space_from_spec",
    ),
    "barrow.transport": ("emd",),
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BarrowError",
    "Circle",
    "Clustered",
    "DataError",
    "Discrete",
    "DiscreteEmd",
    "Earth",
    "Embedding",
    "Emd",
    "Euclidean",
    "Finite",
    "Graph",
    "Guarantee",
    "Hexagons",
    "ItemMetric",
    "Line",
    "MissingExtraError",
    "Model",
    "ParameterError",
    "Policy",
    "Product",
    "Promise",
    "Space",
    "Tree",
    "UserLevel",
    "__version__",
    "emd",
    "space_from_spec",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'barrow' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
