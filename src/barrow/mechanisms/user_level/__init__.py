"""Ordinary user-level differential privacy for the same questions: what EMD-DP has to beat, and releasable itself."""

from barrow.mechanisms.user_level.ball import BallNoise
from barrow.mechanisms.user_level.local import LocalSubsets, SubsetReport, local_subsets
from barrow.mechanisms.user_level.noise import UserLevelNoise, user_level_candidates, user_level_noise
from barrow.mechanisms.user_level.polytope import QueryNoise, query_polytope
from barrow.mechanisms.user_level.subsets import SubsetSelection

__all__ = [
    "BallNoise",
    "LocalSubsets",
    "QueryNoise",
    "SubsetReport",
    "SubsetSelection",
    "UserLevelNoise",
    "local_subsets",
    "query_polytope",
    "user_level_candidates",
    "user_level_noise",
]
