"""Prio3 of the VDAF draft (wire version 18): a person's integers as shares for several aggregators, proved valid."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.collect.prio3.circuits import EdgeGroup, Edges, histogram, l1_bound_sum, multihot, sum_vec
    from barrow.collect.prio3.prio3 import Prio3, ShareError, VerifyState
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".circuits": "EdgeGroup Edges histogram l1_bound_sum multihot sum_vec",
            ".prio3": "Prio3 ShareError VerifyState",
        },
    )
