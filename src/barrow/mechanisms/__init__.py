"""Mechanisms: they answer queries with noise, and return values and an event, never a guarantee."""

from barrow.mechanisms.additive import AdditiveNoise, LinearAnswer
from barrow.mechanisms.itemwise import ItemReports, ItemWise, item_wise, pooled_items
from barrow.mechanisms.laws import Law
from barrow.mechanisms.linear import linear_candidates, linear_noise, linear_release
from barrow.mechanisms.pyramid import DensityPyramid, LevelError, PyramidAnswer, density_pyramid
from barrow.mechanisms.pyramid_errors import MapError
from barrow.mechanisms.statistics import UserCounts

__all__ = [
    "AdditiveNoise",
    "DensityPyramid",
    "ItemReports",
    "ItemWise",
    "Law",
    "LevelError",
    "LinearAnswer",
    "MapError",
    "PyramidAnswer",
    "UserCounts",
    "density_pyramid",
    "item_wise",
    "linear_candidates",
    "linear_noise",
    "linear_release",
    "pooled_items",
]
