"""Mechanisms: they answer queries with noise, and return values and an event, never a guarantee."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.mechanisms.additive import AdditiveNoise, NoiseDistribution
    from barrow.mechanisms.channel import MatrixChannel, TreeChannel, channel_of
    from barrow.mechanisms.edge_noise import EdgeNoise
    from barrow.mechanisms.floors import noise_floor_lower, worst_case_floor_lower
    from barrow.mechanisms.frequency import FrequencyEstimator
    from barrow.mechanisms.frequency_error import EstimateError
    from barrow.mechanisms.histogram_regions import ReleasedShares
    from barrow.mechanisms.histograms import HistogramNoise, histogram_noise
    from barrow.mechanisms.item_intervals import intervals_of
    from barrow.mechanisms.itemwise import ItemWise, item_wise, pooled_items
    from barrow.mechanisms.linear import linear_candidates, linear_noise
    from barrow.mechanisms.reduction import Reduced, reduced
    from barrow.mechanisms.statistics import UserCounts, UserSums
    from barrow.mechanisms.strategies import Strategy, strategies_for
    from barrow.mechanisms.user_level.local import LocalSubsets
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".additive": "AdditiveNoise NoiseDistribution",
            ".channel": "MatrixChannel TreeChannel channel_of",
            ".edge_noise": "EdgeNoise",
            ".floors": "noise_floor_lower worst_case_floor_lower",
            ".frequency": "FrequencyEstimator",
            ".frequency_error": "EstimateError",
            ".histogram_regions": "ReleasedShares",
            ".histograms": "HistogramNoise histogram_noise",
            ".item_intervals": "intervals_of",
            ".itemwise": "ItemWise item_wise pooled_items",
            ".linear": "linear_candidates linear_noise",
            ".reduction": "Reduced reduced",
            ".statistics": "UserCounts UserSums",
            ".strategies": "Strategy strategies_for",
            ".user_level.local": "LocalSubsets",
        },
    )
