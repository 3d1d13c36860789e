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
    from barrow.accounting import price
    from barrow.engines import Source
    from barrow.errors import BarrowError, DataError, MissingExtraError, ParameterError
    from barrow.ledger import Budget, Ledger
    from barrow.policy import Policy, Promise
    from barrow.privacy import DiscreteEmd, Emd, Guarantee, ItemMetric, Model, UserLevel
    from barrow.release import Plan, Release, Study, read_study, verify, write_study
    from barrow.spaces import (
        Circle,
        Clustered,
        Covariates,
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
    "barrow.accounting": ("price",),
    "barrow.engines": ("Source",),
    "barrow.ledger": ("Budget", "Ledger"),
    "barrow.release": ("Plan", "Release", "Study", "read_study", "verify", "write_study"),
    "barrow.errors": ("BarrowError", "DataError", "MissingExtraError", "ParameterError"),
    "barrow.policy": ("Policy", "Promise"),
    "barrow.privacy": ("DiscreteEmd", "Emd", "Guarantee", "ItemMetric", "Model", "UserLevel"),
    "barrow.spaces": (
        "Circle", "Clustered", "Covariates", "Discrete", "Earth", "Embedding", "Euclidean", "Finite", "Graph",
        "Hexagons", "Line", "Product", "Space", "Tree", "space_from_spec",
    ),
    "barrow.transport": ("emd",),
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BarrowError",
    "Budget",
    "Circle",
    "Clustered",
    "Covariates",
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
    "Ledger",
    "Line",
    "MissingExtraError",
    "Model",
    "ParameterError",
    "Plan",
    "Policy",
    "Product",
    "Promise",
    "Release",
    "Source",
    "Space",
    "Study",
    "Tree",
    "UserLevel",
    "__version__",
    "emd",
    "price",
    "read_study",
    "space_from_spec",
    "verify",
    "write_study",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'barrow' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
