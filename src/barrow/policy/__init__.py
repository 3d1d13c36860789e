"""Promises in plain words to alpha, and alpha back to sentences and odds."""

from barrow.policy.odds import odds_sentence, odds_upper, percent_up
from barrow.policy.policy import Kept, Policy, describe_change, describe_distance, describe_move, describe_share
from barrow.policy.promises import Promise, parse_epsilon, parse_share

__all__ = [
    "Kept",
    "Policy",
    "Promise",
    "describe_change",
    "describe_distance",
    "describe_move",
    "describe_share",
    "odds_sentence",
    "odds_upper",
    "parse_epsilon",
    "parse_share",
    "percent_up",
]
