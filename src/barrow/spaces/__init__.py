"""Spaces of items: public sets with a normalised metric."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.spaces.augmented import AugmentedSpace, NoRecords
    from barrow.spaces.axioms import check_metric, shortest_paths
    from barrow.spaces.circle import Circle
    from barrow.spaces.clustered import Clustered
    from barrow.spaces.covariates import Covariates
    from barrow.spaces.elsewhere import Elsewhere
    from barrow.spaces.embedding import Embedding
    from barrow.spaces.euclidean import Euclidean
    from barrow.spaces.finite import Discrete, Finite
    from barrow.spaces.geographic import CellRows, Earth
    from barrow.spaces.groups import Groups
    from barrow.spaces.hexagons import Hexagons
    from barrow.spaces.line import Line
    from barrow.spaces.neighbours import NeighbourGraph
    from barrow.spaces.network import Graph
    from barrow.spaces.product import Product
    from barrow.spaces.scale import Scale
    from barrow.spaces.space import DISTANCE_ERROR, Space
    from barrow.spaces.spanners import certified_graph, spanner_graph, star_graph
    from barrow.spaces.spec import (
        cell_key,
        declared_spaces,
        parse_call,
        parse_distance,
        parse_space,
        parse_spec,
        space_from_spec,
        space_kinds,
        units_of,
    )
    from barrow.spaces.sphere import EARTH_RADIUS_KM, HALF_CIRCUMFERENCE_KM
    from barrow.spaces.tree import Tree
    from barrow.spaces.tree_edges import EdgeTree, edge_names, edge_tree
    from barrow.spaces.week import Week
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".augmented": "AugmentedSpace NoRecords",
            ".axioms": "check_metric shortest_paths",
            ".circle": "Circle",
            ".clustered": "Clustered",
            ".covariates": "Covariates",
            ".elsewhere": "Elsewhere",
            ".embedding": "Embedding",
            ".euclidean": "Euclidean",
            ".finite": "Discrete Finite",
            ".geographic": "CellRows Earth",
            ".groups": "Groups",
            ".hexagons": "Hexagons",
            ".line": "Line",
            ".neighbours": "NeighbourGraph",
            ".network": "Graph",
            ".product": "Product",
            ".scale": "Scale",
            ".space": "DISTANCE_ERROR Space",
            ".spanners": "certified_graph spanner_graph star_graph",
            ".spec": "cell_key declared_spaces parse_call parse_distance parse_space parse_spec space_from_spec "
            "space_kinds units_of",
            ".sphere": "EARTH_RADIUS_KM HALF_CIRCUMFERENCE_KM",
            ".tree": "Tree",
            ".tree_edges": "EdgeTree edge_names edge_tree",
            ".week": "Week",
        },
    )
