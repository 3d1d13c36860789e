"""Decoders: from noisy statistics to histograms. They see released values only, so they cost no privacy."""

from barrow.mechanisms.decoding.bayesian import BayesianFit, bayesian_update
from barrow.mechanisms.decoding.graph import GraphDecoder, GraphMap
from barrow.mechanisms.decoding.grid import DecodedMap, discrepancy_map, nearest_map
from barrow.mechanisms.decoding.simplex import nearest_in_simplex
from barrow.mechanisms.decoding.tree import (
    decode,
    edge_values,
    nearest_histogram,
    shrunk_histogram,
    top_down_histogram,
)

__all__ = [
    "BayesianFit",
    "DecodedMap",
    "GraphDecoder",
    "GraphMap",
    "bayesian_update",
    "decode",
    "discrepancy_map",
    "edge_values",
    "nearest_histogram",
    "nearest_in_simplex",
    "nearest_map",
    "shrunk_histogram",
    "top_down_histogram",
]
