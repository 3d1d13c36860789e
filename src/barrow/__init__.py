"""barrow: user-level metric differential privacy via the earth mover's distance.

The public names load on first use, so ``import barrow`` stays fast.

>>> import barrow as bw
>>> ages = bw.Line(0, 100, step=1, unit="years")
>>> study = bw.Study(ages, ["1 of 30, 10 years, 0.5", "all, 5 years, 0.5"], users=10_000)
>>> round(float(study.alpha), 2), study.plan("mean").error_unit
(8.33, 'years')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barrow import display
from barrow._lazy import lazily
from barrow._version import __version__

if TYPE_CHECKING:
    from barrow.accounting import price
    from barrow.collect import Client
    from barrow.engines import Source
    from barrow.errors import BarrowError, DataError, MissingExtraError, ParameterError
    from barrow.ledger import Budget, Ledger
    from barrow.local import Report, Server
    from barrow.planning import Comparison
    from barrow.promises import DiscreteEmd, Emd, Grouping, Guarantee, ItemMetric, Model, Policy, Promise, UserLevel
    from barrow.questions import (
        Answer,
        CircularMean,
        Density,
        Distance,
        Frequency,
        Function,
        Histogram,
        Items,
        Mean,
        Person,
        Projection,
        Quantile,
        Question,
        Region,
        Similarity,
        Spread,
        Total,
        Workload,
    )
    from barrow.render import plot
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
        Scale,
        Space,
        Tree,
        Week,
        space_from_spec,
    )
    from barrow.study import Data, Release, Study, read, read_study, verify, write_study
    from barrow.transport.emd import emd
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".accounting": "price",
            ".collect": "Client",
            ".engines": "Source",
            ".errors": "BarrowError DataError MissingExtraError ParameterError",
            ".ledger": "Budget Ledger",
            ".local": "Report Server",
            ".planning": "Comparison",
            ".promises": "DiscreteEmd Emd Grouping Guarantee ItemMetric Model Policy Promise UserLevel",
            ".questions": "Answer CircularMean Density Distance Frequency Function Histogram Items Mean Person "
            "Projection Quantile Question Region Similarity Spread Total Workload",
            ".render": "plot",
            ".spaces": "Circle Clustered Covariates Discrete Earth Embedding Euclidean Finite Graph Hexagons Line "
            "Product Scale Space Tree Week space_from_spec",
            ".study": "Data Release Study read read_study verify write_study",
            ".transport.emd": "emd",
        },
    )

__all__ = [
    "Answer",
    "BarrowError",
    "Budget",
    "Circle",
    "CircularMean",
    "Client",
    "Clustered",
    "Comparison",
    "Covariates",
    "Data",
    "DataError",
    "Density",
    "Discrete",
    "DiscreteEmd",
    "Distance",
    "Earth",
    "Embedding",
    "Emd",
    "Euclidean",
    "Finite",
    "Frequency",
    "Function",
    "Graph",
    "Grouping",
    "Guarantee",
    "Hexagons",
    "Histogram",
    "ItemMetric",
    "Items",
    "Ledger",
    "Line",
    "Mean",
    "MissingExtraError",
    "Model",
    "ParameterError",
    "Person",
    "Policy",
    "Product",
    "Projection",
    "Promise",
    "Quantile",
    "Question",
    "Region",
    "Release",
    "Report",
    "Scale",
    "Server",
    "Similarity",
    "Source",
    "Space",
    "Spread",
    "Study",
    "Total",
    "Tree",
    "UserLevel",
    "Week",
    "Workload",
    "__version__",
    "emd",
    "plot",
    "price",
    "read",
    "read_study",
    "space_from_spec",
    "verify",
    "write_study",
]


def _renderer() -> display.Renderer:
    from barrow import render

    return render


display.install(_renderer)
