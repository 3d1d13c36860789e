"""Decoders: from noisy statistics to histograms. They see released values only, so they cost no privacy."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.mechanisms.decoding.bayesian import bayesian_update
    from barrow.mechanisms.decoding.cells import CellNoise, cells_decoder
    from barrow.mechanisms.decoding.grid import discrepancy_map, nearest_in_simplex, nearest_map
    from barrow.mechanisms.decoding.tree import (
        decode,
        edge_values,
        empirical_bayes_histogram,
        nearest_histogram,
        top_down_histogram,
    )
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".bayesian": "bayesian_update",
            ".cells": "CellNoise cells_decoder",
            ".grid": "discrepancy_map nearest_in_simplex nearest_map",
            ".tree": "decode edge_values empirical_bayes_histogram nearest_histogram top_down_histogram",
        },
    )
