"""Ordinary user-level differential privacy for the same questions: what EMD-DP has to beat, and releasable itself."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.mechanisms.user_level.ball import MOST_ENTRIES, BallNoise
    from barrow.mechanisms.user_level.local import LocalSubsets, SubsetReport, local_subsets
    from barrow.mechanisms.user_level.noise import QueryNoise, query_polytope, user_level_candidates, user_level_noise
    from barrow.mechanisms.user_level.subsets import SubsetSelection
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".ball": "MOST_ENTRIES BallNoise",
            ".local": "LocalSubsets SubsetReport local_subsets",
            ".noise": "QueryNoise query_polytope user_level_candidates user_level_noise",
            ".subsets": "SubsetSelection",
        },
    )
