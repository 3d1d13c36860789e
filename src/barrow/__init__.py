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

if TYPE_CHECKING:
    from barrow._version import __version__ as __version__
    from barrow.accounting import price as price
    from barrow.collect import Client as Client
    from barrow.engines import Source as Source
    from barrow.errors import BarrowError as BarrowError
    from barrow.errors import DataError as DataError
    from barrow.errors import MissingExtraError as MissingExtraError
    from barrow.errors import ParameterError as ParameterError
    from barrow.ledger import Budget as Budget
    from barrow.ledger import Ledger as Ledger
    from barrow.local.report import Report as Report
    from barrow.local.server import Server as Server
    from barrow.planning.comparison import Comparison as Comparison
    from barrow.promises import DiscreteEmd as DiscreteEmd
    from barrow.promises import Emd as Emd
    from barrow.promises import Grouping as Grouping
    from barrow.promises import Guarantee as Guarantee
    from barrow.promises import ItemMetric as ItemMetric
    from barrow.promises import Model as Model
    from barrow.promises import Policy as Policy
    from barrow.promises import Promise as Promise
    from barrow.promises import UserLevel as UserLevel
    from barrow.questions import Answer as Answer
    from barrow.questions import CircularMean as CircularMean
    from barrow.questions import Density as Density
    from barrow.questions import Distance as Distance
    from barrow.questions import Frequency as Frequency
    from barrow.questions import Function as Function
    from barrow.questions import Histogram as Histogram
    from barrow.questions import Items as Items
    from barrow.questions import Mean as Mean
    from barrow.questions import Person as Person
    from barrow.questions import Projection as Projection
    from barrow.questions import Quantile as Quantile
    from barrow.questions import Question as Question
    from barrow.questions import Region as Region
    from barrow.questions import Similarity as Similarity
    from barrow.questions import Spread as Spread
    from barrow.questions import Total as Total
    from barrow.questions import Workload as Workload
    from barrow.render import plot as plot
    from barrow.spaces import Circle as Circle
    from barrow.spaces import Clustered as Clustered
    from barrow.spaces import Covariates as Covariates
    from barrow.spaces import Discrete as Discrete
    from barrow.spaces import Earth as Earth
    from barrow.spaces import Embedding as Embedding
    from barrow.spaces import Euclidean as Euclidean
    from barrow.spaces import Finite as Finite
    from barrow.spaces import Graph as Graph
    from barrow.spaces import Hexagons as Hexagons
    from barrow.spaces import Line as Line
    from barrow.spaces import Product as Product
    from barrow.spaces import Scale as Scale
    from barrow.spaces import Space as Space
    from barrow.spaces import Tree as Tree
    from barrow.spaces import Week as Week
    from barrow.spaces import space_from_spec as space_from_spec
    from barrow.study import Data as Data
    from barrow.study import Release as Release
    from barrow.study import Study as Study
    from barrow.study import read as read
    from barrow.study import read_study as read_study
    from barrow.study import verify as verify
    from barrow.study import write_study as write_study
    from barrow.transport.emd import emd as emd
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "._version": "__version__",
            ".accounting": "price",
            ".collect": "Client",
            ".engines": "Source",
            ".errors": "BarrowError DataError MissingExtraError ParameterError",
            ".ledger": "Budget Ledger",
            ".local.report": "Report",
            ".local.server": "Server",
            ".planning.comparison": "Comparison",
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


def _renderer() -> display.Renderer:
    from barrow import render

    return render


display.install(_renderer)
