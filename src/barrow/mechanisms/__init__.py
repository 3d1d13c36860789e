"""Mechanisms: they answer queries with noise, and return values and an event, never a guarantee."""

from barrow.mechanisms.additive import AdditiveNoise, LinearAnswer
from barrow.mechanisms.itemwise import ItemReports, ItemWise, item_wise, pooled_items
from barrow.mechanisms.laws import Law
from barrow.mechanisms.linear import linear_candidates, linear_noise, linear_release
from barrow.mechanisms.statistics import UserCounts
from barrow.mechanisms.tree_histogram import TreeAnswer, TreeHistogram, tree_histogram

__all__ = [
    "AdditiveNoise",
    "ItemReports",
    "ItemWise",
    "Law",
    "LinearAnswer",
    "TreeAnswer",
    "TreeHistogram",
    "UserCounts",
    "item_wise",
    "linear_candidates",
    "linear_noise",
    "linear_release",
    "pooled_items",
    "tree_histogram",
]
