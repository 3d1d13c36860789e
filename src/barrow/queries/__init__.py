"""Queries: questions with a Lipschitz constant, a range, a unit and plain words."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily
from barrow.queries.density import density
from barrow.queries.multiscale import Level, MultiscaleQuery, dyadic_bandwidths, multiscale

if TYPE_CHECKING:
    from barrow.queries.coordinates import linear_embedding, mean, similarity
    from barrow.queries.distances import distance_to, region_share
    from barrow.queries.edges import hats, tree_edges
    from barrow.queries.people import person
    from barrow.queries.person_query import PersonQuery
    from barrow.queries.profiles import Profiles
    from barrow.queries.quantised import Quantised, norm_order
    from barrow.queries.query import ClosedForm, Query
    from barrow.queries.spec import QUERIES, query_from_spec
    from barrow.queries.tables import function, histogram
    from barrow.queries.workloads import strategy_query, table_floats, workload
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".coordinates": "linear_embedding mean similarity",
            ".distances": "distance_to region_share",
            ".edges": "hats tree_edges",
            ".people": "person",
            ".person_query": "PersonQuery",
            ".profiles": "Profiles",
            ".quantised": "Quantised norm_order",
            ".query": "ClosedForm Query",
            ".spec": "QUERIES query_from_spec",
            ".tables": "function histogram",
            ".workloads": "strategy_query table_floats workload",
        },
    )
