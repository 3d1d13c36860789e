"""Mechanisms: they answer queries with noise, and return values and an event, never a guarantee."""

from barrow.mechanisms.additive import AdditiveNoise, LinearAnswer
from barrow.mechanisms.laws import Law
from barrow.mechanisms.linear import linear_candidates, linear_noise, linear_release
from barrow.mechanisms.statistics import UserCounts

__all__ = [
    "AdditiveNoise",
    "Law",
    "LinearAnswer",
    "UserCounts",
    "linear_candidates",
    "linear_noise",
    "linear_release",
]
