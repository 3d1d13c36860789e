"""Baselines: the same queries under ordinary user-level differential privacy."""

from barrow.mechanisms.baselines.duchi import DuchiNoise, duchi_release
from barrow.mechanisms.baselines.user_level import user_level_candidates, user_level_noise, user_level_release

__all__ = ["DuchiNoise", "duchi_release", "user_level_candidates", "user_level_noise", "user_level_release"]
