"""Mechanisms: they answer queries with noise, and return values and an event, never a guarantee."""

from barrow.mechanisms.additive import AdditiveNoise, LinearAnswer
from barrow.mechanisms.channel import Channel, MatrixChannel, TreeChannel, channel_of
from barrow.mechanisms.frequency import FrequencyEstimator
from barrow.mechanisms.frequency_error import EstimateError
from barrow.mechanisms.itemwise import ItemReports, ItemWise, item_wise, pooled_items
from barrow.mechanisms.laws import Law
from barrow.mechanisms.linear import linear_candidates, linear_noise, linear_release
from barrow.mechanisms.reduction import Reduced, reduced
from barrow.mechanisms.statistics import UserCounts

__all__ = [
    "AdditiveNoise",
    "Channel",
    "EstimateError",
    "FrequencyEstimator",
    "ItemReports",
    "ItemWise",
    "Law",
    "LinearAnswer",
    "MatrixChannel",
    "Reduced",
    "TreeChannel",
    "UserCounts",
    "channel_of",
    "item_wise",
    "linear_candidates",
    "linear_noise",
    "linear_release",
    "pooled_items",
    "reduced",
]
