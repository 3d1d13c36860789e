"""Decoders: from noisy statistics to histograms. They see released values only, so they cost no privacy."""

from barrow.mechanisms.decoding.tree import (
    consistent_masses,
    decode,
    edge_values,
    nearest_histogram,
    top_down_histogram,
)

__all__ = [
    "consistent_masses",
    "decode",
    "edge_values",
    "nearest_histogram",
    "top_down_histogram",
]
