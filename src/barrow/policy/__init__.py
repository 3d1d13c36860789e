"""Promises in plain words to alpha, and alpha back to sentences and odds."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.policy.policy import Kept, Policy, describe_change, describe_distance, describe_move, describe_share
    from barrow.policy.promises import Promise, odds_epsilon, odds_sentence, odds_upper, parse_epsilon, percent_up
    from barrow.policy.records import RecordMap
    from barrow.policy.shares import parse_share
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".policy": "Kept Policy describe_change describe_distance describe_move describe_share",
            ".promises": "Promise odds_epsilon odds_sentence odds_upper parse_epsilon percent_up",
            ".records": "RecordMap",
            ".shares": "parse_share",
        },
    )
