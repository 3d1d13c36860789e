"""Decoding: from a signed estimate, or from counts of reports, to a histogram; post-processing, which costs nothing."""

from barrow.mechanisms.decoding.bayesian import BayesianFit, bayesian_update
from barrow.mechanisms.decoding.simplex import nearest_in_simplex

__all__ = ["BayesianFit", "bayesian_update", "nearest_in_simplex"]
