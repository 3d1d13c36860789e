"""Mechanisms: they answer queries with noise, and return values and an event, never a guarantee."""

from barrow.mechanisms.additive import AdditiveNoise, LinearAnswer
from barrow.mechanisms.itemwise import ItemReports, ItemWise, item_wise, pooled_items
from barrow.mechanisms.laws import Law
from barrow.mechanisms.linear import linear_candidates, linear_noise, linear_release
from barrow.mechanisms.reduction import Reduced, reduced
from barrow.mechanisms.statistics import UserCounts

__all__ = [
    "AdditiveNoise",
    "ItemReports",
    "ItemWise",
    "Law",
    "LinearAnswer",
    "Reduced",
    "UserCounts",
    "item_wise",
    "linear_candidates",
    "linear_noise",
    "linear_release",
    "pooled_items",
    "reduced",
]
